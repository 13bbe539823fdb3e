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

// bigTree makes a tree of 2,500 members at path: 2,400 files in it, and 98 more
// and a folder in a folder; the first of each kind has a property.
func (f *fixture) bigTree(path string) {
	f.t.Helper()
	f.mkdir(path)
	f.fill(path, 2400)
	f.mkdir(path + "/sub")
	f.mkdir(path + "/sub/sub")
	f.fill(path+"/sub", 98)
	f.put(path+"/m00001", "content of five words here") // an object
	f.setProp(path, "a", "1")
	f.setProp(path+"/sub", "b", "2")
	f.setProp(path+"/m02399", "c", "3")
}

// chunks counts the transactions that the test's requests made.
func (f *fixture) chunks(fn func()) (n int) {
	f.SetHook(func(_ context.Context, p store.Point) error {
		if p == store.BeforeCommit {
			n++
		}
		return nil
	})
	defer f.SetHook(nil)
	fn()
	return n
}

func TestCopyBigTree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.bigTree("/d")
	f.mkdir("/old")
	f.put("/old/f", "x")
	held := f.lock("/old", lockns.Infinity)
	claim := with{f.user.ID, []string{held.Lock.Token}}
	used := f.used(f.user)
	n := f.chunks(func() {
		id, created, err := f.Copy(t.Context(), f.at("/d"), f.at("/old"), store.CopyOptions{}, claim)
		must(t, err)
		wantEqual(t, "what the copy says it made", id, f.stat("/old").Place.Root)
		wantEqual(t, "created", created, false)
	})
	if n < 5 {
		t.Errorf("copied in %d transactions, want chunks", n)
	}
	f.purge()
	wantEqual(t, "members", strings.Count(f.list("/old"), "\n"), 2500)
	wantEqual(t, "tree", strings.ReplaceAll(f.list("/old"), "/old", "/d"), f.list("/d"))
	wantEqual(t, "content", f.read("/old/m00001"), "content of five words here")
	wantSlice(t, "properties", append(append(f.props("/old"), f.props("/old/sub")...), f.props("/old/m02399")...), []string{"a=1", "b=2", "c=3"})
	wantEqual(t, "used", f.used(f.user), 2*(used-1))
	wantEqual(t, "ETags", f.number(`SELECT count(DISTINCT version) FROM files`), 2*2498)
	wantSlice(t, "locks of a member", f.tokens("/old/sub/m00000"), []string{held.Lock.Token})
}

// TestCopyBigTreeRefused: what refuses a big copy late leaves nothing behind.
func TestCopyBigTreeRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.bigTree("/d")
	f.chain("/", deepPath(126))
	for _, c := range []struct {
		name   string
		to     string
		meddle func(dir string) // while the copy is built
		check  func(*testing.T, error)
	}{
		{"a lock comes meanwhile", "/a", func(dir string) { f.lock(dir, lockns.Resource) }, func(t *testing.T, err error) {
			wantLocked(t, err, f.tokens("/a")...)
		}},
		{"the parent goes meanwhile", "/b", f.remove, func(t *testing.T, err error) { wantError(t, err, store.ErrNoParent) }},
		{"too deep", deepPath(126).String(), func(string) {}, func(t *testing.T, err error) { wantError(t, err, store.ErrTooDeep) }},
		{"the quota shrinks meanwhile", "/c", func(string) { f.setQuota(1) }, func(t *testing.T, err error) {
			wantError(t, err, store.ErrQuota)
			f.setQuota(0)
		}},
		{"the source is replaced meanwhile", "/f", func(string) {
			f.move("/d", "/moved")
			f.put("/d", "another")
		}, func(t *testing.T, err error) {
			wantError(t, err, store.ErrBusy)
			f.remove("/d")
			f.move("/moved", "/d")
		}},
		{"the source goes meanwhile", "/e", func(string) { f.remove("/d") }, func(t *testing.T, err error) { wantError(t, err, store.ErrNotFound) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.to) == 2 {
				f.mkdir(c.to)
			}
			queued := 0
			f.SetHook(func(_ context.Context, p store.Point) error {
				if p != store.Queued {
					return nil
				}
				if queued++; queued == 3 { // admitted, begun, now the first chunk
					f.SetHook(nil)
					c.meddle(c.to)
				}
				return nil
			})
			_, _, err := f.Copy(t.Context(), f.at("/d"), f.at(c.to+"/new"), store.CopyOptions{}, f.me())
			f.SetHook(nil)
			c.check(t, err)
			f.gone(c.to + "/new")
			wantEqual(t, "unfinished trees waiting for the purge", f.number(`SELECT count(*) FROM folders WHERE name = 'new' AND detached_at = ?`, f.clock.Load()), 1)
			f.purge()
			wantEqual(t, "detached", f.number(`SELECT count(*) FROM folders WHERE detached_at IS NOT NULL`), 0)
		})
	}
	wantEqual(t, "folders left", f.rows("folders"), 1+126+4) // the root, the chain, and the parents that stayed
	wantEqual(t, "files left", f.rows("files"), 0)
}

