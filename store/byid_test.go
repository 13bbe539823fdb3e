package store_test

import (
	"testing"

	"holdfast/lockns"
	"holdfast/store"
)

// TestByID names resources by their ids: wherever they are by now, and nowhere
// else.
func TestByID(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	f.mkdir("/a")
	f.mkdir("/a/b")
	id := f.put("/a/b/f", "one").Place.Root
	folder, a := f.stat("/a/b").Place.Root, f.stat("/a").Place.Root
	byID := func(id lockns.Root, path ...string) store.Target {
		target := store.ByID(f.user.Workspace(), id)
		target.Path = path
		return target
	}
	below := func(base int64, target store.Target) store.Target {
		target.Base = base
		return target
	}
	stat := func(target store.Target, want error) {
		t.Helper()
		_, err := f.Stat(ctx, target)
		wantError(t, err, want)
	}
	move := func(from, to store.Target, want error) {
		t.Helper()
		_, err := f.Move(ctx, from, to, store.MoveOptions{NoOverwrite: true}, f.me())
		wantError(t, err, want)
	}

	ws, err := f.WorkspaceOf(ctx, id)
	must(t, err)
	wantEqual(t, "workspace", ws, f.user.Workspace())
	_, err = f.WorkspaceOf(ctx, lockns.Root{Kind: lockns.FileRoot, ID: 9999})
	wantError(t, err, store.ErrNotFound)

	root := lockns.Root{Kind: lockns.WorkspaceRoot}
	stat(byID(id), nil)
	stat(byID(folder, "f"), nil)
	stat(byID(root), nil)
	stat(byID(root, "a", "b"), nil)
	stat(byID(id, "x"), store.ErrNotFound)
	stat(below(folder.ID, byID(id)), nil)
	stat(below(folder.ID, byID(a)), store.ErrNotFound)
	stat(below(folder.ID, byID(root)), store.ErrNotFound)

	// Where it is, from the base on, and its ids.
	entry := func(target store.Target) (e store.Entry) {
		t.Helper()
		must(t, f.Walk(ctx, target, store.DepthZero, store.Want{}, 0, func(found store.Entry) error { e = found; return nil }))
		return e
	}
	e := entry(byID(id))
	wantEqual(t, "path", e.Path.String(), "/a/b/f")
	wantEqual(t, "id", e.ID(), id.ID)
	wantEqual(t, "parent", e.Parent(), folder.ID)
	wantEqual(t, "path from a", entry(below(a.ID, byID(id))).Path.String(), "/b/f")
	wantEqual(t, "path of a from a", entry(below(a.ID, byID(a))).Path.String(), "/")
	wantEqual(t, "path of a member", entry(byID(a, "b")).Path.String(), "/a/b")
	e = entry(byID(root))
	wantEqual(t, "parent of the root", e.Parent(), int64(0))
	wantEqual(t, "the root by its folder's id", entry(byID(lockns.Root{Kind: lockns.FolderRoot, ID: e.ID()})).Place.Root, root)

	move(byID(id), byID(a, "g"), nil)
	stat(f.at("/a/g"), nil)
	stat(byID(id), nil)
	move(byID(id), byID(folder), store.ErrRoot)
	move(byID(a), byID(folder, "x"), store.ErrIntoItself)
	move(below(a.ID, byID(a)), byID(root, "x"), store.ErrRoot)
	wantError(t, f.Remove(ctx, below(a.ID, byID(a)), f.me()), store.ErrRoot)
	wantError(t, f.Remove(ctx, byID(root), f.me()), store.ErrRoot)

	spec := store.LockSpec{Depth: lockns.Resource, Mode: lockns.Exclusive, Origin: lockns.Product, Holder: f.user.ID}
	out, err := f.Lock(ctx, byID(id), spec, f.me())
	must(t, err)
	wantEqual(t, "the lock's path", out.Lock.Path, "/a/g")
	n, _, err := f.Put(ctx, byID(id), file("two"), f.me())
	must(t, err)
	wantEqual(t, "its name", n.Name, "g")
	wantEqual(t, "its content", f.read("/a/g"), "two")

	must(t, f.Remove(ctx, byID(id), f.me()))
	stat(byID(id), store.ErrNotFound)
	must(t, f.Remove(ctx, byID(a), f.me()))
	stat(byID(a), store.ErrNotFound)
	stat(byID(folder), store.ErrNotFound) // below what was removed
	bob := f.addUser("bob")
	f.mkdir("/c")
	stat(store.ByID(bob.Workspace(), f.stat("/c").Place.Root), store.ErrNotFound)
}
