package rest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/lockns"
	"holdfast/server/rest"
	"holdfast/store"
)

// lockedTree is a team's tree, whose file /d/f has a version.
type lockedTree struct {
	*world
	ada, bob *client
	team     lockns.Workspace
	// Ids of /d/f, of the file /o, of the folders /d and /e, and of a version.
	f, o, d, e, version int64
}

func newLockedTree(t *testing.T) *lockedTree {
	x := &lockedTree{world: newWorld(t, func(o *store.Options, _ *rest.Options) { o.Versions = 5 })}
	x.ada, x.bob = x.user("ada"), x.user("bob")
	x.team = x.world.team("Ops", x.bob, map[*client]store.Role{x.ada: store.Writer})
	x.d, x.e = x.ada.mkdir(x.at("/d")).ID(), x.ada.mkdir(x.at("/e")).ID()
	x.ada.put(x.at("/d/f"), "former")
	x.f, x.o = x.ada.put(x.at("/d/f"), "now").ID(), x.ada.put(x.at("/o"), "other").ID()
	versions, err := x.Versions(t.Context(), x.at("/d/f"), 0, 1)
	must(t, err)
	x.version = versions[0].ID
	return x
}

func (x *lockedTree) at(path string) store.Target {
	return store.Target{Workspace: x.team, Path: store.ParsePath(path)}
}

// tree is what is there, and what it holds.
func (x *lockedTree) tree() string {
	x.t.Helper()
	var lines []string
	must(x.t, x.Walk(x.t.Context(), x.at("/"), store.DepthInfinity, store.Want{}, 0, func(e store.Entry) error {
		lines = append(lines, e.Path.String()+" "+e.ETag)
		return nil
	}))
	return strings.Join(lines, "\n")
}

// treeChange is a request that changes something of the tree.
type treeChange struct {
	name         string
	method, path string
	body         any
	// Whether it changes the file itself, and which members /d has.
	file, members bool
}

func (x *lockedTree) changes() []treeChange {
	d, f, o := fmt.Sprint("/folders/", x.d), fmt.Sprint("/files/", x.f), fmt.Sprint("/files/", x.o)
	byPath := "/workspaces/" + id("team", x.team.ID) + "/content?path="
	over := body{"parent": x.d, "name": "f", "overwrite": true}
	return []treeChange{
		{"content", "PUT", f + "/content", "y", true, false},
		{"content by path", "PUT", byPath + "/d/f", "y", true, false},
		{"a former version", "POST", fmt.Sprint(f, "/versions/", x.version, "/restore"), nil, true, false},
		{"another name", "PATCH", f, body{"name": "g"}, true, true},
		{"another folder", "PATCH", f, body{"parent": x.e}, true, true},
		{"removal", "DELETE", f, nil, true, true},
		{"a copy over it", "POST", o + "/copy", over, true, true},
		{"a move over it", "PATCH", o, over, true, true},
		{"a new file", "POST", d + "/files?name=n", "y", false, true},
		{"a new file by path", "PUT", byPath + "/d/n", "y", false, true},
		{"a new folder", "POST", d + "/folders", body{"name": "n"}, false, true},
		{"a copy into it", "POST", o + "/copy", body{"parent": x.d}, false, true},
		{"a move into it", "PATCH", o, body{"parent": x.d}, false, true},
		{"another name of the folder", "PATCH", d, body{"name": "g"}, true, true},
		{"another place of the folder", "PATCH", d, body{"parent": x.e}, true, true},
		{"removal of the folder", "DELETE", d, nil, true, true},
	}
}

