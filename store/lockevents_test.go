package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// happened are the events of locks, oldest first: what, by whom, to which lock and
// which root.
func (f *fixture) happened(table string) (lines []string) {
	f.t.Helper()
	rows, err := f.database().Query(`SELECT event, coalesce(actor_id, 0), actor, workspace_type || workspace_id, lock_id, resource_kind, coalesce(resource_id, 0), subject, detail
FROM ` + table + ` WHERE lock_id IS NOT NULL ORDER BY id`)
	must(f.t, err)
	defer rows.Close()
	for rows.Next() {
		var event, actor, ws, kind, subject, detail string
		var by, lock, root int64
		must(f.t, rows.Scan(&event, &by, &actor, &ws, &lock, &kind, &root, &subject, &detail))
		lines = append(lines, fmt.Sprintf("%s by %d %s in %s: lock %d on %s %d %s | %s", event, by, actor, ws, lock, kind, root, subject, detail))
	}
	must(f.t, rows.Err())
	return lines
}

// TestWhatHappensToLocks: each change of a lock is noted in its transaction, with
// who made it.
func TestWhatHappensToLocks(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	bob := f.addUser("bob")
	id := func(path string) int64 { return f.stat(path).Place.Root.ID }
	seen := 0
	// wants compares what happened since the last call, by event, actor, lock, root and why.
	wants := func(step string, want ...string) {
		t.Helper()
		var got []string
		all := f.happened("lock_events")
		for _, line := range all[seen:] {
			head, detail, _ := strings.Cut(line, " | ")
			_, why, _ := strings.Cut(detail, ", holder ")
			_, why, _ = strings.Cut(why, ": ")
			if why != "" {
				head += " | " + why
			}
			got = append(got, head)
		}
		seen = len(all)
		wantSlice(t, step, got, want)
	}
	said := func(event string, by string, l lockns.Lock, kind string, root int64, rest string) string {
		return fmt.Sprintf("%s by %s in personal%d: lock %d on %s %d %s", event, by, f.user.ID, l.ID, kind, root, rest)
	}
	ada := fmt.Sprintf("%d ada", f.user.ID)

	f.put("/f", "x")
	wants("what is no lock")
	l := f.lock("/f", lockns.Resource).Lock
	file := id("/f")
	wants("lock", said("lock.created", ada, l, "file", file, "/f"))
	_, err := f.Lock(ctx, f.at("/f"), f.spec(lockns.Resource), f.me())
	wantConflict(t, err, []string{l.Token}, nil)
	wants("a refused lock")
	_, err = f.RefreshLock(ctx, f.at("/f"), store.ByToken(l.Token), 2*time.Hour, f.me())
	must(t, err)
	_, err = f.RefreshLock(ctx, f.at("/f"), store.ByToken(l.Token), 2*time.Hour, f.me())
	must(t, err)
	wants("a refresh, and one that changes nothing", said("lock.refreshed", ada, l, "file", file, "/f"))
	must(t, f.Unlock(ctx, f.at("/f"), store.ByToken(l.Token), f.me()))
	wants("unlock", said("lock.released", ada, l, "file", file, "/f"))

	l = f.lock("/f", lockns.Resource).Lock
	f.advance(time.Hour + time.Microsecond)
	next := f.lock("/f", lockns.Resource).Lock
	wants("a lock where one had expired", said("lock.created", ada, l, "file", file, "/f"),
		said("lock.expired", ada, l, "file", file, "/f"), said("lock.created", ada, next, "file", file, "/f"))
	f.advance(time.Hour + time.Microsecond)
	_, err = f.ExpireLocks(ctx)
	must(t, err)
	wants("the cleanup", said("lock.expired", "0 ", next, "file", file, "/f"))

	l = f.productLock("/f", lockns.Resource)
	out, err := f.Relock(ctx, f.at("/f"), store.ByOrigin(lockns.Product), f.ofOrigin(lockns.Product, lockns.Resource), f.me())
	must(t, err)
	again := out.Lock
	wants("another in its place", said("lock.created", ada, l, "file", file, "/f"),
		said("lock.ended", ada, l, "file", file, "/f | another lock took its place"), said("lock.created", ada, again, "file", file, "/f"))
	f.move("/f", "/g")
	wants("a product lock goes along", said("lock.moved", ada, again, "file", file, "/g"))
	deeper := f.ofOrigin(lockns.Product, lockns.Infinity)
	for range 2 {
		_, _, err = f.SetLock(ctx, f.at("/g"), deeper, f.me())
		must(t, err)
	}
	wants("set, and set to what it is", said("lock.changed", ada, again, "file", file, "/g"))
	deeper.Timeout += time.Minute
	_, _, err = f.SetLock(ctx, f.at("/g"), deeper, f.me())
	must(t, err)
	wants("set to another end", said("lock.refreshed", ada, again, "file", file, "/g"))
	_, err = f.ForceUnlock(ctx, again.ID, admin)
	must(t, err)
	wants("force", said("lock.force_released", "77 root", again, "file", file, "/g"))

	l = f.lock("/g", lockns.Resource).Lock
	_, err = f.Move(ctx, f.at("/g"), f.at("/h"), store.MoveOptions{}, with{f.user.ID, []string{l.Token}})
	must(t, err)
	wants("a WebDAV lock does not", said("lock.created", ada, l, "file", file, "/g"), said("lock.ended", ada, l, "file", file, "/g | resource moved"))

	f.put("/over", "y")
	over := id("/over")
	l = f.lock("/over", lockns.Resource).Lock
	_, err = f.Move(ctx, f.at("/h"), f.at("/over"), store.MoveOptions{}, with{f.user.ID, []string{l.Token}})
	must(t, err)
	wants("a lock holds what comes", said("lock.created", ada, l, "file", over, "/over"), said("lock.moved", ada, l, "file", file, "/over"))
	must(t, f.Remove(ctx, f.at("/over"), with{f.user.ID, []string{l.Token}}))
	wants("remove", said("lock.ended", ada, l, "file", file, "/over | resource removed"))

	l = f.lock("/mine", lockns.Resource).Lock
	_, err = f.EndLock(ctx, l.ID, nil, f.me())
	must(t, err)
	mine := id("/mine")
	wants("end", said("lock.created", ada, l, "file", mine, "/mine"), said("lock.released", ada, l, "file", mine, "/mine"))

	root := f.lock("/", lockns.Resource).Lock
	wants("the root", said("lock.created", ada, root, "workspace_root", 0, "/"))
	_, err = f.SetUser(ctx, "ada", store.UserPatch{Disabled: new(true)})
	must(t, err)
	wants("a user who may no longer", said("lock.ended", "0 ", root, "workspace_root", 0, "/ | user disabled"))
	_, err = f.SetUser(ctx, "ada", store.UserPatch{Disabled: new(false)})
	must(t, err)

	team := f.addTeam("Ops")
	f.setMember(team, bob, store.Writer)
	held := f.lockIn(bob, inTeam(team, "/t"))
	must(t, f.RemoveMember(ctx, "Ops", "bob", boss))
	got := f.happened("lock_events")[seen:]
	wantEqual(t, "of a former member", len(got), 2)
	wantEqual(t, "by whom it was locked", strings.HasPrefix(got[0], fmt.Sprintf("lock.created by %d bob in team%d: lock %d", bob.ID, team.ID, held.ID)), true)
	wantEqual(t, "by whom it was ended", strings.HasPrefix(got[1], fmt.Sprintf("lock.ended by %d boss in team%d: lock %d", boss.ID, team.ID, held.ID)), true)
}

