package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"time"

	"github.com/pressly/goose/v3"
	sqlite3 "modernc.org/sqlite/lib"

	"holdfast/migrations"
)

// MigrationStatus is one migration and whether the database has it.
type MigrationStatus struct {
	Version int64
	Name    string
	Applied bool
}

// SchemaError: the database is of another version than this program works with.
type SchemaError struct {
	Version int64 // of the database, 0 when it has no schema yet
	Needs   int64 // the newest version that this program knows
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("store: the database is of version %d, this program needs %d", e.Version, e.Needs)
}

// Migrate brings a database to the newest version, or takes its last migration
// back, and returns the version it is at. A migration that cannot represent the
// data fails, names the rows, and changes nothing; so does one that is cut
// short. A database of a version to come is a *SchemaError. What another process
// migrates meanwhile is waited for on the way up, as long as ctx allows; on the
// way down it is an error.
func Migrate(ctx context.Context, db string, up bool) (version int64, err error) {
	err = withProvider(db, func(p *goose.Provider) error {
		if up {
			err = upAll(ctx, p)
		} else {
			_, err = p.Down(ctx)
		}
		if err != nil {
			return err
		}
		return waiting(ctx, func() error {
			version, err = p.GetDBVersion(ctx)
			return err
		})
	})
	return version, err
}

// busyPause is how long to leave the database to others when SQLite says that it
// is busy without having waited, as it does where waiting could be for ever: to
// switch a new database to its log, or to write after a read.
const busyPause = 10 * time.Millisecond

// waiting calls fn again as long as others keep the database busy and ctx allows.
func waiting(ctx context.Context, fn func() error) error {
	for {
		err := fn()
		if code(err) != sqlite3.SQLITE_BUSY || ctx.Err() != nil {
			return err
		}
		time.Sleep(busyPause)
	}
}

// upAll applies what is pending, one migration at a time, beside others that may
// do the same.
func upAll(ctx context.Context, p *goose.Provider) error {
	var version, newest int64
	err := waiting(ctx, func() (err error) {
		version, newest, err = p.GetVersions(ctx)
		return err
	})
	if err == nil && version > newest {
		return &SchemaError{version, newest}
	}
	for err == nil {
		err = waiting(ctx, func() error {
			_, err := p.UpByOne(ctx)
			return err
		})
		if errors.Is(err, errOvertaken) {
			err = ctx.Err()
		}
	}
	if errors.Is(err, goose.ErrNoNextVersion) {
		return nil
	}
	return err
}

// checkSchema refuses a database that is not of the newest version with a
// *SchemaError. It opens the file for reading only: pages that another program
// left in the log beside it stay there.
func checkSchema(ctx context.Context, db string) (err error) {
	path, err := sqlitePath(db)
	if err != nil {
		return err
	}
	q := url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	conn, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	version, err := schemaVersion(ctx, conn)
	if err != nil {
		return fmt.Errorf("read version: %w", err)
	}
	if newest := int64(len(steps)); version != newest {
		return &SchemaError{version, newest}
	}
	return nil
}

// schemaVersion is 0 in a database that was never migrated.
func schemaVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	var migrated bool
	err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'goose_db_version')`).Scan(&migrated)
	if err == nil && migrated {
		err = db.QueryRowContext(ctx, selectVersion).Scan(&version)
	}
	return version, err
}

const selectVersion = `SELECT coalesce(max(version_id), 0) FROM goose_db_version`

// Migrations lists all migrations, oldest first.
func Migrations(ctx context.Context, db string) (all []MigrationStatus, err error) {
	err = withProvider(db, func(p *goose.Provider) error {
		status, err := p.Status(ctx)
		for _, m := range status {
			v := m.Source.Version
			all = append(all, MigrationStatus{v, steps[v-1].name, m.State == goose.StateApplied})
		}
		return err
	})
	return all, err
}

// withProvider opens a connection of its own for migrations. Foreign keys are
// off while tables are rebuilt (a pragma that means nothing inside a
// transaction); each migration checks them itself.
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
	var all []*goose.Migration
	for i, s := range steps {
		v := int64(i + 1)
		all = append(all, goose.NewGoMigration(v, s.up.on(v, v-1), s.down.on(v, v)))
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, conn, nil,
		goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(all...))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if err := fn(p); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// step is one direction of a migration. check looks at all data while the
// database refuses to be written; only then change begins.
type step struct {
	check, change func(*migration) error
}

// on makes the step of migration version a transaction that finds the database
// at the version from.
func (s step) on(version, from int64) *goose.GoFunc {
	return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		m := &migration{ctx: ctx, tx: tx, version: version, now: micros(time.Now())}
		if err := m.serialize(from); err != nil {
			return err
		}
		if err := m.readOnly(s.check); err != nil {
			return err
		}
		if err := s.change(m); err != nil {
			return err
		}
		return m.refuse(danglingRows)
	}}
}

const danglingRows = `SELECT 'row ' || rowid || ' of ' || "table" || ' refers to a missing row of ' || parent FROM pragma_foreign_key_check`

// errOvertaken: another process migrated the database first.
var errOvertaken = errors.New("another process is migrating")

// migration is the transaction of one step.
type migration struct {
	ctx     context.Context
	tx      *sql.Tx
	version int64
	now     int64 // the one reading of the clock
}

// serialize takes the write lock, by a statement that would write, and makes
// sure that the database is still at the version this step is for.
func (m *migration) serialize(from int64) error {
	if err := m.exec(`DELETE FROM goose_db_version WHERE false`); err != nil {
		return fmt.Errorf("wait for other processes: %w", err)
	}
	var version int64
	if err := m.tx.QueryRowContext(m.ctx, selectVersion).Scan(&version); err != nil {
		return fmt.Errorf("read version: %w", err)
	}
	if version != from {
		return fmt.Errorf("%w: version %d, expected %d", errOvertaken, version, from)
	}
	return nil
}

// readOnly runs check while no statement can write.
func (m *migration) readOnly(check func(*migration) error) error {
	if err := m.exec(`PRAGMA query_only = 1`); err != nil {
		return err
	}
	err := m.refuse(danglingRows)
	if err == nil {
		err = check(m)
	}
	return errors.Join(err, m.exec(`PRAGMA query_only = 0`))
}

// stepDone, when a test sets it, is called after each file of a migration.
var stepDone func(ctx context.Context, file string) error

// run executes a file of the steps folder, "up" for one.
func (m *migration) run(name string) error {
	name = fmt.Sprintf("%05d_%s", m.version, name)
	text, err := fs.ReadFile(migrations.SQLite, "sqlite/steps/"+name+".sql")
	if err != nil {
		return err
	}
	if err := m.exec(string(text)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if stepDone != nil {
		return stepDone(m.ctx, name)
	}
	return nil
}

func (m *migration) exec(query string, args ...any) error {
	_, err := m.tx.ExecContext(m.ctx, query, args...)
	return err
}

// rows calls fn for each row of a query.
func (m *migration) rows(query string, fn func(scan func(...any) error) error) error {
	rows, err := m.tx.QueryContext(m.ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
