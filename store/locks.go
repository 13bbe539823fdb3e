package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/lockns"
)

// The columns of a lock, as scanLock reads them.
const lockColumns = `l.id, l.token, l.namespace_id, l.root_kind, l.root_folder_id, l.root_file_id, l.ancestry, l.depth, l.mode,
l.origin, l.holder_user_id, l.owner_info, l.lockroot_path, l.timeout_at, l.created_at`

const (
	selectLock  = `SELECT ` + lockColumns + ` FROM resource_locks l `
	activeLocks = ` AND (l.timeout_at IS NULL OR l.timeout_at >= ?)`
)

// scanLock reads a lock and the id of its namespace row.
func scanLock(scan func(...any) error) (lockns.Lock, int64, error) {
	var (
		l                  lockns.Lock
		ns, created        int64
		folder, file       sql.NullInt64
		holder, timeout    sql.NullInt64
		owner, path        sql.NullString
		kind, depth, m, og string
	)
	err := scan(&l.ID, &l.Token, &ns, &kind, &folder, &file, &l.Place.Ancestry, &depth, &m,
		&og, &holder, &owner, &path, &timeout, &created)
	if err != nil {
		return l, 0, err
	}
	l.Place.Root = lockns.Root{Kind: lockns.RootKind(kind), ID: folder.Int64 + file.Int64}
	l.Depth, l.Mode, l.Origin = lockns.Depth(depth), lockns.Mode(m), lockns.Origin(og)
	l.Holder, l.Owner, l.Path = holder.Int64, owner.String, path.String
	l.CreatedAt, l.ExpiresAt = fromMicros(created), fromNull(timeout)
	return l, ns, nil
}

// lockRows reads the locks that a query over resource_locks l selects.
func (t *tx) lockRows(query string, args ...any) ([]lockns.Lock, error) {
	var locks []lockns.Lock
	err := t.rows(query, args, func(scan func(...any) error) error {
		l, _, err := scanLock(scan)
		locks = append(locks, l)
		return err
	})
	return locks, err
}

// covering are the active locks rooted on the ancestors of a place or on the
// place itself: a few index look-ups, however many locks the workspace has.
// Those above with depth resource are among them and do no harm.
func (t *tx) covering(sp *space, p lockns.Place) ([]lockns.Lock, error) {
	folders := folderIDs(p.Ancestry)
	now := micros(t.now)
	args := []any{sp.id, now}
	query := selectLock + `WHERE l.namespace_id = ? AND l.root_kind = 'workspace_root'` + activeLocks
	if len(folders) > 1 {
		query += ` UNION ALL ` + selectLock + `WHERE l.namespace_id = ? AND l.root_kind = 'folder' AND l.root_folder_id IN (?` +
			strings.Repeat(",?", len(folders)-2) + `)` + activeLocks
		args = append(args, sp.id)
		args = append(args, folders[1:]...) // the first is the workspace root
		args = append(args, now)
	}
	if p.Root.Kind == lockns.FileRoot {
		query += ` UNION ALL ` + selectLock + `WHERE l.namespace_id = ? AND l.root_kind = 'file' AND l.root_file_id = ?` + activeLocks
		args = append(args, sp.id, p.Root.ID, now)
	}
	return t.lockRows(query, args...)
}

// below are the active locks rooted under a folder: one range of the ancestry
// index, costing what it returns.
func (t *tx) below(sp *space, p lockns.Place) ([]lockns.Lock, error) {
	if !p.IsFolder() {
		return nil, nil
	}
	return t.lockRows(selectLock+`WHERE l.namespace_id = ? AND l.ancestry > ? AND l.ancestry < ?`+activeLocks,
		sp.id, p.Ancestry, rangeEnd(p.Ancestry), micros(t.now))
}

// rangeEnd is the end of the range of ancestries that start with a folder's.
func rangeEnd(ancestry string) string {
	return strings.TrimSuffix(ancestry, "/") + "0" // '0' follows '/'
}

// folderIDs are the ids of the folders in an ancestry, root-first.
func folderIDs(ancestry string) []any {
	var ids []any
	for part := range strings.SplitSeq(strings.Trim(ancestry, "/"), "/") {
		var id int64
		for _, c := range []byte(part) {
			if c < '0' || c > '9' {
				return ids // the file, or the unmapped name, at the end
			}
			id = id*10 + int64(c-'0')
		}
		ids = append(ids, id)
	}
	return ids
}

// touch is a resource of one workspace that a change touches.
type touch struct {
	*space
	lockns.Touch
}

