DROP INDEX resource_locks_file_key;
DROP INDEX resource_locks_folder_key;
CREATE INDEX resource_locks_folder_key ON resource_locks (root_folder_id) WHERE root_folder_id IS NOT NULL;
CREATE INDEX resource_locks_file_key ON resource_locks (root_file_id) WHERE root_file_id IS NOT NULL;
DROP INDEX resource_locks_other_end;
DROP INDEX resource_locks_end;
DROP INDEX folders_modified;
DROP INDEX files_modified;
DROP INDEX files_size;
-- The audit log gets what is on its way.
INSERT INTO audit_log (at, actor_id, actor, event, workspace_type, workspace_id, subject, detail, resource_kind, resource_id, lock_id)
SELECT at, actor_id, actor, event, workspace_type, workspace_id, subject, detail, resource_kind, resource_id, lock_id FROM lock_events
WHERE id > (SELECT lock_events_audited FROM instance) AND event <> 'lock.refreshed' ORDER BY id;
DROP TABLE lock_events;
ALTER TABLE instance DROP COLUMN lock_events_audited;
-- What the columns say is kept in words.
UPDATE audit_log SET detail = trim(detail || ' [' || resource_kind || ' ' || resource_id || ']') WHERE resource_kind IS NOT NULL;
ALTER TABLE audit_log DROP COLUMN lock_id;
ALTER TABLE audit_log DROP COLUMN resource_id;
ALTER TABLE audit_log DROP COLUMN resource_kind;
DROP TABLE trash;
DROP TABLE sessions;
