package rest_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/server/rest"
	"holdfast/store"
)

// blocking blocks a name.
func blocking(name string) func(*store.Options, *rest.Options) {
	return func(_ *store.Options, o *rest.Options) { o.BlockedNames = append(o.BlockedNames, name) }
}

func names(items []rest.Resource) (all []string) {
	for _, r := range items {
		all = append(all, r.Name)
	}
	return all
}

// davLock locks for an hour by WebDAV.
func (c *client) davLock(at store.Target, depth lockns.Depth) lockns.Lock {
	c.w.t.Helper()
	l, err := c.w.Lock(c.w.t.Context(), at, store.LockSpec{
		Depth: depth, Mode: lockns.Exclusive, Origin: lockns.WebDAV, Holder: c.user.ID, Timeout: time.Hour,
	}, store.Holder(c.user.ID))
	must(c.w.t, err)
	return l.Lock
}

func TestListChildren(t *testing.T) {
	w := newWorld(t, blocking("thumbs.db"))
	ada := w.user("ada")
	folder := ada.mkdir(ada.at("/d"))
	for i, name := range []string{"b", "A", "é", "a", "Thumbs.DB"} {
		ada.put(ada.at("/d/"+name), strings.Repeat("x", 5-i))
		w.clock.Add(1000)
	}
	in := ada.mkdir(ada.at("/d/z"))
	ada.mkdir(ada.at("/d/thumbs.db2"))
	ada.davLock(ada.at("/d/A"), lockns.Resource)
	ada.davLock(ada.at("/d/z"), lockns.Infinity)
	path := fmt.Sprintf("/folders/%d/children?sort=", folder.ID())
	for query, want := range map[string]string{
		"name": "thumbs.db2 z A a b é", "name&order=desc": "z thumbs.db2 é b a A",
		"size": "thumbs.db2 z a é A b", "modified": "z thumbs.db2 b A é a", "modified&order=desc": "thumbs.db2 z a é A b",
	} {
		for limit, calls := range map[int]int{1: 6, 2: 3, 5: 2, 6: 1, 1000: 1} {
			all, n := pages[rest.Resource](ada, path+query, limit)
			wantEqual(t, query, strings.Join(names(all), " "), want)
			wantEqual(t, query+" calls", n, calls)
			for _, r := range all {
				state := map[string]string{"A": "direct", "z": "direct"}[r.Name]
				if state == "" {
					state = "unlocked"
				}
				if r.LockState.State != state || r.Parent != folder.ID() || r.Path != "" || r.Workspace != id("personal", ada.user.ID) || r.SHA256 != "" {
					t.Errorf("%+v", r)
				}
			}
		}
	}
	ada.put(ada.at("/d/f"), "x")
	below, _ := pages[rest.Resource](ada, fmt.Sprintf("/folders/%d/children", in.ID()), 10)
	wantEqual(t, "an empty folder", len(below), 0)
	wantEqual(t, "an empty list", strings.TrimSpace(ada.do("GET", fmt.Sprintf("/folders/%d/children", in.ID()), nil).wants(200).body), `{"items":[]}`)
}

