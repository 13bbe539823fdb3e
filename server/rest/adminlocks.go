package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/lockns"
	"holdfast/store"
)

func (a *API) registerAdminLocks() {
	gone := []int{http.StatusNotFound, http.StatusInsufficientStorage}
	register(a, Administrator, huma.Operation{
		OperationID: "listAllLocks", Method: http.MethodGet, Path: "/admin/locks", Tags: lockTags,
		Summary:     "List locks of all workspaces",
		Description: "Read from the lock table itself. Conditions add up.",
		Errors:      []int{http.StatusNotFound},
	}, a.listAllLocks)
	register(a, Administrator, huma.Operation{
		OperationID: "forceReleaseLock", Method: http.MethodDelete, Path: "/admin/locks/{id}", Tags: lockTags,
		Summary: "End a lock, whoever holds it", Description: "The audit log says who did.", Errors: gone,
	}, a.forceRelease)
	register(a, Administrator, huma.Operation{
		OperationID: "forceReleaseLocks", Method: http.MethodPost, Path: "/admin/locks/release", Tags: lockTags,
		Summary:     "End several locks, whoever holds them",
		Description: "Each by itself: one that is gone, or cannot be ended now, keeps no other.",
		Errors:      []int{http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType},
	}, a.forceReleaseAll)
	register(a, Administrator, huma.Operation{
		OperationID: "removeExpiredLocks", Method: http.MethodPost, Path: "/admin/locks/expire", Tags: lockTags,
		Summary:     "Remove the rows of expired locks",
		Description: "Expired locks are in nobody's way; the server removes their rows from time to time by itself.",
		Errors:      []int{http.StatusInsufficientStorage},
	}, a.removeExpired)
	register(a, Administrator, huma.Operation{
		OperationID: "showLockToken", Method: http.MethodPost, Path: "/admin/locks/{id}/token", Tags: lockTags,
		Summary: "Show the token of a lock", Description: "The audit log says who asked for it.", DefaultStatus: http.StatusOK, Errors: gone,
	}, a.showToken)
}

// allLocksInput selects locks.
type allLocksInput struct {
	User      int64  `query:"user" minimum:"1" doc:"Those that the user with this id holds."`
	Workspace string `query:"workspace" maxLength:"32" example:"team-3" doc:"Those of this workspace."`
	Origin    string `query:"origin" enum:"product,webdav,wopi"`
	Path      string `query:"path" maxLength:"65536" doc:"Those rooted at or below this path of the workspace."`
	Expired   bool   `query:"expired" doc:"Those that are over and whose rows are left, instead of the active ones."`
	Sort      string `query:"sort" enum:"id,expires,path" default:"id" doc:"path is as a lock's root was called when it was locked, and needs a workspace. What has no end is last."`
	Order     string `query:"order" enum:"asc,desc" default:"asc"`
	Paging
}

// lockPosition is a lock's place in a list of any order.
type lockPosition struct {
	ID   int64     `json:"id"`
	End  time.Time `json:"end"`
	Path string    `json:"path"`
}

var lockOrders = map[string]store.LockOrder{"id": store.ByLockID, "expires": store.ByEnd, "path": store.ByPath}

func (a *API) listAllLocks(ctx context.Context, who *Caller, in *allLocksInput) (*locksOf, error) {
	filter := store.LockFilter{
		Holder: in.User, Origin: lockns.Origin(in.Origin), Expired: in.Expired, Order: lockOrders[in.Sort], Descending: in.Order == "desc",
	}
	if in.Workspace == "" && (in.Path != "" || filter.Order == store.ByPath) {
		return nil, problem(http.StatusBadRequest, "request.invalid", "a path is of a workspace: name it")
	}
	if in.Workspace != "" {
		ws, err := parseWorkspace(who, in.Workspace)
		if err != nil {
			return nil, err
		}
		path, err := parsePath(in.Path)
		if err != nil {
			return nil, err
		}
		filter.Under = &store.Target{Workspace: ws, Path: path}
	}
	list := listOf(who, "locks.all", in.User, in.Workspace, in.Origin, in.Path, in.Expired, in.Sort, in.Order)
	show := func(i store.LockInfo) Lock {
		l := showLock(i)
		l.Expired = in.Expired
		return l
	}
	at := func(i store.LockInfo) lockPosition { return lockPosition{i.ID, i.ExpiresAt, i.Path} }
	return listLocks(a, list, in.Paging, at, show, func(after lockPosition, limit int) ([]store.LockInfo, error) {
		filter.After, filter.Limit = after.ID, limit
		switch filter.Order {
		case store.ByEnd:
			filter.AfterEnd = after.End
		case store.ByPath:
			filter.AfterPath = after.Path
		}
		return a.o.Store.Locks(ctx, filter)
	})
}

// noSuchLock says of a lock what the store says of anything known by id.
func noSuchLock(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return store.ErrNoSuchLock
	}
	return err
}

func (a *API) forceRelease(ctx context.Context, who *Caller, in *byID) (*struct{}, error) {
	_, err := a.o.Store.ForceUnlock(ctx, in.ID, who.Actor())
	return nil, noSuchLock(err)
}

// Released is what became of a lock that was to be ended.
type Released struct {
	ID       int64  `json:"id"`
	Released bool   `json:"released"`
	Code     string `json:"code,omitempty" maxLength:"64" doc:"Why not, as of a problem: lock.not_found when there is none."`
}

// releaseInput names few locks at a time: each takes a transaction.
type releaseInput struct {
	Body struct {
		IDs []int64 `json:"ids" minItems:"1" maxItems:"100" nullable:"false" doc:"The ids of locks."`
	}
}

type releaseOutput struct {
	Body struct {
		Items []Released `json:"items" nullable:"false" doc:"One of each id, in their order."`
	}
}

func (a *API) forceReleaseAll(ctx context.Context, who *Caller, in *releaseInput) (*releaseOutput, error) {
	out := &releaseOutput{}
	for _, id := range in.Body.IDs {
		r := Released{ID: id, Released: true}
		if _, err := a.o.Store.ForceUnlock(ctx, id, who.Actor()); err != nil {
			r.Released, r.Code = false, a.problemOf(ctx, who, noSuchLock(err)).Code
		}
		out.Body.Items = append(out.Body.Items, r)
	}
	return out, nil
}

// Removed is how many rows went.
type Removed struct {
	Removed int `json:"removed" minimum:"0"`
}

func (a *API) removeExpired(ctx context.Context, who *Caller, _ *struct{}) (*struct{ Body Removed }, error) {
	n, err := a.o.Store.CleanExpired(ctx, who.Actor())
	if err != nil {
		return nil, err
	}
	return &struct{ Body Removed }{Removed{n}}, nil
}

// Token is what opens a lock, in its holder's hands.
type Token struct {
	Token string `json:"token" maxLength:"255"`
}

func (a *API) showToken(ctx context.Context, who *Caller, in *byID) (*struct{ Body Token }, error) {
	token, err := a.o.Store.ShowToken(ctx, in.ID, who.Actor())
	if err != nil {
		return nil, noSuchLock(err)
	}
	return &struct{ Body Token }{Token{token}}, nil
}
