package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// ofOrigin is an exclusive lock for the first user, through any door.
func (f *fixture) ofOrigin(origin lockns.Origin, depth lockns.Depth) store.LockSpec {
	spec := f.spec(depth)
	spec.Origin = origin
	return spec
}

// productLock acquires a product lock without an end for the first user.
func (f *fixture) productLock(path string, depth lockns.Depth) lockns.Lock {
	f.t.Helper()
	spec := f.ofOrigin(lockns.Product, depth)
	spec.Timeout = 0
	out, err := f.Lock(f.t.Context(), f.at(path), spec, f.me())
	must(f.t, err)
	return out.Lock
}

// wopiLock acquires a WOPI lock with an opaque value, held by nobody.
func (f *fixture) wopiLock(path, value string) lockns.Lock {
	f.t.Helper()
	out, err := f.Lock(f.t.Context(), f.at(path), wopiSpec(value), f.me())
	must(f.t, err)
	return out.Lock
}

func wopiSpec(value string) store.LockSpec {
	return store.LockSpec{
		Depth: lockns.Resource, Mode: lockns.Exclusive, Origin: lockns.WOPI, Owner: value, Timeout: 30 * time.Minute,
	}
}

// opaque is a claim as a WOPI client makes it: the value it sent is compared
// with that of the lock as the transaction sees it, and the token of the lock
// that has it is what proves.
type opaque struct {
	user   int64
	target store.Target
	value  string
}

func (o opaque) Prove(v store.View) (lockns.Credentials, error) {
	c := lockns.Credentials{User: o.user}
	for _, l := range v.Rooted(o.target) {
		if l.Origin == lockns.WOPI && l.Owner == o.value {
			c.Tokens = append(c.Tokens, lockns.Token{Value: l.Token, Origin: lockns.WOPI})
		}
	}
	return c, nil
}

func (opaque) Precondition(store.View) error { return nil }

// wopi is the first user's claim with an opaque value for a path.
func (f *fixture) wopi(path, value string) store.Claim { return opaque{f.user.ID, f.at(path), value} }

func TestProductLock(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	f.put("/d/f", "x")
	until := f.now().Add(time.Minute)
	for _, c := range []struct {
		name, path string
		depth      lockns.Depth
		until      time.Time
		reaches    bool // the file
	}{
		{"a file without an end", "/d/f", lockns.Resource, time.Time{}, true},
		{"a file until a time", "/d/f", lockns.Resource, until, true},
		{"a folder alone", "/d", lockns.Resource, time.Time{}, false},
		{"a folder and its members", "/d", lockns.Infinity, until, true},
		{"the workspace root alone", "/", lockns.Resource, until, false},
		{"the whole workspace", "/", lockns.Infinity, time.Time{}, true},
	} {
		t.Run("locks "+c.name, func(t *testing.T) {
			spec := f.ofOrigin(lockns.Product, c.depth)
			spec.Timeout, spec.Until, spec.Owner = 0, c.until, "in review"
			out, err := f.Lock(t.Context(), f.at(c.path), spec, f.me())
			must(t, err)
			wantEqual(t, "end", out.Lock.ExpiresAt, c.until)
			wantEqual(t, "read back", f.entry(f.at(c.path)).Locks[0], out.Lock)
			wantEqual(t, "note", out.Lock.Owner, "in review")
			put := func(c store.Claim) error {
				_, _, err := f.Put(t.Context(), f.at("/d/f"), file("y"), c)
				return err
			}
			must(t, put(f.me())) // its holder opens it, without a token
			others := put(with{bob.ID, []string{out.Lock.Token}})
			if c.reaches {
				wantLocked(t, others, out.Lock.Token)
			} else {
				must(t, others)
			}
			wantError(t, f.Unlock(t.Context(), f.at(c.path), store.ByOrigin(lockns.Product), store.Holder(bob.ID)), store.ErrNotHolder)
			must(t, f.Unlock(t.Context(), f.at(c.path), store.ByOrigin(lockns.Product), f.me()))
			wantEqual(t, "rows", f.rows("resource_locks"), 0)
		})
	}
}

