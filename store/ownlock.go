package store

import (
	"context"
	"errors"
	"fmt"

	"holdfast/lockns"
)

// SetLock gives a resource the caller's product lock, as spec describes it: it is
// granted, or the one that the caller has there gets another depth, note and end
// and stays the same lock. granted tells which. Nothing is created for it.
//
// Errors: those of Lock, and ErrBadLock for another origin.
func (s *Store) SetLock(ctx context.Context, target Target, spec LockSpec, c Claim) (l lockns.Lock, granted bool, err error) {
	if err := firstError(target.Path.check(), spec.check()); err != nil {
		return l, false, err
	}
	if spec.Origin != lockns.Product {
		return l, false, fmt.Errorf("%w: a %s lock is not set", ErrBadLock, spec.Origin)
	}
	err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, err := t.mapped(target)
		if err != nil {
			return err
		}
		cred, err := t.admitLock(sp, c)
		if err != nil {
			return err
		}
		l, err = t.lockOfOrigin(sp, ByOrigin(lockns.Product), cred)
		switch granted = errors.Is(err, ErrNoSuchLock) || errors.Is(err, ErrNotHolder); {
		case granted:
			l, err = t.acquire(sp, spec, cred)
		case err == nil:
			l, err = t.reset(sp, l, spec, cred)
		}
		if err != nil {
			return err
		}
		return t.precondition(c)
	})
	return l, granted, err
}

// reset changes a lock that the caller opens. Reaching further down it is asked
// for like a new one, beside all others.
func (t *tx) reset(sp *spot, old lockns.Lock, spec LockSpec, cred lockns.Credentials) (l lockns.Lock, err error) {
	if spec.Holder != cred.User {
		return l, fmt.Errorf("%w: it would be held by somebody who does not ask for it", ErrBadLock)
	}
	l = old
	l.Depth, l.Owner = spec.Depth, spec.Owner
	if l.ExpiresAt, err = spec.end(t.now); err != nil {
		return l, err
	}
	if l.Depth != old.Depth {
		if err := t.admitBeside(sp.space, l); err != nil {
			return l, err
		}
	}
	if err := t.changeLock(sp.space, old, l); err != nil {
		return l, err
	}
	return l, t.at(Written)
}

// EndLock ends the active lock with this id, of any origin, for its holder, whom
// the claim names, and returns it. No token is asked for: the holder may have lost
// it with the program that held it. With within, only locks rooted at or below
// what that maps to are meant.
//
// Errors: ErrNoSuchLock, for another's lock too, ErrForbidden, the claim's, and
// ErrBusy when the lock changes faster than it can be followed.
func (s *Store) EndLock(ctx context.Context, id int64, within *Target, c Claim) (l lockns.Lock, err error) {
	mine := func(t *tx, l lockns.Lock) (lockns.Credentials, error) {
		cred, err := c.Prove(t)
		if err == nil && (cred.User == 0 || l.Holder != cred.User) {
			err = ErrNotFound
		}
		return cred, firstError(t.err, err)
	}
	may := func(t *tx, seen lockns.Lock) error {
		_, err := mine(t, seen)
		return err
	}
	err = s.withLock(ctx, id, may, func(t *tx, sp *space, found lockns.Lock) error {
		cred, err := mine(t, found)
		if err != nil {
			return err
		}
		if err := t.isWithin(sp, found, within); err != nil {
			return err
		}
		if err := t.mayWrite(sp, cred); err != nil {
			return err
		}
		if err := t.precondition(c); err != nil {
			return err
		}
		if err := t.at(Authorized); err != nil {
			return err
		}
		if _, err := t.dropLocks(sp, endReleased, `id = ?`, id); err != nil {
			return err
		}
		l = found
		return t.at(Written)
	})
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("lock %d: %w", id, ErrNoSuchLock)
	}
	if err != nil {
		return lockns.Lock{}, err
	}
	return l, nil
}

// isWithin refuses a lock that is rooted neither at what a target maps to nor
// below: ErrNoSuchLock.
func (t *tx) isWithin(sp *space, l lockns.Lock, within *Target) error {
	switch {
	case within == nil:
		return nil
	case within.Workspace != sp.ws:
		return ErrNoSuchLock
	}
	at, err := t.mapped(*within)
	if errors.Is(err, ErrNotFound) || err == nil && !at.node.Place.Holds(l.Place) {
		err = ErrNoSuchLock
	}
	return err
}

// ShowToken tells the token of the active lock with this id, and notes in the
// audit log that it did. Who may ask is decided by the caller.
//
// Errors: ErrNotFound, and ErrBusy as for ForceUnlock.
func (s *Store) ShowToken(ctx context.Context, id int64, by Actor) (token string, err error) {
	err = s.withLock(ctx, id, anyLock, func(t *tx, sp *space, l lockns.Lock) error {
		token = l.Token
		return t.audit(by, "lock.token_shown", sp.ws, l.Path, describe(l))
	})
	if err != nil {
		return "", err
	}
	return token, nil
}
