package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/lockns"
)

// Which says which lock of a target an operation means. No value of it reaches
// a lock of another origin.
type Which struct {
	Token  string
	Origin lockns.Origin
}

// ByToken means the WebDAV lock with this token. It covers the target, and its
// holder brings the claim (RFC 4918 sections 6.4 and 9.11). Through a target
// with a base, only locks rooted at or below that folder are meant: a login for
// one folder must not end what protects more.
func ByToken(token string) Which { return Which{Token: token} }

// ByOrigin means the lock of this origin that is rooted on the target and that
// the claim's credentials open.
func ByOrigin(origin lockns.Origin) Which { return Which{Origin: origin} }

// RefreshLock gives a lock a new timeout from now (0: no end). An expired lock
// is never revived.
//
// Errors: ErrBadLock (timeout), ErrNotFound (target), ErrForbidden,
// ErrNoSuchLock, ErrNotHolder, and the claim's.
func (s *Store) RefreshLock(ctx context.Context, target Target, which Which, timeout time.Duration, c Claim) (out Locked, err error) {
	if timeout < 0 {
		return out, fmt.Errorf("%w: it would end in the past", ErrBadLock)
	}
	err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, l, _, err := t.ownLock(target, which, c)
		if err != nil {
			return err
		}
		l.ExpiresAt = after(t.now, timeout)
		out = Locked{Lock: l, Node: *sp.node}
		if err := t.extendLock(sp.space, l); err != nil {
			return err
		}
		return t.at(Written)
	})
	return out, err
}

// Unlock ends one lock and no other.
//
// Errors: ErrNotFound (target), ErrForbidden, ErrNoSuchLock, ErrNotHolder, and
// the claim's.
func (s *Store) Unlock(ctx context.Context, target Target, which Which, c Claim) error {
	return s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, l, _, err := t.ownLock(target, which, c)
		if err != nil {
			return err
		}
		if _, err := t.dropLocks(sp.space, endReleased, `id = ?`, l.ID); err != nil {
			return err
		}
		return t.at(Written)
	})
}

// Relock ends one lock and grants another of the same origin on the target, in
// one transaction: of two that mean the same lock, one finds it.
//
// Errors: those of Unlock and, but for the creation of a file, those of Lock.
func (s *Store) Relock(ctx context.Context, target Target, which Which, spec LockSpec, c Claim) (out Locked, err error) {
	if err := spec.check(); err != nil {
		return out, err
	}
	err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, l, cred, err := t.ownLock(target, which, c)
		if err != nil {
			return err
		}
		if l.Origin != spec.Origin {
			return fmt.Errorf("%w: a %s lock cannot become a %s lock", ErrBadLock, l.Origin, spec.Origin)
		}
		if _, err := t.dropLocks(sp.space, endReplaced, `id = ?`, l.ID); err != nil {
			return err
		}
		out = Locked{Node: *sp.node}
		out.Lock, err = t.acquire(sp, spec, cred)
		return err
	})
	return out, err
}

// ownLock finds the active lock that a caller means and may change or end.
func (t *tx) ownLock(target Target, which Which, c Claim) (sp *spot, l lockns.Lock, cred lockns.Credentials, err error) {
	if sp, err = t.mapped(target); err != nil {
		return nil, l, cred, err
	}
	if cred, err = t.admitLock(sp, c); err != nil {
		return nil, l, cred, err
	}
	choose := t.lockOfOrigin
	if which.Token != "" {
		choose = t.lockOfToken
	}
	if l, err = choose(sp, which, cred); err != nil {
		return nil, l, cred, err
	}
	if err := t.precondition(c); err != nil {
		return nil, l, cred, err
	}
	return sp, l, cred, t.at(Authorized)
}

// lockOfToken is ByToken. The token proves nothing more than which lock is
// meant, so that the claim need not submit it too.
func (t *tx) lockOfToken(sp *spot, which Which, cred lockns.Credentials) (lockns.Lock, error) {
	l, namespace, ok, err := t.lockByToken(which.Token)
	switch {
	case err != nil:
		return l, err
	case !ok || namespace != sp.id || l.Origin != lockns.WebDAV || !l.Covers(sp.node.Place) || !sp.base.Holds(l.Place):
		return l, ErrNoSuchLock
	case cred.User == 0 || l.Holder != cred.User:
		return l, ErrNotHolder
	}
	return l, nil
}

// lockOfOrigin is ByOrigin.
func (t *tx) lockOfOrigin(sp *spot, which Which, cred lockns.Credentials) (lockns.Lock, error) {
	locks, err := t.rooted(sp.space, sp.node.Place.Root)
	if err != nil {
		return lockns.Lock{}, err
	}
	err = ErrNoSuchLock
	for _, l := range locks {
		if l.Origin != which.Origin {
			continue
		}
		if cred.Opens(l) {
			return l, nil
		}
		err = ErrNotHolder
	}
	return lockns.Lock{}, err
}

// errElsewhere restarts a change whose workspace was found on a snapshot when
// its transaction finds something else there.
var errElsewhere = errors.New("store: not where the snapshot saw it")