func TestBadLock(t *testing.T) {
	f := newFixture(t)
	f.put("/f", "x")
	product, webdav, wopi := f.ofOrigin(lockns.Product, lockns.Resource), f.spec(lockns.Resource), wopiSpec("v")
	for _, c := range []struct {
		name string
		spec store.LockSpec
		bad  func(*store.LockSpec)
	}{
		{"a shared product lock", product, func(s *store.LockSpec) { s.Mode = lockns.Shared }},
		{"a product lock of nobody", product, func(s *store.LockSpec) { s.Holder = 0 }},
		{"a note that is too long", product, func(s *store.LockSpec) { s.Owner = strings.Repeat("x", 1025) }},
		{"a note that is not UTF-8", product, func(s *store.LockSpec) { s.Owner = "\xff" }},
		{"an opaque value that is too long", wopi, func(s *store.LockSpec) { s.Owner = strings.Repeat("x", 1025) }},
		{"an opaque value with a NUL", wopi, func(s *store.LockSpec) { s.Owner = "a\x00b" }},
		{"an end in the past", product, func(s *store.LockSpec) { s.Until = f.now().Add(-time.Microsecond) }},
		{"an end in the past in spite of a timeout", webdav, func(s *store.LockSpec) { s.Until = f.now().Add(-time.Hour) }},
		{"a timeout in the past", webdav, func(s *store.LockSpec) { s.Timeout = -time.Second }},
		{"a lock for somebody who does not ask", webdav, func(s *store.LockSpec) { s.Holder++ }},
		{"a product lock for somebody who does not ask", product, func(s *store.LockSpec) { s.Holder++ }},
		{"no depth", webdav, func(s *store.LockSpec) { s.Depth = "" }},
		{"an unknown mode", webdav, func(s *store.LockSpec) { s.Mode = "update" }},
		{"an unknown origin", webdav, func(s *store.LockSpec) { s.Origin = "nfs" }},
	} {
		t.Run(c.name+" is refused", func(t *testing.T) {
			c.bad(&c.spec)
			before := f.state()
			_, err := f.Lock(t.Context(), f.at("/f"), c.spec, f.me())
			wantError(t, err, store.ErrBadLock)
			_, err = f.Lock(t.Context(), f.at("/new"), c.spec, f.me())
			wantEqual(t, "refused where nothing is", errors.Is(err, store.ErrBadLock) || errors.Is(err, store.ErrNotFound), true)
			_, err = f.Relock(t.Context(), f.at("/f"), store.ByOrigin(c.spec.Origin), c.spec, f.me())
			wantEqual(t, "refused where no lock is", errors.Is(err, store.ErrBadLock) || errors.Is(err, store.ErrNoSuchLock), true)
			wantEqual(t, "state", f.state(), before)
		})
	}
	t.Run("an end that is now is granted, and wins over a timeout", func(t *testing.T) {
		defer f.sql(`DELETE FROM resource_locks`)
		product.Until, product.Owner = f.now(), strings.Repeat("x", 1024)
		out, err := f.Lock(t.Context(), f.at("/f"), product, f.me())
		must(t, err)
		wantEqual(t, "end", out.Lock.ExpiresAt, f.now())
		wantSlice(t, "locks", f.tokens("/f"), []string{out.Lock.Token})
		f.advance(time.Microsecond)
		wantSlice(t, "locks", f.tokens("/f"), []string{})
	})
	t.Run("a refresh to an end in the past is refused", func(t *testing.T) {
		l := f.lock("/f", lockns.Resource).Lock
		_, err := f.RefreshLock(t.Context(), f.at("/f"), store.ByToken(l.Token), -time.Second, f.me())
		wantError(t, err, store.ErrBadLock)
		wantEqual(t, "lock", f.entry(f.at("/f")).Locks[0], l)
	})
}

