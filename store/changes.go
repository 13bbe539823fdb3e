package store

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"
)

// defaultChangesAge is how long changes are told of when Options does not say.
const defaultChangesAge = 30 * 24 * time.Hour

// Position says how much somebody knows of the members of a folder: what a sync
// token stands for (RFC 6578). The zero Position is to know nothing.
type Position struct {
	// Folder is the id of the folder, which it keeps wherever it is moved.
	Folder int64
	// Change is the id of the last change known. Changes of one folder become
	// visible in the order of their ids.
	Change int64
	// Listing: the first listing of the members was cut short. It goes on after
	// the name key After, among the files if Files is true, else the folders.
	Listing, Files bool
	After          string
}

// Position is where somebody stands who knows all members of a folder as they
// were when the node was read; zero for a file.
func (n Node) Position() Position {
	if !n.IsFolder() {
		return Position{}
	}
	return Position{Folder: ownerOf(&n).id, Change: n.lastChange}
}

// possible is false for a position after what is no name key, whose normal form may
// be three times as long as the name. Not every engine takes such a text.
func (p Position) possible() bool {
	return len(p.After) <= 3*MaxNameBytes && utf8.ValidString(p.After) && !strings.ContainsRune(p.After, 0)
}

// Change is a member of a folder that is not what it was.
type Change struct {
	// Name and Folder tell which member is meant. Under a name that a file had
	// and a folder has now, both have a Change, the earlier first.
	Name   string
	Folder bool
	// Entry is the member as it is, without a Path; nil when it is gone.
	Entry *Entry
}

// Changes calls fn for each member of the folder at target that came, went, or got
// another content, other properties or another name since a position: once, as it
// is now, in the order of the last changes. Since the zero Position it lists the
// members there are. After limit calls (limit > 0) it stops, and more says that
// there is something left. now is the position to ask from the next time; what
// changes meanwhile may be told now and is told then.
//
// A change of what is below a member, or of locks, is none of the member. Members
// are read in pages, and no transaction is open while fn runs. An error of fn ends
// it and is returned.
//
// Errors: ErrNotFound when there is no folder, and ErrPosition.
func (s *Store) Changes(ctx context.Context, target Target, since Position, want Want, limit int, fn func(Change) error) (now Position, more bool, err error) {
	if err := target.Path.check(); err != nil {
		return now, false, err
	}
	if !since.possible() {
		return now, false, ErrPosition
	}
	c := &changeReader{s: s, ctx: ctx, target: target, want: want, at: since}
	if err := s.snapshot(ctx, c.begin); err != nil {
		return now, false, err
	}
	for sent := 0; !c.done; {
		rows := pageRows
		if limit > 0 {
			rows = min(rows, limit-sent+1) // one more tells whether something is left
		}
		var page []changeRow
		err := s.snapshot(ctx, func(t *tx) (err error) {
			page, err = c.page(t, rows)
			return err
		})
		if err != nil {
			return now, false, err
		}
		for _, row := range page {
			if limit > 0 && sent == limit {
				return c.at, true, nil
			}
			if err := fn(row.Change); err != nil {
				return now, false, err
			}
			c.at = row.position
			sent++
		}
	}
	return c.end, false, nil
}

// changeReader reads the changes of one folder, page by page.
type changeReader struct {
	s      *Store
	ctx    context.Context
	target Target
	want   Want
	at     Position // after what was handed on last
	done   bool     // there is no other page
	end    Position // once done
}

// changeRow is a change and the position of who knows it and all before it.
type changeRow struct {
	Change
	position Position
}

// begin finds the folder that is at the target now.
func (c *changeReader) begin(t *tx) error {
	sp, err := t.mapped(c.target)
	if err != nil {
		return err
	}
	if !sp.node.IsFolder() {
		return ErrNotFound
	}
	now := sp.node.Position()
	if c.at == (Position{}) {
		// Before the first page: what changes from now on is told later.
		c.at = now
		c.at.Listing = true
	}
	if c.at.Folder != now.Folder {
		return ErrPosition
	}
	return nil
}

