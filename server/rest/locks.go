package rest

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/lockns"
	"holdfast/store"
)

// Lock is an active lock, or one that expired and still has a row. It never says
// what opens it.
type Lock struct {
	ID        int64    `json:"id"`
	Workspace string   `json:"workspace" example:"team-3"`
	Root      LockRoot `json:"root"`
	Mode      string   `json:"mode" enum:"exclusive,shared"`
	Depth     string   `json:"depth" enum:"resource,infinity" doc:"How far below its root it reaches."`
	Origin    string   `json:"origin" enum:"product,webdav,wopi" doc:"The door it came through: this API or a command, WebDAV, or an editor."`
	Holder    *Holder  `json:"holder,omitempty" doc:"Absent when nobody holds it, as of an editor's lock for several users."`
	Note      string   `json:"note,omitempty" doc:"Why, as its holder says; of product locks only."`
	Created   Time     `json:"created"`
	Expires   *Time    `json:"expires,omitempty" doc:"The last moment of the lock; absent when it has no end."`
	Expired   bool     `json:"expired" doc:"Whether it is over and only its row is left: it is in nobody's way."`
}

// Holder is the user who holds a lock.
type Holder struct {
	ID   int64  `json:"id"`
	Name string `json:"name" doc:"The display name, or the user name."`
}

// SetLock is a product lock as its holder wants it.
type SetLock struct {
	Depth   string     `json:"depth,omitempty" enum:"resource,infinity" doc:"infinity covers all below a folder too, also what is yet to come. By default it is infinity for a folder."`
	Note    string     `json:"note,omitempty" maxLength:"1024" doc:"Why, for those who find it locked: 1,024 bytes of UTF-8 at most."`
	Expires *time.Time `json:"expires,omitempty" doc:"The last moment of the lock. Without this and timeout_seconds it has no end."`
	Timeout int64      `json:"timeout_seconds,omitempty" minimum:"1" maximum:"3155760000" doc:"How long it lasts from now, instead of expires."`
}

var lockTags = []string{"Locks"}

func (a *API) registerLocks() {
	for _, kind := range []struct {
		name, path string
		id         func(int64) lockns.Root
	}{{"File", "/files/{id}", fileID}, {"Folder", "/folders/{id}", folderID}} {
		register(a, Files, huma.Operation{
			OperationID: "list" + kind.name + "Locks", Method: http.MethodGet, Path: kind.path + "/locks", Tags: lockTags,
			Summary:     "List the locks that cover a resource",
			Description: "Those on it and those above that reach down to it, of every origin: who is in the way here, from where, and until when.",
			Errors:      []int{http.StatusNotFound},
		}, a.listCovering(kind.id))
		register(a, Files, huma.Operation{
			OperationID: "lock" + kind.name, Method: http.MethodPut, Path: kind.path + "/lock", Tags: lockTags,
			Summary:       "Lock a resource, or change the lock that the caller has on it",
			Description:   "Only the caller may then change it, through any door. A lock that the caller has there already stays the same lock, and gets this depth, note and end.",
			DefaultStatus: http.StatusCreated,
			Errors: []int{http.StatusNotFound, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
				http.StatusLocked, http.StatusInsufficientStorage},
			Responses: map[string]*huma.Response{"200": a.answers("The lock was the caller's already.", Lock{})},
		}, a.setLock(kind.id))
		register(a, Files, huma.Operation{
			OperationID: "unlock" + kind.name, Method: http.MethodDelete, Path: kind.path + "/lock", Tags: lockTags,
			Summary:     "End the lock that the caller set on a resource",
			Description: "Locks of WebDAV and of editors stay: DELETE /locks/{id} ends them.",
			Errors:      []int{http.StatusNotFound, http.StatusInsufficientStorage},
		}, a.endLock(kind.id))
	}
	register(a, Files, huma.Operation{
		OperationID: "listMyLocks", Method: http.MethodGet, Path: "/locks", Tags: lockTags,
		Summary:     "List the locks that the caller holds",
		Description: "Of every origin, in every workspace that the login opens, the oldest first.",
	}, a.listOwnLocks)
	register(a, Files, huma.Operation{
		OperationID: "releaseMyLock", Method: http.MethodDelete, Path: "/locks/{id}", Tags: lockTags,
		Summary:     "End a lock that the caller holds",
		Description: "Of any origin: the program that took it through WebDAV, or the editor, loses it.",
		Errors:      []int{http.StatusNotFound, http.StatusInsufficientStorage},
	}, a.endOwnLock)
	register(a, Files, huma.Operation{
		OperationID: "listWorkspaceLocks", Method: http.MethodGet, Path: "/workspaces/{workspace}/locks", Tags: lockTags,
		Summary: "List the locks of a workspace, the oldest first", Errors: []int{http.StatusNotFound},
	}, a.listWorkspaceLocks)
}

