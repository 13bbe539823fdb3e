package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// raceRounds is how often each race is run from a barrier. Two more rounds put
// both requests into one batch, in either order.
const raceRounds = 20

// race runs two requests on a fresh name in each round: from a barrier where
// both have been let go at once, then in one batch. verify sees how each ended.
func (f *fixture) race(point store.Point, setup func(dir string) (a, b func() error), verify func(t *testing.T, dir string, a, b error)) {
	f.t.Helper()
	for i := range raceRounds {
		dir := fmt.Sprintf("/r%d", i)
		f.mkdir(dir)
		a, b := setup(dir)
		f.SetHook(store.Barrier(point, 2))
		errs := together(a, b)
		f.SetHook(nil)
		verify(f.t, dir, errs[0], errs[1])
	}
	for i := range 2 {
		dir := fmt.Sprintf("/batch%d", i)
		f.mkdir(dir)
		a, b := setup(dir)
		if i == 0 {
			errs := f.inOneBatch(a, b)
			verify(f.t, dir, errs[0], errs[1])
			continue
		}
		errs := f.inOneBatch(b, a)
		verify(f.t, dir, errs[1], errs[0])
	}
}

// inOneBatch runs requests so that the writer takes all of them at once, in
// this order: it is held until all of them wait.
func (f *fixture) inOneBatch(requests ...func() error) []error {
	f.t.Helper()
	release := f.hold()
	defer release()
	errs := make([]error, len(requests))
	done := make(chan struct{})
	for i, request := range requests {
		go func() {
			errs[i] = request()
			done <- struct{}{}
		}()
		f.waiting(i + 1)
	}
	release()
	for range requests {
		<-done
	}
	return errs
}

