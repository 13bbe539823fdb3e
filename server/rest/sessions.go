package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/server/auth"
	"holdfast/store"
)

// Me is who the caller is.
type Me struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	DisplayName string `json:"display_name" doc:"For people; empty when there is none."`
	Admin       bool   `json:"admin"`
	Workspace   string `json:"workspace" example:"personal-7" doc:"The user's own."`
}

func me(u store.User) Me {
	return Me{ID: u.ID, Name: u.Name, DisplayName: u.DisplayName, Admin: u.Admin, Workspace: workspaceID(u.Workspace())}
}

// Login is how the caller is logged in.
type Login struct {
	User        Me           `json:"user"`
	Kind        string       `json:"kind" enum:"session,password,app_password" doc:"By what the caller is known."`
	Session     *Session     `json:"session,omitempty"`
	AppPassword *AppPassword `json:"app_password,omitempty" doc:"What the login is limited to."`
}

// Session is the login of a browser.
type Session struct {
	ID       int64  `json:"id"`
	Agent    string `json:"agent" doc:"What the browser calls itself."`
	Address  string `json:"address" doc:"From where it was opened."`
	Created  Time   `json:"created"`
	LastUsed Time   `json:"last_used" doc:"Exact to a minute."`
	Expires  Time   `json:"expires" doc:"Its last moment, unless it is used before."`
	Current  bool   `json:"current" doc:"It is the one that this request came by."`
}

func (c *Caller) session(s store.Session) Session {
	return Session{
		ID: s.ID, Agent: s.Agent, Address: s.Address, Created: s.Created, LastUsed: s.LastUsed, Expires: s.Expires,
		Current: c.Session != nil && c.Session.ID == s.ID,
	}
}

// loginOf says how a caller is logged in.
func (a *API) loginOf(ctx context.Context, who *Caller) (Login, error) {
	out := Login{User: me(who.User), Kind: "password"}
	switch {
	case who.Session != nil:
		s := who.session(*who.Session)
		out.Kind, out.Session = "session", &s
	case who.Account != nil:
		p, err := a.appPassword(ctx, *who.Account)
		if err != nil {
			return out, err
		}
		p.Path = "" // which tells of folders that this login does not open
		out.Kind, out.AppPassword = "app_password", &p
	}
	return out, nil
}

// opening are the credentials of somebody at a browser.
type opening struct {
	Body struct {
		User     string `json:"user" minLength:"1" maxLength:"64"`
		Password string `json:"password" minLength:"1" maxLength:"1024" doc:"The user's own; app passwords open no session."`
	}
}

// withCookie is an answer that gives a browser a session, or takes it away.
type withCookie[T any] struct {
	SetCookie string `header:"Set-Cookie"`
	Body      T
}

// profile is what users change of themselves.
type profile struct {
	Body struct {
		DisplayName *string `json:"display_name,omitempty" maxLength:"128"`
		Password    *struct {
			Old string `json:"old" minLength:"1" maxLength:"1024"`
			New string `json:"new" minLength:"1" maxLength:"1024"`
		} `json:"password,omitempty" doc:"All sessions end with the former password; who came by one gets another. App passwords stay."`
	}
}

