package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// pathKey is how a request's context names it to the hook.
type pathKey struct{}

// putter is a request that puts a file, known to the hook by its path.
func (f *fixture) putter(path, content string) func() error {
	return func() error {
		ctx := context.WithValue(f.t.Context(), pathKey{}, path)
		_, _, err := f.Put(ctx, f.at(path), file(content), f.me())
		return err
	}
}

// onPath is a hook that acts at a point of one path's request.
func onPath(path string, p store.Point, act func() error) func(context.Context, store.Point) error {
	return func(ctx context.Context, at store.Point) error {
		if at == p && ctx.Value(pathKey{}) == path {
			return act()
		}
		return nil
	}
}

func TestBatchIsOneCommit(t *testing.T) {
	f := newFixture(t)
	f.SetHook(onPath("/3", store.BeforeCommit, func() error {
		// What the others of the batch wrote is not committed, so nobody
		// else sees it, though their own part is over.
		if n := f.rows("files"); n != 0 {
			t.Errorf("%d files are visible before the commit of the batch", n)
		}
		return nil
	}))
	must(t, errors.Join(f.inOneBatch(f.putter("/1", "1"), f.putter("/2", "2"), f.putter("/3", "3"))...))
	wantEqual(t, "files", f.rows("files"), 3)
}

// TestBatchNeighbours makes one request of a batch fail in every way there is.
// The answers of its neighbours must be what the database holds, before and
// after it is opened again.
func TestBatchNeighbours(t *testing.T) {
	failure := errors.New("failed on purpose")
	for _, c := range []struct {
		name string
		// bad makes the failing request for a path, and fails it.
		bad   func(f *fixture, path string) func() error
		check func(*testing.T, error)
	}{
		{"a failpoint", func(f *fixture, path string) func() error {
			f.SetHook(onPath(path, store.Written, func() error { return failure }))
			return f.putter(path, "bad")
		}, func(t *testing.T, err error) { wantError(t, err, failure) }},
		{"a refusal", func(f *fixture, path string) func() error {
			return func() error { // MKCOL is not asked before its turn, as PUT is
				_, err := f.Mkdir(f.t.Context(), f.at("/no"+path), store.Patch{}, f.me())
				return err
			}
		}, func(t *testing.T, err error) { wantError(t, err, store.ErrNoParent) }},
		{"a panic", func(f *fixture, path string) func() error {
			f.SetHook(onPath(path, store.Written, func() error { panic("on purpose") }))
			return f.putter(path, "bad")
		}, func(t *testing.T, err error) {
			if err == nil || !strings.Contains(err.Error(), "panic in a change: on purpose") {
				t.Errorf("error %v, want the panic", err)
			}
		}},
		{"a full database", func(f *fixture, path string) func() error {
			f.limitPages(20)
			return f.putter(path, strings.Repeat("x", 500_000))
		}, func(t *testing.T, err error) { wantError(t, err, store.ErrNoSpace) }},
		{"a statement that fills the database", func(f *fixture, path string) func() error {
			// It works on many rows, so that SQLite undoes it alone.
			f.limitPages(20)
			return func() error {
				_, _, err := f.Copy(f.t.Context(), f.at("/props"), f.at(path), store.CopyOptions{}, f.me())
				return err
			}
		}, func(t *testing.T, err error) { wantError(t, err, store.ErrNoSpace) }},
		{"an interrupt", func(f *fixture, path string) func() error {
			return f.interrupted
		}, func(t *testing.T, err error) {
			if err == nil || !strings.Contains(err.Error(), "interrupt") && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want an interrupt", err)
			}
		}},
		{"an interrupt that the request says nothing of", func(f *fixture, path string) func() error {
			return func() error {
				return f.OnWriter(f.t.Context(), func(exec func(context.Context, string, ...any) error) error {
					_ = interrupt(exec)
					return nil
				})
			}
		}, func(t *testing.T, err error) { wantError(t, err, store.ErrCommitUnknown) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, func(o *store.Options) { o.InlineMax = 1 << 20 })
			f.put("/props", "")
			for i := range 50 {
				f.setProp("/props", fmt.Sprintf("p%d", i), strings.Repeat("v", 4000))
			}
			for bad := range 3 { // the first, the middle and the last of three
				var requests []func() error
				for i := range 3 {
					path := fmt.Sprintf("/%d-%d", bad, i)
					if i == bad {
						requests = append(requests, c.bad(f, path))
						continue
					}
					requests = append(requests, f.putter(path, path))
				}
				errs := f.inOneBatch(requests...)
				f.SetHook(nil)
				f.limitPages(0)
				for i, err := range errs {
					if i == bad {
						c.check(t, err)
					} else {
						must(t, err)
					}
				}
			}
			for range 2 {
				wantEqual(t, "tree", f.list("/"), "/\n/0-1\n/0-2\n/1-0\n/1-2\n/2-0\n/2-1\n/props")
				wantEqual(t, "content", f.read("/1-2"), "/1-2")
				wantEqual(t, "garbage", f.rows("garbage"), 0)
				f.clean()
				f.reopen()
			}
			f.put("/after", "x")
		})
	}
}

// limitPages lets the database grow by some pages on the writer's connection
// and no more; 0 takes the limit away.
func (f *fixture) limitPages(more int64) {
	f.t.Helper()
	limit := int64(1 << 30)
	if more > 0 {
		limit = f.number(`PRAGMA page_count`) + more
	}
	must(f.t, f.OnWriter(f.t.Context(), func(exec func(context.Context, string, ...any) error) error {
		return exec(context.Background(), fmt.Sprintf(`PRAGMA max_page_count = %d`, limit))
	}))
}

