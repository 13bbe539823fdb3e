package rest

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/lockns"
	"holdfast/store"
)

// Trashed is a file or folder that was removed and can be restored.
type Trashed struct {
	ID        int64  `json:"id" doc:"Of the entry in the trash, not of the file or folder."`
	Kind      string `json:"kind" enum:"file,folder"`
	Resource  int64  `json:"resource" doc:"The id that the file or folder had, and gets back."`
	Name      string `json:"name" maxLength:"255"`
	Parent    int64  `json:"parent" doc:"The id of the folder it was in, and goes back to unless another is named."`
	Path      string `json:"path" doc:"Where it was, from the topmost folder that this login opens."`
	Size      int64  `json:"size" doc:"Bytes of content; 0 for a folder."`
	RemovedBy string `json:"removed_by,omitempty" doc:"The name of the user who removed it, as it was then."`
	Removed   Time   `json:"removed"`
	Expires   Time   `json:"expires" doc:"From this moment on it cannot be restored."`
}

// RestoreTo is where something goes from the trash.
type RestoreTo struct {
	Parent int64  `json:"parent,omitempty" minimum:"1" doc:"The id of a folder of the same workspace; without it, the one it was in."`
	Name   string `json:"name,omitempty" minLength:"1" maxLength:"255" doc:"The name it gets; without it, its own."`
}

// Emptied says what emptying the trash did.
type Emptied struct {
	Purged int `json:"purged" doc:"How many entries were purged."`
}

type (
	listTrashInput struct {
		InWorkspace
		Paging
	}
	trashInput struct {
		InWorkspace
		ID int64 `path:"id" minimum:"1"`
	}
	restoreTrashInput struct {
		InWorkspace
		ID   int64 `path:"id" minimum:"1"`
		Body RestoreTo
	}
)

func (a *API) registerTrash() {
	const path = "/workspaces/{workspace}/trash"
	register(a, Files, huma.Operation{
		OperationID: "listTrash", Method: http.MethodGet, Path: path, Tags: []string{"Trash"},
		Summary: "List what was removed and can be restored",
		Description: "What was removed last comes first. A page may have fewer items than the limit, and none: " +
			"what came from where this login sees nothing is left out of it.",
		Errors: []int{http.StatusNotFound},
	}, a.listTrash)
	register(a, Files, huma.Operation{
		OperationID: "restoreTrash", Method: http.MethodPost, Path: path + "/{id}/restore", Tags: []string{"Trash"},
		Summary:     "Restore a file or folder",
		Description: "It is what it was: ids, properties, contents and versions, for a folder those of all below too. Its locks ended when it was removed.",
		Errors: []int{
			http.StatusNotFound, http.StatusConflict, http.StatusLocked, http.StatusInsufficientStorage,
			http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusRequestTimeout,
		},
	}, a.restoreTrash)
	register(a, Files, huma.Operation{
		OperationID: "purgeTrash", Method: http.MethodDelete, Path: path + "/{id}", Tags: []string{"Trash"},
		Summary: "Delete something in the trash for good", Errors: []int{http.StatusNotFound, http.StatusInsufficientStorage},
	}, a.purgeTrash)
	register(a, Files, huma.Operation{
		OperationID: "emptyTrash", Method: http.MethodDelete, Path: path, Tags: []string{"Trash"},
		Summary:     "Delete everything in the trash for good",
		Description: "Everything that came from where this login may change something. The storage is given back soon after.",
		Errors:      []int{http.StatusNotFound, http.StatusInsufficientStorage},
	}, a.emptyTrash)
}

func (a *API) listTrash(ctx context.Context, who *Caller, in *listTrashInput) (*struct{ Body Page[Trashed] }, error) {
	t, err := a.place(ctx, who, in.Workspace, "/")
	if err != nil {
		return nil, err
	}
	list := listOf(who, "trash", t.Workspace, t.Base)
	before, err := position[int64](a, list, in.Cursor)
	if err != nil {
		return nil, err
	}
	all, next, err := a.o.Store.Trash(ctx, t, before, in.Limit)
	if err != nil {
		return nil, err
	}
	page := Page[Trashed]{Items: []Trashed{}}
	for _, e := range all {
		if !a.hasBlocked(e.Path) {
			page.Items = append(page.Items, trashed(e))
		}
	}
	if next != 0 {
		page.Next, err = a.cursor(list, next)
	}
	return &struct{ Body Page[Trashed] }{page}, err
}

// trashEntry is an entry of the trash, and the workspace as the caller opens it:
// store.ErrNotFound when there is none, the caller may not see it, or a name that
// led to it is blocked.
func (a *API) trashEntry(ctx context.Context, who *Caller, workspace string, id int64) (t store.Target, e store.Trashed, err error) {
	if t, err = a.place(ctx, who, workspace, "/"); err != nil {
		return t, e, err
	}
	if e, err = a.o.Store.TrashEntry(ctx, t, id); err == nil && a.hasBlocked(e.Path) {
		err = store.ErrNotFound
	}
	return t, e, err
}

func (a *API) restoreTrash(ctx context.Context, who *Caller, in *restoreTrashInput) (*struct{ Body Resource }, error) {
	t, e, err := a.trashEntry(ctx, who, in.Workspace, in.ID)
	if err != nil {
		return nil, err
	}
	to := store.RestoreOptions{Folder: cmp.Or(in.Body.Parent, e.Folder), Name: in.Body.Name}
	// The store finds the folder again; whether blocked names lead to it is asked here.
	if _, _, err := a.find(ctx, who, folderID(to.Folder), store.Want{}); errors.Is(err, store.ErrNotFound) {
		return nil, store.ErrNoParent
	} else if err != nil {
		return nil, err
	}
	if a.isBlocked(to.Name) {
		return nil, errBlocked
	}
	id, err := a.o.Store.Restore(ctx, t, e.ID, to, who.claim(nil))
	if err != nil {
		return nil, err
	}
	t, found, err := a.find(ctx, who, id, whole)
	if err != nil {
		return nil, err
	}
	return &struct{ Body Resource }{a.resource(who, t.Workspace, found)}, nil
}

func (a *API) purgeTrash(ctx context.Context, who *Caller, in *trashInput) (*struct{}, error) {
	t, e, err := a.trashEntry(ctx, who, in.Workspace, in.ID)
	if err != nil {
		return nil, err
	}
	return nil, a.o.Store.PurgeTrash(ctx, t, e.ID, who.claim(nil))
}

func (a *API) emptyTrash(ctx context.Context, who *Caller, in *InWorkspace) (*struct{ Body Emptied }, error) {
	t, err := a.place(ctx, who, in.Workspace, "/")
	if err != nil {
		return nil, err
	}
	n, err := a.o.Store.EmptyTrash(ctx, t, who.claim(nil))
	return &struct{ Body Emptied }{Emptied{Purged: n}}, err
}

// trashed shows an entry of the trash.
func trashed(e store.Trashed) Trashed {
	kind := "file"
	if e.Resource.Kind == lockns.FolderRoot {
		kind = "folder"
	}
	return Trashed{
		ID: e.ID, Kind: kind, Resource: e.Resource.ID, Name: e.Path.Base(), Parent: e.Folder, Path: e.Path.String(), Size: e.Size,
		RemovedBy: e.RemovedBy, Removed: e.Removed.UTC(), Expires: e.Expires.UTC(),
	}
}
