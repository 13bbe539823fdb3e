package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/store"
)

// Team is a group of users with a workspace.
type Team struct {
	ID        int64  `json:"id"`
	Name      string `json:"name" doc:"As in the URL of its mount."`
	Workspace string `json:"workspace" example:"team-3"`
	Role      string `json:"role,omitempty" enum:"owner,admin,member,viewer" doc:"What the caller is in it; absent for an administrator who is no member."`
	Used      int64  `json:"used" doc:"Bytes stored in its workspace."`
	Quota     int64  `json:"quota,omitempty" doc:"Bytes that may be stored in it; absent without a limit."`
	Created   Time   `json:"created"`
}

func team(i store.TeamInfo) Team {
	return Team{
		ID: i.ID, Name: i.Name, Workspace: workspaceID(i.Workspace()), Role: string(i.Role),
		Used: i.Usage.Used, Quota: i.Usage.Quota, Created: i.Created,
	}
}

// Member is a user in a team, as its members see them.
type Member struct {
	ID          int64  `json:"id" doc:"The user's."`
	Name        string `json:"name" doc:"What they log in with."`
	DisplayName string `json:"display_name" doc:"For people; empty when there is none."`
	Role        string `json:"role" enum:"owner,admin,member,viewer"`
	Since       Time   `json:"since"`
}

func member(m store.Member) Member {
	return Member{ID: m.User.ID, Name: m.User.Name, DisplayName: m.User.DisplayName, Role: string(m.Role), Since: m.Since}
}

// ByTeam names a team in a path.
type ByTeam struct {
	ID int64 `path:"id" minimum:"1"`
}

// ByMember names a member in a path.
type ByMember struct {
	ByTeam
	User int64 `path:"user" minimum:"1" doc:"The id of the member's user."`
}

// Answers that show one of these.
type (
	withTeam   struct{ Body Team }
	withMember struct{ Body Member }
)

// newTeam is a team to be added.
type newTeam struct {
	Body struct {
		Name  string `json:"name" minLength:"1" maxLength:"64" doc:"A segment of its mount's URL; unique without regard to case. It stays."`
		Owner string `json:"owner,omitempty" maxLength:"64" doc:"The login name of its first member; absent for the caller."`
		Quota int64  `json:"quota,omitempty" minimum:"0" maximum:"9007199254740991" doc:"Bytes that may be stored in its workspace; 0 is what the server sets for all."`
	}
}

