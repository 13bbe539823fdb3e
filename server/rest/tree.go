package rest

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/lockns"
	"holdfast/store"
)

// errMoved says that a resource is no longer where the caller saw it. It is never
// answered with: whoever gets it looks again.
var errMoved = errors.New("rest: resource was moved meanwhile")

// maxLooks is how often a change begins anew because of others who move the same
// resource.
const maxLooks = 5

type (
	createFolderInput struct {
		ID   int64 `path:"id" minimum:"1"`
		Body struct {
			Name string `json:"name" minLength:"1" maxLength:"255"`
		}
	}
	moveInput struct {
		ID int64 `path:"id" minimum:"1"`
		ConditionHeaders
		Body Destination
	}
	copyInput struct {
		ID   int64 `path:"id" minimum:"1"`
		Body Destination
	}
	removeInput struct {
		ID int64 `path:"id" minimum:"1"`
		ConditionHeaders
	}
)

// Destination is where a resource goes.
type Destination struct {
	Name      string `json:"name,omitempty" minLength:"1" maxLength:"255" doc:"The name it gets; without it, the one it has."`
	Parent    int64  `json:"parent,omitempty" minimum:"1" doc:"The id of the folder it goes to, also of another workspace; without it, the one it is in."`
	Overwrite bool   `json:"overwrite,omitempty" doc:"Replace what has that name there, for good, if it is of the same kind."`
}

// kinds are those of resources, as URLs name them.
var kinds = []struct {
	kind, name string
	id         func(int64) lockns.Root
}{{"file", "File", fileID}, {"folder", "Folder", folderID}}

func (a *API) registerTree() {
	registerRaw(a, Files, huma.Operation{
		OperationID: "createFolder", Method: http.MethodPost, Path: "/folders/{id}/folders", Tags: []string{"Files"}, Summary: "Make a folder in a folder",
		DefaultStatus: http.StatusCreated, Errors: changeErrors,
	}, func(ctx context.Context, who *Caller, below raw, in *createFolderInput) (*written, error) {
		t, err := a.member(ctx, who, in.ID, in.Body.Name)
		if err != nil {
			return nil, err
		}
		n, err := a.o.Store.Mkdir(ctx, t, store.Patch{}, who.claim(nil))
		if err != nil {
			return nil, err
		}
		return a.wrote(ctx, who, below.r, t.Workspace, n.Place.Root, true, a.resource(who, t.Workspace, store.Entry{Node: n})), nil
	})
	for _, k := range kinds {
		path := "/" + k.kind + "s/{id}"
		registerRaw(a, Files, huma.Operation{
			OperationID: "move" + k.name, Method: http.MethodPatch, Path: path, Tags: []string{"Files"}, Summary: "Rename or move a " + k.kind,
			Description: "Identity, content and properties stay; locks of WebDAV end, others go along.",
			Errors:      changeErrors,
		}, func(ctx context.Context, who *Caller, below raw, in *moveInput) (*written, error) {
			return a.move(ctx, who, below.r, k.id(in.ID), in.Body)
		})
		registerRaw(a, Files, a.alsoAnswers(huma.Operation{
			OperationID: "copy" + k.name, Method: http.MethodPost, Path: path + "/copy", Tags: []string{"Files"}, Summary: "Copy a " + k.kind,
			Description:   "Properties are copied; locks and versions are not. 200 says that something was replaced.",
			Errors:        changeErrors,
			DefaultStatus: http.StatusCreated,
		}, http.StatusOK), func(ctx context.Context, who *Caller, below raw, in *copyInput) (*written, error) {
			return a.copy(ctx, who, below.r, k.id(in.ID), in.Body)
		})
		registerRaw(a, Files, huma.Operation{
			OperationID: "remove" + k.name, Method: http.MethodDelete, Path: path, Tags: []string{"Files"}, Summary: "Remove a " + k.kind,
			Errors: changeErrors,
		}, func(ctx context.Context, who *Caller, below raw, in *removeInput) (*struct{}, error) {
			t, _, err := a.find(ctx, who, k.id(in.ID), store.Want{})
			if err != nil {
				return nil, err
			}
			return nil, a.o.Store.Remove(ctx, t, who.claim(conditions(below.r, t)))
		})
	}
}

// changeErrors are the statuses of what refuses a change.
var changeErrors = []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusLocked, http.StatusInsufficientStorage}

// member is a name in a folder, for something that is to be made there.
func (a *API) member(ctx context.Context, who *Caller, folder int64, name string) (store.Target, error) {
	t, _, err := a.find(ctx, who, folderID(folder), store.Want{})
	if err == nil && a.isBlocked(name) {
		err = errBlocked
	}
	t.Path = store.Path{name}
	return t, err
}

