package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"holdfast/lockns"
)

// tx is the state of one transaction: the writer's, or a reader's snapshot.
// Its methods are the steps that operations are made of. The first database
// error sticks: no later statement runs, and the transaction fails, so that a
// step that cannot report an error (View) fails closed.
type tx struct {
	s      *Store
	ctx    context.Context // for points only: no statement carries it
	c      *conn
	now    time.Time // the one reading of the clock
	err    error
	spaces map[lockns.Workspace]*space
	writes bool
	tells  bool     // there is something new for Events
	by     Actor    // who causes the change, for the audit log; of a claim mayWrite knows it
	after  []func() // run once the commit is known, in order
}

// space is a workspace's namespace row inside a transaction.
type space struct {
	id      int64
	ws      lockns.Workspace
	root    int64 // its root folder's id
	relocks bool  // the projection changed: advance the generation
	regrows bool  // the tree changed: advance tree_version
}

// rootPlace is the place of the workspace root.
func (sp *space) rootPlace() lockns.Place { return lockns.RootPlace(sp.root) }

// update is the only way to change anything. fn runs inside the writer's
// transaction and may run more than once, so it must not have effects outside
// the transaction but through its own results, set anew each time.
//
// The order is that of the package comment: the namespace rows in key order come
// first, the writes after the claim and the rules, the generation last.
func (s *Store) update(ctx context.Context, spaces []lockns.Workspace, fn func(*tx) error) error {
	if err := s.at(ctx, Queued); err != nil {
		return err
	}
	var after []func()
	tells := false
	err := s.writer.do(ctx, func(c *conn) error {
		t := s.begin(ctx, c, true)
		if err := t.run(spaces, fn); err != nil {
			return err
		}
		after, tells = t.after, t.tells
		return nil
	})
	if err != nil {
		return err
	}
	if tells {
		s.signalEvents()
	}
	for _, f := range after {
		f()
	}
	return s.at(ctx, Committed)
}

// run is what happens between BEGIN and COMMIT.
func (t *tx) run(spaces []lockns.Workspace, fn func(*tx) error) error {
	if err := t.at(Begun); err != nil {
		return err
	}
	if err := t.serialize(spaces); err != nil {
		return err
	}
	if err := t.at(Serialized); err != nil {
		return err
	}
	if err := fn(t); err != nil {
		return err
	}
	if t.err != nil {
		return t.err
	}
	if err := t.advance(); err != nil {
		return err
	}
	return t.at(BeforeCommit)
}

// snapshot runs fn on a consistent state of the database without waiting for
// the writer. What it finds may be out of date when it returns.
func (s *Store) snapshot(ctx context.Context, fn func(*tx) error) error {
	c, err := s.readers.take(ctx)
	if err != nil {
		return err
	}
	t := s.begin(ctx, c, false)
	err = c.control("BEGIN")
	if err == nil {
		if err = fn(t); err == nil {
			err = t.err
		}
		if end := c.control("ROLLBACK"); end != nil {
			s.readers.replace(c)
			return errors.Join(err, end)
		}
	}
	s.readers.put(c)
	return meaning(err)
}

func (s *Store) begin(ctx context.Context, c *conn, writes bool) *tx {
	return &tx{
		s: s, ctx: ctx, c: c, writes: writes,
		now:    s.now().UTC().Truncate(time.Microsecond),
		spaces: map[lockns.Workspace]*space{},
	}
}

// serialize locks the namespace rows in key order.
func (t *tx) serialize(spaces []lockns.Workspace) error {
	order := slices.Clone(spaces)
	slices.SortFunc(order, lockns.Workspace.Compare)
	for _, ws := range slices.Compact(order) {
		if _, err := t.space(ws); err != nil {
			return err
		}
	}
	return nil
}

const selectSpace = `SELECT n.id, f.id FROM resource_lock_namespaces n
JOIN folders f ON f.namespace_id = n.id AND f.parent_id IS NULL AND f.detached_at IS NULL
WHERE n.workspace_type = ? AND n.workspace_id = ?`

