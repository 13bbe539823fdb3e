package rest

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/dav/content"
	"holdfast/lockns"
	"holdfast/store"
)

type (
	resourceInput struct {
		ID int64 `path:"id" minimum:"1"`
	}
	resourceByPathInput struct {
		InWorkspace
		Path string `query:"path" required:"true" minLength:"1" maxLength:"33000" example:"/Reports/2026.docx" doc:"From the topmost folder that this login opens, which is /."`
	}
)

func (a *API) registerResources() {
	for _, k := range kinds {
		register(a, Files, huma.Operation{
			OperationID: "get" + k.name, Method: http.MethodGet, Path: "/" + k.kind + "s/{id}", Tags: []string{"Files"},
			Summary: "Show a " + k.kind, Errors: []int{http.StatusNotFound},
		}, func(ctx context.Context, who *Caller, in *resourceInput) (*struct{ Body Resource }, error) {
			t, e, err := a.find(ctx, who, k.id(in.ID), whole)
			if err != nil {
				return nil, err
			}
			return &struct{ Body Resource }{a.resource(who, t.Workspace, e)}, nil
		})
	}
	register(a, Files, huma.Operation{
		OperationID: "getResource", Method: http.MethodGet, Path: "/workspaces/{workspace}/resource", Tags: []string{"Files"},
		Summary: "Show the file or folder at a path", Errors: []int{http.StatusNotFound},
	}, a.resourceByPath)
}

func (a *API) resourceByPath(ctx context.Context, who *Caller, in *resourceByPathInput) (*struct{ Body Resource }, error) {
	t, err := a.place(ctx, who, in.Workspace, in.Path)
	if err != nil {
		return nil, err
	}
	e, err := a.look(ctx, t, whole)
	if err != nil {
		return nil, err
	}
	return &struct{ Body Resource }{a.resource(who, t.Workspace, e)}, nil
}

// resource shows a file or folder. Its path is that of e, which entries of a list
// do not have.
func (a *API) resource(who *Caller, ws lockns.Workspace, e store.Entry) Resource {
	r := Resource{
		ID: e.ID(), Kind: "folder", Workspace: workspaceID(ws), Name: e.Name, Path: e.Path.String(),
		Created: e.Created.UTC(), Modified: e.Modified.UTC(), LockState: lockState(e.State),
	}
	if r.ID != who.base() {
		r.Parent = e.Parent()
	}
	if root := r.LockState.Root; root != nil && !who.opensFolder(root.ID, e.Place) {
		root.ID = 0
	}
	if e.IsFolder() {
		return r
	}
	r.Kind, r.Size, r.ETag, r.ContentType = "file", e.Size, e.ETag, content.Type(e.ContentType, e.Name)
	for _, sum := range e.Checksums {
		if sum.Algorithm == "SHA256" {
			r.SHA256 = sum.Hex
		}
	}
	return r
}

// listed shows an entry of a folder's list, whose reader knows where the folder is.
func (a *API) listed(who *Caller, ws lockns.Workspace, e store.Entry) Resource {
	r := a.resource(who, ws, e)
	r.Path = ""
	return r
}

// opensFolder reports whether a folder is one that the login opens; below is the place
// of a resource that it opens below that folder.
func (c *Caller) opensFolder(id int64, below lockns.Place) bool {
	base := c.base()
	if base == 0 {
		return true
	}
	at := func(id int64) int { return strings.Index(below.Ancestry, "/"+strconv.FormatInt(id, 10)+"/") }
	return at(id) >= at(base)
}
