package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

func TestPut(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.put("/old", "old")
	for _, c := range []struct {
		name, path, content string
		created             bool
	}{
		{"creates an empty file", "/empty", "", true},
		{"creates a file in the database", "/small", "small", true},
		{"creates a file of the inline limit in the database", "/limit", strings.Repeat("x", 16), true},
		{"creates an object one byte above", "/object", strings.Repeat("y", 17), true},
		{"creates a file in a folder", "/d/f", "f", true},
		{"replaces content", "/old", "new", false},
		{"replaces content by an object", "/old", strings.Repeat("z", 1000), false},
		{"replaces an object by nothing", "/old", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, created, err := f.Put(t.Context(), f.at(c.path), file(c.content), f.me())
			must(t, err)
			wantEqual(t, "created", created, c.created)
			wantEqual(t, "content", f.read(c.path), c.content)
			wantEqual(t, "size", n.Size, int64(len(c.content)))
			wantEqual(t, "what Stat says", f.stat(c.path), n)
		})
	}
	wantEqual(t, "objects", f.objects(), 2) // "/object", and the garbage of "/old"
}

func TestPutRefuses(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.put("/file", "content")
	for _, c := range []struct {
		name string
		path store.Path
		want error
	}{
		{"a missing parent", store.ParsePath("/no/f"), store.ErrNoParent},
		{"a file as parent", store.ParsePath("/file/f"), store.ErrNoParent},
		{"a missing grandparent", store.ParsePath("/no/no/f"), store.ErrNoParent},
		{"a folder", store.ParsePath("/d"), store.ErrIsFolder},
		{"the workspace root", nil, store.ErrIsFolder},
		{"a bad name", store.Path{"."}, store.ErrBadName},
		{"a bad name above", store.Path{"..", "f"}, store.ErrBadName},
		{"too many levels", deepPath(store.MaxLevels + 1), store.ErrTooDeep},
	} {
		t.Run("refuses "+c.name+" before the body", func(t *testing.T) {
			body := iotest.ErrReader(errors.New("body was read"))
			_, _, err := f.Put(t.Context(), store.Target{Workspace: f.user.Workspace(), Path: c.path}, store.File{Body: body, Size: 5}, f.me())
			wantError(t, err, c.want)
		})
	}
	t.Run("refuses an unknown workspace", func(t *testing.T) {
		other := store.Target{Workspace: lockns.Workspace{Kind: lockns.Team, ID: 1}, Path: store.ParsePath("/f")}
		_, _, err := f.Put(t.Context(), other, file("x"), f.me())
		wantError(t, err, store.ErrNotFound)
	})
	wantEqual(t, "objects", f.objects(), 0)
	wantEqual(t, "blobs", f.rows("blobs"), 1)
}

func TestPutBodySize(t *testing.T) {
	f := newFixture(t)
	f.put("/f", "old")
	failed := errors.New("connection cut")
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		name string
		body io.Reader
		size int64
		want error
	}{
		{"short inline body refused", strings.NewReader("abc"), 4, store.ErrBodySize},
		{"long inline body refused", strings.NewReader("abcde"), 4, store.ErrBodySize},
		{"long body that would be an object refused", strings.NewReader(long), 4, store.ErrBodySize},
		{"short object refused", strings.NewReader(long), 101, store.ErrBodySize},
		{"long object refused", strings.NewReader(long), 99, store.ErrBodySize},
		{"cut inline body refused", io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(failed)), 4, failed},
		{"cut object refused", io.MultiReader(strings.NewReader(long), iotest.ErrReader(failed)), 200, failed},
		{"cut body of unknown size refused", io.MultiReader(strings.NewReader(long), iotest.ErrReader(failed)), -1, failed},
		{"inline body of unknown size taken", strings.NewReader("abc"), -1, nil},
		{"object of unknown size taken", strings.NewReader(long), -1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects, before := f.objects(), f.stat("/f")
			_, _, err := f.Put(t.Context(), f.at("/f"), store.File{Body: c.body, Size: c.size}, f.me())
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if c.want == nil {
				return
			}
			wantEqual(t, "node", f.stat("/f"), before)
			wantEqual(t, "objects", f.objects(), objects)
		})
	}
}