// answers describes an answer that huma does not know of by itself.
func (a *API) answers(text string, body any) *huma.Response {
	schema := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(body), true, "")
	return &huma.Response{Description: text, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
}

// byID names a resource, or a lock, in a path. huma overlooks fields of embedded
// types that are not exported, so that it is repeated where there is more.
type byID struct {
	ID int64 `path:"id" minimum:"1"`
}

type pageByID struct {
	ID int64 `path:"id" minimum:"1"`
	Paging
}

// locksOf is the answer with a list of locks.
type locksOf struct{ Body Page[Lock] }

func (a *API) listCovering(kind func(int64) lockns.Root) func(context.Context, *Caller, *pageByID) (*locksOf, error) {
	return func(ctx context.Context, who *Caller, in *pageByID) (*locksOf, error) {
		target, _, err := a.find(ctx, who, kind(in.ID), store.Want{})
		if err != nil {
			return nil, err
		}
		return listLocks(a, listOf(who, "locks.covering", kind(in.ID)), in.Paging, lockID, a.lock, func(after int64, limit int) ([]store.LockInfo, error) {
			return a.o.Store.LocksCovering(ctx, target, after, limit)
		})
	}
}

// lockID is a lock's position in a list by id.
func lockID(i store.LockInfo) int64 { return i.ID }

// listLocks answers with a page of locks, which read gets after a position.
func listLocks[K any](a *API, list string, page Paging, at func(store.LockInfo) K, show func(store.LockInfo) Lock,
	read func(after K, limit int) ([]store.LockInfo, error),
) (*locksOf, error) {
	after, err := position[K](a, list, page.Cursor)
	if err != nil {
		return nil, err
	}
	infos, err := read(after, page.Limit+1)
	if err != nil {
		return nil, err
	}
	p, err := pageOf(a, list, page.Limit, infos, at, show)
	return &locksOf{p}, err
}

// lockSet is the answer with a lock that was set.
type lockSet struct {
	Status int
	Body   Lock
}

type setLockInput struct {
	ID   int64 `path:"id" minimum:"1"`
	Body SetLock
}

func (a *API) setLock(kind func(int64) lockns.Root) func(context.Context, *Caller, *setLockInput) (*lockSet, error) {
	return func(ctx context.Context, who *Caller, in *setLockInput) (*lockSet, error) {
		target, node, err := a.find(ctx, who, kind(in.ID), store.Want{})
		if err != nil {
			return nil, err
		}
		spec, err := a.lockSpec(who, in.Body, node.IsFolder())
		if err != nil {
			return nil, err
		}
		l, granted, err := a.o.Store.SetLock(ctx, target, spec, who.claim(nil))
		if err != nil {
			return nil, err
		}
		infos, err := a.o.Store.DescribeLocks(ctx, who.base(), []lockns.Lock{l})
		if err != nil {
			return nil, err
		}
		out := &lockSet{http.StatusOK, a.lock(infos[0])}
		if granted {
			out.Status = http.StatusCreated
		}
		return out, nil
	}
}

// lockSpec is the lock that a caller asks for.
func (a *API) lockSpec(who *Caller, in SetLock, folder bool) (store.LockSpec, error) {
	spec := store.LockSpec{
		Origin: lockns.Product, Mode: lockns.Exclusive, Depth: lockns.Depth(in.Depth), Holder: who.User.ID, Owner: in.Note,
		Timeout: time.Duration(in.Timeout) * time.Second, Longest: a.o.LockMax, MustExist: true,
	}
	if in.Expires != nil {
		spec.Until = *in.Expires
	}
	if in.Depth == "" {
		spec.Depth = lockns.Resource
		if folder {
			spec.Depth = lockns.Infinity
		}
	}
	if in.Expires != nil && in.Timeout != 0 {
		return spec, problem(http.StatusBadRequest, "request.invalid", "expires and timeout_seconds exclude each other")
	}
	return spec, nil
}

func (a *API) endLock(kind func(int64) lockns.Root) func(context.Context, *Caller, *byID) (*struct{}, error) {
	return func(ctx context.Context, who *Caller, in *byID) (*struct{}, error) {
		target, _, err := a.find(ctx, who, kind(in.ID), store.Want{})
		if err != nil {
			return nil, err
		}
		return nil, a.o.Store.Unlock(ctx, target, store.ByOrigin(lockns.Product), who.claim(nil))
	}
}