// hold keeps the writer busy until release is called, as often as that is.
func (f *fixture) hold() (release func()) {
	f.t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	holder := make(chan error, 1)
	go func() {
		holder <- f.OnWriter(context.Background(), func(func(context.Context, string, ...any) error) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	return sync.OnceFunc(func() {
		close(free)
		must(f.t, <-holder)
	})
}

// waiting waits until n requests wait for the writer, of any store: tests that
// use it must not be parallel.
func (f *fixture) waiting(n int) {
	f.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for store.Waiting() != n {
		if time.Now().After(deadline) {
			f.t.Fatalf("%d requests wait for the writer, want %d", store.Waiting(), n)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestRaceParentAndChildLock(t *testing.T) {
	f := newFixture(t)
	f.race(store.Queued, func(dir string) (a, b func() error) {
		f.put(dir+"/f", "x")
		return func() error {
				_, err := f.Lock(f.t.Context(), f.at(dir), f.spec(lockns.Infinity), f.me())
				return err
			}, func() error {
				_, err := f.Lock(f.t.Context(), f.at(dir+"/f"), f.spec(lockns.Resource), f.me())
				return err
			}
	}, func(t *testing.T, dir string, parent, child error) {
		if (parent == nil) == (child == nil) {
			t.Fatalf("parent: %v, child: %v; want exactly one winner", parent, child)
		}
		if held := f.tokens(dir + "/f"); parent == nil {
			wantConflict(t, child, held, []string{})
		} else {
			wantConflict(t, parent, []string{}, held)
		}
	})
	wantEqual(t, "locks", f.rows("resource_locks"), raceRounds+2)
}

func TestRaceLockAndDelete(t *testing.T) {
	f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = true })
	f.race(store.Queued, func(dir string) (a, b func() error) {
		f.put(dir+"/f", "content")
		return func() error {
				_, err := f.Lock(f.t.Context(), f.at(dir+"/f"), f.spec(lockns.Resource), f.me())
				return err
			}, func() error {
				return f.Remove(f.t.Context(), f.at(dir+"/f"), f.me())
			}
	}, func(t *testing.T, dir string, lock, remove error) {
		must(t, lock) // of the file, or of a new one in its place
		held := f.tokens(dir + "/f")
		if remove == nil {
			wantEqual(t, "content", f.read(dir+"/f"), "")
		} else {
			wantLocked(t, remove, held...)
			wantEqual(t, "content", f.read(dir+"/f"), "content")
		}
		wantEqual(t, "locks", len(held), 1)
	})
	wantEqual(t, "objects", int64(f.objects()), f.number(`SELECT count(*) FROM blobs WHERE object_key IS NOT NULL`))
}

func TestRaceLockNull(t *testing.T) {
	for _, owned := range []bool{false, true} {
		t.Run(fmt.Sprintf("owned empties %v", owned), func(t *testing.T) {
			f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = owned })
			bob := f.addUser("bob")
			f.race(store.Staged, func(dir string) (a, b func() error) {
				as := func(u store.User) func() error {
					return func() error {
						out, err := f.Lock(f.t.Context(), f.at(dir+"/f"), specOf(u, lockns.Resource), store.Holder(u.ID))
						if err == nil && !out.Created {
							return errors.New("granted on a file that the other created")
						}
						return err
					}
				}
				return as(f.user), as(bob)
			}, func(t *testing.T, dir string, a, b error) {
				loser := a
				if a == nil {
					loser = b
				}
				if (a == nil) == (b == nil) {
					t.Fatalf("%v and %v; want exactly one to create", a, b)
				}
				wantConflict(t, loser, f.tokens(dir+"/f"), []string{})
			})
			wantEqual(t, "owned objects", f.objects(), map[bool]int{true: raceRounds + 2}[owned])
			wantEqual(t, "locks", f.rows("resource_locks"), raceRounds+2)
		})
	}
}

// TestRaceSharedLockNull: the loser of the creation locks what the other made
// and drops its own object.
func TestRaceSharedLockNull(t *testing.T) {
	f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = true })
	var created atomic.Int64
	f.race(store.Staged, func(dir string) (a, b func() error) {
		lock := func() error {
			spec := f.spec(lockns.Resource)
			spec.Mode = lockns.Shared
			out, err := f.Lock(f.t.Context(), f.at(dir+"/f"), spec, f.me())
			if out.Created {
				created.Add(1)
			}
			return err
		}
		return lock, lock
	}, func(t *testing.T, dir string, a, b error) {
		must(t, errors.Join(a, b))
		wantEqual(t, "locks", len(f.tokens(dir+"/f")), 2)
	})
	wantEqual(t, "created", created.Load(), raceRounds+2)
	wantEqual(t, "objects", f.objects(), raceRounds+2)
}

func TestRacePutAndMoveOfItsFolder(t *testing.T) {
	f := newFixture(t)
	f.race(store.Queued, func(dir string) (a, b func() error) {
		f.mkdir(dir + "/d")
		f.put(dir+"/d/f", "old")
		return func() error {
				_, _, err := f.Put(f.t.Context(), f.at(dir+"/d/f"), file("new, long enough for an object"), f.me())
				return err
			}, func() error {
				_, err := f.Move(f.t.Context(), f.at(dir+"/d"), f.at(dir+"/e"), store.MoveOptions{}, f.me())
				return err
			}
	}, func(t *testing.T, dir string, put, move error) {
		must(t, move)
		want := "new, long enough for an object"
		if put != nil {
			wantError(t, put, store.ErrNoParent)
			want = "old"
		}
		wantEqual(t, "content", f.read(dir+"/e/f"), want)
		f.gone(dir + "/d")
	})
	wantEqual(t, "objects", int64(f.objects()), f.number(`SELECT count(*) FROM blobs WHERE object_key IS NOT NULL`))
}

func TestRaceTwoMovesOfOneSource(t *testing.T) {
	f := newFixture(t)
	f.race(store.Queued, func(dir string) (a, b func() error) {
		f.put(dir+"/a", "x")
		to := func(name string) func() error {
			return func() error {
				_, err := f.Move(f.t.Context(), f.at(dir+"/a"), f.at(dir+name), store.MoveOptions{}, f.me())
				return err
			}
		}
		return to("/b"), to("/c")
	}, func(t *testing.T, dir string, b, c error) {
		there, lost := "/b", c
		if b != nil {
			there, lost = "/c", b
		}
		wantError(t, lost, store.ErrNotFound)
		wantEqual(t, "tree", f.list(dir), dir+"/\n"+dir+there)
	})
}

