package store_test

import (
	"context"
	"strings"
	"testing"

	"holdfast/store"
)

// refuses is a migration that must name what is wrong, run no statement that
// changes anything, and leave the database as it was.
func (d *database) refuses(up bool, want string) {
	d.t.Helper()
	var ran []string
	store.SetStepDone(func(_ context.Context, file string) error {
		ran = append(ran, file)
		return nil
	})
	defer store.SetStepDone(nil)
	before := d.dump()
	_, err := store.Migrate(context.Background(), d.url(), up)
	if err == nil || !strings.Contains(err.Error(), want) {
		d.t.Errorf("error %v, want one with %q", err, want)
	}
	wantSlice(d.t, "files run before", ran, nil)
	wantEqual(d.t, "database", d.dump(), before)
}

// loosen takes away what keeps other types than its columns' out of a table.
func (d *database) loosen(table string) {
	d.t.Helper()
	d.do(`PRAGMA writable_schema = 1`)
	d.do(`UPDATE sqlite_master SET sql = replace(replace(sql, 'STRICT', ''), 'INTEGER N', 'ANY N') WHERE name = ?`, table)
	d.do(`PRAGMA writable_schema = RESET`)
}

// TestBadV0Data: the conversion refuses what the new model cannot hold, names
// the row, and changes nothing.
func TestBadV0Data(t *testing.T) {
	const lock = `INSERT INTO resource_locks (id, token, entity_type, entity_id, path, shared, deep, created_at) VALUES `
	for _, c := range []struct{ name, fault, want string }{
		{"a folder of nobody", `INSERT INTO folders (id, name) VALUES (50, 'x')`, "folder 50 belongs to no one workspace"},
		{"a folder of two", `INSERT INTO folders (id, name, user_id, team_id) VALUES (50, 'x', 3, 5)`, "folder 50 belongs to no one workspace"},
		{"a folder of a missing user", `INSERT INTO folders (id, name, user_id) VALUES (50, 'x', 9)`, "folder 50 belongs to no one workspace"},
		{"a folder of a missing team", `INSERT INTO folders (id, name, team_id) VALUES (50, 'x', 9)`, "folder 50 belongs to no one workspace"},
		{"a file of nobody", `INSERT INTO files (id, name) VALUES (50, 'x')`, "file 50 belongs to no one workspace"},
		{"a file of a missing team", `INSERT INTO files (id, name, team_id) VALUES (50, 'x', 9)`, "file 50 belongs to no one workspace"},
		{"a folder without its parent", `INSERT INTO folders (id, parent_id, name, user_id) VALUES (50, 77, 'x', 3)`, "folder 50 has no parent in its workspace"},
		{"a folder in another workspace's", `INSERT INTO folders (id, parent_id, name, user_id) VALUES (50, 12, 'x', 3)`, "folder 50 has no parent in its workspace"},
		{"a file in another workspace's folder", `INSERT INTO files (id, folder_id, name, user_id) VALUES (50, 12, 'x', 3)`, "file 50 has no folder in its workspace"},
		{"a file without its folder", `INSERT INTO files (id, folder_id, name, user_id) VALUES (50, 77, 'x', 3)`, "file 50 has no folder in its workspace"},
		{"a folder in itself", `INSERT INTO folders (id, parent_id, name, user_id) VALUES (50, 51, 'x', 3), (51, 50, 'x', 3)`, "folder 50 is inside itself; folder 51 is inside itself"},
		{"a folder without a name", `INSERT INTO folders (id, name, user_id) VALUES (50, '', 3)`, "folder 50: a name is empty"},
		{"a file without a name", `INSERT INTO files (id, name, user_id) VALUES (50, '', 3)`, "file 50: a name is empty"},
		{"a name that no path has", `INSERT INTO files (id, name, user_id) VALUES (50, 'a/b', 3)`, "file 50: a name contains the character U+002F"},
		{"a name that is not UTF-8", `INSERT INTO files (id, name, user_id) VALUES (50, CAST(x'ff' AS TEXT), 3)`, "file 50: a name is not valid UTF-8"},
		{"a user without a name", `INSERT INTO users (id, name) VALUES (50, '')`, "user 50: a name is empty"},
		{"a team whose name is no segment", `INSERT INTO teams (id, name) VALUES (50, 'a/b')`, "team 50: a name contains the character U+002F"},
		{"two folders of one name", `INSERT INTO folders (id, name, user_id) VALUES (50, 'docs', 3)`, "folders 10 and 50 have one name"},
		{"two folders of one name in two normal forms", `INSERT INTO folders (id, parent_id, name, user_id) VALUES (50, 10, char(233), 3)`, "folders 11 and 50 have one name"},
		{"two files of one name", `INSERT INTO files (id, folder_id, name, user_id) VALUES (50, 11, 'deep', 3)`, "files 21 and 50 have one name"},
		{"a file and a folder of one name", `INSERT INTO files (id, name, user_id) VALUES (50, 'docs', 3)`, "file 50 and folder 10 have one name"},
		{"a file and a folder of one name in two normal forms", `INSERT INTO files (id, folder_id, name, user_id) VALUES (50, 10, char(233), 3)`, "file 50 and folder 11 have one name"},
		{"two users of one name", `INSERT INTO users (id, name) VALUES (50, 'GRACE')`, "users 3 and 50 have one name"},
		{"two teams of one name", `INSERT INTO teams (id, name) VALUES (50, 'CREW')`, "teams 5 and 50 have one name"},
		{"two teams of one name in two normal forms", `INSERT INTO teams (id, name) VALUES (50, 'e' || char(769)), (51, char(201))`, "teams 50 and 51 have one name"},
		{"a lock on a missing file", lock + `(50, 't', 'file', 10, '/', 0, 0, 0)`, "lock 50 has no target"},
		{"a lock on a missing folder", lock + `(50, 't', 'folder', 20, '/', 0, 0, 0)`, "lock 50 has no target"},
		{"a lock on a missing user's root", lock + `(50, 't', 'personal_root', 5, '/', 0, 0, 0)`, "lock 50 has no target"},
		{"a lock on a missing team's root", lock + `(50, 't', 'team_root', 3, '/', 0, 0, 0)`, "lock 50 has no target"},
		{"a lock on something else", lock + `(50, 't', 'drive', 3, '/', 0, 0, 0)`, "lock 50 is on a drive"},
		{"a lock of a third mode", lock + `(50, 't', 'file', 20, '/', 2, 0, 0)`, "lock 50 is neither shared nor exclusive"},
		{"a lock of a negative mode", lock + `(50, 't', 'file', 20, '/', -1, 0, 0)`, "lock 50 is neither shared nor exclusive"},
		{"a lock of a third depth", lock + `(50, 't', 'file', 20, '/', 0, 2, 0)`, "lock 50 is neither deep nor shallow"},
		{"a lock without a token", lock + `(50, '', 'file', 20, '/', 0, 0, 0)`, "lock 50 has no token"},
		{"a token that is not unique", lock + `(50, 'file', 'file', 20, '/', 0, 0, 0)`, "locks share a token: 1,50"},
		{"a lock of a missing user", `UPDATE resource_locks SET owner_id = 9 WHERE id = 2`, "lock 2 belongs to a missing user"},
		{"a negative timeout", `UPDATE resource_locks SET timeout_at = -1 WHERE id = 2`, "lock 2 has the timeout_at -1"},
		{"a negative time", `UPDATE resource_locks SET created_at = -1 WHERE id = 2`, "lock 2 has the created_at -1"},
		{"a negative target", lock + `(50, 't', 'file', -20, '/', 0, 0, 0)`, "lock 50 has the entity_id -20"},
		{"a negative id", `INSERT INTO users (id, name) VALUES (-1, 'x')`, "user -1 has the id -1"},
		{"an id that means none", `INSERT INTO users (id, name) VALUES (0, 'x')`, "user 0 has the id 0"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			d := filled(t, 1)
			d.do(c.fault)
			d.refuses(true, c.want)
		})
	}
	for _, c := range []struct{ name, table, fault, want string }{
		{"a broken number", "resource_locks", `UPDATE resource_locks SET timeout_at = 1.5 WHERE id = 2`, "lock 2 has the timeout_at 1.5"},
		{"a number in words", "resource_locks", `UPDATE resource_locks SET shared = 'yes' WHERE id = 2`, "lock 2 is neither shared nor exclusive"},
		{"a token of bytes", "resource_locks", `UPDATE resource_locks SET token = x'01' WHERE id = 2`, "lock 2 has the token X'01'"},
		{"a parent in words", "folders", `UPDATE folders SET parent_id = 'docs' WHERE id = 11`, "folder 11 has the parent_id 'docs'"},
		{"a name of bytes", "files", `UPDATE files SET name = x'01' WHERE id = 20`, "file 20 has the name X'01'"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			d := filled(t, 1)
			d.loosen(c.table)
			d.do(c.fault)
			d.refuses(true, c.want)
		})
	}
}

