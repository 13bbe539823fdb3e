package store

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/lockns"
)

// Bounds of the named locks of a workspace: how many there may be at a time, how
// long they last without a renewal, and how long names and owners are, in bytes.
const (
	MaxNamedLocks     = 256
	MaxNamedTTL       = 24 * time.Hour
	maxNamedName      = 96
	maxNamedOwner     = 200
	namedEnd          = ";" // follows the ":" that ends a workspace's part of a name
	selectNamedHolder = `SELECT coalesce(nullif(display_name, ''), name) FROM users WHERE id = ?`
)

// NamedAt is the lock on a name of a workspace, for one of those who may write
// there. It never meets a lock of TryLock, nor one of another workspace.
type NamedAt struct {
	Workspace lockns.Workspace
	Name      string
	// Owner tells the programs of one user apart: of two owners one is granted the
	// lock. Another user's owner of the same name is another.
	Owner string
	By    lockns.Credentials
}

// NamedGrant is a grant of a named lock.
type NamedGrant struct {
	Name    string
	Holder  string // the user's display name, or else their name; "" when they are gone
	Owner   string
	Fence   int64 // as NamedLock.Fence
	Expires time.Time
}

// namedSpace is what the stored names of a workspace begin with: no name leaves it.
func namedSpace(ws lockns.Workspace) string { return string(ws.Kind) + "-" + itoa(ws.ID) + ":" }

func (at NamedAt) name() string  { return namedSpace(at.Workspace) + at.Name }
func (at NamedAt) owner() string { return itoa(at.By.User) + ":" + at.Owner }

func (at NamedAt) check(ttl time.Duration) error {
	if err := checkLockName(at.Name); err != nil {
		return err
	}
	switch {
	case len(at.Name) > maxNamedName:
		return fmt.Errorf("%w: a named lock's name has up to %d characters", ErrBadName, maxNamedName)
	case len(at.Owner) > maxNamedOwner || !utf8.ValidString(at.Owner):
		return fmt.Errorf("%w: a named lock's owner has up to %d bytes of UTF-8", ErrBadName, maxNamedOwner)
	case ttl <= 0 || ttl > MaxNamedTTL:
		return fmt.Errorf("%w: it lasts up to %v, got %v", ErrBadLock, MaxNamedTTL, ttl)
	}
	return nil
}

// named runs a step for who may write in the workspace.
func (s *Store) named(ctx context.Context, at NamedAt, step func(*tx) error) error {
	return s.update(ctx, []lockns.Workspace{at.Workspace}, func(t *tx) error {
		sp, err := t.space(at.Workspace)
		if err == nil {
			err = t.mayWrite(sp, at.By)
		}
		if err != nil {
			return err
		}
		return step(t)
	})
}

// TryNamed grants a lock as TryLock does: granted is false when another holds it, and
// who holds it already gets the same grant, with its time as it was.
//
// Errors: ErrBadName, ErrBadLock (ttl), ErrNotFound (the workspace), ErrForbidden,
// ErrTooManyNamedLocks.
func (s *Store) TryNamed(ctx context.Context, at NamedAt, ttl time.Duration) (g NamedGrant, granted bool, err error) {
	if err := at.check(ttl); err != nil {
		return g, false, err
	}
	err = s.named(ctx, at, func(t *tx) error {
		g, granted = NamedGrant{Name: at.Name, Owner: at.Owner}, false
		if err := t.roomForNamed(at); err != nil {
			return err
		}
		if g.Fence, err = t.grant(at.name(), at.owner(), ttl); err != nil || g.Fence == 0 {
			return err
		}
		var expires int64
		granted, err = t.row(`SELECT expires_at FROM named_locks WHERE id = ?`, []any{g.Fence}, &expires)
		g.Expires = fromMicros(expires)
		return err
	})
	return g, granted, err
}

