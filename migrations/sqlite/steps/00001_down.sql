DROP TABLE resource_locks;
DROP TABLE files;
DROP TABLE folders;
DROP TABLE teams;
DROP TABLE users;
