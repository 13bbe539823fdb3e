package store_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

func anyWorkspace(lockns.Workspace) bool { return true }

// everyEvent reads events of each kind.
func (f *fixture) everyEvent() {
	f.t.Helper()
	at := f.eventsNow()
	_, err := f.Remembers(f.t.Context(), at)
	must(f.t, err)
	f.put("/event", "x")
	f.lock("/event", lockns.Resource)
	f.mkdir("/events")
	if events, _ := f.eventsSince(store.EventPosition{At: at.At}); len(events) < 3 {
		f.t.Errorf("events %v", events)
	}
}

func (f *fixture) eventsNow() store.EventPosition {
	f.t.Helper()
	at, err := f.EventsNow(f.t.Context())
	must(f.t, err)
	return at
}

// eventsSince are all events after a position, in small pages, and the position
// reached.
func (f *fixture) eventsSince(at store.EventPosition) (lines []string, reached store.EventPosition) {
	f.t.Helper()
	for {
		events, next, err := f.Events(f.t.Context(), at, 2, anyWorkspace)
		must(f.t, err)
		for _, e := range events {
			line := e.Path.String() + " "
			switch {
			case e.Member != nil && e.Member.ID == 0:
				line += "- " + e.Member.Name
			case e.Member != nil:
				line += "+ " + e.Member.Name
			default:
				line += fmt.Sprint(e.Lock.Event, " ", e.Lock.ID)
			}
			lines = append(lines, line)
			if !e.Position.IsPast(at) || !next.IsPast(e.Position) {
				f.t.Errorf("event at %v of the page from %v to %v", e.Position, at, next)
			}
		}
		if at.IsPast(next) {
			return lines, next
		}
		at = next
	}
}

// TestEvents: what happened since a position, each resource once, as it is now.
func TestEvents(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	at := f.eventsNow()
	since := func(step string, want ...string) {
		t.Helper()
		got, next := f.eventsSince(at)
		wantSlice(t, step, got, want)
		at = next
	}
	since("nothing")
	f.put("/d/a", "x")
	f.put("/d/b", "x")
	f.put("/d/a", "y")
	since("a member that changed twice", "/d + b", "/d + a")
	f.move("/d/a", "/c")
	since("a move", "/d - a", "/ + c")
	l := f.lock("/d/b", lockns.Resource).Lock
	since("a lock", fmt.Sprint("/d/b lock.created ", l.ID))
	null := f.lock("/d/null", lockns.Resource).Lock
	since("a lock that makes its file", "/d + null", fmt.Sprint("/d/null lock.created ", null.ID))
	must(t, f.Unlock(t.Context(), f.at("/d/b"), store.ByToken(l.Token), f.me()))
	since("an unlock", fmt.Sprint("/d/b lock.released ", l.ID))
	p := f.productLock("/c", lockns.Resource)
	f.move("/c", "/d/c")
	since("a lock that goes along", "/ - c", "/d + c", fmt.Sprint("/d/c lock.moved ", p.ID))
	must(t, f.Remove(t.Context(), f.at("/d"), with{f.user.ID, []string{null.Token}}))
	since("a folder, and not what is below or its locks", "/ - d")
	f.addUser("bob")
	since("what is none")

	wanted := 0
	_, _, err := f.Events(t.Context(), store.EventPosition{}, 100, func(ws lockns.Workspace) bool {
		wanted++
		return ws != f.user.Workspace()
	})
	must(t, err)
	events, _, err := f.Events(t.Context(), store.EventPosition{}, 100, func(lockns.Workspace) bool { return false })
	must(t, err)
	if wanted == 0 || len(events) != 0 {
		t.Errorf("asked %d times, told %v of workspaces that are not wanted", wanted, events)
	}
}

// TestRemembers: a position is good for an hour and so many events, and what the
// upkeep forgets is never within that.
func TestRemembers(t *testing.T) {
	f := newFixture(t)
	remembers := func(at store.EventPosition, want bool) {
		t.Helper()
		got, err := f.Remembers(t.Context(), at)
		must(t, err)
		wantEqual(t, "remembers", got, want)
	}
	at := f.eventsNow()
	f.put("/f", "x")
	f.lock("/g", lockns.Resource)
	f.advance(store.EventsAge)
	remembers(at, true)
	for n := 1; n > 0; {
		var err error
		n, err = f.AuditLocks(t.Context())
		must(t, err)
	}
	for _, prune := range []func() (int, error){
		func() (int, error) { return f.PruneLockEvents(t.Context()) }, func() (int, error) { return f.PruneChanges(t.Context()) },
	} {
		n, err := prune()
		must(t, err)
		wantEqual(t, "pruned", n, 0)
	}
	lines, _ := f.eventsSince(at)
	wantEqual(t, "events", len(lines), 3)
	f.advance(time.Microsecond)
	remembers(at, false)
	now := f.eventsNow()
	for _, back := range []struct {
		change, lock int64
		want         bool
	}{{store.EventsBehind, 0, true}, {store.EventsBehind + 1, 0, false}, {0, store.EventsBehind, true}, {0, store.EventsBehind + 1, false}} {
		remembers(store.EventPosition{Change: now.Change - back.change, Lock: now.Lock - back.lock, At: now.At}, back.want)
	}
	// Ahead of this process' eyes, as one that another process gave out.
	remembers(store.EventPosition{Change: now.Change + 5, Lock: now.Lock, At: now.At}, true)
}

// TestEventSignal: after changes that are told of, once however many, and after no
// others.
func TestEventSignal(t *testing.T) {
	f := newFixture(t)
	signaled := func() bool {
		select {
		case <-f.EventSignal():
			return true
		default:
			return false
		}
	}
	signaled()
	for name, c := range map[string]struct {
		do   func()
		want bool
	}{
		"a file": {func() { f.put("/f", "x"); f.put("/f", "y") }, true}, "a lock": {func() { f.lock("/g", lockns.Resource) }, true},
		"a user": {func() { f.addUser("bob") }, false}, "a look": {func() { f.stat("/f") }, false},
	} {
		f.put("/f", "x")
		signaled()
		c.do()
		wantEqual(t, "signal of "+name, signaled(), c.want)
		wantEqual(t, "and another", signaled(), false)
	}
}