func TestRead(t *testing.T) {
	f := newFixture(t)
	content := strings.Repeat("0123456789", 10)
	for _, c := range []struct{ name, content string }{
		{"reads, seeks and reads on inline content", content[:10]}, {"reads, seeks and reads on an object", content},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.put("/f", c.content)
			n, r, err := f.Read(t.Context(), f.at("/f"))
			must(t, err)
			wantEqual(t, "node", n, f.stat("/f"))
			defer r.Close()
			must(t, iotest.TestReader(readOnly{r}, []byte(c.content)))
		})
	}
	t.Run("old content outlives its replacement", func(t *testing.T) {
		f.put("/f", content)
		_, r, err := f.Read(t.Context(), f.at("/f"))
		must(t, err)
		defer r.Close()
		f.put("/f", "new")
		got, err := io.ReadAll(r)
		must(t, err)
		if !bytes.Equal(got, []byte(content)) {
			t.Error("the reader sees other content than that of its version")
		}
	})
	t.Run("nothing there is not found", func(t *testing.T) {
		_, _, err := f.Read(t.Context(), f.at("/none"))
		wantError(t, err, store.ErrNotFound)
	})
	t.Run("a folder has no content", func(t *testing.T) {
		n, r, err := f.Read(t.Context(), f.at("/"))
		must(t, err)
		if !n.IsFolder() || r != nil {
			t.Errorf("folder %v, content %v", n.IsFolder(), r)
		}
	})
}

// readOnly hides Close, which iotest does not know.
type readOnly struct{ io.ReadSeeker }

func TestETag(t *testing.T) {
	f := newFixture(t)
	first := f.put("/f", "same")
	if len(first.ETag) < 3 || first.ETag[0] != '"' || first.ETag[len(first.ETag)-1] != '"' {
		t.Fatalf("ETag %s is not quoted", first.ETag)
	}
	t.Run("kept by LOCK, PROPPATCH, UNLOCK and MOVE", func(t *testing.T) {
		l := f.lock("/f", lockns.Resource)
		claim := with{f.user.ID, []string{l.Lock.Token}}
		_, err := f.PatchProps(t.Context(), f.at("/f"), store.Patch{Props: []store.PropOp{prop("a", "1")}}, claim)
		must(t, err)
		must(t, f.Unlock(t.Context(), f.at("/f"), store.ByToken(l.Lock.Token), f.me()))
		f.move("/f", "/g")
		f.move("/g", "/f")
		wantEqual(t, "ETag", f.stat("/f").ETag, first.ETag)
	})
	t.Run("new with a write of equal bytes", func(t *testing.T) {
		if n := f.put("/f", "same"); n.ETag == first.ETag {
			t.Error("the ETag is the old one")
		}
	})
	t.Run("a copy has its own", func(t *testing.T) {
		f.copy("/f", "/copy")
		if f.stat("/copy").ETag == f.stat("/f").ETag {
			t.Error("the copy has the ETag of its source")
		}
	})
	t.Run("copies in one tree have their own", func(t *testing.T) {
		f.mkdir("/d")
		f.put("/d/a", "x")
		f.put("/d/b", "x")
		f.copy("/d", "/e")
		seen := map[string]bool{}
		for _, path := range []string{"/d/a", "/d/b", "/e/a", "/e/b"} {
			seen[f.stat(path).ETag] = true
		}
		wantEqual(t, "different ETags", len(seen), 4)
	})
	t.Run("folders have none", func(t *testing.T) {
		wantEqual(t, "ETag", f.stat("/d").ETag, "")
	})
}

func prop(name, value string) store.PropOp {
	return store.PropOp{Property: store.Property{Space: "urn:x", Local: name, XML: value}}
}

