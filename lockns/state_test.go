package lockns_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"holdfast/lockns"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func project(locks ...lockns.Lock) *lockns.Projection {
	var roots []lockns.ProjectedRoot
	for _, l := range locks {
		roots = append(roots, l.Projected())
	}
	return lockns.NewProjection(1, roots)
}

func TestState(t *testing.T) {
	root := lockns.RootPlace(1)
	folder, file := root.Folder(10), root.Folder(10).File(7)
	lock := func(at lockns.Place, depth lockns.Depth, mode lockns.Mode, minutes int) lockns.Lock {
		l := lockns.Lock{Place: at, Depth: depth, Mode: mode}
		if minutes != 0 {
			l.ExpiresAt = noon.Add(time.Duration(minutes) * time.Minute)
		}
		return l
	}
	const exclusive, shared, single, deep = lockns.Exclusive, lockns.Shared, lockns.Resource, lockns.Infinity
	for _, c := range []struct {
		rule  string
		locks []lockns.Lock
		place lockns.Place
		want  string
	}{
		{"without locks nothing is locked", nil, file, "unlocked"},
		{"a lock on the resource is direct", []lockns.Lock{lock(file, single, exclusive, 5)}, file, "direct exclusive 5m on file 7"},
		{"a lock of depth infinity on a file is direct", []lockns.Lock{lock(file, deep, shared, 0)}, file, "direct shared for ever on file 7"},
		{"a lock of depth infinity on a file reaches no other", []lockns.Lock{lock(folder.File(70), deep, exclusive, 5)}, file, "unlocked"},
		{"a folder's own lock is direct", []lockns.Lock{lock(folder, deep, exclusive, 5)}, folder, "direct exclusive 5m on folder 10"},
		{"a folder lock of depth infinity is inherited", []lockns.Lock{lock(folder, deep, exclusive, 5)}, file, "inherited exclusive 5m on folder 10"},
		{"a folder lock of depth resource is not", []lockns.Lock{lock(folder, single, exclusive, 5)}, file, "unlocked"},
		{"a workspace root's lock is direct on it", []lockns.Lock{lock(root, single, exclusive, 5)}, root, "direct exclusive 5m on workspace_root 0"},
		{"a workspace root's lock of depth infinity reaches all", []lockns.Lock{lock(root, deep, exclusive, 5)}, file, "inherited exclusive 5m on workspace_root 0"},
		{"a workspace root's lock of depth resource reaches none", []lockns.Lock{lock(root, single, exclusive, 5)}, folder, "unlocked"},
		{"a lock below does not show above", []lockns.Lock{lock(file, single, exclusive, 5)}, folder, "unlocked"},
		{"a name that maps to nothing inherits", []lockns.Lock{lock(folder, deep, exclusive, 5)}, folder.Unmapped(), "inherited exclusive 5m on folder 10"},
		{"an id that another begins with is another", []lockns.Lock{lock(root.Folder(1), deep, exclusive, 5)}, file, "unlocked"},
		{"a file and a folder of one id are two", []lockns.Lock{lock(root.Folder(7), deep, exclusive, 5)}, root.File(7), "unlocked"},
		{"direct beats inherited, also when it ends first",
			[]lockns.Lock{lock(root, deep, shared, 0), lock(file, single, shared, 1)}, file, "direct shared 1m on file 7"},
		{"the nearest root beats those above",
			[]lockns.Lock{lock(root, deep, shared, 0), lock(folder, deep, shared, 1)}, file, "inherited shared 1m on folder 10"},
		{"of several locks on a root the last to end decides",
			[]lockns.Lock{lock(file, single, shared, 2), lock(file, single, shared, 9), lock(file, single, shared, 5)}, file, "direct shared 9m on file 7"},
		{"no end is the last end",
			[]lockns.Lock{lock(file, single, shared, 0), lock(file, single, shared, 9)}, file, "direct shared for ever on file 7"},
		{"an exclusive lock decides before a shared one that ends with it",
			[]lockns.Lock{lock(file, single, shared, 9), lock(file, single, exclusive, 9), lock(file, single, shared, 9)}, file, "direct exclusive 9m on file 7"},
		{"of a root's locks only those of depth infinity are inherited",
			[]lockns.Lock{lock(folder, single, shared, 0), lock(folder, deep, shared, 2)}, file, "inherited shared 2m on folder 10"},
		{"an expired lock does not count", []lockns.Lock{lock(file, single, exclusive, -1)}, file, "unlocked"},
		{"an expired lock hides none above",
			[]lockns.Lock{lock(file, single, exclusive, -1), lock(folder, deep, exclusive, -1), lock(root, deep, shared, 3)}, file,
			"inherited shared 3m on workspace_root 0"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := show(project(c.locks...).State(c.place, noon)); got != c.want {
				t.Errorf("state %q, want %q", got, c.want)
			}
		})
	}
}

func show(s lockns.State) string {
	if s == (lockns.State{Kind: lockns.Unlocked}) {
		return "unlocked"
	}
	end := "for ever"
	if !s.ExpiresAt.IsZero() {
		end = fmt.Sprintf("%.0fm", s.ExpiresAt.Sub(noon).Minutes())
	}
	return fmt.Sprintf("%s %s %s on %s %d", s.Kind, s.Mode, end, s.Root.Kind, s.Root.ID)
}

