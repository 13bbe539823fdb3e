package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"holdfast/lockns"
)

// ListOrder is what a list of the members of a folder is sorted by. Folders come
// before files, whatever the order.
type ListOrder int

// The orders of members.
const (
	// ByName is bytewise by the name's NFC form, as names are looked up: capital
	// letters before small ones, letters beyond ASCII after all others.
	ByName ListOrder = iota
	// BySize is by the bytes of content, files of equal size by their ids. Folders
	// have none and are by name.
	BySize
	// ByModified is by the time of the last modification, equal ones by id.
	ByModified
)

// ListKey is where a member stands in a list. It stays what it is when members
// come and go.
type ListKey struct {
	Folder bool   `json:"folder,omitempty"`
	Name   string `json:"name,omitempty"`  // where the list is by name
	Value  int64  `json:"value,omitempty"` // where it is not: bytes, or UTC microseconds
	ID     int64  `json:"id"`
}

// ListFilter says which page of a list of members is wanted.
type ListFilter struct {
	Order      ListOrder
	Descending bool
	// After is the last member of the page before, the zero ListKey for the first
	// page. It need not be there any more.
	After ListKey
	// Limit is how many members are wanted, from 1 to 1001: who shows a thousand asks
	// for one more, to know whether there are others.
	Limit int
	// Skip reports whether a member of this name is passed over; nil passes over none.
	Skip func(name string) bool
	// States says for each member how it is locked, for show.
	States bool
}

// Key is where a member stands in lists of an order.
func (e *Entry) Key(order ListOrder) ListKey {
	k := ListKey{Folder: e.IsFolder(), ID: e.ID()}
	switch order.of(k.Folder) {
	case ByName:
		k.Name = NameKey(e.Name)
	case BySize:
		k.Value = e.Size
	case ByModified:
		k.Value = micros(e.Modified)
	}
	return k
}

// of is the order among folders, or among files.
func (o ListOrder) of(folders bool) ListOrder {
	if o == BySize && folders {
		return ByName
	}
	return o
}

