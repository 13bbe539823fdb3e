package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// audited are the audit log's entries of an event, oldest first.
func (f *fixture) audited(event string) (lines []string) {
	f.t.Helper()
	list, err := f.Audit(f.t.Context(), store.AuditFilter{Event: event})
	must(f.t, err)
	for _, e := range list {
		line := fmt.Sprintf("%s %s by %d %q: %s, %s", e.Event, e.Workspace, e.ActorID, e.Actor, e.Subject, e.Detail)
		lines = append([]string{line}, lines...)
	}
	return lines
}

// admin is somebody who ends others' locks.
var admin = store.Actor{ID: 77, Name: "root"}

func TestForceUnlock(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/webdav", "/product", "/wopi", "/other"} {
		f.put(path, "x")
	}
	other := f.lock("/other", lockns.Resource).Lock
	locks := map[string]lockns.Lock{
		"/webdav": f.lock("/webdav", lockns.Infinity).Lock, "/product": f.productLock("/product", lockns.Resource), "/wopi": f.wopiLock("/wopi", "secret"),
	}
	for path, l := range locks {
		t.Run("ends "+path+" and no other, and says so", func(t *testing.T) {
			before, entries := f.generation(f.user), len(f.audited("lock.force_released"))
			got, err := f.ForceUnlock(t.Context(), l.ID, admin)
			must(t, err)
			wantEqual(t, "lock", got, l)
			wantSlice(t, "locks", f.tokens(path), []string{})
			wantSlice(t, "other locks", f.tokens("/other"), []string{other.Token})
			wantEqual(t, "generation", f.generation(f.user), before+1)
			said := f.audited("lock.force_released")[entries:]
			wantSlice(t, "audited", said, []string{fmt.Sprintf(`lock.force_released %s by 77 "root": %s, lock %d: %s exclusive %s, holder %d`,
				f.user.Workspace(), path, l.ID, l.Origin, l.Depth, l.Holder)})
			if strings.Contains(said[0], l.Token) || strings.Contains(said[0], "secret") {
				t.Errorf("the audit log tells what opens a lock: %s", said[0])
			}
			_, err = f.ForceUnlock(t.Context(), l.ID, admin)
			wantError(t, err, store.ErrNotFound)
			wantEqual(t, "generation of a refusal", f.generation(f.user), before+1)
			wantEqual(t, "audited refusals", len(f.audited("lock.force_released")), entries+1)
		})
	}
	t.Run("at its end a lock is ended, one microsecond later it is none", func(t *testing.T) {
		f.advance(time.Hour)
		_, err := f.ForceUnlock(t.Context(), other.ID, admin)
		must(t, err)
		l := f.lock("/other", lockns.Resource).Lock
		f.advance(time.Hour + time.Microsecond)
		_, err = f.ForceUnlock(t.Context(), l.ID, admin)
		wantError(t, err, store.ErrNotFound)
	})
}

// onLocated does something each time a change has found its workspace on a
// snapshot, and counts.
func (f *fixture) onLocated(do func(n int)) *int {
	n := 0
	f.SetHook(func(_ context.Context, p store.Point) error {
		if p == store.Located {
			n++
			do(n)
		}
		return nil
	})
	f.t.Cleanup(func() { f.SetHook(nil) })
	return &n
}

