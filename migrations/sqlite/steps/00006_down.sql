DROP INDEX resource_locks_other_end;
DROP INDEX resource_locks_end;
DROP INDEX folders_modified;
DROP INDEX files_modified;
DROP INDEX files_size;
-- What the columns say is kept in words.
UPDATE audit_log SET detail = trim(detail || ' [' || resource_kind || ' ' || resource_id || ']') WHERE resource_kind IS NOT NULL;
ALTER TABLE audit_log DROP COLUMN lock_id;
ALTER TABLE audit_log DROP COLUMN resource_id;
ALTER TABLE audit_log DROP COLUMN resource_kind;
DROP TABLE trash;
DROP TABLE sessions;
