package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

func TestRefreshAndUnlock(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	for _, d := range []string{"/d", "/d/e", "/r"} {
		f.mkdir(d)
	}
	f.put("/d/e/f", "x")
	f.put("/r/f", "x")
	f.put("/beside", "x")
	deep, resource := f.lock("/d", lockns.Infinity).Lock, f.lock("/r", lockns.Resource).Lock
	spec := f.spec(lockns.Resource)
	spec.Origin = lockns.Product
	product, err := f.Lock(t.Context(), f.at("/beside"), spec, f.me())
	must(t, err)
	there, err := f.Lock(t.Context(), at(bob, "/"), f.spec(lockns.Infinity), f.me())
	must(t, err)
	for _, c := range []struct {
		name, path, token string
		claim             store.Claim
		want              error
	}{
		{"nothing there", "/no", deep.Token, f.me(), store.ErrNotFound},
		{"a token of no lock", "/d", "urn:uuid:none", f.me(), store.ErrNoSuchLock},
		{"a lock that does not reach the member", "/r/f", resource.Token, f.me(), store.ErrNoSuchLock},
		{"a lock elsewhere", "/beside", deep.Token, f.me(), store.ErrNoSuchLock},
		{"a lock of another workspace", "/d", there.Lock.Token, f.me(), store.ErrNoSuchLock},
		{"a parent of its root", "/", deep.Token, f.me(), store.ErrNoSuchLock},
		{"a lock of another origin", "/beside", product.Lock.Token, f.me(), store.ErrNoSuchLock},
		{"another user's lock", "/d", deep.Token, store.Holder(bob.ID), store.ErrNotHolder},
		{"nobody", "/d", deep.Token, store.Holder(0), store.ErrNotHolder},
		{"a claim that does not hold", "/d", deep.Token, failing{prove: store.ErrPrecondition}, store.ErrPrecondition},
		{"a condition that does not hold", "/d", deep.Token, failing{user: f.user.ID, after: store.ErrPrecondition}, store.ErrPrecondition},
	} {
		t.Run("refresh refuses "+c.name, func(t *testing.T) {
			before := f.generation(f.user)
			_, err := f.RefreshLock(t.Context(), f.at(c.path), store.ByToken(c.token), time.Minute, c.claim)
			wantError(t, err, c.want)
			wantEqual(t, "generation", f.generation(f.user), before)
		})
		t.Run("unlock refuses "+c.name, func(t *testing.T) {
			wantError(t, f.Unlock(t.Context(), f.at(c.path), store.ByToken(c.token), c.claim), c.want)
			wantEqual(t, "rows", f.rows("resource_locks"), 4)
		})
	}
	for _, path := range []string{"/d", "/d/e", "/d/e/f"} {
		t.Run("refresh through "+path, func(t *testing.T) {
			f.advance(time.Second)
			before := f.generation(f.user)
			out, err := f.RefreshLock(t.Context(), f.at(path), store.ByToken(deep.Token), time.Minute, f.me())
			must(t, err)
			want := deep
			want.ExpiresAt = f.now().Add(time.Minute)
			wantEqual(t, "lock", out.Lock, want)
			wantEqual(t, "stored lock", f.entry(f.at("/d")).Locks[0], want)
			wantEqual(t, "generation", f.generation(f.user), before+1)
		})
	}
	t.Run("refresh without an end", func(t *testing.T) {
		_, err := f.RefreshLock(t.Context(), f.at("/d"), store.ByToken(deep.Token), 0, f.me())
		must(t, err)
		wantEqual(t, "end", f.entry(f.at("/d")).Locks[0].ExpiresAt, time.Time{})
	})
	t.Run("unlock through a member ends this lock and no other", func(t *testing.T) {
		before := f.generation(f.user)
		must(t, f.Unlock(t.Context(), f.at("/d/e/f"), store.ByToken(deep.Token), f.me()))
		wantEqual(t, "rows", f.rows("resource_locks"), 3)
		wantEqual(t, "generation", f.generation(f.user), before+1)
		wantSlice(t, "locks", f.tokens("/d"), []string{})
	})
}

