package store

import (
	"context"
	"database/sql"
	"strings"

	"holdfast/lockns"
)

// spot is where a path leads inside a transaction.
type spot struct {
	*space
	target Target
	base   lockns.Place // of target.Base, or of the workspace root
	levels int          // of base below the workspace root
	above  Path         // the names from the workspace root down to where target.Path starts
	// parent is the place of the folder the resource is in, or would be in;
	// without an id when the path is the root or a folder above is missing.
	parent   lockns.Place
	parentID int64
	// node is what is there, nil when the path maps to nothing.
	node *Node
	// returns is how many bytes the change gives back to the workspace beside
	// those of node.
	returns int64
}

// place is where the resource is or would be; zero without a parent.
func (sp *spot) place() lockns.Place {
	switch {
	case sp.node != nil:
		return sp.node.Place
	case sp.parentID != 0:
		return sp.parent.Unmapped()
	}
	return lockns.Place{}
}

// name is the name that the target gives a resource: the last of its path, or,
// where it has none, that of what is there.
func (sp *spot) name() string {
	if sp.target.Path.IsRoot() && sp.node != nil {
		return sp.node.Name
	}
	return sp.target.Path.Base()
}

// path is where the spot is below the workspace root.
func (sp *spot) path() Path { return append(sp.above[:len(sp.above):len(sp.above)], sp.target.Path...) }

// spelled is path with the last name as it is stored, for the audit log.
func (sp *spot) spelled() string { return sp.path().Parent().Join(sp.node.Name).String() }

// shown is where the spot is below its base: spelled as asked, but as stored where
// the resource is known by id.
func (sp *spot) shown() Path {
	if sp.target.Start == (lockns.Root{}) {
		return sp.target.Path
	}
	p := sp.path()
	return p[sp.levels:len(p):len(p)]
}

// mapped is find for a path that must map to something: ErrNotFound otherwise.
func (t *tx) mapped(target Target) (*spot, error) {
	sp, err := t.find(target)
	if err == nil && sp.node == nil {
		err = ErrNotFound
	}
	return sp, err
}

// find resolves a path, root-first.
func (t *tx) find(target Target) (*spot, error) {
	space, err := t.space(target.Workspace)
	if err != nil {
		return nil, err
	}
	sp := &spot{space: space, target: target}
	base := folder{place: space.rootPlace(), id: space.root}
	if target.Base != 0 {
		if base, err = t.folder(space, target.Base); err != nil {
			return nil, err
		}
	}
	sp.base, sp.levels = base.place, len(base.path)
	if target.Start.Kind == lockns.FileRoot {
		return sp, t.findFile(sp, target)
	}
	start := base
	if target.Start != (lockns.Root{}) {
		if start, err = t.startFolder(sp, target.Start); err != nil {
			return nil, err
		}
	}
	sp.above = start.path
	if len(sp.above)+len(target.Path) > MaxLevels {
		return nil, ErrTooDeep
	}
	if target.Path.IsRoot() {
		if start.id != base.id {
			sp.parent, sp.parentID = start.above, start.parent
		}
		sp.node, err = t.folderNode(space, start)
		return sp, err
	}
	place, id, err := t.descend(start, target.Path.Parent())
	if err != nil || id == 0 {
		return sp, err
	}
	sp.parent, sp.parentID = place, id
	sp.node, err = t.member(space, place, id, NameKey(target.Path.Base()))
	return sp, err
}

// startFolder finds a folder by id, at or below the base of a spot.
func (t *tx) startFolder(sp *spot, id lockns.Root) (folder, error) {
	if id.Kind == lockns.WorkspaceRoot {
		id.ID = sp.root
	}
	f, err := t.folder(sp.space, id.ID)
	if err == nil && !sp.base.Holds(f.place) {
		err = ErrNotFound
	}
	return f, err
}

const selectFile = `SELECT f.folder_id, ` + fileColumns + ` FROM files f WHERE f.id = ?`

// findFile resolves a target that starts at a file. Nothing is below one.
func (t *tx) findFile(sp *spot, target Target) error {
	var parent int64
	var row nodeRow
	found, err := t.row(selectFile, []any{target.Start.ID}, append([]any{&parent}, row.dest()...)...)
	if err != nil {
		return err
	}
	if !found {
		return ErrNotFound
	}
	f, err := t.startFolder(sp, lockns.Root{Kind: lockns.FolderRoot, ID: parent})
	if err != nil {
		return err
	}
	sp.above = f.path.Join(row.name)
	if target.Path.IsRoot() {
		n := row.node(sp.id, f.place, f.id)
		sp.parent, sp.parentID, sp.node = f.place, f.id, &n
	}
	return nil
}

