package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// trashTime is how long the trash of these tests keeps something.
const trashTime = 24 * time.Hour

// trashing is the option of a store with a trash.
func trashing(o *store.Options) { o.Trash = trashTime }

// trashIn lists the trash of a target, newest first.
func (f *fixture) trashIn(target store.Target) []store.Trashed {
	f.t.Helper()
	all, next, err := f.Trash(f.t.Context(), target, 0, 1000)
	must(f.t, err)
	wantEqual(f.t, "next page", next, 0)
	return all
}

// trashed are the paths in the first user's trash, newest first.
func (f *fixture) trashed() []string {
	f.t.Helper()
	all := []string{}
	for _, e := range f.trashIn(f.at("/")) {
		all = append(all, e.Path.String())
	}
	return all
}

// inTrash is the entry that came last into the first user's trash.
func (f *fixture) inTrash() store.Trashed {
	f.t.Helper()
	all := f.trashIn(f.at("/"))
	if len(all) == 0 {
		f.t.Fatal("the trash is empty")
	}
	return all[0]
}

// restore brings back what came last into the trash.
func (f *fixture) restoreLast() {
	f.t.Helper()
	_, err := f.Restore(f.t.Context(), f.at("/"), f.inTrash().ID, store.RestoreOptions{}, f.me())
	must(f.t, err)
}

// restoreTo is restoreLast with options, for its error.
func (f *fixture) restoreTo(o store.RestoreOptions) error {
	f.t.Helper()
	_, err := f.Restore(f.t.Context(), f.at("/"), f.inTrash().ID, o, f.me())
	return err
}

// TestRestore: what was removed is nowhere while it is in the trash, and all that
// it was after it was restored.
func TestRestore(t *testing.T) {
	f := newFixture(t, keeping(3), trashing)
	f.mkdir("/d")
	f.mkdir("/d/e")
	f.write("/d/e/f", "one", object("two"), object("three"))
	f.setProp("/d", "a", "1")
	f.setProp("/d/e/f", "b", "2")
	look := func() string {
		var b strings.Builder
		for _, path := range []string{"/d", "/d/e", "/d/e/f"} {
			e := f.entry(f.at(path))
			fmt.Fprintln(&b, path, e.Place, e.ETag, e.Props, e.Created, e.Modified, len(e.Locks))
		}
		fmt.Fprintln(&b, f.read("/d/e/f"), f.history("/d/e/f"), f.checksums("/d/e/f"), f.used(f.user))
		return b.String()
	}
	before := look()
	folder, file := f.stat("/d/e"), f.stat("/d/e/f")
	for _, path := range []string{"/d/e/f", "/d/e", "/d"} {
		t.Run(path, func(t *testing.T) {
			used := f.used(f.user)
			f.advance(time.Minute)
			modified := map[string]time.Time{}
			for _, p := range []string{"/d", "/d/e"} {
				modified[p] = f.stat(p).Modified
			}
			f.lock(path, lockns.Infinity)
			generation := f.generation(f.user)
			must(t, f.Remove(t.Context(), f.at(path), opensAll{f.user.ID, f.tokens(path)[0]}))
			wantEqual(t, "generation", f.generation(f.user), generation+1)
			wantEqual(t, "used", f.used(f.user), used)
			wantSlice(t, "trash", f.trashed(), []string{path})
			f.gone(path)
			f.nowhere(store.ByID(f.user.Workspace(), file.Place.Root))
			if path != "/d/e/f" {
				f.nowhere(store.ByID(f.user.Workspace(), folder.Place.Root))
			}
			if strings.Contains(f.list("/"), path) {
				t.Errorf("it is listed: %s", f.list("/"))
			}
			f.restoreLast()
			wantSlice(t, "trash", f.trashed(), []string{})
			for p, at := range modified { // a folder gets another time with each member that comes and goes
				f.sql(`UPDATE folders SET modified_at = ? WHERE id = ?`, at.UnixMicro(), f.stat(p).ID())
			}
			wantEqual(t, "restored", look(), before)
			f.clean()
		})
	}
	wantEqual(t, "detached folders left", f.number(`SELECT count(*) FROM folders WHERE detached_at IS NOT NULL`), 0)
}

