package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"holdfast/lockns"
)

// errVanished restarts a Lock whose target was there and is gone.
var errVanished = errors.New("store: target vanished")

// lockAttempts bounds how often a Lock starts over because its target came and
// went in between.
const lockAttempts = 8

// Lock acquires a lock. When the path maps to nothing an empty file is created
// for it: its object is staged outside the transaction, and file and lock are
// committed together or not at all (RFC 4918 section 9.10.4).
//
// Errors: ErrBadName, ErrTooDeep, ErrNoParent, ErrNotFound (nothing there and
// spec.Collection), ErrLockQuota, *lockns.ConflictError when another lock
// excludes this one, *lockns.LockedError when a lock forbids creating the file,
// and the claim's.
func (s *Store) Lock(ctx context.Context, target Target, spec LockSpec, c Claim) (out Locked, err error) {
	if err := target.Path.check(); err != nil {
		return out, err
	}
	var empty *body
	for range lockAttempts {
		if empty == nil {
			if empty, err = s.prepareLock(ctx, target, spec, c); err != nil {
				return out, err
			}
		}
		err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
			out, err = t.lock(target, spec, empty, c)
			return err
		})
		if !errors.Is(err, errVanished) {
			break
		}
	}
	s.settle(ctx, empty, out.Created, err)
	if errors.Is(err, errVanished) {
		err = fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return out, err
}

// prepareLock stages an empty object when the path maps to nothing. What can
// refuse the creation is asked first.
func (s *Store) prepareLock(ctx context.Context, target Target, spec LockSpec, c Claim) (*body, error) {
	exists := false
	err := s.snapshot(ctx, func(t *tx) error {
		sp, err := t.find(target)
		if err != nil {
			return err
		}
		if exists = sp.node != nil; exists {
			return nil
		}
		return t.admitLockNull(sp, spec, c)
	})
	if err != nil || exists {
		return nil, err
	}
	if err := s.at(ctx, Admitted); err != nil {
		return nil, err
	}
	b, err := s.takeEmpty(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.at(ctx, Staged); err != nil {
		s.settle(ctx, b, false, err)
		return nil, err
	}
	return b, nil
}

// admitLockNull decides whether a file may be created for a lock.
func (t *tx) admitLockNull(sp *spot, spec LockSpec, c Claim) error {
	switch {
	case sp.parentID == 0:
		return ErrNoParent
	case spec.Collection:
		return ErrNotFound
	}
	_, err := t.permit(c, sp.membership())
	return err
}

// admitLock decides whether the caller may lock what is there. Locks do not
// stand in the way here: acquire asks which of them conflict.
func (t *tx) admitLock(sp *spot, c Claim) error {
	cred, err := c.Prove(t)
	if err != nil {
		return err
	}
	if t.err != nil {
		return t.err
	}
	return t.mayWrite(sp.space, cred.User)
}

// lock is the transaction of Lock.
func (t *tx) lock(target Target, spec LockSpec, empty *body, c Claim) (out Locked, err error) {
	sp, err := t.find(target)
	if err != nil {
		return out, err
	}
	switch {
	case sp.node != nil:
		err = t.admitLock(sp, c)
	case empty == nil:
		return out, errVanished
	default:
		err = t.admitLockNull(sp, spec, c)
	}
	if err != nil {
		return out, err
	}
	if out.Created = sp.node == nil; out.Created {
		n, err := t.putFile(sp, empty, "")
		if err != nil {
			return out, err
		}
		sp.node = &n
	}
	out.Node = *sp.node
	out.Lock, err = t.acquire(sp, spec)
	if err != nil || out.Created {
		return out, err
	}
	// After the rules, as everywhere (RFC 9110 section 13.2.1).
	return out, t.precondition(c)
}

// acquire grants the lock on an existing resource: expired rows in the way go,
// the rules are asked, the quota is counted, the row is written.
func (t *tx) acquire(sp *spot, spec LockSpec) (lockns.Lock, error) {
	l := lockns.Lock{
		Token: "urn:uuid:" + uuid.NewString(), Place: sp.node.Place,
		Depth: spec.Depth, Mode: spec.Mode, Origin: spec.Origin,
		Holder: spec.Holder, Owner: spec.Owner, Path: sp.path().String(),
		CreatedAt: t.now,
	}
	if spec.Timeout > 0 {
		l.ExpiresAt = t.now.Add(spec.Timeout)
	}
	deep := spec.Depth == lockns.Infinity
	bearing, err := t.bearing(sp.space, []lockns.Touch{{Place: l.Place, Deep: deep}})
	if err != nil {
		return l, err
	}
	if err := lockns.Admit(l, bearing); err != nil {
		return l, err
	}
	if err := t.countLocks(spec.Holder); err != nil {
		return l, err
	}
	if err := t.dropExpired(sp); err != nil {
		return l, err
	}
	l, err = t.addLock(sp.space, l)
	if err != nil {
		return l, err
	}
	return l, t.at(Written)
}

// dropExpired deletes the expired rows rooted where a new lock goes.
func (t *tx) dropExpired(sp *spot) error {
	root := sp.node.Place.Root
	var err error
	switch root.Kind {
	case lockns.FileRoot:
		_, err = t.dropLocks(sp.space, `root_kind = 'file' AND root_file_id = ? AND timeout_at < ?`, root.ID, micros(t.now))
	case lockns.FolderRoot:
		_, err = t.dropLocks(sp.space, `root_kind = 'folder' AND root_folder_id = ? AND timeout_at < ?`, root.ID, micros(t.now))
	case lockns.WorkspaceRoot:
		_, err = t.dropLocks(sp.space, `root_kind = 'workspace_root' AND timeout_at < ?`, micros(t.now))
	}
	return err
}

// countLocks refuses one more lock to a user who holds as many as allowed. The
// count stops at the limit.
func (t *tx) countLocks(user int64) error {
	limit := int64(t.s.o.LocksPerUser)
	if limit == 0 || user == 0 {
		return nil
	}
	var n int64
	_, err := t.row(`SELECT count(*) FROM (
SELECT 1 FROM resource_locks WHERE holder_user_id = ? AND timeout_at >= ?
UNION ALL SELECT 1 FROM resource_locks WHERE holder_user_id = ? AND timeout_at IS NULL
LIMIT ?)`, []any{user, micros(t.now), user, limit}, &n)
	if err == nil && n >= limit {
		return ErrLockQuota
	}
	return err
}

// RefreshLock gives a lock a new timeout from now (0: no end). The target is
// the lock's root or covered by the lock. An expired lock is never revived.
//
// Errors: ErrNotFound (target), ErrNoSuchLock, ErrNotHolder, and the claim's.
func (s *Store) RefreshLock(ctx context.Context, target Target, token string, timeout time.Duration, c Claim) (out Locked, err error) {
	err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, l, err := t.ownLock(target, token, c)
		if err != nil {
			return err
		}
		l.ExpiresAt = time.Time{}
		if timeout > 0 {
			l.ExpiresAt = t.now.Add(timeout)
		}
		out = Locked{Lock: l, Node: *sp.node}
		return t.extendLock(sp.space, l)
	})
	return out, err
}

