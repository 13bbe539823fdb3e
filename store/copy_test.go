package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

func TestCopy(t *testing.T) {
	f := newFixture(t)
	content := strings.Repeat("x", 100)
	f.mkdir("/d")
	f.mkdir("/d/sub")
	f.put("/d/sub/f", content)
	f.setProp("/d", "a", "1")
	f.setProp("/d/sub", "b", "2")
	f.setProp("/d/sub/f", "c", "3")
	f.advance(time.Hour)
	t.Run("takes the whole tree with its properties and shares the objects", func(t *testing.T) {
		_, created, err := f.Copy(t.Context(), f.at("/d"), f.at("/e"), store.CopyOptions{}, f.me())
		must(t, err)
		wantEqual(t, "created", created, true)
		wantEqual(t, "tree", f.list("/e"), "/e/\n/e/sub/\n/e/sub/f")
		wantEqual(t, "content", f.read("/e/sub/f"), content)
		wantSlice(t, "properties", append(append(f.props("/e"), f.props("/e/sub")...), f.props("/e/sub/f")...), []string{"a=1", "b=2", "c=3"})
		wantEqual(t, "objects", f.objects(), 1)
		wantEqual(t, "references", f.number(`SELECT refs FROM blobs`), 2)
		wantEqual(t, "used", f.used(f.user), 2*(100+3*propBytes))
	})
	t.Run("is another resource, created now, as old as its source", func(t *testing.T) {
		from, to := f.stat("/d/sub/f"), f.stat("/e/sub/f")
		if from.Place.Root == to.Place.Root {
			t.Error("the copy has the identity of its source")
		}
		wantEqual(t, "created", to.Created, f.now())
		wantEqual(t, "modified", to.Modified, from.Modified)
		wantEqual(t, "content type", to.ContentType, from.ContentType)
	})
	t.Run("of depth 0 takes no members", func(t *testing.T) {
		_, _, err := f.Copy(t.Context(), f.at("/d"), f.at("/shallow"), store.CopyOptions{Shallow: true}, f.me())
		must(t, err)
		wantEqual(t, "tree", f.list("/shallow"), "/shallow/")
		wantSlice(t, "properties", f.props("/shallow"), []string{"a=1"})
	})
	t.Run("of depth 0 may go below its source", func(t *testing.T) {
		_, _, err := f.Copy(t.Context(), f.at("/d"), f.at("/d/d"), store.CopyOptions{Shallow: true}, f.me())
		must(t, err)
		wantEqual(t, "tree", f.list("/d/d"), "/d/d/")
	})
	t.Run("survives its source", func(t *testing.T) {
		f.remove("/d")
		f.purge()
		wantEqual(t, "content", f.read("/e/sub/f"), content)
		wantEqual(t, "references", f.number(`SELECT refs FROM blobs`), 1)
		wantEqual(t, "garbage", f.rows("garbage"), 0)
	})
	t.Run("the last reference takes the object along", func(t *testing.T) {
		f.remove("/e/sub/f")
		wantEqual(t, "blobs", f.rows("blobs"), 0)
		wantEqual(t, "garbage", f.rows("garbage"), 1)
		wantEqual(t, "used", f.used(f.user), 3*propBytes) // of /e, /e/sub and /shallow
	})
}

// purge runs Purge to its end.
func (f *fixture) purge() {
	f.t.Helper()
	for {
		n, err := f.Purge(f.t.Context())
		must(f.t, err)
		if n == 0 {
			return
		}
	}
}

// TestOverwrite replaces each kind of resource by each, by COPY and by MOVE.
func TestOverwrite(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"copy", "move"} {
		for _, c := range []struct{ name, from, to string }{
			{"a file by a file", "/file", "/file2"},
			{"a file by a folder", "/dir", "/file2"},
			{"a folder by a file", "/file", "/dir2"},
			{"a folder by a folder", "/dir", "/dir2"},
		} {
			t.Run(op+" replaces "+c.name, func(t *testing.T) {
				f := newFixture(t)
				for _, n := range []string{"", "2"} {
					f.put("/file"+n, "content"+n)
					f.mkdir("/dir" + n)
					f.put("/dir"+n+"/f"+n, "inner"+n)
					f.setProp("/file"+n, "p"+n, "1")
					f.setProp("/dir"+n, "p"+n, "1")
				}
				from := f.stat(c.from)
				f.transfers(op, c.from, c.to)
				to := f.stat(c.to)
				wantEqual(t, "is a folder", to.IsFolder(), from.IsFolder())
				wantEqual(t, "keeps its identity", to.Place.Root == from.Place.Root, op == "move")
				wantSlice(t, "properties", f.props(c.to), []string{"p=1"})
				if from.IsFolder() {
					wantEqual(t, "tree", f.list(c.to), c.to+"/\n"+c.to+"/f")
				} else {
					wantEqual(t, "content", f.read(c.to), "content")
				}
				f.purge()
				f.clean()
			})
		}
	}
}

