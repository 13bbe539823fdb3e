-- One row for each workspace: the row every change of the workspace locks
-- first, and the version (generation) of its lock projection. tree_version
-- moves with every change of the tree.
CREATE TABLE resource_lock_namespaces (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace_type TEXT NOT NULL CHECK (workspace_type IN ('personal', 'team')),
    workspace_id   INTEGER NOT NULL,
    generation     INTEGER NOT NULL DEFAULT 0,
    tree_version   INTEGER NOT NULL DEFAULT 0,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    UNIQUE (workspace_type, workspace_id)
) STRICT;

CREATE TABLE folders_new (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL,
    parent_id    INTEGER NULL,
    name         TEXT NOT NULL,
    name_key     TEXT NOT NULL
) STRICT;

-- Many rows look their workspace's root folder up.
CREATE INDEX folders_new_root ON folders_new (namespace_id) WHERE parent_id IS NULL AND name = '';

CREATE TABLE files_new (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL,
    folder_id    INTEGER NOT NULL,
    name         TEXT NOT NULL,
    name_key     TEXT NOT NULL
) STRICT;

-- One row for each lock. The root is known by id, in one of two columns; the
-- workspace root by neither. ancestry is the id path of the root ("/1/5/9/",
-- a file in it "/1/5/9/f7"): all locks at or below a folder are one range of
-- it. lockroot_path is what the root was called, to be shown only. A row whose
-- timeout_at is in the past is no lock any more, whether or not it was swept.
CREATE TABLE resource_locks_new (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    token          TEXT NOT NULL UNIQUE,
    namespace_id   INTEGER NOT NULL REFERENCES resource_lock_namespaces (id) ON DELETE CASCADE,
    root_kind      TEXT NOT NULL CHECK (root_kind IN ('workspace_root', 'folder', 'file')),
    root_folder_id INTEGER NULL REFERENCES folders (id),
    root_file_id   INTEGER NULL REFERENCES files (id),
    ancestry       TEXT NOT NULL,
    depth          TEXT NOT NULL CHECK (depth IN ('resource', 'infinity')),
    mode           TEXT NOT NULL CHECK (mode IN ('exclusive', 'shared')),
    origin         TEXT NOT NULL CHECK (origin IN ('product', 'webdav', 'wopi')),
    holder_user_id INTEGER NULL,
    owner_info     TEXT NULL,
    lockroot_path  TEXT NULL,
    timeout_at     INTEGER NULL,
    created_at     INTEGER NOT NULL,
    CHECK (CASE root_kind
           WHEN 'workspace_root' THEN root_folder_id IS NULL AND root_file_id IS NULL
           WHEN 'folder' THEN root_folder_id IS NOT NULL AND root_file_id IS NULL
           ELSE root_folder_id IS NULL AND root_file_id IS NOT NULL END)
) STRICT;