// TestForceUnlockStartsAgain changes what the snapshot saw before the transaction
// looks at it. The lock is then sought anew; nothing else ends.
func TestForceUnlockStartsAgain(t *testing.T) {
	shuttle := func(f *fixture, bob store.User) func(n int) {
		ends := []store.Target{f.at("/f"), at(bob, "/f")}
		return func(n int) {
			_, err := f.Move(f.t.Context(), ends[(n-1)%2], ends[n%2], store.MoveOptions{}, f.me())
			must(f.t, err)
		}
	}
	setup := func(t *testing.T) (*fixture, store.User, lockns.Lock) {
		f := newFixture(t)
		bob := f.addUser("bob")
		f.put("/f", "x")
		return f, bob, f.productLock("/f", lockns.Resource)
	}
	t.Run("in the workspace that the lock moved to", func(t *testing.T) {
		f, bob, l := setup(t)
		move := shuttle(f, bob)
		n := f.onLocated(func(n int) {
			if n == 1 {
				move(n)
			}
		})
		got, err := f.ForceUnlock(t.Context(), l.ID, admin)
		must(t, err)
		wantEqual(t, "snapshots", *n, 2)
		wantEqual(t, "lock", got.Token, l.Token)
		wantEqual(t, "place", got.Place, f.entry(at(bob, "/f")).Place)
		wantSlice(t, "locks", tokensOf(f.entry(at(bob, "/f")).Locks), []string{})
		wantEqual(t, "audited there", strings.Contains(f.audited("lock.force_released")[0], bob.Workspace().String()), true)
		wantEqual(t, "generations", [2]int64{f.generation(f.user), f.generation(bob)}, [2]int64{2, 2})
	})
	t.Run("a few times, then it is busy and the lock stays", func(t *testing.T) {
		f, bob, l := setup(t)
		n := f.onLocated(shuttle(f, bob))
		_, err := f.ForceUnlock(t.Context(), l.ID, admin)
		wantError(t, err, store.ErrBusy)
		wantEqual(t, "snapshots", *n, 8)
		wantSlice(t, "locks", f.tokens("/f"), []string{l.Token})
		wantEqual(t, "audited", len(f.audited("lock.force_released")), 0)
	})
	t.Run("to find that the lock is gone", func(t *testing.T) {
		f, _, l := setup(t)
		n := f.onLocated(func(int) { must(t, f.Unlock(t.Context(), f.at("/f"), store.ByOrigin(lockns.Product), f.me())) })
		_, err := f.ForceUnlock(t.Context(), l.ID, admin)
		wantError(t, err, store.ErrNotFound)
		wantEqual(t, "snapshots", *n, 1)
		wantEqual(t, "audited", len(f.audited("lock.force_released")), 0)
	})
	t.Run("to find that the lock expired", func(t *testing.T) {
		f, _, _ := setup(t)
		must(t, f.Unlock(t.Context(), f.at("/f"), store.ByOrigin(lockns.Product), f.me()))
		l := f.lock("/f", lockns.Resource).Lock
		f.onLocated(func(int) { f.advance(time.Hour + time.Microsecond) })
		_, err := f.ForceUnlock(t.Context(), l.ID, admin)
		wantError(t, err, store.ErrNotFound)
		wantEqual(t, "rows", f.rows("resource_locks"), 1)
	})
	t.Run("to find that the workspace is gone", func(t *testing.T) {
		f, bob, _ := setup(t)
		out, err := f.Lock(t.Context(), at(bob, "/g"), specOf(bob, lockns.Resource), store.Holder(bob.ID))
		must(t, err)
		n := f.onLocated(func(int) { must(t, f.RemoveUser(t.Context(), "bob", store.Actor{})) })
		_, err = f.ForceUnlock(t.Context(), out.Lock.ID, admin)
		wantError(t, err, store.ErrNotFound)
		wantEqual(t, "snapshots", *n, 1)
	})
	t.Run("when the lock was rebound to another resource", func(t *testing.T) {
		f, _, _ := setup(t)
		f.put("/g", "y")
		l := f.lock("/g", lockns.Resource).Lock
		n := f.onLocated(func(n int) {
			if n == 1 { // MOVE onto a locked file keeps the file's lock
				must(t, f.Unlock(t.Context(), f.at("/f"), store.ByOrigin(lockns.Product), f.me()))
				_, err := f.Move(t.Context(), f.at("/f"), f.at("/g"), store.MoveOptions{}, with{f.user.ID, []string{l.Token}})
				must(t, err)
			}
		})
		got, err := f.ForceUnlock(t.Context(), l.ID, admin)
		must(t, err)
		wantEqual(t, "snapshots", *n, 2)
		wantEqual(t, "place", got.Place, f.stat("/g").Place)
		wantSlice(t, "locks", f.tokens("/g"), []string{})
	})
}

