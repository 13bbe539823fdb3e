package store_test

import (
	"errors"
	"strings"
	"testing"

	"holdfast/lockns"
	"holdfast/store"
)

// TestBetweenWorkspaces copies and moves from ada's workspace to bob's. What
// ada may do in bob's is decided above the store.
func TestBetweenWorkspaces(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"copy", "move"} {
		t.Run(op+" takes a tree to the other workspace", func(t *testing.T) {
			f := newFixture(t)
			bob := f.addUser("bob")
			f.mkdir("/d")
			f.mkdir("/d/e")
			content := strings.Repeat("x", 100)
			f.put("/d/e/f", content)
			f.setProp("/d/e/f", "a", "1")
			from := f.stat("/d/e/f")
			created, err := f.transferAs(op, f.at("/d"), at(bob, "/new"), false, f.me())
			must(t, err)
			wantEqual(t, "created", created, true)
			to := f.entry(at(bob, "/new/e/f"))
			wantEqual(t, "keeps its identity", to.Place.Root == from.Place.Root, op == "move")
			wantEqual(t, "keeps its ETag", to.ETag == from.ETag, op == "move")
			wantEqual(t, "properties", len(to.Props), 1)
			wantEqual(t, "objects", f.objects(), 1)
			wantEqual(t, "used there", f.used(bob), 100+propBytes)
			wantEqual(t, "used here", f.used(f.user), map[string]int64{"copy": 100 + propBytes, "move": 0}[op])
			f.locksIn(t, bob, "/new/e/f")
		})
		t.Run(op+" takes a file to the other workspace", func(t *testing.T) {
			f := newFixture(t)
			bob := f.addUser("bob")
			f.put("/f", "12345")
			_, err := f.transferAs(op, f.at("/f"), at(bob, "/f"), false, f.me())
			must(t, err)
			wantEqual(t, "used there", f.used(bob), 5)
			wantEqual(t, "used here", f.used(f.user), map[string]int64{"copy": 5, "move": 0}[op])
		})
		t.Run(op+" replaces and counts what it replaced", func(t *testing.T) {
			f := newFixture(t)
			bob := f.addUser("bob")
			f.put("/f", "12345")
			_, _, err := f.Put(t.Context(), at(bob, "/f"), file("old, 8 b"), store.Holder(bob.ID))
			must(t, err)
			_, err = f.transferAs(op, f.at("/f"), at(bob, "/f"), false, f.me())
			must(t, err)
			wantEqual(t, "used there", f.used(bob), 5)
		})
		t.Run(op+" is held to the other workspace's quota", func(t *testing.T) {
			f := newFixture(t)
			bob := f.addUser("bob")
			quota := int64(9)
			_, err := f.SetUser(t.Context(), "bob", store.UserPatch{Quota: &quota})
			must(t, err)
			f.mkdir("/d")
			f.put("/d/f", "1234567890")
			for _, path := range []string{"/d", "/d/f"} {
				_, err = f.transferAs(op, f.at(path), at(bob, "/new"), false, f.me())
				wantError(t, err, store.ErrQuota)
			}
			wantEqual(t, "content", f.read("/d/f"), "1234567890")
			wantEqual(t, "used there", f.used(bob), 0)
		})
		t.Run(op+" is held to the other workspace's locks", func(t *testing.T) {
			f := newFixture(t)
			bob := f.addUser("bob")
			f.put("/f", "x")
			l, err := f.Lock(t.Context(), at(bob, "/"), specOf(bob, lockns.Infinity), store.Holder(bob.ID))
			must(t, err)
			_, err = f.transferAs(op, f.at("/f"), at(bob, "/f"), false, f.me())
			wantLocked(t, err, l.Lock.Token)
		})
	}
}

// locksIn makes sure that a moved or copied resource can be locked, found and
// unlocked where it is now.
func (f *fixture) locksIn(t *testing.T, u store.User, path string) {
	t.Helper()
	before := [2]int64{f.generation(f.user), f.generation(u)}
	l, err := f.Lock(t.Context(), at(u, path), specOf(u, lockns.Resource), store.Holder(u.ID))
	must(t, err)
	wantSlice(t, "locks", tokensOf(f.entry(at(u, path)).Locks), []string{l.Lock.Token})
	must(t, f.Unlock(t.Context(), at(u, path), store.ByToken(l.Lock.Token), store.Holder(u.ID)))
	wantEqual(t, "generations", [2]int64{f.generation(f.user), f.generation(u)}, [2]int64{before[0], before[1] + 2})
}