// newMember is a user to become a member.
type newMember struct {
	ByTeam
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"64" doc:"The whole login name, without regard to case."`
		Role string `json:"role,omitempty" enum:"owner,admin,member,viewer" default:"member"`
	}
}

func (a *API) registerTeams() {
	tag := []string{"Teams"}
	register(a, Everything, huma.Operation{
		OperationID: "listTeams", Method: http.MethodGet, Path: "/teams", Tags: tag, Summary: "List the caller's teams, the oldest first",
	}, a.listTeams)
	register(a, Administrator, huma.Operation{
		OperationID: "addTeam", Method: http.MethodPost, Path: "/teams", Tags: tag, Summary: "Add a team with a workspace and an owner",
		DefaultStatus: http.StatusCreated, MaxBodyBytes: maxSmallBody, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, a.addTeam)
	register(a, Everything, huma.Operation{
		OperationID: "getTeam", Method: http.MethodGet, Path: "/teams/{id}", Tags: tag, Summary: "Show a team",
		Description: "Members and administrators see it.", Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, who *Caller, in *ByTeam) (*withTeam, error) {
		return a.showTeam(ctx, who, in.ID)
	})
	register(a, Administrator, huma.Operation{
		OperationID: "changeTeam", Method: http.MethodPatch, Path: "/teams/{id}", Tags: tag, Summary: "Change what a team may store",
		MaxBodyBytes: maxSmallBody, Errors: []int{http.StatusNotFound},
	}, a.changeTeam)
	register(a, Everything, huma.Operation{
		OperationID: "removeTeam", Method: http.MethodDelete, Path: "/teams/{id}", Tags: tag, Summary: "Remove a team with all its files",
		Description: "For its owners and for administrators.", DefaultStatus: http.StatusNoContent, Errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, who *Caller, in *ByTeam) (*struct{}, error) {
		return nil, a.manage(who).RemoveTeam(ctx, in.ID)
	})
	a.registerMembers()
}

func (a *API) registerMembers() {
	tag := []string{"Teams"}
	register(a, Everything, huma.Operation{
		OperationID: "listMembers", Method: http.MethodGet, Path: "/teams/{id}/members", Tags: tag, Summary: "List the members of a team, the oldest user first",
		Description: "Members and administrators see them.", Errors: []int{http.StatusNotFound},
	}, a.listMembers)
	register(a, Everything, huma.Operation{
		OperationID: "addMember", Method: http.MethodPost, Path: "/teams/{id}/members", Tags: tag, Summary: "Make a user a member of a team",
		Description:   "For its owners and admins, and for administrators. Only owners and administrators make owners.",
		DefaultStatus: http.StatusCreated, MaxBodyBytes: maxSmallBody, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, a.addMember)
	register(a, Everything, huma.Operation{
		OperationID: "setMember", Method: http.MethodPut, Path: "/teams/{id}/members/{user}", Tags: tag, Summary: "Give a member of a team another role",
		Description:  "For its owners and admins, and for administrators. Only owners and administrators make owners, or change them. Who becomes a viewer loses their locks there.",
		MaxBodyBytes: maxSmallBody, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, a.setMember)
	register(a, Everything, huma.Operation{
		OperationID: "removeMember", Method: http.MethodDelete, Path: "/teams/{id}/members/{user}", Tags: tag, Summary: "Take a member out of a team, or leave it",
		Description:   "Their locks there end, and their app passwords for it. Everybody may leave; others are taken out by owners and admins, and owners by owners only. Administrators may all of it.",
		DefaultStatus: http.StatusNoContent, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, func(ctx context.Context, who *Caller, in *ByMember) (*struct{}, error) {
		return nil, a.manage(who).RemoveMember(ctx, in.ID, in.User)
	})
}

func (a *API) listTeams(ctx context.Context, who *Caller, in *struct {
	Paging
	All bool `query:"all" doc:"All teams of the server; for administrators."`
}) (*struct{ Body Page[Team] }, error) {
	read := a.o.Store.TeamsOf
	if in.All {
		if !who.User.Admin {
			return nil, store.ErrForbidden
		}
		read = a.o.Store.TeamsByID
	}
	list := listOf(who, "teams", in.All)
	after, err := position[int64](a, list, in.Cursor)
	if err != nil {
		return nil, err
	}
	all, err := read(ctx, who.User.ID, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(a, list, in.Limit, all, func(i store.TeamInfo) int64 { return i.ID }, team)
	return &struct{ Body Page[Team] }{page}, err
}

// seenTeam is a team that the caller is a member of, or administers.
func (a *API) seenTeam(ctx context.Context, who *Caller, id int64) (store.TeamInfo, error) {
	i, err := a.o.Store.TeamByID(ctx, who.User.ID, id)
	if err == nil && i.Role == "" && !who.User.Admin {
		err = store.ErrNotFound
	}
	return i, err
}

func (a *API) showTeam(ctx context.Context, who *Caller, id int64) (*withTeam, error) {
	i, err := a.seenTeam(ctx, who, id)
	return &withTeam{team(i)}, err
}

func (a *API) addTeam(ctx context.Context, who *Caller, in *newTeam) (*withTeam, error) {
	n := store.NewTeam{Name: in.Body.Name, Owner: in.Body.Owner, Quota: in.Body.Quota}
	if n.Owner == "" {
		n.Owner = who.User.Name
	}
	added, err := a.manage(who).AddTeam(ctx, n)
	if err != nil {
		return nil, err
	}
	return a.showTeam(ctx, who, added.ID)
}

func (a *API) changeTeam(ctx context.Context, who *Caller, in *struct {
	ByTeam
	Body struct {
		Quota *int64 `json:"quota,omitempty" minimum:"0" maximum:"9007199254740991" doc:"0 is what the server sets for all; absent changes nothing."`
	}
}) (*withTeam, error) {
	if quota := in.Body.Quota; quota != nil {
		if err := a.manage(who).SetTeamQuota(ctx, in.ID, *quota); err != nil {
			return nil, err
		}
	}
	return a.showTeam(ctx, who, in.ID)
}

func (a *API) listMembers(ctx context.Context, who *Caller, in *struct {
	ByTeam
	Paging
}) (*struct{ Body Page[Member] }, error) {
	if _, err := a.seenTeam(ctx, who, in.ID); err != nil {
		return nil, err
	}
	list := listOf(who, "members", in.ID)
	after, err := position[int64](a, list, in.Cursor)
	if err != nil {
		return nil, err
	}
	all, err := a.o.Store.MembersByID(ctx, in.ID, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(a, list, in.Limit, all, func(m store.Member) int64 { return m.User.ID }, member)
	return &struct{ Body Page[Member] }{page}, err
}

func (a *API) addMember(ctx context.Context, who *Caller, in *newMember) (*withMember, error) {
	added, err := a.manage(who).AddMember(ctx, in.ID, in.Body.Name, store.Role(in.Body.Role))
	return &withMember{member(added)}, err
}

func (a *API) setMember(ctx context.Context, who *Caller, in *struct {
	ByMember
	Body struct {
		Role string `json:"role" enum:"owner,admin,member,viewer"`
	}
}) (*withMember, error) {
	if err := a.manage(who).SetMember(ctx, in.ID, in.User, store.Role(in.Body.Role)); err != nil {
		return nil, err
	}
	m, err := a.o.Store.MemberByID(ctx, in.ID, in.User)
	return &withMember{member(m)}, err
}
