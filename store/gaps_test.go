package store_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// TestReferenceGaps goes through what a known implementation of the lock
// contract leaves open, point by point, as far as the store decides it. Numbers
// are missing where the cache or the wire decides.
func TestReferenceGaps(t *testing.T) {
	t.Run("gap 1: at its end a lock is active everywhere, one microsecond later nowhere", gapBoundary)
	t.Run("gap 2: hierarchy is decided by ids, never by names", gapIdentity)
	t.Run("gap 3: locks through one mount hold through every other", gapMounts)
	t.Run("gap 4: no change of a tree passes a lock in it, whatever was checked before", gapBypass)
	t.Run("gap 5: every change asks for the lock in its transaction and takes its credentials", gapEveryChange)
	t.Run("gap 7: of overlapping locks that wait for the writer together one succeeds", gapBarrier)
	t.Run("gap 8: a refresh revives no expired lock", gapRefresh)
	t.Run("gap 9: a release that finds another state starts again from a fresh snapshot", gapRelease)
	t.Run("gap 10: a failed creation removes its own empty object, never the shared one", gapEmpty)
	t.Run("gap 11: one shared lock's token is enough", gapShared)
	t.Run("gap 13: a token works in its holder's hands and its workspace only", gapHolder)
	t.Run("gap 15: a relock compares the old value in its transaction", gapRelock)
	t.Run("gap 16: who ends a product lock ends no other", gapProductUnlock)
	t.Run("gap 17: a file changed during an upload is a precondition that failed", gapUploadRace)
}

// gapBoundary looks at one lock of each origin from every side.
func gapBoundary(t *testing.T) {
	for _, origin := range []lockns.Origin{lockns.Product, lockns.WebDAV, lockns.WOPI} {
		for _, over := range []time.Duration{0, time.Microsecond} {
			f := newFixture(t, func(o *store.Options) { o.LocksPerUser = 1 })
			f.put("/f", "x")
			f.put("/g", "x")
			spec := f.ofOrigin(origin, lockns.Resource)
			spec.Owner = "v"
			out, err := f.Lock(t.Context(), f.at("/f"), spec, f.me())
			must(t, err)
			f.advance(time.Hour + over)
			which := store.ByOrigin(origin)
			own := opensAll{f.user.ID, out.Lock.Token}
			// What the boundary decides, by whether it says that the lock is there.
			for side, look := range map[string]func() (there bool, err error){
				"acquire": func() (bool, error) {
					_, err := f.Lock(t.Context(), f.at("/f"), spec, f.me())
					return refused(err), nil
				},
				"evaluate": func() (bool, error) {
					_, _, err := f.Put(t.Context(), f.at("/f"), file("y"), store.Holder(0))
					return refused(err), nil
				},
				"quota": func() (bool, error) {
					_, err := f.Lock(t.Context(), f.at("/g"), spec, f.me())
					return errors.Is(err, store.ErrLockQuota), nil
				},
				"refresh": func() (bool, error) {
					_, err := f.RefreshLock(t.Context(), f.at("/f"), which, time.Hour, own)
					return !errors.Is(err, store.ErrNoSuchLock), nil
				},
				"relock": func() (bool, error) {
					_, err := f.Relock(t.Context(), f.at("/f"), which, spec, own)
					return !errors.Is(err, store.ErrNoSuchLock), nil
				},
				"unlock": func() (bool, error) {
					return !errors.Is(f.Unlock(t.Context(), f.at("/f"), which, own), store.ErrNoSuchLock), nil
				},
				"forced unlock": func() (bool, error) {
					_, err := f.ForceUnlock(t.Context(), out.Lock.ID, admin)
					return !errors.Is(err, store.ErrNotFound), nil
				},
				"end by id": func() (bool, error) {
					_, err := f.EndLock(t.Context(), out.Lock.ID, nil, own)
					return !errors.Is(err, store.ErrNoSuchLock), nil
				},
				"token": func() (bool, error) {
					_, err := f.ShowToken(t.Context(), out.Lock.ID, admin)
					return !errors.Is(err, store.ErrNotFound), nil
				},
				"list of what covers": func() (bool, error) {
					list, err := f.LocksCovering(t.Context(), f.at("/f"), 0, 0)
					return len(list) == 1, err
				},
				"discovery": func() (bool, error) { return len(f.tokens("/f")) == 1, nil },
				"list": func() (bool, error) {
					list, err := f.Locks(t.Context(), store.LockFilter{})
					return len(list) == 1, err
				},
				"list of the expired": func() (bool, error) {
					list, err := f.Locks(t.Context(), store.LockFilter{Expired: true})
					return len(list) == 0, err
				},
				"cleanup": func() (bool, error) { n, err := f.ExpireLocks(t.Context()); return n == 0, err },
				"administrator's cleanup": func() (bool, error) {
					n, err := f.CleanExpired(t.Context(), admin)
					return n == 0, err
				},
			} {
				var there bool
				// Undone each time, so that every side sees the same lock.
				f.SetHook(failAt(store.BeforeCommit, errUndone))
				there, err = look()
				f.SetHook(nil)
				if errors.Is(err, errUndone) {
					there, err = false, nil // it was about to drop the row
				}
				must(t, err)
				wantEqual(t, string(origin)+" lock seen by "+side+" "+over.String()+" after its end", there, over == 0)
			}
		}
	}
}