func TestMkdir(t *testing.T) {
	f := newFixture(t)
	f.put("/file", "x")
	f.chain("/", deepPath(store.MaxLevels))
	for _, c := range []struct {
		name string
		path store.Path
		want error
	}{
		{"creates a folder", store.ParsePath("/d"), nil},
		{"creates a folder in a folder", store.ParsePath("/d/e"), nil},
		{"refuses an existing folder", store.ParsePath("/d"), store.ErrExists},
		{"refuses an existing file", store.ParsePath("/file"), store.ErrExists},
		{"refuses the root", nil, store.ErrExists},
		{"refuses a missing parent", store.ParsePath("/no/d"), store.ErrNoParent},
		{"refuses a file as parent", store.ParsePath("/file/d"), store.ErrNoParent},
		{"refuses a bad name", store.Path{"a/b"}, store.ErrBadName},
		{"refuses level 129", deepPath(store.MaxLevels + 1), store.ErrTooDeep},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := f.Mkdir(t.Context(), store.Target{Workspace: f.user.Workspace(), Path: c.path}, store.Patch{}, f.me())
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if c.want == nil {
				wantEqual(t, "what Stat says", f.stat(c.path.String()), n)
			}
		})
	}
	t.Run("creates a folder with properties", func(t *testing.T) {
		_, err := f.Mkdir(t.Context(), f.at("/p"), store.Patch{Props: []store.PropOp{prop("a", "1"), prop("b", "2")}}, f.me())
		must(t, err)
		wantSlice(t, "properties", f.props("/p"), []string{"a=1", "b=2"})
	})
}

func TestRemove(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.put("/d/f", strings.Repeat("x", 100))
	f.put("/g", "g")
	t.Run("refuses the root", func(t *testing.T) {
		wantError(t, f.Remove(t.Context(), f.at("/"), f.me()), store.ErrRoot)
	})
	t.Run("refuses what is not there", func(t *testing.T) {
		wantError(t, f.Remove(t.Context(), f.at("/no"), f.me()), store.ErrNotFound)
		wantError(t, f.Remove(t.Context(), f.at("/no/no"), f.me()), store.ErrNotFound)
	})
	t.Run("removes a file with its usage", func(t *testing.T) {
		f.remove("/g")
		f.gone("/g")
		wantEqual(t, "used", f.used(f.user), 100)
	})
	t.Run("hides a whole folder at once", func(t *testing.T) {
		f.remove("/d")
		f.gone("/d")
		f.gone("/d/f")
		wantEqual(t, "tree", f.list("/"), "/")
		select {
		case <-f.PurgeSignal():
		default:
			t.Error("no signal to purge")
		}
	})
	t.Run("the name is free at once", func(t *testing.T) {
		f.put("/d", "a file now")
		wantEqual(t, "content", f.read("/d"), "a file now")
	})
}

func TestTimes(t *testing.T) {
	f := newFixture(t)
	start := f.now()
	f.mkdir("/d")
	f.put("/d/f", "1")
	f.advance(time.Hour)
	f.put("/d/f", "2")
	n := f.stat("/d/f")
	wantEqual(t, "created, kept by a write", n.Created, start)
	wantEqual(t, "modified by a write", n.Modified, f.now())
	wantEqual(t, "folder not modified by a write to its member", f.stat("/d").Modified, start)
	f.advance(time.Hour)
	f.put("/d/g", "")
	wantEqual(t, "folder modified by a new member", f.stat("/d").Modified, f.now())
	f.advance(time.Hour)
	f.remove("/d/g")
	wantEqual(t, "folder modified by a member's end", f.stat("/d").Modified, f.now())
	at := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	_, err := f.PatchProps(t.Context(), f.at("/d/f"), store.Patch{Modified: &at}, f.me())
	must(t, err)
	wantEqual(t, "modified as told", f.stat("/d/f").Modified, at)
}