func TestRaceMkdir(t *testing.T) {
	f := newFixture(t)
	f.race(store.Queued, func(dir string) (a, b func() error) {
		mkdir := func() error {
			_, err := f.Mkdir(f.t.Context(), f.at(dir+"/d"), store.Patch{}, f.me())
			return err
		}
		return mkdir, mkdir
	}, func(t *testing.T, dir string, a, b error) {
		if (a == nil) == (b == nil) {
			t.Fatalf("%v and %v; want exactly one to create", a, b)
		}
		wantError(t, errors.Join(a, b), store.ErrExists)
		wantEqual(t, "tree", f.list(dir), dir+"/\n"+dir+"/d/")
	})
}

func TestRacePutAndPut(t *testing.T) {
	f := newFixture(t)
	f.race(store.Queued, func(dir string) (a, b func() error) {
		put := func(content string) func() error {
			return func() error {
				_, _, err := f.Put(f.t.Context(), f.at(dir+"/f"), file(content), f.me())
				return err
			}
		}
		return put("short"), put("long enough for an object")
	}, func(t *testing.T, dir string, a, b error) {
		must(t, errors.Join(a, b))
		if got := f.read(dir + "/f"); got != "short" && got != "long enough for an object" {
			t.Errorf("content %q is neither's", got)
		}
	})
	wantEqual(t, "blobs", f.rows("blobs"), raceRounds+2)
}

// TestRaceRefreshAndCleanup: a lock that a refresh saved is not swept by a
// cleanup that saw it expired before.
func TestRaceRefreshAndCleanup(t *testing.T) {
	f := newFixture(t)
	f.put("/f", "x")
	for range raceRounds {
		l := f.lock("/f", lockns.Resource).Lock
		end := f.clock.Load() + time.Hour.Microseconds()
		f.clock.Store(end + 1)
		f.SetHook(func(ctx context.Context, p store.Point) error {
			if p != store.Queued {
				return nil
			}
			// The cleanup's snapshot has found the lock expired. A refresh
			// whose clock was read at the lock's very end comes before it.
			f.SetHook(nil)
			f.clock.Store(end)
			_, err := f.RefreshLock(ctx, f.at("/f"), store.ByToken(l.Token), time.Hour, f.me())
			f.clock.Store(end + 1)
			return err
		})
		n, err := f.ExpireLocks(t.Context())
		must(t, err)
		wantEqual(t, "locks swept", n, 0)
		wantSlice(t, "locks", f.tokens("/f"), []string{l.Token})
		must(t, f.Unlock(t.Context(), f.at("/f"), store.ByToken(l.Token), f.me()))
	}
	f.race(store.Queued, func(dir string) (a, b func() error) {
		l := f.lock(dir+"/f", lockns.Resource).Lock
		f.advance(time.Hour + time.Microsecond) // expired, not swept
		return func() error {
				_, err := f.RefreshLock(f.t.Context(), f.at(dir+"/f"), store.ByToken(l.Token), time.Hour, f.me())
				return err
			}, func() error {
				_, err := f.ExpireLocks(f.t.Context())
				return err
			}
	}, func(t *testing.T, dir string, refresh, cleanup error) {
		must(t, cleanup)
		wantError(t, refresh, store.ErrNoSuchLock)
		wantEqual(t, "rows", f.rows("resource_locks"), 0)
	})
}

