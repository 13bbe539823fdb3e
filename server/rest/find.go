package rest

import (
	"context"
	"slices"

	"holdfast/lockns"
	"holdfast/store"
)

// whole is what is read of a resource that is shown by itself.
var whole = store.Want{States: true, Checksums: true}

// fileID and folderID name resources by the id in a URL. The root folder of a
// workspace goes by its id too.
func fileID(id int64) lockns.Root   { return lockns.Root{Kind: lockns.FileRoot, ID: id} }
func folderID(id int64) lockns.Root { return lockns.Root{Kind: lockns.FolderRoot, ID: id} }

// find is a resource known by id, as it is now: store.ErrNotFound when there is
// none, the caller may not see it, or a name that leads to it is blocked.
func (a *API) find(ctx context.Context, who *Caller, id lockns.Root, want store.Want) (t store.Target, e store.Entry, err error) {
	if t, err = a.target(ctx, who, id); err == nil {
		e, err = a.look(ctx, t, want)
	}
	return t, e, err
}

// place is what a path of a workspace names, if the caller may see the workspace:
// store.ErrNotFound. Whether something is there, and whether its name is blocked,
// is not asked.
func (a *API) place(ctx context.Context, who *Caller, workspace, path string) (store.Target, error) {
	ws, err := parseWorkspace(who, workspace)
	if err != nil {
		return store.Target{}, err
	}
	if _, err := a.opens(ctx, who, ws); err != nil {
		return store.Target{}, err
	}
	p, err := parsePath(path)
	return store.Target{Workspace: ws, Base: who.base(), Path: p}, err
}

// look reads one resource: store.ErrNotFound when there is none, or a name that
// leads to it is blocked.
func (a *API) look(ctx context.Context, t store.Target, want store.Want) (e store.Entry, err error) {
	err = a.o.Store.Walk(ctx, t, store.DepthZero, want, 0, func(found store.Entry) error {
		e = found
		e.Path = slices.Clone(found.Path)
		return nil
	})
	if err == nil && a.hasBlocked(e.Path) {
		err = store.ErrNotFound
	}
	return e, err
}
