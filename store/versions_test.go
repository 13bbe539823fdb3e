package store_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"holdfast/store"
)

// keeping is the option of a store that keeps n versions of a file.
func keeping(n int) func(*store.Options) {
	return func(o *store.Options) { o.Versions = n }
}

// object is content that is too long for the database.
func object(name string) string { return name + strings.Repeat(".", 20) }

// history are the contents of a file's versions, newest first, without the dots.
func (f *fixture) history(path string) []string {
	f.t.Helper()
	all, err := f.Versions(f.t.Context(), f.at(path), 0, 0)
	must(f.t, err)
	contents := []string{}
	for _, v := range all {
		contents = append(contents, strings.TrimRight(f.readVersion(path, v.ID), "."))
	}
	return contents
}

func (f *fixture) readVersion(path string, id int64) string {
	f.t.Helper()
	_, r, err := f.ReadVersion(f.t.Context(), f.at(path), id)
	must(f.t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	must(f.t, err)
	return string(b)
}

// nth is the id of a version, 0 for the newest.
func (f *fixture) nth(path string, n int) int64 {
	f.t.Helper()
	all, err := f.Versions(f.t.Context(), f.at(path), 0, 0)
	must(f.t, err)
	if n >= len(all) {
		f.t.Fatalf("%s has %d versions, want more than %d", path, len(all), n)
	}
	return all[n].ID
}

// write puts several contents one after another.
func (f *fixture) write(path string, contents ...string) {
	f.t.Helper()
	for _, c := range contents {
		f.advance(time.Minute)
		f.put(path, c)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping(3))
	t.Run("an overwrite keeps the former content", func(t *testing.T) {
		var wrote []store.Node
		for _, c := range []string{"one", object("two"), "three"} {
			f.advance(time.Minute)
			n, _, err := f.Put(t.Context(), f.at("/f"), store.File{Body: strings.NewReader(c), Size: int64(len(c)), ContentType: "text/" + c[:3]}, f.me())
			must(t, err)
			wantEqual(t, "what Stat says", f.stat("/f"), n)
			wrote = append(wrote, n)
		}
		wantSlice(t, "versions", f.history("/f"), []string{"two", "one"})
		wantEqual(t, "content", f.read("/f"), "three")
		all, err := f.Versions(t.Context(), f.at("/f"), 0, 0)
		must(t, err)
		for i, v := range all {
			was, next := wrote[1-i], wrote[2-i]
			wantEqual(t, "size", v.Size, was.Size)
			wantEqual(t, "ETag", v.ETag, was.ETag)
			wantEqual(t, "content type", v.ContentType, was.ContentType)
			wantEqual(t, "modified", v.Modified, was.Modified)
			wantEqual(t, "replaced", v.Replaced, next.Modified)
		}
	})
	t.Run("each counts as stored content", func(t *testing.T) {
		wantEqual(t, "used", f.used(f.user), int64(len("one")+len(object("two"))+len("three")))
	})
	t.Run("the oldest goes when there are too many, with its object", func(t *testing.T) {
		f.write("/f", "four", "five", "six")
		wantSlice(t, "versions", f.history("/f"), []string{"five", "four", "three"})
		wantEqual(t, "used", f.used(f.user), int64(len("fivefourthreesix")))
		wantEqual(t, "blobs", f.rows("blobs"), 4)
		wantEqual(t, "garbage", f.rows("garbage"), 1)
	})
	t.Run("empty content is none", func(t *testing.T) {
		f.write("/f", "", "", "seven")
		wantSlice(t, "versions", f.history("/f"), []string{"six", "five", "four"})
	})
	t.Run("they come in pages", func(t *testing.T) {
		var sizes []int
		for before, page := int64(0), []store.Version(nil); ; before = page[len(page)-1].ID {
			var err error
			page, err = f.Versions(t.Context(), f.at("/f"), before, 2)
			must(t, err)
			if sizes = append(sizes, len(page)); len(page) == 0 {
				break
			}
		}
		wantEqual(t, "sizes of pages", fmt.Sprint(sizes), "[2 1 0]")
	})
	t.Run("a new file and a folder have none", func(t *testing.T) {
		f.mkdir("/d")
		f.put("/g", "x")
		wantSlice(t, "versions of a file", f.history("/g"), []string{})
		f.put("/g", "y")
		// A folder and a file may have the same id.
		wantEqual(t, "id of the file", f.stat("/g").Place.Root.ID, f.stat("/d").Place.Root.ID)
		wantSlice(t, "versions of a folder", f.history("/d"), []string{})
		wantSlice(t, "versions of the root", f.history("/"), []string{})
	})
	t.Run("nothing there is not found", func(t *testing.T) {
		_, err := f.Versions(t.Context(), f.at("/none"), 0, 0)
		wantError(t, err, store.ErrNotFound)
	})
	t.Run("fewer are kept from the next overwrite on", func(t *testing.T) {
		f.o.Versions = 1
		f.reopen()
		wantSlice(t, "versions", f.history("/f"), []string{"six", "five", "four"})
		f.write("/f", "eight")
		wantSlice(t, "versions", f.history("/f"), []string{"seven"})
	})
	t.Run("all go with their file", func(t *testing.T) {
		f.remove("/f")
		wantEqual(t, "versions", f.rows("file_versions"), 1) // of "/g"
		wantEqual(t, "used", f.used(f.user), int64(len("xy")))
	})
}

// TestNoVersions: without the option no new versions are kept, those there stay,
// and a PUT does nothing for them.
func TestNoVersions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping(5))
	f.write("/f", "one", object("two"), "three")
	f.o.Versions = 0
	f.reopen()
	t.Run("an overwrite keeps those there and no more", func(t *testing.T) {
		f.write("/f", "four", object("five"), "six", "")
		wantSlice(t, "versions", f.history("/f"), []string{"two", "one"})
		wantEqual(t, "used", f.used(f.user), int64(len("one")+len(object("two"))))
	})
	for _, op := range []string{"copy", "move"} {
		t.Run("a "+op+" over the file keeps those there and no more", func(t *testing.T) {
			f.write("/f", "doc")
			f.write("/tmp", object("saved"))
			f.transfers(op, "/tmp", "/f")
			wantSlice(t, "versions", f.history("/f"), []string{"two", "one"})
		})
	}
	t.Run("a restore keeps those there and no more", func(t *testing.T) {
		for range 2 { // the second finds the content that it brings
			_, err := f.RestoreVersion(t.Context(), f.at("/f"), f.nth("/f", 1), f.me())
			must(t, err)
			wantEqual(t, "content", f.read("/f"), "one")
			f.clean()
		}
		wantSlice(t, "versions", f.history("/f"), []string{"two", "one"})
		f.write("/f", "seven") // not over the version's content
		wantSlice(t, "versions", f.history("/f"), []string{"two", "one"})
	})
	t.Run("no statement of a PUT is about versions", func(t *testing.T) {
		f.reopen()
		f.write("/g", "one", object("two"), "three", "four")
		for _, statement := range f.Statements() {
			if strings.Contains(statement, "file_versions") {
				t.Error(statement)
			}
		}
	})
}

func TestReadVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping(2))
	f.write("/f", "one", object("two"), "three")
	f.write("/g", "other", "now")
	for i, content := range []string{object("two"), "one"} {
		t.Run("reads and seeks in "+content, func(t *testing.T) {
			v, r, err := f.ReadVersion(t.Context(), f.at("/f"), f.nth("/f", i))
			must(t, err)
			defer r.Close()
			wantEqual(t, "size", v.Size, int64(len(content)))
			must(t, iotest.TestReader(readOnly{r}, []byte(content)))
		})
	}
	t.Run("a version of another file, of none, or of a folder is not found", func(t *testing.T) {
		f.mkdir("/d")
		for _, c := range []struct {
			path string
			id   int64
		}{{"/f", f.nth("/g", 0)}, {"/f", 99}, {"/none", f.nth("/f", 0)}, {"/d", f.nth("/f", 0)}} {
			_, _, err := f.ReadVersion(t.Context(), f.at(c.path), c.id)
			wantError(t, err, store.ErrNotFound)
			_, err = f.RestoreVersion(t.Context(), f.at(c.path), c.id, f.me())
			wantError(t, err, store.ErrNotFound)
		}
	})
	t.Run("stays readable for 15 minutes after it was pruned", func(t *testing.T) {
		read := func() (string, error) {
			_, r, err := f.ReadVersion(t.Context(), f.at("/f"), f.nth("/f", 0))
			must(t, err)
			defer r.Close()
			f.write("/f", object("x"), object("y"), object("z"))
			f.advance(10 * time.Minute)
			n, err := f.CollectGarbage(t.Context())
			must(t, err)
			wantEqual(t, "objects removed within 15 minutes", n, 0)
			b, err := io.ReadAll(r)
			return string(b), err
		}
		got, err := read()
		must(t, err)
		wantEqual(t, "content", got, object("two"))
		f.advance(10 * time.Minute)
		n, err := f.CollectGarbage(t.Context())
		must(t, err)
		wantEqual(t, "objects removed then", n, 1)
	})
}