// within is what a login is limited to; nil for one that is not.
func (c *Caller) within() *store.Target {
	if !c.limited() {
		return nil
	}
	return &store.Target{Workspace: c.Account.Workspace(), Base: c.base()}
}

func (a *API) listOwnLocks(ctx context.Context, who *Caller, in *struct{ Paging }) (*locksOf, error) {
	list := listOf(who, "locks.own", who.limited(), who.base())
	return listLocks(a, list, in.Paging, lockID, a.lock, func(after int64, limit int) ([]store.LockInfo, error) {
		infos, err := a.o.Store.Locks(ctx, store.LockFilter{Holder: who.User.ID, Under: who.within(), After: after, Limit: limit})
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil // what the login was limited to is gone
		}
		return infos, err
	})
}

func (a *API) endOwnLock(ctx context.Context, who *Caller, in *byID) (*struct{}, error) {
	_, err := a.o.Store.EndLock(ctx, in.ID, who.within(), who.claim(nil))
	return nil, err
}

type pageInWorkspace struct {
	Workspace string `path:"workspace" maxLength:"32" example:"team-3" doc:"personal-7, team-3; personal is the caller's own."`
	Paging
}

func (a *API) listWorkspaceLocks(ctx context.Context, who *Caller, in *pageInWorkspace) (*locksOf, error) {
	target, err := a.place(ctx, who, in.Workspace, "")
	if err != nil {
		return nil, err
	}
	list := listOf(who, "locks.workspace", target.Workspace, target.Base)
	return listLocks(a, list, in.Paging, lockID, a.lock, func(after int64, limit int) ([]store.LockInfo, error) {
		return a.o.Store.Locks(ctx, store.LockFilter{Under: &target, After: after, Limit: limit})
	})
}

// lock shows an active lock to somebody who may see what it covers.
func (a *API) lock(i store.LockInfo) Lock {
	l := showLock(i)
	l.Root = a.lockRoot(i)
	return l
}

// showLock shows an active lock with its root, whoever may open that.
func showLock(i store.LockInfo) Lock {
	l := Lock{
		ID: i.ID, Workspace: workspaceID(i.Workspace), Root: LockRoot{Kind: string(i.Place.Root.Kind), ID: i.Place.Root.ID, Path: i.At},
		Mode: string(i.Mode), Depth: string(i.Depth), Origin: string(i.Origin), Created: i.CreatedAt.UTC(), Expires: timeOrNil(i.ExpiresAt),
	}
	if i.Holder != 0 {
		l.Holder = &Holder{ID: i.Holder, Name: i.HolderDisplay}
	}
	if i.Origin == lockns.Product {
		l.Note = i.Owner
	}
	return l
}

// maxLocksShown is how many locks a problem names.
const maxLocksShown = 20

// lockedProblem says which locks are in the way.
func (a *API) lockedProblem(ctx context.Context, who *Caller, locks []lockns.Lock) *Problem {
	p := problem(http.StatusLocked, "resource.locked", "a lock is in the way")
	locks = locks[:min(len(locks), maxLocksShown)]
	infos, err := a.o.Store.DescribeLocks(ctx, who.base(), locks)
	if err != nil {
		// The locks are what matters, even where nobody can tell more of them.
		a.log.WarnContext(ctx, "locks in the way not described", "err", err)
		for _, l := range locks {
			infos = append(infos, store.LockInfo{Lock: l})
		}
	}
	for _, i := range infos {
		p.Locks = append(p.Locks, a.lockHolder(i))
	}
	return p
}

// lockHolder shows a lock to somebody it is in the way of.
func (a *API) lockHolder(i store.LockInfo) LockHolder {
	return LockHolder{
		Root: a.lockRoot(i), Mode: string(i.Mode), Depth: string(i.Depth), Origin: string(i.Origin),
		Holder: i.HolderDisplay, Expires: timeOrNil(i.ExpiresAt),
	}
}

// lockRoot shows where a lock is rooted. What the login cannot open is of a kind
// and no more.
func (a *API) lockRoot(i store.LockInfo) LockRoot {
	root := LockRoot{Kind: string(i.Place.Root.Kind)}
	if i.At != "" && !a.hasBlocked(store.ParsePath(i.At)) {
		root.ID, root.Path = i.Place.Root.ID, i.At
	}
	return root
}