// TestLockNothing: what is not there cannot be locked, nor its locks changed,
// through any door; only WebDAV creates a file.
func TestLockNothing(t *testing.T) {
	f := newFixture(t)
	nowhere := lockns.Workspace{Kind: lockns.Team, ID: 99}
	before := f.state()
	for name, target := range map[string]store.Target{
		"a path": f.at("/no"), "a path without a parent": f.at("/no/no"),
		"a workspace's root": {Workspace: nowhere}, "a workspace": {Workspace: nowhere, Path: store.ParsePath("/f")},
		"a base": {Workspace: f.user.Workspace(), Base: 999, Path: store.ParsePath("/f")},
	} {
		t.Run(name+" that is not there", func(t *testing.T) {
			for _, origin := range []lockns.Origin{lockns.Product, lockns.WOPI, lockns.WebDAV} {
				spec := f.ofOrigin(origin, lockns.Resource)
				spec.MustExist = origin == lockns.WebDAV // the others need no telling
				_, err := f.Lock(t.Context(), target, spec, f.me())
				if origin != lockns.WebDAV || !errors.Is(err, store.ErrNoParent) {
					wantError(t, err, store.ErrNotFound)
				}
				for _, which := range []store.Which{store.ByOrigin(origin), store.ByToken("urn:uuid:none")} {
					_, err = f.RefreshLock(t.Context(), target, which, time.Minute, f.me())
					wantError(t, err, store.ErrNotFound)
					_, err = f.Relock(t.Context(), target, which, spec, f.me())
					wantError(t, err, store.ErrNotFound)
					wantError(t, f.Unlock(t.Context(), target, which, f.me()), store.ErrNotFound)
				}
			}
			_, err := f.Locks(t.Context(), store.LockFilter{Under: &target})
			wantError(t, err, store.ErrNotFound)
			wantEqual(t, "state", f.state(), before)
		})
	}
	_, err := f.Locks(t.Context(), store.LockFilter{Workspace: &nowhere})
	wantError(t, err, store.ErrNotFound)
	_, err = f.ForceUnlock(t.Context(), 99, store.Actor{})
	wantError(t, err, store.ErrNotFound)
	wantEqual(t, "state", f.state(), before)
}

// TestOriginsKeepApart: whoever proves everything still reaches a lock only
// through its own door.
func TestOriginsKeepApart(t *testing.T) {
	f := newFixture(t)
	f.put("/f", "x")
	operations := map[string]func(store.Which, lockns.Origin, store.Claim) error{
		"refresh": func(w store.Which, _ lockns.Origin, c store.Claim) error {
			_, err := f.RefreshLock(t.Context(), f.at("/f"), w, time.Hour, c)
			return err
		},
		"relock": func(w store.Which, o lockns.Origin, c store.Claim) error {
			_, err := f.Relock(t.Context(), f.at("/f"), w, f.ofOrigin(o, lockns.Resource), c)
			return err
		},
		"unlock": func(w store.Which, _ lockns.Origin, c store.Claim) error {
			return f.Unlock(t.Context(), f.at("/f"), w, c)
		},
	}
	origins := []lockns.Origin{lockns.Product, lockns.WebDAV, lockns.WOPI}
	for _, own := range origins {
		for name, operation := range operations {
			for _, door := range append(origins, "token") {
				t.Run(name+" through "+string(door)+" of a "+string(own)+" lock", func(t *testing.T) {
					defer f.sql(`DELETE FROM resource_locks`)
					out, err := f.Lock(t.Context(), f.at("/f"), f.ofOrigin(own, lockns.Resource), f.me())
					must(t, err)
					which, origin := store.ByOrigin(door), door
					if door == "token" {
						which, origin = store.ByToken(out.Lock.Token), lockns.WebDAV
					}
					before := f.state()
					err = operation(which, origin, opensAll{f.user.ID, out.Lock.Token})
					if origin == own {
						must(t, err)
						return
					}
					wantError(t, err, store.ErrNoSuchLock)
					wantEqual(t, "state", f.state(), before)
					wantEqual(t, "lock", f.entry(f.at("/f")).Locks[0], out.Lock)
				})
			}
		}
	}
	t.Run("a lock becomes none of another origin", func(t *testing.T) {
		l := f.wopiLock("/f", "v")
		_, err := f.Relock(t.Context(), f.at("/f"), store.ByOrigin(lockns.WOPI), f.ofOrigin(lockns.Product, lockns.Resource), f.wopi("/f", "v"))
		wantError(t, err, store.ErrBadLock)
		wantSlice(t, "locks", f.tokens("/f"), []string{l.Token})
	})
	t.Run("of two locks on one resource only that of the origin ends", func(t *testing.T) {
		defer f.sql(`DELETE FROM resource_locks`)
		f.sql(`DELETE FROM resource_locks`)
		var tokens []string
		for _, origin := range []lockns.Origin{lockns.WebDAV, lockns.WOPI} {
			spec := f.ofOrigin(origin, lockns.Resource)
			spec.Mode, spec.Owner = lockns.Shared, "v"
			out, err := f.Lock(t.Context(), f.at("/f"), spec, f.me())
			must(t, err)
			tokens = append(tokens, out.Lock.Token)
		}
		must(t, f.Unlock(t.Context(), f.at("/f"), store.ByOrigin(lockns.WOPI), f.wopi("/f", "v")))
		wantSlice(t, "locks", f.tokens("/f"), tokens[:1])
	})
}

