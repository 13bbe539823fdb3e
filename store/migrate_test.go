package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/store"
)

var update = flag.Bool("update", false, "write the golden schema anew")

// oldFlag is the column that migration 2 takes away. Only migrations 1 and 2 may
// name it: see TestOldFlagIsGone.
const oldFlag = "is_" + "locked"

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
	wantEqual(d.t, "version", version, 6)
}

func (d *database) down() (int64, error) {
	return store.Migrate(context.Background(), d.url(), false)
}

// downTo takes a database of the newest version back to another.
func (d *database) downTo(version int64) {
	d.t.Helper()
	all, err := store.Migrations(context.Background(), d.url())
	must(d.t, err)
	for at := int64(len(all)); at > version; {
		at, err = d.down()
		must(d.t, err)
	}
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

// filled is a database with v0Data at a version.
func filled(t *testing.T, version int64) *database {
	t.Helper()
	images.Lock()
	defer images.Unlock()
	if images.at[version] == nil {
		d := v0(t, v0Data...)
		if version > 1 {
			d.up()
			d.downTo(version)
		}
		must(t, d.db.Close())
		image, err := os.ReadFile(d.name)
		must(t, err)
		images.at[version] = image
	}
	d := newDatabase(t)
	must(t, os.WriteFile(d.name, images.at[version], 0o600))
	return d
}

// images are what filled made already.
var images = struct {
	sync.Mutex
	at map[int64][]byte
}{at: map[int64][]byte{}}

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
	d.downTo(0)
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
	wantEqual(t, "migrations", len(all), 6)
}

// TestRoundTrip: what the v0 model can hold goes up, back and up again without
// loss; only root folders, which it does not know, have new ids then.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	d := v0(t, v0Data...)
	// The flags of the v0 model say what the locks say once they come back.
	d.do(`UPDATE folders SET ` + oldFlag + ` = 1 WHERE id IN (11, 12)`)
	d.do(`UPDATE files SET ` + oldFlag + ` = 1 WHERE id IN (20, 21, 22)`)
	tables := d.do(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%\_%' ESCAPE '\' OR name = 'resource_locks' ORDER BY name`)
	wantSlice(t, "tables", tables, []string{"files", "folders", "resource_locks", "teams", "users"})
	rows := func() (all []string) {
		for _, table := range tables {
			all = append(all, table)
			all = append(all, d.all(table)...)
		}
		return all
	}
	before, schema := rows(), d.schema()
	d.up()
	up := d.model()
	d.downTo(1)
	wantSlice(t, "rows", rows(), before)
	wantEqual(t, "schema", d.schema(), schema)
	wantSlice(t, "next ids that others may get", d.do(`SELECT name FROM sqlite_sequence WHERE seq < CASE name WHEN 'folders' THEN 99 WHEN 'files' THEN 98 WHEN 'resource_locks' THEN 97 ELSE 5 END`), nil)
	d.up()
	wantSlice(t, "rows up again", d.model(), up)
	for version := int64(4); version > 0; version-- {
		d.downTo(version)
		d.up()
		wantSlice(t, fmt.Sprintf("rows up again from %d", version), d.model(), up)
	}
}

// model is what the newest version keeps of the v0 model, root folders not by id.
func (d *database) model() (rows []string) {
	d.t.Helper()
	rows = append(rows, d.all("users")...)
	rows = append(rows, d.all("teams")...)
	rows = append(rows, d.all("files", "id", "namespace_id", "(SELECT f.id FROM folders f WHERE f.id = folder_id AND f.parent_id IS NOT NULL)", "name", "name_key", "size", "version")...)
	rows = append(rows, d.all("folders", "iif(parent_id IS NULL, 0, id)", "namespace_id", "(SELECT f.id FROM folders f WHERE f.id = folders.parent_id AND f.parent_id IS NOT NULL)", "name", "name_key")...)
	rows = append(rows, d.all("resource_lock_namespaces", "id", "workspace_type", "workspace_id")...)
	locks := d.do(`SELECT '"' || name || '"' FROM pragma_table_info('resource_locks') WHERE name <> 'ancestry'`)
	return append(rows, d.all("resource_locks", append(locks, "substr(ancestry, 2 + instr(substr(ancestry, 2), '/'))")...)...)
}