// List gives a page of the members of a folder, read from an index in its order,
// so that it costs what it shows. Their Paths are not set.
//
// Errors: ErrNotFound, also for a file.
func (s *Store) List(ctx context.Context, target Target, filter ListFilter) (page []Entry, err error) {
	var shown *lockns.Projection
	if filter.States {
		if shown, err = s.projection(ctx, target.Workspace); err != nil {
			return nil, err
		}
	}
	limit := min(max(filter.Limit, 1), pageRows+1)
	err = s.snapshot(ctx, func(t *tx) error {
		page = make([]Entry, 0, limit)
		sp, err := t.mapped(target)
		if err == nil && !sp.node.IsFolder() {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		m := lister{t: t, space: sp.space, folder: sp.node, filter: filter, shown: shown, limit: limit}
		if err := m.prepare(); err != nil {
			return err
		}
		page, err = m.read(page)
		return err
	})
	return page, err
}

// lister reads a page of members.
type lister struct {
	t      *tx
	space  *space
	folder *Node
	filter ListFilter
	limit  int
	// shown is what states come from: all locks, or only those above, and then direct
	// says whether there may be some on members.
	shown  *lockns.Projection
	direct bool
}

// read adds members to a page until it is full or there are no more.
func (m *lister) read(page []Entry) ([]Entry, error) {
	after := m.filter.After
	kinds := []bool{true, false}
	if after != (ListKey{}) && !after.Folder {
		kinds = kinds[1:]
	}
	for _, folders := range kinds {
		if after.Folder != folders {
			after = ListKey{}
		}
		for more := true; more && len(page) < m.limit; {
			var err error
			if page, after, more, err = m.batch(page, folders, after); err != nil {
				return page, err
			}
		}
	}
	return page, nil
}

// batch adds members of one kind, as many as are left to the limit, without those
// that are passed over, and says where it ended and whether there may be more.
func (m *lister) batch(page []Entry, folders bool, after ListKey) (_ []Entry, last ListKey, more bool, err error) {
	q := m.query(folders)
	b := listBatch{m: m, limit: m.limit - len(page), page: page, last: after}
	condition, args := q.after(after)
	var row nodeRow
	var end sql.NullInt64
	var mode sql.RawBytes
	dest := row.dest()
	rows := b.limit
	if m.direct {
		rows++ // one of the next member says that there are no more of the last
		dest = append(dest, &end, &mode)
	}
	args = slices.Concat([]any{m.id()}, args, []any{rows})
	err = m.t.rows(`SELECT `+q.columns+q.from+condition+q.orderBy()+` LIMIT ?`, args, func(scan func(...any) error) error {
		if err := scan(dest...); err != nil {
			return err
		}
		b.rows++
		if row.id != b.id {
			b.finish()
			b.start(row.node(m.space.id, m.folder.Place, m.id()))
		}
		if len(mode) > 0 {
			b.lock(end, string(mode) == string(lockns.Exclusive))
		}
		return nil
	})
	if err != nil {
		return b.page, b.last, false, err
	}
	more = b.rows == rows
	if more && m.direct && b.finished == 0 {
		b.decides, err = m.lastEnd(b.next.Place.Root) // more locks on one member than rows
		b.finish()
	} else if !more || !m.direct {
		b.finish()
	}
	return b.page, b.last, more, err
}

// listBatch takes the rows of a batch: of each member one, or one for each lock on
// it.
type listBatch struct {
	m        *lister
	limit    int // of members
	rows     int
	finished int
	page     []Entry
	last     ListKey // of the last member finished

	id      int64 // of the member that rows are read of, 0 before the first
	next    Entry
	decides int64 // its lock that does: see lockRank
}

func (b *listBatch) start(n Node) { b.id, b.next, b.decides = n.ID(), Entry{Node: n}, 0 }

func (b *listBatch) lock(end sql.NullInt64, exclusive bool) {
	b.decides = max(b.decides, lockRank(end, exclusive))
}

// finish adds the member whose rows have been read.
func (b *listBatch) finish() {
	if b.id == 0 || b.finished == b.limit {
		return
	}
	b.finished++
	b.last = b.next.Key(b.m.filter.Order)
	if b.m.filter.Skip != nil && b.m.filter.Skip(b.next.Name) {
		return
	}
	if b.m.filter.States {
		b.next.State = b.m.state(b.next.Place, b.decides)
	}
	b.page = append(b.page, b.next)
}

// noEnd is the end of a lock without one: it is later than any.
const noEnd = 1<<62 - 1

// lockRank orders the locks on a member: the one that ends last decides how it is
// locked, an exclusive one before a shared one that ends with it. 0 is no lock.
func lockRank(end sql.NullInt64, exclusive bool) int64 {
	if !end.Valid {
		end.Int64 = noEnd
	}
	return 2*end.Int64 + int64(btoi(exclusive))
}

// lastEnd is the rank of the lock that decides how a member is locked.
func (m *lister) lastEnd(id lockns.Root) (rank int64, err error) {
	column := `root_file_id`
	if id.Kind == lockns.FolderRoot {
		column = `root_folder_id`
	}
	err = m.t.rows(`SELECT timeout_at, mode = 'exclusive' FROM resource_locks WHERE `+column+` = ?`, []any{id.ID}, func(scan func(...any) error) error {
		var end sql.NullInt64
		var exclusive bool
		err := scan(&end, &exclusive)
		rank = max(rank, lockRank(end, exclusive))
		return err
	})
	return rank, err
}

// prepare finds out how states are told.
func (m *lister) prepare() (err error) {
	if !m.filter.States || m.shown != nil {
		return nil
	}
	above, err := m.t.covering(m.space, m.folder.Place)
	if err != nil {
		return err
	}
	m.shown = projectionOf(above)
	m.direct, err = m.t.anyBelow(m.space, m.folder.Place)
	return err
}

// state is how a member is locked, by the lock on it that decides and the locks
// above, or by the projection of all.
func (m *lister) state(p lockns.Place, rank int64) lockns.State {
	if rank != 0 {
		l := lockns.ProjectedRoot{Place: p, Depth: lockns.Resource, Mode: lockns.Shared}
		if rank&1 == 1 {
			l.Mode = lockns.Exclusive
		}
		if end := rank >> 1; end != noEnd {
			l.ExpiresAt = fromMicros(end)
		}
		if s, active := l.Direct(m.t.now); active {
			return s
		}
	}
	return m.shown.State(p, m.t.now)
}

// id is that of the folder's row.
func (m *lister) id() int64 { return m.space.folderID(m.folder) }

// listQuery is the statement for one kind of members in one order.
type listQuery struct {
	columns, from string
	order         ListOrder
	folders       bool
	descending    bool
}

func (m *lister) query(folders bool) listQuery {
	q := listQuery{
		columns: fileColumns, from: ` FROM files f WHERE f.folder_id = ?`,
		order: m.filter.Order.of(folders), folders: folders, descending: m.filter.Descending,
	}
	if folders {
		q.columns, q.from = folderColumns, ` FROM folders f WHERE f.parent_id = ?`
	}
	if !m.direct {
		return q
	}
	// Each member comes with the locks on it, from an index that has all of it, so that
	// a list with a lock on each costs little more than one without.
	q.columns += `, l.timeout_at, l.mode`
	q.from = ` FROM files f LEFT JOIN resource_locks l ON l.root_file_id = f.id WHERE f.folder_id = ?`
	if folders {
		q.from = ` FROM folders f LEFT JOIN resource_locks l ON l.root_folder_id = f.id WHERE f.parent_id = ?`
	}
	return q
}

// sorted are the columns of the order, which an index of the folder has behind it.
func (q listQuery) sorted() []string {
	switch q.order {
	case BySize:
		return []string{`f.size`, `f.id`}
	case ByModified:
		return []string{`f.modified_at`, `f.id`}
	}
	return []string{`f.name_key`}
}

// values are those of a key in these columns.
func (q listQuery) values(k ListKey) []any {
	if q.order == ByName {
		return []any{k.Name}
	}
	return []any{k.Value, k.ID}
}

func (q listQuery) orderBy() string {
	columns := q.sorted()
	if q.descending {
		for i := range columns {
			columns[i] += ` DESC`
		}
	}
	return ` ORDER BY ` + strings.Join(columns, ", ")
}

// compare is a condition on the columns of the order and its arguments.
func (q listQuery) compare(operator string, k ListKey) (string, []any) {
	columns, values := q.sorted(), q.values(k)
	if len(columns) == 1 {
		return ` AND ` + columns[0] + ` ` + operator + ` ?`, values
	}
	return ` AND (` + strings.Join(columns, ", ") + `) ` + operator + ` (?, ?)`, values
}

// after is the condition for what comes after a key, none for the zero key.
func (q listQuery) after(k ListKey) (string, []any) {
	switch {
	case k == ListKey{}:
		return "", nil
	case q.descending:
		return q.compare(`<`, k)
	}
	return q.compare(`>`, k)
}
