package store

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"holdfast/blob"
	"holdfast/lockns"
)

// pageRows is how many members a listing reads at a time. No transaction is
// open while they are handed on.
const pageRows = 1000

// Stat describes the resource at a path: ErrNotFound when there is none.
func (s *Store) Stat(ctx context.Context, target Target) (n Node, err error) {
	if err := target.Path.check(); err != nil {
		return n, err
	}
	err = s.snapshot(ctx, func(t *tx) error {
		sp, err := t.mapped(target)
		if err == nil {
			n = *sp.node
		}
		return err
	})
	return n, err
}

// Read finds the resource at a path and, for a file, its content, both of one
// version: whatever replaces it meanwhile, the content stays readable for the 15
// minutes that an object without references is kept. The reader is lazy, nothing
// is opened before its first Read, and ctx bounds its life; for a folder it is
// nil. ErrNotFound when there is nothing.
func (s *Store) Read(ctx context.Context, target Target) (n Node, content io.ReadSeekCloser, err error) {
	if err := target.Path.check(); err != nil {
		return n, nil, err
	}
	err = s.snapshot(ctx, func(t *tx) error {
		sp, err := t.mapped(target)
		if err != nil {
			return err
		}
		if n = *sp.node; !n.IsFolder() {
			content, err = t.content(ctx, n)
		}
		return err
	})
	return n, content, err
}

// content is a reader for a file's content.
func (t *tx) content(ctx context.Context, n Node) (io.ReadSeekCloser, error) {
	var key *string
	var data []byte
	ok, err := t.row(`SELECT b.object_key, d.data FROM blobs b LEFT JOIN blob_data d ON d.blob_id = b.id WHERE b.id = ?`,
		[]any{n.blob}, &key, &data)
	if err == nil && !ok {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if key == nil {
		return newInline(data), nil
	}
	return objectReader{blob.NewReader(ctx, t.s.o.Blobs, *key, n.Size)}, nil
}

// Usage is what a workspace stores and may store.
func (s *Store) Usage(ctx context.Context, ws lockns.Workspace) (u Usage, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		sp, err := t.space(ws)
		if err != nil {
			return err
		}
		u, err = t.usage(sp)
		return err
	})
	return u, err
}

// ErrSkipBelow, returned by the function of a Walk, is no failure: see there.
var ErrSkipBelow = errors.New("store: leave out what is below")

// Walk calls fn for the resource at target and, by depth, for its members or
// for everything below it, parents before members. It counts first: with more
// than limit entries (limit > 0) it returns ErrTooMany before the first call.
// An error of fn ends the walk and is returned; but for a member ErrSkipBelow only
// leaves out what is below it.
//
// An Entry's Path is valid until fn returns. Members are read in pages; what
// changes meanwhile may or may not be seen. States are those of the locks there
// were at the start, as far as they have not expired since.
func (s *Store) Walk(ctx context.Context, target Target, depth int, want Want, limit int, fn func(Entry) error) error {
	if want.States {
		var err error
		if want.projection, err = s.projection(ctx, target.Workspace); err != nil {
			return err
		}
	}
	w := &walker{s: s, ctx: ctx, ws: target.Workspace, depth: depth, want: want, fn: fn}
	var start Entry
	err := s.snapshot(ctx, func(t *tx) error {
		sp, err := t.mapped(target)
		if err != nil {
			return err
		}
		if err := t.withinLimit(sp, depth, limit); err != nil {
			return err
		}
		start, err = t.entry(sp.space, sp.node, sp.shown(), want)
		return err
	})
	if err != nil {
		return err
	}
	if err := fn(start); err != nil {
		return err
	}
	if depth == DepthZero || !start.IsFolder() {
		return nil
	}
	return w.members(start)
}

// withinLimit counts what a walk would hand on, as far as the limit.
func (t *tx) withinLimit(sp *spot, depth, limit int) error {
	if limit <= 0 || depth == DepthZero || !sp.node.IsFolder() {
		return nil
	}
	id := sp.space.folderID(sp.node)
	var n int
	var err error
	if depth == DepthOne {
		_, err = t.row(`SELECT count(*) FROM (SELECT 1 FROM folders WHERE parent_id = ? UNION ALL SELECT 1 FROM files WHERE folder_id = ? LIMIT ?)`,
			[]any{id, id, limit}, &n)
	} else {
		n, err = t.countTree(id, limit)
	}
	if err == nil && n >= limit { // the start counts too
		return ErrTooMany
	}
	return err
}