// transfers copies or moves and checks that refusing to overwrite refuses.
func (f *fixture) transfers(op, from, to string) {
	f.t.Helper()
	_, err := f.transfer(op, from, to, true)
	wantError(f.t, err, store.ErrExists)
	created, err := f.transfer(op, from, to, false)
	must(f.t, err)
	wantEqual(f.t, "created", created, false)
}

func (f *fixture) transfer(op, from, to string, noOverwrite bool) (bool, error) {
	return f.transferAs(op, f.at(from), f.at(to), noOverwrite, f.me())
}

func (f *fixture) transferAs(op string, from, to store.Target, noOverwrite bool, c store.Claim) (bool, error) {
	if op == "copy" {
		id, created, err := f.Copy(f.t.Context(), from, to, store.CopyOptions{NoOverwrite: noOverwrite}, c)
		if err == nil {
			made, err := f.Stat(f.t.Context(), to)
			must(f.t, err)
			wantEqual(f.t, "what the copy says it made", id, made.Place.Root)
		}
		return created, err
	}
	return f.Move(f.t.Context(), from, to, store.MoveOptions{NoOverwrite: noOverwrite}, c)
}

func TestTransferRefuses(t *testing.T) {
	f := newFixture(t)
	for _, d := range []string{"/d", "/d/e", "/d/e/g", "/x"} {
		f.mkdir(d)
	}
	f.put("/d/f", "f")
	f.put("/file", "file")
	before := f.list("/")
	for _, op := range []string{"copy", "move"} {
		for _, c := range []struct {
			name, from, to string
			want           error
		}{
			{"onto itself", "/d", "/d", store.ErrIntoItself},
			{"a file onto itself", "/file", "/file", store.ErrIntoItself},
			{"below itself", "/d", "/d/e/new", store.ErrIntoItself},
			{"onto its own member", "/d", "/d/e", store.ErrIntoItself},
			{"over its parent", "/d/e", "/d", store.ErrIntoItself},
			{"over an ancestor", "/d/e/g", "/d", store.ErrIntoItself},
			{"a file over its folder", "/d/f", "/d", store.ErrIntoItself},
			{"onto the root", "/d", "/", store.ErrRoot},
			{"nothing", "/no", "/new", store.ErrNotFound},
			{"nothing onto nothing", "/no", "/no/no", store.ErrNotFound},
			{"into a missing folder", "/d", "/no/new", store.ErrNoParent},
			{"into a file", "/d", "/file/new", store.ErrNoParent},
			{"to a bad name", "/d", "/..", store.ErrBadName},
		} {
			t.Run(op+" refuses "+c.name, func(t *testing.T) {
				_, err := f.transfer(op, c.from, c.to, false)
				wantError(t, err, c.want)
			})
		}
	}
	t.Run("move refuses the root", func(t *testing.T) {
		_, err := f.transfer("move", "/", "/x/new", false)
		wantError(t, err, store.ErrRoot)
	})
	t.Run("copy refuses the root into itself", func(t *testing.T) {
		_, err := f.transfer("copy", "/", "/x/new", false)
		wantError(t, err, store.ErrIntoItself)
	})
	t.Run("copy of depth 0 refuses onto itself", func(t *testing.T) {
		_, _, err := f.Copy(t.Context(), f.at("/d"), f.at("/d"), store.CopyOptions{Shallow: true}, f.me())
		wantError(t, err, store.ErrIntoItself)
	})
	wantEqual(t, "tree", f.list("/"), before)
}

func TestTransferTooDeep(t *testing.T) {
	f := newFixture(t)
	f.chain("/", deepPath(126))
	deepest := deepPath(126).String()
	f.mkdir("/two") // with its file, two levels
	f.put("/two/f", "f")
	f.mkdir("/three") // with its subfolder and file, three levels
	f.mkdir("/three/d")
	f.put("/three/d/f", "f")
	f.mkdir("/threefolders")
	f.chain("/threefolders", store.ParsePath("/d/d"))
	for _, op := range []string{"copy", "move"} {
		for _, c := range []struct {
			name, from, to string
			want           error
		}{
			{"refuses a file on level 129", "/three", deepest + "/x", store.ErrTooDeep},
			{"refuses a folder on level 129", "/threefolders", deepest + "/x", store.ErrTooDeep},
			{"refuses a destination on level 129", "/two", deepest + "/x/y/z", store.ErrTooDeep},
			{"takes what ends on level 128", "/two", deepest + "/x", nil},
		} {
			t.Run(op+" "+c.name, func(t *testing.T) {
				_, err := f.transfer(op, c.from, c.to, false)
				if !errors.Is(err, c.want) {
					t.Fatalf("error %v, want %v", err, c.want)
				}
				if c.want == nil {
					wantEqual(t, "content", f.read(c.to+"/f"), "f")
					must(t, f.Remove(t.Context(), f.at(c.to), f.me()))
				}
			})
		}
	}
}