// interrupted is a request whose statement is interrupted at work, which ends
// the transaction of the whole batch.
func (f *fixture) interrupted() error { return f.OnWriter(f.t.Context(), interrupt) }

func interrupt(exec func(context.Context, string, ...any) error) error {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		err := exec(ctx, `INSERT INTO garbage (object_key, dropped_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'key ' || i, 0 FROM n`)
		cancel()
		// A transaction can begin only where none is open any more. If one is,
		// the time was over before the statement had begun.
		if exec(context.Background(), "BEGIN") == nil {
			return errors.Join(err, exec(context.Background(), "ROLLBACK"))
		}
	}
}

// TestBatchSize: a batch has at most 64 requests; the others come next.
func TestBatchSize(t *testing.T) {
	f := newFixture(t)
	var requests []func() error
	for i := range 70 {
		requests = append(requests, f.putter(fmt.Sprintf("/f%02d", i), "x"))
	}
	var visible []int64
	f.SetHook(func(ctx context.Context, p store.Point) error {
		if path := ctx.Value(pathKey{}); p == store.BeforeCommit && (path == "/f63" || path == "/f64" || path == "/f69") {
			visible = append(visible, f.rows("files"))
		}
		return nil
	})
	must(t, errors.Join(f.inOneBatch(requests...)...))
	if want := []int64{0, 64, 64}; !slices.Equal(visible, want) {
		t.Errorf("files visible before requests 64, 65 and 70: %v, want %v", visible, want)
	}
}

func TestCancelledBeforeItsTurn(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	release := f.hold()
	defer release()
	answers := [3]chan error{}
	ask := func(i int, request func() error) {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- request() }()
	}
	ask(0, f.putter("/1", "1"))
	f.waiting(1)
	ask(1, func() error {
		_, _, err := f.Put(ctx, f.at("/2"), file("long enough for an object"), f.me())
		return err
	})
	f.waiting(2)
	cancel()
	wantError(t, <-answers[1], context.Canceled) // at once, the writer is still held
	ask(2, f.putter("/3", "3"))
	f.waiting(2)
	release()
	must(t, errors.Join(<-answers[0], <-answers[2]))
	wantEqual(t, "objects", f.objects(), 0)
	wantEqual(t, "tree", f.list("/"), "/\n/1\n/3")
}

// TestCancelledFromTheStart: the writer may take such a request when it is idle,
// since both ways out of the queue are open then, but must not run it.
func TestCancelledFromTheStart(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		_, err := f.Mkdir(ctx, f.at("/d"), store.Patch{}, f.me())
		wantError(t, err, context.Canceled)
	}
	wantEqual(t, "tree", f.list("/"), "/")
}

func TestCancelledWhileRunning(t *testing.T) {
	f := newFixture(t)
	for _, p := range []store.Point{store.Begun, store.Written, store.BeforeCommit} {
		t.Run("carried out when cancelled at "+string(p), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			f.SetHook(func(_ context.Context, at store.Point) error {
				if at == p {
					cancel()
				}
				return nil
			})
			path := "/" + string(p)
			_, _, err := f.Put(ctx, f.at(path), file("x"), f.me())
			f.SetHook(nil)
			must(t, err)
			wantEqual(t, "content", f.read(path), "x")
		})
	}
}

// TestCloseAnswersEverybody: the request at work is carried out, those that wait
// and those that come later are refused.
func TestCloseAnswersEverybody(t *testing.T) {
	f := newFixture(t)
	held, release := make(chan struct{}), make(chan struct{})
	f.SetHook(onPath("/held", store.Begun, func() error { close(held); <-release; return nil }))
	answers := make(chan error)
	ask := func(request func() error) { go func() { answers <- request() }() }
	ask(f.putter("/held", "x"))
	<-held
	for i := range 5 {
		ask(f.putter(fmt.Sprintf("/waits%d", i), "long enough for an object"))
	}
	f.waiting(5)
	closed := make(chan error)
	go func() { closed <- f.Close() }()
	for range 5 {
		wantError(t, <-answers, store.ErrClosed)
	}
	close(release)
	must(t, <-answers)
	must(t, <-closed)
	_, err := f.Mkdir(t.Context(), f.at("/late"), store.Patch{}, f.me())
	wantError(t, err, store.ErrClosed)
	_, err = f.Stat(t.Context(), f.at("/"))
	wantError(t, err, store.ErrClosed)
	f.open()
	wantEqual(t, "tree", f.list("/"), "/\n/held")
	wantEqual(t, "objects", f.objects(), 0)
}

// TestPing: the store says that it takes changes.
func TestPing(t *testing.T) {
	f := newFixture(t)
	must(t, f.Ping(t.Context()))
	must(t, f.Close())
	wantError(t, f.Ping(t.Context()), store.ErrClosed)
	f.open()
}

// TestTwoStores: two processes on one database see each other's changes, and
// one that is kept waiting too long says so.
func TestTwoStores(t *testing.T) {
	f := newFixture(t)
	other, err := store.Open(t.Context(), f.o)
	must(t, err)
	defer other.Close()
	f.put("/f", "here")
	n, err := other.Stat(t.Context(), f.at("/f"))
	must(t, err)
	l := f.lock("/f", "resource")
	_, _, err = other.Put(t.Context(), f.at("/f"), file("there"), f.me())
	wantLocked(t, err, l.Lock.Token)
	_, _, err = other.Put(t.Context(), f.at("/f"), file("there"), with{f.user.ID, []string{l.Lock.Token}})
	must(t, err)
	if f.stat("/f").ETag == n.ETag || f.read("/f") != "there" {
		t.Error("the change of the other store is not seen")
	}
}
