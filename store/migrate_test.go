package store_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/store"
)

var update = flag.Bool("update", false, "write the golden schema anew")

const goldenSchema = "../migrations/schema/sqlite.sql"

// database is one to migrate, and to look into between migrations.
type database struct {
	t    *testing.T
	name string
	db   *sql.DB
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	name := filepath.Join(t.TempDir(), "holdfast.db")
	db, err := sql.Open("sqlite", "file:"+name+"?_pragma=busy_timeout(10000)")
	must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { must(t, db.Close()) })
	return &database{t, name, db}
}

func (d *database) url() string { return "sqlite:" + d.name }

// up goes to the newest version; down takes the last migration back.
func (d *database) up() {
	d.t.Helper()
	version, err := store.Migrate(context.Background(), d.url(), true)
	must(d.t, err)
	wantEqual(d.t, "version", version, 4)
}

func (d *database) down() (int64, error) {
	return store.Migrate(context.Background(), d.url(), false)
}

// do runs SQL on the database and returns the first column of its rows.
func (d *database) do(query string, args ...any) (found []string) {
	d.t.Helper()
	rows, err := d.db.Query(query, args...)
	must(d.t, err)
	defer rows.Close()
	for rows.Next() {
		var text sql.NullString
		must(d.t, rows.Scan(&text))
		found = append(found, text.String)
	}
	must(d.t, rows.Err())
	return found
}

// v0 is a database of the model that the conversion starts from.
func v0(t *testing.T, statements ...string) *database {
	t.Helper()
	d := newDatabase(t)
	must(t, os.WriteFile(d.name, oldest(), 0o600))
	for _, s := range statements {
		d.do(s)
	}
	return d
}

// schema is all that the database is made of, by name. How a table came about
// leaves no trace in it: quotes that ALTER TABLE adds are taken away.
func (d *database) schema() string {
	d.t.Helper()
	all := d.do(`SELECT sql || ';' FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%' ORDER BY name`)
	return strings.ReplaceAll(strings.Join(all, "\n\n"), `"`, "") + "\n"
}

func TestGoldenSchema(t *testing.T) {
	d := newDatabase(t)
	d.up()
	got := "-- The schema that all migrations arrive at, by name. Written by\n-- go test ./store -run TestGoldenSchema -update\n\n" + d.schema()
	if *update {
		must(t, os.WriteFile(goldenSchema, []byte(got), 0o644))
	}
	want, err := os.ReadFile(goldenSchema)
	must(t, err)
	if got != string(want) {
		t.Errorf("the schema differs from %s; see with -update what changed:\n%s", goldenSchema, got)
	}
}

func TestUpDownUp(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.up()
	first := d.schema()
	for version := int64(3); version >= 0; version-- {
		got, err := d.down()
		must(t, err)
		wantEqual(t, "version", got, version)
	}
	wantEqual(t, "schema of nothing", d.schema(), "\n")
	d.up()
	wantEqual(t, "schema", d.schema(), first)
	all, err := store.Migrations(t.Context(), d.url())
	must(t, err)
	for i, m := range all {
		if m.Version != int64(i+1) || m.Name == "" || !m.Applied {
			t.Errorf("migration %+v", m)
		}
	}
	wantEqual(t, "migrations", len(all), 4)
}

func TestMigrateRefusesOtherDatabases(t *testing.T) {
	for _, url := range []string{"", "sqlite:", "postgres://x", "holdfast.db"} {
		if _, err := store.Migrate(t.Context(), url, true); err == nil {
			t.Errorf("Migrate(%q) went through", url)
		}
	}
}