// space is the namespace row of a workspace, ErrNotFound when there is none.
func (t *tx) space(ws lockns.Workspace) (*space, error) {
	if sp, ok := t.spaces[ws]; ok {
		return sp, nil
	}
	sp := &space{ws: ws}
	ok, err := t.row(selectSpace, []any{string(ws.Kind), ws.ID}, &sp.id, &sp.root)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("workspace %s: %w", ws, ErrNotFound)
	}
	t.spaces[ws] = sp
	return sp, nil
}

// advance moves the versions of the workspaces that changed: the generation if
// and only if lock rows did, tree_version if the tree did.
func (t *tx) advance() error {
	for _, sp := range t.spaces {
		if !sp.relocks && !sp.regrows {
			continue
		}
		_, err := t.exec(`UPDATE resource_lock_namespaces
SET generation = generation + ?, tree_version = tree_version + ?, updated_at = ? WHERE id = ?`,
			btoi(sp.relocks), btoi(sp.regrows), micros(t.now), sp.id)
		if err != nil {
			return err
		}
	}
	return nil
}

// exec runs a statement and returns the number of rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.c.exec(query, args...)
	if err != nil {
		t.err = fmt.Errorf("store: statement: %w", err)
	}
	return n, t.err
}

// insert runs an INSERT and returns the new row's id.
func (t *tx) insert(query string, args ...any) (id int64, err error) {
	_, err = t.row(query+" RETURNING id", args, &id)
	return id, err
}

// row reads one row into dest and reports whether there was one.
func (t *tx) row(query string, args []any, dest ...any) (bool, error) {
	found := false
	err := t.rows(query, args, func(scan func(...any) error) error {
		found = true
		return scan(dest...)
	})
	return found && err == nil, err
}

// rows calls fn for each row.
func (t *tx) rows(query string, args []any, fn func(scan func(...any) error) error) error {
	if t.err != nil {
		return t.err
	}
	if err := t.each(query, args, fn); err != nil {
		t.err = fmt.Errorf("store: query: %w", err)
	}
	return t.err
}

func (t *tx) each(query string, args []any, fn func(scan func(...any) error) error) error {
	rows, err := t.c.query(query, args...)
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

// micros is how a time is stored: UTC microseconds.
func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// orNow is the time of the transaction unless there is another.
func (t *tx) orNow(other time.Time) time.Time {
	if other.IsZero() {
		return t.now
	}
	return other.UTC()
}

// nullMicros and fromNull do the same for a time that may be missing, the zero
// time and NULL.
func nullMicros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return micros(t)
}

func fromNull(us sql.NullInt64) time.Time {
	if !us.Valid {
		return time.Time{}
	}
	return fromMicros(us.Int64)
}

func btoi(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func itoa(id int64) string { return strconv.FormatInt(id, 10) }

// null is NULL for the zero value.
func null[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// readers is the pool of connections that only read.
type readers struct {
	db   *sql.DB
	idle chan *conn
	quit chan struct{}
}

func newReaders(ctx context.Context, db *sql.DB, n int) (*readers, error) {
	r := &readers{db: db, idle: make(chan *conn, n), quit: make(chan struct{})}
	for range n {
		c, err := newConn(ctx, db)
		if err != nil {
			r.close()
			return nil, err
		}
		r.idle <- c
	}
	return r, nil
}

func (r *readers) take(ctx context.Context) (*conn, error) {
	// Of several ways that are open, the select below would take any.
	select {
	case <-r.quit:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	default:
	}
	select {
	case c := <-r.idle:
		if c != nil {
			return c, nil
		}
		c, err := newConn(ctx, r.db)
		if err != nil {
			r.idle <- nil // the place stays in the pool
		}
		return c, err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.quit:
		return nil, ErrClosed
	}
}

func (r *readers) put(c *conn) { r.idle <- c }

// replace throws a connection away; its place in the pool is filled when it is
// next needed.
func (r *readers) replace(c *conn) {
	c.discard()
	r.idle <- nil
}

// close waits for the readers at work.
func (r *readers) close() {
	close(r.quit)
	for range cap(r.idle) {
		select {
		case c := <-r.idle:
			if c != nil {
				c.close()
			}
		case <-time.After(5 * time.Second):
			return
		}
	}
}