// refused reports whether locks were in the way.
func refused(err error) bool {
	var locked *lockns.LockedError
	var conflict *lockns.ConflictError
	return errors.As(err, &locked) || errors.As(err, &conflict)
}

// gapIdentity has names that begin alike, and a folder that changes its name.
func gapIdentity(t *testing.T) {
	f := newFixture(t)
	for _, d := range []string{"/F", "/F2", "/F/sub"} {
		f.mkdir(d)
	}
	f.put("/F2/a", "x")
	l := f.productLock("/F", lockns.Infinity)
	bob := f.addUser("bob")
	take := func(path string) error {
		_, err := f.Lock(t.Context(), f.at(path), specOf(bob, lockns.Resource), store.Holder(bob.ID))
		return err
	}
	must(t, take("/F2/a")) // begins like the locked folder
	wantConflict(t, take("/F/sub"), []string{l.Token}, []string{})
	f.move("/F", "/G")
	wantConflict(t, take("/G/sub"), []string{l.Token}, []string{}) // the lock was taken under another name
	f.mkdir("/F")
	f.mkdir("/F/sub")
	must(t, take("/F/sub")) // the name the lock was taken under
	list, err := f.Locks(t.Context(), store.LockFilter{Under: ptr(f.at("/G"))})
	must(t, err)
	wantSlice(t, "locks under the folder's new name", tokensOfInfo(list), []string{l.Token})
}

func ptr[T any](v T) *T { return &v }

// gapMounts takes locks through a team's workspace and through one of its
// folders, as an account that starts there does.
func gapMounts(t *testing.T) {
	f := newFixture(t)
	team, err := f.AddTeam(t.Context(), store.NewTeam{Name: "crew", Owner: f.user.Name})
	must(t, err)
	whole := func(path string) store.Target {
		return store.Target{Workspace: team.Workspace(), Path: store.ParsePath(path)}
	}
	_, err = f.Mkdir(t.Context(), whole("/F"), store.Patch{}, f.me())
	must(t, err)
	_, _, err = f.Put(t.Context(), whole("/F/a"), file("x"), f.me())
	must(t, err)
	folder := f.entry(whole("/F")).Place.Root.ID
	scoped := func(path string) store.Target {
		return store.Target{Workspace: team.Workspace(), Base: folder, Path: store.ParsePath(path)}
	}
	changes := func(claim store.Claim) []error {
		_, _, put := f.Put(t.Context(), whole("/F/a"), file("y"), claim)
		_, move := f.Move(t.Context(), whole("/F"), whole("/G"), store.MoveOptions{}, claim)
		return []error{put, move, f.Remove(t.Context(), whole("/F/a"), claim), f.Remove(t.Context(), scoped("/a"), claim), f.Remove(t.Context(), whole("/F"), claim)}
	}
	for _, c := range []struct {
		name   string
		target store.Target
		spec   store.LockSpec
	}{
		{"a WOPI lock on a team's file", whole("/F/a"), wopiSpec("v")},
		{"a WOPI lock through the folder", scoped("/a"), wopiSpec("v")},
		{"a WebDAV lock on all of the folder through it", scoped("/"), f.spec(lockns.Infinity)},
		{"a WebDAV lock on the team's root", whole("/"), f.spec(lockns.Infinity)},
	} {
		out, err := f.Lock(t.Context(), c.target, c.spec, f.me())
		must(t, err)
		for _, err := range changes(f.me()) {
			wantLocked(t, err, out.Lock.Token)
		}
		for _, other := range []store.Target{whole("/F/a"), scoped("/a")} {
			_, err := f.Lock(t.Context(), other, f.spec(lockns.Resource), f.me())
			wantConflict(t, err, []string{out.Lock.Token}, []string{})
		}
		f.sql(`DELETE FROM resource_locks`)
	}
}

