package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/store"
)

type childrenInput struct {
	ID    int64  `path:"id" minimum:"1"`
	Sort  string `query:"sort" enum:"name,size,modified" default:"name" doc:"Folders come first. By name is by Unicode code points, in normal form C: Z before a. Equal sizes and times are by id; folders have no size and are by name then."`
	Order string `query:"order" enum:"asc,desc" default:"asc"`
	Paging
}

// listOrders are the orders of children by their names in a query.
var listOrders = map[string]store.ListOrder{"name": store.ByName, "size": store.BySize, "modified": store.ByModified}

func (a *API) registerChildren() {
	register(a, Files, a.compressed(huma.Operation{
		OperationID: "listChildren", Method: http.MethodGet, Path: "/folders/{id}/children", Tags: []string{"Files"},
		Summary: "List what is in a folder", Errors: []int{http.StatusNotFound},
	}), a.children)
}

func (a *API) children(ctx context.Context, who *Caller, in *childrenInput) (*struct{ Body Page[Resource] }, error) {
	t, _, err := a.find(ctx, who, folderID(in.ID), store.Want{})
	if err != nil {
		return nil, err
	}
	list := listOf(who, "children", in.ID, in.Sort, in.Order)
	after, err := position[store.ListKey](a, list, in.Cursor)
	if err != nil {
		return nil, err
	}
	order := listOrders[in.Sort]
	entries, err := a.o.Store.List(ctx, t, store.ListFilter{
		Order: order, Descending: in.Order == "desc", After: after, Limit: in.Limit + 1, Skip: a.skip(), States: true,
	})
	if err != nil {
		return nil, err
	}
	page, err := pageOf(a, list, in.Limit, entries,
		func(e store.Entry) store.ListKey { return e.Key(order) },
		func(e store.Entry) Resource { return a.listed(who, t.Workspace, e) })
	return &struct{ Body Page[Resource] }{page}, err
}

// skip is what lists and searches pass over: nil where no name is blocked.
func (a *API) skip() func(name string) bool {
	if len(a.blocked) == 0 {
		return nil
	}
	return a.isBlocked
}
