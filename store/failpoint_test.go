package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"holdfast/blob/blobtest"
	"holdfast/lockns"
	"holdfast/store"
)

// failAt is a hook that fails at a point.
func failAt(p store.Point, err error) func(context.Context, store.Point) error {
	return func(_ context.Context, at store.Point) error {
		if at == p {
			return err
		}
		return nil
	}
}

var points = []store.Point{
	store.Admitted, store.Staged, store.Queued, store.Begun, store.Serialized, store.Authorized, store.Written, store.BeforeCommit,
}

// failCase is a change that may create a file or replace one's content.
type failCase struct {
	name    string
	owned   bool // OwnedEmpties
	prepare func(*fixture)
	change  func(*fixture) error
	objects int              // that the change leaves when it succeeds
	skips   []store.Point    // points that the change does not pass
	after   func(f *fixture) // checks the success
}

func failCases() []failCase {
	put := func(content string) func(*fixture) error {
		return func(f *fixture) error {
			_, _, err := f.Put(f.t.Context(), f.at("/f"), file(content), f.me())
			return err
		}
	}
	lock := func(f *fixture) error {
		_, err := f.Lock(f.t.Context(), f.at("/f"), f.spec(lockns.Resource), f.me())
		return err
	}
	old := func(f *fixture) { f.put("/f", "old content, an object") }
	content := func(want string) func(*fixture) {
		return func(f *fixture) { wantEqual(f.t, "content", f.read("/f"), want) }
	}
	long := strings.Repeat("x", 100)
	pieces := func(f *fixture) {
		old(f)
		f.upload("u", "first piece, an object;", "short")
	}
	chunk := func(f *fixture) error { return f.putChunk("u", "2", long) }
	finish := func(f *fixture) error { return f.finish("u", f.at("/f")) }
	whole := "first piece, an object;short"
	locked := func(f *fixture) { wantEqual(f.t, "locks", len(f.tokens("/f")), 1) }
	none := func(*fixture) {}
	return []failCase{
		{"PUT inline", false, none, put("new"), 0, nil, content("new")},
		{"PUT of an object", false, none, put(long), 1, nil, content(long)},
		{"PUT inline over an object", false, old, put("new"), 1, nil, content("new")}, // the old one is garbage
		{"PUT of an object over an object", false, old, put(long), 2, nil, content(long)},
		{"a piece of an upload", false, pieces, chunk, 3, nil, func(f *fixture) { wantEqual(f.t, "size of the piece", f.pieces("u"), "1:23 2:100") }},
		{"the end of an upload", false, pieces, finish, 3, nil, content(whole)},
		{"LOCK creating with the shared object", false, none, lock, 0, nil, locked},
		{"LOCK creating with an owned object", true, none, lock, 1, nil, locked},
		{"LOCK of a file", false, old, lock, 1, []store.Point{store.Admitted, store.Staged, store.Authorized}, locked},
	}
}

// state is everything that a failed change must leave as it was.
func (f *fixture) state() string {
	f.t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, f.list("/"))
	for _, table := range []string{"files", "folders", "blobs", "blob_data", "garbage", "resource_locks", "uploads", "upload_chunks", "trash"} {
		fmt.Fprintln(&b, table, f.rows(table))
	}
	fmt.Fprintln(&b, "objects", f.objects(), "used", f.used(f.user), "generation", f.generation(f.user), "tree", f.treeVersion())
	if _, _, err := f.Upload(f.t.Context(), f.uploadID("u")); err == nil {
		fmt.Fprintln(&b, f.pieces("u"))
	}
	if n, err := f.Stat(f.t.Context(), f.at("/f")); err == nil {
		fmt.Fprintln(&b, n.ETag, f.read("/f"))
	}
	return b.String()
}

// TestFailpoints fails each change at each point before its commit.
func TestFailpoints(t *testing.T) {
	t.Parallel()
	failure := errors.New("failed on purpose")
	for _, c := range failCases() {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = c.owned })
			c.prepare(f)
			before := f.state()
			for _, p := range points {
				reached := false
				f.SetHook(func(_ context.Context, at store.Point) error {
					if at != p {
						return nil
					}
					reached = true
					return failure
				})
				err := c.change(f)
				f.SetHook(nil)
				skipped := false
				for _, s := range c.skips {
					skipped = skipped || s == p
				}
				wantEqual(t, "passes "+string(p), reached, !skipped)
				if skipped {
					must(t, err)
					f.sql(`DELETE FROM resource_locks`)
					f.sql(`UPDATE resource_lock_namespaces SET generation = generation - 1`)
				} else if !errors.Is(err, failure) {
					t.Errorf("at %s: error %v, want the failure", p, err)
				}
				if after := f.state(); after != before {
					t.Errorf("failed at %s it left\n%s\nwant\n%s", p, after, before)
				}
			}
			must(t, c.change(f))
			c.after(f)
			wantEqual(t, "objects", f.objects(), c.objects)
		})
	}
}