// TestForeignTokens: the token of another door's lock opens nothing when it is
// submitted as WebDAV's, whoever submits it.
func TestForeignTokens(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.put("/wopi", "x")
	f.put("/product", "x")
	for path, l := range map[string]lockns.Lock{"/wopi": f.wopiLock("/wopi", "v"), "/product": f.productLock("/product", lockns.Resource)} {
		for _, user := range []store.User{f.user, bob} {
			if l.Holder == user.ID {
				continue // opened without any token
			}
			t.Run(user.Name+" cannot open "+path, func(t *testing.T) {
				claim := with{user.ID, []string{l.Token}}
				_, _, err := f.Put(t.Context(), f.at(path), file("y"), claim)
				wantLocked(t, err, l.Token)
				wantLocked(t, f.Remove(t.Context(), f.at(path), claim), l.Token)
				_, err = f.Move(t.Context(), f.at(path), f.at("/new"), store.MoveOptions{}, claim)
				wantLocked(t, err, l.Token)
				wantError(t, f.Unlock(t.Context(), f.at(path), store.ByToken(l.Token), claim), store.ErrNoSuchLock)
			})
		}
	}
}

func TestWOPILock(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.put("/f", "x")
	l := f.wopiLock("/f", "one")
	theirs := opaque{bob.ID, f.at("/f"), "one"}
	put := func(c store.Claim) error {
		_, _, err := f.Put(t.Context(), f.at("/f"), file("y"), c)
		return err
	}
	byWOPI := store.ByOrigin(lockns.WOPI)
	t.Run("its opaque value opens it for whoever sends it", func(t *testing.T) {
		wantLocked(t, put(f.wopi("/f", "two")), l.Token)
		wantLocked(t, put(f.me()), l.Token)
		must(t, put(f.wopi("/f", "one")))
		must(t, put(theirs))
	})
	t.Run("its opaque value is not a token", func(t *testing.T) {
		wantLocked(t, put(opensAll{f.user.ID, "one"}), l.Token)
	})
	t.Run("another value neither refreshes nor relocks nor unlocks", func(t *testing.T) {
		before := f.state()
		_, err := f.RefreshLock(t.Context(), f.at("/f"), byWOPI, time.Hour, f.wopi("/f", "two"))
		wantError(t, err, store.ErrNotHolder)
		_, err = f.Relock(t.Context(), f.at("/f"), byWOPI, wopiSpec("three"), f.wopi("/f", "two"))
		wantError(t, err, store.ErrNotHolder)
		wantError(t, f.Unlock(t.Context(), f.at("/f"), byWOPI, f.wopi("/f", "two")), store.ErrNotHolder)
		wantEqual(t, "state", f.state(), before)
		wantEqual(t, "lock", f.entry(f.at("/f")).Locks[0], l)
	})
	t.Run("refresh gives it a new end and nothing else", func(t *testing.T) {
		f.advance(time.Minute)
		out, err := f.RefreshLock(t.Context(), f.at("/f"), byWOPI, 30*time.Minute, theirs)
		must(t, err)
		l.ExpiresAt = f.now().Add(30 * time.Minute)
		wantEqual(t, "lock", out.Lock, l)
		wantEqual(t, "stored lock", f.entry(f.at("/f")).Locks[0], l)
	})
	t.Run("relock replaces it at once", func(t *testing.T) {
		before := f.generation(f.user)
		out, err := f.Relock(t.Context(), f.at("/f"), byWOPI, wopiSpec("two"), theirs)
		must(t, err)
		wantEqual(t, "value", out.Lock.Owner, "two")
		wantEqual(t, "is another lock", out.Lock.ID != l.ID && out.Lock.Token != l.Token, true)
		wantEqual(t, "generation", f.generation(f.user), before+1)
		wantSlice(t, "locks", f.tokens("/f"), []string{out.Lock.Token})
		wantLocked(t, put(theirs), out.Lock.Token)
		must(t, put(f.wopi("/f", "two")))
	})
	t.Run("unlock ends it", func(t *testing.T) {
		must(t, f.Unlock(t.Context(), f.at("/f"), byWOPI, f.wopi("/f", "two")))
		wantEqual(t, "rows", f.rows("resource_locks"), 0)
		wantError(t, f.Unlock(t.Context(), f.at("/f"), byWOPI, f.wopi("/f", "two")), store.ErrNoSuchLock)
	})
	t.Run("expired it is not found by its value", func(t *testing.T) {
		f.wopiLock("/f", "old")
		f.advance(30 * time.Minute) // its end, where it still is
		_, err := f.RefreshLock(t.Context(), f.at("/f"), byWOPI, time.Minute, f.wopi("/f", "old"))
		must(t, err)
		f.advance(time.Minute + time.Microsecond)
		_, err = f.RefreshLock(t.Context(), f.at("/f"), byWOPI, time.Minute, f.wopi("/f", "old"))
		wantError(t, err, store.ErrNoSuchLock)
		_, err = f.Relock(t.Context(), f.at("/f"), byWOPI, wopiSpec("new"), f.wopi("/f", "old"))
		wantError(t, err, store.ErrNoSuchLock)
		f.wopiLock("/f", "new")
	})
}