// TestBadUpData: the later migrations look at everything first as well.
func TestBadUpData(t *testing.T) {
	for _, c := range []struct {
		from              int64
		name, fault, want string
	}{
		{2, "a missing root", `DELETE FROM folders WHERE parent_id IS NULL AND namespace_id = 2`, "workspace personal:7 has 0 root folders"},
		{2, "two roots", `INSERT INTO folders (id, namespace_id, name, name_key) VALUES (500, 2, '', '')`, "workspace personal:7 has 2 root folders"},
		{2, "a folder of nobody", `INSERT INTO folders (id, namespace_id, name, name_key) VALUES (500, 9, 'x', 'x')`, "folder 500 is in no workspace"},
		{2, "a folder in another workspace's", `UPDATE folders SET parent_id = 12 WHERE id = 11`, "folder 11 has no parent in its workspace"},
		{2, "a file in another workspace's folder", `UPDATE files SET folder_id = 12 WHERE id = 21`, "file 21 has no folder in its workspace"},
		{2, "a folder in itself", `UPDATE folders SET parent_id = 11 WHERE id = 10`, " is inside itself; folder "},
		{2, "a workspace of no team", `DELETE FROM teams`, "workspace team:5 has no owner"},
		{2, "a user without a workspace", `INSERT INTO users (id, name) VALUES (50, 'x')`, "user 50 has no workspace"},
		{2, "a lock without its root", `DELETE FROM files WHERE id = 21`, "row 1 of resource_locks refers to a missing row of files"},
		{2, "a lock without its workspace", `UPDATE resource_locks SET namespace_id = 9 WHERE id = 3`, "row 3 of resource_locks refers to a missing row of resource_lock_namespaces"},
		{2, "a lock in another workspace", `UPDATE resource_locks SET namespace_id = 2 WHERE id = 2`, "lock 2 has no root in its workspace"},
		{2, "a lock of a missing user", `UPDATE resource_locks SET holder_user_id = 9 WHERE id = 2`, "lock 2 belongs to a missing user"},
		{2, "a file and a folder of one name", `UPDATE files SET name = 'docs', name_key = 'docs' WHERE id = 20`, "file 20 and folder 10 have one name"},
		{2, "two users of one name", `UPDATE users SET name = 'GRACE' WHERE id = 7`, "users 3 and 7 have one name"},
		{3, "two teams of one name", `INSERT INTO teams (id, name) VALUES (50, 'CREW'); INSERT INTO resource_lock_namespaces (workspace_type, workspace_id, created_at, updated_at) VALUES ('team', 50, 0, 0)`, "teams 5 and 50 have one name"},
		{3, "a workspace of nobody", `DELETE FROM users WHERE id = 7`, "workspace personal:7 has no owner"},
		{3, "a team without a workspace", `INSERT INTO teams (id, name) VALUES (50, 'x')`, "team 50 has no workspace"},
		{3, "a lock without its file", `DELETE FROM files WHERE id = 21`, "row 1 of resource_locks refers to a missing row of files"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			d := filled(t, c.from)
			d.do(c.fault)
			d.refuses(true, c.want)
		})
	}
}

