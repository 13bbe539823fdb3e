package store_test

import (
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// TestVersionsOfReplaced: what COPY and MOVE do to the versions of both ends.
func TestVersionsOfReplaced(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"copy", "move"} {
		t.Run("a "+op+" over a file takes over its history and its content", func(t *testing.T) {
			f := newFixture(t, keeping(10))
			f.write("/doc", "one", object("two"), "three")
			f.setProp("/doc", "a", "1")
			was := f.stat("/doc")
			f.write("/tmp", "four")
			f.advance(time.Hour)
			f.transfers(op, "/tmp", "/doc")
			wantEqual(t, "content", f.read("/doc"), "four")
			wantSlice(t, "versions", f.history("/doc"), []string{"three", "two", "one"})
			all, err := f.Versions(t.Context(), f.at("/doc"), 0, 0)
			must(t, err)
			wantEqual(t, "ETag", all[0].ETag, was.ETag)
			wantEqual(t, "modified", all[0].Modified, was.Modified)
			wantEqual(t, "replaced", all[0].Replaced, f.now())
			if op == "move" {
				f.gone("/tmp")
			} else {
				f.remove("/tmp")
			}
			wantEqual(t, "used", f.used(f.user), int64(len("onethreefour")+len(object("two"))))
			wantEqual(t, "files", f.rows("files"), 1)
			f.clean()
			f.write("/doc", "five")
			wantSlice(t, "versions after the next write", f.history("/doc"), []string{"four", "three", "two", "one"})
		})
		t.Run("a "+op+" over a file prunes what is too many", func(t *testing.T) {
			f := newFixture(t, keeping(2))
			f.write("/doc", "one", object("two"), "three")
			f.write("/tmp", "four")
			f.transfers(op, "/tmp", "/doc")
			wantSlice(t, "versions", f.history("/doc"), []string{"three", "two"})
		})
		t.Run("a "+op+" over a file without anything to leave leaves nothing", func(t *testing.T) {
			f := newFixture(t, keeping(2))
			f.write("/doc", "")
			f.write("/tmp", "one", "two")
			f.transfers(op, "/tmp", "/doc")
			wantSlice(t, "versions", f.history("/doc"), map[string][]string{"copy": {}, "move": {"one"}}[op])
		})
		t.Run("a "+op+" over an empty file takes over its versions", func(t *testing.T) {
			f := newFixture(t, keeping(2))
			f.write("/doc", "one", "")
			f.write("/tmp", "two")
			f.transfers(op, "/tmp", "/doc")
			wantSlice(t, "versions", f.history("/doc"), []string{"one"})
		})
		t.Run("a lock on the file stays through a "+op+" and holds what comes", func(t *testing.T) {
			f := newFixture(t, keeping(2))
			f.write("/doc", "one", "two")
			f.write("/tmp", "three")
			l := f.lock("/doc", lockns.Resource).Lock
			_, err := f.transferAs(op, f.at("/tmp"), f.at("/doc"), false, f.me())
			wantLocked(t, err, l.Token)
			_, err = f.transferAs(op, f.at("/tmp"), f.at("/doc"), false, with{f.user.ID, []string{l.Token}})
			must(t, err)
			wantSlice(t, "locks", f.tokens("/doc"), []string{l.Token})
			wantSlice(t, "versions", f.history("/doc"), []string{"two", "one"})
		})
		for _, c := range []struct{ name, from, to string }{{"a folder over a file", "/dir", "/doc"}, {"a file over a folder", "/doc", "/dir"}} {
			t.Run("a "+op+" of "+c.name+" keeps nothing of what it replaces", func(t *testing.T) {
				f := newFixture(t, keeping(2))
				f.mkdir("/dir")
				f.write("/dir/f", "one", object("two"))
				f.write("/doc", "three", object("four"))
				f.transfers(op, c.from, c.to)
				f.purge()
				if op == "copy" {
					f.remove(c.from)
					f.purge()
				}
				want := int64(len(object("two")))
				if c.from == "/doc" {
					want = int64(len(object("four")))
				}
				if op == "move" { // its own versions came along
					want += map[string]int64{"/doc": 5, "/dir": 3}[c.from]
				}
				wantEqual(t, "used", f.used(f.user), want)
			})
		}
	}
	t.Run("a moved file's own versions come along, all in the order of their age", func(t *testing.T) {
		f := newFixture(t, keeping(4))
		f.write("/a", "a1")
		f.write("/b", "b1", object("b2"))
		f.write("/a", object("a2"), "a3")
		f.write("/b", "b3")
		// Ages of the versions: b1 a1 a2 b2, then what /b holds.
		f.move("/a", "/b")
		wantSlice(t, "versions", f.history("/b"), []string{"b3", "b2", "a2", "a1"})
		wantEqual(t, "content", f.read("/b"), "a3")
		f.move("/b", "/c")
		wantSlice(t, "versions after another move", f.history("/c"), []string{"b3", "b2", "a2", "a1"})
	})
	t.Run("a rename to the other spelling keeps them", func(t *testing.T) {
		f := newFixture(t, keeping(2))
		f.write("/é", "one", "two")
		f.move("/é", "/é")
		wantSlice(t, "versions", f.history("/é"), []string{"one"})
	})
	t.Run("copies have none", func(t *testing.T) {
		f := newFixture(t, keeping(2))
		f.mkdir("/d")
		f.write("/d/f", object("one"), "two")
		f.copy("/d", "/e")
		f.copy("/d/f", "/f")
		wantSlice(t, "versions of a file", f.history("/f"), []string{})
		wantSlice(t, "versions in a tree", f.history("/e/f"), []string{})
		wantEqual(t, "used", f.used(f.user), int64(len(object("one"))+3*len("two")))
	})
}