// TestAbandonedBuild: a copy whose process died is purged an hour after its last
// chunk, and not before.
func TestAbandonedBuild(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.bigTree("/d")
	files, used := f.rows("files"), f.used(f.user)
	queued := 0
	f.SetHook(func(_ context.Context, p store.Point) error {
		if p == store.Queued {
			queued++
		}
		switch {
		case queued > 4:
			return errors.New("the process died here") // also of what would tidy up
		case queued == 4 && p == store.Queued: // the second chunk
			f.advance(30 * time.Minute)
		}
		return nil
	})
	_, _, err := f.Copy(t.Context(), f.at("/d"), f.at("/new"), store.CopyOptions{}, f.me())
	if err == nil {
		t.Fatal("the copy went through")
	}
	f.SetHook(nil)
	f.reopen()
	if f.rows("files") <= files {
		t.Fatal("no chunk was written")
	}
	f.gone("/new")
	f.advance(time.Hour - time.Microsecond)
	n, err := f.Purge(t.Context())
	must(t, err)
	wantEqual(t, "rows purged within the hour", n, 0)
	f.clean()
	f.advance(time.Microsecond)
	f.purge()
	wantEqual(t, "files", f.rows("files"), files)
	wantEqual(t, "used", f.used(f.user), used)
}

// bytesStored is what the rows say they take.
const bytesStored = `SELECT (SELECT coalesce(sum(size + props_bytes + versions_bytes), 0) FROM files) + (SELECT coalesce(sum(props_bytes), 0) FROM folders)`

func TestPurgeInChunks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.bigTree("/d")
	f.copy("/d/m00001", "/kept") // shares an object with the tree
	n := f.chunks(func() { f.remove("/d") })
	wantEqual(t, "transactions of the DELETE", n, 1)
	wantEqual(t, "members left", f.number(`SELECT count(*) FROM files`), 2499)
	usage, total := f.used(f.user), 0
	for round := 0; ; round++ {
		if round == 2 {
			f.reopen() // a restart goes on where it was
		}
		stored := f.number(bytesStored)
		rows := f.rows("files") + f.rows("folders")
		n, err := f.Purge(t.Context())
		must(t, err)
		if n == 0 {
			break
		}
		if n > 500 {
			t.Errorf("%d rows in one chunk", n)
		}
		total += n
		wantEqual(t, "rows gone", rows-f.rows("files")-f.rows("folders"), int64(n))
		now := f.used(f.user)
		wantEqual(t, "usage given back", usage-now, stored-f.number(bytesStored))
		usage = now
	}
	wantEqual(t, "rows purged", total, 2501)
	wantEqual(t, "used", usage, int64(len("content of five words here")))
	wantEqual(t, "properties", f.rows("properties"), 0)
	wantEqual(t, "content", f.read("/kept"), "content of five words here")
	wantEqual(t, "blobs", f.rows("blobs"), 1)
	wantEqual(t, "garbage", f.rows("garbage"), 0)
}

// TestPurgeManyFolders: a chunk has at most 500 rows also where every row is a
// folder, and the deepest goes first.
func TestPurgeManyFolders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mkdir("/d")
	f.chain("/d", deepPath(100))
	f.folders("/d", 600)
	f.remove("/d")
	var chunks []string
	for {
		n, err := f.Purge(t.Context())
		must(t, err)
		if n == 0 {
			break
		}
		chunks = append(chunks, fmt.Sprint(n))
		f.clean()
	}
	wantSlice(t, "chunks", chunks, []string{"500", "201"})
}