// v0Data has each entity type, shared and deep locks, both kinds of workspace,
// a timeout and none, and gaps in its ids.
var v0Data = []string{
	`INSERT INTO users (id, name) VALUES (3, 'Grace'), (7, 'bob')`,
	`INSERT INTO teams (id, name) VALUES (5, 'Crew')`,
	`INSERT INTO folders (id, parent_id, name, user_id, team_id) VALUES (10, NULL, 'docs', 3, NULL), (11, 10, 'e' || char(769), 3, NULL), (12, NULL, 'crew', NULL, 5), (99, NULL, 'gone', 3, NULL)`,
	`INSERT INTO files (id, folder_id, name, user_id, team_id) VALUES (20, NULL, 'top', 3, NULL), (21, 11, 'deep', 3, NULL), (22, 12, 'plan', NULL, 5), (98, NULL, 'gone', 3, NULL)`,
	`DELETE FROM folders WHERE id = 99`,
	`DELETE FROM files WHERE id = 98`,
	`INSERT INTO resource_locks (id, token, entity_type, entity_id, path, owner_id, owner_info, shared, deep, timeout_at, created_at) VALUES
(1, 'file', 'file', 21, '/docs/é/deep', 3, '<o/>', 0, 0, 1234567, 1000),
(2, 'folder', 'folder', 11, '/docs/é', 7, NULL, 1, 1, NULL, 1001),
(3, 'personal', 'personal_root', 3, '/', 3, NULL, 1, 0, NULL, 1002),
(4, 'team', 'team_root', 5, '/', NULL, NULL, 0, 1, NULL, 1003),
(5, 'top', 'file', 20, '/top', 3, NULL, 1, 1, 5, 1004),
(97, 'gone', 'file', 20, '/top', 3, NULL, 1, 1, 5, 1004)`,
	`DELETE FROM resource_locks WHERE id = 97`,
}

func TestConvertV0(t *testing.T) {
	t.Parallel()
	d := v0(t, v0Data...)
	d.up()
	// One row a line: where every id of the old model went.
	wantSlice(t, "namespaces", d.do(`SELECT workspace_type || ':' || workspace_id || ' generation ' || generation FROM resource_lock_namespaces ORDER BY id`),
		[]string{"personal:3 generation 0", "personal:7 generation 0", "team:5 generation 0"})
	wantSlice(t, "folders", d.do(`SELECT f.id || ' in ' || p.name || ' of ' || workspace_type || ':' || workspace_id || ' key ' || hex(f.name_key)
FROM folders f JOIN folders p ON p.id = f.parent_id JOIN resource_lock_namespaces n ON n.id = f.namespace_id ORDER BY f.id`),
		[]string{"10 in  of personal:3 key 646F6373", "11 in docs of personal:3 key C3A9", "12 in  of team:5 key 63726577"})
	wantSlice(t, "files", d.do(`SELECT f.id || ' in ' || p.name || ' size ' || size || ' key ' || f.name_key FROM files f JOIN folders p ON p.id = f.folder_id ORDER BY f.id`),
		[]string{"20 in  size 0 key top", "21 in e\u0301 size 0 key deep", "22 in crew size 0 key plan"})
	root := func(kind string, id int) string {
		return d.do(`SELECT f.id FROM folders f JOIN resource_lock_namespaces n ON n.id = f.namespace_id
WHERE f.parent_id IS NULL AND workspace_type = ? AND workspace_id = ?`, kind, id)[0]
	}
	ada, crew := root("personal", 3), root("team", 5)
	wantSlice(t, "locks", d.do(`SELECT l.id || ' ' || token || ' ' || workspace_type || ' ' || root_kind || ' ' || coalesce(root_folder_id, root_file_id, '-') || ' ' || ancestry || ' ' ||
depth || ' ' || mode || ' ' || origin || ' ' || coalesce(holder_user_id, '-') || ' ' || coalesce(owner_info, '-') || ' ' || lockroot_path || ' ' || coalesce(timeout_at, '-') || ' ' || l.created_at
FROM resource_locks l JOIN resource_lock_namespaces n ON n.id = l.namespace_id ORDER BY l.id`), []string{
		"1 file personal file 21 /" + ada + "/10/11/f21 resource exclusive webdav 3 <o/> /docs/é/deep 1234567 1000",
		"2 folder personal folder 11 /" + ada + "/10/11/ infinity shared webdav 7 - /docs/é - 1001",
		"3 personal personal workspace_root - /" + ada + "/ resource shared webdav 3 - / - 1002",
		"4 team team workspace_root - /" + crew + "/ infinity exclusive webdav - - / - 1003",
		"5 top personal file 20 /" + ada + "/f20 infinity shared webdav 3 - /top 5 1004",
	})
	wantSlice(t, "users", d.do(`SELECT id || ' ' || name || ' ' || name_key FROM users ORDER BY id`), []string{"3 Grace grace", "7 bob bob"})
	wantSlice(t, "flags left", d.do(`SELECT name FROM sqlite_master WHERE sql LIKE '%is_locked%' OR sql LIKE '%entity_%'`), nil)
	f := newFixture(t, func(o *store.Options) { o.DB = d.url() })
	grace, err := f.User(t.Context(), "GRACE")
	must(t, err)
	wantEqual(t, "content", f.entry(at(grace, "/docs/é/deep")).Size, 0)
	n, _, err := f.Put(t.Context(), at(grace, "/new"), file("x"), with{3, []string{"personal"}})
	must(t, err)
	if n.Place.Root.ID <= 98 {
		t.Errorf("a new file has the id %d of a deleted one", n.Place.Root.ID)
	}
	folder, err := f.Mkdir(t.Context(), at(grace, "/newdir"), store.Patch{}, with{3, []string{"personal"}})
	must(t, err)
	if folder.Place.Root.ID <= 99 {
		t.Errorf("a new folder has the id %d of a deleted one", folder.Place.Root.ID)
	}
	l, err := f.Lock(t.Context(), at(grace, "/new"), f.spec("resource"), f.me())
	must(t, err)
	if l.Lock.ID <= 97 {
		t.Errorf("a new lock has the id %d of a deleted one", l.Lock.ID)
	}
}

