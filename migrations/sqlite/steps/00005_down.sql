DROP TABLE upload_chunks;
DROP TABLE uploads;
ALTER TABLE accounts DROP COLUMN ha1_sha256;
ALTER TABLE accounts DROP COLUMN ha1_md5;
ALTER TABLE blobs DROP COLUMN checksums;
ALTER TABLE instance DROP COLUMN digest;
ALTER TABLE folders DROP COLUMN changes_pruned;
ALTER TABLE folders DROP COLUMN last_change;
DROP TABLE changes;
