-- What changed in a folder: the members that came, went, or got another content,
-- other properties or another name, each once, with the id of its last change. The
-- ids order them and are what a sync token says (RFC 6578). Whether the member is
-- there now is asked of files and folders. Rows age out; a folder that is gone
-- needs none, since ids are never reused, and there is no foreign key for it.
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

-- The highest id that a folder's changes ever had, and the highest of those that
-- aged out: of what came before it nobody can be told any more.
ALTER TABLE folders ADD COLUMN last_change INTEGER NOT NULL DEFAULT 0;
ALTER TABLE folders ADD COLUMN changes_pruned INTEGER NOT NULL DEFAULT 0;

-- digest: HA1 values are kept.
ALTER TABLE instance ADD COLUMN digest INTEGER NOT NULL DEFAULT 0 CHECK (digest IN (0, 1));

-- Checksums of the content that a client named and the server found right,
-- "ALGORITHM:HEX" with blanks between. SHA-256 has a column of its own.
ALTER TABLE blobs ADD COLUMN checksums TEXT NULL;

-- What a Digest login (RFC 7616) is compared with, hex, one for each spelling of
-- the user's name with blanks between. Only while Digest is served.
ALTER TABLE accounts ADD COLUMN ha1_md5 TEXT NULL;
ALTER TABLE accounts ADD COLUMN ha1_sha256 TEXT NULL;

-- Files that a user sends in pieces. The pieces become one file by a last
-- request, or go at expires_at, which each piece moves; user_id is null from then
-- on, and the rows are deleted bit by bit. account_id is the app password that
-- the upload is sent by, 0 for the user's own, and no foreign key: what a login
-- limited to a folder sees must not come from another login, and what was begun
-- by a login that is gone ends by itself. bytes and chunks are what the pieces
-- take of the storage of the user's workspace, and how many there are; revision
-- counts their changes.
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

-- position is where the piece comes in the order of its upload: its first byte,
-- or its number, whichever the name says.
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