// TestBadV0Data: the conversion refuses what the new model cannot hold, names
// the row, and changes nothing.
func TestBadV0Data(t *testing.T) {
	t.Parallel()
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
		{"a folder without a name", `INSERT INTO folders (id, name, user_id) VALUES (50, '', 3)`, "folder 50 has no name"},
		{"a file without a name", `INSERT INTO files (id, name, user_id) VALUES (50, '', 3)`, "file 50 has no name"},
		{"two folders of one name", `INSERT INTO folders (id, name, user_id) VALUES (50, 'docs', 3)`, "folders 10 and 50 have one name"},
		{"two folders of one name in two normal forms", `INSERT INTO folders (id, parent_id, name, user_id) VALUES (50, 10, char(233), 3)`, "folders 11 and 50 have one name"},
		{"two files of one name", `INSERT INTO files (id, folder_id, name, user_id) VALUES (50, 11, 'deep', 3)`, "files 21 and 50 have one name"},
		{"a file and a folder of one name", `INSERT INTO files (id, name, user_id) VALUES (50, 'docs', 3)`, "file 50 and folder 10 have one name"},
		{"two users of one name", `INSERT INTO users (id, name) VALUES (50, 'GRACE')`, "users 3 and 50 have one name"},
		{"a lock on a missing file", lock + `(50, 't', 'file', 10, '/', 0, 0, 0)`, "lock 50 has no target"},
		{"a lock on a missing folder", lock + `(50, 't', 'folder', 20, '/', 0, 0, 0)`, "lock 50 has no target"},
		{"a lock on a missing user's root", lock + `(50, 't', 'personal_root', 5, '/', 0, 0, 0)`, "lock 50 has no target"},
		{"a lock on a missing team's root", lock + `(50, 't', 'team_root', 3, '/', 0, 0, 0)`, "lock 50 has no target"},
		{"a lock on something else", lock + `(50, 't', 'drive', 3, '/', 0, 0, 0)`, "lock 50 has no target"},
		{"a lock of a third mode", lock + `(50, 't', 'file', 20, '/', 2, 0, 0)`, "lock 50 is neither shared nor exclusive"},
		{"a lock of a third depth", lock + `(50, 't', 'file', 20, '/', 0, 2, 0)`, "lock 50 is neither deep nor shallow"},
		{"a token that is not unique", lock + `(50, 'file', 'file', 20, '/', 0, 0, 0)`, "locks share a token: 1,50"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			d := v0(t, append(append([]string{}, v0Data...), c.fault)...)
			before := d.dump()
			_, err := store.Migrate(t.Context(), d.url(), true)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			wantEqual(t, "database", d.dump(), before)
		})
	}
}