// failing is a claim that refuses, before the rules or after them.
type failing struct {
	user         int64
	tokens       []string
	prove, after error
}

func (c failing) Prove(v store.View) (lockns.Credentials, error) {
	cred, _ := with{c.user, c.tokens}.Prove(v)
	return cred, c.prove
}
func (c failing) Precondition(store.View) error { return c.after }

// TestClaimOrder: what carries the credentials is asked before the rules, the
// other preconditions after them (RFC 9110 section 13.2.1).
// TestTokenBelowABase: through a folder that a path starts at, a token means the
// locks rooted there or below and no other, though it opens what it always opens.
func TestTokenBelowABase(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.mkdir("/d/e")
	f.put("/d/e/f", "x")
	base := func(folder, path string) store.Target {
		return store.Target{Workspace: f.user.Workspace(), Base: f.stat(folder).Place.Root.ID, Path: store.ParsePath(path)}
	}
	operations := map[string]func(store.Target, string) error{
		"refresh": func(at store.Target, token string) error {
			_, err := f.RefreshLock(t.Context(), at, store.ByToken(token), time.Minute, f.me())
			return err
		},
		"relock": func(at store.Target, token string) error {
			_, err := f.Relock(t.Context(), at, store.ByToken(token), f.spec(lockns.Resource), f.me())
			return err
		},
		"unlock": func(at store.Target, token string) error {
			return f.Unlock(t.Context(), at, store.ByToken(token), f.me())
		},
	}
	for _, c := range []struct {
		root string
		at   store.Target
		want error
	}{
		{"/", base("/d", "/"), store.ErrNoSuchLock},
		{"/", base("/d", "/e/f"), store.ErrNoSuchLock},
		{"/d", base("/d/e", "/"), store.ErrNoSuchLock},
		{"/d", base("/d/e", "/f"), store.ErrNoSuchLock},
		{"/d", base("/d", "/"), nil},
		{"/d", base("/d", "/e/f"), nil},
		{"/d/e", base("/d", "/e/f"), nil},
		{"/d/e/f", base("/d/e", "/f"), nil},
		{"/", f.at("/d/e/f"), nil},
	} {
		for name, operation := range operations {
			t.Run(fmt.Sprintf("%s of a lock on %s at %s below folder %d", name, c.root, c.at.Path, c.at.Base), func(t *testing.T) {
				defer f.sql(`DELETE FROM resource_locks`)
				l := f.lock(c.root, lockns.Infinity).Lock
				before := f.state()
				wantError(t, operation(c.at, l.Token), c.want)
				if c.want == nil {
					return
				}
				wantEqual(t, "state", f.state(), before)
				wantEqual(t, "lock", f.entry(f.at(c.root)).Locks[0], l)
				_, _, err := f.Put(t.Context(), base("/d/e", "/f"), file("x"), with{f.user.ID, []string{l.Token}})
				must(t, err)
			})
		}
	}
	t.Run("another's lock above is not told of", func(t *testing.T) {
		bob := f.addUser("bob")
		out, err := f.Lock(t.Context(), f.at("/"), specOf(bob, lockns.Infinity), store.Holder(bob.ID))
		must(t, err)
		wantError(t, operations["unlock"](base("/d", "/"), out.Lock.Token), store.ErrNoSuchLock)
		wantError(t, operations["unlock"](f.at("/d"), out.Lock.Token), store.ErrNotHolder)
	})
}

