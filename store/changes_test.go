package store_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// changesCase is an operation and the rows that it writes into the log, each as
// "FOLDER/NAME", with a slash behind the name of a folder.
type changesCase struct {
	name        string
	rows        []string
	prepare, do func() error
}

// TestChanges: every change of a folder's members is in its log, under the names
// that they are stored by, and nothing else is.
func TestChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *store.Options) { o.Versions = 3 })
	bob := f.addUser("bob")
	f.mkdir("/d")
	f.put("/f", "x")
	cases := slices.Concat(f.contentChanges(), f.placeChanges(bob), f.noChanges(bob))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f.sql(`DELETE FROM resource_locks`)
			if c.prepare != nil {
				must(t, c.prepare())
			}
			last := f.number(`SELECT coalesce(max(id), 0) FROM changes`)
			must(t, c.do())
			wantSlice(t, "rows", f.changesAfter(last), c.rows)
		})
	}
}

// TestChangesOfBigCopy: a tree that is built out of sight comes by one change.
func TestChangesOfBigCopy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.bigTree("/big")
	f.put("/f", "x")
	last := f.number(`SELECT max(id) FROM changes`)
	f.copy("/big", "/copy")
	f.copy("/big", "/f")
	wantSlice(t, "rows", f.changesAfter(last), []string{"/copy/", "/f", "/f/"})
}

// changesAfter are the rows of the log after one.
func (f *fixture) changesAfter(id int64) (all []string) {
	f.t.Helper()
	rows, err := f.database().Query(`SELECT coalesce(f.name, '?') || '/' || c.name || iif(c.is_folder, '/', '')
FROM changes c LEFT JOIN folders f ON f.id = c.folder_id WHERE c.id > ? ORDER BY c.id`, id)
	must(f.t, err)
	defer rows.Close()
	for rows.Next() {
		var row string
		must(f.t, rows.Scan(&row))
		all = append(all, row)
	}
	must(f.t, rows.Err())
	return all
}

// contentChanges are changes that leave a resource where it is, and new ones.
func (f *fixture) contentChanges() []changesCase {
	ctx := f.t.Context()
	put := func(path string) func() error {
		return func() error { f.put(path, "xy"); return nil }
	}
	patch := func(path string, p store.Patch) func() error {
		return func() error { _, err := f.PatchProps(ctx, f.at(path), p, f.me()); return err }
	}
	mkdir := func(path string) func() error { return func() error { f.mkdir(path); return nil } }
	a := store.Patch{Props: []store.PropOp{prop("a", "1")}}
	return []changesCase{
		{"PUT of a new file", []string{"/n"}, nil, put("/n")},
		{"PUT to a file", []string{"/n"}, nil, put("/n")},
		{"PUT below a folder", []string{"d/n"}, nil, put("/d/n")},
		{"PUT to a file in another spelling", []string{"/" + composed}, put("/" + composed), put("/" + decomposed)},
		{"LOCK that creates a file", []string{"/null"}, nil, func() error { f.lock("/null", lockns.Resource); return nil }},
		{"MKCOL", []string{"/m/"}, nil, mkdir("/m")},
		{"PROPPATCH of a file", []string{"/n"}, nil, patch("/n", a)},
		{"PROPPATCH of a folder", []string{"/m/"}, nil, patch("/m", a)},
		{"a new time", []string{"/n"}, nil, patch("/n", store.Patch{Modified: new(time.Time)})},
		{"restore of a version", []string{"/n"}, nil, func() error {
			all, err := f.Versions(ctx, f.at("/n"), 0, 0)
			must(f.t, err)
			_, err = f.RestoreVersion(ctx, f.at("/n"), all[0].ID, f.me())
			return err
		}},
	}
}