// move gives a resource another name, or another folder. Both are meant from
// where it is when the caller looks: had somebody moved it since, naming it would
// take it back. So the transaction compares, and if need be everything starts
// again.
func (a *API) move(ctx context.Context, who *Caller, r *http.Request, id lockns.Root, d Destination) (out *written, err error) {
	for range maxLooks {
		out, err = a.moveOnce(ctx, who, r, id, d)
		if !errors.Is(err, errMoved) && !errors.Is(err, store.ErrNotFound) {
			return out, err
		}
		if _, _, gone := a.find(ctx, who, id, store.Want{}); gone != nil {
			return nil, gone
		}
	}
	return nil, errors.Join(store.ErrBusy, err)
}

func (a *API) moveOnce(ctx context.Context, who *Caller, r *http.Request, id lockns.Root, d Destination) (*written, error) {
	from, e, err := a.find(ctx, who, id, whole)
	if err != nil {
		return nil, err
	}
	if e.ID() == who.base() || e.Parent() == 0 {
		return nil, store.ErrRoot
	}
	to, err := a.destination(ctx, who, from, e, d)
	if err != nil {
		return nil, err
	}
	known := a.resource(who, from.Workspace, e)
	if to.Workspace == from.Workspace && to.Start.ID == e.Parent() && to.Path.Base() == e.Name {
		return &written{Status: http.StatusOK, ETag: known.ETag, Body: known}, nil
	}
	cl := who.claim(conditions(r, from))
	cl.first = func(v store.View) error {
		now := v.Resource(from)
		if !now.Exists || now.Node.Parent() != e.Parent() || now.Node.Name != e.Name {
			return errMoved
		}
		return replaceable(v, to, now.Node, d.Overwrite)
	}
	if _, err := a.o.Store.Move(ctx, from, to, store.MoveOptions{NoOverwrite: !d.Overwrite}, cl); err != nil {
		return nil, err
	}
	known.Workspace, known.Parent, known.Name, known.ETag = workspaceID(to.Workspace), to.Start.ID, to.Path.Base(), ""
	return a.wrote(ctx, who, r, to.Workspace, id, false, known), nil
}

func (a *API) copy(ctx context.Context, who *Caller, r *http.Request, id lockns.Root, d Destination) (*written, error) {
	from, e, err := a.find(ctx, who, id, whole)
	if err != nil {
		return nil, err
	}
	to, err := a.destination(ctx, who, from, e, d)
	if err != nil {
		return nil, err
	}
	cl := who.claim(nil)
	cl.first = func(v store.View) error {
		now := v.Resource(from)
		if !now.Exists {
			return store.ErrNotFound
		}
		return replaceable(v, to, now.Node, d.Overwrite)
	}
	made, created, err := a.o.Store.Copy(ctx, from, to, store.CopyOptions{NoOverwrite: !d.Overwrite}, cl)
	if err != nil {
		return nil, err
	}
	known := a.resource(who, to.Workspace, e)
	known.ID, known.Parent, known.Name, known.ETag = made.ID, to.Start.ID, to.Path.Base(), ""
	return a.wrote(ctx, who, r, to.Workspace, made, created, known), nil
}

// destination is where a resource goes: a name in a folder. A folder that the
// caller may not see is store.ErrNoParent like one that is not there.
func (a *API) destination(ctx context.Context, who *Caller, from store.Target, e store.Entry, d Destination) (store.Target, error) {
	to := store.Target{Workspace: from.Workspace, Base: from.Base, Start: folderID(e.Parent()), Path: store.Path{e.Name}}
	if d.Parent == 0 && (e.Parent() == 0 || e.ID() == who.base()) {
		return to, store.ErrNoParent // the folder it is in is not for this caller
	}
	if d.Parent != 0 {
		folder, _, err := a.find(ctx, who, folderID(d.Parent), store.Want{})
		if errors.Is(err, store.ErrNotFound) {
			err = store.ErrNoParent
		}
		if err != nil {
			return to, err
		}
		to.Workspace, to.Start = folder.Workspace, folder.Start
	}
	if d.Name != "" {
		to.Path = store.Path{d.Name}
	}
	if a.isBlocked(to.Path.Base()) {
		return to, errBlocked
	}
	return to, store.CheckName(to.Path.Base())
}

// replaceable refuses a destination that is taken, unless by something that may
// be overwritten with a node: what is of the same kind. Another spelling of the
// node's own name is no other resource.
func replaceable(v store.View, to store.Target, n store.Node, overwrite bool) error {
	there := v.Resource(to)
	if !there.Exists || there.Node.Place.Root == n.Place.Root {
		return nil
	}
	if !overwrite || there.Node.IsFolder() != n.IsFolder() {
		return store.ErrExists
	}
	return nil
}