// gapBypass removes and replaces trees with every token but one.
func gapBypass(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.mkdir("/d/e")
	f.mkdir("/other")
	f.put("/d/e/f", "x")
	f.put("/d/e/g", "x")
	outer := f.lock("/d", lockns.Resource).Lock
	inner := f.wopiLock("/d/e/f", "v")
	bob := f.addUser("bob")
	theirs, err := f.Lock(t.Context(), f.at("/d/e/g"), specOf(bob, lockns.Resource), store.Holder(bob.ID))
	must(t, err)
	claim := with{f.user.ID, []string{outer.Token, inner.Token, theirs.Lock.Token}}
	before := f.state()
	_, move := f.Move(t.Context(), f.at("/d"), f.at("/moved"), store.MoveOptions{}, claim)
	_, onto := f.Move(t.Context(), f.at("/other"), f.at("/d"), store.MoveOptions{}, claim)
	_, _, copied := f.Copy(t.Context(), f.at("/other"), f.at("/d"), store.CopyOptions{}, claim)
	for _, err := range []error{f.Remove(t.Context(), f.at("/d"), claim), move, onto, copied} {
		wantLocked(t, err, inner.Token, theirs.Lock.Token)
	}
	wantEqual(t, "state", f.state(), before)
}

// gapEveryChange makes each change of a file under a lock, without credentials
// and with those of its door.
func gapEveryChange(t *testing.T) {
	for _, origin := range []lockns.Origin{lockns.WebDAV, lockns.WOPI, lockns.Product} {
		f := newFixture(t, func(o *store.Options) { o.Versions = 5 })
		f.put("/f", "former")
		f.put("/f", "x")
		f.put("/g", "x")
		spec := f.ofOrigin(origin, lockns.Resource)
		spec.Owner = "v"
		out, err := f.Lock(t.Context(), f.at("/f"), spec, f.me())
		must(t, err)
		right := func() store.Claim {
			return map[lockns.Origin]store.Claim{
				lockns.WebDAV: with{f.user.ID, []string{out.Lock.Token}}, lockns.WOPI: f.wopi("/f", "v"), lockns.Product: f.me(),
			}[origin]
		}
		for name, change := range map[string]func(store.Claim) error{
			"content": func(c store.Claim) error { _, _, err := f.Put(t.Context(), f.at("/f"), file("y"), c); return err },
			"properties": func(c store.Claim) error {
				_, err := f.PatchProps(t.Context(), f.at("/f"), store.Patch{Props: []store.PropOp{prop("a", "1")}}, c)
				return err
			},
			"modification time": func(c store.Claim) error {
				_, err := f.PatchProps(t.Context(), f.at("/f"), store.Patch{Modified: new(time.Time)}, c)
				return err
			},
			"former content": func(c store.Claim) error {
				_, err := f.RestoreVersion(t.Context(), f.at("/f"), f.nth("/f", 0), c)
				return err
			},
			"rename": func(c store.Claim) error {
				_, err := f.Move(t.Context(), f.at("/f"), f.at("/h"), store.MoveOptions{}, c)
				return err
			},
			"delete": func(c store.Claim) error { return f.Remove(t.Context(), f.at("/f"), c) },
			"overwrite by COPY": func(c store.Claim) error {
				_, _, err := f.Copy(t.Context(), f.at("/g"), f.at("/f"), store.CopyOptions{}, c)
				return err
			},
			"overwrite by MOVE": func(c store.Claim) error {
				_, err := f.Move(t.Context(), f.at("/g"), f.at("/f"), store.MoveOptions{}, c)
				return err
			},
		} {
			t.Run(name+" under a "+string(origin)+" lock", func(t *testing.T) {
				wantLocked(t, undone(f, change, store.Holder(0)), out.Lock.Token)
				if err := undone(f, change, right()); !errors.Is(err, errUndone) {
					t.Errorf("with its credentials: %v, want it done", err)
				}
				// A lock that comes after the snapshot, before the transaction.
				must(t, f.Unlock(t.Context(), f.at("/f"), store.ByOrigin(origin), right()))
				f.SetHook(func(_ context.Context, p store.Point) error {
					if p == store.Queued {
						f.SetHook(nil)
						out, err = f.Lock(t.Context(), f.at("/f"), spec, f.me())
					}
					return err
				})
				wantLocked(t, change(store.Holder(0)), out.Lock.Token)
			})
		}
	}
}

