CREATE UNIQUE INDEX users_name ON users (name_key);