func TestClaimOrder(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.put("/d/f", "x")
	l := f.lock("/d", lockns.Infinity).Lock
	first, last := errors.New("If is false"), errors.New("If-Match is false")
	for _, c := range []struct {
		name  string
		claim failing
		check func(*testing.T, error)
	}{
		{"a false claim before the locks", failing{prove: first, after: last}, func(t *testing.T, err error) { wantError(t, err, first) }},
		{"the locks before a false precondition", failing{user: f.user.ID, after: last}, func(t *testing.T, err error) { wantLocked(t, err, l.Token) }},
		{"a false precondition last", failing{f.user.ID, []string{l.Token}, nil, last}, func(t *testing.T, err error) { wantError(t, err, last) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := f.list("/")
			_, _, put := f.Put(t.Context(), f.at("/d/f"), file("y"), c.claim)
			_, mkdir := f.Mkdir(t.Context(), f.at("/d/e"), store.Patch{}, c.claim)
			_, props := f.PatchProps(t.Context(), f.at("/d/f"), store.Patch{Props: []store.PropOp{prop("a", "1")}}, c.claim)
			_, move := f.Move(t.Context(), f.at("/d/f"), f.at("/g"), store.MoveOptions{}, c.claim)
			_, _, copied := f.Copy(t.Context(), f.at("/d/f"), f.at("/d/g"), store.CopyOptions{}, c.claim)
			_, null := f.Lock(t.Context(), f.at("/d/new"), f.spec(lockns.Resource), c.claim)
			for _, err := range []error{put, mkdir, props, move, copied, null, f.Remove(t.Context(), f.at("/d/f"), c.claim)} {
				c.check(t, err)
			}
			wantEqual(t, "tree", f.list("/"), before)
			wantEqual(t, "content", f.read("/d/f"), "x")
		})
	}
	t.Run("a lock on what exists asks the precondition after the conflict", func(t *testing.T) {
		_, err := f.Lock(t.Context(), f.at("/d/f"), f.spec(lockns.Resource), failing{user: f.user.ID, after: last})
		wantConflict(t, err, []string{l.Token}, []string{})
		must(t, f.Unlock(t.Context(), f.at("/d"), store.ByToken(l.Token), f.me()))
		_, err = f.Lock(t.Context(), f.at("/d/f"), f.spec(lockns.Resource), failing{user: f.user.ID, after: last})
		wantError(t, err, last)
		wantEqual(t, "rows", f.rows("resource_locks"), 0)
	})
}

// TestView: what a claim sees is the state that its transaction will change.
func TestView(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	f.put("/d/f", "x")
	l := f.lock("/d", lockns.Infinity).Lock
	seen := 0
	claim := looking{with{f.user.ID, []string{l.Token}}, func(v store.View) {
		seen++
		r := v.Resource(f.at("/d/f"))
		wantEqual(t, "exists", r.Exists, true)
		wantEqual(t, "place", r.Place, r.Node.Place)
		wantEqual(t, "a new name is under the lock", l.Covers(v.Resource(f.at("/d/new")).Place), true)
		wantEqual(t, "a new name elsewhere is not", l.Covers(v.Resource(f.at("/new")).Place), false)
		wantEqual(t, "no place without a parent", v.Resource(f.at("/no/new")), store.Resource{})
		wantEqual(t, "another workspace is seen", v.Resource(at(bob, "/")).Exists, true)
		gone := store.Target{Workspace: lockns.Workspace{Kind: lockns.Team, ID: 9}}
		wantEqual(t, "no workspace, no resource", v.Resource(gone), store.Resource{})
		found, ws, ok := v.Lock(l.Token)
		wantEqual(t, "the lock", found, l)
		wantEqual(t, "its workspace", ws, f.user.Workspace())
		wantEqual(t, "is found", ok, true)
		_, _, ok = v.Lock("urn:uuid:none")
		wantEqual(t, "no lock of another token", ok, false)
	}}
	_, _, err := f.Put(t.Context(), f.at("/d/f"), file("y"), claim)
	must(t, err)
	wantEqual(t, "asked on the snapshot and in the transaction", seen, 2)
}