// nowhere fails the test if anything can be done to a resource known by id.
func (f *fixture) nowhere(at store.Target) {
	f.t.Helper()
	ctx := f.t.Context()
	_, err := f.Stat(ctx, at)
	wantError(f.t, err, store.ErrNotFound)
	_, err = f.Lock(ctx, at, f.spec(lockns.Resource), f.me())
	wantError(f.t, err, store.ErrNotFound)
	wantError(f.t, f.Remove(ctx, at, f.me()), store.ErrNotFound)
	_, err = f.PatchProps(ctx, at, store.Patch{Props: []store.PropOp{prop("a", "1")}}, f.me())
	wantError(f.t, err, store.ErrNotFound)
	_, err = f.Move(ctx, at, f.at("/moved"), store.MoveOptions{}, f.me())
	wantError(f.t, err, store.ErrNotFound)
	_, _, err = f.Copy(ctx, at, f.at("/copied"), store.CopyOptions{}, f.me())
	wantError(f.t, err, store.ErrNotFound)
	_, err = f.Move(ctx, f.at("/d"), store.Target{Workspace: at.Workspace, Start: at.Start, Path: store.Path{"x"}}, store.MoveOptions{}, f.me())
	wantError(f.t, err, store.ErrNotFound)
	for _, depth := range []int{store.DepthZero, store.DepthOne, store.DepthInfinity} {
		err = f.Walk(ctx, at, depth, store.Want{States: true}, 0, func(store.Entry) error { return nil })
		wantError(f.t, err, store.ErrNotFound)
	}
}

// TestTrashTime: until its time nothing of it goes, from then on nothing of it
// comes back.
func TestTrashTime(t *testing.T) {
	f := newFixture(t, trashing)
	f.mkdir("/d")
	f.put("/d/f", object("x"))
	f.put("/f", object("y"))
	used := f.used(f.user)
	f.remove("/d")
	f.remove("/f")
	e := f.inTrash()
	wantEqual(t, "expires", e.Expires, f.now().Add(trashTime))
	wantEqual(t, "removed", e.Removed, f.now())
	wantEqual(t, "by", e.RemovedBy, "ada")
	wantEqual(t, "size", e.Size, int64(len(object("y"))))
	f.advance(trashTime - time.Microsecond)
	f.purge()
	wantSlice(t, "trash", f.trashed(), []string{"/f", "/d"})
	wantEqual(t, "used", f.used(f.user), used)
	f.advance(time.Microsecond)
	wantSlice(t, "trash", f.trashed(), []string{})
	_, err := f.Restore(t.Context(), f.at("/"), e.ID, store.RestoreOptions{}, f.me())
	wantError(t, err, store.ErrNotFound)
	wantError(t, f.PurgeTrash(t.Context(), f.at("/"), e.ID, f.me()), store.ErrNotFound)
	f.purge()
	wantEqual(t, "used", f.used(f.user), 0)
	for table, rows := range map[string]int64{"trash": 0, "files": 0, "folders": 1, "blobs": 0} {
		wantEqual(t, table, f.rows(table), rows)
	}
}

// TestTrashIsTurnedOff: what is in the trash stays what it is, what is removed
// then goes.
func TestTrashIsTurnedOff(t *testing.T) {
	f := newFixture(t, trashing)
	f.put("/f", "1")
	f.put("/g", "2")
	f.remove("/f")
	f.o.Trash = 0
	f.reopen()
	f.remove("/g")
	f.advance(trashTime - time.Microsecond)
	f.purge()
	wantSlice(t, "trash", f.trashed(), []string{"/f"})
	wantEqual(t, "used", f.used(f.user), 1)
	f.restoreLast()
	wantEqual(t, "content", f.read("/f"), "1")
}