// TestUnknownCommit plays both ends of a commit whose answer was lost: what was
// staged stays either way, and the sweep decides by reference.
func TestUnknownCommit(t *testing.T) {
	t.Parallel()
	for _, c := range failCases() {
		t.Run(c.name+" committed keeps row and object", func(t *testing.T) {
			f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = c.owned })
			c.prepare(f)
			f.SetHook(failAt(store.Committed, store.ErrCommitUnknown))
			wantError(t, c.change(f), store.ErrCommitUnknown)
			f.SetHook(nil)
			c.after(f)
			wantEqual(t, "objects", f.objects(), c.objects)
			f.sweep()
			c.after(f)
			f.clean()
		})
		t.Run(c.name+" not committed keeps the object for the sweep", func(t *testing.T) {
			f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = c.owned })
			c.prepare(f)
			staged := f.objects()
			before := f.list("/")
			f.SetHook(failAt(store.BeforeCommit, store.ErrCommitUnknown))
			wantError(t, c.change(f), store.ErrCommitUnknown)
			f.SetHook(nil)
			wantEqual(t, "tree", f.list("/"), before)
			wantEqual(t, "objects", f.objects(), c.objects)
			f.sweep()
			wantEqual(t, "objects after the sweep", f.objects(), staged)
		})
	}
}

// sweep removes the orphans of objects that were just made: a day passes for
// the store, not for the folder.
func (f *fixture) sweep() {
	f.t.Helper()
	was := f.clock.Load()
	f.clock.Store(time.Now().Add(24 * time.Hour).UnixMicro())
	defer f.clock.Store(was)
	_, err := f.RemoveOrphans(f.t.Context())
	must(f.t, err)
}

// TestBodyStoreFails: nothing of a change is left when its body cannot be kept.
func TestBodyStoreFails(t *testing.T) {
	failure := errors.New("body store is down")
	long := strings.Repeat("x", 100)
	var fault *blobtest.Fault
	setup := func(t *testing.T) *fixture {
		f := newFixture(t, func(o *store.Options) {
			o.OwnedEmpties = true
			fault = &blobtest.Fault{Store: o.Blobs}
			o.Blobs = fault
		})
		f.put("/f", "old")
		return f
	}
	on := func(m blobtest.Method, err error) func(context.Context, blobtest.Call) error {
		return func(_ context.Context, c blobtest.Call) error {
			if c.Method == m {
				return err
			}
			return nil
		}
	}
	t.Run("a refused upload refuses PUT and LOCK", func(t *testing.T) {
		f := setup(t)
		before := f.state()
		fault.Before = on(blobtest.Put, failure)
		_, _, err := f.Put(t.Context(), f.at("/f"), file(long), f.me())
		wantError(t, err, failure)
		_, err = f.Lock(t.Context(), f.at("/new"), f.spec(lockns.Resource), f.me())
		wantError(t, err, failure)
		wantEqual(t, "state", f.state(), before)
	})
	t.Run("an upload aborted midway leaves nothing", func(t *testing.T) {
		f := setup(t)
		before := f.state()
		ctx, cancel := context.WithCancel(t.Context())
		body := io.MultiReader(strings.NewReader(long), readerFunc(func([]byte) (int, error) { cancel(); return 0, ctx.Err() }))
		_, _, err := f.Put(ctx, f.at("/f"), store.File{Body: body, Size: 1000}, f.me())
		wantError(t, err, context.Canceled)
		wantEqual(t, "state", f.state(), before)
	})
	t.Run("an object that could not be removed is left to the sweep", func(t *testing.T) {
		f := setup(t)
		before := f.list("/")
		fault.Before = on(blobtest.Delete, failure)
		f.SetHook(failAt(store.Written, errUndone))
		_, _, err := f.Put(t.Context(), f.at("/f"), file(long), f.me())
		wantError(t, err, errUndone) // the first failure, not that of the cleaning
		f.SetHook(nil)
		wantEqual(t, "tree", f.list("/"), before)
		wantEqual(t, "objects", f.objects(), 1)
		fault.Before = nil
		f.sweep()
		wantEqual(t, "objects after the sweep", f.objects(), 0)
	})
	t.Run("a caller that went away still has its object removed", func(t *testing.T) {
		f := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		f.SetHook(func(_ context.Context, p store.Point) error {
			if p == store.Staged {
				cancel()
			}
			return nil
		})
		_, _, err := f.Put(ctx, f.at("/f"), file(long), f.me())
		wantError(t, err, context.Canceled)
		f.SetHook(nil)
		wantEqual(t, "objects", f.objects(), 0)
		wantEqual(t, "content", f.read("/f"), "old")
	})
	t.Run("garbage that cannot be removed is tried again", func(t *testing.T) {
		f := setup(t)
		f.put("/f", long)
		f.put("/f", "new")
		f.advance(time.Hour)
		fault.Before = on(blobtest.Delete, failure)
		_, err := f.CollectGarbage(t.Context())
		wantError(t, err, failure)
		wantEqual(t, "garbage", f.rows("garbage"), 1)
		fault.Before = nil
		n, err := f.CollectGarbage(t.Context())
		must(t, err)
		wantEqual(t, "objects removed", n, 1)
		wantEqual(t, "objects", f.objects(), 0)
	})
	t.Run("a list that fails ends the sweep", func(t *testing.T) {
		f := setup(t)
		fault.Before = on(blobtest.List, failure)
		_, err := f.RemoveOrphans(t.Context())
		wantError(t, err, failure)
		fault.Before = nil
	})
	t.Run("a slow upload holds up nobody", func(t *testing.T) {
		f := setup(t)
		entered, release := make(chan struct{}), make(chan struct{})
		fault.Before = func(_ context.Context, c blobtest.Call) error {
			if c.Method == blobtest.Put && c.Size == 100 {
				close(entered)
				<-release
			}
			return nil
		}
		slow := make(chan error)
		go func() {
			_, _, err := f.Put(f.t.Context(), f.at("/slow"), file(long), f.me())
			slow <- err
		}()
		<-entered
		f.put("/quick", "x")
		f.lock("/quick", lockns.Resource)
		close(release)
		must(t, <-slow)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
