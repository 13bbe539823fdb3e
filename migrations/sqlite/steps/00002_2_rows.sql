-- Every workspace gets a root folder; what had no parent moves into it.
INSERT INTO folders_new (id, namespace_id, parent_id, name, name_key)
SELECT f.id, n.id, f.parent_id, f.name, ''
FROM folders f
JOIN resource_lock_namespaces n
  ON (n.workspace_type = 'personal' AND n.workspace_id = f.user_id)
  OR (n.workspace_type = 'team' AND n.workspace_id = f.team_id);

-- Ids that the old table gave out and lost stay lost.
UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'folders'), 0))
WHERE name = 'folders_new';
INSERT INTO sqlite_sequence (name, seq)
SELECT 'folders_new', seq FROM sqlite_sequence
WHERE name = 'folders' AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'folders_new');

INSERT INTO folders_new (namespace_id, parent_id, name, name_key)
SELECT id, NULL, '', '' FROM resource_lock_namespaces ORDER BY id;

UPDATE folders_new AS f
SET parent_id = (SELECT r.id FROM folders_new r WHERE r.namespace_id = f.namespace_id AND r.parent_id IS NULL AND r.name = '')
WHERE f.parent_id IS NULL AND f.name <> '';

INSERT INTO files_new (id, namespace_id, folder_id, name, name_key)
SELECT f.id, n.id,
       coalesce(f.folder_id, (SELECT r.id FROM folders_new r WHERE r.namespace_id = n.id AND r.parent_id IS NULL AND r.name = '')),
       f.name, ''
FROM files f
JOIN resource_lock_namespaces n
  ON (n.workspace_type = 'personal' AND n.workspace_id = f.user_id)
  OR (n.workspace_type = 'team' AND n.workspace_id = f.team_id);

UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'files'), 0))
WHERE name = 'files_new';
INSERT INTO sqlite_sequence (name, seq)
SELECT 'files_new', seq FROM sqlite_sequence
WHERE name = 'files' AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'files_new');

INSERT INTO resource_locks_new (id, token, namespace_id, root_kind, root_folder_id, root_file_id, ancestry,
                                depth, mode, origin, holder_user_id, owner_info, lockroot_path, timeout_at, created_at)
SELECT l.id, l.token,
       CASE l.entity_type
       WHEN 'folder' THEN (SELECT namespace_id FROM folders_new WHERE id = l.entity_id)
       WHEN 'file' THEN (SELECT namespace_id FROM files_new WHERE id = l.entity_id)
       WHEN 'personal_root' THEN (SELECT id FROM resource_lock_namespaces WHERE workspace_type = 'personal' AND workspace_id = l.entity_id)
       ELSE (SELECT id FROM resource_lock_namespaces WHERE workspace_type = 'team' AND workspace_id = l.entity_id) END,
       CASE l.entity_type WHEN 'folder' THEN 'folder' WHEN 'file' THEN 'file' ELSE 'workspace_root' END,
       CASE l.entity_type WHEN 'folder' THEN l.entity_id END,
       CASE l.entity_type WHEN 'file' THEN l.entity_id END,
       '',
       CASE l.deep WHEN 1 THEN 'infinity' ELSE 'resource' END,
       CASE l.shared WHEN 1 THEN 'shared' ELSE 'exclusive' END,
       'webdav', l.owner_id, l.owner_info, l.path, l.timeout_at, l.created_at
FROM resource_locks l;

UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'resource_locks'), 0))
WHERE name = 'resource_locks_new';
INSERT INTO sqlite_sequence (name, seq)
SELECT 'resource_locks_new', seq FROM sqlite_sequence
WHERE name = 'resource_locks' AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'resource_locks_new');