// TestLocksRefuseChanges: a change over the API carries no token, so that a lock of
// WebDAV or an editor refuses what it covers, the holder's own too, and another's
// product lock does. Nothing is changed then.
func TestLocksRefuseChanges(t *testing.T) {
	x := newLockedTree(t)
	for name, lock := range map[string]struct {
		by     *client
		origin lockns.Origin
	}{"the caller's WebDAV": {x.ada, lockns.WebDAV}, "an editor's": {x.ada, lockns.WOPI}, "another's product": {x.bob, lockns.Product}} {
		for where, on := range map[string]struct {
			path  string
			depth lockns.Depth
			// Whether it covers the file, and the list of the members of /d.
			file, members bool
		}{
			"the file": {"/d/f", lockns.Resource, true, false}, "the folder alone": {"/d", lockns.Resource, false, true},
			"the folder": {"/d", lockns.Infinity, true, true}, "the workspace": {"/", lockns.Infinity, true, true},
		} {
			l := lock.by.lock(x.at(on.path), store.LockSpec{Origin: lock.origin, Depth: on.depth, Owner: "opaque"})
			before := x.tree()
			for _, c := range x.changes() {
				if !(on.file && c.file || on.members && c.members) {
					continue
				}
				t.Run(fmt.Sprintf("%s lock on %s: %s", name, where, c.name), func(t *testing.T) {
					a := x.ada.do(c.method, c.path, c.body)
					a.t = t
					p := a.problem(423, "resource.locked")
					if len(p.Locks) != 1 || p.Locks[0].Root.Path != on.path || p.Locks[0].Origin != string(lock.origin) {
						t.Errorf("refused by %+v", p.Locks)
					}
					if strings.Contains(a.body, l.Token) || strings.Contains(a.body, "opaque") {
						t.Errorf("it tells what opens the lock: %s", a.body)
					}
					wantEqual(t, "tree", x.tree(), before)
				})
			}
			_, err := x.ForceUnlock(t.Context(), l.ID, store.Actor{})
			must(t, err)
		}
	}
}

// TestLocksLetChangesThrough: without a lock in the way, and with the caller's own
// product lock, each of the same changes is made.
func TestLocksLetChangesThrough(t *testing.T) {
	for i, c := range newLockedTree(t).changes() {
		t.Run(c.name, func(t *testing.T) {
			x := newLockedTree(t)
			x.ada.lock(x.at("/"), store.LockSpec{Origin: lockns.Product, Depth: lockns.Infinity})
			before, c := x.tree(), x.changes()[i]
			if a := x.ada.do(c.method, c.path, c.body); a.status/100 != 2 {
				t.Errorf("status %d: %s", a.status, a.body)
			}
			wantEqual(t, "changed", x.tree() != before, true)
		})
	}
}

// TestListingsShowLocks: each entry of a folder says how it is locked.
func TestListingsShowLocks(t *testing.T) {
	x := newLockedTree(t)
	list := func(folder int64) string {
		var states []string
		all, _ := pages[rest.Resource](x.ada, fmt.Sprint("/folders/", folder, "/children"), 1)
		for _, r := range all {
			s := r.LockState
			states = append(states, strings.TrimSpace(fmt.Sprint(r.Name, " ", s.State, " ", s.Mode)))
		}
		return strings.Join(states, ", ")
	}
	root := x.root(x.team)
	wantEqual(t, "none", list(root), "d unlocked, e unlocked, o unlocked")
	deep := x.bob.lock(x.at("/d"), store.LockSpec{Origin: lockns.WebDAV, Depth: lockns.Infinity, Mode: lockns.Shared})
	x.ada.lock(x.at("/o"), store.LockSpec{Origin: lockns.WOPI, Owner: "v"})
	wantEqual(t, "root", list(root), "d direct shared, e unlocked, o direct exclusive")
	wantEqual(t, "folder", list(x.d), "f inherited shared")
	x.ada.put(x.at("/e/new"), "x")
	_, err := x.ForceUnlock(t.Context(), deep.ID, store.Actor{})
	must(t, err)
	wantEqual(t, "folder afterwards", list(x.d), "f unlocked")
	x.bob.lock(x.at("/e"), store.LockSpec{Origin: lockns.Product, Depth: lockns.Infinity})
	wantEqual(t, "a member from before", list(x.e), "new inherited exclusive")
}

// TestDocumentHasLockState: clients that are made from the document have the state
// of every resource. TestDocument misses none of the old names.
func TestDocumentHasLockState(t *testing.T) {
	schema := theDocument().root["components"].(object)["schemas"].(object)["Resource"].(object)
	if required, _ := schema["required"].([]any); !slices.Contains(required, any("lock_state")) {
		t.Errorf("required are %v", required)
	}
	state := schema["properties"].(object)["lock_state"].(object)
	wantEqual(t, "its schema", state["$ref"], any("#/components/schemas/LockState"))
}
