package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/lockns"
	"holdfast/server/auth"
	"holdfast/store"
)

// AppPassword is a further password of a user, for one program or device.
type AppPassword struct {
	ID        int64  `json:"id"`
	Name      string `json:"name" doc:"What it is for."`
	Scope     string `json:"scope" enum:"all,personal,team" doc:"What it opens: all that its user may open, or one workspace."`
	Workspace string `json:"workspace,omitempty" example:"team-3" doc:"The one that it opens; absent when that is all."`
	Folder    int64  `json:"folder,omitempty" doc:"The id of the folder that is all it opens of the workspace."`
	Path      string `json:"path,omitempty" doc:"Where that folder is, in the list of a user's app passwords; absent when it is gone, and the app password opens nothing."`
	ReadOnly  bool   `json:"read_only"`
	Digest    bool   `json:"digest" doc:"It can be used with Digest."`
	Created   Time   `json:"created"`
	LastUsed  *Time  `json:"last_used,omitempty" doc:"Exact to a minute; absent when never."`
	Expires   *Time  `json:"expires,omitempty" doc:"Its last moment; absent when it has no end."`
}

// appPassword shows an account to its user.
func (a *API) appPassword(ctx context.Context, n store.Account) (AppPassword, error) {
	out := AppPassword{
		ID: n.ID, Name: n.Name, Scope: string(n.Scope), Folder: n.Root, ReadOnly: n.ReadOnly, Digest: n.Digest,
		Created: n.Created, LastUsed: timeOrNil(n.LastUsed), Expires: timeOrNil(n.ExpiresAt),
	}
	if n.Scope == store.ScopeAll {
		return out, nil
	}
	out.Workspace = workspaceID(n.Workspace())
	if n.Root == 0 {
		return out, nil
	}
	path, err := a.o.Store.FolderPath(ctx, n.Workspace(), n.Root)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return out, nil
	case err == nil:
		out.Path = path.String()
	}
	return out, err
}

func (a *API) appPasswords(ctx context.Context, all []store.Account) (*struct{ Body Page[AppPassword] }, error) {
	page := Page[AppPassword]{Items: make([]AppPassword, len(all))}
	for i, n := range all {
		var err error
		if page.Items[i], err = a.appPassword(ctx, n); err != nil {
			return nil, err
		}
	}
	return &struct{ Body Page[AppPassword] }{page}, nil
}

// newAppPassword is an app password to be made.
type newAppPassword struct {
	Body struct {
		Name     string `json:"name" minLength:"1" maxLength:"64" doc:"What it is for; no two have the same."`
		Scope    string `json:"scope,omitempty" enum:"all,personal,team" default:"all"`
		Team     int64  `json:"team,omitempty" minimum:"1" doc:"With the scope team: its id."`
		Folder   int64  `json:"folder,omitempty" minimum:"1" doc:"The id of a folder that is to be all it opens of the workspace. Not with the scope all."`
		Path     string `json:"path,omitempty" maxLength:"32768" doc:"In the stead of folder: where it is."`
		ReadOnly bool   `json:"read_only,omitempty"`
		Expires  *Time  `json:"expires,omitempty" doc:"Its last moment; absent for no end."`
	}
}

// Minted is an app password with the password itself, which is shown this once.
type Minted struct {
	AppPassword
	Password string `json:"password" doc:"Shown this once."`
}

// lastYear is the last in which an app password may end.
const lastYear = 9998

// account is the account that is asked for.
func (n *newAppPassword) account() (store.NewAccount, error) {
	b := n.Body
	out := store.NewAccount{
		Name: b.Name, TeamID: b.Team, Folder: b.Folder, Scoped: b.Scope == string(store.ScopePersonal), ReadOnly: b.ReadOnly,
	}
	if b.Expires != nil {
		out.ExpiresAt = *b.Expires
		if out.ExpiresAt.Before(time.Now()) || out.ExpiresAt.UTC().Year() > lastYear {
			return out, problem(http.StatusBadRequest, "expires.invalid", "it would end before it began, or after the year 9998")
		}
	}
	if (b.Scope == string(store.ScopeTeam)) != (b.Team != 0) ||
		b.Scope == string(store.ScopeAll) && (b.Folder != 0 || b.Path != "") ||
		b.Folder != 0 && b.Path != "" {
		return out, problem(http.StatusBadRequest, "app_password.scope", "the scope team has a team and no other has one; a folder needs the scope personal or team, and is named by its id or its path")
	}
	return out, nil
}

func (a *API) registerAppPasswords() {
	tag := []string{"App passwords"}
	register(a, Own, huma.Operation{
		OperationID: "appPasswords", Method: http.MethodGet, Path: "/app-passwords", Tags: tag, Summary: "The caller's app passwords, by name",
		Description: "A user has 100 at most.",
	}, func(ctx context.Context, who *Caller, _ *struct{}) (*struct{ Body Page[AppPassword] }, error) {
		all, err := a.o.Store.AccountsOf(ctx, who.User.ID)
		if err != nil {
			return nil, err
		}
		return a.appPasswords(ctx, all)
	})
	register(a, Own, huma.Operation{
		OperationID: "addAppPassword", Method: http.MethodPost, Path: "/app-passwords", Tags: tag, Summary: "Make an app password",
		DefaultStatus: http.StatusCreated, MaxBodyBytes: 64 << 10,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType},
	}, a.addAppPassword)
	register(a, Own, huma.Operation{
		OperationID: "removeAppPassword", Method: http.MethodDelete, Path: "/app-passwords/{id}", Tags: tag, Summary: "Revoke an app password",
		DefaultStatus: http.StatusNoContent, Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, who *Caller, in *struct {
		ID int64 `path:"id" minimum:"1"`
	}) (*struct{}, error) {
		return nil, a.o.Store.RemoveAccountOf(ctx, who.User.ID, in.ID, who.Actor())
	})
}

func (a *API) addAppPassword(ctx context.Context, who *Caller, in *newAppPassword) (*struct{ Body Minted }, error) {
	n, err := in.account()
	if err != nil {
		return nil, err
	}
	if err := a.rooted(ctx, who, &n, in.Body.Path); err != nil {
		return nil, err
	}
	password := auth.NewAppPassword()
	n.User, n.By, n.PasswordHash = who.User.Name, who.Actor(), auth.HashAppPassword(password)
	n.HA1 = func(user string) store.HA1 { return auth.NewHA1(user, password) }
	added, err := a.o.Store.AddAccount(ctx, n)
	if errors.Is(err, store.ErrForbidden) { // no longer a member: as if the team were not there
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	shown, err := a.appPassword(ctx, added)
	return &struct{ Body Minted }{Minted{shown, password}}, err
}

// rooted finds the folder that an app password is limited to, which the caller must
// see: below a blocked name it would be served where no name tells of it.
func (a *API) rooted(ctx context.Context, who *Caller, n *store.NewAccount, path string) error {
	ws := who.User.Workspace()
	if n.TeamID != 0 {
		ws = lockns.Workspace{Kind: lockns.Team, ID: n.TeamID}
		if _, err := a.opens(ctx, who, ws); err != nil {
			return err
		}
	}
	at := store.ByID(ws, folderID(n.Folder))
	switch {
	case path != "":
		var err error
		if at, err = a.place(ctx, who, workspaceID(ws), path); err != nil {
			return err
		}
	case n.Folder == 0:
		return nil
	}
	e, err := a.look(ctx, at, store.Want{})
	switch {
	case err != nil:
		return err
	case !e.IsFolder():
		return store.ErrNotFound
	}
	n.Folder = e.Place.Root.ID // 0 for the root, which is no limit
	return nil
}