// TestExpireLocksStartsAgain is TestForceUnlockStartsAgain for the cleanup.
func TestExpireLocksStartsAgain(t *testing.T) {
	setup := func(t *testing.T) (*fixture, store.User) {
		f := newFixture(t)
		bob := f.addUser("bob")
		f.lock("/f", lockns.Resource)
		_, err := f.Lock(t.Context(), at(bob, "/f"), specOf(bob, lockns.Resource), store.Holder(bob.ID))
		must(t, err)
		f.advance(time.Hour + time.Microsecond)
		return f, bob
	}
	t.Run("in another workspace when the first is gone", func(t *testing.T) {
		f, bob := setup(t)
		n := f.onLocated(func(n int) {
			if n == 1 {
				must(t, f.RemoveUser(t.Context(), f.user.Name, store.Actor{}))
			}
		})
		locks, err := f.ExpireLocks(t.Context())
		must(t, err)
		wantEqual(t, "snapshots", *n, 2)
		wantEqual(t, "rows dropped", locks, 1)
		wantEqual(t, "rows", f.rows("resource_locks"), 0)
		wantEqual(t, "generation", f.generation(bob), 2)
	})
	t.Run("in another workspace when the first has none any more", func(t *testing.T) {
		f, _ := setup(t)
		n := f.onLocated(func(n int) {
			if n == 1 { // whichever was found; the other keeps its row
				f.sql(`DELETE FROM resource_locks WHERE namespace_id =
(SELECT min(l.namespace_id) FROM resource_locks l)`)
			}
		})
		locks, err := f.ExpireLocks(t.Context())
		must(t, err)
		wantEqual(t, "snapshots", *n, 2)
		wantEqual(t, "rows dropped", locks, 1)
	})
	t.Run("a few times, then it is busy", func(t *testing.T) {
		f, _ := setup(t)
		f.SetHook(func(_ context.Context, p store.Point) error {
			switch p {
			case store.Located:
				f.advance(-time.Hour) // none is expired yet
			case store.Serialized:
				f.advance(time.Hour) // for the next snapshot
			}
			return nil
		})
		_, err := f.ExpireLocks(t.Context())
		wantError(t, err, store.ErrBusy)
		wantEqual(t, "rows", f.rows("resource_locks"), 2)
	})
}

