package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"holdfast/lockns"
)

// MaxLockOwner is how many bytes LockSpec.Owner may have, unless it is WebDAV's.
const MaxLockOwner = 1024

// LockSpec describes a lock to be acquired.
type LockSpec struct {
	Depth  lockns.Depth
	Mode   lockns.Mode // a product lock is exclusive
	Origin lockns.Origin
	Holder int64 // user id: who asks, or 0 for nobody, which a product lock may not have
	// Owner as in lockns.Lock: inner XML, a note, or an opaque value.
	Owner string
	// Timeout from now; 0 means the lock has no end.
	Timeout time.Duration
	// Until is the end itself and wins over Timeout when it is set. The lock is
	// active up to it and at it.
	Until time.Time
	// Longest is how long from now a lock may last that has an end; 0 is for ever.
	Longest time.Duration
	// MustExist: nothing may be created for the lock (ErrNotFound instead), as
	// when the URL ends in a slash. Only WebDAV creates.
	MustExist bool
}

// check refuses what no lock can be, with an error that wraps ErrBadLock.
func (spec LockSpec) check() error {
	known := slices.Contains([]lockns.Depth{lockns.Resource, lockns.Infinity}, spec.Depth) &&
		slices.Contains([]lockns.Mode{lockns.Exclusive, lockns.Shared}, spec.Mode) &&
		slices.Contains([]lockns.Origin{lockns.Product, lockns.WebDAV, lockns.WOPI}, spec.Origin)
	switch {
	case !known:
		return fmt.Errorf("%w: depth %q, mode %q, origin %q", ErrBadLock, spec.Depth, spec.Mode, spec.Origin)
	case spec.Timeout < 0:
		return fmt.Errorf("%w: it would end before it begins", ErrBadLock)
	case spec.Origin == lockns.Product && spec.Mode != lockns.Exclusive:
		return fmt.Errorf("%w: a product lock is exclusive", ErrBadLock)
	case spec.Origin == lockns.Product && spec.Holder == 0:
		return fmt.Errorf("%w: a product lock needs a holder", ErrBadLock)
	case spec.Origin == lockns.WebDAV:
		return nil // its XML was limited and checked by the parser
	case len(spec.Owner) > MaxLockOwner:
		return fmt.Errorf("%w: more than %d bytes of text", ErrBadLock, MaxLockOwner)
	case !utf8.ValidString(spec.Owner) || strings.ContainsRune(spec.Owner, 0):
		return fmt.Errorf("%w: its text is not UTF-8", ErrBadLock)
	}
	return nil
}

// end is when a lock granted now ends, zero when it does not.
func (spec LockSpec) end(now time.Time) (until time.Time, err error) {
	if until = spec.Until.UTC().Truncate(time.Microsecond); spec.Until.IsZero() {
		until = after(now, spec.Timeout)
	}
	switch {
	case until.IsZero():
	case until.Before(now):
		err = fmt.Errorf("%w: it would end in the past", ErrBadLock)
	case spec.Longest != 0 && until.After(now.Add(spec.Longest)):
		err = ErrLockTooLong
	}
	return until, err
}

// after is the end of a lock that a timeout gives, zero for none.
func after(now time.Time, timeout time.Duration) time.Time {
	if timeout <= 0 {
		return time.Time{}
	}
	return now.Add(timeout).Truncate(time.Microsecond)
}

// Locked is the outcome of Lock, RefreshLock and Relock.
type Locked struct {
	Lock lockns.Lock
	// Created: the path mapped to nothing and an empty file was created.
	Created bool
	Node    Node
}

// errVanished restarts a Lock whose target was there and is gone.
var errVanished = errors.New("store: target vanished")

// lockAttempts bounds how often a Lock starts over because its target came and
// went in between.
const lockAttempts = 8