// TestCursorsOfChildren: a cursor is good for its own list alone.
func TestCursorsOfChildren(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.user("ada"), w.user("bob")
	ops := w.team("Ops", ada, map[*client]store.Role{bob: store.Viewer})
	d := ada.mkdir(store.Target{Workspace: ops, Path: store.Path{"d"}})
	other := ada.mkdir(store.Target{Workspace: ops, Path: store.Path{"other"}})
	for _, name := range []string{"a", "b", "c"} {
		ada.put(store.Target{Workspace: ops, Path: store.Path{"d", name}}, "x")
	}
	list := fmt.Sprintf("/folders/%d/children?limit=1", d.ID())
	var p page[rest.Resource]
	ada.do("GET", list, nil).wants(200).into(&p)
	cursor := "&cursor=" + url.QueryEscape(p.Next)
	ada.do("GET", list+cursor, nil).wants(200)
	for what, a := range map[string]answer{
		"another order":  ada.do("GET", list+cursor+"&order=desc", nil),
		"another sort":   ada.do("GET", list+cursor+"&sort=size", nil),
		"another folder": ada.do("GET", fmt.Sprintf("/folders/%d/children?limit=1%s", other.ID(), cursor), nil),
		"another user":   bob.do("GET", list+cursor, nil),
		"forged":         ada.do("GET", list+"&cursor=eyJpZCI6MX0", nil),
		"cut":            ada.do("GET", list+cursor[:len(cursor)-2], nil),
	} {
		if a.status != 400 || a.code() != "cursor.invalid" {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	w.user("eve").do("GET", list+cursor, nil).refuses(404, "not_found")
}

func TestGetResource(t *testing.T) {
	w := newWorld(t, blocking("secret"))
	ada := w.user("ada")
	d := ada.mkdir(ada.at("/d"))
	f := ada.put(ada.at("/d/f.txt"), "hello")
	hidden := ada.mkdir(ada.at("/Secret"))
	below := ada.put(ada.at("/Secret/f"), "x")
	want := rest.Resource{
		ID: f.ID(), Kind: "file", Workspace: id("personal", ada.user.ID), Parent: d.ID(), Name: "f.txt", Path: "/d/f.txt", Size: 5,
		ETag: f.ETag, ContentType: "text/plain; charset=utf-8", Created: f.Created, Modified: f.Modified,
		SHA256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", LockState: rest.LockState{State: "unlocked"},
	}
	for _, path := range []string{fmt.Sprintf("/files/%d", f.ID()), "/workspaces/personal/resource?path=/d/f.txt", "/workspaces/" + want.Workspace + "/resource?path=d/f.txt/"} {
		var got rest.Resource
		ada.do("GET", path, nil).wants(200).into(&got)
		wantEqual(t, path, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
	root := w.root(ada.user.Workspace())
	for _, path := range []string{fmt.Sprintf("/folders/%d", root), "/workspaces/personal/resource?path=/"} {
		var got rest.Resource
		ada.do("GET", path, nil).wants(200).into(&got)
		if got.ID != root || got.Kind != "folder" || got.Path != "/" || got.Name != "" || got.Parent != 0 {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for _, path := range []string{
		fmt.Sprintf("/files/%d", d.ID()), fmt.Sprintf("/folders/%d", hidden.ID()), fmt.Sprintf("/files/%d", below.ID()),
		fmt.Sprintf("/folders/%d/children", hidden.ID()), "/workspaces/personal/resource?path=/SECRET/f", "/workspaces/personal/resource?path=/x",
		"/workspaces/personal/resource?path=/d/f.txt/x", fmt.Sprintf("/workspaces/personal/search?under=%d", hidden.ID()),
	} {
		ada.do("GET", path, nil).refuses(404, "not_found")
	}
	ada.do("GET", "/workspaces/personal/resource?path=/a//b", nil).refuses(400, "name.invalid")
}

// TestLockRootsOutside: a login that opens a folder only is told that a lock above
// reaches it, and not of which folder.
func TestLockRootsOutside(t *testing.T) {
	w := newWorld(t)
	ada := w.user("ada")
	top := ada.mkdir(ada.at("/top"))
	ada.mkdir(ada.at("/top/in"))
	f := ada.put(ada.at("/top/in/f"), "x")
	ada.mkdir(ada.at("/top/in/deep"))
	g := ada.put(ada.at("/top/in/deep/g"), "x")
	phone := ada.limited(store.NewAccount{Name: "phone", Root: store.ParsePath("/top/in")})
	shown := func(c *client, file store.Node) rest.Resource {
		t.Helper()
		var r rest.Resource
		c.do("GET", fmt.Sprintf("/files/%d", file.ID()), nil).wants(200).into(&r)
		return r
	}
	l := ada.davLock(ada.at("/top"), lockns.Infinity)
	wantEqual(t, "the root to who opens all", *shown(ada, f).LockState.Root, rest.LockRoot{Kind: "folder", ID: top.ID()})
	wantEqual(t, "the root to the limited login", *shown(phone, f).LockState.Root, rest.LockRoot{Kind: "folder"})
	must(t, w.Unlock(t.Context(), ada.at("/top"), store.ByToken(l.Token), store.Holder(ada.user.ID)))
	for _, path := range []string{"/top/in", "/top/in/deep"} {
		l := ada.davLock(ada.at(path), lockns.Infinity)
		wantEqual(t, "a root inside: "+path, *shown(phone, g).LockState.Root, rest.LockRoot{Kind: "folder", ID: l.Place.Root.ID})
		must(t, w.Unlock(t.Context(), ada.at(path), store.ByToken(l.Token), store.Holder(ada.user.ID)))
	}
	wantEqual(t, "the path", shown(phone, g).Path, "/deep/g")
}

func TestSearch(t *testing.T) {
	w := newWorld(t, blocking("hidden"))
	ada := w.user("ada")
	d := ada.mkdir(ada.at("/Reports"))
	ada.put(ada.at("/Reports/Übersicht 2026.txt"), "12345")
	ada.put(ada.at("/Reports/u\u0308ber.txt"), "1")
	ada.mkdir(ada.at("/Reports/reports"))
	ada.mkdir(ada.at("/hidden"))
	ada.put(ada.at("/hidden/über"), "x")
	w.clock.Add(time.Hour.Microseconds())
	later := w.now()
	ada.put(ada.at("/STRASSE report"), "123")
	ada.davLock(ada.at("/Reports"), lockns.Infinity)
	for query, want := range map[string]string{
		"q=%C3%BCBER":          "/Reports/Übersicht 2026.txt|/Reports/u\u0308ber.txt",
		"q=2026+%C3%9Cber":     "/Reports/Übersicht 2026.txt",
		"q=stra%C3%9Fe":        "/STRASSE report",
		"q=report":             "/Reports|/Reports/reports|/STRASSE report",
		"q=report&kind=folder": "/Reports|/Reports/reports",
		"q=report&kind=file":   "/STRASSE report",
		"min_size=3":           "/Reports/Übersicht 2026.txt|/STRASSE report",
		"max_size=1":           "/Reports/u\u0308ber.txt",
		"q=none":               "",
		"kind=file&modified_after=" + url.QueryEscape(later.Format(time.RFC3339Nano)):  "/STRASSE report",
		"kind=file&modified_before=" + url.QueryEscape(later.Format(time.RFC3339Nano)): "/Reports/Übersicht 2026.txt|/Reports/u\u0308ber.txt",
		fmt.Sprintf("q=report&under=%d", d.ID()):                                       "/Reports/reports",
	} {
		var found rest.Found
		ada.do("GET", "/workspaces/personal/search?"+query, nil).wants(200).into(&found)
		var paths []string
		for _, r := range found.Items {
			paths = append(paths, r.Path)
			if inside := strings.HasPrefix(r.Path, "/Reports/"); inside && r.LockState.State != "inherited" {
				t.Errorf("%s: %+v", r.Path, r.LockState)
			}
		}
		slices.Sort(paths)
		wanted := strings.Split(want, "|")
		slices.Sort(wanted)
		wantEqual(t, query, strings.Join(paths, "|"), strings.Join(wanted, "|"))
		wantEqual(t, query+" complete", found.Complete, true)
	}
	for limit, complete := range map[int]bool{1: false, 2: false, 3: true} {
		var found rest.Found
		ada.do("GET", fmt.Sprintf("/workspaces/personal/search?q=report&limit=%d", limit), nil).wants(200).into(&found)
		wantEqual(t, "items", len(found.Items), limit)
		wantEqual(t, "complete", found.Complete, complete)
	}
}
