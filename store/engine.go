package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// busyTimeout is how long a statement waits for another process.
const busyTimeout = 10 * time.Second

// sqlitePath takes the file out of a --db value.
func sqlitePath(db string) (string, error) {
	path, ok := strings.CutPrefix(db, "sqlite:")
	if !ok || path == "" {
		return "", fmt.Errorf("store: database %q is not sqlite:PATH", db)
	}
	return filepath.Abs(path)
}

// openSQLite opens a pool on a database file, made when missing and readable by
// its owner only. Each connection starts with the given pragmas; busy_timeout
// comes first since the others may have to wait already.
func openSQLite(path string, pragmas ...string) (*sql.DB, error) {
	if err := create(path); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	q := url.Values{"_pragma": append([]string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"journal_mode(WAL)",
	}, pragmas...)}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return db, nil
}

// create makes the file of a new database. One that exists is not even opened:
// a process that closes any descriptor of a file loses all its POSIX locks on
// it, those of SQLite's open connections too. Other programs would then take
// the database for unused, and delete the log that this one writes to.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// conn is one connection with its prepared statements. The set of statement
// texts in this package is finite, so the map is too. A conn is used by one
// goroutine at a time.
type conn struct {
	c     *sql.Conn
	stmts map[string]*sql.Stmt
	seen  func(query string, args []any) // of every statement, in tests
}

func newConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &conn{c: c, stmts: map[string]*sql.Stmt{}}, nil
}

// close gives the connection up; discard also keeps it from the pool.
func (c *conn) close() {
	c.finalize()
	_ = c.c.Close()
}

func (c *conn) discard() {
	// Before the connection goes: a statement that outlives it crashes.
	c.finalize()
	// The one error that makes database/sql close a connection for good.
	_ = c.c.Raw(func(any) error { return driver.ErrBadConn })
}

func (c *conn) finalize() {
	for _, s := range c.stmts {
		_ = s.Close()
	}
	c.stmts = nil
}

// No statement carries a request's context: an interrupt of one would roll back
// the whole batch it is in, so conn has no context parameter at all.

func (c *conn) stmt(query string) (*sql.Stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	s, err := c.c.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

func (c *conn) exec(query string, args ...any) (int64, error) {
	c.note(query, args)
	s, err := c.stmt(query)
	if err != nil {
		return 0, err
	}
	r, err := s.Exec(args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (c *conn) query(query string, args ...any) (*sql.Rows, error) {
	c.note(query, args)
	s, err := c.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.Query(args...)
}

func (c *conn) note(query string, args []any) {
	if c.seen != nil {
		c.seen(query, args)
	}
}

// control runs a statement of transaction control.
func (c *conn) control(query string) error {
	_, err := c.exec(query)
	return err
}

// code is the primary SQLite result code of err, 0 when it has none.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// notCommitted reports whether a failed COMMIT surely did not happen.
func notCommitted(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_FULL
}

// meaning gives a database error the name that callers know.
func meaning(err error) error {
	switch code(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}
