package rest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/store"
)

// searchLooks is how many files and folders a search looks at.
const searchLooks = 100_000

type searchInput struct {
	InWorkspace
	Query          string    `query:"q" maxLength:"255" example:"report" doc:"Words that the name has, all of them, as parts of words too and in any case; without, any name."`
	Kind           string    `query:"kind" enum:"file,folder" doc:"Files only, or folders only."`
	Under          int64     `query:"under" minimum:"1" doc:"The id of the folder to search; without, all that this login opens of the workspace."`
	ModifiedAfter  time.Time `query:"modified_after" doc:"Modified then or later."`
	ModifiedBefore time.Time `query:"modified_before" doc:"Modified before."`
	MinSize        int64     `query:"min_size" minimum:"0" doc:"Bytes: files of as many or more."`
	MaxSize        int64     `query:"max_size" minimum:"0" maximum:"9007199254740991" default:"9007199254740991" doc:"Bytes: files of as many or fewer."`
	Limit          int       `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many items the answer has at most."`
}

// Found is what a search found.
type Found struct {
	Items    []Resource `json:"items" nullable:"false"`
	Complete bool       `json:"complete" doc:"Whether that is all there is; otherwise there may be more, for a narrower search to find."`
}

func (a *API) registerSearch() {
	register(a, Files, a.compressed(huma.Operation{
		OperationID: "search", Method: http.MethodGet, Path: "/workspaces/{workspace}/search", Tags: []string{"Files"},
		Summary:     "Search files and folders by name, time and size",
		Description: "Results come folder by folder, each with its path. A search looks at 100,000 files and folders at most.",
		Errors:      []int{http.StatusNotFound},
	}), a.search)
}

func (a *API) search(ctx context.Context, who *Caller, in *searchInput) (*struct{ Body Found }, error) {
	t, err := a.place(ctx, who, in.Workspace, "/")
	if err != nil {
		return nil, err
	}
	if in.Under != 0 {
		t.Start = folderID(in.Under)
	}
	top, err := a.look(ctx, t, store.Want{})
	if err != nil {
		return nil, err
	}
	match := in.matcher()
	q := store.Query{MaxLooks: searchLooks, Skip: a.skip(), Match: func(_ int, e store.Entry) bool {
		return e.Place != top.Place && match(e)
	}}
	found := Found{Items: []Resource{}}
	scope := []store.SearchScope{{Target: t, Depth: store.DepthInfinity}}
	q.Limit = in.Limit + 1 // to know whether there are more
	found.Complete, err = a.o.Store.Search(ctx, scope, q, store.Want{States: true}, func(_ int, e store.Entry) error {
		found.Items = append(found.Items, a.resource(who, t.Workspace, e))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(found.Items) > in.Limit {
		found.Items, found.Complete = found.Items[:in.Limit], false
	}
	return &struct{ Body Found }{found}, nil
}

// matcher is the request as a condition on entries.
func (in *searchInput) matcher() func(store.Entry) bool {
	words := strings.Fields(store.Fold(in.Query, true))
	sized := in.MinSize > 0 || in.MaxSize < maxSize
	return func(e store.Entry) bool {
		switch {
		case in.Kind == "file" && e.IsFolder(), in.Kind == "folder" && !e.IsFolder():
			return false
		case sized && (e.IsFolder() || e.Size < in.MinSize || e.Size > in.MaxSize):
			return false
		case !in.ModifiedAfter.IsZero() && e.Modified.Before(in.ModifiedAfter):
			return false
		case !in.ModifiedBefore.IsZero() && !e.Modified.Before(in.ModifiedBefore):
			return false
		}
		return len(words) == 0 || hasAll(store.Fold(e.Name, true), words)
	}
}

// hasAll reports whether a text has all of some words.
func hasAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// maxSize is the max_size of a request without one: the greatest integer that every
// client can read.
const maxSize = 1<<53 - 1