// inItsWorkspace makes a change whose workspace must be found first. find does
// so on a snapshot. change verifies in the transaction what find saw, and
// returns errElsewhere or ErrNotFound when it is no longer so: then all starts
// again from a fresh snapshot, as it does when the workspace is gone. Going
// after the lock while the old workspace's row is held would break the order in
// which rows are locked. Only find says for good that there is nothing.
func (s *Store) inItsWorkspace(ctx context.Context, find func(*tx) (lockns.Workspace, error), change func(*tx, *space) error) error {
	for range lockAttempts {
		var ws lockns.Workspace
		err := s.snapshot(ctx, func(t *tx) (err error) {
			ws, err = find(t)
			return err
		})
		if err != nil {
			return err
		}
		if err := s.at(ctx, Located); err != nil {
			return err
		}
		err = s.update(ctx, []lockns.Workspace{ws}, func(t *tx) error { return change(t, t.spaces[ws]) })
		if !errors.Is(err, errElsewhere) && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrBusy, errElsewhere)
}

// withLock makes a change to the active lock with this id. may is asked on the
// snapshot that finds it; ErrNotFound of it is for good. The transaction compares
// what identifies the lock with what the snapshot saw.
func (s *Store) withLock(ctx context.Context, id int64, may func(*tx, lockns.Lock) error, change func(*tx, *space, lockns.Lock) error) error {
	var seen lockns.Lock
	find := func(t *tx) (ws lockns.Workspace, err error) {
		var namespace int64
		if seen, namespace, err = t.lockByID(id); err != nil {
			return ws, err
		}
		if err := may(t, seen); err != nil {
			return ws, err
		}
		return t.workspaceOf(namespace)
	}
	return s.inItsWorkspace(ctx, find, func(t *tx, sp *space) error {
		found, namespace, err := t.lockByID(id)
		if err != nil {
			return err
		}
		if namespace != sp.id || found.Token != seen.Token || found.Place.Root != seen.Place.Root {
			return errElsewhere
		}
		return change(t, sp, found)
	})
}

// anyLock is for who may do as they like with locks.
func anyLock(*tx, lockns.Lock) error { return nil }

// ForceUnlock ends the active lock with this id, whatever its origin and
// holder, and returns it. Who may do that is decided by the caller.
//
// Errors: ErrNotFound, and ErrBusy when the lock moves between workspaces
// faster than it can be followed.
func (s *Store) ForceUnlock(ctx context.Context, id int64, by Actor) (l lockns.Lock, err error) {
	err = s.withLock(ctx, id, anyLock, func(t *tx, sp *space, found lockns.Lock) error {
		t.by = by
		if _, err := t.dropLocks(sp, endForced, `id = ?`, id); err != nil {
			return err
		}
		l = found
		return t.at(Written)
	})
	if err != nil {
		return lockns.Lock{}, err
	}
	return l, nil
}

// ExpireLocks deletes up to 500 expired locks of one workspace that has some and
// says how many rows went; 0 means there are none anywhere. Expired locks do not
// count from the moment they expire; this only gives their rows back.
func (s *Store) ExpireLocks(ctx context.Context) (locks int, err error) {
	return s.expireSome(ctx, Actor{}, func(*tx, *space, int) error { return nil })
}

// CleanExpired deletes the rows of all expired locks, one workspace after
// another in short transactions, and says how many went, also when it fails on
// the way. Each transaction leaves an audit entry with the rows it deleted.
func (s *Store) CleanExpired(ctx context.Context, by Actor) (removed int, err error) {
	for {
		n, err := s.expireSome(ctx, by, func(t *tx, sp *space, n int) error {
			return t.audit(by, "lock.expired_cleaned", sp.ws, "", fmt.Sprint(n))
		})
		removed += n
		if err != nil || n == 0 {
			return removed, err
		}
	}
}

// expireSome is one round of the cleanup. record is called with the rows that
// went, in their transaction.
func (s *Store) expireSome(ctx context.Context, by Actor, record func(t *tx, sp *space, n int) error) (locks int, err error) {
	err = s.inItsWorkspace(ctx, (*tx).someExpired, func(t *tx, sp *space) error {
		t.by = by
		n, err := t.sweepLocks(sp, chunkRows)
		if err != nil {
			return err
		}
		if n == 0 {
			return errElsewhere // refreshed or gone since
		}
		locks = int(n)
		if err := record(t, sp, locks); err != nil {
			return err
		}
		return t.at(Written)
	})
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return locks, nil
}

// someExpired is a workspace with expired locks, ErrNotFound when none has any.
func (t *tx) someExpired() (ws lockns.Workspace, err error) {
	found, err := t.row(`SELECT n.workspace_type, n.workspace_id FROM resource_lock_namespaces n
WHERE EXISTS (SELECT 1 FROM resource_locks l WHERE l.namespace_id = n.id AND l.timeout_at < ?) LIMIT 1`,
		[]any{micros(t.now)}, (*string)(&ws.Kind), &ws.ID)
	if err == nil && !found {
		err = ErrNotFound
	}
	return ws, err
}