// TestBadDownData: going back is refused, row by row, when the older model has no
// place for something.
func TestBadDownData(t *testing.T) {
	for _, c := range []struct {
		from              int64
		name, fault, want string
	}{
		{4, "a member", `INSERT INTO team_members VALUES (5, 3, 'owner', 0)`, "team 5 has the member 3"},
		{4, "a team of its own", `UPDATE teams SET created_at = 1`, "team Crew has a time"},
		{4, "an account", `INSERT INTO accounts (id, user_id, name, password_hash, scope, read_only, created_at) VALUES (9, 3, 'phone', 'x', 'all', 0, 0)`, "account 9 of user 3 would be lost"},
		{4, "a version", `INSERT INTO file_versions (id, file_id, blob_id, size, version, modified_at, replaced_at) VALUES (9, 20, 1, 1, 'x', 0, 0)`, "file 20 has the version 9"},
		{4, "a named lock", `INSERT INTO named_locks (name, owner, expires_at, created_at) VALUES ('report', 'x', unixepoch() * 1000000 + 60000000, 0)`, "the named lock report is held"},
		{4, "an entry of the audit log", `INSERT INTO audit_log (id, at, actor, event, subject, detail) VALUES (9, 0, '', 'x', '', '')`, "the entry 9 of the audit log would be lost"},
		{3, "content", `UPDATE files SET size = 5 WHERE id = 20`, "file 20 has content"},
		{3, "a content type", `UPDATE files SET content_type = 'text/plain' WHERE id = 20`, "file 20 has a type, times or an entity tag"},
		{3, "times of a file", `UPDATE files SET modified_at = 1 WHERE id = 20`, "file 20 has a type, times or an entity tag"},
		{3, "an entity tag", `UPDATE files SET version = 'x' WHERE id = 20`, "file 20 has a type, times or an entity tag"},
		{3, "times of a folder", `UPDATE folders SET created_at = 1 WHERE id = 10`, "folder 10 has times"},
		{3, "properties", `INSERT INTO properties (id, file_id, namespace, name, value) VALUES (1, 20, 'x', 'y', 'z')`, "property 1 would be lost"},
		{3, "a password", `UPDATE users SET password_hash = 'x' WHERE id = 3`, "user Grace has a password or role"},
		{3, "a role", `UPDATE users SET is_admin = 1 WHERE id = 3`, "user Grace has a password or role"},
		{3, "a user who is shut out", `UPDATE users SET disabled = 1 WHERE id = 3`, "user Grace has a password or role"},
		{3, "a name to show", `UPDATE users SET display_name = 'G. Hopper' WHERE id = 3`, "user Grace has a name to show or times"},
		{3, "a quota", `UPDATE storage_usage SET quota = 1 WHERE namespace_id = 1`, "namespace 1 has a quota"},
		{3, "a detached folder", `UPDATE folders SET parent_id = NULL, detached_at = 1 WHERE id = 12`, "folder 12 is not purged yet"},
		{3, "garbage", `INSERT INTO garbage (object_key, dropped_at) VALUES ('k', 0)`, "object k is not collected yet"},
		{3, "a lock without its root", `DELETE FROM files WHERE id = 21`, "row 1 of resource_locks refers to a missing row of files"},
		{2, "a WOPI lock", `UPDATE resource_locks SET origin = 'wopi' WHERE id = 2`, "lock 2 is of origin wopi"},
		{2, "a product lock", `UPDATE resource_locks SET origin = 'product' WHERE id = 3`, "lock 3 is of origin product"},
		{2, "a folder that would get lost", `UPDATE folders SET namespace_id = 9 WHERE id = 11`, "folder 11 is in no workspace"},
		{2, "a file that would get lost", `UPDATE files SET folder_id = 77 WHERE id = 20`, "file 20 has no folder in its workspace"},
		{2, "a lock that would get lost", `UPDATE resource_locks SET namespace_id = 9 WHERE id = 3`, "row 3 of resource_locks refers to a missing row of resource_lock_namespaces"},
		{2, "a lock that would change its workspace", `UPDATE resource_locks SET namespace_id = 2 WHERE id = 2`, "lock 2 has no root in its workspace"},
		{1, "users", `SELECT 1`, "user 3 would be lost; user 7 would be lost; team 5 would be lost"},
		{1, "locks", `DELETE FROM users`, "lock 1 would be lost"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			d := filled(t, c.from)
			d.do(c.fault)
			d.refuses(false, c.want)
		})
	}
	t.Run("a named lock that lapsed is no obstacle", func(t *testing.T) {
		d := filled(t, 4)
		d.do(`INSERT INTO named_locks (name, owner, expires_at, created_at) VALUES ('report', 'x', unixepoch() * 1000000 - 60000000, 0)`)
		d.downTo(3)
	})
	t.Run("a database of a newer program is left alone", func(t *testing.T) {
		d := filled(t, 4)
		d.do(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (7, 1)`)
		d.refuses(true, "the database is of version 7, this program needs 6")
		d.refuses(false, "version")
	})
}