func TestCleanExpired(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.lock("/f", lockns.Resource)
	f.lock("/stays", lockns.Resource)
	_, err := f.Lock(t.Context(), at(bob, "/f"), specOf(bob, lockns.Resource), store.Holder(bob.ID))
	must(t, err)
	f.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
INSERT INTO resource_locks (token, namespace_id, root_kind, root_file_id, ancestry, depth, mode, origin, timeout_at, created_at)
SELECT 'urn:x:' || i, namespace_id, root_kind, root_file_id, ancestry, depth, mode, origin, timeout_at, created_at
FROM n CROSS JOIN (SELECT * FROM resource_locks WHERE holder_user_id = ? ORDER BY id LIMIT 1)`, f.user.ID)
	f.sql(`UPDATE resource_locks SET timeout_at = timeout_at + 1 WHERE lockroot_path = '/stays'`)
	f.advance(time.Hour)
	t.Run("of no expired locks says nothing", func(t *testing.T) {
		n, err := f.CleanExpired(t.Context(), admin)
		must(t, err)
		wantEqual(t, "removed", n, 0)
		wantEqual(t, "audited", len(f.audited("lock.expired_cleaned")), 0)
		wantEqual(t, "generations", [2]int64{f.generation(f.user), f.generation(bob)}, [2]int64{2, 1})
	})
	f.advance(time.Microsecond)
	t.Run("counts the rows that went, in each workspace", func(t *testing.T) {
		n, err := f.CleanExpired(t.Context(), admin)
		must(t, err)
		wantEqual(t, "removed", n, 602)
		wantEqual(t, "rows", f.rows("resource_locks"), 1)
		wantSlice(t, "at its end it stays", f.tokens("/stays"), tokensOf(f.entry(f.at("/stays")).Locks))
		wantEqual(t, "locks", len(f.tokens("/stays")), 1)
		here, there := f.user.Workspace(), bob.Workspace()
		wantSlice(t, "audited", f.audited("lock.expired_cleaned"), []string{
			fmt.Sprintf(`lock.expired_cleaned %s by 77 "root": , 500`, here),
			fmt.Sprintf(`lock.expired_cleaned %s by 77 "root": , 101`, here),
			fmt.Sprintf(`lock.expired_cleaned %s by 77 "root": , 1`, there),
		})
		wantEqual(t, "generations", [2]int64{f.generation(f.user), f.generation(bob)}, [2]int64{4, 2})
	})
	t.Run("says what went before it failed", func(t *testing.T) {
		for _, u := range []store.User{f.user, bob} {
			_, err := f.Lock(t.Context(), at(u, "/f"), specOf(u, lockns.Resource), store.Holder(u.ID))
			must(t, err)
		}
		f.advance(2 * time.Hour)
		failure := errors.New("failed on purpose")
		commits := 0
		f.SetHook(func(_ context.Context, p store.Point) error {
			if p == store.BeforeCommit {
				if commits++; commits == 2 {
					return failure
				}
			}
			return nil
		})
		defer f.SetHook(nil)
		n, err := f.CleanExpired(t.Context(), admin)
		wantError(t, err, failure)
		wantEqual(t, "removed", n, 2) // ada's two; bob's is still there
		wantEqual(t, "rows", f.rows("resource_locks"), 1)
		wantEqual(t, "audited", len(f.audited("lock.expired_cleaned")), 4)
	})
}

// TestLifecycleFailpoints fails each change of a lock at each of its points:
// locks, generation and audit log are left as they were.
func TestLifecycleFailpoints(t *testing.T) {
	failure := errors.New("failed on purpose")
	inside := []store.Point{store.Queued, store.Begun, store.Serialized, store.Written, store.BeforeCommit}
	own := append([]store.Point{store.Authorized}, inside...)
	found := append([]store.Point{store.Located}, inside...)
	byWOPI := store.ByOrigin(lockns.WOPI)
	for _, c := range []struct {
		name   string
		points []store.Point
		change func(f *fixture, l lockns.Lock) error
	}{
		{"acquire", inside, func(f *fixture, _ lockns.Lock) error {
			_, err := f.Lock(f.t.Context(), f.at("/g"), f.ofOrigin(lockns.Product, lockns.Resource), f.me())
			return err
		}},
		{"refresh", own, func(f *fixture, _ lockns.Lock) error {
			_, err := f.RefreshLock(f.t.Context(), f.at("/f"), byWOPI, time.Hour, f.wopi("/f", "v"))
			return err
		}},
		{"relock", own, func(f *fixture, _ lockns.Lock) error {
			_, err := f.Relock(f.t.Context(), f.at("/f"), byWOPI, wopiSpec("w"), f.wopi("/f", "v"))
			return err
		}},
		{"unlock", own, func(f *fixture, _ lockns.Lock) error {
			return f.Unlock(f.t.Context(), f.at("/f"), byWOPI, f.wopi("/f", "v"))
		}},
		{"set", inside, func(f *fixture, _ lockns.Lock) error {
			_, _, err := f.setLock("/g", f.ofOrigin(lockns.Product, lockns.Resource))
			return err
		}},
		{"set again", inside, func(f *fixture, _ lockns.Lock) error {
			_, _, err := f.setLock("/", f.ofOrigin(lockns.Product, lockns.Resource))
			return err
		}},
		{"end by id", append([]store.Point{store.Authorized}, found...), func(f *fixture, _ lockns.Lock) error {
			locks, err := f.LocksCovering(f.t.Context(), f.at("/"), 0, 1)
			must(f.t, err)
			_, err = f.EndLock(f.t.Context(), locks[0].ID, nil, f.me())
			return err
		}},
		{"force unlock", found, func(f *fixture, l lockns.Lock) error {
			_, err := f.ForceUnlock(f.t.Context(), l.ID, admin)
			return err
		}},
		{"expiry", found, func(f *fixture, _ lockns.Lock) error {
			n, err := f.ExpireLocks(f.t.Context())
			wantEqual(f.t, "rows of a failed expiry", n > 0 && err != nil, false)
			return err
		}},
		{"cleanup", found, func(f *fixture, _ lockns.Lock) error {
			n, err := f.CleanExpired(f.t.Context(), admin)
			wantEqual(f.t, "rows of a failed cleanup", n > 0 && err != nil, false)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.put("/f", "x")
			f.put("/g", "x")
			f.lock("/old", lockns.Resource)
			f.advance(time.Hour + time.Microsecond)
			l := f.wopiLock("/f", "v")
			f.productLock("/", lockns.Resource)
			before := f.lockState()
			for _, p := range c.points {
				reached := 0
				f.SetHook(func(_ context.Context, at store.Point) error {
					if at != p {
						return nil
					}
					reached++
					return failure
				})
				err := c.change(f, l)
				f.SetHook(nil)
				wantError(t, err, failure)
				wantEqual(t, "passes "+string(p), reached, 1)
				if after := f.lockState(); after != before {
					t.Errorf("failed at %s it left\n%s\nwant\n%s", p, after, before)
				}
			}
			must(t, c.change(f, l))
			wantEqual(t, "changed in the end", f.lockState() != before, true)
		})
	}
	t.Run("what cannot be audited does not happen", func(t *testing.T) {
		f := newFixture(t)
		l := f.lock("/f", lockns.Resource).Lock
		f.sql(`CREATE TRIGGER full BEFORE INSERT ON lock_events BEGIN SELECT RAISE(ABORT, 'no audit'); END`)
		before := f.lockState()
		if _, err := f.ForceUnlock(t.Context(), l.ID, admin); err == nil {
			t.Error("done without its audit entry")
		}
		f.advance(time.Hour + time.Microsecond)
		if n, err := f.CleanExpired(t.Context(), admin); err == nil || n != 0 {
			t.Errorf("%d cleaned without an audit entry, error %v", n, err)
		}
		wantEqual(t, "state", f.lockState(), before)
	})
	t.Run("a generation that cannot move keeps the locks", func(t *testing.T) {
		f := newFixture(t)
		l := f.lock("/f", lockns.Resource).Lock
		f.sql(`CREATE TRIGGER stuck BEFORE UPDATE ON resource_lock_namespaces BEGIN SELECT RAISE(ABORT, 'stuck'); END`)
		before := f.lockState()
		for name, change := range map[string]func() error{
			"lock": func() error { _, err := f.Lock(t.Context(), f.at("/g"), f.spec(lockns.Resource), f.me()); return err },
			"refresh": func() error {
				_, err := f.RefreshLock(t.Context(), f.at("/f"), store.ByToken(l.Token), time.Minute, f.me())
				return err
			},
			"unlock": func() error { return f.Unlock(t.Context(), f.at("/f"), store.ByToken(l.Token), f.me()) },
			"force":  func() error { _, err := f.ForceUnlock(t.Context(), l.ID, admin); return err },
		} {
			if err := change(); err == nil {
				t.Errorf("%s went on without its generation", name)
			}
			wantEqual(t, "state after "+name, f.lockState(), before)
		}
		f.gone("/g")
	})
}

// lockState is every lock row, the generations and how much was audited.
func (f *fixture) lockState() string {
	f.t.Helper()
	var b strings.Builder
	rows, err := f.database().Query(`SELECT id || ' ' || token || ' ' || ancestry || ' ' || coalesce(timeout_at, '-') FROM resource_locks
UNION ALL SELECT workspace_type || workspace_id || ' ' || generation FROM resource_lock_namespaces
UNION ALL SELECT event FROM lock_events UNION ALL SELECT event FROM audit_log WHERE event LIKE 'lock%'`)
	must(f.t, err)
	defer rows.Close()
	for rows.Next() {
		var line string
		must(f.t, rows.Scan(&line))
		fmt.Fprintln(&b, line)
	}
	must(f.t, rows.Err())
	return b.String()
}