// isBase reports whether the target is the base of its own, or the workspace
// root: what stays where it is.
func (sp *spot) isBase() bool { return sp.node != nil && sp.node.Place == sp.base }

// WorkspaceOf is the workspace of a file, or of a folder's row, known by id:
// ErrNotFound when there is no such row. One that was removed and is not purged
// yet still has it; no Target finds it there. Who may know of it is for the caller
// to decide.
func (s *Store) WorkspaceOf(ctx context.Context, id lockns.Root) (ws lockns.Workspace, err error) {
	query := `SELECT namespace_id FROM folders WHERE id = ?`
	if id.Kind == lockns.FileRoot {
		query = `SELECT namespace_id FROM files WHERE id = ?`
	}
	err = s.snapshot(ctx, func(t *tx) error {
		var namespace int64
		found, err := t.row(query, []any{id.ID}, &namespace)
		if err == nil && !found {
			err = ErrNotFound
		}
		if err == nil {
			ws, err = t.workspaceOf(namespace)
		}
		return err
	})
	return ws, err
}

// joinLevels is how many levels one statement descends.
const joinLevels = 16

// folder is a folder found by id: where it is, and the names that lead to it.
type folder struct {
	place  lockns.Place
	above  lockns.Place // of the folder it is in; zero for the workspace root
	id     int64
	parent int64 // 0 for the workspace root
	path   Path
}

// selectUpward reads a folder and those above it, root-first. A tree has at most
// MaxLevels levels below its root, so that a loop, which nothing makes, ends.
const selectUpward = `WITH RECURSIVE up (id, parent_id, name, height) AS (
SELECT id, parent_id, name, 0 FROM folders WHERE id = ?
UNION ALL SELECT f.id, f.parent_id, f.name, up.height + 1 FROM up CROSS JOIN folders f ON f.id = up.parent_id WHERE up.height <= ?)
SELECT id, coalesce(parent_id, 0), name FROM up ORDER BY height DESC`

// folder finds a folder of a workspace by id: ErrNotFound, also when it is
// detached or in another workspace.
func (t *tx) folder(space *space, id int64) (folder, error) {
	var f folder
	err := t.rows(selectUpward, []any{id, MaxLevels}, func(scan func(...any) error) error {
		var name string
		if err := scan(&f.id, &f.parent, &name); err != nil {
			return err
		}
		switch {
		case f.id == space.root:
			f.place = space.rootPlace()
		case f.place.Root.Kind != "":
			f.above, f.place = f.place, f.place.Folder(f.id)
			f.path = append(f.path, name)
		}
		return nil
	})
	if err == nil && f.place.Root.Kind == "" {
		err = ErrNotFound
	}
	return f, err
}

// FolderPath is where a folder known by id is below its workspace's root:
// ErrNotFound.
func (s *Store) FolderPath(ctx context.Context, ws lockns.Workspace, id int64) (p Path, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		sp, err := t.space(ws)
		if err != nil {
			return err
		}
		f, err := t.folder(sp, id)
		p = f.path
		return err
	})
	return p, err
}

// descend walks down folders only. It returns id 0 when one is missing.
func (t *tx) descend(from folder, path Path) (lockns.Place, int64, error) {
	place, id := from.place, from.id
	for len(path) > 0 {
		n := min(len(path), joinLevels)
		ids, err := t.chain(id, path[:n])
		if err != nil || ids == nil {
			return lockns.Place{}, 0, err
		}
		for _, id := range ids {
			place = place.Folder(id)
		}
		id, path = ids[n-1], path[n:]
	}
	return place, id, nil
}

// chain returns the ids of nested folders below parent, or nil.
func (t *tx) chain(parent int64, names Path) ([]int64, error) {
	ids := make([]int64, len(names))
	dest := make([]any, len(names))
	args := make([]any, 0, len(names)+1)
	args = append(args, parent)
	for i, name := range names {
		dest[i] = &ids[i]
		args = append(args, NameKey(name))
	}
	ok, err := t.row(chainQueries[len(names)], args, dest...)
	if err != nil || !ok {
		return nil, err
	}
	return ids, nil
}