// Unlock ends the lock with this token and no other. The target is the lock's
// root or covered by the lock.
//
// Errors: ErrNotFound (target), ErrNoSuchLock, ErrNotHolder, and the claim's.
func (s *Store) Unlock(ctx context.Context, target Target, token string, c Claim) error {
	return s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, l, err := t.ownLock(target, token, c)
		if err != nil {
			return err
		}
		_, err = t.dropLocks(sp.space, `id = ?`, l.ID)
		return err
	})
}

// ownLock finds the caller's own active WebDAV lock by token, covering the
// target.
func (t *tx) ownLock(target Target, token string, c Claim) (*spot, lockns.Lock, error) {
	var none lockns.Lock
	sp, err := t.mapped(target)
	if err != nil {
		return nil, none, err
	}
	cred, err := c.Prove(t)
	if err != nil {
		return nil, none, err
	}
	l, namespace, ok, err := t.lockByToken(token)
	switch {
	case err != nil:
		return nil, none, err
	case !ok || namespace != sp.id || l.Origin != lockns.WebDAV || !l.Covers(sp.node.Place):
		return nil, none, ErrNoSuchLock
	case l.Holder != cred.User:
		return nil, none, ErrNotHolder
	}
	return sp, l, t.precondition(c)
}

// ExpireLocks deletes up to 500 expired locks of one workspace that has some and
// says how many rows went; 0 means there are none anywhere. Expired locks do not
// count from the moment they expire; this only gives their rows back.
func (s *Store) ExpireLocks(ctx context.Context) (locks int, err error) {
	var ws lockns.Workspace
	found := false
	err = s.snapshot(ctx, func(t *tx) error {
		found, err = t.row(`SELECT n.workspace_type, n.workspace_id FROM resource_lock_namespaces n
WHERE EXISTS (SELECT 1 FROM resource_locks l WHERE l.namespace_id = n.id AND l.timeout_at < ?) LIMIT 1`,
			[]any{micros(t.now)}, (*string)(&ws.Kind), &ws.ID)
		return err
	})
	if err != nil || !found {
		return 0, err
	}
	err = s.update(ctx, []lockns.Workspace{ws}, func(t *tx) error {
		sp, err := t.space(ws)
		if err != nil {
			return err
		}
		n, err := t.sweepLocks(sp, chunkRows)
		locks = int(n)
		return err
	})
	return locks, err
}
