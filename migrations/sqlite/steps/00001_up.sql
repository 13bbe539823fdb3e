-- The model that the lock contract starts from: ownership in two nullable
-- columns, a lock flag on each row, locks that name their target by type and
-- id, and nothing but the program to keep them true. Times are UTC
-- microseconds. entity_type is file, folder, personal_root or team_root.

CREATE TABLE users (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL
) STRICT;

CREATE TABLE teams (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL
) STRICT;

CREATE TABLE folders (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    parent_id INTEGER NULL,
    name      TEXT NOT NULL,
    user_id   INTEGER NULL,
    team_id   INTEGER NULL,
    is_locked INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE files (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    folder_id INTEGER NULL,
    name      TEXT NOT NULL,
    user_id   INTEGER NULL,
    team_id   INTEGER NULL,
    is_locked INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE resource_locks (
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