// page reads up to so many rows, after making sure that the folder is still
// there and that nothing after the position has aged out.
func (c *changeReader) page(t *tx, rows int) ([]changeRow, error) {
	sp, err := t.space(c.target.Workspace)
	if err != nil {
		return nil, err
	}
	f, err := t.folder(sp, c.at.Folder)
	if err != nil {
		return nil, err
	}
	var last, pruned int64
	_, err = t.row(`SELECT last_change, changes_pruned FROM folders WHERE id = ?`, []any{f.id}, &last, &pruned)
	if err != nil {
		return nil, err
	}
	if c.at.Change < pruned || c.at.Change > last {
		return nil, ErrPosition
	}
	if c.at.Listing {
		return c.list(t, sp, f, rows)
	}
	c.end = Position{Folder: f.id, Change: last}
	return c.changed(t, sp, f, rows)
}

// list reads a page of the members.
func (c *changeReader) list(t *tx, sp *space, f folder, rows int) ([]changeRow, error) {
	c.end = Position{Folder: f.id, Change: c.at.Change}
	folder := Entry{Node: Node{Place: f.place}}
	from := cursor{folders: !c.at.Files, after: c.at.After, rows: rows}
	entries, next, err := t.page(sp.ws, folder, from, c.want, nil)
	if err != nil {
		return nil, err
	}
	c.done = next.done
	page := make([]changeRow, len(entries))
	for i := range entries {
		e := &entries[i]
		page[i] = changeRow{Change{e.Name, e.IsFolder(), e}, Position{
			Folder: f.id, Change: c.at.Change, Listing: true, Files: !e.IsFolder(), After: NameKey(e.Name),
		}}
	}
	return page, nil
}

// changed reads a page of the log, with the members as they are.
func (c *changeReader) changed(t *tx, sp *space, f folder, rows int) ([]changeRow, error) {
	var page []changeRow
	err := t.rows(`SELECT id, name, is_folder FROM changes WHERE folder_id = ? AND id > ? ORDER BY id LIMIT ?`,
		[]any{f.id, c.at.Change, rows}, func(scan func(...any) error) error {
			row := changeRow{position: Position{Folder: f.id}}
			err := scan(&row.position.Change, &row.Name, &row.Folder)
			page = append(page, row)
			return err
		})
	c.done = len(page) < rows
	if err != nil || len(page) == 0 {
		return nil, err
	}
	if err := c.members(t, sp, f, page); err != nil {
		return nil, err
	}
	return c.complete(t, sp, page)
}

// The members that a range of the log is about, under the very names it has: what
// was renamed to another spelling of its name is in the log twice.
const (
	selectChangedFolders = `SELECT c.id, ` + folderColumns + ` FROM changes c
CROSS JOIN folders f ON f.parent_id = c.folder_id AND f.name_key = c.name_key AND f.name = c.name
WHERE c.folder_id = ? AND c.id > ? AND c.id <= ? AND c.is_folder = 1`
	selectChangedFiles = `SELECT c.id, ` + fileColumns + ` FROM changes c
CROSS JOIN files f ON f.folder_id = c.folder_id AND f.name_key = c.name_key AND f.name = c.name
WHERE c.folder_id = ? AND c.id > ? AND c.id <= ? AND c.is_folder = 0`
)