// gapBarrier lets a parent's and a child's LOCK wait for the writer together;
// the race tests try every other pair.
func gapBarrier(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.put("/d/f", "x")
	lock := func(path string, depth lockns.Depth) func() error {
		return func() error {
			_, err := f.Lock(f.t.Context(), f.at(path), f.spec(depth), f.me())
			return err
		}
	}
	requests := []func() error{lock("/d", lockns.Infinity), lock("/d/f", lockns.Resource)}
	for range 2 {
		errs := f.inOneBatch(requests...)
		must(t, errs[0]) // the first in the batch
		wantEqual(t, "the second is refused", refused(errs[1]), true)
		wantEqual(t, "locks", f.rows("resource_locks"), 1)
		f.sql(`DELETE FROM resource_locks`)
		slices.Reverse(requests)
	}
}

func gapRefresh(t *testing.T) {
	f := newFixture(t)
	l := f.lock("/f", lockns.Resource).Lock
	f.advance(time.Hour + time.Microsecond)
	before := f.lockState() // the row is still there
	_, err := f.RefreshLock(t.Context(), f.at("/f"), store.ByToken(l.Token), time.Hour, with{f.user.ID, []string{l.Token}})
	wantError(t, err, store.ErrNoSuchLock)
	wantEqual(t, "state", f.lockState(), before)
}

func gapRelease(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.put("/f", "x")
	l := f.productLock("/f", lockns.Resource)
	n := f.onLocated(func(n int) {
		if n == 1 {
			_, err := f.Move(t.Context(), f.at("/f"), at(bob, "/f"), store.MoveOptions{}, f.me())
			must(t, err)
		}
	})
	_, err := f.ForceUnlock(t.Context(), l.ID, admin)
	must(t, err)
	wantEqual(t, "snapshots", *n, 2)
	wantEqual(t, "rows", f.rows("resource_locks"), 0)
}

func gapEmpty(t *testing.T) {
	for _, owned := range []bool{false, true} {
		f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = owned })
		lock := func(p store.Point, failure error) error {
			f.SetHook(failAt(p, failure))
			defer f.SetHook(nil)
			_, err := f.Lock(t.Context(), f.at("/f"), f.spec(lockns.Resource), f.me())
			return err
		}
		before := f.state()
		wantError(t, lock(store.BeforeCommit, errUndone), errUndone)
		wantEqual(t, "state after a failure", f.state(), before)
		wantError(t, lock(store.BeforeCommit, store.ErrCommitUnknown), store.ErrCommitUnknown)
		wantEqual(t, "own objects after an unknown end", f.objects(), map[bool]int{true: 1}[owned])
		f.lock("/f", lockns.Resource)
		wantEqual(t, "content", f.read("/f"), "")
	}
}

// gapShared has two shared locks on one file, and one on its folder.
func gapShared(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	f.put("/d/f", "x")
	shared := func(u store.User, path string) lockns.Lock {
		spec := specOf(u, lockns.Infinity)
		spec.Mode = lockns.Shared
		out, err := f.Lock(t.Context(), f.at(path), spec, store.Holder(u.ID))
		must(t, err)
		return out.Lock
	}
	mine, theirs, above := shared(f.user, "/d/f"), shared(bob, "/d/f"), shared(bob, "/d")
	for name, change := range map[string]func(store.Claim) error{
		"content": func(c store.Claim) error { _, _, err := f.Put(t.Context(), f.at("/d/f"), file("y"), c); return err },
		"properties": func(c store.Claim) error {
			_, err := f.PatchProps(t.Context(), f.at("/d/f"), store.Patch{}, c)
			return err
		},
	} {
		wantLocked(t, undone(f, change, f.me()), mine.Token, theirs.Token, above.Token)
		for _, claim := range []store.Claim{with{f.user.ID, []string{mine.Token}}, with{bob.ID, []string{theirs.Token}}, with{bob.ID, []string{above.Token}}} {
			if err := undone(f, change, claim); !errors.Is(err, errUndone) {
				t.Errorf("%s with one token: %v, want it done", name, err)
			}
		}
	}
	// The folder is locked too when the file leaves it.
	remove := func(c store.Claim) error { return f.Remove(t.Context(), f.at("/d/f"), c) }
	wantLocked(t, undone(f, remove, with{f.user.ID, []string{mine.Token}}), above.Token)
	if err := undone(f, remove, with{bob.ID, []string{above.Token}}); !errors.Is(err, errUndone) {
		t.Errorf("DELETE with the token above: %v, want it done", err)
	}
}