// TestRestoreWhere: the folder is known by id, a taken name is refused, and a
// refused restore changes nothing.
func TestRestoreWhere(t *testing.T) {
	f := newFixture(t, trashing)
	bob := f.addUser("bob")
	theirs, err := f.Mkdir(t.Context(), at(bob, "/theirs"), store.Patch{}, store.Holder(bob.ID))
	must(t, err)
	f.mkdir("/d")
	f.put("/d/"+composed, "x")
	f.remove("/d/" + composed)
	f.move("/d", "/moved")
	f.restoreLast()
	wantEqual(t, "content", f.read("/moved/"+composed), "x")

	f.remove("/moved/" + composed)
	f.put("/moved/"+decomposed, "y")
	f.mkdir("/other")
	before := f.state()
	for name, c := range map[string]struct {
		o    store.RestoreOptions
		want error
	}{
		"a taken name":              {store.RestoreOptions{}, store.ErrExists},
		"no name":                   {store.RestoreOptions{Name: ".."}, store.ErrBadName},
		"no folder":                 {store.RestoreOptions{Folder: 1 << 40}, store.ErrNoParent},
		"a folder of somebody else": {store.RestoreOptions{Folder: theirs.ID()}, store.ErrNoParent},
		"a folder in the trash":     {store.RestoreOptions{Folder: f.number(`SELECT folder_id FROM trash`)}, store.ErrNoParent},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, f.restoreTo(c.o), c.want)
			wantEqual(t, "state", f.state(), before)
		})
	}
	must(t, f.restoreTo(store.RestoreOptions{Name: "z"}))
	wantEqual(t, "content", f.read("/moved/z"), "x")

	f.remove("/moved/z")
	f.remove("/moved")
	z := f.trashIn(f.at("/"))[1].ID
	_, err = f.Restore(t.Context(), f.at("/"), z, store.RestoreOptions{}, f.me())
	wantError(t, err, store.ErrNoParent)
	_, err = f.Restore(t.Context(), f.at("/"), z, store.RestoreOptions{Folder: f.stat("/other").ID()}, f.me())
	must(t, err)
	wantEqual(t, "content", f.read("/other/z"), "x")
	f.restoreLast()
	f.remove("/other/z")
	root := f.number(`SELECT id FROM folders WHERE parent_id IS NULL AND detached_at IS NULL AND namespace_id = (SELECT namespace_id FROM trash)`)
	must(t, f.restoreTo(store.RestoreOptions{Folder: root}))
	wantEqual(t, "content", f.read("/z"), "x")
}

// TestRestoreTooDeep: nothing comes below the deepest level.
func TestRestoreTooDeep(t *testing.T) {
	f := newFixture(t, trashing)
	f.mkdir("/t")
	f.mkdir("/t/u")
	f.put("/t/u/f", "x")
	f.chain("/", deepPath(126))
	f.remove("/t")
	deep := func(n int) store.RestoreOptions {
		return store.RestoreOptions{Folder: f.stat(deepPath(n).String()).ID()}
	}
	wantError(t, f.restoreTo(deep(126)), store.ErrTooDeep)
	must(t, f.restoreTo(deep(125)))
	wantEqual(t, "content", f.read(deepPath(125).String()+"/t/u/f"), "x")
	_, err := f.Mkdir(t.Context(), store.Target{Workspace: f.user.Workspace(), Path: deepPath(126).Join("a")}, store.Patch{}, f.me())
	must(t, err)
	f.remove(deepPath(125).String() + "/t")
	f.chain(deepPath(126).String()+"/a", store.Path{"b"})
	wantError(t, f.restoreTo(store.RestoreOptions{Folder: f.stat(deepPath(126).String() + "/a/b").ID()}), store.ErrTooDeep)
}

