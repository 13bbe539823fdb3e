package store

import (
	"context"
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
	shown  *lockns.Projection // what states come from; nil: the locks themselves
	limit  int
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
	start, read := len(page), 0
	first := ListKey{}
	condition, args := q.after(after)
	var row nodeRow
	dest := row.dest()
	args = append(args, m.limit-start)
	err = m.t.rows(`SELECT `+q.columns+q.from+condition+q.orderBy()+` LIMIT ?`, append([]any{m.id()}, args...), func(scan func(...any) error) error {
		if err := scan(dest...); err != nil {
			return err
		}
		e := Entry{Node: row.node(m.space.id, m.folder.Place, m.id())}
		last = e.Key(m.filter.Order)
		if read++; read == 1 {
			first = last
		}
		if m.filter.Skip == nil || !m.filter.Skip(e.Name) {
			page = append(page, e)
		}
		return nil
	})
	if err == nil && m.filter.States && len(page) > start {
		where, args := q.between(first, last)
		err = m.t.fillStates(m.space, m.folder, page[start:], membersIn{folders, where, args}, m.shown)
	}
	return page, last, read == m.limit-start, err
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

// between is the condition for what is from first to last, both included.
func (q listQuery) between(first, last ListKey) (string, []any) {
	if q.descending {
		first, last = last, first
	}
	from, args := q.compare(`>=`, first)
	to, more := q.compare(`<=`, last)
	return from + to, append(args, more...)
}