func TestMoveKeeps(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.mkdir("/other")
	f.put("/d/f", "content")
	f.setProp("/d", "a", "1")
	f.setProp("/d/f", "b", "2")
	f.advance(time.Hour)
	folder, inner := f.stat("/d"), f.stat("/d/f")
	created, err := f.Move(t.Context(), f.at("/d"), f.at("/other/e"), store.MoveOptions{}, f.me())
	must(t, err)
	wantEqual(t, "created", created, true)
	f.gone("/d")
	moved, innerMoved := f.stat("/other/e"), f.stat("/other/e/f")
	wantEqual(t, "identity", moved.Place.Root, folder.Place.Root)
	wantEqual(t, "id path", moved.Place.Ancestry, f.stat("/other").Place.Folder(folder.Place.Root.ID).Ancestry)
	wantEqual(t, "name", moved.Name, "e")
	wantEqual(t, "created at", moved.Created, folder.Created)
	wantEqual(t, "modified at", moved.Modified, folder.Modified)
	wantEqual(t, "identity of a member", innerMoved.Place.Root, inner.Place.Root)
	wantEqual(t, "ETag of a member", innerMoved.ETag, inner.ETag)
	wantSlice(t, "properties", append(f.props("/other/e"), f.props("/other/e/f")...), []string{"a=1", "b=2"})
	wantEqual(t, "used", f.used(f.user), 7+2*propBytes)
	f.move("/other/e/f", "/f")
	file := f.stat("/f")
	wantEqual(t, "identity of a file", file.Place.Root, inner.Place.Root)
	wantEqual(t, "ETag of a file", file.ETag, inner.ETag)
	wantEqual(t, "times of a file", [2]time.Time{file.Created, file.Modified}, [2]time.Time{inner.Created, inner.Modified})
}

// TestTransferLocks: what COPY and MOVE do to the locks of both ends.
func TestTransferLocks(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (f *fixture) {
		f = newFixture(t)
		f.mkdir("/src")
		f.put("/src/f", "src")
		f.mkdir("/dst")
		f.put("/dst/g", "dst")
		return f
	}
	t.Run("copies are not locked", func(t *testing.T) {
		f := setup(t)
		a, b := f.lock("/src", lockns.Resource), f.lock("/src/f", lockns.Resource)
		before := f.generation(f.user)
		f.copy("/src", "/new")
		wantSlice(t, "locks of the copy", f.tokens("/new"), []string{})
		wantSlice(t, "locks of the copied member", f.tokens("/new/f"), []string{})
		wantSlice(t, "locks of the source", f.tokens("/src"), []string{a.Lock.Token})
		wantSlice(t, "locks of the source's member", f.tokens("/src/f"), []string{b.Lock.Token})
		wantEqual(t, "generation", f.generation(f.user), before)
	})
	t.Run("a move ends the WebDAV locks of its source", func(t *testing.T) {
		f := setup(t)
		a, b := f.lock("/src", lockns.Resource), f.lock("/src/f", lockns.Resource)
		_, err := f.Move(t.Context(), f.at("/src"), f.at("/new"), store.MoveOptions{}, f.me())
		wantLocked(t, err, a.Lock.Token, b.Lock.Token)
		before := f.generation(f.user)
		_, err = f.Move(t.Context(), f.at("/src"), f.at("/new"), store.MoveOptions{}, with{f.user.ID, []string{a.Lock.Token, b.Lock.Token}})
		must(t, err)
		wantEqual(t, "locks", f.rows("resource_locks"), 0)
		wantEqual(t, "generation", f.generation(f.user), before+1)
	})
	t.Run("a rename to the other spelling ends them too", func(t *testing.T) {
		f := setup(t)
		f.put("/é", "")
		l := f.lock("/é", lockns.Resource)
		_, err := f.Move(t.Context(), f.at("/é"), f.at("/e\u0301"), store.MoveOptions{}, with{f.user.ID, []string{l.Lock.Token}})
		must(t, err)
		wantEqual(t, "locks", f.rows("resource_locks"), 0)
	})
	for _, op := range []string{"copy", "move"} {
		t.Run("a lock on the destination stays through a "+op+" and holds what comes", func(t *testing.T) {
			f := setup(t)
			l := f.lock("/dst", lockns.Infinity)
			_, err := f.transferAs(op, f.at("/src"), f.at("/dst"), false, f.me())
			wantLocked(t, err, l.Lock.Token)
			before := f.generation(f.user)
			_, err = f.transferAs(op, f.at("/src"), f.at("/dst"), false, with{f.user.ID, []string{l.Lock.Token}})
			must(t, err)
			e := f.entry(f.at("/dst"))
			want := l.Lock
			want.Place = e.Place
			if len(e.Locks) != 1 || e.Locks[0] != want {
				t.Errorf("locks %+v, want %+v", e.Locks, want)
			}
			wantSlice(t, "locks of a member", f.tokens("/dst/f"), []string{l.Lock.Token})
			wantEqual(t, "generation", f.generation(f.user), before+1)
			_, _, err = f.Put(t.Context(), f.at("/dst/f"), file("new"), f.me())
			wantLocked(t, err, l.Lock.Token)
			must(t, f.Unlock(t.Context(), f.at("/dst"), store.ByToken(l.Lock.Token), f.me()))
		})
		t.Run("locks below the destination end with a "+op, func(t *testing.T) {
			f := setup(t)
			l := f.lock("/dst/g", lockns.Resource)
			_, err := f.transferAs(op, f.at("/src"), f.at("/dst"), false, f.me())
			wantLocked(t, err, l.Lock.Token)
			_, err = f.transferAs(op, f.at("/src"), f.at("/dst"), false, with{f.user.ID, []string{l.Lock.Token}})
			must(t, err)
			wantEqual(t, "locks", f.rows("resource_locks"), 0)
		})
		t.Run("an infinity lock of the destination on a file after a "+op+" holds it", func(t *testing.T) {
			f := setup(t)
			l := f.lock("/dst", lockns.Infinity)
			_, err := f.transferAs(op, f.at("/src/f"), f.at("/dst"), false, with{f.user.ID, []string{l.Lock.Token}})
			must(t, err)
			wantSlice(t, "locks", f.tokens("/dst"), []string{l.Lock.Token})
			wantEqual(t, "content", f.read("/dst"), "src")
		})
	}
	t.Run("both ends need their folder's lock, of any depth", func(t *testing.T) {
		f := setup(t)
		a, b := f.lock("/src", lockns.Resource), f.lock("/dst", lockns.Resource)
		_, err := f.Move(t.Context(), f.at("/src/f"), f.at("/dst/f"), store.MoveOptions{}, f.me())
		wantLocked(t, err, a.Lock.Token, b.Lock.Token)
		_, _, err = f.Copy(t.Context(), f.at("/src/f"), f.at("/dst/f"), store.CopyOptions{}, f.me())
		wantLocked(t, err, b.Lock.Token)
		_, err = f.Move(t.Context(), f.at("/src/f"), f.at("/dst/f"), store.MoveOptions{}, with{f.user.ID, []string{a.Lock.Token, b.Lock.Token}})
		must(t, err)
	})
}

