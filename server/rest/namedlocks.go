package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/store"
)

// NamedLock is a lock on a name that somebody holds.
type NamedLock struct {
	Name    string `json:"name"`
	Holder  string `json:"holder" doc:"The display name of the user, or else their login name; empty when they are gone."`
	Owner   string `json:"owner" doc:"Which of the user's programs; empty when it said none."`
	Fence   int64  `json:"fence" doc:"Each new grant has a higher number, whatever its name: what is guarded by the lock refuses the lower."`
	Expires Time   `json:"expires" doc:"Its last moment, unless it is renewed."`
}

// Grant is the answer to who tried to get a lock on a name.
type Grant struct {
	Granted bool  `json:"granted" doc:"False when another holds it."`
	Fence   int64 `json:"fence,omitempty" doc:"When granted: the number of the grant."`
	Expires *Time `json:"expires,omitempty" doc:"When granted: its last moment, unless it is renewed."`
}

// Hold is the answer about a grant that was made before.
type Hold struct {
	Held    bool  `json:"held" doc:"False when the grant had ended already: its time was over, it was given back, or another followed."`
	Expires *Time `json:"expires,omitempty" doc:"When renewed: its last moment."`
}

// NamedKey names a lock and who holds it, in bodies.
type NamedKey struct {
	Name  string `json:"name" minLength:"1" maxLength:"96" pattern:"^[A-Za-z0-9._:/-]+$"`
	Owner string `json:"owner,omitempty" maxLength:"200" doc:"Tells programs of the same user apart; who gives the same is the same."`
}

// NamedTTL says how long a named lock lasts.
type NamedTTL struct {
	TTL int `json:"ttl_seconds" minimum:"1" maximum:"86400"`
}

// NamedFence says which grant is meant.
type NamedFence struct {
	Fence int64 `json:"fence" minimum:"1"`
}

func (a *API) registerNamedLocks() {
	const path = "/workspaces/{workspace}/named-locks"
	tag := []string{"Named locks"}
	register(a, Files, huma.Operation{
		OperationID: "listNamedLocks", Method: http.MethodGet, Path: path, Tags: tag, Summary: "List the named locks of a workspace that are held, by name",
		Errors: []int{http.StatusNotFound},
	}, a.listNamedLocks)
	register(a, Files, huma.Operation{
		OperationID: "tryNamedLock", Method: http.MethodPost, Path: path + "/try", Tags: tag, Summary: "Take a lock on a name, unless another holds it",
		Description:  "It protects no file: programs agree on names. Who holds it already is granted it again, with its time as it was. A workspace has 256 at most at a time.",
		MaxBodyBytes: maxSmallBody, Errors: []int{http.StatusNotFound, http.StatusInsufficientStorage},
	}, a.tryNamedLock)
	register(a, Files, huma.Operation{
		OperationID: "renewNamedLock", Method: http.MethodPost, Path: path + "/renew", Tags: tag, Summary: "Hold a named lock for longer, from now on",
		MaxBodyBytes: maxSmallBody, Errors: []int{http.StatusNotFound},
	}, a.renewNamedLock)
	register(a, Files, huma.Operation{
		OperationID: "releaseNamedLock", Method: http.MethodPost, Path: path + "/release", Tags: tag, Summary: "Give a named lock back",
		MaxBodyBytes: maxSmallBody, Errors: []int{http.StatusNotFound},
	}, a.releaseNamedLock)
}

// namedAt is a lock of a workspace that the whole login opens. Names say what others
// work on, so that a login of one folder does not see them.
func (a *API) namedAt(ctx context.Context, who *Caller, in InWorkspace, key NamedKey) (at store.NamedAt, err error) {
	if who.base() != 0 {
		return at, problem(http.StatusForbidden, "login.limited", "this app password opens files only")
	}
	ws, err := parseWorkspace(who, in.Workspace)
	if err != nil {
		return at, err
	}
	if _, err := a.workspaceOf(ctx, who, ws); err != nil {
		return at, err
	}
	by, err := who.claim(nil).Prove(nil)
	return store.NamedAt{Workspace: ws, Name: key.Name, Owner: key.Owner, By: by}, err
}

func (a *API) listNamedLocks(ctx context.Context, who *Caller, in *struct {
	InWorkspace
	Paging
	Name string `query:"name" maxLength:"96" doc:"The one that is wanted; absent for all."`
}) (*struct{ Body Page[NamedLock] }, error) {
	at, err := a.namedAt(ctx, who, in.InWorkspace, NamedKey{})
	if err != nil {
		return nil, err
	}
	list := listOf(who, "named locks", at.Workspace, in.Name)
	after, err := position[string](a, list, in.Cursor)
	if err != nil {
		return nil, err
	}
	all, err := a.o.Store.NamedLocks(ctx, at.Workspace, in.Name, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(a, list, in.Limit, all, func(g store.NamedGrant) string { return g.Name }, func(g store.NamedGrant) NamedLock {
		return NamedLock{Name: g.Name, Holder: g.Holder, Owner: g.Owner, Fence: g.Fence, Expires: g.Expires}
	})
	return &struct{ Body Page[NamedLock] }{page}, err
}

func (a *API) tryNamedLock(ctx context.Context, who *Caller, in *struct {
	InWorkspace
	Body struct {
		NamedKey
		NamedTTL
	}
}) (*struct{ Body Grant }, error) {
	at, err := a.namedAt(ctx, who, in.InWorkspace, in.Body.NamedKey)
	if err != nil {
		return nil, err
	}
	g, granted, err := a.o.Store.TryNamed(ctx, at, in.Body.duration())
	if err != nil || !granted {
		return &struct{ Body Grant }{}, err
	}
	return &struct{ Body Grant }{Grant{Granted: true, Fence: g.Fence, Expires: &g.Expires}}, nil
}

func (t NamedTTL) duration() time.Duration { return time.Duration(t.TTL) * time.Second }

func (a *API) renewNamedLock(ctx context.Context, who *Caller, in *struct {
	InWorkspace
	Body struct {
		NamedKey
		NamedFence
		NamedTTL
	}
}) (*struct{ Body Hold }, error) {
	at, err := a.namedAt(ctx, who, in.InWorkspace, in.Body.NamedKey)
	if err != nil {
		return nil, err
	}
	expires, held, err := a.o.Store.RenewNamed(ctx, at, in.Body.Fence, in.Body.duration())
	if err != nil || !held {
		return &struct{ Body Hold }{}, err
	}
	return &struct{ Body Hold }{Hold{Held: true, Expires: &expires}}, nil
}

func (a *API) releaseNamedLock(ctx context.Context, who *Caller, in *struct {
	InWorkspace
	Body struct {
		NamedKey
		NamedFence
	}
}) (*struct{ Body Hold }, error) {
	at, err := a.namedAt(ctx, who, in.InWorkspace, in.Body.NamedKey)
	if err != nil {
		return nil, err
	}
	held, err := a.o.Store.ReleaseNamed(ctx, at, in.Body.Fence)
	return &struct{ Body Hold }{Hold{Held: held}}, err
}
