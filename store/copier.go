package store

import (
	"slices"

	"github.com/google/uuid"
)

// pending is a folder whose members are still to be copied: first the files
// after a name key, then the folders.
type pending struct {
	from, to int64
	level    int // how many names lead to it
	after    string
	folders  bool
}

// copier copies a tree with a budget of rows a transaction. Its state between
// transactions is the list of folders begun.
type copier struct {
	t         *tx
	namespace int64
	todo      []pending
}

func (c *copier) clone(t *tx) copier { return copier{t, c.namespace, slices.Clone(c.todo)} }

// run copies until nothing is left or the budget is used up.
func (c *copier) run(budget int) error {
	for len(c.todo) > 0 && budget > 0 {
		p := &c.todo[len(c.todo)-1]
		if p.level >= MaxLevels {
			if err := c.tooDeep(p); err != nil {
				return err
			}
		}
		var n int
		var err error
		if p.folders {
			n, err = c.someFolders(p, budget)
		} else {
			n, err = c.someFiles(p, budget)
		}
		if err != nil {
			return err
		}
		budget -= n
	}
	return nil
}

// tooDeep refuses members below the deepest level.
func (c *copier) tooDeep(p *pending) error {
	var members bool
	_, err := c.t.row(`SELECT EXISTS (SELECT 1 FROM folders WHERE parent_id = ?) OR EXISTS (SELECT 1 FROM files WHERE folder_id = ?)`,
		[]any{p.from, p.from}, &members)
	if err == nil && members {
		return ErrTooDeep
	}
	return err
}

// someFiles copies up to n files of a folder with their properties, a handful
// of statements whatever n.
func (c *copier) someFiles(p *pending, n int) (int, error) {
	last, count, bytes := "", 0, int64(0)
	_, err := c.t.row(`SELECT coalesce(max(name_key), ''), count(*), coalesce(sum(size + props_bytes), 0) FROM
(SELECT name_key, size, props_bytes FROM files WHERE folder_id = ? AND name_key > ? ORDER BY name_key LIMIT ?)`,
		[]any{p.from, p.after, n}, &last, &count, &bytes)
	if err != nil {
		return 0, err
	}
	if count == 0 {
		p.folders, p.after = true, ""
		return 0, nil
	}
	// A copy has versions of its own: the source's id makes them differ inside
	// the batch, the uuid from all others.
	batch := uuid.NewString() + "-"
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`INSERT INTO files (namespace_id, folder_id, name, name_key, blob_id, size, version, content_type, props_bytes, created_at, modified_at)
SELECT ?, ?, name, name_key, blob_id, size, ? || id, content_type, props_bytes, ?, modified_at
FROM files WHERE folder_id = ? AND name_key > ? AND name_key <= ? ORDER BY name_key`,
			[]any{c.namespace, p.to, batch, micros(c.t.now), p.from, p.after, last}},
		{`UPDATE blobs SET refs = refs + n.n FROM
(SELECT blob_id, count(*) AS n FROM files WHERE folder_id = ? AND name_key > ? AND name_key <= ? GROUP BY blob_id) n
WHERE blobs.id = n.blob_id`, []any{p.to, p.after, last}},
		{`INSERT INTO properties (file_id, namespace, name, value)
SELECT t.id, p.namespace, p.name, p.value FROM files f
CROSS JOIN files t ON t.folder_id = ? AND t.name_key = f.name_key
CROSS JOIN properties p ON p.file_id = f.id
WHERE f.folder_id = ? AND f.name_key > ? AND f.name_key <= ? AND f.props_bytes > 0 ORDER BY p.id`,
			[]any{p.to, p.from, p.after, last}},
	} {
		if _, err := c.t.exec(step.query, step.args...); err != nil {
			return 0, err
		}
	}
	p.after = last
	return count, c.t.addUsage(c.namespace, bytes)
}

// someFolders creates up to n folders of a folder and puts their members on
// the list.
func (c *copier) someFolders(p *pending, n int) (int, error) {
	type folder struct {
		id        int64
		name, key string
		props     int64
	}
	parent := *p
	var found []folder
	err := c.t.rows(`SELECT id, name, name_key, props_bytes FROM folders WHERE parent_id = ? AND name_key > ? ORDER BY name_key LIMIT ?`,
		[]any{p.from, p.after, n}, func(scan func(...any) error) error {
			var f folder
			err := scan(&f.id, &f.name, &f.key, &f.props)
			found = append(found, f)
			return err
		})
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		c.todo = c.todo[:len(c.todo)-1]
		return 0, nil
	}
	p.after = found[len(found)-1].key
	for _, f := range found {
		id, err := c.t.addFolder(c.namespace, parent.to, f.name, micros(c.t.now))
		if err != nil {
			return 0, err
		}
		if err := c.copyFolderProps(f.id, id, f.props); err != nil {
			return 0, err
		}
		c.todo = append(c.todo, pending{from: f.id, to: id, level: parent.level + 1})
	}
	return len(found), nil
}

func (c *copier) copyFolderProps(from, to, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return c.t.copyPropRows(propOwner{"folder_id", "folders", from}, propOwner{"folder_id", "folders", to}, c.namespace, bytes)
}

// countTree counts the members below a folder, up to a limit.
func (t *tx) countTree(folder int64, limit int) (int, error) {
	var n int
	_, err := t.row(`WITH RECURSIVE tree (id) AS (
SELECT ? UNION ALL SELECT f.id FROM tree CROSS JOIN folders f ON f.parent_id = tree.id)
SELECT count(*) FROM (
SELECT 1 FROM tree CROSS JOIN folders f ON f.parent_id = tree.id
UNION ALL SELECT 1 FROM tree CROSS JOIN files f ON f.folder_id = tree.id
LIMIT ?)`, []any{folder, limit}, &n)
	return n, err
}