func TestPruneVersions(t *testing.T) {
	t.Parallel()
	const age = 24 * time.Hour
	f := newFixture(t, keeping(1000), func(o *store.Options) { o.VersionsAge = age })
	prune := func() int {
		n, err := f.PruneVersions(t.Context())
		must(t, err)
		return n
	}
	f.write("/f", "one", object("two"), "three")
	f.write("/g", "four", "five")
	f.clock.Store(f.stat("/f").Modified.Add(age).UnixMicro()) // "two" was replaced that long ago
	t.Run("removes those replaced longer ago than their age, not at it", func(t *testing.T) {
		wantEqual(t, "pruned", prune(), 1)
		wantSlice(t, "versions", f.history("/f"), []string{"two"})
		wantEqual(t, "used", f.used(f.user), int64(len(object("two"))+len("threefourfive")))
	})
	t.Run("what is too old is not offered before that", func(t *testing.T) {
		old := f.nth("/f", 0)
		f.advance(time.Microsecond)
		wantSlice(t, "versions", f.history("/f"), []string{})
		wantSlice(t, "versions of another", f.history("/g"), []string{"four"})
		_, _, err := f.ReadVersion(t.Context(), f.at("/f"), old)
		wantError(t, err, store.ErrNotFound)
		_, err = f.RestoreVersion(t.Context(), f.at("/f"), old, f.me())
		wantError(t, err, store.ErrNotFound)
	})
	t.Run("removes their objects, and nothing that a restored file shares", func(t *testing.T) {
		_, err := f.RestoreVersion(t.Context(), f.at("/g"), f.nth("/g", 0), f.me())
		must(t, err)
		f.advance(time.Hour)
		wantEqual(t, "pruned", prune(), 2)
		wantEqual(t, "garbage", f.rows("garbage"), 1)
		wantEqual(t, "content", f.read("/g"), "four")
		wantSlice(t, "versions", f.history("/g"), []string{"five"})
	})
	t.Run("works in rounds of 500, also without the option to keep more", func(t *testing.T) {
		f.manyVersions("/f", 700)
		f.o.Versions = 0
		f.reopen()
		f.advance(2 * age)
		rounds := []int{prune(), prune(), prune()}
		wantEqual(t, "rounds", fmt.Sprint(rounds), "[500 201 0]")
		wantEqual(t, "used", f.used(f.user), int64(len("threefour")))
		f.clean()
	})
	t.Run("without an age nothing is too old", func(t *testing.T) {
		f.o.Versions, f.o.VersionsAge = 1, 0
		f.reopen()
		f.write("/f", "six")
		f.advance(1000 * age)
		wantEqual(t, "pruned", prune(), 0)
		wantSlice(t, "versions", f.history("/f"), []string{"three"})
	})
}

// manyVersions gives a file n versions of its content, faster than one by one.
func (f *fixture) manyVersions(path string, n int) {
	f.t.Helper()
	id := f.stat(path).Place.Root.ID
	f.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO file_versions (file_id, blob_id, size, version, modified_at, replaced_at)
SELECT f.id, f.blob_id, f.size, 'v' || i, f.modified_at, ? FROM n CROSS JOIN files f WHERE f.id = ?`, n, f.clock.Load(), id)
	f.sql(`UPDATE files SET versions_bytes = versions_bytes + ?1 * size WHERE id = ?2`, n, id)
	f.sql(`UPDATE blobs SET refs = refs + ?1 WHERE id = (SELECT blob_id FROM files WHERE id = ?2)`, n, id)
	f.recount()
}

func TestPurgeVersionsInChunks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping(1000))
	f.mkdir("/d")
	for i := range 3 {
		f.write(fmt.Sprintf("/d/f%d", i), object("old"), "new")
	}
	f.put("/d/g", "only") // must wait for the second chunk
	f.manyVersions("/d/f1", 600)
	f.copy("/d/f1", "/kept") // shares the content of 600 versions
	n := f.chunks(func() { f.remove("/d") })
	wantEqual(t, "transactions of the DELETE", n, 1)
	var chunks []int
	for used := f.used(f.user); ; {
		stored, rows := f.number(bytesStored), f.rows("file_versions")+f.rows("files")+f.rows("folders")
		n, err := f.Purge(t.Context())
		must(t, err)
		if n == 0 {
			break
		}
		chunks = append(chunks, n)
		wantEqual(t, "rows gone", rows-f.rows("file_versions")-f.rows("files")-f.rows("folders"), int64(n))
		now := f.used(f.user)
		wantEqual(t, "usage given back", used-now, stored-f.number(bytesStored))
		used = now
		f.clean()
	}
	if want := []int{500, 108}; !slices.Equal(chunks, want) { // 603 versions, 4 files, a folder
		t.Errorf("chunks %v, want %v", chunks, want)
	}
	wantEqual(t, "used", f.used(f.user), int64(len("new")))
	wantEqual(t, "content", f.read("/kept"), "new")
	wantEqual(t, "blobs", f.rows("blobs"), 1)
	wantEqual(t, "garbage", f.rows("garbage"), 3)
}

// everyVersion runs the operations on versions in each of their ways, see
// everything.
func (f *fixture) everyVersion() {
	f.t.Helper()
	f.mkdir("/v")
	f.write("/v/f", "", "one", object("two"), "three", "four") // kept: nothing, then all, then two
	f.readVersion("/v/f", f.nth("/v/f", 0))
	_, err := f.RestoreVersion(f.t.Context(), f.at("/v/f"), f.nth("/v/f", 0), f.me())
	must(f.t, err)
	for range 3 { // over nothing, over a file, over a file with versions
		f.copy("/v/f", "/v/copied")
	}
	f.move("/v/f", "/v/copied")
	f.copy("/v/copied", "/v/f")
	f.write("/v/f", "five")
	f.remove("/v/f")
	f.remove("/v")
}
