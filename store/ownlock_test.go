package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// setLock sets the first user's product lock.
func (f *fixture) setLock(path string, spec store.LockSpec) (lockns.Lock, bool, error) {
	f.t.Helper()
	return f.SetLock(f.t.Context(), f.at(path), spec, f.me())
}

func TestSetLock(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	f.put("/d/f", "x")
	spec := f.ofOrigin(lockns.Product, lockns.Resource)
	spec.Owner = "mine"
	first, granted, err := f.setLock("/d", spec)
	must(t, err)
	wantEqual(t, "granted", granted, true)

	t.Run("again it is the same lock, with another note, and no change for readers", func(t *testing.T) {
		before := f.generation(f.user)
		spec.Owner = "still mine"
		spec.Until, spec.Timeout = first.ExpiresAt, 0
		l, granted, err := f.setLock("/d", spec)
		must(t, err)
		want := first
		want.Owner = "still mine"
		wantEqual(t, "lock", l, want)
		wantEqual(t, "granted", granted, false)
		wantEqual(t, "stored", f.entry(f.at("/d")).Locks[0], want)
		wantEqual(t, "generation", f.generation(f.user), before)
	})
	t.Run("with another end and depth", func(t *testing.T) {
		before := f.generation(f.user)
		deep := spec
		deep.Depth, deep.Until, deep.Timeout = lockns.Infinity, time.Time{}, 2*time.Hour
		l, granted, err := f.setLock("/d", deep)
		must(t, err)
		wantEqual(t, "granted", granted, false)
		wantEqual(t, "id", l.ID, first.ID)
		wantEqual(t, "end", l.ExpiresAt, f.now().Add(2*time.Hour))
		wantEqual(t, "stored", f.entry(f.at("/d")).Locks[0], l)
		wantEqual(t, "covers", len(f.tokens("/d/f")), 1)
		wantEqual(t, "generation", f.generation(f.user), before+1)
		_, _, err = f.Put(t.Context(), f.at("/d/f"), file("y"), store.Holder(bob.ID))
		wantLocked(t, err, first.Token)
		deep.Timeout = 0
		l, _, err = f.setLock("/d", deep)
		must(t, err)
		wantEqual(t, "has no end", l.ExpiresAt.IsZero(), true)
		_, _, err = f.setLock("/d", spec) // as the next find it
		must(t, err)
	})
	t.Run("not deeper than others' locks below allow", func(t *testing.T) {
		inside := f.lock("/d/f", lockns.Resource).Lock
		before, generation := f.entry(f.at("/d")).Locks[0], f.generation(f.user)
		deep := spec
		deep.Depth, deep.Owner = lockns.Infinity, "deep"
		_, _, err := f.setLock("/d", deep)
		wantConflict(t, err, []string{}, []string{inside.Token})
		wantEqual(t, "stored", f.entry(f.at("/d")).Locks[0], before)
		wantEqual(t, "generation", f.generation(f.user), generation)
		must(t, f.Unlock(t.Context(), f.at("/d/f"), store.ByToken(inside.Token), f.me()))
	})
	t.Run("not in place of another's, or of another door's", func(t *testing.T) {
		theirs := spec
		theirs.Holder = bob.ID
		_, _, err := f.SetLock(t.Context(), f.at("/d"), theirs, store.Holder(bob.ID))
		wantConflict(t, err, []string{first.Token}, []string{})
		dav := f.lock("/d/f", lockns.Resource).Lock
		_, _, err = f.setLock("/d/f", spec)
		wantConflict(t, err, []string{dav.Token}, []string{})
	})
	t.Run("an expired one is no lock to change", func(t *testing.T) {
		f.put("/g", "x")
		short := f.ofOrigin(lockns.Product, lockns.Resource)
		old, _, err := f.setLock("/g", short)
		must(t, err)
		f.advance(time.Hour + time.Microsecond)
		l, granted, err := f.setLock("/g", short)
		must(t, err)
		if !granted || l.ID == old.ID {
			t.Errorf("granted %v, lock %d after %d", granted, l.ID, old.ID)
		}
	})
	t.Run("refuses", func(t *testing.T) {
		bad := func(adjust func(*store.LockSpec)) store.LockSpec {
			s := spec
			s.Until, s.Timeout = time.Time{}, 0
			adjust(&s)
			return s
		}
		for name, s := range map[string]store.LockSpec{
			"another origin":     bad(func(s *store.LockSpec) { s.Origin = lockns.WebDAV }),
			"an end in the past": bad(func(s *store.LockSpec) { s.Until = f.now().Add(-time.Microsecond) }),
			"another's":          bad(func(s *store.LockSpec) { s.Holder = bob.ID }),
			"a long note":        bad(func(s *store.LockSpec) { s.Owner = strings.Repeat("x", store.MaxLockOwner+1) }),
		} {
			for _, path := range []string{"/d", "/"} { // one held, one not
				if _, _, err := f.setLock(path, s); !errors.Is(err, store.ErrBadLock) {
					t.Errorf("%s on %s: %v", name, path, err)
				}
			}
		}
		_, _, err := f.setLock("/none", bad(func(*store.LockSpec) {}))
		wantError(t, err, store.ErrNotFound)
	})
}

