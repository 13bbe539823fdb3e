package rest

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/danielgtaylor/huma/v2"
)

// sessionCookie is the name of the cookie that a browser's session is known by.
const sessionCookie = "holdfast_session"

// bySession gives the caller whose session the request's cookie names.
func (a *API) bySession(_ *http.Request, from netip.Addr) (Caller, error) {
	return Caller{Address: from}, nil
}

// Me is who the caller is.
type Me struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	DisplayName string `json:"display_name"`
	Admin       bool   `json:"admin"`
}

func (a *API) registerSessions() {
	register(a, Files, huma.Operation{
		OperationID: "me", Method: http.MethodGet, Path: "/me", Tags: []string{"Session"}, Summary: "Who the caller is",
	}, func(_ context.Context, who *Caller, _ *struct{}) (*struct{ Body Me }, error) {
		u := who.User
		return &struct{ Body Me }{Me{ID: u.ID, Name: u.Name, DisplayName: u.DisplayName, Admin: u.Admin}}, nil
	})
}
