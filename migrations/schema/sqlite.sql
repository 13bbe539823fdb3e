-- The schema that all migrations arrive at, by name. Written by
-- go test ./store -run TestGoldenSchema -update

CREATE TABLE accounts (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id        INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    password_hash  TEXT NOT NULL UNIQUE,
    scope          TEXT NOT NULL CHECK (scope IN ('all', 'personal', 'team')),
    team_id        INTEGER NULL REFERENCES teams (id) ON DELETE CASCADE,
    root_folder_id INTEGER NULL,
    read_only      INTEGER NOT NULL CHECK (read_only IN (0, 1)),
    expires_at     INTEGER NULL,
    last_used_at   INTEGER NULL,
    created_at     INTEGER NOT NULL, ha1_md5 TEXT NULL, ha1_sha256 TEXT NULL,
    UNIQUE (user_id, name),
    CHECK ((scope = 'team') = (team_id IS NOT NULL)),
    CHECK (scope <> 'all' OR root_folder_id IS NULL)
) STRICT;

CREATE INDEX accounts_team ON accounts (team_id) WHERE team_id IS NOT NULL;

CREATE TABLE audit_log (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    at             INTEGER NOT NULL,
    actor_id       INTEGER NULL,
    actor          TEXT NOT NULL,
    event          TEXT NOT NULL,
    workspace_type TEXT NULL,
    workspace_id   INTEGER NULL,
    subject        TEXT NOT NULL,
    detail         TEXT NOT NULL
, resource_kind TEXT NULL, resource_id INTEGER NULL, lock_id INTEGER NULL) STRICT;

CREATE INDEX audit_log_actor ON audit_log (actor, at);

CREATE INDEX audit_log_at ON audit_log (at);

CREATE INDEX audit_log_event ON audit_log (event, at);

CREATE INDEX audit_log_workspace ON audit_log (workspace_type, workspace_id, at);

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
, checksums TEXT NULL) STRICT;

CREATE UNIQUE INDEX blobs_object ON blobs (object_key) WHERE object_key IS NOT NULL;

CREATE TABLE changes (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    folder_id INTEGER NOT NULL,
    name      TEXT NOT NULL,
    name_key  TEXT NOT NULL,
    is_folder INTEGER NOT NULL CHECK (is_folder IN (0, 1)),
    at        INTEGER NOT NULL,
    UNIQUE (folder_id, name, is_folder)
) STRICT;

CREATE INDEX changes_folder ON changes (folder_id, id);

CREATE TABLE file_versions (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id      INTEGER NOT NULL REFERENCES files (id),
    blob_id      INTEGER NOT NULL REFERENCES blobs (id),
    size         INTEGER NOT NULL CHECK (size > 0),
    version      TEXT NOT NULL,
    content_type TEXT NULL,
    modified_at  INTEGER NOT NULL,
    replaced_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX file_versions_blob ON file_versions (blob_id);

CREATE INDEX file_versions_file ON file_versions (file_id, id);

CREATE INDEX file_versions_replaced ON file_versions (replaced_at);

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
, versions_bytes INTEGER NOT NULL DEFAULT 0 CHECK (versions_bytes >= 0)) STRICT;

CREATE INDEX files_blob ON files (blob_id);

CREATE INDEX files_modified ON files (folder_id, modified_at, id);

CREATE UNIQUE INDEX files_name ON files (folder_id, name_key);

CREATE INDEX files_size ON files (folder_id, size, id);

CREATE TABLE folders (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL,
    parent_id    INTEGER NULL REFERENCES folders (id),
    name         TEXT NOT NULL,
    name_key     TEXT NOT NULL,
    props_bytes  INTEGER NOT NULL DEFAULT 0 CHECK (props_bytes >= 0),
    detached_at  INTEGER NULL,
    created_at   INTEGER NOT NULL DEFAULT 0,
    modified_at  INTEGER NOT NULL DEFAULT 0, last_change INTEGER NOT NULL DEFAULT 0, changes_pruned INTEGER NOT NULL DEFAULT 0,
    CHECK (detached_at IS NULL OR parent_id IS NULL)
) STRICT;

CREATE INDEX folders_detached ON folders (detached_at) WHERE detached_at IS NOT NULL;

CREATE INDEX folders_modified ON folders (parent_id, modified_at, id) WHERE parent_id IS NOT NULL;

CREATE UNIQUE INDEX folders_name ON folders (parent_id, name_key);

CREATE UNIQUE INDEX folders_root ON folders (namespace_id) WHERE parent_id IS NULL AND detached_at IS NULL;

CREATE TABLE garbage (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    object_key TEXT NOT NULL UNIQUE,
    dropped_at INTEGER NOT NULL
) STRICT;

