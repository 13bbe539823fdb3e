package rest

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/lockns"
	"holdfast/store"
)

// Workspace is a tree of files that the caller may open.
type Workspace struct {
	ID       string `json:"id" example:"team-3" doc:"How it is named in URLs."`
	Kind     string `json:"kind" enum:"personal,team"`
	Name     string `json:"name" doc:"The name of the user or the team it belongs to."`
	Role     string `json:"role" enum:"owner,admin,member,viewer" doc:"What the user is in it."`
	Writable bool   `json:"writable" doc:"Whether this login may change something in it."`
	Root     int64  `json:"root" doc:"The id of the topmost folder that this login opens."`
	Used     int64  `json:"used" doc:"Bytes stored in the whole workspace."`
	Quota    int64  `json:"quota,omitempty" doc:"Bytes that may be stored in it; absent without a limit."`
}

// InWorkspace names a workspace in a path.
type InWorkspace struct {
	Workspace string `path:"workspace" maxLength:"32" example:"team-3" doc:"personal-7, team-3; personal is the caller's own."`
}

func (a *API) registerWorkspaces() {
	register(a, Files, huma.Operation{
		OperationID: "listWorkspaces", Method: http.MethodGet, Path: "/workspaces", Tags: []string{"Workspaces"},
		Summary:     "List the workspaces that the login opens",
		Description: "The user's own comes first, then those of their teams, the oldest team first.",
	}, a.listWorkspaces)
	register(a, Files, huma.Operation{
		OperationID: "getWorkspace", Method: http.MethodGet, Path: "/workspaces/{workspace}", Tags: []string{"Workspaces"},
		Summary: "Show a workspace", Errors: []int{http.StatusNotFound},
	}, a.getWorkspace)
}

func (a *API) listWorkspaces(ctx context.Context, who *Caller, in *struct{ Paging }) (*struct{ Body Page[Workspace] }, error) {
	list := listOf(who, "workspaces", who.limited())
	after, err := position[lockns.Workspace](a, list, in.Cursor)
	if err != nil {
		return nil, err
	}
	infos, err := a.workspacesAfter(ctx, who, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(a, list, in.Limit, infos,
		func(i store.WorkspaceInfo) lockns.Workspace { return i.Workspace },
		func(i store.WorkspaceInfo) Workspace { return workspace(who, i) })
	return &struct{ Body Page[Workspace] }{page}, err
}

// workspacesAfter are those that the login opens: of a limited one, it alone.
func (a *API) workspacesAfter(ctx context.Context, who *Caller, after lockns.Workspace, limit int) ([]store.WorkspaceInfo, error) {
	if !who.limited() {
		return a.o.Store.Workspaces(ctx, who.User.ID, after, limit)
	}
	i, err := a.workspaceOf(ctx, who, who.Account.Workspace())
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return []store.WorkspaceInfo{i}, err
}

func (a *API) getWorkspace(ctx context.Context, who *Caller, in *InWorkspace) (*struct{ Body Workspace }, error) {
	ws, err := parseWorkspace(who, in.Workspace)
	if err != nil {
		return nil, err
	}
	i, err := a.workspaceOf(ctx, who, ws)
	if err != nil {
		return nil, err
	}
	return &struct{ Body Workspace }{workspace(who, i)}, nil
}

// workspaceOf is a workspace as the caller sees it, from the folder that the login
// is limited to; once that is gone, it opens nothing.
func (a *API) workspaceOf(ctx context.Context, who *Caller, ws lockns.Workspace) (i store.WorkspaceInfo, err error) {
	if who.limited() && who.Account.Workspace() != ws {
		return i, store.ErrNotFound
	}
	if i, err = a.o.Store.WorkspaceOpened(ctx, who.User.ID, ws); err != nil {
		return i, err
	}
	if base := who.base(); base != 0 {
		i.Root = base
		_, err = a.o.Store.Stat(ctx, store.Target{Workspace: ws, Base: base})
	}
	return i, err
}

func workspace(who *Caller, i store.WorkspaceInfo) Workspace {
	return Workspace{
		ID: workspaceID(i.Workspace), Kind: string(i.Workspace.Kind), Name: i.Name,
		Role: string(i.Role), Writable: i.Role.MayWrite() && !who.readOnly(),
		Root: i.Root, Used: i.Usage.Used, Quota: i.Usage.Quota,
	}
}