func (a *API) registerSessions() {
	tag := []string{"Session"}
	registerRaw(a, Public, huma.Operation{
		OperationID: "openSession", Method: http.MethodPost, Path: "/session", Tags: tag, Summary: "Log in at a browser",
		Description: "The cookie of the answer is the session. The session that the browser had ends.", MaxBodyBytes: 16 << 10,
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusTooManyRequests},
	}, a.openSession)
	register(a, Files, huma.Operation{
		OperationID: "login", Method: http.MethodGet, Path: "/session", Tags: tag, Summary: "How the caller is logged in",
	}, func(ctx context.Context, who *Caller, _ *struct{}) (*struct{ Body Login }, error) {
		login, err := a.loginOf(ctx, who)
		return &struct{ Body Login }{login}, err
	})
	registerRaw(a, Own, huma.Operation{
		OperationID: "closeSession", Method: http.MethodDelete, Path: "/session", Tags: tag, Summary: "Log out",
		DefaultStatus: http.StatusNoContent, Errors: []int{http.StatusNotFound},
	}, a.closeSession)
	register(a, Own, huma.Operation{
		OperationID: "sessions", Method: http.MethodGet, Path: "/sessions", Tags: tag, Summary: "The caller's sessions, the newest first",
		Description: "A user has 50 at most.",
	}, a.sessions)
	register(a, Own, huma.Operation{
		OperationID: "endSession", Method: http.MethodDelete, Path: "/sessions/{id}", Tags: tag, Summary: "End a session of the caller's",
		DefaultStatus: http.StatusNoContent, Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, who *Caller, in *struct {
		ID int64 `path:"id" minimum:"1"`
	}) (*struct{}, error) {
		return nil, a.o.Store.EndSession(ctx, who.User.ID, in.ID, who.Actor())
	})
	register(a, Files, huma.Operation{
		OperationID: "me", Method: http.MethodGet, Path: "/me", Tags: tag, Summary: "Who the caller is",
	}, func(_ context.Context, who *Caller, _ *struct{}) (*struct{ Body Me }, error) {
		return &struct{ Body Me }{me(who.User)}, nil
	})
	registerRaw(a, Everything, huma.Operation{
		OperationID: "changeMe", Method: http.MethodPatch, Path: "/me", Tags: tag, Summary: "Change the caller's name for people, or their password",
		Description: "A password is not changed by an app password.", MaxBodyBytes: 16 << 10,
		Errors: []int{http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType},
	}, a.changeMe)
}

func (a *API) openSession(ctx context.Context, who *Caller, below raw, in *opening) (*withCookie[Login], error) {
	c := auth.Credentials{Name: in.Body.User, Password: in.Body.Password, From: who.Address, Agent: below.r.UserAgent()}
	if who.Session != nil {
		c.Replaces = who.Session.ID
	}
	opened, token, err := a.o.Auth.OpenSession(ctx, c)
	if err != nil {
		return nil, err
	}
	*who = Caller{User: opened.User, Session: opened.Session, Address: who.Address}
	a.identified(below.w, who)
	login, err := a.loginOf(ctx, who)
	return &withCookie[Login]{a.setCookie(below.r, token), login}, err
}

func (a *API) closeSession(ctx context.Context, who *Caller, below raw, _ *struct{}) (*struct {
	SetCookie string `header:"Set-Cookie"`
}, error) {
	if who.Session == nil {
		return nil, problem(http.StatusNotFound, "session.none", "this login is no session")
	}
	if err := a.o.Store.EndSession(ctx, who.User.ID, who.Session.ID, who.Actor()); err != nil {
		return nil, err
	}
	return &struct {
		SetCookie string `header:"Set-Cookie"`
	}{a.dropCookie(below.r)}, nil
}

// wholeList shows all of a list that is never long.
func wholeList[T, D any](items []T, show func(T) D) *struct{ Body Page[D] } {
	page := Page[D]{Items: make([]D, len(items))}
	for i, item := range items {
		page.Items[i] = show(item)
	}
	return &struct{ Body Page[D] }{page}
}

func (a *API) sessions(ctx context.Context, who *Caller, _ *struct{}) (*struct{ Body Page[Session] }, error) {
	all, err := a.o.Store.Sessions(ctx, who.User.ID)
	return wholeList(all, who.session), err
}

func (a *API) changeMe(ctx context.Context, who *Caller, below raw, in *profile) (*withCookie[Me], error) {
	c := auth.Change{
		Login:       auth.Login{User: who.User, Account: who.Account, Session: who.Session},
		DisplayName: in.Body.DisplayName, From: who.Address, Agent: below.r.UserAgent(),
	}
	if p := in.Body.Password; p != nil {
		if err := who.check(Own, true); err != nil {
			return nil, err
		}
		c.Old, c.New = p.Old, p.New
	}
	changed, token, err := a.o.Auth.ChangeProfile(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &withCookie[Me]{Body: me(changed.User)}
	if token != "" {
		out.SetCookie = a.setCookie(below.r, token)
	}
	return out, nil
}