CREATE INDEX garbage_dropped ON garbage (dropped_at);

CREATE TABLE instance (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    uuid TEXT NOT NULL
, digest INTEGER NOT NULL DEFAULT 0 CHECK (digest IN (0, 1)), lock_events_audited INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE lock_events (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    at             INTEGER NOT NULL,
    actor_id       INTEGER NULL,
    actor          TEXT NOT NULL,
    event          TEXT NOT NULL,
    workspace_type TEXT NOT NULL,
    workspace_id   INTEGER NOT NULL,
    subject        TEXT NOT NULL,
    detail         TEXT NOT NULL,
    resource_kind  TEXT NOT NULL,
    resource_id    INTEGER NULL,
    lock_id        INTEGER NOT NULL
) STRICT;

CREATE TABLE named_locks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    owner      TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

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

CREATE INDEX resource_locks_end ON resource_locks (timeout_at, id);

CREATE INDEX resource_locks_file ON resource_locks (namespace_id, root_kind, root_file_id);

CREATE INDEX resource_locks_file_key ON resource_locks (root_file_id, timeout_at, mode) WHERE root_file_id IS NOT NULL;

CREATE INDEX resource_locks_folder ON resource_locks (namespace_id, root_kind, root_folder_id);

CREATE INDEX resource_locks_folder_key ON resource_locks (root_folder_id, timeout_at, mode) WHERE root_folder_id IS NOT NULL;

CREATE INDEX resource_locks_held ON resource_locks (holder_user_id, id);

CREATE INDEX resource_locks_holder ON resource_locks (holder_user_id, timeout_at);

CREATE INDEX resource_locks_listed ON resource_locks (namespace_id, id);

CREATE INDEX resource_locks_other ON resource_locks (origin, id) WHERE origin <> 'webdav';

CREATE INDEX resource_locks_other_end ON resource_locks (origin, timeout_at, id) WHERE origin <> 'webdav';

CREATE INDEX resource_locks_path ON resource_locks (namespace_id, lockroot_path);

CREATE INDEX resource_locks_timeout ON resource_locks (namespace_id, timeout_at);

CREATE TABLE sessions (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id      INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_hash   TEXT NOT NULL UNIQUE,
    auth_version INTEGER NOT NULL,
    agent        TEXT NOT NULL,
    address      TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_expires ON sessions (expires_at);

CREATE INDEX sessions_user ON sessions (user_id, id);

CREATE TABLE storage_usage (
    namespace_id INTEGER PRIMARY KEY REFERENCES resource_lock_namespaces (id) ON DELETE CASCADE,
    bytes        INTEGER NOT NULL DEFAULT 0,
    quota        INTEGER NULL
) STRICT;

CREATE TABLE team_members (
    team_id    INTEGER NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role       TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (team_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX team_members_user ON team_members (user_id);

CREATE TABLE teams (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL,
    name_key   TEXT NOT NULL,
    created_at INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX teams_name ON teams (name_key);

CREATE TABLE trash (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id  INTEGER NOT NULL REFERENCES resource_lock_namespaces (id) ON DELETE CASCADE,
    folder_id     INTEGER NOT NULL UNIQUE REFERENCES folders (id) ON DELETE CASCADE,
    is_folder     INTEGER NOT NULL CHECK (is_folder IN (0, 1)),
    resource_id   INTEGER NOT NULL,
    size          INTEGER NOT NULL CHECK (size >= 0),
    from_ancestry TEXT NOT NULL,
    from_path     TEXT NOT NULL,
    removed_by    TEXT NOT NULL,
    removed_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX trash_listed ON trash (namespace_id, id);

CREATE TABLE upload_chunks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    upload_id  INTEGER NOT NULL REFERENCES uploads (id),
    position   INTEGER NOT NULL CHECK (position >= 0),
    name       TEXT NOT NULL,
    blob_id    INTEGER NOT NULL REFERENCES blobs (id),
    size       INTEGER NOT NULL CHECK (size >= 0),
    created_at INTEGER NOT NULL,
    UNIQUE (upload_id, position)
) STRICT;

CREATE INDEX upload_chunks_blob ON upload_chunks (blob_id);

CREATE TABLE uploads (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NULL REFERENCES users (id),
    account_id INTEGER NOT NULL DEFAULT 0,
    name       TEXT NOT NULL,
    bytes      INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    chunks     INTEGER NOT NULL DEFAULT 0 CHECK (chunks >= 0),
    revision   INTEGER NOT NULL DEFAULT 0,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (user_id, account_id, name)
) STRICT;

CREATE INDEX uploads_expires ON uploads (expires_at);

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
