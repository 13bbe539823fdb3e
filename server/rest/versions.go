package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/dav/content"
	"holdfast/store"
)

// Version is a former content of a file.
type Version struct {
	ID          int64  `json:"id"`
	Size        int64  `json:"size" doc:"Bytes."`
	ETag        string `json:"etag" doc:"That of the file while this was its content."`
	ContentType string `json:"content_type"`
	Modified    Time   `json:"modified" doc:"When this became the content, or what its client said."`
	Replaced    Time   `json:"replaced" doc:"When the next content came."`
}

type (
	versionsInput struct {
		ID int64 `path:"id" minimum:"1"`
		Paging
	}
	VersionInput struct {
		ID      int64 `path:"id" minimum:"1"`
		Version int64 `path:"version" minimum:"1"`
	}
	versionContentInput struct {
		VersionInput
		ContentHeaders
	}
	restoreInput struct {
		VersionInput
		ConditionHeaders
	}
)

func (a *API) registerVersions() {
	register(a, Files, huma.Operation{
		OperationID: "listVersions", Method: http.MethodGet, Path: "/files/{id}/versions", Tags: []string{"Versions"}, Summary: "Former contents of a file, newest first",
		Errors: []int{http.StatusNotFound},
	}, a.versions)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		verb, what := "get", "A former content of a file"
		if method == http.MethodHead {
			verb, what = "head", "What a GET of a former content says beside it"
		}
		registerRaw(a, Files, contentOperation(huma.Operation{
			OperationID: verb + "VersionContent", Method: method, Path: "/files/{id}/versions/{version}/content", Tags: []string{"Versions"}, Summary: what,
		}), func(ctx context.Context, who *Caller, below raw, in *versionContentInput) (*huma.StreamResponse, error) {
			t, e, err := a.find(ctx, who, fileID(in.ID), store.Want{})
			if err != nil {
				return nil, err
			}
			v, body, err := a.o.Store.ReadVersion(ctx, t, in.Version)
			if err != nil {
				return nil, err
			}
			return a.stream(who, below, download{e.Name, content.Type(v.ContentType, e.Name), v.ETag, v.Modified, body}), nil
		})
	}
	registerRaw(a, Files, huma.Operation{
		OperationID: "restoreVersion", Method: http.MethodPost, Path: "/files/{id}/versions/{version}/restore", Tags: []string{"Versions"},
		Summary:     "Give a file a former content again",
		Description: "It is a change like any other: the content of now becomes a version, and the ETag is a new one.",
		Errors:      changeErrors,
	}, func(ctx context.Context, who *Caller, below raw, in *restoreInput) (*written, error) {
		t, _, err := a.find(ctx, who, fileID(in.ID), store.Want{})
		if err != nil {
			return nil, err
		}
		n, err := a.o.Store.RestoreVersion(ctx, t, in.Version, who.claim(conditions(below.r, t)))
		if err != nil {
			return nil, err
		}
		return a.wrote(ctx, who, below.r, t.Workspace, n.Place.Root, false, a.resource(who, t.Workspace, store.Entry{Node: n})), nil
	})
}

func (a *API) versions(ctx context.Context, who *Caller, in *versionsInput) (*struct{ Body Page[Version] }, error) {
	t, e, err := a.find(ctx, who, fileID(in.ID), store.Want{})
	if err != nil {
		return nil, err
	}
	list := listOf(who, "versions", in.ID)
	before, err := position[int64](a, list, in.Cursor)
	if err != nil {
		return nil, err
	}
	all, err := a.o.Store.Versions(ctx, t, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(a, list, in.Limit, all, func(v store.Version) int64 { return v.ID }, func(v store.Version) Version {
		return Version{v.ID, v.Size, v.ETag, content.Type(v.ContentType, e.Name), v.Modified.UTC(), v.Replaced.UTC()}
	})
	return &struct{ Body Page[Version] }{page}, err
}
