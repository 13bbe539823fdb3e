package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"
	"holdfast/lockns"
	"holdfast/migrations"
)

// MigrationStatus is one migration and whether the database has it.
type MigrationStatus struct {
	Version int64
	Name    string
	Applied bool
}

// Migrate brings a database to the newest version, or takes its last migration
// back, and returns the version it is at. A migration that cannot represent
// the data fails and changes nothing.
func Migrate(ctx context.Context, db string, up bool) (version int64, err error) {
	err = withProvider(db, func(p *goose.Provider) error {
		if up {
			_, err = p.Up(ctx)
		} else {
			_, err = p.Down(ctx)
		}
		if err != nil {
			return err
		}
		version, err = p.GetDBVersion(ctx)
		return err
	})
	return version, err
}

// Migrations lists all migrations, oldest first.
func Migrations(ctx context.Context, db string) (all []MigrationStatus, err error) {
	err = withProvider(db, func(p *goose.Provider) error {
		status, err := p.Status(ctx)
		for _, m := range status {
			all = append(all, MigrationStatus{m.Source.Version, migrationNames[m.Source.Version], m.State == goose.StateApplied})
		}
		return err
	})
	return all, err
}

var migrationNames = map[int64]string{
	1: "v0 model",
	2: "lock namespaces",
	3: "content, properties, accounts",
	4: "teams, app passwords, versions, named locks, audit",
}

// withProvider opens a connection of its own for migrations. Foreign keys are
// off while tables are rebuilt (a pragma that means nothing inside a
// transaction); each migration checks them before it commits.
func withProvider(db string, fn func(*goose.Provider) error) (err error) {
	path, err := sqlitePath(db)
	if err != nil {
		return err
	}
	conn, err := openSQLite(path, "synchronous(FULL)", "foreign_keys(0)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetMaxOpenConns(1)
	dir, err := fs.Sub(migrations.SQLite, "sqlite")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, conn, dir,
		goose.WithDisableGlobalRegistry(true),
		goose.WithGoMigrations(
			goose.NewGoMigration(2, step(upNamespaces), step(downNamespaces)),
			goose.NewGoMigration(3, step(upContent), step(downContent)),
			goose.NewGoMigration(4, step(upTeams), step(downTeams)),
		))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if err := fn(p); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// step makes a goose migration of a function that works on one transaction and
// leaves no dangling reference behind.
func step(fn func(*migration) error) *goose.GoFunc {
	return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		m := &migration{ctx, tx, micros(time.Now())}
		if err := fn(m); err != nil {
			return err
		}
		return m.refuse(`SELECT 'row ' || rowid || ' of ' || "table" || ' refers to a missing row of ' || parent FROM pragma_foreign_key_check`)
	}}
}

type migration struct {
	ctx context.Context
	tx  *sql.Tx
	now int64
}