func (sp *spot) touch() touch { return touch{sp.space, lockns.Touch{Place: sp.place()}} }
func (sp *spot) deep() touch  { return touch{sp.space, lockns.Touch{Place: sp.place(), Deep: true}} }
func (sp *spot) membership() touch {
	return touch{sp.space, lockns.Touch{Place: sp.parent}}
}

// authorize applies the lock rules to everything a change touches. A refusal
// names every lock in the way, of each workspace.
func (t *tx) authorize(cred lockns.Credentials, touches ...touch) error {
	var refused []lockns.Lock
	for len(touches) > 0 {
		sp := touches[0].space
		var here []lockns.Touch
		var rest []touch
		for _, c := range touches {
			if c.space == sp {
				here = append(here, c.Touch)
			} else {
				rest = append(rest, c)
			}
		}
		locks, err := t.bearing(sp, here)
		if err != nil {
			return err
		}
		var refusal *lockns.LockedError
		if errors.As(lockns.Authorize(cred, locks, here...), &refusal) {
			refused = append(refused, refusal.Locks...)
		}
		touches = rest
	}
	if refused != nil {
		return locked(refused)
	}
	return nil
}

// bearing are the locks that bear on the touches, each once.
func (t *tx) bearing(sp *space, touches []lockns.Touch) ([]lockns.Lock, error) {
	var all []lockns.Lock
	seen := map[int64]bool{}
	add := func(locks []lockns.Lock, err error) error {
		for _, l := range locks {
			if !seen[l.ID] {
				seen[l.ID] = true
				all = append(all, l)
			}
		}
		return err
	}
	for _, c := range touches {
		if err := add(t.covering(sp, c.Place)); err != nil {
			return nil, err
		}
		if !c.Deep {
			continue
		}
		if err := add(t.below(sp, c.Place)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// The writers of lock rows follow. Each marks the projection as changed, so
// that no caller can forget the generation, and notes what happens to the lock
// (see lockevents.go).

// addLock inserts a lock row; l.ID 0 takes a new id, another puts down a lock that
// was lifted.
func (t *tx) addLock(sp *space, l lockns.Lock) (lockns.Lock, error) {
	event := lockCreated
	if l.ID != 0 {
		event = lockMoved
	}
	var folder, file any
	switch l.Place.Root.Kind {
	case lockns.FolderRoot:
		folder = l.Place.Root.ID
	case lockns.FileRoot:
		file = l.Place.Root.ID
	}
	id, err := t.insert(`INSERT INTO resource_locks (id, token, namespace_id, root_kind, root_folder_id, root_file_id, ancestry,
depth, mode, origin, holder_user_id, owner_info, lockroot_path, timeout_at, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		null(l.ID), l.Token, sp.id, string(l.Place.Root.Kind), folder, file, l.Place.Ancestry,
		string(l.Depth), string(l.Mode), string(l.Origin), null(l.Holder), null(l.Owner), null(l.Path), nullMicros(l.ExpiresAt), micros(l.CreatedAt))
	if err != nil {
		return l, err
	}
	l.ID = id
	sp.relocks = true
	return l, t.noteLock(sp, event, l)
}

// liftLock deletes the row of a lock that addLock puts down elsewhere in the same
// transaction.
func (t *tx) liftLock(sp *space, l lockns.Lock) error {
	_, err := t.exec(`DELETE FROM resource_locks WHERE id = ?`, l.ID)
	sp.relocks = true
	return err
}

// dropLocks deletes the lock rows of a workspace that a condition selects, expired
// ones too.
func (t *tx) dropLocks(sp *space, e lockEnding, where string, args ...any) (int64, error) {
	return t.dropLockRows(sp, e, `namespace_id = ? AND `+where, append([]any{sp.id}, args...)...)
}

// dropLockRows is dropLocks for a condition that sees to the workspace itself.
func (t *tx) dropLockRows(sp *space, e lockEnding, where string, args ...any) (int64, error) {
	n, err := t.noteEndings(sp, e, where, args)
	if err != nil || n == 0 {
		return 0, err
	}
	sp.relocks = true
	return t.exec(`DELETE FROM resource_locks WHERE `+where, args...)
}

// sweepLocks deletes up to limit expired locks. The condition is on ids alone:
// with the workspace's beside it SQLite would read all its locks. It is ordered, so
// that it selects the same locks each time.
func (t *tx) sweepLocks(sp *space, limit int) (int64, error) {
	return t.dropLockRows(sp, endExpired, `id IN
(SELECT id FROM resource_locks WHERE namespace_id = ? AND timeout_at < ? ORDER BY timeout_at, id LIMIT ?)`, sp.id, micros(t.now), limit)
}

// dropUnder deletes the locks at or below a place, of all origins.
func (t *tx) dropUnder(sp *space, p lockns.Place, e lockEnding) error {
	if p.IsFolder() {
		_, err := t.dropLocks(sp, e, `ancestry >= ? AND ancestry < ?`, p.Ancestry, rangeEnd(p.Ancestry))
		return err
	}
	_, err := t.dropLocks(sp, e, `root_kind = 'file' AND root_file_id = ?`, p.Root.ID)
	return err
}

// extendLock gives a lock a new end.
func (t *tx) extendLock(sp *space, l lockns.Lock) error {
	n, err := t.exec(`UPDATE resource_locks SET timeout_at = ?1 WHERE id = ?2 AND timeout_at IS NOT ?1`, nullMicros(l.ExpiresAt), l.ID)
	if err != nil || n == 0 {
		return err
	}
	sp.relocks = true
	return t.noteLock(sp, lockRefreshed, l)
}

// changeLock writes the depth, the note and the end of a lock. A note alone is in
// no projection.
func (t *tx) changeLock(sp *space, old, l lockns.Lock) error {
	_, err := t.exec(`UPDATE resource_locks SET depth = ?, owner_info = ?, timeout_at = ? WHERE id = ?`,
		string(l.Depth), null(l.Owner), nullMicros(l.ExpiresAt), l.ID)
	if err != nil {
		return err
	}
	later := !l.ExpiresAt.Equal(old.ExpiresAt)
	if l.Depth != old.Depth || later {
		sp.relocks = true
	}
	switch {
	case l.Depth != old.Depth || l.Owner != old.Owner:
		return t.noteLock(sp, lockChanged, l)
	case later:
		return t.noteLock(sp, lockRefreshed, l)
	}
	return nil
}

// rooted are the active locks rooted on a resource of a workspace, by id.
func (t *tx) rooted(sp *space, r lockns.Root) ([]lockns.Lock, error) {
	where, args := rootedOn(r)
	args = append(append([]any{sp.id}, args...), micros(t.now))
	// Sorted here: told to sort, SQLite would read the workspace's locks by id.
	locks, err := t.lockRows(selectLock+`WHERE l.namespace_id = ? AND `+where+activeLocks, args...)
	slices.SortFunc(locks, func(a, b lockns.Lock) int { return cmp.Compare(a.ID, b.ID) })
	return locks, err
}

// rootedOn is the condition for lock rows rooted on a resource of a workspace.
func rootedOn(r lockns.Root) (where string, args []any) {
	switch r.Kind {
	case lockns.FileRoot:
		return `root_kind = 'file' AND root_file_id = ?`, []any{r.ID}
	case lockns.FolderRoot:
		return `root_kind = 'folder' AND root_folder_id = ?`, []any{r.ID}
	}
	return `root_kind = 'workspace_root'`, nil
}

// lockByToken finds an active lock in any workspace, and the namespace row it
// belongs to.
func (t *tx) lockByToken(token string) (l lockns.Lock, namespace int64, ok bool, err error) {
	return t.oneLock(`l.token = ?`, token)
}

// lockByID is lockByToken for an id: ErrNotFound.
func (t *tx) lockByID(id int64) (l lockns.Lock, namespace int64, err error) {
	l, namespace, ok, err := t.oneLock(`l.id = ?`, id)
	if err == nil && !ok {
		err = fmt.Errorf("lock %d: %w", id, ErrNotFound)
	}
	return l, namespace, err
}

// oneLock finds the one active lock that a condition can select.
func (t *tx) oneLock(where string, arg any) (l lockns.Lock, namespace int64, ok bool, err error) {
	err = t.rows(selectLock+`WHERE `+where+activeLocks, []any{arg, micros(t.now)}, func(scan func(...any) error) (err error) {
		l, namespace, err = scanLock(scan)
		ok = err == nil
		return err
	})
	return l, namespace, ok, err
}

// workspaceOf is the workspace of a namespace row: ErrNotFound.
func (t *tx) workspaceOf(namespace int64) (ws lockns.Workspace, err error) {
	ok, err := t.row(`SELECT workspace_type, workspace_id FROM resource_lock_namespaces WHERE id = ?`,
		[]any{namespace}, (*string)(&ws.Kind), &ws.ID)
	if err == nil && !ok {
		err = ErrNotFound
	}
	return ws, err
}