// TestProductLocksMove: locks that did not come through WebDAV stay with their
// resource.
func TestProductLocksMove(t *testing.T) {
	f := newFixture(t)
	product := f.spec(lockns.Resource)
	product.Origin = lockns.Product
	f.mkdir("/a")
	f.mkdir("/a/b")
	f.put("/a/b/f", "x")
	f.mkdir("/c")
	on := func(path string) lockns.Lock {
		l, err := f.Lock(t.Context(), f.at(path), product, f.me())
		must(t, err)
		return l.Lock
	}
	folder, inner := on("/a/b"), on("/a/b/f")
	before := f.generation(f.user)
	f.move("/a/b", "/c/d")
	wantEqual(t, "generation", f.generation(f.user), before+1)
	e := f.entry(f.at("/c/d/f"))
	want := inner
	want.Place, want.Path = e.Place, "/c/d/f"
	if len(e.Locks) != 1 || e.Locks[0] != want {
		t.Errorf("locks of the file %+v, want %+v", e.Locks, want)
	}
	wantSlice(t, "locks of the folder", f.tokens("/c/d"), []string{folder.Token})
	f.move("/c", "/e")
	wantEqual(t, "path shown after a move above", f.entry(f.at("/e/d/f")).Locks[0].Path, "/e/d/f")
	t.Run("the path shown follows however the names above it were spelled", func(t *testing.T) {
		f.mkdir("/\u00e9")
		f.put("/\u00e9/f", "x")
		on("/e\u0301/f")
		f.move("/\u00e9", "/g")
		wantEqual(t, "path", f.entry(f.at("/g/f")).Locks[0].Path, "/g/f")
	})
	t.Run("refused where the destination has a lock of its own", func(t *testing.T) {
		f.put("/taken", "")
		l := f.lock("/taken", lockns.Resource)
		_, err := f.Move(t.Context(), f.at("/e/d/f"), f.at("/taken"), store.MoveOptions{}, with{f.user.ID, []string{l.Lock.Token}})
		wantLocked(t, err, inner.Token)
		wantEqual(t, "content", f.read("/e/d/f"), "x")
	})
}