// placeChanges are those by which a resource comes or goes.
func (f *fixture) placeChanges(bob store.User) []changesCase {
	ctx := f.t.Context()
	cp := func(from, to string) func() error { return func() error { f.copy(from, to); return nil } }
	move := func(from, to string) func() error { return func() error { f.move(from, to); return nil } }
	remove := func(path string) func() error { return func() error { f.remove(path); return nil } }
	return []changesCase{
		{"COPY", []string{"/o"}, nil, cp("/n", "/o")},
		{"COPY onto a file", []string{"/o"}, nil, cp("/f", "/o")},
		{"COPY of a folder onto a file", []string{"/o", "/o/"}, nil, cp("/d", "/o")},
		{"COPY onto another spelling", []string{"/" + composed, "/" + decomposed}, nil, cp("/f", "/"+decomposed)},
		{"MOVE in a folder", []string{"/n", "/p"}, nil, move("/n", "/p")},
		{"MOVE to a folder", []string{"/p", "d/p"}, nil, move("/p", "/d/p")},
		{"MOVE of a folder", []string{"/m/", "d/m/"}, nil, move("/m", "/d/m")},
		{"MOVE onto a file", []string{"d/p", "/f"}, nil, move("/d/p", "/f")},
		{"MOVE onto another spelling", []string{"/" + decomposed, "/f", "/" + composed}, nil, move("/f", "/"+composed)},
		{"MOVE to another spelling of its own name", []string{"/" + composed, "/" + decomposed}, nil, move("/"+composed, "/"+decomposed)},
		{"MOVE to a workspace", []string{"/" + decomposed, "/b"}, nil, func() error {
			_, err := f.Move(ctx, f.at("/"+composed), at(bob, "/b"), store.MoveOptions{}, f.me())
			return err
		}},
		{"DELETE of a file", []string{"/null"}, nil, remove("/null")},
		{"DELETE of a folder", []string{"/o/"}, nil, remove("/o")},
	}
}

// noChanges are operations after which each folder has the members it had, as
// they were.
func (f *fixture) noChanges(bob store.User) []changesCase {
	ctx := f.t.Context()
	var l lockns.Lock
	fresh := func() error {
		f.put("/k", "x")
		l = f.lock("/k", lockns.Resource).Lock
		return nil
	}
	return []changesCase{
		{"an empty PROPPATCH", nil, fresh, func() error {
			_, err := f.PatchProps(ctx, f.at("/k"), store.Patch{}, with{f.user.ID, []string{l.Token}})
			return err
		}},
		{"PROPPATCH of the root", nil, nil, func() error { f.setProp("/", "a", "1"); return nil }},
		{"LOCK", nil, fresh, func() error { f.lock("/d", lockns.Infinity); return nil }},
		{"refresh", nil, fresh, func() error {
			_, err := f.RefreshLock(ctx, f.at("/k"), store.ByToken(l.Token), time.Minute, f.me())
			return err
		}},
		{"UNLOCK", nil, fresh, func() error { return f.Unlock(ctx, f.at("/k"), store.ByToken(l.Token), f.me()) }},
		{"a refused DELETE", nil, fresh, func() error { return expectError(f.Remove(ctx, f.at("/k"), f.me())) }},
		{"a PUT whose commit fails", nil, nil, func() error {
			f.SetHook(failAt(store.BeforeCommit, errUndone))
			defer f.SetHook(nil)
			_, _, err := f.Put(ctx, f.at("/l"), file("x"), f.me())
			return expectError(err)
		}},
		{"the purge of a folder", nil, nil, func() error {
			_, err := f.Purge(ctx)
			return err
		}},
		{"the end of a user", nil, nil, func() error { return f.RemoveUser(ctx, bob.Name, store.Actor{}) }},
	}
}

// TestMovedFolderKeepsItsLog: positions are of a folder, not of a path.
func TestMovedFolderKeepsItsLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mkdir("/d")
	f.mkdir("/e")
	f.put("/d/f", "x")
	position := f.stat("/d").Position()
	f.move("/d", "/e/moved")
	f.put("/e/moved/g", "x")
	c := newCopy(f, "/e/moved")
	c.at = position
	c.sync(0)
	wantSlice(t, "changes since before the move", slices.Sorted(maps.Keys(c.members)), []string{"g"})
}