// TestVersionsBetweenWorkspaces: versions and their bytes change the workspace
// with their file.
func TestVersionsBetweenWorkspaces(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (*fixture, store.User) {
		f := newFixture(t, keeping(2))
		f.mkdir("/d")
		f.write("/d/f", "one", object("two"))
		f.write("/f", "three", "four", "five")
		return f, f.addUser("bob")
	}
	bobs := func(f *fixture, bob store.User, path, content string) {
		_, _, err := f.Put(f.t.Context(), at(bob, path), file(content), store.Holder(bob.ID))
		must(f.t, err)
	}
	t.Run("a file", func(t *testing.T) {
		f, bob := setup(t)
		_, err := f.Move(t.Context(), f.at("/f"), at(bob, "/f"), store.MoveOptions{}, f.me())
		must(t, err)
		wantEqual(t, "used there", f.used(bob), int64(len("threefourfive")))
		wantEqual(t, "used here", f.used(f.user), int64(len("one")+len(object("two"))))
	})
	t.Run("a tree", func(t *testing.T) {
		f, bob := setup(t)
		_, err := f.Move(t.Context(), f.at("/d"), at(bob, "/d"), store.MoveOptions{}, f.me())
		must(t, err)
		wantEqual(t, "used there", f.used(bob), int64(len("one")+len(object("two"))))
		wantEqual(t, "used here", f.used(f.user), int64(len("threefourfive")))
	})
	for _, op := range []string{"copy", "move"} {
		t.Run("a file by "+op+" over one that has its own", func(t *testing.T) {
			f, bob := setup(t)
			bobs(f, bob, "/f", "b1")
			bobs(f, bob, "/f", object("b2"))
			_, err := f.transferAs(op, f.at("/f"), at(bob, "/f"), false, f.me())
			must(t, err)
			all, err := f.Versions(t.Context(), at(bob, "/f"), 0, 0)
			must(t, err)
			wantEqual(t, "versions", len(all), 2)
			wantEqual(t, "size of the newest", all[0].Size, int64(len(object("b2"))))
			wantEqual(t, "used there", f.used(bob), int64(len("five")+len(object("b2"))+len("b1")))
			if op == "move" {
				wantEqual(t, "used here", f.used(f.user), int64(len("one")+len(object("two"))))
			}
		})
	}
	t.Run("the quota there counts what stays, not what is pruned", func(t *testing.T) {
		f, bob := setup(t)
		bobs(f, bob, "/f", "123456789")
		bobs(f, bob, "/f", "1234")
		// "three" and "four" come along and are older than both of bob's.
		after := int64(len("five") + len("1234") + len("123456789"))
		for _, quota := range []int64{after - 1, after} {
			_, err := f.SetUser(t.Context(), "bob", store.UserPatch{Quota: &quota})
			must(t, err)
			_, err = f.Move(t.Context(), f.at("/f"), at(bob, "/f"), store.MoveOptions{}, f.me())
			if quota < after {
				wantError(t, err, store.ErrQuota)
				continue
			}
			must(t, err)
			wantEqual(t, "used there", f.used(bob), after)
		}
	})
}
