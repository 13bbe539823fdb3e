package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"holdfast/lockns"
)

// Actor is who caused a change that is audited. The zero Actor is the server
// itself, or a command of its operator.
type Actor struct {
	ID   int64
	Name string
}

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	ID      int64
	At      time.Time
	ActorID int64  // 0 for the zero Actor
	Actor   string // their name at that time
	Event   string // "team.added"
	// Workspace is where it happened; zero when it concerns none.
	Workspace lockns.Workspace
	// Subject is whom or what it was done to, by name.
	Subject string
	// Resource is the file or folder that it was done to; zero when it was none.
	Resource lockns.Root
	Detail   string
}

// AuditFilter says which entries of the audit log are wanted; zero fields
// exclude none.
type AuditFilter struct {
	Event         string
	Actor         string // by name, as it was at that time
	Workspace     lockns.Workspace
	Since, Before time.Time // the first moment wanted, and the first no longer
	// After is the id of the last entry already seen: the page after it is
	// wanted.
	After int64
	// Limit is how many entries at most; 0 and more than 1,001 are 1,001: a page,
	// and whether there is another.
	Limit int
}

// audit notes a change in the transaction that makes it: neither is ever there
// without the other.
func (t *tx) audit(actor Actor, event string, ws lockns.Workspace, subject, detail string) error {
	_, err := t.exec(`INSERT INTO audit_log (at, actor_id, actor, event, workspace_type, workspace_id, subject, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		micros(t.now), null(actor.ID), actor.Name, event, null(string(ws.Kind)), null(ws.ID), subject, detail)
	return err
}

// auditResource notes a change of a file or folder. The actor is who causes it,
// the subject the path below the workspace root.
func (t *tx) auditResource(event string, ws lockns.Workspace, id lockns.Root, path, detail string) error {
	_, err := t.exec(`INSERT INTO audit_log (at, actor_id, actor, event, workspace_type, workspace_id, subject, detail, resource_kind, resource_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		micros(t.now), null(t.by.ID), t.by.Name, event, null(string(ws.Kind)), null(ws.ID), path, detail, string(id.Kind), id.ID)
	return err
}

// auditEnded notes how many locks ended without their holder's doing, and why.
// No lock is no event.
func (t *tx) auditEnded(actor Actor, ws lockns.Workspace, subject string, locks int64, why string) error {
	if locks == 0 {
		return nil
	}
	return t.audit(actor, "locks.ended", ws, subject, fmt.Sprintf("%d: %s", locks, why))
}

// LoginNote is a login for the audit log.
type LoginNote struct {
	// Event is "login", or "login.refused" and "session.refused".
	Event string
	// User is whose name was named; the zero User when nobody has it. The name that
	// was sent is not kept: it may be a password in the wrong field.
	User    User
	Account string // the label of the app password; "" for the user's own password
	Door    string // where
	Address string // the client's
	// Missed is how many refusals since the last one are not in the log.
	Missed int
}

// NoteLogin writes a login into the audit log. A refused one has no actor: nobody
// knows who it was.
func (s *Store) NoteLogin(ctx context.Context, n LoginNote) error {
	detail := n.Door + " from " + n.Address
	if n.Account != "" {
		detail += ", app password " + n.Account
	}
	if n.Missed > 0 {
		detail += fmt.Sprintf("; %d more before it", n.Missed)
	}
	var by Actor
	if n.Event == "login" {
		by = n.User.Actor()
	}
	return s.update(ctx, nil, func(t *tx) error { return t.audit(by, n.Event, lockns.Workspace{}, n.User.Name, detail) })
}

// PruneAudit removes up to 500 entries of the audit log that are older than
// Options.AuditAge and says how many; 0 means there are none, or that entries have
// no age.
func (s *Store) PruneAudit(ctx context.Context) (rows int, err error) {
	if s.o.AuditAge <= 0 {
		return 0, nil
	}
	err = s.update(ctx, nil, func(t *tx) error {
		n, err := t.exec(`DELETE FROM audit_log WHERE id IN (SELECT id FROM audit_log WHERE at < ? ORDER BY at LIMIT ?)`, micros(t.now.Add(-s.o.AuditAge)), chunkRows)
		rows = int(n)
		return err
	})
	return rows, err
}

// Audit lists entries of the audit log, newest first.
func (s *Store) Audit(ctx context.Context, f AuditFilter) (all []AuditEntry, err error) {
	for more := 1; more > 0; {
		if more, err = s.AuditLocks(ctx); err != nil {
			return nil, err
		}
	}
	query, args := f.query()
	err = s.snapshot(ctx, func(t *tx) error {
		return t.rows(query, args, func(scan func(...any) error) error {
			e, err := scanAudit(scan)
			all = append(all, e)
			return err
		})
	})
	return all, err
}

// query selects the entries. Each index of the log ends with the time, so that
// a page costs what it returns.
func (f AuditFilter) query() (string, []any) {
	query := `SELECT id, at, actor_id, actor, event, workspace_type, workspace_id, subject, detail, resource_kind, resource_id FROM audit_log WHERE at >= ? AND at < ?`
	before := int64(math.MaxInt64)
	if !f.Before.IsZero() {
		before = micros(f.Before)
	}
	args := []any{micros(f.Since), before}
	where := func(condition string, values ...any) {
		query += ` AND ` + condition
		args = append(args, values...)
	}
	if f.Event != "" {
		where(`event = ?`, f.Event)
	}
	if f.Actor != "" {
		where(`actor = ?`, f.Actor)
	}
	if f.Workspace != (lockns.Workspace{}) {
		where(`workspace_type = ? AND workspace_id = ?`, string(f.Workspace.Kind), f.Workspace.ID)
	}
	if f.After != 0 {
		where(`(at, id) < ((SELECT at FROM audit_log WHERE id = ?), ?)`, f.After, f.After)
	}
	limit := f.Limit
	if limit <= 0 || limit > pageRows+1 {
		limit = pageRows + 1
	}
	return query + ` ORDER BY at DESC, id DESC LIMIT ?`, append(args, limit)
}

func scanAudit(scan func(...any) error) (e AuditEntry, err error) {
	var (
		at                  int64
		actor, ws, resource sql.NullInt64
		kind, resourceKind  sql.NullString
	)
	err = scan(&e.ID, &at, &actor, &e.Actor, &e.Event, &kind, &ws, &e.Subject, &e.Detail, &resourceKind, &resource)
	e.At, e.ActorID = fromMicros(at), actor.Int64
	e.Workspace = lockns.Workspace{Kind: lockns.WorkspaceKind(kind.String), ID: ws.Int64}
	e.Resource = lockns.Root{Kind: lockns.RootKind(resourceKind.String), ID: resource.Int64}
	return e, err
}