// dump is the schema and all rows of the model's tables.
func (d *database) dump() string {
	var b strings.Builder
	b.WriteString(d.schema())
	for _, table := range d.do(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`) {
		columns := strings.Join(d.do(`SELECT 'quote("' || name || '")' FROM pragma_table_info(?)`, table), " || ' ' || ")
		fmt.Fprintln(&b, table, d.do(`SELECT `+columns+` FROM "`+table+`" ORDER BY rowid`))
	}
	return b.String()
}

// TestDown: what the old model can hold goes back to it and forth again; what it
// cannot is refused, row by row.
func TestDown(t *testing.T) {
	t.Parallel()
	t.Run("goes back and forth without loss", func(t *testing.T) {
		d := v0(t, v0Data...)
		before := d.dump()
		d.up()
		count := func() string {
			return strings.Join(d.do(`SELECT count(*) FROM folders UNION ALL SELECT count(*) FROM files UNION ALL SELECT count(*) FROM resource_locks
UNION ALL SELECT count(*) FROM users UNION ALL SELECT count(*) FROM teams UNION ALL SELECT count(*) FROM resource_lock_namespaces`), " ")
		}
		up := count()
		for range 2 {
			_, err := d.down()
			must(t, err)
		}
		// The old flags were all false; now they say what the locks say.
		d.do(`UPDATE folders SET is_locked = 0`)
		d.do(`UPDATE files SET is_locked = 0`)
		if got := withoutVersions(d.dump()); got != withoutVersions(before) {
			t.Errorf("came back as\n%s\nwant\n%s", got, before)
		}
		d.up()
		wantEqual(t, "rows up again", count(), up)
	})
	for _, c := range []struct{ name, data, want string }{
		{"content", `UPDATE files SET size = 5 WHERE id = 20`, "file 20 has content"},
		{"properties", `INSERT INTO properties (id, file_id, namespace, name, value) VALUES (1, 20, 'x', 'y', 'z')`, "property 1 would be lost"},
		{"a password", `UPDATE users SET password_hash = 'x' WHERE id = 3`, "user Grace has a password or role"},
		{"a role", `UPDATE users SET is_admin = 1 WHERE id = 3`, "user Grace has a password or role"},
		{"a quota", `UPDATE storage_usage SET quota = 1 WHERE namespace_id = 1`, "namespace 1 has a quota"},
		{"a detached folder", `UPDATE folders SET parent_id = NULL, detached_at = 1 WHERE id = 12`, "folder 12 is not purged yet"},
		{"garbage", `INSERT INTO garbage (object_key, dropped_at) VALUES ('k', 0)`, "object k is not collected yet"},
	} {
		t.Run("from 3 refuses "+c.name, func(t *testing.T) {
			d := v0(t, v0Data...)
			d.up()
			d.do(c.data)
			d.refusesDown(c.want)
		})
	}
	for _, c := range []struct{ name, data, want string }{
		{"a lock of another origin", `UPDATE resource_locks SET origin = 'wopi' WHERE id = 2`, "lock 2 is of origin wopi"},
		{"a lock without a path", `UPDATE resource_locks SET lockroot_path = NULL WHERE id = 2`, "lock 2 has no path"},
	} {
		t.Run("from 2 refuses "+c.name, func(t *testing.T) {
			d := v0(t, v0Data...)
			d.up()
			_, err := d.down()
			must(t, err)
			d.do(c.data)
			d.refusesDown(c.want)
		})
	}
}

func (d *database) refusesDown(want string) {
	d.t.Helper()
	before := d.dump()
	_, err := d.down()
	if err == nil || !strings.Contains(err.Error(), want) {
		d.t.Errorf("error %v, want one with %q", err, want)
	}
	wantEqual(d.t, "database", d.dump(), before)
}

// withoutVersions leaves out what the tool notes of its own work.
func withoutVersions(dump string) string {
	var lines []string
	for line := range strings.SplitSeq(dump, "\n") {
		if !strings.HasPrefix(line, "goose_") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
