DROP TABLE resource_locks;
DROP TABLE files;
DROP TABLE folders;
DROP INDEX folders_new_root;
ALTER TABLE folders_new RENAME TO folders;
ALTER TABLE files_new RENAME TO files;
ALTER TABLE resource_locks_new RENAME TO resource_locks;

CREATE UNIQUE INDEX folders_name ON folders (parent_id, name_key);
CREATE UNIQUE INDEX files_name ON files (folder_id, name_key);

CREATE INDEX resource_locks_timeout ON resource_locks (namespace_id, timeout_at);
CREATE INDEX resource_locks_folder ON resource_locks (namespace_id, root_kind, root_folder_id);
CREATE INDEX resource_locks_file ON resource_locks (namespace_id, root_kind, root_file_id);
CREATE INDEX resource_locks_holder ON resource_locks (holder_user_id, timeout_at);
CREATE INDEX resource_locks_path ON resource_locks (namespace_id, lockroot_path);
CREATE INDEX resource_locks_ancestry ON resource_locks (namespace_id, ancestry);
-- What deleting a folder or file asks of the foreign keys above.
CREATE INDEX resource_locks_folder_key ON resource_locks (root_folder_id) WHERE root_folder_id IS NOT NULL;
CREATE INDEX resource_locks_file_key ON resource_locks (root_file_id) WHERE root_file_id IS NOT NULL;
