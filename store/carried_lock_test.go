package store_test

import (
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// TestCarriedLocks: locks that stay with their resource through a move.
func TestCarriedLocks(t *testing.T) {
	t.Run("no lock comes to below one that excludes it", func(t *testing.T) {
		f := newFixture(t)
		f.mkdir("/d")
		f.put("/f", "x")
		deep, l := f.lock("/d", lockns.Infinity).Lock, f.productLock("/f", lockns.Resource)
		_, err := f.Move(t.Context(), f.at("/f"), f.at("/d/f"), store.MoveOptions{}, with{f.user.ID, []string{deep.Token}})
		wantLocked(t, err, l.Token)
	})
	t.Run("the path shown is the new one however the old was spelled", func(t *testing.T) {
		f := newFixture(t)
		f.mkdir("/\u00e9")
		f.put("/\u00e9/f", "x")
		f.productLock("/e\u0301/f", lockns.Resource)
		f.move("/\u00e9", "/new")
		wantEqual(t, "path", f.entry(f.at("/new/f")).Locks[0].Path, "/new/f")
	})
	t.Run("every lock that cannot leave is named", func(t *testing.T) {
		f := newFixture(t)
		bob := f.addUser("bob")
		f.mkdir("/d")
		claim := claimOf{f.user.ID, lockns.WOPI, nil}
		for _, path := range []string{"/d/1", "/d/2"} {
			f.put(path, "x")
			claim.tokens = append(claim.tokens, f.wopiLock(path, "v").Token)
		}
		_, err := f.Move(t.Context(), f.at("/d"), at(bob, "/d"), store.MoveOptions{}, claim)
		wantError(t, err, store.ErrForeignLock)
		wantLocked(t, err, claim.tokens...)
	})
	t.Run("the locks in the way of both workspaces are named", func(t *testing.T) {
		f := newFixture(t)
		bob := f.addUser("bob")
		f.put("/f", "x")
		here := f.lock("/f", lockns.Resource).Lock
		there, err := f.Lock(t.Context(), at(bob, "/"), specOf(bob, lockns.Infinity), store.Holder(bob.ID))
		must(t, err)
		_, err = f.Move(t.Context(), f.at("/f"), at(bob, "/f"), store.MoveOptions{}, f.me())
		wantLocked(t, err, here.Token, there.Lock.Token)
	})
}

// claimOf submits tokens of one origin.
type claimOf struct {
	user   int64
	origin lockns.Origin
	tokens []string
}

func (c claimOf) Prove(store.View) (lockns.Credentials, error) {
	cred := lockns.Credentials{User: c.user}
	for _, token := range c.tokens {
		cred.Tokens = append(cred.Tokens, lockns.Token{Value: token, Origin: c.origin})
	}
	return cred, nil
}
func (claimOf) Precondition(store.View) error { return nil }

// TestRefreshToTheSameEnd: the generation moves only when the projection does.
func TestRefreshToTheSameEnd(t *testing.T) {
	f := newFixture(t)
	l := f.lock("/f", lockns.Resource).Lock
	before := f.generation(f.user)
	_, err := f.RefreshLock(t.Context(), f.at("/f"), store.ByToken(l.Token), time.Hour, f.me())
	must(t, err)
	wantEqual(t, "generation", f.generation(f.user), before)
}
