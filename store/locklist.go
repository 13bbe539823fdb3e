package store

import (
	"context"
	"strings"

	"holdfast/lockns"
)

// LockFilter selects locks for a list. Conditions add up; zero ones select all.
type LockFilter struct {
	Workspace *lockns.Workspace
	Holder    int64 // user id
	Origin    lockns.Origin
	// Under selects locks rooted at or below what the path maps to, wherever
	// and by whatever name they were taken.
	Under *Target
	// Expired selects locks that are over and whose rows were not yet deleted,
	// instead of the active ones.
	Expired bool
	// After is the id of the last lock of the page before; 0 for the first.
	After int64
	// Limit is how many locks a page has at most; 0 and more than 1000 are 1000.
	Limit int
}

// Locks lists locks by id, read from the lock table itself. It hides nothing:
// the caller decides who may see what, tokens above all.
//
// Errors: ErrNotFound for a workspace or a path that is not there.
func (s *Store) Locks(ctx context.Context, filter LockFilter) (list []LockInfo, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		q, err := t.lockList(filter)
		if err != nil {
			return err
		}
		base := int64(0)
		if filter.Under != nil {
			base = filter.Under.Base
		}
		list, err = t.lockInfos(q.text(), q.args, base)
		return err
	})
	return list, err
}

// lockInfos reads the locks that a statement over infoColumns selects.
func (t *tx) lockInfos(query string, args []any, base int64) (list []LockInfo, err error) {
	err = t.rows(query, args, func(scan func(...any) error) (err error) {
		var i LockInfo
		more := []any{(*string)(&i.Workspace.Kind), &i.Workspace.ID, &i.HolderName, &i.HolderDisplay}
		i.Lock, _, err = scanLock(func(dest ...any) error { return scan(append(dest, more...)...) })
		list = append(list, i)
		return err
	})
	d := t.describer(base)
	for i := range list {
		if err == nil {
			err = d.findRoot(&list[i])
		}
	}
	return list, err
}

// What is read of each lock of a list, and from where.
const (
	infoColumns = lockColumns + `, n.workspace_type, n.workspace_id, coalesce(u.name, ''), ` + displayName
	infoTables  = ` CROSS JOIN resource_lock_namespaces n ON n.id = l.namespace_id LEFT JOIN users u ON u.id = l.holder_user_id`
)

// lockQuery is a list's statement. No list reads more than it selects: either
// an index that ends in the id gives the page in its order, or another index
// gives few rows, which are sorted.
type lockQuery struct {
	where []string
	args  []any
	few   bool
}

func (q *lockQuery) and(where string, args ...any) {
	q.where = append(q.where, where)
	q.args = append(q.args, args...)
}

func (q *lockQuery) text() string {
	// The plus keeps SQLite from walking ids where few rows are found without.
	plus := ""
	if q.few {
		plus = "+"
	}
	return `SELECT ` + infoColumns + ` FROM resource_locks l` + infoTables + `
WHERE ` + strings.Join(q.where, " AND ") + ` AND ` + plus + `l.id > ? ORDER BY l.id LIMIT ?`
}

// lockList is the statement for a filter.
func (t *tx) lockList(filter LockFilter) (*lockQuery, error) {
	q := &lockQuery{}
	if filter.Workspace != nil {
		sp, err := t.space(*filter.Workspace)
		if err != nil {
			return nil, err
		}
		q.and(`l.namespace_id = ?`, sp.id)
	}
	if filter.Holder != 0 {
		q.and(`l.holder_user_id = ?`, filter.Holder)
	}
	if filter.Under != nil {
		if err := t.under(q, *filter.Under); err != nil {
			return nil, err
		}
	}
	everywhere := len(q.where) == 0
	if filter.Origin != "" {
		q.and(`l.origin = ?`, string(filter.Origin))
	}
	if everywhere && filter.Origin != "" && filter.Origin != lockns.WebDAV {
		q.and(`l.origin <> 'webdav'`) // so says the index
	}
	if filter.Expired {
		q.few = true
		q.and(`l.timeout_at < ?`, micros(t.now))
	} else {
		q.and(`(l.timeout_at IS NULL OR l.timeout_at >= ?)`, micros(t.now))
	}
	if everywhere && filter.Expired {
		q.and(`l.namespace_id IN (SELECT id FROM resource_lock_namespaces)`) // the index is by workspace
	}
	if filter.Limit <= 0 || filter.Limit > pageRows {
		filter.Limit = pageRows
	}
	q.args = append(q.args, filter.After, filter.Limit)
	return q, nil
}

// under adds the condition for locks rooted at or below a path.
func (t *tx) under(q *lockQuery, target Target) error {
	sp, err := t.mapped(target)
	if err != nil {
		return err
	}
	q.and(`l.namespace_id = ?`, sp.id)
	switch p := sp.node.Place; p.Root.Kind {
	case lockns.FileRoot:
		q.few = true
		q.and(`l.root_kind = 'file' AND l.root_file_id = ?`, p.Root.ID)
	case lockns.FolderRoot:
		q.few = true
		q.and(`l.ancestry >= ? AND l.ancestry < ?`, p.Ancestry, rangeEnd(p.Ancestry))
	}
	return nil
}
