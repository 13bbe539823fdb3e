CREATE TABLE folders_old (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    parent_id INTEGER NULL,
    name      TEXT NOT NULL,
    user_id   INTEGER NULL,
    team_id   INTEGER NULL,
    is_locked INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE files_old (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    folder_id INTEGER NULL,
    name      TEXT NOT NULL,
    user_id   INTEGER NULL,
    team_id   INTEGER NULL,
    is_locked INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE resource_locks_old (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    token       TEXT NOT NULL,
    entity_type TEXT NOT NULL,
    entity_id   INTEGER NOT NULL,
    path        TEXT NULL,
    owner_id    INTEGER NULL,
    owner_info  TEXT NULL,
    shared      INTEGER NOT NULL DEFAULT 0,
    deep        INTEGER NOT NULL DEFAULT 0,
    timeout_at  INTEGER NULL,
    created_at  INTEGER NOT NULL
) STRICT;

INSERT INTO folders_old (id, parent_id, name, user_id, team_id, is_locked)
SELECT f.id, CASE WHEN p.parent_id IS NULL THEN NULL ELSE f.parent_id END, f.name,
       CASE n.workspace_type WHEN 'personal' THEN n.workspace_id END,
       CASE n.workspace_type WHEN 'team' THEN n.workspace_id END,
       EXISTS (SELECT 1 FROM resource_locks l WHERE l.root_folder_id = f.id)
FROM folders f
JOIN folders p ON p.id = f.parent_id
JOIN resource_lock_namespaces n ON n.id = f.namespace_id;

INSERT INTO files_old (id, folder_id, name, user_id, team_id, is_locked)
SELECT f.id, CASE WHEN p.parent_id IS NULL THEN NULL ELSE f.folder_id END, f.name,
       CASE n.workspace_type WHEN 'personal' THEN n.workspace_id END,
       CASE n.workspace_type WHEN 'team' THEN n.workspace_id END,
       EXISTS (SELECT 1 FROM resource_locks l WHERE l.root_file_id = f.id)
FROM files f
JOIN folders p ON p.id = f.folder_id
JOIN resource_lock_namespaces n ON n.id = f.namespace_id;

INSERT INTO resource_locks_old (id, token, entity_type, entity_id, path, owner_id, owner_info, shared, deep, timeout_at, created_at)
SELECT l.id, l.token,
       CASE l.root_kind WHEN 'workspace_root' THEN n.workspace_type || '_root' ELSE l.root_kind END,
       CASE l.root_kind WHEN 'workspace_root' THEN n.workspace_id ELSE coalesce(l.root_folder_id, l.root_file_id) END,
       l.lockroot_path, l.holder_user_id, l.owner_info,
       l.mode = 'shared', l.depth = 'infinity', l.timeout_at, l.created_at
FROM resource_locks l
JOIN resource_lock_namespaces n ON n.id = l.namespace_id;

-- The old tables go on counting where the new ones stopped.
DELETE FROM sqlite_sequence WHERE name IN ('folders_old', 'files_old', 'resource_locks_old');
INSERT INTO sqlite_sequence (name, seq)
SELECT name || '_old', seq FROM sqlite_sequence WHERE name IN ('folders', 'files', 'resource_locks');

DROP TABLE resource_locks;
DROP TABLE files;
DROP TABLE folders;
DROP TABLE resource_lock_namespaces;
ALTER TABLE folders_old RENAME TO folders;
ALTER TABLE files_old RENAME TO files;
ALTER TABLE resource_locks_old RENAME TO resource_locks;
