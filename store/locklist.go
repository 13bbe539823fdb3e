package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"holdfast/lockns"
)

// LockOrder is what a list of locks is sorted by. Locks of equal rank are in the
// order of their ids.
type LockOrder int

// The orders of lists. Locks without an end are those that end last; locks
// without a path come after all others.
const (
	ByLockID LockOrder = iota
	ByEnd
	// ByPath is by the path that a lock was taken by, and is for the locks of one
	// workspace: paths of several have no order.
	ByPath
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
	Expired    bool
	Order      LockOrder
	Descending bool
	// After is the id of the last lock of the page before, 0 for the first page.
	// The order may need the lock's end, or its path, too.
	After     int64
	AfterEnd  time.Time
	AfterPath string
	// Limit is how many locks a page has at most; 0 is 1000, and more than 1001 are
	// 1001: who shows a thousand asks for one more, to know whether there are others.
	Limit int
}

// lockPage is how many locks a page has at most, when so many are asked for.
func lockPage(limit int) int {
	if limit <= 0 {
		return pageRows
	}
	return min(limit, pageRows+1)
}

// Locks lists locks, read from the lock table itself. It hides nothing: the caller
// decides who may see what, tokens above all. Where a root is, is told from the
// base of Under.
//
// Errors: ErrNotFound for a workspace or a path that is not there.
func (s *Store) Locks(ctx context.Context, filter LockFilter) (list []LockInfo, err error) {
	limit := lockPage(filter.Limit)
	base := int64(0)
	if filter.Under != nil {
		base = filter.Under.Base
	}
	err = s.snapshot(ctx, func(t *tx) error {
		list = nil
		q, err := t.lockList(filter)
		if err != nil {
			return err
		}
		for _, part := range filter.parts(q, t.now) {
			text, args := q.page(part, filter.Descending, limit-len(list))
			more, err := t.lockInfos(text, args, base)
			list = append(list, more...)
			if err != nil || len(list) == limit {
				return err
			}
		}
		return nil
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

// lockQuery is a list's statement without its order. No list reads more than it
// selects: either an index gives the page in its order, or another index gives few
// rows, which are sorted.
type lockQuery struct {
	where []string
	args  []any
	few   bool
}

func (q *lockQuery) and(where string, args ...any) {
	q.where = append(q.where, where)
	q.args = append(q.args, args...)
}

// sorted names a column that the list is in the order of. The plus keeps SQLite
// from walking its index where few rows are found without.
func (q *lockQuery) sorted(column string) string {
	if q.few {
		return `+l.` + column
	}
	return `l.` + column
}

// lockPart is a part of a list, whose locks all come before those of the next.
type lockPart struct {
	where string
	args  []any
	order []string // columns
}

// page is the statement for the next locks of a part.
func (q *lockQuery) page(part lockPart, descending bool, limit int) (string, []any) {
	order := slices.Clone(part.order)
	for i := range order {
		if descending {
			order[i] += ` DESC`
		}
	}
	return `SELECT ` + infoColumns + ` FROM resource_locks l` + infoTables + `
WHERE ` + strings.Join(append(q.where, part.where), " AND ") + ` ORDER BY ` + strings.Join(order, ", ") + ` LIMIT ?`,
		slices.Concat(q.args, part.args, []any{limit})
}

// parts are what is left of a list after filter.After. The locks that have no
// value in the column of the order are a part of their own: no index range holds
// both.
func (filter LockFilter) parts(q *lockQuery, now time.Time) []lockPart {
	switch filter.Order {
	case ByEnd:
		ending := filter.byEnd(q, now)
		if filter.Expired {
			return []lockPart{ending}
		}
		return filter.inOrder(ending, filter.without(q, "timeout_at"), filter.AfterEnd.IsZero())
	case ByPath:
		return filter.inOrder(filter.byPath(q), filter.without(q, "lockroot_path"), filter.AfterPath == "")
	}
	return []lockPart{filter.byID(q.sorted("id"), filter.After)}
}

// inOrder is the part of the locks that have a value and the part of those that
// have none, without what comes before filter.After, which is in the second or in
// the first.
func (filter LockFilter) inOrder(with, without lockPart, second bool) []lockPart {
	switch {
	case filter.After != 0 && second != filter.Descending:
		return []lockPart{map[bool]lockPart{true: without, false: with}[second]}
	case filter.Descending:
		return []lockPart{without, with}
	}
	return []lockPart{with, without}
}

// byID is the part that comes after a lock, 0 for none.
func (filter LockFilter) byID(id string, after int64) lockPart {
	if !filter.Descending {
		return lockPart{id + ` > ?`, []any{after}, []string{id}}
	}
	if after == 0 {
		after = math.MaxInt64
	}
	return lockPart{id + ` < ?`, []any{after}, []string{id}}
}

// without is the part of the locks that have no value in a column.
func (filter LockFilter) without(q *lockQuery, column string) lockPart {
	after := filter.After
	if !filter.AfterEnd.IsZero() || filter.AfterPath != "" {
		after = 0 // it is in the other part
	}
	part := filter.byID(q.sorted("id"), after)
	part.where = q.sorted(column) + ` IS NULL AND ` + part.where
	return part
}

// byEnd is the part of the locks that have an end: those between two ends, each
// with an id, for there may be several at an end.
func (filter LockFilter) byEnd(q *lockQuery, now time.Time) lockPart {
	from, to := [2]int64{micros(now)}, [2]int64{math.MaxInt64}
	if filter.Expired {
		from, to = [2]int64{math.MinInt64}, from
	}
	if filter.After != 0 && !filter.AfterEnd.IsZero() {
		// A lock of the page before may have expired meanwhile.
		last := [2]int64{micros(filter.AfterEnd), filter.After}
		if filter.Descending && slices.Compare(last[:], to[:]) < 0 {
			to = last
		}
		if !filter.Descending && slices.Compare(last[:], from[:]) > 0 {
			from = last
		}
	}
	end := q.sorted("timeout_at")
	return lockPart{
		`(` + end + `, l.id) > (?, ?) AND (` + end + `, l.id) < (?, ?)`,
		[]any{from[0], from[1], to[0], to[1]}, []string{end, `l.id`},
	}
}

// byPath is the part of the locks that have a path.
func (filter LockFilter) byPath(q *lockQuery) lockPart {
	path := q.sorted("lockroot_path")
	part := lockPart{path + ` >= ''`, nil, []string{path, `l.id`}}
	if filter.After != 0 && filter.AfterPath != "" {
		part.where = `(` + path + `, l.id) ` + map[bool]string{false: `>`, true: `<`}[filter.Descending] + ` (?, ?)`
		part.args = []any{filter.AfterPath, filter.After}
	}
	return part
}

// lockList is the statement for a filter, as far as it does not depend on the
// order.
func (t *tx) lockList(filter LockFilter) (*lockQuery, error) {
	if filter.Order == ByPath && filter.Workspace == nil && filter.Under == nil {
		return nil, errNoPathOrder
	}
	q := &lockQuery{}
	if filter.Holder != 0 {
		q.and(`l.holder_user_id = ?`, filter.Holder)
		q.few = filter.Order == ByPath // there is no such index
	}
	if filter.Workspace != nil {
		sp, err := t.space(*filter.Workspace)
		if err != nil {
			return nil, err
		}
		q.and(q.namespace(filter), sp.id)
	}
	if filter.Under != nil {
		if err := t.under(q, filter); err != nil {
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
	if filter.Order == ByEnd {
		return q, nil
	}
	if !filter.Expired {
		q.and(`(l.timeout_at IS NULL OR l.timeout_at >= ?)`, micros(t.now))
		return q, nil
	}
	q.few = true
	q.and(`l.timeout_at < ?`, micros(t.now))
	if everywhere {
		q.and(`l.namespace_id IN (SELECT id FROM resource_lock_namespaces)`) // the index is by workspace
	}
	return q, nil
}

var errNoPathOrder = errors.New("store: only the locks of one workspace have an order by path")

// namespace is the condition for a workspace's locks. Where the holder's are
// asked for too, and in the order of an index, it must be that of the holder.
func (q *lockQuery) namespace(filter LockFilter) string {
	if filter.Holder != 0 && filter.Order != ByLockID {
		return `+l.namespace_id = ?`
	}
	return `l.namespace_id = ?`
}

// under adds the condition for locks rooted at or below a path.
func (t *tx) under(q *lockQuery, filter LockFilter) error {
	sp, err := t.mapped(*filter.Under)
	if err != nil {
		return err
	}
	if sp.node.Place.Root.Kind == lockns.WorkspaceRoot {
		q.and(q.namespace(filter), sp.id)
		return nil
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