// copyOf is a client's copy of a folder, kept by what it is told of changes.
type copyOf struct {
	f       *fixture
	path    string
	at      store.Position
	members map[string]string // by name, a folder's with a slash
	loose   map[string]string // by what a name is looked up by: of a disk that knows one spelling
}

func newCopy(f *fixture, path string) *copyOf {
	return &copyOf{f: f, path: path, members: map[string]string{}, loose: map[string]string{}}
}

// look is all that a client may know of a member.
func look(e *store.Entry) string {
	props := make([]string, len(e.Props))
	for i, p := range e.Props {
		props[i] = p.Local + "=" + p.XML
	}
	slices.Sort(props)
	modified := ""
	if !e.IsFolder() {
		modified = e.Modified.String()
	}
	return fmt.Sprint(e.Place.Root, e.Name, e.ETag, e.Size, modified, props)
}

func memberName(name string, folder bool) string {
	if folder {
		return name + "/"
	}
	return name
}

// sync asks once and applies the answer. It says whether there is more.
func (c *copyOf) sync(limit int) bool {
	c.f.t.Helper()
	n, seen := 0, map[string]bool{}
	at, more, err := c.f.Changes(c.f.t.Context(), c.f.at(c.path), c.at, store.Want{Props: true}, limit, func(ch store.Change) error {
		n++
		name := memberName(ch.Name, ch.Folder)
		if seen[name] {
			c.f.t.Errorf("%q is told twice", name)
		}
		seen[name] = true
		if ch.Entry == nil {
			delete(c.members, name)
			delete(c.loose, key(ch.Name))
			return nil
		}
		if ch.Entry.Name != ch.Name || ch.Entry.IsFolder() != ch.Folder {
			c.f.t.Errorf("the change of %q has the entry of %q", name, ch.Entry.Name)
		}
		c.members[name] = look(ch.Entry)
		c.loose[key(ch.Name)] = look(ch.Entry)
		return nil
	})
	must(c.f.t, err)
	if limit > 0 && n > limit || more && n != limit {
		c.f.t.Errorf("%d changes with limit %d, more %v", n, limit, more)
	}
	c.at = at
	return more
}

// finish syncs until nothing is left and compares with a fresh listing.
func (c *copyOf) finish(limit int) {
	c.f.t.Helper()
	for c.sync(limit) || c.at != c.f.stat(c.path).Position() {
	}
	listed, loose := map[string]string{}, map[string]string{}
	must(c.f.t, c.f.Walk(c.f.t.Context(), c.f.at(c.path), store.DepthOne, store.Want{Props: true}, 0, func(e store.Entry) error {
		if e.Path.String() != c.path {
			listed[memberName(e.Name, e.IsFolder())] = look(&e)
			loose[key(e.Name)] = look(&e)
		}
		return nil
	}))
	if !maps.Equal(c.members, listed) {
		c.f.t.Fatalf("the copy has\n%v\nthe folder\n%v", c.members, listed)
	}
	if !maps.Equal(c.loose, loose) {
		c.f.t.Fatalf("the copy that knows one spelling has\n%v\nthe folder\n%v", c.loose, loose)
	}
}

// TestSyncConverges: whatever is done to a folder by others at the same time, and
// wherever answers are cut, a client that applies them has what the folder has.
func TestSyncConverges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			f := newFixture(t)
			f.mkdir("/d")
			f.mkdir("/e")
			var writers sync.WaitGroup
			done := make(chan struct{})
			for n := range uint64(3) {
				writers.Go(func() { f.scribble(rand.New(rand.NewPCG(seed, n)), 150) })
			}
			go func() { writers.Wait(); close(done) }()
			r := rand.New(rand.NewPCG(seed, 99))
			old, begun := newCopy(f, "/d"), newCopy(f, "/d")
			for working := true; working; {
				select {
				case <-done:
					working = false
				default:
				}
				old.sync(r.IntN(4))
				if begun.sync(1 + r.IntN(3)); r.IntN(10) == 0 {
					begun.rush()
					begun = newCopy(f, "/d")
				}
			}
			old.finish(0)
			begun.finish(1)
			newCopy(f, "/d").finish(2)
		})
	}
}