func TestNames(t *testing.T) {
	const composed, decomposed = "é", "e\u0301"
	f := newFixture(t)
	f.mkdir("/" + decomposed)
	f.put("/"+decomposed+"/f", "x")
	t.Run("found in either normal form, shown as sent", func(t *testing.T) {
		wantEqual(t, "content", f.read("/"+composed+"/f"), "x")
		wantEqual(t, "name", f.stat("/"+composed).Name, decomposed)
		wantEqual(t, "tree", f.list("/"), "/\n/"+decomposed+"/\n/"+decomposed+"/f")
	})
	t.Run("a file and a folder of one key never coexist", func(t *testing.T) {
		_, _, err := f.Put(t.Context(), f.at("/"+composed), file("x"), f.me())
		wantError(t, err, store.ErrIsFolder)
		_, err = f.Mkdir(t.Context(), f.at("/"+composed), store.Patch{}, f.me())
		wantError(t, err, store.ErrExists)
	})
	t.Run("a write keeps the first spelling", func(t *testing.T) {
		f.put("/"+decomposed+".txt", "1")
		n := f.put("/"+composed+".txt", "2")
		wantEqual(t, "name", n.Name, decomposed+".txt")
	})
	t.Run("a move to the other spelling renames", func(t *testing.T) {
		before := f.stat("/" + decomposed)
		created, err := f.Move(t.Context(), f.at("/"+decomposed), f.at("/"+composed), store.MoveOptions{NoOverwrite: true}, f.me())
		must(t, err)
		after := f.stat("/" + decomposed)
		wantEqual(t, "created", created, true)
		wantEqual(t, "name", after.Name, composed)
		wantEqual(t, "identity", after.Place, before.Place)
	})
	t.Run("a move to the same spelling is refused", func(t *testing.T) {
		_, err := f.Move(t.Context(), f.at("/"+composed), f.at("/"+composed), store.MoveOptions{}, f.me())
		wantError(t, err, store.ErrIntoItself)
		// The path reaches it in the other form, the name is what it has.
		_, err = f.Move(t.Context(), f.at("/"+decomposed), f.at("/"+composed), store.MoveOptions{}, f.me())
		wantError(t, err, store.ErrIntoItself)
	})
	t.Run("a copy to the other spelling is refused", func(t *testing.T) {
		_, _, err := f.Copy(t.Context(), f.at("/"+composed), f.at("/"+decomposed), store.CopyOptions{}, f.me())
		wantError(t, err, store.ErrIntoItself)
	})
	t.Run("case differs", func(t *testing.T) {
		f.put("/case", "lower")
		f.put("/CASE", "upper")
		wantEqual(t, "content", f.read("/case")+f.read("/CASE"), "lowerupper")
		f.remove("/CASE")
		f.move("/case", "/CASE")
		f.gone("/case")
		wantEqual(t, "content", f.read("/CASE"), "lower")
	})
	t.Run("255 bytes that grow threefold in NFC are one name", func(t *testing.T) {
		name := strings.Repeat("\U0001D160", 63) // musical symbols decompose in NFC
		f.put("/"+name, "x")
		wantEqual(t, "name", f.stat("/"+name).Name, name)
	})
}

func TestCheckName(t *testing.T) {
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"a", true}, {" ", true}, {"a.b", true}, {"...", true}, {"-", true}, {"%2F", true}, {"#", true}, {"\u0080", true},
		{"\U0001F600", true}, {"\ufffd", true}, {strings.Repeat("x", 255), true},
		{"", false}, {".", false}, {"..", false}, {"a/b", false}, {"\x00", false}, {"a\nb", false}, {"\x1f", false}, {"\x7f", false},
		{"\ufffe", false}, {"\uffff", false}, {"\xff", false}, {"a\xc3", false}, {strings.Repeat("x", 256), false}, {strings.Repeat("é", 128), false},
	} {
		err := store.CheckName(c.name)
		if c.ok && err != nil || !c.ok && !errors.Is(err, store.ErrBadName) {
			t.Errorf("CheckName(%q) = %v, want allowed: %v", c.name, err, c.ok)
		}
	}
}

func TestPath(t *testing.T) {
	p := store.ParsePath("/a/b/")
	wantEqual(t, "String", p.String(), "/a/b")
	wantEqual(t, "Base", p.Base(), "b")
	wantEqual(t, "Parent", p.Parent().String(), "/a")
	wantEqual(t, "parent of the root", store.Path(nil).Parent().String(), "/")
	wantEqual(t, "base of the root", store.Path(nil).Base(), "")
	wantEqual(t, "empty is the root", store.ParsePath("/").IsRoot(), true)
	// Join and Parent never write into what they were given.
	one, two := p.Parent().Join("x"), p.Parent().Join("y")
	wantEqual(t, "joined", one.String()+two.String()+p.String(), "/a/x/a/y/a/b")
}

