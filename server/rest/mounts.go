package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/lockns"
	"holdfast/server/auth"
	"holdfast/store"
)

// Mount is where a workspace, or the part of it that a login opens, is served to
// WebDAV clients.
type Mount struct {
	Name      string `json:"name" doc:"The user's name, or the team's."`
	Workspace string `json:"workspace" example:"team-3"`
	Role      string `json:"role" enum:"owner,admin,member,viewer" doc:"What the user is in the workspace."`
	ReadOnly  bool   `json:"read_only" doc:"This login can change nothing there."`
	URL       string `json:"url" format:"uri" example:"https://dav.example/teams/Ops/" doc:"At the address that the request was sent to."`
	Clients   []Hint `json:"clients" nullable:"false" doc:"How clients are pointed at it."`
}

// Hint is how one client is pointed at a mount.
type Hint struct {
	Client string `json:"client" example:"Finder"`
	How    string `json:"how" example:"Go > Connect to Server: https://dav.example/dav/" doc:"A path through menus, or a command, for people."`
}

// Mounted is a mount as the server knows it. Role may be empty for the caller's own.
type Mounted struct {
	Name      string
	Workspace lockns.Workspace
	Role      store.Role
	ReadOnly  bool
	URL       string
	Hints     []Hint
}

func (a *API) registerMounts() {
	registerRaw(a, Files, huma.Operation{
		OperationID: "mounts", Method: http.MethodGet, Path: "/me/mounts", Tags: []string{"Session"}, Summary: "How to connect: the caller's mounts",
	}, a.mounts)
}

func (a *API) mounts(ctx context.Context, who *Caller, below raw, _ *struct{}) (*struct{ Body Page[Mount] }, error) {
	all, err := a.o.Mounts(below.r, auth.Login{User: who.User, Account: who.Account})
	if err != nil {
		return nil, err
	}
	page := Page[Mount]{Items: make([]Mount, len(all))}
	for i, m := range all {
		if m.Role == "" {
			if m.Role, err = a.opens(ctx, who, m.Workspace); err != nil {
				return nil, err
			}
		}
		page.Items[i] = Mount{m.Name, workspaceID(m.Workspace), string(m.Role), m.ReadOnly, m.URL, m.Hints}
	}
	return &struct{ Body Page[Mount] }{page}, nil
}