// entry fills in what is wanted of one node.
func (t *tx) entry(sp *space, n *Node, path Path, want Want) (e Entry, err error) {
	e = Entry{Node: *n, Path: path}
	if want.wantsProps() {
		if e.Props, err = t.props(n, want); err != nil {
			return e, err
		}
	}
	if want.Checksums {
		if e.Checksums, err = t.checksums(n); err != nil {
			return e, err
		}
	}
	var locks []lockns.Lock
	if want.needsLocks() {
		if locks, err = t.covering(sp, n.Place); err != nil {
			return e, err
		}
	}
	if want.Locks {
		one := []Entry{e}
		fillLocks(one, locks)
		e = one[0]
	}
	if want.States {
		p := want.projection
		if p == nil {
			p = projectionOf(locks)
		}
		e.State = p.State(n.Place, t.now)
	}
	return e, nil
}

// walker hands on the members of a tree. It holds one page for each level it is
// on, never more.
type walker struct {
	s     *Store
	ctx   context.Context
	ws    lockns.Workspace
	depth int
	want  Want
	fn    func(Entry) error
}

// pages keeps the memory of pages for the next ones.
var pages = sync.Pool{New: func() any { return new([]Entry) }}

func (w *walker) members(folder Entry) error {
	page := pages.Get().(*[]Entry)
	defer func() {
		clear((*page)[:cap(*page)])
		pages.Put(page)
	}()
	// One path serves all members: only its last name changes.
	path := append(make(Path, 0, len(folder.Path)+1), folder.Path...)
	path = append(path, "")
	cur := cursor{folders: true}
	for !cur.done {
		err := w.s.snapshot(w.ctx, func(t *tx) (err error) {
			*page, cur, err = t.page(w.ws, folder, cur, w.want, *page)
			return err
		})
		if errors.Is(err, ErrNotFound) {
			return nil // the workspace went meanwhile
		}
		if err != nil {
			return err
		}
		for _, e := range *page {
			path[len(path)-1] = e.Name
			e.Path = path
			if err := w.handOn(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// handOn hands on an entry and, if the walk goes there, what is below it.
func (w *walker) handOn(e Entry) error {
	if err := w.fn(e); err != nil {
		if err == ErrSkipBelow {
			return nil
		}
		return err
	}
	if w.depth != DepthInfinity || !e.IsFolder() {
		return nil
	}
	return w.members(e)
}

// cursor is where the next page of a folder starts: first its folders, then its
// files, each by name key.
type cursor struct {
	folders bool
	after   string
	done    bool
	rows    int // how many to read at most; 0: pageRows
}

func (c cursor) limit() int {
	if c.rows > 0 {
		return c.rows
	}
	return pageRows
}

const (
	selectFolders = `SELECT f.name_key, ` + folderColumns + ` FROM folders f WHERE f.parent_id = ? AND f.name_key > ? ORDER BY f.name_key LIMIT ?`
	selectFiles   = `SELECT f.name_key, ` + fileColumns + ` FROM files f WHERE f.folder_id = ? AND f.name_key > ? ORDER BY f.name_key LIMIT ?`
)

// page reads the next members of a folder, of one kind, into the memory of an
// earlier page, and says where the page after it starts. Paths are not set.
func (t *tx) page(ws lockns.Workspace, folder Entry, cur cursor, want Want, page []Entry) ([]Entry, cursor, error) {
	sp, err := t.space(ws)
	if err != nil {
		return page, cur, err
	}
	for {
		var last string
		if page, last, err = t.batch(sp, folder, cur, page[:0]); err != nil {
			return page, cur, err
		}
		next := cursor{folders: cur.folders, after: last, rows: cur.rows}
		if len(page) < cur.limit() {
			next = cursor{done: !cur.folders, rows: cur.rows}
		}
		if n := light(page, want); n < len(page) {
			page, last = page[:n], NameKey(page[n-1].Name)
			next = cursor{folders: cur.folders, after: last, rows: cur.rows}
		}
		if len(page) > 0 || next.done {
			return page, next, t.fill(sp, folder, page, cur, last, want)
		}
		cur = next
	}
}

// pageBytes bounds what the properties of a page take, but for those of its
// last entry.
const pageBytes = 4 << 20

// light is how many entries of a page to keep so that the properties wanted of
// it fit in memory.
func light(page []Entry, want Want) int {
	var bytes int64
	for i, e := range page {
		if bytes += e.props; want.wantsProps() && bytes > pageBytes {
			return i + 1
		}
	}
	return len(page)
}

// batch reads up to a page of members and the name key of the last.
func (t *tx) batch(sp *space, folder Entry, cur cursor, page []Entry) (_ []Entry, last string, err error) {
	query := selectFiles
	if cur.folders {
		query = selectFolders
	}
	id := sp.folderID(&folder.Node)
	var row nodeRow
	dest := append([]any{&last}, row.dest()...)
	err = t.rows(query, []any{id, cur.after, cur.limit()}, func(scan func(...any) error) error {
		if err := scan(dest...); err != nil {
			return err
		}
		page = append(page, Entry{Node: row.node(sp.id, folder.Place, id)})
		return nil
	})
	return page, last, err
}

// fill adds what is wanted to a page: one query for properties, one for
// checksums and one for locks, whatever its length.
func (t *tx) fill(sp *space, folder Entry, page []Entry, from cursor, to string, want Want) error {
	id := sp.folderID(&folder.Node)
	if want.wantsProps() && slices.ContainsFunc(page, func(e Entry) bool { return e.props > 0 }) {
		if err := t.fillProps(page, id, from, to, want); err != nil {
			return err
		}
	}
	if want.Checksums && !from.folders {
		if err := t.fillChecksums(page, id, from, to); err != nil {
			return err
		}
	}
	if want.Locks {
		locks, err := t.pageLocks(sp, folder, id, from, to)
		if err != nil {
			return err
		}
		fillLocks(page, locks)
	}
	if want.States {
		return t.fillStates(sp, &folder.Node, page, from, to, want.projection)
	}
	return nil
}

// index finds the entries of a page by identity.
func index(page []Entry) map[lockns.Root]int {
	at := make(map[lockns.Root]int, len(page))
	for i, e := range page {
		at[e.Place.Root] = i
	}
	return at
}

func (t *tx) fillProps(page []Entry, id int64, from cursor, to string, want Want) error {
	value, condition, args := want.wanted()
	kind, tables := lockns.FileRoot, ` FROM files f CROSS JOIN properties p ON p.file_id = f.id WHERE f.folder_id = ?`
	if from.folders {
		kind, tables = lockns.FolderRoot, ` FROM folders f CROSS JOIN properties p ON p.folder_id = f.id WHERE f.parent_id = ?`
	}
	query := `SELECT f.id, p.namespace, p.name, ` + value + tables +
		` AND f.name_key > ? AND f.name_key <= ? AND f.props_bytes > 0` + condition + ` ORDER BY p.id`
	at := index(page)
	return t.rows(query, append([]any{id, from.after, to}, args...), func(scan func(...any) error) error {
		var owner int64
		var p Property
		if err := scan(&owner, &p.Space, &p.Local, &p.XML); err != nil {
			return err
		}
		if i, ok := at[lockns.Root{Kind: kind, ID: owner}]; ok {
			page[i].Props = append(page[i].Props, p)
		}
		return nil
	})
}

// fillLocks gives each entry, out of all the locks that may cover one, those that
// do.
func fillLocks(page []Entry, locks []lockns.Lock) {
	if len(locks) == 0 {
		return
	}
	at := index(page)
	for _, l := range locks {
		if i, ok := at[l.Place.Root]; ok {
			page[i].Locks = append(page[i].Locks, l)
			continue
		}
		for i := range page {
			if l.Covers(page[i].Place) {
				page[i].Locks = append(page[i].Locks, l)
			}
		}
	}
}

// pageLocks are the active locks that may cover members of a page: those above,
// then those rooted on them. A folder without a lock below costs one look into
// the index.
func (t *tx) pageLocks(sp *space, folder Entry, id int64, from cursor, to string) ([]lockns.Lock, error) {
	above, err := t.covering(sp, folder.Place)
	if err != nil {
		return nil, err
	}
	members, err := t.anyBelow(sp, folder.Place)
	if err != nil || !members {
		return above, err
	}
	query := `SELECT ` + lockColumns + ` FROM files f CROSS JOIN resource_locks l
ON l.namespace_id = ? AND l.root_kind = 'file' AND l.root_file_id = f.id
WHERE f.folder_id = ? AND f.name_key > ? AND f.name_key <= ?` + activeLocks
	if from.folders {
		query = `SELECT ` + lockColumns + ` FROM folders f CROSS JOIN resource_locks l
ON l.namespace_id = ? AND l.root_kind = 'folder' AND l.root_folder_id = f.id
WHERE f.parent_id = ? AND f.name_key > ? AND f.name_key <= ?` + activeLocks
	}
	locks, err := t.lockRows(query, sp.id, id, from.after, to, micros(t.now))
	return append(above, locks...), err
}