// looking is a claim with eyes.
type looking struct {
	with
	look func(store.View)
}

func (l looking) Prove(v store.View) (lockns.Credentials, error) {
	l.look(v)
	return l.with.Prove(v)
}

func TestLockQuota(t *testing.T) {
	f := newFixture(t, func(o *store.Options) { o.LocksPerUser = 2 })
	bob := f.addUser("bob")
	short := f.spec(lockns.Resource)
	short.Timeout = time.Minute
	first, err := f.Lock(t.Context(), f.at("/1"), short, f.me())
	must(t, err)
	endless := f.spec(lockns.Resource)
	endless.Timeout = 0
	_, err = f.Lock(t.Context(), at(bob, "/2"), endless, f.me()) // counted in every workspace
	must(t, err)
	t.Run("refuses one more and creates nothing", func(t *testing.T) {
		_, err := f.Lock(t.Context(), f.at("/3"), short, f.me())
		wantError(t, err, store.ErrLockQuota)
		f.gone("/3")
	})
	t.Run("leaves others alone", func(t *testing.T) {
		_, err := f.Lock(t.Context(), f.at("/4"), specOf(bob, lockns.Resource), store.Holder(bob.ID))
		must(t, err)
	})
	t.Run("a conflict is named before the quota", func(t *testing.T) {
		_, err := f.Lock(t.Context(), f.at("/1"), short, f.me())
		wantConflict(t, err, []string{first.Lock.Token}, []string{})
	})
	t.Run("expired locks do not count", func(t *testing.T) {
		f.advance(time.Minute + time.Microsecond)
		_, err := f.Lock(t.Context(), f.at("/3"), short, f.me())
		must(t, err)
	})
}

func TestExpireLocksInChunks(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	for _, u := range []store.User{f.user, bob} {
		_, err := f.Lock(t.Context(), at(u, "/f"), specOf(u, lockns.Resource), store.Holder(u.ID))
		must(t, err)
	}
	f.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
INSERT INTO resource_locks (token, namespace_id, root_kind, root_file_id, ancestry, depth, mode, origin, timeout_at, created_at)
SELECT 'urn:x:' || i, namespace_id, root_kind, root_file_id, ancestry, depth, mode, origin, timeout_at, created_at
FROM n CROSS JOIN resource_locks WHERE holder_user_id = ?`, f.user.ID)
	before := [2]int64{f.generation(f.user), f.generation(bob)}
	f.advance(time.Hour + time.Microsecond)
	total, rounds := 0, 0
	for {
		n, err := f.ExpireLocks(t.Context())
		must(t, err)
		if n == 0 {
			break
		}
		if n > 500 {
			t.Errorf("%d rows in one transaction", n)
		}
		total += n
		rounds++
	}
	wantEqual(t, "rows dropped", total, 602)
	wantEqual(t, "rounds", rounds, 3)
	wantEqual(t, "generations", [2]int64{f.generation(f.user), f.generation(bob)}, [2]int64{before[0] + 2, before[1] + 1})
}

// TestExpireLocksAtTheEnd: beside an expired lock, one at its very end stays.
func TestExpireLocksAtTheEnd(t *testing.T) {
	f := newFixture(t)
	f.lock("/old", lockns.Resource)
	f.advance(time.Microsecond)
	l := f.lock("/f", lockns.Resource)
	f.advance(time.Hour)
	n, err := f.ExpireLocks(t.Context())
	must(t, err)
	wantEqual(t, "rows dropped", n, 1)
	wantSlice(t, "locks", f.tokens("/f"), []string{l.Lock.Token})
}

func (f *fixture) treeVersion() int64 {
	return f.number(`SELECT tree_version FROM resource_lock_namespaces WHERE workspace_type = 'personal' AND workspace_id = ?`, f.user.ID)
}

// expectError turns an expected failure into success.
func expectError(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return nil
}
