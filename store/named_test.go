package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// try asks for a named lock; it is nil when another owner holds it.
func (f *fixture) try(name, owner string, ttl time.Duration) *store.NamedLock {
	f.t.Helper()
	l, err := f.TryLock(f.t.Context(), name, owner, ttl)
	must(f.t, err)
	return l
}

// granted is a named lock that the owner must get.
func (f *fixture) granted(name, owner string, ttl time.Duration) *store.NamedLock {
	f.t.Helper()
	l := f.try(name, owner, ttl)
	if l == nil {
		f.t.Fatalf("%s does not get the lock %s", owner, name)
	}
	return l
}

func (f *fixture) notGranted(name, owner string) {
	f.t.Helper()
	if l := f.try(name, owner, time.Minute); l != nil {
		f.t.Fatalf("%s gets the lock %s with the number %d", owner, name, l.Fence())
	}
}

// renewed and released say what became of a grant.
func renewed(t *testing.T, l *store.NamedLock, ttl time.Duration) bool {
	t.Helper()
	held, err := l.Renew(t.Context(), ttl)
	must(t, err)
	return held
}

func released(t *testing.T, l *store.NamedLock) bool {
	t.Helper()
	held, err := l.Release(t.Context())
	must(t, err)
	return held
}

func TestNamedLock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	t.Run("is granted to one owner until it is released", func(t *testing.T) {
		a := f.granted("one", "a", time.Minute)
		f.notGranted("one", "b")
		f.granted("another", "b", time.Minute)
		wantEqual(t, "released", released(t, a), true)
		f.granted("one", "b", time.Minute)
		f.notGranted("one", "a")
	})
	t.Run("is granted to its owner again, as it is", func(t *testing.T) {
		first := f.granted("again", "a", time.Minute)
		f.advance(40 * time.Second)
		second := f.granted("again", "a", time.Hour)
		wantEqual(t, "fence", second.Fence(), first.Fence())
		f.advance(20 * time.Second)
		f.notGranted("again", "b")
		f.advance(time.Microsecond)
		f.granted("again", "b", time.Minute)
	})
	t.Run("lasts to the end of its time, and no longer", func(t *testing.T) {
		l := f.granted("time", "a", time.Minute)
		f.advance(time.Minute)
		f.notGranted("time", "b")
		wantEqual(t, "renewed in time", renewed(t, l, time.Minute), true)
		f.advance(time.Minute + time.Microsecond)
		wantEqual(t, "renewed too late", renewed(t, l, time.Minute), false)
		b := f.granted("time", "b", time.Minute)
		wantEqual(t, "fence grows", b.Fence() > l.Fence(), true)
	})
	t.Run("is renewed for the whole time from now, not for more", func(t *testing.T) {
		l := f.granted("renew", "a", time.Hour)
		wantEqual(t, "renewed", renewed(t, l, time.Minute), true)
		f.advance(time.Minute)
		f.notGranted("renew", "b")
		f.advance(time.Microsecond)
		f.granted("renew", "b", time.Minute)
	})
	t.Run("is not renewed by who lost it", func(t *testing.T) {
		old := f.granted("lost", "a", time.Minute)
		f.advance(time.Hour)
		b := f.granted("lost", "b", time.Minute)
		wantEqual(t, "renewed beside another's", renewed(t, old, time.Hour), false)
		wantEqual(t, "released beside another's", released(t, old), false)
		f.notGranted("lost", "a")
		wantEqual(t, "released", released(t, b), true)
		again := f.granted("lost", "a", time.Minute)
		wantEqual(t, "renewed beside a later grant", renewed(t, old, time.Hour), false)
		wantEqual(t, "released beside a later grant", released(t, old), false)
		wantEqual(t, "the later grant", renewed(t, again, time.Minute), true)
	})
	t.Run("that lapsed is released while no other followed", func(t *testing.T) {
		l := f.granted("stale", "a", time.Minute)
		f.advance(time.Hour)
		wantEqual(t, "released", released(t, l), true)
		wantEqual(t, "released again", released(t, l), false)
		wantEqual(t, "renewed then", renewed(t, l, time.Minute), false)
	})
	t.Run("of an owner who lapsed is a new grant", func(t *testing.T) {
		old := f.granted("lapsed", "a", time.Minute)
		f.advance(time.Minute + time.Microsecond)
		l := f.granted("lapsed", "a", time.Minute)
		wantEqual(t, "fence grows", l.Fence() > old.Fence(), true)
		wantEqual(t, "the old grant", renewed(t, old, time.Hour), false)
	})
}

// TestNamedLockFence: no grant has a number that one before it had, or a higher.
func TestNamedLockFence(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	last := int64(0)
	grant := func(how, name, owner string) *store.NamedLock {
		l := f.granted(name, owner, time.Minute)
		if l.Fence() <= last {
			t.Errorf("after %s the number is %d, before it was %d", how, l.Fence(), last)
		}
		last = l.Fence()
		return l
	}
	first := grant("nothing", "n", "a")
	grant("another name", "m", "a")
	released(t, first)
	grant("a release", "n", "a")
	f.advance(time.Hour)
	grant("a lapse", "n", "b")
	f.sql(`DELETE FROM named_locks`)
	grant("all others were gone", "m", "a")
	f.sql(`DELETE FROM named_locks`)
	f.reopen()
	grant("a restart", "n", "a")
}

