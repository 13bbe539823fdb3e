package rest

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/server/auth"
	"holdfast/store"
)

// maxSmallBody is how many bytes a body may have that only sets a few values.
const maxSmallBody = 16 << 10

// User is somebody who can log in, as administrators see them.
type User struct {
	ID          int64  `json:"id"`
	Name        string `json:"name" doc:"What they log in with."`
	DisplayName string `json:"display_name" doc:"For people; empty when there is none."`
	Admin       bool   `json:"admin" doc:"Whether they administer the server."`
	Disabled    bool   `json:"disabled" doc:"Nobody can log in as them; their files stay."`
	HasPassword bool   `json:"has_password" doc:"Without one only app passwords are let in."`
	Workspace   string `json:"workspace" example:"personal-7"`
	Used        int64  `json:"used" doc:"Bytes stored in their workspace."`
	Quota       int64  `json:"quota,omitempty" doc:"Bytes that may be stored in it; absent without a limit."`
	Created     Time   `json:"created"`
}

func user(i store.UserInfo) User {
	return User{
		ID: i.ID, Name: i.Name, DisplayName: i.DisplayName, Admin: i.Admin, Disabled: i.Disabled, HasPassword: i.PasswordHash != "",
		Workspace: workspaceID(i.Workspace()), Used: i.Usage.Used, Quota: i.Usage.Quota, Created: i.Created,
	}
}

// ByUser names a user in a path.
type ByUser struct {
	ID int64 `path:"id" minimum:"1"`
}

// withUser is an answer that shows a user.
type withUser struct{ Body User }

// newUser is a user to be added.
type newUser struct {
	Body struct {
		Name        string `json:"name" minLength:"1" maxLength:"64" doc:"ASCII letters, digits and ._-@, the first a letter or digit; unique without regard to case. It stays."`
		DisplayName string `json:"display_name,omitempty" maxLength:"128"`
		Password    string `json:"password,omitempty" maxLength:"1024" doc:"Without one nobody can log in as them yet."`
		Admin       bool   `json:"admin,omitempty"`
		Quota       int64  `json:"quota,omitempty" minimum:"0" maximum:"9007199254740991" doc:"Bytes that may be stored in their workspace; 0 is what the server sets for all."`
	}
}

// userChange is a change of a user; what is absent stays.
type userChange struct {
	ByUser
	Body struct {
		DisplayName *string `json:"display_name,omitempty" maxLength:"128"`
		Admin       *bool   `json:"admin,omitempty"`
		Disabled    *bool   `json:"disabled,omitempty" doc:"Ends their locks and sessions too."`
		Password    *string `json:"password,omitempty" minLength:"1" maxLength:"1024" doc:"Ends their sessions; app passwords stay."`
		Quota       *int64  `json:"quota,omitempty" minimum:"0" maximum:"9007199254740991" doc:"0 is what the server sets for all."`
	}
}