// TestRestoreLocks: a resource in the trash is under no lock, and comes back as a
// new member of its folder.
func TestRestoreLocks(t *testing.T) {
	for _, c := range []struct {
		path  string
		depth lockns.Depth
	}{{"/d", lockns.Resource}, {"/d", lockns.Infinity}, {"/", lockns.Infinity}} {
		f := newFixture(t, trashing)
		f.mkdir("/d")
		f.put("/d/f", "x")
		l := f.lock("/d/f", lockns.Resource).Lock
		wantLocked(t, f.Remove(t.Context(), f.at("/d/f"), f.me()), l.Token)
		must(t, f.Remove(t.Context(), f.at("/d/f"), with{f.user.ID, []string{l.Token}}))
		wantEqual(t, "locks", f.rows("resource_locks"), 0)
		over := f.lock(c.path, c.depth).Lock
		wantLocked(t, f.restoreTo(store.RestoreOptions{}), over.Token)
		generation := f.generation(f.user)
		_, err := f.Restore(t.Context(), f.at("/"), f.inTrash().ID, store.RestoreOptions{}, with{f.user.ID, []string{over.Token}})
		must(t, err)
		wantEqual(t, "generation", f.generation(f.user), generation)
		covering := []string{}
		if c.depth == lockns.Infinity {
			covering = append(covering, over.Token)
		}
		wantSlice(t, "locks of the restored file", f.tokens("/d/f"), covering)
	}
	f := newFixture(t, trashing)
	f.put("/f", "x")
	f.remove("/f")
	f.lock("/", lockns.Resource)
	// To purge takes nothing away from a folder.
	must(t, f.PurgeTrash(t.Context(), f.at("/"), f.inTrash().ID, f.me()))
}

// TestTrashRoles: who may write may restore and purge, also what others removed.
func TestTrashRoles(t *testing.T) {
	f := newFixture(t, trashing)
	bob, eve := f.addUser("bob"), f.addUser("eve")
	team := f.addTeam("Ops")
	f.setMember(team, bob, store.Viewer)
	for range 2 {
		_, _, err := f.Put(t.Context(), inTeam(team, "/f"), file("x"), f.me())
		must(t, err)
		must(t, f.Remove(t.Context(), inTeam(team, "/f"), f.me()))
	}
	e := f.trashIn(inTeam(team, "/"))[0]
	changes := func(u store.User) (all [3]error) {
		_, all[0] = f.Restore(t.Context(), inTeam(team, "/"), e.ID, store.RestoreOptions{}, store.Holder(u.ID))
		all[1] = f.PurgeTrash(t.Context(), inTeam(team, "/"), f.trashIn(inTeam(team, "/"))[0].ID, store.Holder(u.ID))
		_, all[2] = f.EmptyTrash(t.Context(), inTeam(team, "/"), store.Holder(u.ID))
		return all
	}
	for _, u := range []store.User{bob, eve} {
		for _, err := range changes(u) {
			wantError(t, err, store.ErrForbidden)
		}
	}
	wantEqual(t, "entries", len(f.trashIn(inTeam(team, "/"))), 2)
	f.setMember(team, bob, store.Writer)
	for _, err := range changes(bob) {
		must(t, err)
	}
	t.Run("another workspace has none of it", func(t *testing.T) {
		f.put("/own", "x")
		f.remove("/own")
		own := f.inTrash()
		_, err := f.TrashEntry(t.Context(), inTeam(team, "/"), own.ID)
		wantError(t, err, store.ErrNotFound)
		_, err = f.Restore(t.Context(), inTeam(team, "/"), own.ID, store.RestoreOptions{}, f.me())
		wantError(t, err, store.ErrNotFound)
		wantError(t, f.PurgeTrash(t.Context(), inTeam(team, "/"), own.ID, f.me()), store.ErrNotFound)
		n, err := f.EmptyTrash(t.Context(), inTeam(team, "/"), f.me())
		must(t, err)
		wantEqual(t, "emptied", n, 0)
		wantSlice(t, "trash", f.trashed(), []string{"/own"})
	})
}

