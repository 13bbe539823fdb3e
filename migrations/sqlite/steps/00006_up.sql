-- Logins of browsers. The cookie holds a random token, of which only the hash is
-- kept. A session is good for as long as its user's auth_version is the one it
-- was opened with.
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

CREATE INDEX sessions_user ON sessions (user_id, id);
CREATE INDEX sessions_expires ON sessions (expires_at);

-- What was removed and can be restored. folder_id is a detached folder made for
-- the purpose, whose one member is what was removed; its detached_at lies in the
-- future, and is when it will be purged. from_ancestry are the ids of the folders
-- that it was in, as in resource_locks: the last is where it goes back to.
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

-- Which resource and which lock an entry is about, for those who follow the log.
ALTER TABLE audit_log ADD COLUMN resource_kind TEXT NULL;
ALTER TABLE audit_log ADD COLUMN resource_id INTEGER NULL;
ALTER TABLE audit_log ADD COLUMN lock_id INTEGER NULL;

-- What happened to locks, in the order of the ids, for those who follow them. It
-- has no index, so that locking stays cheap; the audit log, which has, gets the
-- same rows but the refreshes, many at once. instance knows the last that it has.
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

ALTER TABLE instance ADD COLUMN lock_events_audited INTEGER NOT NULL DEFAULT 0;

-- Listings in other orders than by name, and lists of locks in other orders than
-- by id.
CREATE INDEX files_size ON files (folder_id, size, id);
CREATE INDEX files_modified ON files (folder_id, modified_at, id);
CREATE INDEX folders_modified ON folders (parent_id, modified_at, id) WHERE parent_id IS NOT NULL;
CREATE INDEX resource_locks_end ON resource_locks (timeout_at, id);
CREATE INDEX resource_locks_other_end ON resource_locks (origin, timeout_at, id) WHERE origin <> 'webdav';

-- How the members of a folder are locked, for lists, from the index alone.
DROP INDEX resource_locks_folder_key;
DROP INDEX resource_locks_file_key;
CREATE INDEX resource_locks_folder_key ON resource_locks (root_folder_id, timeout_at, mode) WHERE root_folder_id IS NOT NULL;
CREATE INDEX resource_locks_file_key ON resource_locks (root_file_id, timeout_at, mode) WHERE root_file_id IS NOT NULL;