func (a *API) registerUsers() {
	tag := []string{"Users"}
	register(a, Administrator, huma.Operation{
		OperationID: "listUsers", Method: http.MethodGet, Path: "/admin/users", Tags: tag, Summary: "List users by name",
	}, a.listUsers)
	register(a, Administrator, huma.Operation{
		OperationID: "addUser", Method: http.MethodPost, Path: "/admin/users", Tags: tag, Summary: "Add a user with a workspace",
		DefaultStatus: http.StatusCreated, MaxBodyBytes: maxSmallBody, Errors: []int{http.StatusConflict},
	}, a.addUser)
	register(a, Administrator, huma.Operation{
		OperationID: "getUser", Method: http.MethodGet, Path: "/admin/users/{id}", Tags: tag, Summary: "Show a user", Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, _ *Caller, in *ByUser) (*withUser, error) { return a.showUser(ctx, in.ID) })
	register(a, Administrator, huma.Operation{
		OperationID: "changeUser", Method: http.MethodPatch, Path: "/admin/users/{id}", Tags: tag, Summary: "Change a user",
		Description:  "Administrators cannot take their own role or login, and change their own password at /me.",
		MaxBodyBytes: maxSmallBody, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, a.changeUser)
	register(a, Administrator, huma.Operation{
		OperationID: "removeUser", Method: http.MethodDelete, Path: "/admin/users/{id}", Tags: tag, Summary: "Remove a user with all their files",
		Description:   "A team that they alone own is left without an owner. Administrators cannot remove themselves.",
		DefaultStatus: http.StatusNoContent, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, func(ctx context.Context, who *Caller, in *ByUser) (*struct{}, error) {
		return nil, a.manage(who).RemoveUser(ctx, in.ID)
	})
	a.registerPasswordsOfUsers()
}

func (a *API) registerPasswordsOfUsers() {
	tag := []string{"Users"}
	register(a, Administrator, huma.Operation{
		OperationID: "listUserAppPasswords", Method: http.MethodGet, Path: "/admin/users/{id}/app-passwords", Tags: tag, Summary: "A user's app passwords, by name",
		Description: "A user has 100 at most.", Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, _ *Caller, in *ByUser) (*struct{ Body Page[AppPassword] }, error) {
		if _, err := a.o.Store.UserByID(ctx, in.ID); err != nil {
			return nil, err
		}
		all, err := a.o.Store.AccountsOf(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return a.appPasswords(ctx, all)
	})
	register(a, Administrator, huma.Operation{
		OperationID: "removeUserAppPassword", Method: http.MethodDelete, Path: "/admin/users/{id}/app-passwords/{password}", Tags: tag, Summary: "Revoke an app password of a user",
		DefaultStatus: http.StatusNoContent, Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, who *Caller, in *struct {
		ByUser
		Password int64 `path:"password" minimum:"1" doc:"The id of the app password."`
	}) (*struct{}, error) {
		return nil, a.manage(who).RemoveAccount(ctx, in.ID, in.Password)
	})
}

// manage is for changes of users and teams in the caller's name.
func (a *API) manage(who *Caller) store.Manager { return a.o.Store.Manage(who.Actor()) }

func (a *API) listUsers(ctx context.Context, who *Caller, in *struct {
	Paging
	Name string `query:"name" maxLength:"64" doc:"Those whose names begin with this, without regard to case."`
}) (*struct{ Body Page[User] }, error) {
	list := listOf(who, "users", in.Name)
	after, err := position[string](a, list, in.Cursor)
	if err != nil {
		return nil, err
	}
	all, err := a.o.Store.UsersByName(ctx, in.Name, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(a, list, in.Limit, all, func(i store.UserInfo) string { return i.Name }, user)
	return &struct{ Body Page[User] }{page}, err
}

func (a *API) showUser(ctx context.Context, id int64) (*withUser, error) {
	i, err := a.o.Store.UserByID(ctx, id)
	return &withUser{user(i)}, err
}

func (a *API) addUser(ctx context.Context, who *Caller, in *newUser) (*withUser, error) {
	b := in.Body
	if strings.EqualFold(b.Name, auth.Anonymous) {
		return nil, errReserved
	}
	n := store.NewUser{Name: b.Name, DisplayName: b.DisplayName, Admin: b.Admin, Quota: b.Quota}
	if b.Password != "" {
		var err error
		if n.PasswordHash, err = auth.HashPassword(b.Password); err != nil {
			return nil, err
		}
	}
	u, err := a.manage(who).AddUser(ctx, n)
	if err != nil {
		return nil, err
	}
	return a.showUser(ctx, u.ID)
}

// errReserved: the user of anonymous requests is not for logins.
var errReserved = problem(http.StatusConflict, "user.reserved", "the name "+auth.Anonymous+" is for requests without a login")

func (a *API) changeUser(ctx context.Context, who *Caller, in *userChange) (*withUser, error) {
	b := in.Body
	p := store.UserPatch{DisplayName: b.DisplayName, Admin: b.Admin, Disabled: b.Disabled, Quota: b.Quota}
	before, err := a.o.Store.UserByID(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(before.Name, auth.Anonymous) && (b.Admin != nil || b.Disabled != nil || b.Password != nil) {
		return nil, errReserved
	}
	if b.Password != nil {
		hash, err := auth.HashPassword(*b.Password)
		if err != nil {
			return nil, err
		}
		p.PasswordHash = &hash
	}
	if _, err := a.manage(who).SetUser(ctx, in.ID, p); err != nil {
		return nil, err
	}
	return a.showUser(ctx, in.ID)
}