// TestTrashBelowABase: who is limited to a folder has the trash of that folder.
func TestTrashBelowABase(t *testing.T) {
	f := newFixture(t, trashing)
	for _, d := range []string{"/a", "/a/b", "/a/b/c", "/a/bb"} {
		f.mkdir(d)
	}
	base := f.stat("/a/b").ID()
	for _, path := range []string{"/a/x", "/a/b/y", "/a/b/c/z", "/a/bb/w"} {
		f.put(path, "x")
		f.remove(path)
	}
	based := store.Target{Workspace: f.user.Workspace(), Base: base}
	paths := func() (all []string) {
		for _, e := range f.trashIn(based) {
			all = append(all, e.Path.String())
		}
		return all
	}
	wantSlice(t, "trash of the folder", paths(), []string{"/c/z", "/y"})
	f.remove("/a/b/c")
	wantSlice(t, "trash of the folder", paths(), []string{"/c", "/c/z", "/y"})
	all := f.trashIn(f.at("/"))
	outside := all[4]
	wantEqual(t, "outside", outside.Path.String(), "/a/x")
	_, err := f.TrashEntry(t.Context(), based, outside.ID)
	wantError(t, err, store.ErrNotFound)
	_, err = f.Restore(t.Context(), based, outside.ID, store.RestoreOptions{Folder: base}, f.me())
	wantError(t, err, store.ErrNotFound)
	wantError(t, f.PurgeTrash(t.Context(), based, outside.ID, f.me()), store.ErrNotFound)
	y := all[3]
	_, err = f.Restore(t.Context(), based, y.ID, store.RestoreOptions{Folder: f.stat("/a").ID()}, f.me())
	wantError(t, err, store.ErrNoParent)
	_, err = f.Restore(t.Context(), based, y.ID, store.RestoreOptions{}, f.me())
	must(t, err)
	wantEqual(t, "content", f.read("/a/b/y"), "x")
	n, err := f.EmptyTrash(t.Context(), based, f.me())
	must(t, err)
	wantEqual(t, "emptied", n, 2)
	wantSlice(t, "trash", f.trashed(), []string{"/a/bb/w", "/a/x"})
	f.remove("/a")
	for _, id := range []int64{outside.ID, f.inTrash().ID} {
		_, err = f.TrashEntry(t.Context(), based, id)
		wantError(t, err, store.ErrNotFound)
	}
	_, _, err = f.Trash(t.Context(), based, 0, 10)
	wantError(t, err, store.ErrNotFound)
	f.restoreLast()
	wantSlice(t, "trash of the folder", paths(), nil)
}

// TestEmptyTrash: each step of a long trash is one transaction, and what comes
// meanwhile stays.
func TestEmptyTrash(t *testing.T) {
	t.Parallel()
	f := newFixture(t, trashing)
	const n = 1201
	f.mkdir("/d")
	f.fill("/d", n)
	for i := range n {
		f.remove(fmt.Sprintf("/d/m%05d", i))
	}
	f.put("/f", "x")
	var pages []int
	for before := int64(0); len(pages) == 0 || before != 0; {
		all, next, err := f.Trash(t.Context(), f.at("/"), before, 500)
		must(t, err)
		pages, before = append(pages, len(all)), next
	}
	wantEqual(t, "pages", fmt.Sprint(pages), "[500 500 201]")
	queued := 0
	f.SetHook(func(_ context.Context, p store.Point) error {
		if p == store.Queued {
			if queued++; queued == 2 {
				f.remove("/f")
			}
		}
		return nil
	})
	emptied, err := f.EmptyTrash(t.Context(), f.at("/"), f.me())
	f.SetHook(nil)
	must(t, err)
	wantEqual(t, "emptied", emptied, n)
	wantSlice(t, "trash", f.trashed(), []string{"/f"})
	select {
	case <-f.PurgeSignal():
	default:
		t.Error("nobody was told to purge")
	}
	wantEqual(t, "used", f.used(f.user), 2*n+1)
	f.purge()
	wantEqual(t, "used", f.used(f.user), 1)
	wantEqual(t, "folders", f.rows("folders"), 3)
	wantEqual(t, "noted", f.number(`SELECT count(*) FROM audit_log WHERE event = 'trash.purged'`), n)
}