func TestMoveBetweenWorkspacesLocks(t *testing.T) {
	for _, c := range []struct {
		name    string
		origin  lockns.Origin
		byOther bool // somebody else holds the lock
		foreign bool // want ErrForeignLock
		goes    bool // the lock goes along
	}{
		{"a WebDAV lock ends", lockns.WebDAV, false, false, false},
		{"the mover's product lock goes along", lockns.Product, false, false, true},
		{"a WOPI lock forbids it", lockns.WOPI, false, true, false},
		{"another's product lock stands in the way", lockns.Product, true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			bob := f.addUser("bob")
			f.mkdir("/d")
			f.put("/d/f", "x")
			spec := f.spec(lockns.Resource)
			spec.Origin = c.origin
			if c.byOther {
				spec.Holder = bob.ID
			}
			l, err := f.Lock(t.Context(), f.at("/d/f"), spec, store.Holder(spec.Holder))
			must(t, err)
			before := [2]int64{f.generation(f.user), f.generation(bob)}
			_, err = f.Move(t.Context(), f.at("/d"), at(bob, "/new"), store.MoveOptions{}, opensAll{f.user.ID, l.Lock.Token})
			if c.foreign || c.byOther {
				wantEqual(t, "is ErrForeignLock", errors.Is(err, store.ErrForeignLock), c.foreign)
				wantLocked(t, err, l.Lock.Token)
				wantEqual(t, "content", f.read("/d/f"), "x")
				wantEqual(t, "generations", [2]int64{f.generation(f.user), f.generation(bob)}, before)
				return
			}
			must(t, err)
			locks := f.entry(at(bob, "/new/f")).Locks
			wantEqual(t, "goes along", len(locks) == 1, c.goes)
			if c.goes {
				wantEqual(t, "token", locks[0].Token, l.Lock.Token)
				wantEqual(t, "generation there", f.generation(bob), before[1]+1)
			}
			wantEqual(t, "generation here", f.generation(f.user), before[0]+1)
		})
	}
}

// opensAll submits a token for every door.
type opensAll struct {
	user  int64
	token string
}

func (o opensAll) Prove(store.View) (lockns.Credentials, error) {
	c := lockns.Credentials{User: o.user}
	for _, origin := range []lockns.Origin{lockns.WebDAV, lockns.WOPI} {
		c.Tokens = append(c.Tokens, lockns.Token{Value: o.token, Origin: origin})
	}
	return c, nil
}
func (opensAll) Precondition(store.View) error { return nil }

// TestWOPILockMovesInside: inside its workspace a WOPI lock stays with its file.
func TestWOPILockMovesInside(t *testing.T) {
	f := newFixture(t)
	f.put("/f", "x")
	spec := f.spec(lockns.Resource)
	spec.Origin, spec.Holder = lockns.WOPI, 0
	l, err := f.Lock(t.Context(), f.at("/f"), spec, f.me())
	must(t, err)
	_, err = f.Move(t.Context(), f.at("/f"), f.at("/g"), store.MoveOptions{}, f.me())
	wantLocked(t, err, l.Lock.Token)
	_, err = f.Move(t.Context(), f.at("/f"), f.at("/g"), store.MoveOptions{}, opensAll{f.user.ID, l.Lock.Token})
	must(t, err)
	wantSlice(t, "locks", f.tokens("/g"), []string{l.Lock.Token})
}

func TestMoveBetweenWorkspacesTooMany(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	f.fill("/d", 10_000)
	f.mkdir("/d/one-more")
	_, err := f.Move(t.Context(), f.at("/d"), at(bob, "/d"), store.MoveOptions{}, f.me())
	wantError(t, err, store.ErrTooMany)
	f.move("/d", "/e") // inside its workspace there is no limit
	f.remove("/e/one-more")
	_, err = f.Move(t.Context(), f.at("/e"), at(bob, "/d"), store.MoveOptions{}, f.me())
	must(t, err)
	wantEqual(t, "files there", f.number(`SELECT count(*) FROM files f JOIN resource_lock_namespaces n ON n.id = f.namespace_id WHERE n.workspace_id = ?`, bob.ID), 10_000)
}

// TestTwoWorkspacesAtOnce moves both ways at the same time: namespaces are taken
// in key order, so neither waits for the other for ever.
func TestTwoWorkspacesAtOnce(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.put("/f", "ada")
	_, _, err := f.Put(t.Context(), at(bob, "/f"), file("bob"), store.Holder(bob.ID))
	must(t, err)
	f.SetHook(store.Barrier(store.Queued, 2))
	errs := together(
		func() error {
			_, err := f.Move(t.Context(), f.at("/f"), at(bob, "/from-ada"), store.MoveOptions{}, f.me())
			return err
		},
		func() error {
			_, err := f.Move(t.Context(), at(bob, "/f"), f.at("/from-bob"), store.MoveOptions{}, f.me())
			return err
		},
	)
	must(t, errors.Join(errs...))
	wantEqual(t, "content", f.read("/from-bob"), "bob")
}

// together runs functions at the same time and returns their errors in order.
func together(fns ...func() error) []error {
	errs := make([]error, len(fns))
	done := make(chan struct{})
	for i, fn := range fns {
		go func() {
			errs[i] = fn()
			done <- struct{}{}
		}()
	}
	for range fns {
		<-done
	}
	return errs
}