// Lock acquires a lock. When the path maps to nothing an empty file is created
// for a WebDAV lock: its object is staged outside the transaction, and file and
// lock are committed together or not at all (RFC 4918 section 9.10.4).
//
// Errors: ErrBadLock, ErrLockTooLong, ErrBadName, ErrTooDeep, ErrNoParent,
// ErrNotFound (nothing there, and nothing may be created), ErrForbidden, ErrLockQuota,
// *lockns.ConflictError when another lock excludes this one,
// *lockns.LockedError when a lock forbids creating the file, and the claim's.
func (s *Store) Lock(ctx context.Context, target Target, spec LockSpec, c Claim) (out Locked, err error) {
	if err := firstError(target.Path.check(), spec.check()); err != nil {
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
		_, err = t.admitLockNull(sp, spec, c)
		return err
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
func (t *tx) admitLockNull(sp *spot, spec LockSpec, c Claim) (cred lockns.Credentials, err error) {
	switch {
	case spec.Origin != lockns.WebDAV:
		return cred, ErrNotFound
	case sp.parentID == 0:
		return cred, ErrNoParent
	case spec.MustExist:
		return cred, ErrNotFound
	}
	return t.permit(c, sp.membership())
}

// admitLock decides whether the caller may change locks on what is there. Locks
// do not stand in the way here: acquire asks which of them conflict, ownLock
// which of them the caller opens.
func (t *tx) admitLock(sp *spot, c Claim) (lockns.Credentials, error) {
	cred, err := c.Prove(t)
	if err != nil {
		return cred, err
	}
	if t.err != nil {
		return cred, t.err
	}
	return cred, t.mayWrite(sp.space, cred)
}

// lock is the transaction of Lock.
func (t *tx) lock(target Target, spec LockSpec, empty *body, c Claim) (out Locked, err error) {
	sp, err := t.find(target)
	if err != nil {
		return out, err
	}
	var cred lockns.Credentials
	switch {
	case sp.node != nil:
		cred, err = t.admitLock(sp, c)
	case empty == nil:
		return out, errVanished
	default:
		cred, err = t.admitLockNull(sp, spec, c)
	}
	if err != nil {
		return out, err
	}
	if out.Created = sp.node == nil; out.Created {
		n, err := t.putFile(sp, empty, File{})
		if err != nil {
			return out, err
		}
		sp.node = &n
	}
	out.Node = *sp.node
	out.Lock, err = t.acquire(sp, spec, cred)
	if err != nil || out.Created {
		return out, err
	}
	// After the rules, as everywhere (RFC 9110 section 13.2.1).
	return out, t.precondition(c)
}

// acquire grants the lock on an existing resource: expired rows in the way go,
// the rules are asked, the quota is counted, the row is written.
func (t *tx) acquire(sp *spot, spec LockSpec, cred lockns.Credentials) (lockns.Lock, error) {
	if spec.Holder != 0 && spec.Holder != cred.User {
		return lockns.Lock{}, fmt.Errorf("%w: it would be held by somebody who does not ask for it", ErrBadLock)
	}
	l := lockns.Lock{
		Token: "urn:uuid:" + uuid.NewString(), Place: sp.node.Place,
		Depth: spec.Depth, Mode: spec.Mode, Origin: spec.Origin,
		Holder: spec.Holder, Owner: spec.Owner, Path: sp.path().String(),
		CreatedAt: t.now,
	}
	var err error
	if l.ExpiresAt, err = spec.end(t.now); err != nil {
		return l, err
	}
	if err := t.admitBeside(sp.space, l); err != nil {
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

// admitBeside asks whether a lock may stand beside all others.
func (t *tx) admitBeside(sp *space, l lockns.Lock) error {
	bearing, err := t.bearing(sp, []lockns.Touch{{Place: l.Place, Deep: l.Depth == lockns.Infinity}})
	if err != nil {
		return err
	}
	return lockns.Admit(l, slices.DeleteFunc(bearing, func(o lockns.Lock) bool { return o.ID == l.ID }))
}

// dropExpired deletes the expired rows rooted where a new lock goes.
func (t *tx) dropExpired(sp *spot) error {
	where, args := rootedOn(sp.node.Place.Root)
	_, err := t.dropLocks(sp.space, endExpired, where+` AND timeout_at < ?`, append(args, micros(t.now))...)
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
