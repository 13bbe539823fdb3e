package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrDatabase: a named lock could not be asked for, kept or given back. What
// happened is in the chain only, ErrClosed for one.
var ErrDatabase = errors.New("store: database error")

// databaseError is an ErrDatabase that does not tell its cause by itself.
type databaseError struct{ cause error }

func (e *databaseError) Error() string        { return ErrDatabase.Error() }
func (e *databaseError) Is(target error) bool { return target == ErrDatabase }
func (e *databaseError) Unwrap() error        { return e.cause }

// NamedLock is a grant of a lock on a name, for jobs and programs that must not
// work at the same time. It ends at its time without a word: who works longer
// renews it. A grant that another followed is no longer good for anything. All
// methods may be called concurrently.
type NamedLock struct {
	s     *Store
	fence int64
}

// Bounds of a named lock's name and owner, in bytes.
const (
	maxLockName  = 128
	maxLockOwner = 255
)

const lockNameRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-"

// TryLock grants the lock on a name to an owner for ttl from now, or returns nil
// without an error when another owner holds it. The owner who holds it already
// is granted it again: the same fencing number, its time as it was; only Renew
// moves that. Stores on one database, and their processes, see the same locks.
//
// Errors: ErrBadName for a name that is not 1 to 128 ASCII letters, digits and
// "._:/-", and for an owner that is not 1 to 255 bytes of UTF-8; else
// ErrDatabase, for a ttl that is not positive too.
func (s *Store) TryLock(ctx context.Context, name, owner string, ttl time.Duration) (*NamedLock, error) {
	if err := errors.Join(checkLockName(name), checkLockOwner(owner)); err != nil {
		return nil, err
	}
	if err := checkTTL(ttl); err != nil {
		return nil, err
	}
	var fence int64
	err := s.update(ctx, nil, func(t *tx) (err error) {
		fence, err = t.grant(name, owner, ttl)
		return err
	})
	if err != nil {
		return nil, &databaseError{fmt.Errorf("grant named lock: %w", err)}
	}
	if fence == 0 {
		return nil, nil
	}
	return &NamedLock{s, fence}, nil
}

// grant returns the fencing number of the owner's grant, 0 when another holds
// the lock.
func (t *tx) grant(name, owner string, ttl time.Duration) (fence int64, err error) {
	if _, err := t.exec(`DELETE FROM named_locks WHERE name = ? AND expires_at < ?`, name, micros(t.now)); err != nil {
		return 0, err
	}
	var holder string
	held, err := t.row(`SELECT id, owner FROM named_locks WHERE name = ?`, []any{name}, &fence, &holder)
	switch {
	case err != nil:
		return 0, err
	case held && holder != owner:
		return 0, nil
	case held:
		return fence, nil
	}
	return t.insert(`INSERT INTO named_locks (name, owner, expires_at, created_at) VALUES (?, ?, ?, ?)`,
		name, owner, micros(t.now.Add(ttl)), micros(t.now))
}

// Fence is the grant's number. Each new grant in the database has a higher one,
// whatever its name: who guards something by these locks refuses the lower.
func (l *NamedLock) Fence() int64 { return l.fence }

// Renew makes the lock last ttl from now, whatever was left of it. It returns
// false when the grant has ended: it lapsed, was given back, or another followed.
// Errors: ErrDatabase, for a ttl that is not positive too.
func (l *NamedLock) Renew(ctx context.Context, ttl time.Duration) (held bool, err error) {
	if err := checkTTL(ttl); err != nil {
		return false, err
	}
	return l.change(ctx, "renew named lock", func(t *tx) (int64, error) {
		return t.exec(`UPDATE named_locks SET expires_at = ? WHERE id = ? AND expires_at >= ?`,
			micros(t.now.Add(ttl)), l.fence, micros(t.now))
	})
}

// Release gives the lock back. It returns false, and does nothing, when the
// grant is gone; one that lapsed is there until another follows. Errors:
// ErrDatabase.
func (l *NamedLock) Release(ctx context.Context) (held bool, err error) {
	return l.change(ctx, "release named lock", func(t *tx) (int64, error) {
		return t.exec(`DELETE FROM named_locks WHERE id = ?`, l.fence)
	})
}

// change runs a statement on the grant's own row and says whether there was one.
func (l *NamedLock) change(ctx context.Context, step string, statement func(*tx) (int64, error)) (held bool, err error) {
	err = l.s.update(ctx, nil, func(t *tx) error {
		rows, err := statement(t)
		held = rows > 0
		return err
	})
	if err != nil {
		return false, &databaseError{fmt.Errorf("%s: %w", step, err)}
	}
	return held, nil
}

func checkTTL(ttl time.Duration) error {
	if ttl <= 0 {
		return &databaseError{fmt.Errorf("ttl must be a positive duration, got %v", ttl)}
	}
	return nil
}

func checkLockName(name string) error {
	if name == "" || len(name) > maxLockName {
		return fmt.Errorf("%w: a named lock's name has 1 to %d characters", ErrBadName, maxLockName)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(lockNameRunes, r) }) {
		return fmt.Errorf("%w: a named lock's name has ASCII letters, digits and ._:/-", ErrBadName)
	}
	return nil
}

func checkLockOwner(owner string) error {
	if owner == "" || len(owner) > maxLockOwner || !utf8.ValidString(owner) {
		return fmt.Errorf("%w: a named lock's owner is 1 to %d bytes of UTF-8", ErrBadName, maxLockOwner)
	}
	return nil
}