// TestPurgeEndsTheEntryFirst: a tree of which a part was purged is not restored,
// also by a process whose clock is behind.
func TestPurgeEndsTheEntryFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t, trashing)
	f.mkdir("/d")
	f.fill("/d", 600)
	f.remove("/d")
	id := f.inTrash().ID
	f.advance(trashTime)
	n, err := f.Purge(t.Context())
	must(t, err)
	wantEqual(t, "rows", n, 500)
	f.advance(-time.Hour)
	_, err = f.Restore(t.Context(), f.at("/"), id, store.RestoreOptions{}, f.me())
	wantError(t, err, store.ErrNotFound)
	f.clean()
}

// TestTrashEndsWithItsWorkspace: nothing of a removed user's waits for its time.
func TestTrashEndsWithItsWorkspace(t *testing.T) {
	f := newFixture(t, trashing)
	bob := f.addUser("bob")
	team := f.addTeam("Ops")
	for target, by := range map[*store.Target]store.User{ptr(at(bob, "/f")): bob, ptr(inTeam(team, "/f")): f.user} {
		_, _, err := f.Put(t.Context(), *target, file(object("x")), store.Holder(by.ID))
		must(t, err)
		must(t, f.Remove(t.Context(), *target, store.Holder(by.ID)))
	}
	must(t, f.RemoveUser(t.Context(), "bob", boss))
	must(t, f.RemoveTeam(t.Context(), "Ops", boss))
	f.purge()
	for table, rows := range map[string]int64{"trash": 0, "files": 0, "folders": 1, "blobs": 0} {
		wantEqual(t, table, f.rows(table), rows)
	}
}

// TestOverwritingIsNoTrash: what is replaced by another resource is gone.
func TestOverwritingIsNoTrash(t *testing.T) {
	f := newFixture(t, trashing)
	for _, op := range []string{"copy", "move"} {
		f.put("/from", "x")
		f.put("/to", "y")
		_, err := f.transferAs(op, f.at("/from"), f.at("/to"), false, f.me())
		must(t, err)
	}
	wantSlice(t, "trash", f.trashed(), []string{})
}

// TestCopyBesideTheTrash: a big copy whose ends go into the trash while it is
// built is refused, and is nothing that can be restored.
func TestCopyBesideTheTrash(t *testing.T) {
	t.Parallel()
	f := newFixture(t, trashing)
	f.bigTree("/d")
	f.mkdir("/to")
	for path, want := range map[string]error{"/d": store.ErrNotFound, "/to": store.ErrNoParent} {
		queued := 0
		f.SetHook(func(_ context.Context, p store.Point) error {
			if p == store.Queued {
				if queued++; queued == 3 {
					f.SetHook(nil)
					wantSlice(t, "trash", f.trashed(), []string{})
					f.remove(path)
				}
			}
			return nil
		})
		_, _, err := f.Copy(t.Context(), f.at("/d"), f.at("/to/new"), store.CopyOptions{}, f.me())
		f.SetHook(nil)
		wantError(t, err, want)
		f.restoreLast()
	}
	f.purge()
	wantEqual(t, "members", strings.Count(f.list("/d"), "\n"), 2500)
	wantEqual(t, "in the folder copied to", f.list("/to"), "/to/")
}

