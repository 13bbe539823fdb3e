-- Somebody who can log in. name_key is what names are looked up by.
-- auth_version grows with whatever a login proves: password, role, disabled.
CREATE TABLE users_new (
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

INSERT INTO users_new (id, name, name_key) SELECT id, name, '' FROM users;
DELETE FROM sqlite_sequence WHERE name = 'users_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'users_new', seq FROM sqlite_sequence WHERE name = 'users';
DROP TABLE users;
ALTER TABLE users_new RENAME TO users;

-- What a workspace stores, in bytes of content and of dead properties, and may
-- store. Detached trees count until they are purged.
CREATE TABLE storage_usage (
    namespace_id INTEGER PRIMARY KEY REFERENCES resource_lock_namespaces (id) ON DELETE CASCADE,
    bytes        INTEGER NOT NULL DEFAULT 0,
    quota        INTEGER NULL
) STRICT;

INSERT INTO storage_usage (namespace_id) SELECT id FROM resource_lock_namespaces;

-- Immutable content, shared by the files that refer to it (refs of them). It
-- lies in the body store under object_key, or in blob_data when there is none.
CREATE TABLE blobs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    object_key TEXT NULL,
    size       INTEGER NOT NULL CHECK (size >= 0),
    sha256     BLOB NOT NULL,
    refs       INTEGER NOT NULL CHECK (refs >= 0),
    created_at INTEGER NOT NULL
) STRICT;

-- Inline content, the most frequent, needs no entry.
CREATE UNIQUE INDEX blobs_object ON blobs (object_key) WHERE object_key IS NOT NULL;

CREATE TABLE blob_data (
    blob_id INTEGER PRIMARY KEY REFERENCES blobs (id) ON DELETE CASCADE,
    data    BLOB NOT NULL
) STRICT;

-- Objects that nothing refers to any more, kept for a while for readers that
-- looked just before.
CREATE TABLE garbage (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    object_key TEXT NOT NULL UNIQUE,
    dropped_at INTEGER NOT NULL
) STRICT;

CREATE INDEX garbage_dropped ON garbage (dropped_at);

-- The tree. Each workspace has one root folder: no parent, not detached. A
-- removed folder is detached, with all below it, and purged later; what is
-- being copied is built detached, its detached_at in the future. namespace_id
-- has no foreign key: a workspace goes at once, its tree when it is purged.
CREATE TABLE folders_new (
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

INSERT INTO folders_new (id, namespace_id, parent_id, name, name_key)
SELECT id, namespace_id, parent_id, name, name_key FROM folders;
DELETE FROM sqlite_sequence WHERE name = 'folders_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'folders_new', seq FROM sqlite_sequence WHERE name = 'folders';

-- A file. version makes its entity tag and is new with each content.
CREATE TABLE files_new (
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

-- The old model had no content: its files become empty ones.
INSERT INTO blobs (object_key, size, sha256, refs, created_at)
SELECT NULL, 0, x'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', count(*), 0
FROM files HAVING count(*) > 0;
INSERT INTO blob_data (blob_id, data) SELECT id, x'' FROM blobs;
INSERT INTO files_new (id, namespace_id, folder_id, name, name_key, blob_id, size, version)
SELECT id, namespace_id, folder_id, name, name_key, (SELECT id FROM blobs), 0, 'v0-' || id FROM files;
DELETE FROM sqlite_sequence WHERE name = 'files_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'files_new', seq FROM sqlite_sequence WHERE name = 'files';

DROP TABLE files;
DROP TABLE folders;
ALTER TABLE folders_new RENAME TO folders;
ALTER TABLE files_new RENAME TO files;

CREATE UNIQUE INDEX folders_name ON folders (parent_id, name_key);
CREATE UNIQUE INDEX folders_root ON folders (namespace_id) WHERE parent_id IS NULL AND detached_at IS NULL;
CREATE INDEX folders_detached ON folders (detached_at) WHERE detached_at IS NOT NULL;
CREATE UNIQUE INDEX files_name ON files (folder_id, name_key);
CREATE INDEX files_blob ON files (blob_id);

-- Dead properties (RFC 4918 section 4): value is the whole element, with every
-- namespace it uses declared inside. props_bytes of the owner is what they take,
-- names and values together.
CREATE TABLE properties (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    folder_id INTEGER NULL REFERENCES folders (id) ON DELETE CASCADE,
    file_id   INTEGER NULL REFERENCES files (id) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    value     TEXT NOT NULL,
    CHECK ((folder_id IS NULL) <> (file_id IS NULL))
) STRICT;

CREATE UNIQUE INDEX properties_folder ON properties (folder_id, namespace, name) WHERE folder_id IS NOT NULL;
CREATE UNIQUE INDEX properties_file ON properties (file_id, namespace, name) WHERE file_id IS NOT NULL;
