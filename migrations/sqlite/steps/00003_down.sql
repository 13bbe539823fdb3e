DROP TABLE properties;

CREATE TABLE folders_old (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL,
    parent_id    INTEGER NULL,
    name         TEXT NOT NULL,
    name_key     TEXT NOT NULL
) STRICT;

CREATE TABLE files_old (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace_id INTEGER NOT NULL,
    folder_id    INTEGER NOT NULL,
    name         TEXT NOT NULL,
    name_key     TEXT NOT NULL
) STRICT;

CREATE TABLE users_old (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL
) STRICT;

INSERT INTO folders_old SELECT id, namespace_id, parent_id, name, name_key FROM folders;
INSERT INTO files_old SELECT id, namespace_id, folder_id, name, name_key FROM files;
INSERT INTO users_old SELECT id, name FROM users;
DELETE FROM sqlite_sequence WHERE name IN ('folders_old', 'files_old', 'users_old');
INSERT INTO sqlite_sequence (name, seq)
SELECT name || '_old', seq FROM sqlite_sequence WHERE name IN ('folders', 'files', 'users');

DROP TABLE files;
DROP TABLE folders;
DROP TABLE users;
DROP TABLE blob_data;
DROP TABLE blobs;
DROP TABLE garbage;
DROP TABLE storage_usage;
ALTER TABLE folders_old RENAME TO folders;
ALTER TABLE files_old RENAME TO files;
ALTER TABLE users_old RENAME TO users;

CREATE UNIQUE INDEX folders_name ON folders (parent_id, name_key);
CREATE UNIQUE INDEX files_name ON files (folder_id, name_key);