// TestTrashAudit: every removal is noted in its transaction, and what came of it.
func TestTrashAudit(t *testing.T) {
	f := newFixture(t)
	f.put("/gone", "x")
	f.remove("/gone")
	f.o.Trash = trashTime
	f.reopen()
	f.mkdir("/d")
	id := f.stat("/d").Place.Root
	f.put("/d/f", "x")
	f.remove("/d/f")
	f.remove("/d")
	f.restoreLast()
	must(t, f.PurgeTrash(t.Context(), f.at("/"), f.inTrash().ID, f.me()))
	must(t, f.Remove(t.Context(), f.at("/d"), store.Holder(0)))
	f.advance(trashTime)
	f.purge()
	f.put("/x", "x")
	f.put("/y", "y")
	f.move("/x", "/y")
	wantSlice(t, "log", f.auditLines(store.AuditFilter{Workspace: f.user.Workspace()}), []string{
		"ada resource.replaced personal /y: ",
		" trash.purged personal /d: trash 3",
		" resource.removed personal /d: trash 3",
		"ada trash.purged personal /d/f: trash 1",
		"ada resource.restored personal /d: trash 2",
		"ada resource.removed personal /d: trash 2",
		"ada resource.removed personal /d/f: trash 1",
		"ada resource.removed personal /gone: ",
	})
	entries, err := f.Audit(t.Context(), store.AuditFilter{Event: "resource.restored"})
	must(t, err)
	wantEqual(t, "resource", entries[0].Resource, id)
}

// TestTrashChanges: who follows a folder hears that a member went and came back,
// and a folder that was in the trash still knows its own changes.
func TestTrashChanges(t *testing.T) {
	f := newFixture(t, trashing)
	f.mkdir("/d")
	f.put("/d/f", "x")
	outer, inner := f.stat("/").Position(), f.stat("/d").Position()
	hear := func(path string, since store.Position) (all []string) {
		_, _, err := f.Changes(t.Context(), f.at(path), since, store.Want{}, 0, func(c store.Change) error {
			all = append(all, fmt.Sprint(c.Name, " ", c.Entry != nil))
			return nil
		})
		must(t, err)
		return all
	}
	tree := f.treeVersion()
	f.remove("/d")
	wantSlice(t, "changes", hear("/", outer), []string{"d false"})
	gone := f.stat("/").Position()
	f.restoreLast()
	wantSlice(t, "changes since it went", hear("/", gone), []string{"d true"})
	wantSlice(t, "changes in it", hear("/d", inner), nil)
	wantEqual(t, "tree version", f.treeVersion(), tree+2)
}

// TestTrashFailpoints: a change of the trash that fails anywhere changes nothing.
func TestTrashFailpoints(t *testing.T) {
	f := newFixture(t, trashing)
	failure := errors.New("failed on purpose")
	f.put("/removed", "x")
	f.put("/f", object("y"))
	f.remove("/removed")
	state := func() string { return fmt.Sprint(f.state(), f.rows("trash"), f.rows("audit_log"), f.rows("changes")) }
	before := state()
	for _, p := range []store.Point{store.Begun, store.Serialized, store.Authorized, store.Written, store.BeforeCommit} {
		f.SetHook(failAt(p, failure))
		_, restored := f.Restore(t.Context(), f.at("/"), 1, store.RestoreOptions{}, f.me())
		_, emptied := f.EmptyTrash(t.Context(), f.at("/"), f.me())
		for what, err := range map[string]error{
			"remove": f.Remove(t.Context(), f.at("/f"), f.me()), "restore": restored, "empty": emptied,
			"purge": f.PurgeTrash(t.Context(), f.at("/"), 1, f.me()),
		} {
			if !errors.Is(err, failure) {
				t.Errorf("%s passed %s: %v", what, p, err)
			}
		}
		f.SetHook(nil)
		wantEqual(t, "state after "+string(p), state(), before)
	}
}

// everyTrash runs all operations on the trash, which has something.
func (f *fixture) everyTrash() {
	ctx := f.t.Context()
	for range 2 {
		f.restoreLast()
	}
	f.remove("/d/f")
	must(f.t, f.PurgeTrash(ctx, f.at("/"), f.inTrash().ID, f.me()))
	f.remove("/d")
	_, err := f.TrashEntry(ctx, f.at("/"), f.inTrash().ID)
	must(f.t, err)
	_, err = f.EmptyTrash(ctx, f.at("/"), f.me())
	must(f.t, err)
}