// members finds what is there of a page of the log.
func (c *changeReader) members(t *tx, sp *space, f folder, page []changeRow) error {
	at := make(map[int64]*Change, len(page))
	for i := range page {
		at[page[i].position.Change] = &page[i].Change
	}
	var id int64
	var row nodeRow
	dest := append([]any{&id}, row.dest()...)
	for _, query := range []string{selectChangedFolders, selectChangedFiles} {
		args := []any{f.id, c.at.Change, page[len(page)-1].position.Change}
		err := t.rows(query, args, func(scan func(...any) error) error {
			if err := scan(dest...); err != nil {
				return err
			}
			at[id].Entry = &Entry{Node: row.node(sp.id, f.place, f.id)}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// complete adds what is wanted of each member, as far as their properties fit in
// memory.
func (c *changeReader) complete(t *tx, sp *space, page []changeRow) ([]changeRow, error) {
	var bytes int64
	for i, row := range page {
		if row.Entry == nil {
			continue
		}
		e, err := t.entry(sp, &row.Entry.Node, nil, c.want)
		if err != nil {
			return nil, err
		}
		*row.Entry = e
		if bytes += e.props; c.want.wantsProps() && bytes > pageBytes {
			c.done = c.done && i == len(page)-1
			return page[:i+1], nil
		}
	}
	return page, nil
}

// changed records that a member of a folder came, went, or got another content,
// other properties or another name: the one under this name, as it is stored.
// Whether it is there now is told by files and folders. What has no folder, the
// root of a workspace, is in no log.
func (t *tx) changed(sp *space, folder int64, name string, isFolder bool) error {
	sp.regrows = true
	if folder == 0 {
		return nil
	}
	t.tells = true
	_, err := t.exec(`DELETE FROM changes WHERE folder_id = ? AND name = ? AND is_folder = ?`, folder, name, isFolder)
	if err != nil {
		return err
	}
	id, err := t.insert(`INSERT INTO changes (folder_id, name, name_key, is_folder, at) VALUES (?, ?, ?, ?, ?)`,
		folder, name, NameKey(name), isFolder, micros(t.now))
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE folders SET last_change = ? WHERE id = ?`, id, folder)
	return err
}

// changedNode is changed for a node that is in its folder.
func (t *tx) changedNode(sp *space, n *Node) error {
	return t.changed(sp, n.parent, n.Name, n.IsFolder())
}

// PruneChanges forgets up to 500 changes that are older than Options.ChangesAge and
// says how many; 0 means there are none. Whoever has not asked since then has to
// list those folders anew.
func (s *Store) PruneChanges(ctx context.Context) (rows int, err error) {
	// As in Purge, no namespace row: no member is changed.
	err = s.update(ctx, nil, func(t *tx) error {
		var last int64
		pruned := map[int64]int64{}
		if last, rows, err = t.oldChanges(pruned); err != nil || rows == 0 {
			return err
		}
		if _, err := t.exec(`DELETE FROM changes WHERE id <= ?`, last); err != nil {
			return err
		}
		for folder, id := range pruned {
			if _, err := t.exec(`UPDATE folders SET changes_pruned = ? WHERE id = ?`, id, folder); err != nil {
				return err
			}
		}
		return nil
	})
	return rows, err
}

// oldChanges finds the changes that are too old, from the first on: the id of the
// last and, in byFolder, of each folder's last.
func (t *tx) oldChanges(byFolder map[int64]int64) (last int64, rows int, err error) {
	oldest, young := micros(t.now.Add(-t.s.changesAge())), false
	err = t.rows(`SELECT id, folder_id, at FROM changes WHERE id > 0 ORDER BY id LIMIT ?`, []any{chunkRows}, func(scan func(...any) error) error {
		var id, folder, at int64
		if err := scan(&id, &folder, &at); err != nil {
			return err
		}
		if young = young || at >= oldest; !young {
			last, byFolder[folder] = id, id
			rows++
		}
		return nil
	})
	return last, rows, err
}

func (s *Store) changesAge() time.Duration {
	if s.o.ChangesAge > 0 {
		return s.o.ChangesAge
	}
	return defaultChangesAge
}

// Instance names this database: another after it was restored from a copy, when
// ids begin to mean something else.
func (s *Store) Instance() string { return s.projections.instance }