// TestRelockIsWhole: a Relock whose new lock is not granted leaves the old one.
func TestRelockIsWhole(t *testing.T) {
	f := newFixture(t, func(o *store.Options) { o.LocksPerUser = 2 })
	f.mkdir("/d")
	f.put("/d/f", "x")
	outer, inner := f.productLock("/d", lockns.Resource), f.productLock("/d/f", lockns.Resource)
	relock := func(depth lockns.Depth) (store.Locked, error) {
		return f.Relock(t.Context(), f.at("/d"), store.ByOrigin(lockns.Product), f.ofOrigin(lockns.Product, depth), f.me())
	}
	t.Run("a conflict keeps the old lock", func(t *testing.T) {
		before := f.state()
		_, err := relock(lockns.Infinity)
		wantConflict(t, err, []string{}, []string{inner.Token})
		wantEqual(t, "lock", f.entry(f.at("/d")).Locks[0], outer)
		wantEqual(t, "state", f.state(), before)
	})
	t.Run("the old lock counts against no quota", func(t *testing.T) {
		out, err := relock(lockns.Resource)
		must(t, err)
		wantSlice(t, "locks", f.tokens("/d"), []string{out.Lock.Token})
	})
	t.Run("by a token WebDAV's is replaced where it covers", func(t *testing.T) {
		must(t, f.Unlock(t.Context(), f.at("/d/f"), store.ByOrigin(lockns.Product), f.me()))
		l := f.lock("/d/f", lockns.Resource).Lock
		out, err := f.Relock(t.Context(), f.at("/d/f"), store.ByToken(l.Token), f.spec(lockns.Resource), f.me())
		must(t, err)
		wantSlice(t, "locks", f.tokens("/d/f"), []string{out.Lock.Token})
	})
}
