DROP INDEX resource_locks_listed;
DROP INDEX resource_locks_held;
DROP INDEX resource_locks_other;
DROP TABLE instance;
DROP TABLE audit_log;
DROP TABLE named_locks;
DROP TABLE file_versions;
DROP TABLE accounts;
DROP TABLE team_members;
ALTER TABLE files DROP COLUMN versions_bytes;

CREATE TABLE teams_old (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL
) STRICT;

INSERT INTO teams_old SELECT id, name FROM teams;
DELETE FROM sqlite_sequence WHERE name = 'teams_old';
INSERT INTO sqlite_sequence (name, seq) SELECT 'teams_old', seq FROM sqlite_sequence WHERE name = 'teams';
DROP TABLE teams;
ALTER TABLE teams_old RENAME TO teams;
