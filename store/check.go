package store

import (
	"context"
	"errors"
	"fmt"

	"holdfast/blob"
)

// Check looks for faults in the database and the body store and calls report
// for each, in words for an operator. It changes nothing. The database is read in
// one snapshot, then each object that it refers to is looked up.
func (s *Store) Check(ctx context.Context, report func(fault string)) error {
	err := s.snapshot(ctx, func(t *tx) error {
		for _, query := range faultQueries {
			if err := t.report(query, report); err != nil {
				return err
			}
		}
		if err := t.checkNames(report); err != nil {
			return err
		}
		return t.checkAncestries(report)
	})
	for after := int64(0); err == nil; {
		var page []object
		err = s.snapshot(ctx, func(t *tx) (err error) {
			page, err = t.objects(after)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, o := range page {
			if err := s.checkObject(ctx, o, report); err != nil {
				return err
			}
			after = o.id
		}
	}
	return err
}

// report reports every text that a query selects.
func (t *tx) report(query string, report func(string)) error {
	return t.rows(query, nil, func(scan func(...any) error) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		report(text)
		return nil
	})
}

// faultQueries each select one line of text a fault.
var faultQueries = []string{
	`SELECT 'integrity: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`,
	`SELECT coalesce('row ' || rowid, 'a row') || ' of ' || "table" || ' refers to a missing row of ' || parent FROM pragma_foreign_key_check`,
	`SELECT 'workspace ' || workspace_type || ':' || workspace_id || ' has ' || (SELECT count(*) FROM folders f
WHERE f.namespace_id = n.id AND f.parent_id IS NULL AND f.detached_at IS NULL) || ' root folders' FROM resource_lock_namespaces n
WHERE 1 <> (SELECT count(*) FROM folders f WHERE f.namespace_id = n.id AND f.parent_id IS NULL AND f.detached_at IS NULL)`,
	`SELECT 'folder ' || id || ' hangs in no workspace' FROM folders f WHERE parent_id IS NULL AND detached_at IS NULL
AND NOT EXISTS (SELECT 1 FROM resource_lock_namespaces WHERE id = f.namespace_id)`,
	`SELECT 'folder ' || f.id || ' has changes after its last' FROM folders f WHERE f.last_change < (SELECT max(c.id) FROM changes c WHERE c.folder_id = f.id)`,
	`SELECT 'user ' || u.name || ' has no workspace' FROM users u WHERE NOT EXISTS
(SELECT 1 FROM resource_lock_namespaces WHERE workspace_type = 'personal' AND workspace_id = u.id)`,
	`SELECT 'team ' || t.name || ' has no workspace' FROM teams t WHERE NOT EXISTS
(SELECT 1 FROM resource_lock_namespaces WHERE workspace_type = 'team' AND workspace_id = t.id)`,
	`SELECT 'account ' || a.id || ' is for a team that user ' || a.user_id || ' is no member of' FROM accounts a WHERE a.team_id IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM team_members m WHERE m.team_id = a.team_id AND m.user_id = a.user_id)`,
	`SELECT 'workspace ' || workspace_type || ':' || workspace_id || ' has no owner' FROM resource_lock_namespaces n WHERE
CASE workspace_type WHEN 'personal' THEN NOT EXISTS (SELECT 1 FROM users WHERE id = n.workspace_id)
ELSE NOT EXISTS (SELECT 1 FROM teams WHERE id = n.workspace_id) END`,
	`SELECT 'folder ' || f.id || ' is in another workspace than its parent' FROM folders f JOIN folders p ON p.id = f.parent_id
WHERE p.namespace_id <> f.namespace_id`,
	`SELECT 'file ' || f.id || ' is in another workspace than its folder' FROM files f JOIN folders p ON p.id = f.folder_id
WHERE p.namespace_id <> f.namespace_id`,
	`SELECT 'folder ' || id || ' is not below any root' FROM folders WHERE id NOT IN (
WITH RECURSIVE tree (id) AS (SELECT id FROM folders WHERE parent_id IS NULL
UNION ALL SELECT f.id FROM tree CROSS JOIN folders f ON f.parent_id = tree.id) SELECT id FROM tree)`,
	`SELECT 'file ' || f.id || ' and folder ' || d.id || ' have one name' FROM files f JOIN folders d ON d.parent_id = f.folder_id AND d.name_key = f.name_key`,
	`WITH used (blob_id) AS (SELECT blob_id FROM files UNION ALL SELECT blob_id FROM file_versions UNION ALL SELECT blob_id FROM upload_chunks)
SELECT 'blob ' || b.id || ' has ' || b.refs || ' references, found ' || count(u.blob_id) FROM blobs b LEFT JOIN used u ON u.blob_id = b.id
GROUP BY b.id HAVING b.refs <> count(u.blob_id)`,
	`SELECT 'file ' || f.id || ' has size ' || f.size || ', its blob ' || b.size FROM files f JOIN blobs b ON b.id = f.blob_id WHERE f.size <> b.size`,
	`SELECT 'version ' || v.id || ' has size ' || v.size || ', its blob ' || b.size FROM file_versions v JOIN blobs b ON b.id = v.blob_id WHERE v.size <> b.size`,
	`SELECT 'piece ' || c.id || ' of upload ' || c.upload_id || ' has size ' || c.size || ', its blob ' || b.size FROM upload_chunks c
JOIN blobs b ON b.id = c.blob_id WHERE c.size <> b.size`,
	`SELECT 'upload ' || u.id || ' says it has ' || u.chunks || ' pieces of ' || u.bytes || ' bytes, found ' || count(c.id) || ' of ' || coalesce(sum(c.size), 0)
FROM uploads u LEFT JOIN upload_chunks c ON c.upload_id = u.id WHERE u.user_id IS NOT NULL
GROUP BY u.id HAVING u.chunks <> count(c.id) OR u.bytes <> coalesce(sum(c.size), 0)`,
	`SELECT 'file ' || f.id || ' says its versions take ' || f.versions_bytes || ' bytes, found ' || coalesce(sum(v.size), 0)
FROM files f LEFT JOIN file_versions v ON v.file_id = f.id GROUP BY f.id HAVING f.versions_bytes <> coalesce(sum(v.size), 0)`,
	`SELECT 'blob ' || b.id || ' has neither or both of object and data' FROM blobs b LEFT JOIN blob_data d ON d.blob_id = b.id
WHERE (b.object_key IS NULL) = (d.blob_id IS NULL)`,
	`SELECT 'blob ' || b.id || ' has size ' || b.size || ', its data ' || length(d.data) FROM blobs b JOIN blob_data d ON d.blob_id = b.id
WHERE length(d.data) <> b.size`,
	`SELECT 'trash ' || t.id || ' is in no detached folder of its workspace' FROM trash t JOIN folders w ON w.id = t.folder_id
WHERE w.detached_at IS NULL OR w.namespace_id <> t.namespace_id`,
	`SELECT 'trash ' || t.id || ' does not hold its resource alone' FROM trash t WHERE 1 <>
(SELECT count(*) FROM folders WHERE parent_id = t.folder_id) + (SELECT count(*) FROM files WHERE folder_id = t.folder_id)
OR t.folder_id IS NOT CASE is_folder WHEN 1 THEN (SELECT parent_id FROM folders WHERE id = t.resource_id) ELSE (SELECT folder_id FROM files WHERE id = t.resource_id) END`,
	`SELECT 'object ' || object_key || ' is garbage and in use' FROM garbage JOIN blobs USING (object_key)`,
	`WITH stored (namespace_id, bytes) AS (
SELECT namespace_id, size + props_bytes + versions_bytes FROM files UNION ALL SELECT namespace_id, props_bytes FROM folders
UNION ALL SELECT n.id, u.bytes FROM uploads u JOIN resource_lock_namespaces n ON n.workspace_type = 'personal' AND n.workspace_id = u.user_id)
SELECT 'namespace ' || n.id || ' stores ' || coalesce(sum(s.bytes), 0) || ' bytes, its usage says ' || coalesce(u.bytes, 'nothing')
FROM resource_lock_namespaces n LEFT JOIN storage_usage u ON u.namespace_id = n.id LEFT JOIN stored s ON s.namespace_id = n.id
GROUP BY n.id HAVING coalesce(sum(s.bytes), 0) IS NOT u.bytes`,
	`SELECT 'folder ' || f.id || ' says its properties take ' || f.props_bytes || ' bytes, found ' || found FROM folders f JOIN
(SELECT d.id, coalesce(sum(octet_length(namespace) + octet_length(p.name) + octet_length(value)), 0) AS found
FROM folders d LEFT JOIN properties p ON p.folder_id = d.id GROUP BY d.id) s ON s.id = f.id WHERE f.props_bytes <> found`,
	`SELECT 'file ' || f.id || ' says its properties take ' || f.props_bytes || ' bytes, found ' || found FROM files f JOIN
(SELECT d.id, coalesce(sum(octet_length(namespace) + octet_length(p.name) + octet_length(value)), 0) AS found
FROM files d LEFT JOIN properties p ON p.file_id = d.id GROUP BY d.id) s ON s.id = f.id WHERE f.props_bytes <> found`,
	`SELECT 'lock ' || l.id || ' is rooted in another workspace' FROM resource_locks l
LEFT JOIN folders d ON d.id = l.root_folder_id LEFT JOIN files f ON f.id = l.root_file_id
WHERE coalesce(d.namespace_id, f.namespace_id, l.namespace_id) <> l.namespace_id`,
}

// checkNames compares every name with its key, which SQL cannot compute.
func (t *tx) checkNames(report func(string)) error {
	for _, kind := range []string{"folder", "file"} {
		err := t.rows(`SELECT id, name, name_key FROM `+kind+`s`, nil, func(scan func(...any) error) error {
			var id int64
			var name, key string
			if err := scan(&id, &name, &key); err != nil {
				return err
			}
			if key != NameKey(name) {
				report(fmt.Sprintf("%s %d has a key that is not its name's", kind, id))
			}
			if name != "" && CheckName(name) != nil {
				report(fmt.Sprintf("%s %d has a name that is not allowed", kind, id))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return t.report(`SELECT 'folder ' || id || ' has no name' FROM folders WHERE name = '' AND parent_id IS NOT NULL
UNION ALL SELECT 'file ' || id || ' has no name' FROM files WHERE name = ''`, report)
}

// checkAncestries compares the id path of every lock root with the tree; a
// detached root is not in it.
func (t *tx) checkAncestries(report func(string)) error {
	return t.report(`WITH RECURSIVE tree (id, path, namespace_id, root) AS (
SELECT id, '/' || id || '/', namespace_id, 1 FROM folders WHERE parent_id IS NULL AND detached_at IS NULL
UNION ALL SELECT f.id, tree.path || f.id || '/', f.namespace_id, 0 FROM tree CROSS JOIN folders f ON f.parent_id = tree.id)
SELECT 'lock ' || l.id || ' has the id path ' || l.ancestry || ', its root ' || coalesce(r.path, d.path, p.path || 'f' || f.id, 'none')
FROM resource_locks l
LEFT JOIN tree r ON l.root_kind = 'workspace_root' AND r.root = 1 AND r.namespace_id = l.namespace_id
LEFT JOIN tree d ON l.root_kind = 'folder' AND d.id = l.root_folder_id
LEFT JOIN files f ON l.root_kind = 'file' AND f.id = l.root_file_id
LEFT JOIN tree p ON p.id = f.folder_id
WHERE l.ancestry IS NOT coalesce(r.path, d.path, p.path || 'f' || f.id)`, report)
}

// object is what the database says of an object.
type object struct {
	id   int64
	key  string
	size int64
}

// objects reads the next page of them, by blob id.
func (t *tx) objects(after int64) (page []object, err error) {
	err = t.rows(`SELECT id, object_key, size FROM blobs WHERE object_key IS NOT NULL AND id > ? ORDER BY id LIMIT ?`,
		[]any{after, pageRows}, func(scan func(...any) error) error {
			var o object
			err := scan(&o.id, &o.key, &o.size)
			page = append(page, o)
			return err
		})
	return page, err
}

// checkObject looks an object up in the body store. What was dropped since the
// page was read is no fault.
func (s *Store) checkObject(ctx context.Context, o object, report func(string)) error {
	info, err := s.o.Blobs.Stat(ctx, o.key)
	if errors.Is(err, blob.ErrNotExist) {
		var still bool
		err := s.snapshot(ctx, func(t *tx) error {
			_, err := t.row(`SELECT EXISTS (SELECT 1 FROM blobs WHERE id = ?)`, []any{o.id}, &still)
			return err
		})
		if err == nil && still {
			report(fmt.Sprintf("object %s of blob %d is missing", o.key, o.id))
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("stat object: %w", err)
	}
	if info.Size != o.size {
		report(fmt.Sprintf("object %s has %d bytes, blob %d says %d", o.key, info.Size, o.id, o.size))
	}
	return nil
}
