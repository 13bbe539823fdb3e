package rest_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"holdfast/lockns"
	"holdfast/server/rest"
	"holdfast/store"
)

// page is a page of any list.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// pages reads a list to its end, limit items at a time.
func pages[T any](c *client, path string, limit int) (all []T, calls int) {
	c.w.t.Helper()
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	for next := ""; ; calls++ {
		var p page[T]
		c.do("GET", fmt.Sprintf("%s%slimit=%d&cursor=%s", path, join, limit, url.QueryEscape(next)), nil).wants(200).into(&p)
		if len(p.Items) > limit {
			c.w.t.Fatalf("%d items in a page of %d", len(p.Items), limit)
		}
		all = append(all, p.Items...)
		if next = p.Next; next == "" {
			return all, calls + 1
		}
	}
}

// root is the id of a workspace's root folder.
func (w *world) root(ws lockns.Workspace) int64 {
	w.t.Helper()
	n, err := w.Stat(w.t.Context(), store.Target{Workspace: ws})
	must(w.t, err)
	root, err := strconv.ParseInt(strings.Trim(n.Place.Ancestry, "/"), 10, 64)
	must(w.t, err)
	return root
}

func wantEqual[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func id(kind string, id int64) string { return fmt.Sprintf("%s-%d", kind, id) }

func TestListWorkspaces(t *testing.T) {
	w := newWorld(t)
	ada, bob, eve := w.user("ada"), w.user("bob"), w.user("eve")
	ops := w.team("Ops", ada, map[*client]store.Role{bob: store.Viewer})
	w.team("Other", eve, nil)
	dev := w.team("Dev", eve, map[*client]store.Role{bob: store.Writer})
	bob.put(bob.at("/f"), "12345")
	quota := int64(100)
	_, err := w.SetUser(t.Context(), "bob", store.UserPatch{Quota: &quota})
	must(t, err)
	own := rest.Workspace{ID: id("personal", bob.user.ID), Kind: "personal", Name: "bob", Role: "owner", Writable: true, Root: w.root(bob.user.Workspace()), Used: 5, Quota: 100}
	inOps := rest.Workspace{ID: id("team", ops.ID), Kind: "team", Name: "Ops", Role: "viewer", Root: w.root(ops)}
	inDev := rest.Workspace{ID: id("team", dev.ID), Kind: "team", Name: "Dev", Role: "member", Writable: true, Root: w.root(dev)}
	for limit, calls := range map[int]int{1: 3, 2: 2, 3: 1, 1000: 1} {
		all, n := pages[rest.Workspace](bob, "/workspaces", limit)
		wantEqual(t, "list", fmt.Sprint(all), fmt.Sprint([]rest.Workspace{own, inOps, inDev}))
		wantEqual(t, "calls", n, calls)
	}
	for path, want := range map[string]rest.Workspace{"personal": own, own.ID: own, inOps.ID: inOps, inDev.ID: inDev} {
		var got rest.Workspace
		bob.do("GET", "/workspaces/"+path, nil).wants(200).into(&got)
		wantEqual(t, path, got, want)
	}
	// What is another's is like what nobody has.
	var missing string
	for _, path := range []string{"team-99", id("team", ops.ID+1), id("personal", ada.user.ID), "personal-99", "team-0", "team-01", "team-+1", "team", "x", "admin-1", "team--1"} {
		a := bob.do("GET", "/workspaces/"+path, nil)
		a.refuses(404, "not_found")
		if missing == "" {
			missing = a.body
		}
		wantEqual(t, path, a.body, missing)
	}
	(&client{w: w}).do("GET", "/workspaces", nil).refuses(401, "login.required")
}

// TestLimitedWorkspaces: a limited login sees the one workspace it opens, from the
// folder it opens, and nothing once that is gone.
func TestLimitedWorkspaces(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.user("ada"), w.user("bob")
	ops := w.team("Ops", ada, map[*client]store.Role{bob: store.Writer})
	folder := ada.mkdir(store.Target{Workspace: ops, Path: store.ParsePath("/in")})
	list := func(c *client) string {
		all, _ := pages[rest.Workspace](c, "/workspaces", 1)
		var text []string
		for _, i := range all {
			text = append(text, fmt.Sprint(i.ID, " ", i.Root, " ", i.Writable))
		}
		return strings.Join(text, ", ")
	}
	inTeam := bob.limited(store.NewAccount{Name: "team", Team: "Ops"})
	wantEqual(t, "team", list(inTeam), fmt.Sprint(id("team", ops.ID), " ", w.root(ops), " true"))
	inTeam.do("GET", "/workspaces/personal", nil).refuses(404, "not_found")
	wantEqual(t, "personal", list(bob.limited(store.NewAccount{Name: "own", Scoped: true, ReadOnly: true})),
		fmt.Sprint(id("personal", bob.user.ID), " ", w.root(bob.user.Workspace()), " false"))
	scoped := bob.limited(store.NewAccount{Name: "scoped", Team: "Ops", Root: store.ParsePath("/in")})
	wantEqual(t, "scoped", list(scoped), fmt.Sprint(id("team", ops.ID), " ", folder.Place.Root.ID, " true"))
	must(t, w.Remove(t.Context(), store.Target{Workspace: ops, Path: store.ParsePath("/in")}, store.Holder(ada.user.ID)))
	wantEqual(t, "scoped to what is gone", list(scoped), "")
	scoped.do("GET", "/workspaces/"+id("team", ops.ID), nil).refuses(404, "not_found")
}

// TestForgedCursors: only what the server gave out for the same list is a cursor.
func TestForgedCursors(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.user("ada"), w.user("bob")
	w.team("Ops", ada, map[*client]store.Role{bob: store.Writer})
	var p page[rest.Workspace]
	ada.do("GET", "/workspaces?limit=1", nil).wants(200).into(&p)
	ada.do("GET", "/workspaces?limit=2&cursor="+p.Next, nil).wants(200)
	raw, err := base64.RawURLEncoding.DecodeString(p.Next)
	must(t, err)
	changed := append([]byte{}, raw...)
	changed[len(changed)-2]++
	for name, cursor := range map[string]string{
		"text":        "x",
		"no base64":   "!!",
		"too short":   "AAAA",
		"cut":         p.Next[:len(p.Next)-4],
		"changed":     base64.RawURLEncoding.EncodeToString(changed),
		"only a code": base64.RawURLEncoding.EncodeToString(raw[:16]),
		"plain":       base64.RawURLEncoding.EncodeToString(raw[16:]),
	} {
		t.Run(name, func(t *testing.T) {
			ada.do("GET", "/workspaces?cursor="+url.QueryEscape(cursor), nil).refuses(400, "cursor.invalid")
		})
	}
	t.Run("another user's", func(t *testing.T) {
		bob.do("GET", "/workspaces?cursor="+p.Next, nil).refuses(400, "cursor.invalid")
	})
	for _, query := range []string{"limit=0", "limit=1001", "limit=-1", "limit=x", "cursor=" + strings.Repeat("A", 4097)} {
		ada.do("GET", "/workspaces?"+query, nil).refuses(400, "request.invalid")
	}
}
