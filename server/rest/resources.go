package rest

import (
	"holdfast/dav/content"
	"holdfast/lockns"
	"holdfast/store"
)

// resource shows a file or folder. Its path is shown where e has one.
func (a *API) resource(who *Caller, ws lockns.Workspace, e store.Entry) Resource {
	r := Resource{
		ID: e.ID(), Kind: "folder", Workspace: workspaceID(ws), Name: e.Name, Path: e.Path.String(),
		Created: e.Created.UTC(), Modified: e.Modified.UTC(), LockState: lockState(e.State),
	}
	if r.ID != who.base() {
		r.Parent = e.Parent()
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
