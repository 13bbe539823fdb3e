-- A team owns a workspace. name is the segment of its mount's URL, name_key what
-- it is looked up by.
CREATE TABLE teams_new (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL,
    name_key   TEXT NOT NULL,
    created_at INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO teams_new (id, name, name_key) SELECT id, name, '' FROM teams;
DELETE FROM sqlite_sequence WHERE name = 'teams_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'teams_new', seq FROM sqlite_sequence WHERE name = 'teams';
DROP TABLE teams;
ALTER TABLE teams_new RENAME TO teams;

-- Who may do what in a team's workspace: all but viewers may write, owners and
-- admins may manage members.
CREATE TABLE team_members (
    team_id    INTEGER NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role       TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (team_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX team_members_user ON team_members (user_id);

-- A further password of a user, for one program or device. scope says what it
-- opens: every mount of the user, or one workspace, theirs or a team's, as a
-- whole or from one folder down. That folder has no foreign key: when it is
-- gone the account must open nothing, not more. Ids are never reused.
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
    created_at     INTEGER NOT NULL,
    UNIQUE (user_id, name),
    CHECK ((scope = 'team') = (team_id IS NOT NULL)),
    CHECK (scope <> 'all' OR root_folder_id IS NULL)
) STRICT;

CREATE INDEX accounts_team ON accounts (team_id) WHERE team_id IS NOT NULL;

-- Former contents of a file. replaced_at is when the next content came. They
-- refer to blobs as files do, so they are dropped by the store, never by a
-- cascade; versions_bytes of the file is what they take. Empty content is not
-- kept, so that a file whose versions take no bytes has none. Ids tell the age:
-- a version keeps its own when a file that replaces another takes it over.
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

CREATE INDEX file_versions_file ON file_versions (file_id, id);
CREATE INDEX file_versions_blob ON file_versions (blob_id);
CREATE INDEX file_versions_replaced ON file_versions (replaced_at);

ALTER TABLE files ADD COLUMN versions_bytes INTEGER NOT NULL DEFAULT 0 CHECK (versions_bytes >= 0);

-- Locks of jobs and programs, not of resources. The id is the fencing number:
-- each new grant has a higher one, whatever the name.
CREATE TABLE named_locks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    owner      TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- What was done, by whom; rows are only added. actor is the name at that time,
-- '' for the server itself or a command of the operator.
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
) STRICT;

CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_event ON audit_log (event, at);
CREATE INDEX audit_log_actor ON audit_log (actor, at);
CREATE INDEX audit_log_workspace ON audit_log (workspace_type, workspace_id, at);

-- Names this database among others that share a cache.
CREATE TABLE instance (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    uuid TEXT NOT NULL
) STRICT;

-- Lists of locks have pages by id. There is no index of all WebDAV locks: they
-- are most of the table.
CREATE INDEX resource_locks_listed ON resource_locks (namespace_id, id);
CREATE INDEX resource_locks_held ON resource_locks (holder_user_id, id);
CREATE INDEX resource_locks_other ON resource_locks (origin, id) WHERE origin <> 'webdav';
