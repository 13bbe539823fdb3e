CREATE UNIQUE INDEX teams_name ON teams (name_key);
