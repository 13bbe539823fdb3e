package store_test

import (
	"context"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// byAccount is the claim of a user who came by an app password.
type byAccount struct{ user, account int64 }

func (b byAccount) Prove(store.View) (lockns.Credentials, error) {
	return lockns.Credentials{User: b.user, Account: b.account}, nil
}

func (byAccount) Precondition(store.View) error { return nil }

// accountChanges are done to /f, /d/f or /n, which is not there, with the token
// of a lock on /l where one is needed.
var accountChanges = map[string]func(f *fixture, token string, c store.Claim) error{
	"a new content": func(f *fixture, _ string, c store.Claim) error {
		_, _, err := f.Put(f.t.Context(), f.at("/f"), file("as long as an object"), c)
		return err
	},
	"a new file": func(f *fixture, _ string, c store.Claim) error {
		_, _, err := f.Put(f.t.Context(), f.at("/n"), file("as long as an object"), c)
		return err
	},
	"a new folder": func(f *fixture, _ string, c store.Claim) error {
		_, err := f.Mkdir(f.t.Context(), f.at("/n"), store.Patch{}, c)
		return err
	},
	"a property": func(f *fixture, _ string, c store.Claim) error {
		_, err := f.PatchProps(f.t.Context(), f.at("/f"), store.Patch{Props: []store.PropOp{prop("a", "1")}}, c)
		return err
	},
	"a removal": func(f *fixture, _ string, c store.Claim) error { return f.Remove(f.t.Context(), f.at("/d"), c) },
	"a move": func(f *fixture, _ string, c store.Claim) error {
		_, err := f.Move(f.t.Context(), f.at("/d"), f.at("/f"), store.MoveOptions{}, c)
		return err
	},
	"a copy": func(f *fixture, _ string, c store.Claim) error {
		_, _, err := f.Copy(f.t.Context(), f.at("/d"), f.at("/n"), store.CopyOptions{}, c)
		return err
	},
	"a lock": func(f *fixture, _ string, c store.Claim) error {
		_, err := f.Lock(f.t.Context(), f.at("/f"), f.spec(lockns.Resource), c)
		return err
	},
	"a lock where nothing is": func(f *fixture, _ string, c store.Claim) error {
		_, err := f.Lock(f.t.Context(), f.at("/n"), f.spec(lockns.Resource), c)
		return err
	},
	"a refresh": func(f *fixture, token string, c store.Claim) error {
		_, err := f.RefreshLock(f.t.Context(), f.at("/l"), store.ByToken(token), time.Minute, c)
		return err
	},
	"another lock": func(f *fixture, token string, c store.Claim) error {
		_, err := f.Relock(f.t.Context(), f.at("/l"), store.ByToken(token), f.spec(lockns.Resource), c)
		return err
	},
	"an unlock": func(f *fixture, token string, c store.Claim) error {
		return f.Unlock(f.t.Context(), f.at("/l"), store.ByToken(token), c)
	},
}

// TestAccountEndsUnderWay: a change that was let in by an app password is decided
// by what that is when the change is made, not when it came.
func TestAccountEndsUnderWay(t *testing.T) {
	for op, change := range accountChanges {
		t.Run(op, func(t *testing.T) {
			f := newFixture(t)
			f.mkdir("/d")
			f.put("/f", "old")
			f.put("/d/f", "x")
			token := f.lock("/l", lockns.Resource).Lock.Token
			f.account("other", store.NewAccount{})
			for _, c := range []struct {
				end     string
				do      func(context.Context, store.Account) error
				allowed bool
			}{
				{"removed", func(ctx context.Context, a store.Account) error {
					return f.RemoveAccount(ctx, "ada", a.Name, boss)
				}, false},
				{"expired", func(_ context.Context, a store.Account) error {
					f.clock.Store(a.ExpiresAt.UnixMicro() + 1)
					return nil
				}, false},
				{"made read-only", func(_ context.Context, a store.Account) error {
					f.sql(`UPDATE accounts SET read_only = 1 WHERE id = ?`, a.ID)
					return nil
				}, false},
				{"at its very end, with another one removed", func(ctx context.Context, a store.Account) error {
					f.clock.Store(a.ExpiresAt.UnixMicro())
					return f.RemoveAccount(ctx, "ada", "other", boss)
				}, true},
			} {
				a := f.account(c.end, store.NewAccount{ExpiresAt: f.now().Add(time.Minute)})
				before, met := f.state(), false
				f.meanwhile(func(ctx context.Context) error {
					met = true
					return c.do(ctx, a)
				})
				err := change(f, token, byAccount{f.user.ID, a.ID})
				wantEqual(t, c.end+": let in before", met, true)
				f.allowed(err, c.allowed)
				if !c.allowed {
					wantEqual(t, c.end+": state", f.state(), before)
				}
			}
		})
	}
}

// TestAccountOfAnother: an app password proves its own user only.
func TestAccountOfAnother(t *testing.T) {
	f := newFixture(t)
	f.put("/f", "x")
	a, bob := f.account("phone", store.NewAccount{}), f.addUser("bob")
	for _, claim := range []byAccount{{bob.ID, a.ID}, {0, a.ID}, {f.user.ID, a.ID + 1}} {
		_, _, err := f.Put(t.Context(), f.at("/f"), file("y"), claim)
		wantError(t, err, store.ErrForbidden)
	}
	_, _, err := f.Put(t.Context(), f.at("/f"), file("y"), byAccount{f.user.ID, a.ID})
	must(t, err)
}