// chainQueries holds the statement for each number of levels. CROSS JOIN keeps
// SQLite from joining in any order but root-first.
var chainQueries = func() [joinLevels + 1]string {
	var qs [joinLevels + 1]string
	for n := 1; n <= joinLevels; n++ {
		var cols, from, where []string
		for i := 1; i <= n; i++ {
			f := "f" + itoa(int64(i))
			cols = append(cols, f+".id")
			from = append(from, "folders "+f)
			up := "?"
			if i > 1 {
				up = "f" + itoa(int64(i-1)) + ".id"
			}
			where = append(where, f+".parent_id = "+up+" AND "+f+".name_key = ?")
		}
		qs[n] = "SELECT " + strings.Join(cols, ", ") + " FROM " + strings.Join(from, " CROSS JOIN ") +
			" WHERE " + strings.Join(where, " AND ")
	}
	return qs
}()

// The columns of a node, in one shape for folders and files.
const (
	folderColumns = `1, f.id, f.name, 0, '', NULL, 0, f.props_bytes, 0, f.created_at, f.modified_at, f.last_change`
	fileColumns   = `0, f.id, f.name, f.size, f.version, f.content_type, f.blob_id, f.props_bytes, f.versions_bytes, f.created_at, f.modified_at, 0`
)

const selectMember = `SELECT ` + folderColumns + ` FROM folders f WHERE f.parent_id = ? AND f.name_key = ?
UNION ALL SELECT ` + fileColumns + ` FROM files f WHERE f.folder_id = ? AND f.name_key = ?`

// member finds a file or folder of a folder by name key; nil when there is none.
func (t *tx) member(space *space, parent lockns.Place, parentID int64, key string) (*Node, error) {
	var n *Node
	err := t.rows(selectMember, []any{parentID, key, parentID, key}, func(scan func(...any) error) (err error) {
		n, err = scanNode(scan, space.id, parent, parentID)
		return err
	})
	return n, err
}

const selectFolder = `SELECT ` + folderColumns + ` FROM folders f WHERE f.id = ?`

// folderNode is the node of a folder that was found.
func (t *tx) folderNode(space *space, f folder) (*Node, error) {
	var n *Node
	err := t.rows(selectFolder, []any{f.id}, func(scan func(...any) error) (err error) {
		n, err = scanNode(scan, space.id, lockns.Place{}, f.parent)
		return err
	})
	if n != nil {
		n.Place = f.place
	}
	return n, err
}

// scanNode reads the columns of a node whose parent is known.
func scanNode(scan func(...any) error, namespace int64, parent lockns.Place, parentID int64) (*Node, error) {
	var row nodeRow
	if err := scan(row.dest()...); err != nil {
		return nil, err
	}
	n := row.node(namespace, parent, parentID)
	return &n, nil
}

// nodeRow takes the columns of a node; a listing scans every row into the same
// one.
type nodeRow struct {
	folder            bool
	id, size, blob    int64
	props, versions   int64
	created, modified int64
	lastChange        int64
	name              string
	version           sql.RawBytes
	contentType       sql.NullString
}

func (r *nodeRow) dest() []any {
	return []any{
		&r.folder, &r.id, &r.name, &r.size, &r.version, &r.contentType, &r.blob, &r.props, &r.versions, &r.created, &r.modified, &r.lastChange,
	}
}

// node is the row last scanned.
func (r *nodeRow) node(namespace int64, parent lockns.Place, parentID int64) Node {
	n := Node{
		Name: r.name, Size: r.size, ContentType: r.contentType.String,
		Created: fromMicros(r.created), Modified: fromMicros(r.modified),
		namespace: namespace, parent: parentID, blob: r.blob, props: r.props, versions: r.versions, lastChange: r.lastChange,
	}
	if r.folder {
		n.Place = parent.Folder(r.id)
		return n
	}
	n.Place = parent.File(r.id)
	n.ETag = etag(string(r.version))
	return n
}

// etag is the strong entity tag of a version id, version the way back.
func etag(version string) string { return `"` + version + `"` }
func (n Node) version() string   { return strings.Trim(n.ETag, `"`) }

// folderID is the id of the folders row, for the root too.
func (sp *space) folderID(n *Node) int64 {
	if n.Place.Root.Kind == lockns.WorkspaceRoot {
		return sp.root
	}
	return n.Place.Root.ID
}

// touchFolder records that the members of a folder changed.
func (t *tx) touchFolder(sp *space, id int64) error {
	sp.regrows = true
	_, err := t.exec(`UPDATE folders SET modified_at = ? WHERE id = ?`, micros(t.now), id)
	return err
}