// run executes a file of the steps folder.
func (m *migration) run(name string) error {
	text, err := fs.ReadFile(migrations.SQLite, "sqlite/steps/"+name+".sql")
	if err != nil {
		return err
	}
	if _, err := m.tx.ExecContext(m.ctx, string(text)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (m *migration) exec(query string, args ...any) error {
	_, err := m.tx.ExecContext(m.ctx, query, args...)
	return err
}

// refuse fails with every text that a query selects, the first hundred.
func (m *migration) refuse(queries ...string) error {
	var faults []string
	for _, query := range queries {
		rows, err := m.tx.QueryContext(m.ctx, query+" LIMIT 100")
		if err != nil {
			return err
		}
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				return errors.Join(err, rows.Close())
			}
			faults = append(faults, text)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
	}
	if faults != nil {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// upNamespaces converts the v0 model to the contract's. All data is checked
// before the first table is touched: a lock is never dropped silently.
func upNamespaces(m *migration) error {
	if err := m.refuse(v0Faults...); err != nil {
		return err
	}
	if err := errors.Join(m.sameKeys("user", userKey), m.sameKeys("team", teamKey)); err != nil {
		return err
	}
	if err := m.run("00002_1_tables"); err != nil {
		return err
	}
	for _, q := range []string{
		`INSERT INTO resource_lock_namespaces (workspace_type, workspace_id, created_at, updated_at) SELECT 'personal', id, ?1, ?1 FROM users ORDER BY id`,
		`INSERT INTO resource_lock_namespaces (workspace_type, workspace_id, created_at, updated_at) SELECT 'team', id, ?1, ?1 FROM teams ORDER BY id`,
	} {
		if err := m.exec(q, m.now); err != nil {
			return err
		}
	}
	if err := m.run("00002_2_rows"); err != nil {
		return err
	}
	for _, table := range []string{"folders_new", "files_new"} {
		if err := m.keys(table, "name", NameKey); err != nil {
			return err
		}
	}
	if err := m.refuse(sameNames...); err != nil {
		return err
	}
	if err := m.ancestries(); err != nil {
		return err
	}
	return m.run("00002_3_swap")
}

// v0Faults select what the new model cannot hold.
var v0Faults = []string{
	`SELECT 'folder ' || id || ' belongs to no one workspace' FROM folders f WHERE (user_id IS NULL) = (team_id IS NULL)
OR user_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM users WHERE id = f.user_id)
OR team_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM teams WHERE id = f.team_id)`,
	`SELECT 'file ' || id || ' belongs to no one workspace' FROM files f WHERE (user_id IS NULL) = (team_id IS NULL)
OR user_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM users WHERE id = f.user_id)
OR team_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM teams WHERE id = f.team_id)`,
	`SELECT 'folder ' || f.id || ' has no parent in its workspace' FROM folders f WHERE f.parent_id IS NOT NULL AND NOT EXISTS
(SELECT 1 FROM folders p WHERE p.id = f.parent_id AND p.user_id IS f.user_id AND p.team_id IS f.team_id)`,
	`SELECT 'file ' || f.id || ' has no folder in its workspace' FROM files f WHERE f.folder_id IS NOT NULL AND NOT EXISTS
(SELECT 1 FROM folders p WHERE p.id = f.folder_id AND p.user_id IS f.user_id AND p.team_id IS f.team_id)`,
	`SELECT 'folder ' || id || ' is inside itself' FROM folders WHERE id NOT IN (
WITH RECURSIVE tree (id) AS (SELECT id FROM folders WHERE parent_id IS NULL UNION ALL SELECT f.id FROM folders f JOIN tree ON f.parent_id = tree.id) SELECT id FROM tree)
AND parent_id IN (SELECT id FROM folders)`,
	`SELECT 'folder ' || id || ' has no name' FROM folders WHERE name = ''`,
	`SELECT 'file ' || id || ' has no name' FROM files WHERE name = ''`,
	`SELECT 'lock ' || id || ' has no target' FROM resource_locks l WHERE CASE entity_type
WHEN 'file' THEN NOT EXISTS (SELECT 1 FROM files WHERE id = l.entity_id)
WHEN 'folder' THEN NOT EXISTS (SELECT 1 FROM folders WHERE id = l.entity_id)
WHEN 'personal_root' THEN NOT EXISTS (SELECT 1 FROM users WHERE id = l.entity_id)
WHEN 'team_root' THEN NOT EXISTS (SELECT 1 FROM teams WHERE id = l.entity_id)
ELSE 1 END`,
	`SELECT 'lock ' || id || ' is neither shared nor exclusive' FROM resource_locks WHERE shared NOT IN (0, 1)`,
	`SELECT 'lock ' || id || ' is neither deep nor shallow' FROM resource_locks WHERE deep NOT IN (0, 1)`,
	`SELECT 'locks share a token: ' || group_concat(id) FROM resource_locks GROUP BY token HAVING count(*) > 1`,
}

// sameNames select members of one folder that have one name key.
var sameNames = []string{
	`SELECT 'folders ' || min(id) || ' and ' || max(id) || ' have one name' FROM folders_new WHERE parent_id IS NOT NULL GROUP BY parent_id, name_key HAVING count(*) > 1`,
	`SELECT 'files ' || min(id) || ' and ' || max(id) || ' have one name' FROM files_new GROUP BY folder_id, name_key HAVING count(*) > 1`,
	`SELECT 'file ' || f.id || ' and folder ' || d.id || ' have one name' FROM files_new f JOIN folders_new d ON d.parent_id = f.folder_id AND d.name_key = f.name_key`,
}

// sameKeys refuses users, or teams, whose names are one to a look-up. Only later
// migrations give them keys, but by then the model of locks would have changed.
func (m *migration) sameKeys(kind string, key func(string) string) error {
	names, err := m.names(kind+"s", "name")
	if err != nil {
		return err
	}
	first := map[string]int64{}
	for _, id := range slices.Sorted(maps.Keys(names)) {
		key := key(names[id])
		if other, ok := first[key]; ok {
			return fmt.Errorf("%ss %d and %d have one name", kind, other, id)
		}
		first[key] = id
	}
	return nil
}

// keys fills in name_key, which SQL cannot compute.
func (m *migration) keys(table, column string, key func(string) string) error {
	names, err := m.names(table, column)
	if err != nil {
		return err
	}
	for id, name := range names {
		if err := m.exec(`UPDATE `+table+` SET name_key = ? WHERE id = ?`, key(name), id); err != nil {
			return err
		}
	}
	return nil
}

// names reads a column of texts by id.
func (m *migration) names(table, column string) (names map[int64]string, err error) {
	rows, err := m.tx.QueryContext(m.ctx, `SELECT id, `+column+` FROM `+table)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names = map[int64]string{}
	for rows.Next() {
		var id int64
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, err
		}
		names[id] = name
	}
	return names, rows.Err()
}

// ancestries fills in the id paths of the lock roots.
func (m *migration) ancestries() error {
	folder := `WITH RECURSIVE tree (id, path) AS (
SELECT id, '/' || id || '/' FROM folders_new WHERE parent_id IS NULL
UNION ALL SELECT f.id, tree.path || f.id || '/' FROM folders_new f JOIN tree ON f.parent_id = tree.id) `
	for kind, query := range map[lockns.RootKind]string{
		lockns.WorkspaceRoot: `SELECT path FROM tree JOIN folders_new f ON f.id = tree.id WHERE f.parent_id IS NULL AND f.namespace_id = resource_locks_new.namespace_id`,
		lockns.FolderRoot:    `SELECT path FROM tree WHERE id = root_folder_id`,
		lockns.FileRoot:      `SELECT path || 'f' || f.id FROM files_new f JOIN tree ON tree.id = f.folder_id WHERE f.id = root_file_id`,
	} {
		if err := m.exec(`UPDATE resource_locks_new SET ancestry = (`+folder+query+`) WHERE root_kind = ?`, string(kind)); err != nil {
			return err
		}
	}
	return nil
}

// downNamespaces goes back to the v0 model, which has neither product and WOPI
// locks nor a workspace-wide state of its own.
func downNamespaces(m *migration) error {
	err := m.refuse(
		`SELECT 'lock ' || id || ' is of origin ' || origin FROM resource_locks WHERE origin <> 'webdav'`,
		`SELECT 'lock ' || id || ' has no path' FROM resource_locks WHERE lockroot_path IS NULL`,
	)
	if err != nil {
		return err
	}
	return m.run("00002_down")
}

func upContent(m *migration) error {
	if err := m.run("00003_up"); err != nil {
		return err
	}
	if err := m.keys("users", "name", userKey); err != nil {
		return err
	}
	return m.run("00003_users_key")
}

// downContent forgets nothing: it refuses while there is content, a property, a
// password, a quota or a tree still to be purged.
func downContent(m *migration) error {
	err := m.refuse(
		`SELECT 'file ' || id || ' has content' FROM files WHERE size > 0`,
		`SELECT 'property ' || id || ' would be lost' FROM properties`,
		`SELECT 'user ' || name || ' has a password or role' FROM users WHERE password_hash IS NOT NULL OR is_admin = 1 OR disabled = 1`,
		`SELECT 'namespace ' || namespace_id || ' has a quota' FROM storage_usage WHERE quota IS NOT NULL`,
		`SELECT 'folder ' || id || ' is not purged yet' FROM folders WHERE detached_at IS NOT NULL`,
		`SELECT 'object ' || object_key || ' is not collected yet' FROM garbage`,
	)
	if err != nil {
		return err
	}
	return m.run("00003_down")
}

func upTeams(m *migration) error {
	if err := m.sameKeys("team", teamKey); err != nil {
		return err
	}
	if err := m.run("00004_up"); err != nil {
		return err
	}
	if err := m.keys("teams", "name", teamKey); err != nil {
		return err
	}
	if err := m.exec(`INSERT INTO instance (id, uuid) VALUES (1, ?)`, uuid.NewString()); err != nil {
		return err
	}
	return m.run("00004_teams_key")
}

// downTeams refuses while there is anything that migration 3 has no place for.
func downTeams(m *migration) error {
	err := m.refuse(
		`SELECT 'team ' || team_id || ' has the member ' || user_id FROM team_members`,
		`SELECT 'account ' || id || ' of user ' || user_id || ' would be lost' FROM accounts`,
		`SELECT 'file ' || file_id || ' has the version ' || id FROM file_versions`,
		`SELECT 'the named lock ' || name || ' is held' FROM named_locks`,
		`SELECT 'the audit log has ' || count(*) || ' entries' FROM audit_log HAVING count(*) > 0`,
	)
	if err != nil {
		return err
	}
	return m.run("00004_down")
}