// TestNamedLockAcrossStores: two stores on one database are one keeper of locks.
func TestNamedLockAcrossStores(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other, err := store.Open(t.Context(), f.o)
	must(t, err)
	defer other.Close()
	a := f.granted("job", "a", time.Minute)
	l, err := other.TryLock(t.Context(), "job", "b", time.Minute)
	must(t, err)
	if l != nil {
		t.Fatal("granted twice")
	}
	f.advance(time.Hour)
	b, err := other.TryLock(t.Context(), "job", "b", time.Minute)
	must(t, err)
	if b == nil {
		t.Fatal("a lapsed lock is not granted")
	}
	wantEqual(t, "renewed", renewed(t, a, time.Minute), false)
	f.notGranted("job", "a")
	wantEqual(t, "released", released(t, b), true)
	f.granted("job", "a", time.Minute)
}

func TestNamedLockRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	t.Run("a time that is not positive, before anything is asked", func(t *testing.T) {
		l := f.granted("job", "a", time.Minute)
		f.SetHook(func(context.Context, store.Point) error {
			t.Error("the database was asked")
			return nil
		})
		defer f.SetHook(nil)
		for _, ttl := range []time.Duration{0, -1, -time.Hour} {
			got, err := f.TryLock(t.Context(), "new", "a", ttl)
			wantOpaque(t, err, "ttl must be a positive duration, got "+ttl.String())
			if got != nil {
				t.Error("granted beside an error")
			}
			held, err := l.Renew(t.Context(), ttl)
			wantOpaque(t, err, "ttl must be a positive duration, got "+ttl.String())
			wantEqual(t, "held", held, false)
		}
	})
	for _, name := range []string{"", "a b", "é", "a\x00", "a\xff", "a*", "a\\b", strings.Repeat("x", 129)} {
		t.Run("the name "+name, func(t *testing.T) {
			_, err := f.TryLock(t.Context(), name, "a", time.Minute)
			wantError(t, err, store.ErrBadName)
			wantEqual(t, "a reason", strings.Contains(err.Error(), "a named lock's name has"), true)
		})
	}
	for _, owner := range []string{"", "a\xff", strings.Repeat("x", 256)} {
		t.Run("the owner "+owner, func(t *testing.T) {
			_, err := f.TryLock(t.Context(), "job", owner, time.Minute)
			wantError(t, err, store.ErrBadName)
			wantEqual(t, "a reason", strings.Contains(err.Error(), "a named lock's owner is"), true)
		})
	}
	t.Run("nothing else", func(t *testing.T) {
		f.granted(strings.Repeat("x", 128), strings.Repeat("x", 255), time.Nanosecond)
		f.granted("aZ09._:/-", "Ünïcode und mehr", 1<<63-1)
	})
}

// wantOpaque fails the test unless err is an ErrDatabase that keeps its cause
// in its chain.
func wantOpaque(t *testing.T, err error, cause string) {
	t.Helper()
	wantError(t, err, store.ErrDatabase)
	wantEqual(t, "text", err.Error(), "store: database error")
	if err = errors.Unwrap(err); err == nil || !strings.Contains(err.Error(), cause) {
		t.Errorf("cause %v, want %q", err, cause)
	}
}

// TestNamedLockFailsClosed: without a database nobody holds a lock.
func TestNamedLockFailsClosed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other, err := store.Open(t.Context(), f.o)
	must(t, err)
	l, err := other.TryLock(t.Context(), "job", "a", time.Minute)
	must(t, err)
	calls := map[string]func() (bool, error){
		"TryLock": func() (bool, error) {
			l, err := other.TryLock(t.Context(), "job", "a", time.Minute)
			return l != nil, err
		},
		"Renew":   func() (bool, error) { return l.Renew(t.Context(), time.Minute) },
		"Release": func() (bool, error) { return l.Release(t.Context()) },
	}
	broken := errors.New("broken")
	other.SetHook(func(_ context.Context, p store.Point) error {
		if p == store.BeforeCommit {
			return broken
		}
		return nil
	})
	for name, call := range calls {
		held, err := call()
		wantOpaque(t, err, "broken")
		wantError(t, err, broken)
		wantEqual(t, name+" held", held, false)
	}
	other.SetHook(nil)
	must(t, other.Close())
	for name, call := range calls {
		held, err := call()
		wantOpaque(t, err, "closed")
		wantError(t, err, store.ErrClosed)
		wantEqual(t, name+" held", held, false)
	}
	f.notGranted("job", "b") // what the closed store could not give back is held
}

// TestNamedLockRace: of two owners who ask at once, through one store or two, one
// gets the lock.
func TestNamedLockRace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other, err := store.Open(t.Context(), f.o)
	must(t, err)
	defer other.Close()
	for name, second := range map[string]*store.Store{"one store": f.Store, "two stores": other} {
		t.Run("through "+name, func(t *testing.T) {
			barrier := store.Barrier(store.Queued, 2)
			f.SetHook(barrier)
			other.SetHook(barrier)
			defer f.SetHook(nil)
			defer other.SetHook(nil)
			grants := make(chan *store.NamedLock, 2)
			for owner, s := range map[string]*store.Store{"a": f.Store, "b": second} {
				go func() {
					l, err := s.TryLock(t.Context(), name[:3], owner, time.Minute)
					if err != nil {
						t.Error(err)
					}
					grants <- l
				}()
			}
			a, b := <-grants, <-grants
			wantEqual(t, "one of them", (a == nil) != (b == nil), true)
			wantEqual(t, "rows", f.number(`SELECT count(*) FROM named_locks WHERE name = ?`, name[:3]), 1)
		})
	}
}

// lockNames runs each statement of named locks once.
func (f *fixture) lockNames() {
	f.t.Helper()
	l := f.granted("job", "a", time.Minute)
	f.notGranted("job", "b")
	wantEqual(f.t, "renewed", renewed(f.t, l, time.Minute), true)
	wantEqual(f.t, "released", released(f.t, l), true)
}