// TestLockTargetChanges changes the target of a LOCK between its snapshot and
// its transaction.
func TestLockTargetChanges(t *testing.T) {
	for _, c := range []struct {
		name    string
		exists  bool
		at      store.Point
		meddle  func(*fixture)
		want    error
		created bool
		content string // of the file, "dir" for a folder
	}{
		{"a file appears after the snapshot", false, store.Admitted, func(f *fixture) { f.put("/d/f", "other") }, nil, false, "other"},
		{"a file appears after the staging", false, store.Staged, func(f *fixture) { f.put("/d/f", "other") }, nil, false, "other"},
		{"a folder appears after the staging", false, store.Staged, func(f *fixture) { f.mkdir("/d/f") }, nil, false, "dir"},
		{"the parent goes after the staging", false, store.Staged, func(f *fixture) { f.remove("/d") }, store.ErrNoParent, false, ""},
		{"the file goes after the snapshot", true, store.Queued, func(f *fixture) { f.remove("/d/f") }, nil, true, ""},
		{"the parent goes after the snapshot", true, store.Queued, func(f *fixture) { f.remove("/d") }, store.ErrNoParent, false, ""},
		{"the file becomes a folder", true, store.Queued, func(f *fixture) { f.remove("/d/f"); f.mkdir("/d/f") }, nil, false, "dir"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = true })
			f.mkdir("/d")
			if c.exists {
				f.put("/d/f", "mine")
			}
			f.SetHook(func(_ context.Context, p store.Point) error {
				if p == c.at {
					f.SetHook(nil)
					c.meddle(f)
				}
				return nil
			})
			out, err := f.Lock(t.Context(), f.at("/d/f"), f.spec(lockns.Resource), f.me())
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			wantEqual(t, "objects", f.objects(), map[bool]int{true: 1}[c.created])
			if c.want != nil {
				wantEqual(t, "locks", f.rows("resource_locks"), 0)
				return
			}
			wantEqual(t, "created", out.Created, c.created)
			wantSlice(t, "locks", f.tokens("/d/f"), []string{out.Lock.Token})
			if c.content == "dir" {
				wantEqual(t, "is a folder", f.stat("/d/f").IsFolder(), true)
				return
			}
			wantEqual(t, "content", f.read("/d/f"), c.content)
		})
	}
	t.Run("appears while a collection is asked for", func(t *testing.T) {
		f := newFixture(t)
		spec := f.spec(lockns.Resource)
		spec.MustExist = true
		f.mkdir("/d")
		f.SetHook(func(_ context.Context, p store.Point) error {
			if p == store.Queued {
				f.SetHook(nil)
				f.remove("/d")
			}
			return nil
		})
		_, err := f.Lock(t.Context(), f.at("/d"), spec, f.me())
		wantError(t, err, store.ErrNotFound)
		f.gone("/d")
	})
}

// TestPutTargetChanges: what PUT was promised on the snapshot is decided again.
func TestPutTargetChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		meddle func(*fixture)
		check  func(*testing.T, error)
	}{
		{"a lock comes", func(f *fixture) { f.lock("/d", lockns.Resource) }, func(t *testing.T, err error) {
			var refusal *lockns.LockedError
			wantEqual(t, "refused by locks", errors.As(err, &refusal), true)
		}},
		{"the parent goes", func(f *fixture) { f.remove("/d") }, func(t *testing.T, err error) { wantError(t, err, store.ErrNoParent) }},
		{"a folder comes", func(f *fixture) { f.mkdir("/d/f") }, func(t *testing.T, err error) { wantError(t, err, store.ErrIsFolder) }},
		{"the quota shrinks", func(f *fixture) { f.setQuota(1) }, func(t *testing.T, err error) { wantError(t, err, store.ErrQuota) }},
	} {
		t.Run(c.name+" during the upload", func(t *testing.T) {
			f := newFixture(t)
			f.mkdir("/d")
			body := io.MultiReader(file("long enough for ").Body, readerFunc(func([]byte) (int, error) { c.meddle(f); return 0, io.EOF }))
			_, _, err := f.Put(t.Context(), f.at("/d/f"), store.File{Body: io.MultiReader(body, file("an object").Body), Size: -1}, f.me())
			c.check(t, err)
			wantEqual(t, "objects", f.objects(), 0)
		})
	}
}

func (f *fixture) setQuota(bytes int64) {
	f.t.Helper()
	_, err := f.SetUser(f.t.Context(), f.user.Name, store.UserPatch{Quota: &bytes})
	must(f.t, err)
}