// roomForNamed refuses one lock too many. What has lapsed takes no room.
func (t *tx) roomForNamed(at NamedAt) error {
	var there bool
	if _, err := t.row(`SELECT EXISTS (SELECT 1 FROM named_locks WHERE name = ?)`, []any{at.name()}, &there); err != nil || there {
		return err
	}
	from, to := namedRange(at.Workspace)
	if _, err := t.exec(`DELETE FROM named_locks WHERE name >= ? AND name < ? AND expires_at < ?`, from, to, micros(t.now)); err != nil {
		return err
	}
	var n int
	_, err := t.row(`SELECT count(*) FROM named_locks WHERE name >= ? AND name < ?`, []any{from, to}, &n)
	if err == nil && n >= MaxNamedLocks {
		err = ErrTooManyNamedLocks
	}
	return err
}

// namedRange is the range of the stored names of a workspace.
func namedRange(ws lockns.Workspace) (from, to string) {
	from = namedSpace(ws)
	return from, strings.TrimSuffix(from, ":") + namedEnd
}

// RenewNamed makes a grant last ttl from now. held is false when it has ended, or is
// not the caller's. Errors as for TryNamed.
func (s *Store) RenewNamed(ctx context.Context, at NamedAt, fence int64, ttl time.Duration) (expires time.Time, held bool, err error) {
	if err := at.check(ttl); err != nil {
		return expires, false, err
	}
	err = s.named(ctx, at, func(t *tx) error {
		expires = t.now.Add(ttl)
		n, err := t.exec(`UPDATE named_locks SET expires_at = ? WHERE id = ? AND name = ? AND owner = ? AND expires_at >= ?`,
			micros(expires), fence, at.name(), at.owner(), micros(t.now))
		held = n > 0
		return err
	})
	return expires, held, err
}

// ReleaseNamed gives a grant back. held is false when it had ended, or is not the
// caller's. Errors as for TryNamed.
func (s *Store) ReleaseNamed(ctx context.Context, at NamedAt, fence int64) (held bool, err error) {
	if err := at.check(MaxNamedTTL); err != nil {
		return false, err
	}
	err = s.named(ctx, at, func(t *tx) error {
		var expires int64
		held, err = t.row(`DELETE FROM named_locks WHERE id = ? AND name = ? AND owner = ? RETURNING expires_at`,
			[]any{fence, at.name(), at.owner()}, &expires)
		held = held && expires >= micros(t.now)
		return err
	})
	return held, err
}

// dropNamed ends all named locks of a workspace.
func (t *tx) dropNamed(ws lockns.Workspace) error {
	from, to := namedRange(ws)
	_, err := t.exec(`DELETE FROM named_locks WHERE name >= ? AND name < ?`, from, to)
	return err
}

// NamedLocks lists up to limit named locks of a workspace that are held, by name.
// only is the one name wanted, "" for all; after is the last name of the page before.
func (s *Store) NamedLocks(ctx context.Context, ws lockns.Workspace, only, after string, limit int) (all []NamedGrant, err error) {
	from, to := namedRange(ws)
	query, args := `SELECT id, name, owner, expires_at FROM named_locks WHERE name > ? AND name < ? AND expires_at >= ? ORDER BY name LIMIT ?`, []any{from + after, to}
	if only != "" {
		query, args = `SELECT id, name, owner, expires_at FROM named_locks WHERE name = ? AND expires_at >= ? LIMIT ?`, []any{from + only}
	}
	err = s.snapshot(ctx, func(t *tx) error {
		all = nil
		err := t.rows(query, append(args, micros(t.now), limit), func(scan func(...any) error) error {
			var g NamedGrant
			var expires int64
			err := scan(&g.Fence, &g.Name, &g.Owner, &expires)
			g.Name, g.Expires = strings.TrimPrefix(g.Name, from), fromMicros(expires)
			all = append(all, g)
			return err
		})
		for i := range all {
			if err == nil {
				err = t.nameHolder(&all[i])
			}
		}
		return err
	})
	return all, err
}

// nameHolder splits a stored owner into the user and what they call it.
func (t *tx) nameHolder(g *NamedGrant) error {
	user, owner, _ := strings.Cut(g.Owner, ":")
	g.Owner = owner
	_, err := t.row(selectNamedHolder, []any{user}, &g.Holder)
	return err
}