// rush brings a copy that is thrown away as far as it goes at once.
func (c *copyOf) rush() {
	for n := 0; c.sync(3) && n < 100; n++ {
	}
}

// scribble does so many things in /d, as they come. Others may have been faster:
// refusals are part of it.
func (f *fixture) scribble(r *rand.Rand, steps int) {
	ctx := f.t.Context()
	names := []string{"a", "b", composed, decomposed}
	path := func() string { return []string{"/d/", "/d/", "/d/", "/e/"}[r.IntN(4)] + names[r.IntN(len(names))] }
	for range steps {
		var err error
		from, to := path(), path()
		switch r.IntN(7) {
		case 0, 1:
			_, _, err = f.Put(ctx, f.at(from), file("x"), f.me())
		case 2:
			_, err = f.Mkdir(ctx, f.at(from), store.Patch{}, f.me())
		case 3:
			op := prop("a", fmt.Sprint(r.IntN(3)))
			_, err = f.PatchProps(ctx, f.at(from), store.Patch{Props: []store.PropOp{op}}, f.me())
		case 4:
			_, err = f.Move(ctx, f.at(from), f.at(to), store.MoveOptions{}, f.me())
		case 5:
			_, _, err = f.Copy(ctx, f.at(from), f.at(to), store.CopyOptions{}, f.me())
		case 6:
			err = f.Remove(ctx, f.at(from), f.me())
		}
		expected := []error{nil, store.ErrNotFound, store.ErrExists, store.ErrIsFolder, store.ErrIntoItself, store.ErrNoParent}
		if !slices.ContainsFunc(expected, func(want error) bool { return errors.Is(err, want) }) {
			f.t.Errorf("%s, %s: %v", from, to, err)
		}
	}
}

// TestChangesInPages: what is more than a page is told whole, and once.
func TestChangesInPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mkdir("/d")
	f.fill("/d", 2500)
	f.folders("/d", 1100)
	for _, limit := range []int{0, 999, 1000, 1001, 3600} {
		c := newCopy(f, "/d")
		for c.sync(limit) {
		}
		wantEqual(t, fmt.Sprint("members listed with limit ", limit), len(c.members), 3600)
		wantEqual(t, "position", c.at, f.stat("/d").Position())
	}
	c := newCopy(f, "/d")
	c.sync(0)
	folder := f.stat("/d").Place.Root.ID
	f.sql(`INSERT INTO changes (folder_id, name, name_key, is_folder, at) SELECT folder_id, name, name_key, 0, 0 FROM files WHERE folder_id = ? AND name <> 'm00000' ORDER BY id DESC`, folder)
	f.sql(`UPDATE folders SET last_change = (SELECT max(id) FROM changes) WHERE id = ?`, folder)
	for _, limit := range []int{0, 1000, 2499, 2498} {
		again := *c
		again.members = map[string]string{}
		for again.sync(limit) {
		}
		wantEqual(t, fmt.Sprint("changes with limit ", limit), len(again.members), 2499)
		wantEqual(t, "position", again.at, f.stat("/d").Position())
	}
}

// TestChangesWithManyProperties: a page of changes ends where the properties
// wanted of it would be too much to hold, and the next goes on there.
func TestChangesWithManyProperties(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mkdir("/d")
	before := f.stat("/d").Position()
	const files = 20
	for n := range files {
		path := fmt.Sprintf("/d/f%02d", n)
		f.put(path, "x")
		f.setProp(path, "a", strings.Repeat("x", store.MaxPropBytes-100))
	}
	for _, at := range []store.Position{{}, before} {
		c := newCopy(f, "/d")
		c.at = at
		c.finish(0)
		wantEqual(t, "files", len(c.members), files)
	}
}

