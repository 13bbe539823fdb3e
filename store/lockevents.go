package store

import (
	"context"
	"fmt"

	"holdfast/lockns"
)

// What happens to locks, as lock_events and the audit log say it. Each entry has
// the id of the lock and of its root, and who did it; none has the token, or what a
// client said of the owner.
const (
	lockCreated   = "lock.created"
	lockMoved     = "lock.moved"          // it went along with its resource, or holds what came in its place
	lockChanged   = "lock.changed"        // it has another depth or note, and maybe another end
	lockRefreshed = "lock.refreshed"      // it has another end
	lockReleased  = "lock.released"       // by its holder
	lockForced    = "lock.force_released" // by an administrator
	lockEnded     = "lock.ended"          // by a change that leaves no room for it
	lockExpired   = "lock.expired"        // its row is deleted; it counted for nothing since its end
)

// lockEnding says why locks end. One that has expired is noted as that, whatever
// deletes its row.
type lockEnding struct{ event, why string }

// The endings that are no consequence of who the holder is.
var (
	endReleased  = lockEnding{event: lockReleased}
	endForced    = lockEnding{event: lockForced}
	endExpired   = lockEnding{event: lockExpired}
	endReplaced  = lockEnding{lockEnded, "another lock took its place"}
	endRemoved   = lockEnding{lockEnded, "resource removed"}
	endMovedAway = lockEnding{lockEnded, "resource moved"}
	endOverwrite = lockEnding{lockEnded, "resource overwritten"}
)

// eventColumns are what lock_events and the audit log have in common.
const (
	eventColumns    = `at, actor_id, actor, event, workspace_type, workspace_id, subject, detail, resource_kind, resource_id, lock_id`
	insertLockEvent = `INSERT INTO lock_events (` + eventColumns + `) `
)

// noteLock notes what happened to a lock, in the transaction that makes it happen.
func (t *tx) noteLock(sp *space, event string, l lockns.Lock) error {
	t.tells = true
	_, err := t.exec(insertLockEvent+`VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		micros(t.now), null(t.by.ID), t.by.Name, event, string(sp.ws.Kind), sp.ws.ID,
		l.Path, describe(l), string(l.Place.Root.Kind), null(l.Place.Root.ID), l.ID)
	return err
}

// describe is a lock as the audit log has it: nothing that opens it, and
// nothing that a client said.
func describe(l lockns.Lock) string {
	return fmt.Sprintf("lock %d: %s %s %s, holder %d", l.ID, l.Origin, l.Mode, l.Depth, l.Holder)
}

// noteEndings notes the end of each lock whose row a condition selects, and says
// how many those are: in one statement, for a tree may have many.
func (t *tx) noteEndings(sp *space, e lockEnding, where string, args []any) (int64, error) {
	why := e.why
	if why != "" {
		why = ": " + why
	}
	first := []any{micros(t.now), null(t.by.ID), t.by.Name, micros(t.now), lockExpired, e.event, string(sp.ws.Kind), sp.ws.ID, why}
	n, err := t.exec(insertLockEvent+`SELECT ?, ?, ?, CASE WHEN timeout_at < ? THEN ? ELSE ? END, ?, ?, coalesce(lockroot_path, ''),
'lock ' || id || ': ' || origin || ' ' || mode || ' ' || depth || ', holder ' || coalesce(holder_user_id, 0) || ?,
root_kind, coalesce(root_folder_id, root_file_id), id FROM resource_locks WHERE `+where, append(first, args...)...)
	t.tells = t.tells || n > 0
	return n, err
}

// AuditLocks lets the audit log have what happened to up to 500 locks, and says how
// many; 0 means it has all. Those who lock do not wait for its indexes. Refreshes
// are left out: an editor refreshes its lock every few minutes for as long as a
// document is open, and what people look for would be lost among that.
func (s *Store) AuditLocks(ctx context.Context) (rows int, err error) {
	err = s.update(ctx, nil, func(t *tx) error {
		var from, to int64
		_, err := t.row(`SELECT lock_events_audited, coalesce((SELECT max(id) FROM (
SELECT id FROM lock_events WHERE id > lock_events_audited ORDER BY id LIMIT ?)), 0) FROM instance WHERE id = 1`, []any{chunkRows}, &from, &to)
		rows = int(max(to-from, 0)) // the ids have no gaps
		if err != nil || rows == 0 {
			return err
		}
		_, err = t.exec(`INSERT INTO audit_log (`+eventColumns+`) SELECT `+eventColumns+` FROM lock_events
WHERE id > ? AND id <= ? AND event <> ? ORDER BY id`, from, to, lockRefreshed)
		if err != nil {
			return err
		}
		_, err = t.exec(`UPDATE instance SET lock_events_audited = ? WHERE id = 1`, to)
		return err
	})
	return rows, err
}

// How much of what happened to locks is kept for those who follow them: the last
// hours, and not more than so many rows.
const (
	lockEventsAge  = 2 * EventsAge
	lockEventsRows = 4 * EventsBehind
)

// PruneLockEvents forgets up to 500 events of locks that the audit log has and that
// nobody can ask for any more, and says how many; 0 means there are none.
func (s *Store) PruneLockEvents(ctx context.Context) (rows int, err error) {
	err = s.update(ctx, nil, func(t *tx) error {
		n, err := t.exec(`DELETE FROM lock_events WHERE id IN (SELECT id FROM lock_events WHERE id > 0 ORDER BY id LIMIT ?)
AND id <= (SELECT lock_events_audited FROM instance WHERE id = 1)
AND (at < ? OR id <= (SELECT max(id) FROM lock_events) - ?)`,
			chunkRows, micros(t.now.Add(-lockEventsAge)), lockEventsRows)
		rows = int(n)
		return err
	})
	return rows, err
}