// TestNothingOpensALockFromItsEvents: neither token nor owner text is in any of them.
func TestNothingOpensALockFromItsEvents(t *testing.T) {
	f := newFixture(t)
	spec := f.spec(lockns.Resource)
	spec.Owner = "<D:href>secret</D:href>"
	out, err := f.Lock(t.Context(), f.at("/f"), spec, f.me())
	must(t, err)
	_, err = f.RefreshLock(t.Context(), f.at("/f"), store.ByToken(out.Lock.Token), time.Minute, f.me())
	must(t, err)
	must(t, f.Unlock(t.Context(), f.at("/f"), store.ByToken(out.Lock.Token), f.me()))
	f.put("/w", "x")
	_, err = f.ForceUnlock(t.Context(), f.wopiLock("/w", "secret").ID, admin)
	must(t, err)
	all := f.happened("lock_events")
	wantEqual(t, "events", len(all), 5)
	for _, line := range all {
		if strings.Contains(line, "secret") || strings.Contains(line, out.Lock.Token) || strings.Contains(line, "urn:uuid") {
			t.Errorf("an event tells what opens a lock: %s", line)
		}
	}
}

// TestAuditLocks: the audit log gets every event but the refreshes, once, in order,
// however they are cut into rounds.
func TestAuditLocks(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	const locks = 600 // more than a round takes
	f.mkdir("/d")
	f.put("/d/f", "x")
	f.productLock("/d/f", lockns.Resource)
	_, err := f.RefreshLock(ctx, f.at("/d/f"), store.ByOrigin(lockns.Product), time.Minute, f.me())
	must(t, err)
	f.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO resource_locks (token, namespace_id, root_kind, root_file_id, ancestry, depth, mode, origin, holder_user_id, created_at)
SELECT 'urn:x:' || i, namespace_id, root_kind, root_file_id, ancestry, depth, mode, origin, holder_user_id, created_at FROM n CROSS JOIN resource_locks WHERE id = 1`, locks-1)
	want := f.happened("lock_events")[:1]
	statements := 0
	stop := f.Watch(func(string, []any) { statements++ })
	f.remove("/d")
	stop()
	if statements > 40 {
		t.Errorf("%d statements to end %d locks", statements, locks)
	}
	want = append(want, f.happened("lock_events")[2:]...)
	wantEqual(t, "events", len(want), locks+1)
	entries, err := f.Audit(ctx, store.AuditFilter{Event: "lock.ended"})
	must(t, err)
	wantEqual(t, "listed", len(entries), locks)
	wantSlice(t, "audited", f.happened("audit_log"), want)
	n, err := f.AuditLocks(ctx)
	must(t, err)
	wantEqual(t, "left", n, 0)
	l := f.lock("/f", lockns.Resource).Lock
	must(t, f.Unlock(ctx, f.at("/f"), store.ByToken(l.Token), f.me()))
	n, err = f.AuditLocks(ctx)
	must(t, err)
	wantEqual(t, "new ones", n, 2)
	got := f.happened("audit_log")
	wantSlice(t, "audited then", got[:len(want)], want)
	wantEqual(t, "and the new", len(got), len(want)+2)
}

// TestPruneLockEvents: what the audit log does not have yet stays, and so does what
// somebody can ask for.
func TestPruneLockEvents(t *testing.T) {
	f := newFixture(t)
	prune := func(want int) {
		t.Helper()
		n, err := f.PruneLockEvents(t.Context())
		must(t, err)
		wantEqual(t, "pruned", n, want)
	}
	f.lock("/f", lockns.Resource)
	f.advance(3 * store.EventsAge)
	prune(0)
	_, err := f.AuditLocks(t.Context())
	must(t, err)
	f.lock("/g", lockns.Resource)
	_, err = f.AuditLocks(t.Context())
	must(t, err)
	prune(1)
	prune(0)
	wantEqual(t, "kept", f.rows("lock_events"), 1)
	last := f.number(`SELECT max(id) FROM lock_events`)
	f.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO lock_events (at, actor, event, workspace_type, workspace_id, subject, detail, resource_kind, lock_id) SELECT ?, '', 'lock.refreshed', 'personal', 1, '', '', 'file', 1 FROM n`, f.now().UnixMicro())
	for n := 1; n > 0; {
		n, err = f.AuditLocks(t.Context())
		must(t, err)
	}
	for n := 1; n > 0; {
		n, err = f.PruneLockEvents(t.Context())
		must(t, err)
	}
	wantEqual(t, "kept of many", f.rows("lock_events"), 4*store.EventsBehind)
	wantEqual(t, "the first kept", f.number(`SELECT min(id) FROM lock_events`), last+20000-4*store.EventsBehind+1)
	wantEqual(t, "audited", len(f.happened("audit_log")), 2)
}