// TestOldFlagIsGone: the flag on rows is no second truth beside the locks.
func TestOldFlagIsGone(t *testing.T) {
	seen := 0
	must(t, filepath.WalkDir("..", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.Contains([]string{".go", ".sql"}, filepath.Ext(path)) {
			return err
		}
		seen++
		text, err := os.ReadFile(path)
		steps := strings.HasPrefix(path, "../migrations/sqlite/steps/00001_") || strings.HasPrefix(path, "../migrations/sqlite/steps/00002_")
		if bytes.Contains(bytes.ToLower(text), []byte(oldFlag)) && !steps {
			t.Errorf("%s mentions %s", path, oldFlag)
		}
		return err
	}))
	if seen < 100 {
		t.Errorf("only %d files were seen", seen)
	}
}

func TestMigrateRefusesOtherDatabases(t *testing.T) {
	for _, url := range []string{"", "sqlite:", "postgres://x", "holdfast.db"} {
		if _, err := store.Migrate(t.Context(), url, true); err == nil {
			t.Errorf("Migrate(%q) went through", url)
		}
	}
}

// v0Data has each entity type, shared and deep locks, two shared ones on one
// file, both kinds of workspace, a timeout and none, a path and none, and gaps in
// its ids.
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
(6, 'no path', 'folder', 12, NULL, 7, NULL, 0, 0, NULL, 1005),
(7, 'one of two', 'file', 22, '/crew/plan', 3, '<a/>', 1, 0, 1234567, 1006),
(8, 'two of two', 'file', 22, '/crew/plan', 7, '<b/>', 1, 1, NULL, 1007),
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
depth || ' ' || mode || ' ' || origin || ' ' || coalesce(holder_user_id, '-') || ' ' || coalesce(owner_info, '-') || ' ' || coalesce(lockroot_path, '-') || ' ' || coalesce(timeout_at, '-') || ' ' || l.created_at
FROM resource_locks l JOIN resource_lock_namespaces n ON n.id = l.namespace_id ORDER BY l.id`), []string{
		"1 file personal file 21 /" + ada + "/10/11/f21 resource exclusive webdav 3 <o/> /docs/é/deep 1234567 1000",
		"2 folder personal folder 11 /" + ada + "/10/11/ infinity shared webdav 7 - /docs/é - 1001",
		"3 personal personal workspace_root - /" + ada + "/ resource shared webdav 3 - / - 1002",
		"4 team team workspace_root - /" + crew + "/ infinity exclusive webdav - - / - 1003",
		"5 top personal file 20 /" + ada + "/f20 infinity shared webdav 3 - /top 5 1004",
		"6 no path team folder 12 /" + crew + "/12/ resource exclusive webdav 7 - - - 1005",
		"7 one of two team file 22 /" + crew + "/12/f22 resource shared webdav 3 <a/> /crew/plan 1234567 1006",
		"8 two of two team file 22 /" + crew + "/12/f22 infinity shared webdav 7 <b/> /crew/plan - 1007",
	})
	wantSlice(t, "users", d.do(`SELECT id || ' ' || name || ' ' || name_key FROM users ORDER BY id`), []string{"3 Grace grace", "7 bob bob"})
	wantSlice(t, "flags left", d.do(`SELECT name FROM sqlite_master WHERE sql LIKE '%' || ? || '%' OR sql LIKE '%entity_%' OR sql LIKE '%shared %' OR sql LIKE '%deep %' OR sql LIKE '%_new%'`, oldFlag), nil)
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

// dump is the schema and all rows, the numbers of the next rows and the versions
// noted among them.
func (d *database) dump() string {
	d.t.Helper()
	var b strings.Builder
	b.WriteString(d.schema())
	for _, table := range d.do(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`) {
		fmt.Fprintln(&b, table, d.all(table))
	}
	return b.String()
}

// all are the rows of a table, or the given columns of it.
func (d *database) all(table string, columns ...string) []string {
	d.t.Helper()
	if columns == nil {
		columns = d.do(`SELECT '"' || name || '"' FROM pragma_table_info(?)`, table)
	}
	return d.do(`SELECT quote(` + strings.Join(columns, `) || ' ' || quote(`) + `) AS line FROM "` + table + `" ORDER BY line`)
}