func TestWalk(t *testing.T) {
	f := newFixture(t)
	for _, d := range []string{"/b", "/b/d", "/a"} {
		f.mkdir(d)
	}
	for _, p := range []string{"/b/d/x", "/b/y", "/z", "/c"} {
		f.put(p, "1")
	}
	for _, c := range []struct {
		name, path string
		depth      int
		limit      int
		want       string
		err        error
	}{
		{"depth 0 is the resource", "/b", store.DepthZero, 0, "/b", nil},
		{"depth 1 adds members, folders first", "/", store.DepthOne, 0, "/ /a /b /c /z", nil},
		{"infinity is depth first, parents before members", "/", store.DepthInfinity, 0, "/ /a /b /b/d /b/d/x /b/y /c /z", nil},
		{"a file has no members", "/z", store.DepthInfinity, 0, "/z", nil},
		{"the limit is what may be handed on", "/", store.DepthInfinity, 8, "/ /a /b /b/d /b/d/x /b/y /c /z", nil},
		{"one more than the limit refused before the first", "/", store.DepthInfinity, 7, "", store.ErrTooMany},
		{"the limit holds at depth 1", "/", store.DepthOne, 5, "/ /a /b /c /z", nil},
		{"one more than the limit refused at depth 1", "/", store.DepthOne, 4, "", store.ErrTooMany},
		{"depth 0 is within any limit", "/", store.DepthZero, 1, "/", nil},
		{"nothing there", "/no", store.DepthInfinity, 0, "", store.ErrNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			var paths []string
			err := f.Walk(t.Context(), f.at(c.path), c.depth, store.Want{}, c.limit, func(e store.Entry) error {
				paths = append(paths, e.Path.String())
				return nil
			})
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			wantEqual(t, "paths", strings.Join(paths, " "), c.want)
		})
	}
	t.Run("an error of the function ends it", func(t *testing.T) {
		enough, calls := errors.New("enough"), 0
		err := f.Walk(t.Context(), f.at("/"), store.DepthInfinity, store.Want{}, 0, func(e store.Entry) error {
			if calls++; e.Path.Base() == "x" {
				return enough
			}
			return nil
		})
		wantError(t, err, enough)
		wantEqual(t, "calls", calls, 5)
	})
	t.Run("ErrSkipBelow leaves out what is below", func(t *testing.T) {
		var paths []string
		must(t, f.Walk(t.Context(), f.at("/"), store.DepthInfinity, store.Want{}, 0, func(e store.Entry) error {
			paths = append(paths, e.Path.String())
			if e.Path.Base() == "d" || e.Path.Base() == "c" {
				return store.ErrSkipBelow
			}
			return nil
		}))
		wantEqual(t, "paths", strings.Join(paths, " "), "/ /a /b /b/d /b/y /c /z")
	})
	t.Run("a cancelled context ends it", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := f.Walk(ctx, f.at("/"), store.DepthInfinity, store.Want{}, 0, func(store.Entry) error { cancel(); return nil })
		wantError(t, err, context.Canceled)
	})
	t.Run("the function may change the tree", func(t *testing.T) {
		must(t, f.Walk(t.Context(), f.at("/b"), store.DepthInfinity, store.Want{}, 0, func(e store.Entry) error {
			if e.Path.String() == "/b" {
				f.remove("/b")
			}
			return nil
		}))
	})
}

// TestWalkPages reads a folder that takes several pages, each entry once.
func TestWalkPages(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.fill("/d", 2100)
	f.folders("/d", 1100)
	for i := range 3 {
		f.mkdir(fmt.Sprintf("/d/sub%d", i))
	}
	f.setProp("/d/m00005", "first", "1")
	f.setProp("/d/m02099", "last", "2")
	l := f.lock("/d/m01500", lockns.Resource)
	over := f.lock("/d/sub1", lockns.Infinity)
	seen, found, calls := map[string]bool{}, []string{}, 0
	must(t, f.Walk(t.Context(), f.at("/d"), store.DepthOne, store.Want{Props: true, Locks: true}, 0, func(e store.Entry) error {
		seen[e.Path.String()] = true
		calls++
		for _, p := range e.Props {
			found = append(found, e.Name+" "+p.Local)
		}
		for _, l := range e.Locks {
			found = append(found, e.Name+" "+l.Token)
		}
		return nil
	}))
	wantEqual(t, "entries", len(seen), 3204)
	wantEqual(t, "calls", calls, 3204)
	wantSlice(t, "properties and locks", found, []string{"sub1 " + over.Lock.Token, "m00005 first", "m01500 " + l.Lock.Token, "m02099 last"})
}