func gapHolder(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	l := f.lock("/f", lockns.Resource).Lock
	_, _, err := f.Put(t.Context(), at(bob, "/f"), file("x"), store.Holder(bob.ID))
	must(t, err)
	theirs, mine := with{bob.ID, []string{l.Token}}, with{f.user.ID, []string{l.Token}}
	before := f.lockState()
	_, _, err = f.Put(t.Context(), f.at("/f"), file("y"), theirs)
	wantLocked(t, err, l.Token)
	_, err = f.RefreshLock(t.Context(), f.at("/f"), store.ByToken(l.Token), time.Hour, theirs)
	wantError(t, err, store.ErrNotHolder)
	wantError(t, f.Unlock(t.Context(), f.at("/f"), store.ByToken(l.Token), theirs), store.ErrNotHolder)
	for _, target := range []store.Target{at(bob, "/f"), at(bob, "/")} { // the same path in another workspace
		_, err = f.RefreshLock(t.Context(), target, store.ByToken(l.Token), time.Hour, mine)
		wantError(t, err, store.ErrNoSuchLock)
		wantError(t, f.Unlock(t.Context(), target, store.ByToken(l.Token), mine), store.ErrNoSuchLock)
	}
	wantEqual(t, "state", f.lockState(), before)
}

// gapRelock changes the value between the request and its transaction.
func gapRelock(t *testing.T) {
	f := newFixture(t)
	f.put("/f", "x")
	f.wopiLock("/f", "old")
	relock := func(value string) error {
		_, err := f.Relock(t.Context(), f.at("/f"), store.ByOrigin(lockns.WOPI), wopiSpec(value), f.wopi("/f", "old"))
		return err
	}
	var first error
	f.SetHook(func(_ context.Context, p store.Point) error {
		if p == store.Queued {
			f.SetHook(nil)
			first = relock("first")
		}
		return nil
	})
	wantError(t, relock("second"), store.ErrNotHolder)
	must(t, first)
	wantEqual(t, "value", f.entry(f.at("/f")).Locks[0].Owner, "first")
}

func gapProductUnlock(t *testing.T) {
	f := newFixture(t)
	byProduct := store.ByOrigin(lockns.Product)
	f.mkdir("/d")
	product := f.productLock("/d", lockns.Resource)
	webdav := f.lock("/d/f", lockns.Resource).Lock
	f.put("/w", "x")
	wopi := f.wopiLock("/w", "v")
	claim := opensAll{f.user.ID, webdav.Token}
	wantError(t, f.Unlock(t.Context(), f.at("/d/f"), byProduct, claim), store.ErrNoSuchLock)
	wantError(t, f.Unlock(t.Context(), f.at("/w"), byProduct, opensAll{f.user.ID, wopi.Token}), store.ErrNoSuchLock)
	wantSlice(t, "locks of the folder", f.tokens("/d"), []string{product.Token})
	must(t, f.Unlock(t.Context(), f.at("/d"), byProduct, claim))
	wantSlice(t, "locks of the folder", f.tokens("/d"), []string{})
	wantSlice(t, "locks of its member", f.tokens("/d/f"), []string{webdav.Token})
	wantSlice(t, "locks of the file", f.tokens("/w"), []string{wopi.Token})
}

// matching is a claim that wants a file's entity tag to be still the same.
type matching struct {
	store.Holder
	target store.Target
	etag   string
}

func (m matching) Precondition(v store.View) error {
	if v.Resource(m.target).Node.ETag != m.etag {
		return store.ErrPrecondition
	}
	return nil
}

func gapUploadRace(t *testing.T) {
	f := newFixture(t)
	was := f.put("/f", "old")
	body := readerFunc(func([]byte) (int, error) {
		f.put("/f", "another's") // while the body is received
		return 0, io.EOF
	})
	_, _, err := f.Put(t.Context(), f.at("/f"), store.File{Body: io.MultiReader(file("mine").Body, body), Size: -1},
		matching{store.Holder(f.user.ID), f.at("/f"), was.ETag})
	wantError(t, err, store.ErrPrecondition)
	wantEqual(t, "content", f.read("/f"), "another's")
}