func TestEndLock(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	for _, path := range []string{"/d/webdav", "/d/product", "/d/wopi"} {
		f.put(path, "x")
	}
	f.mkdir("/other")
	held := wopiSpec("v")
	held.Holder = f.user.ID
	wopi, err := f.Lock(t.Context(), f.at("/d/wopi"), held, f.me())
	must(t, err)
	locks := map[string]lockns.Lock{
		"/d/webdav": f.lock("/d/webdav", lockns.Resource).Lock, "/d/product": f.productLock("/d/product", lockns.Resource), "/d/wopi": wopi.Lock,
	}
	nobodys := f.wopiLock("/", "v")
	within := func(path string) *store.Target { return new(f.at(path)) }
	for path, l := range locks {
		t.Run(path, func(t *testing.T) {
			before := f.generation(f.user)
			for name, c := range map[string]struct {
				within *store.Target
				claim  store.Claim
			}{
				"another's":                  {nil, store.Holder(bob.ID)},
				"nobody's":                   {nil, store.Holder(0)},
				"outside what is meant":      {within("/other"), f.me()},
				"of another workspace":       {new(at(bob, "/")), f.me()},
				"below what is not its root": {within("/none"), f.me()},
			} {
				_, err := f.EndLock(t.Context(), l.ID, c.within, c.claim)
				if !errors.Is(err, store.ErrNoSuchLock) || errors.Is(err, store.ErrNotFound) {
					t.Errorf("%s: %v", name, err)
				}
			}
			wantEqual(t, "generation of refusals", f.generation(f.user), before)
			got, err := f.EndLock(t.Context(), l.ID, within("/d"), f.me())
			must(t, err)
			wantEqual(t, "lock", got, l)
			wantEqual(t, "generation", f.generation(f.user), before+1)
			wantSlice(t, "locks", f.tokens(path), []string{})
			_, err = f.EndLock(t.Context(), l.ID, nil, f.me())
			wantError(t, err, store.ErrNoSuchLock)
		})
	}
	_, err = f.EndLock(t.Context(), nobodys.ID, nil, store.Holder(0))
	wantError(t, err, store.ErrNoSuchLock)
	wantSlice(t, "forced", f.audited("lock.force_released"), nil)

	t.Run("not by who may not write", func(t *testing.T) {
		a := f.account("phone", store.NewAccount{ReadOnly: true})
		l := f.lock("/d/webdav", lockns.Resource).Lock
		_, err := f.EndLock(t.Context(), l.ID, nil, byAccount{f.user.ID, a.ID})
		wantError(t, err, store.ErrForbidden)
		_, err = f.EndLock(t.Context(), l.ID, nil, refusing{f.me()})
		wantError(t, err, store.ErrPrecondition)
		wantSlice(t, "locks", f.tokens("/d/webdav"), []string{l.Token})
	})
}

// refusing is a claim whose condition is false.
type refusing struct{ store.Claim }

func (refusing) Precondition(store.View) error { return store.ErrPrecondition }