// TestPruneChanges: who knows a folder as it is may come back whenever; who missed
// what was pruned is told so.
func TestPruneChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mkdir("/d")
	f.mkdir("/idle")
	f.put("/idle/f", "x")
	missed := f.stat("/d").Position()
	for n := range 600 {
		f.put("/d/"+fmt.Sprint(n%550), "x")
	}
	halfway := f.stat("/d").Position()
	idle := f.stat("/idle").Position()
	f.advance(31 * 24 * time.Hour)
	f.put("/d/new", "x")
	now := f.stat("/d").Position()
	pruned := 0
	for n := 1; n > 0; pruned += n {
		var err error
		n, err = f.PruneChanges(t.Context())
		must(t, err)
		if n > 500 {
			t.Errorf("%d rows went at once", n)
		}
	}
	wantEqual(t, "rows pruned", pruned, 550+1+2) // and /idle/f, /d, /idle
	wantEqual(t, "rows left", f.rows("changes"), 1)
	for _, c := range []struct {
		name string
		path string
		at   store.Position
		n    int
		err  error
	}{
		{"before what was pruned", "/d", missed, 0, store.ErrPosition},
		{"after what was pruned", "/d", halfway, 1, nil},
		{"after all", "/d", now, 0, nil},
		{"of a folder where all was pruned", "/idle", idle, 0, nil},
		{"of another folder", "/idle", now, 0, store.ErrPosition},
		{"never reached", "/d", store.Position{Folder: now.Folder, Change: now.Change + 1}, 0, store.ErrPosition},
		{"of a listing begun before what was pruned", "/d", store.Position{Folder: missed.Folder, Change: missed.Change, Listing: true}, 0, store.ErrPosition},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			_, _, err := f.Changes(t.Context(), f.at(c.path), c.at, store.Want{}, 0, func(store.Change) error { n++; return nil })
			wantError(t, err, c.err)
			wantEqual(t, "changes", n, c.n)
		})
	}
	f.put("/idle/f", "y")
	c := newCopy(f, "/idle")
	c.at = idle
	c.sync(0)
	wantEqual(t, "changes in the folder that was idle", len(c.members), 1)
}

// TestChangesAge: the time is an option.
func TestChangesAge(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *store.Options) { o.ChangesAge = time.Hour })
	f.put("/f", "x")
	for _, c := range []struct {
		after time.Duration
		rows  int
	}{{time.Hour, 0}, {time.Microsecond, 1}} {
		f.advance(c.after)
		n, err := f.PruneChanges(t.Context())
		must(t, err)
		wantEqual(t, "rows pruned", n, c.rows)
	}
}

// TestChangesRefused: what has no members has no changes.
func TestChangesRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("/f", "x")
	f.mkdir("/d")
	gone := f.stat("/d").Position()
	f.remove("/d")
	none := func(store.Change) error { t.Error("a change"); return nil }
	for _, path := range []string{"/f", "/d", "/none/x"} {
		_, _, err := f.Changes(t.Context(), f.at(path), store.Position{}, store.Want{}, 0, none)
		wantError(t, err, store.ErrNotFound)
	}
	f.mkdir("/d")
	_, _, err := f.Changes(t.Context(), f.at("/d"), gone, store.Want{}, 0, none)
	wantError(t, err, store.ErrPosition) // it is another folder now
	wantEqual(t, "position of a file", f.stat("/f").Position(), store.Position{})

	stop := errors.New("stop")
	_, _, err = f.Changes(t.Context(), f.at("/"), store.Position{}, store.Want{}, 0, func(store.Change) error { return stop })
	wantError(t, err, stop)
}
