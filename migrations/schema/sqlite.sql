-- The schema that all migrations arrive at, by name. Written by
-- go test ./store -run TestGoldenSchema -update

CREATE TABLE blob_data (
    blob_id INTEGER PRIMARY KEY REFERENCES blobs (id) ON DELETE CASCADE,
    data    BLOB NOT NULL
) STRICT;

CREATE TABLE blobs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    object_key TEXT NULL,
    size       INTEGER NOT NULL CHECK (size >= 0),
    sha256     BLOB NOT NULL,
    refs       INTEGER NOT NULL CHECK (refs >= 0),
    created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX blobs_object ON blobs (object_key) WHERE object_key IS NOT NULL;

CREATE TABLE files (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL,
    folder_id    INTEGER NOT NULL REFERENCES folders (id),
    name         TEXT NOT NULL,
    name_key     TEXT NOT NULL,
    blob_id      INTEGER NOT NULL REFERENCES blobs (id),
    size         INTEGER NOT NULL CHECK (size >= 0),
    version      TEXT NOT NULL,
    content_type TEXT NULL,
    props_bytes  INTEGER NOT NULL DEFAULT 0 CHECK (props_bytes >= 0),
    created_at   INTEGER NOT NULL DEFAULT 0,
    modified_at  INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX files_blob ON files (blob_id);

CREATE UNIQUE INDEX files_name ON files (folder_id, name_key);

CREATE TABLE folders (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL,
    parent_id    INTEGER NULL REFERENCES folders (id),
    name         TEXT NOT NULL,
    name_key     TEXT NOT NULL,
    props_bytes  INTEGER NOT NULL DEFAULT 0 CHECK (props_bytes >= 0),
    detached_at  INTEGER NULL,
    created_at   INTEGER NOT NULL DEFAULT 0,
    modified_at  INTEGER NOT NULL DEFAULT 0,
    CHECK (detached_at IS NULL OR parent_id IS NULL)
) STRICT;

CREATE INDEX folders_detached ON folders (detached_at) WHERE detached_at IS NOT NULL;

CREATE UNIQUE INDEX folders_name ON folders (parent_id, name_key);

CREATE UNIQUE INDEX folders_root ON folders (namespace_id) WHERE parent_id IS NULL AND detached_at IS NULL;

CREATE TABLE garbage (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    object_key TEXT NOT NULL UNIQUE,
    dropped_at INTEGER NOT NULL
) STRICT;

CREATE INDEX garbage_dropped ON garbage (dropped_at);

CREATE TABLE properties (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    folder_id INTEGER NULL REFERENCES folders (id) ON DELETE CASCADE,
    file_id   INTEGER NULL REFERENCES files (id) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    value     TEXT NOT NULL,
    CHECK ((folder_id IS NULL) <> (file_id IS NULL))
) STRICT;

CREATE UNIQUE INDEX properties_file ON properties (file_id, namespace, name) WHERE file_id IS NOT NULL;

CREATE UNIQUE INDEX properties_folder ON properties (folder_id, namespace, name) WHERE folder_id IS NOT NULL;

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

CREATE TABLE resource_locks (
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

CREATE INDEX resource_locks_ancestry ON resource_locks (namespace_id, ancestry);

CREATE INDEX resource_locks_file ON resource_locks (namespace_id, root_kind, root_file_id);

CREATE INDEX resource_locks_file_key ON resource_locks (root_file_id) WHERE root_file_id IS NOT NULL;

CREATE INDEX resource_locks_folder ON resource_locks (namespace_id, root_kind, root_folder_id);

CREATE INDEX resource_locks_folder_key ON resource_locks (root_folder_id) WHERE root_folder_id IS NOT NULL;

CREATE INDEX resource_locks_holder ON resource_locks (holder_user_id, timeout_at);

CREATE INDEX resource_locks_path ON resource_locks (namespace_id, lockroot_path);

CREATE INDEX resource_locks_timeout ON resource_locks (namespace_id, timeout_at);

CREATE TABLE storage_usage (
    namespace_id INTEGER PRIMARY KEY REFERENCES resource_lock_namespaces (id) ON DELETE CASCADE,
    bytes        INTEGER NOT NULL DEFAULT 0,
    quota        INTEGER NULL
) STRICT;

CREATE TABLE teams (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL
) STRICT;

CREATE TABLE users (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL,
    name_key      TEXT NOT NULL,
    display_name  TEXT NOT NULL DEFAULT '',
    password_hash TEXT NULL,
    is_admin      INTEGER NOT NULL DEFAULT 0 CHECK (is_admin IN (0, 1)),
    disabled      INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
    auth_version  INTEGER NOT NULL DEFAULT 1,
    created_at    INTEGER NOT NULL DEFAULT 0,
    updated_at    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX users_name ON users (name_key);