// TestEndLockStartsAgain is TestForceUnlockStartsAgain for the holder's own.
func TestEndLockStartsAgain(t *testing.T) {
	setup := func(t *testing.T) (*fixture, store.User, lockns.Lock) {
		f := newFixture(t)
		bob := f.addUser("bob")
		f.put("/f", "x")
		return f, bob, f.productLock("/f", lockns.Resource)
	}
	t.Run("in the workspace that the lock moved to", func(t *testing.T) {
		f, bob, l := setup(t)
		n := f.onLocated(func(n int) {
			if n == 1 {
				_, err := f.Move(t.Context(), f.at("/f"), at(bob, "/f"), store.MoveOptions{}, f.me())
				must(t, err)
			}
		})
		_, err := f.EndLock(t.Context(), l.ID, nil, f.me())
		must(t, err)
		wantEqual(t, "snapshots", *n, 2)
		wantSlice(t, "locks", tokensOf(f.entry(at(bob, "/f")).Locks), []string{})
	})
	for name, change := range map[string]string{
		"when it has another token":  `UPDATE resource_locks SET token = 'urn:x:other'`,
		"when it has another root":   `UPDATE resource_locks SET root_kind = 'workspace_root', root_file_id = NULL`,
		"when it has another holder": `UPDATE resource_locks SET holder_user_id = (SELECT id FROM users WHERE name = 'bob')`,
	} {
		t.Run(name, func(t *testing.T) {
			f, _, l := setup(t)
			n := f.onLocated(func(n int) {
				if n == 1 {
					f.sql(change)
				}
			})
			_, err := f.EndLock(t.Context(), l.ID, nil, f.me())
			if strings.Contains(name, "holder") {
				wantError(t, err, store.ErrNoSuchLock)
				wantEqual(t, "snapshots that found it", *n, 1)
				wantEqual(t, "rows", f.rows("resource_locks"), 1)
				return
			}
			must(t, err)
			wantEqual(t, "snapshots", *n, 2)
			wantEqual(t, "rows", f.rows("resource_locks"), 0)
		})
	}
}

func TestShowToken(t *testing.T) {
	f := newFixture(t)
	f.put("/f", "x")
	l := f.lock("/f", lockns.Resource).Lock
	before := f.generation(f.user)
	token, err := f.ShowToken(t.Context(), l.ID, admin)
	must(t, err)
	wantEqual(t, "token", token, l.Token)
	wantEqual(t, "generation", f.generation(f.user), before)
	wantSlice(t, "audited", f.audited("lock.token_shown"), []string{fmt.Sprintf(`lock.token_shown %s by 77 "root": /f, lock %d: webdav exclusive resource, holder %d`,
		f.user.Workspace(), l.ID, f.user.ID)})
	f.advance(time.Hour + time.Microsecond)
	_, err = f.ShowToken(t.Context(), l.ID, admin)
	wantError(t, err, store.ErrNotFound)
	wantEqual(t, "audited", len(f.audited("lock.token_shown")), 1)
}

// TestLocksCovering compares with what a listing says of each resource.
func TestLocksCovering(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.mkdir("/d/e")
	f.put("/d/e/f", "x")
	shared := func(path string, depth lockns.Depth) {
		spec := f.spec(depth)
		spec.Mode = lockns.Shared
		_, err := f.Lock(t.Context(), f.at(path), spec, f.me())
		must(t, err)
	}
	for range 2 {
		for _, path := range []string{"/d/e/f", "/d", "/", "/d/e"} {
			shared(path, lockns.Resource)
			shared(path, lockns.Infinity)
		}
	}
	over := f.spec(lockns.Resource)
	over.Mode, over.Timeout = lockns.Shared, time.Minute
	_, err := f.Lock(t.Context(), f.at("/d/e/f"), over, f.me())
	must(t, err)
	f.advance(time.Minute + time.Microsecond)
	for path, want := range map[string]int{"/": 4, "/d": 6, "/d/e": 8, "/d/e/f": 10} {
		for limit := range 12 {
			var got []lockns.Lock
			after := int64(0)
			for {
				page, err := f.LocksCovering(t.Context(), f.at(path), after, limit)
				must(t, err)
				for _, l := range page {
					got = append(got, l.Lock)
					if l.At != l.Path || l.HolderName != "ada" {
						t.Errorf("%s: %+v", path, l)
					}
					after = l.ID
				}
				if limit == 0 || len(page) < limit {
					break
				}
			}
			wantEqual(t, "locks on "+path, len(got), want)
			wantSlice(t, "locks on "+path, tokensOf(got), f.tokens(path))
		}
	}
	target := f.at("/f")
	target.Base = f.stat("/d/e").Place.Root.ID
	list, err := f.LocksCovering(t.Context(), target, 0, 0)
	must(t, err)
	var seen []string
	for _, l := range list[:5] {
		seen = append(seen, l.At)
	}
	wantSlice(t, "told from a folder", seen, []string{"/f", "/f", "", "", "/"})
	_, err = f.LocksCovering(t.Context(), f.at("/none"), 0, 0)
	wantError(t, err, store.ErrNotFound)
}