// TestStateBoundary: a lock is active at its end and not a microsecond later,
// however long the projection was kept.
func TestStateBoundary(t *testing.T) {
	file := lockns.RootPlace(1).File(7)
	p := project(lockns.Lock{Place: file, Depth: lockns.Resource, Mode: lockns.Exclusive, ExpiresAt: noon})
	for _, c := range []struct {
		after time.Duration
		want  lockns.StateKind
	}{{-time.Hour, lockns.Direct}, {0, lockns.Direct}, {time.Microsecond, lockns.Unlocked}, {time.Hour, lockns.Unlocked}} {
		if got := p.State(file, noon.Add(c.after)).Kind; got != c.want {
			t.Errorf("%v after its end: %s, want %s", c.after, got, c.want)
		}
	}
}

func TestFirstEnd(t *testing.T) {
	at := lockns.RootPlace(1).File
	ends := func(minutes ...int) *lockns.Projection {
		var locks []lockns.Lock
		for i, m := range minutes {
			l := lockns.Lock{Place: at(int64(i + 1))}
			if m != 0 {
				l.ExpiresAt = noon.Add(time.Duration(m) * time.Minute)
			}
			locks = append(locks, l)
		}
		return project(locks...)
	}
	for _, c := range []struct {
		p    *lockns.Projection
		want time.Time
	}{
		{ends(), time.Time{}},
		{ends(0, 0), time.Time{}},
		{ends(0, 9, 3, 5), noon.Add(3 * time.Minute)},
		{ends(-2, 3), noon.Add(-2 * time.Minute)},
	} {
		if got := c.p.FirstEnd(); !got.Equal(c.want) {
			t.Errorf("first end %v, want %v", got, c.want)
		}
	}
}

// stateByRule is the definition: it looks at every lock.
func stateByRule(locks []lockns.Lock, place lockns.Place, now time.Time) lockns.State {
	var best *lockns.Lock
	for _, l := range locks {
		if !l.ActiveAt(now) || !l.Covers(place) {
			continue
		}
		if best == nil || decides(l, *best, place) {
			best = &l
		}
	}
	switch {
	case best == nil:
		return lockns.State{Kind: lockns.Unlocked}
	case best.Place.Root == place.Root:
		return lockns.State{Kind: lockns.Direct, Mode: best.Mode, ExpiresAt: best.ExpiresAt, Root: best.Place.Root}
	}
	return lockns.State{Kind: lockns.Inherited, Mode: best.Mode, ExpiresAt: best.ExpiresAt, Root: best.Place.Root}
}

// decides reports whether l decides before o for a place that both cover.
func decides(l, o lockns.Lock, place lockns.Place) bool {
	if l.Place != o.Place {
		return len(l.Place.Ancestry) > len(o.Place.Ancestry)
	}
	far := noon.Add(1000 * time.Hour)
	end := func(l lockns.Lock) time.Time {
		if l.ExpiresAt.IsZero() {
			return far
		}
		return l.ExpiresAt
	}
	if !end(l).Equal(end(o)) {
		return end(l).After(end(o))
	}
	return l.Mode == lockns.Exclusive && o.Mode == lockns.Shared
}

// TestStateByProjectionIsTheRule compares the projection with the definition on
// random trees and locks, at random times.
func TestStateByProjectionIsTheRule(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[lockns.StateKind]int{}
	for range 300 {
		places := randomTree(r, 40)
		var locks []lockns.Lock
		for range r.IntN(15) {
			locks = append(locks, randomLock(r, places))
		}
		p := project(locks...)
		for _, now := range []time.Time{noon, noon.Add(time.Duration(r.IntN(60)) * time.Minute)} {
			for _, place := range places {
				got, want := p.State(place, now), stateByRule(locks, place, now)
				if got != want {
					t.Fatalf("%s at %v: %+v, want %+v\nlocks %+v", place.Ancestry, now, got, want, locks)
				}
				seen[got.Kind]++
			}
		}
	}
	for _, kind := range []lockns.StateKind{lockns.Unlocked, lockns.Direct, lockns.Inherited} {
		if seen[kind] < 1000 {
			t.Errorf("only %d places were %s", seen[kind], kind)
		}
	}
}

// randomTree is a workspace root and n places below it, folders and files, whose
// ids are the same numbers.
func randomTree(r *rand.Rand, n int) []lockns.Place {
	places := []lockns.Place{lockns.RootPlace(1)}
	folders := places
	for len(places) <= n {
		in := folders[r.IntN(len(folders))]
		if r.IntN(2) == 0 {
			places = append(places, in.File(int64(len(places)-len(folders)+2)))
			continue
		}
		folders = append(folders, in.Folder(int64(len(folders)+1)))
		places = append(places, folders[len(folders)-1])
	}
	return places
}

func randomLock(r *rand.Rand, places []lockns.Place) lockns.Lock {
	l := lockns.Lock{
		Place: places[r.IntN(len(places))],
		Depth: []lockns.Depth{lockns.Resource, lockns.Infinity}[r.IntN(2)],
		Mode:  []lockns.Mode{lockns.Exclusive, lockns.Shared}[r.IntN(2)],
	}
	if r.IntN(4) > 0 {
		l.ExpiresAt = noon.Add(time.Duration(r.IntN(60)-20) * time.Minute)
	}
	return l
}
