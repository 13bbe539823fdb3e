package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/lockns/cache"
	"holdfast/store"
)

// stateAt is how a path is locked, in short: "direct exclusive 60m".
func (f *fixture) stateAt(path string) string {
	f.t.Helper()
	s, err := f.LockState(f.t.Context(), f.at(path))
	must(f.t, err)
	return f.shown(s)
}

func (f *fixture) shown(s lockns.State) string {
	if s == (lockns.State{Kind: lockns.Unlocked}) {
		return "unlocked"
	}
	end := "for ever"
	if !s.ExpiresAt.IsZero() {
		end = fmt.Sprintf("%vm", s.ExpiresAt.Sub(f.now()).Minutes())
	}
	return fmt.Sprintf("%s %s %s", s.Kind, s.Mode, end)
}

// states are those that a walk shows, by path.
func (f *fixture) states(path string, depth int, want store.Want) map[string]lockns.State {
	f.t.Helper()
	want.States = true
	all := map[string]lockns.State{}
	must(f.t, f.Walk(f.t.Context(), f.at(path), depth, want, 0, func(e store.Entry) error {
		all[e.Path.String()] = e.State
		return nil
	}))
	return all
}

// share locks a path together with others.
func (f *fixture) share(path string, depth lockns.Depth, timeout time.Duration) store.Locked {
	f.t.Helper()
	spec := f.spec(depth)
	spec.Mode, spec.Timeout = lockns.Shared, timeout
	l, err := f.Lock(f.t.Context(), f.at(path), spec, f.me())
	must(f.t, err)
	return l
}

// showStates asks for states in all ways, on each kind of resource, with a
// projection and without.
func (f *fixture) showStates() {
	f.t.Helper()
	f.mkdir("/shown")
	f.mkdir("/shown/folder")
	f.put("/shown/file", "x")
	for _, path := range []string{"/shown", "/shown/folder", "/shown/file"} {
		f.share(path, lockns.Resource, time.Hour)
	}
	defer f.SetMaxProjected(4096)
	for _, limit := range []int{4096, 0} {
		f.SetMaxProjected(limit)
		for _, path := range []string{"/", "/shown", "/shown/file"} {
			f.stateAt(path)
			f.states(path, store.DepthInfinity, store.Want{})
			f.states(path, store.DepthInfinity, store.Want{Locks: true})
		}
	}
}

func TestLockState(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	f.mkdir("/deep")
	f.mkdir("/deep/in")
	f.put("/deep/in/file", "x")
	f.mkdir("/flat")
	f.put("/flat/file", "x")
	f.put("/free", "x")
	deep := f.lock("/deep", lockns.Infinity)
	f.share("/flat", lockns.Resource, 0)
	f.share("/flat", lockns.Resource, time.Minute)
	want := map[string]string{
		"/": "unlocked", "/free": "unlocked",
		"/deep": "direct exclusive 60m", "/deep/in": "inherited exclusive 60m", "/deep/in/file": "inherited exclusive 60m",
		"/flat": "direct shared for ever", "/flat/file": "unlocked",
	}
	t.Run("a detail shows it", func(t *testing.T) {
		for path, state := range want {
			wantEqual(t, path, f.stateAt(path), state)
		}
	})
	t.Run("an inherited state names the root", func(t *testing.T) {
		s, err := f.LockState(ctx, f.at("/deep/in/file"))
		must(t, err)
		wantEqual(t, "root", s.Root, deep.Node.Place.Root)
	})
	t.Run("a listing shows the same", func(t *testing.T) {
		for _, w := range []store.Want{{}, {Locks: true}, {Props: true, Locks: true}} {
			got := f.states("/", store.DepthInfinity, w)
			wantEqual(t, "entries", len(got), len(want))
			for path, state := range got {
				wantEqual(t, path, f.shown(state), want[path])
			}
		}
	})
	t.Run("a listing that does not ask gets none", func(t *testing.T) {
		must(t, f.Walk(ctx, f.at("/"), store.DepthInfinity, store.Want{Locks: true}, 0, func(e store.Entry) error {
			wantEqual(t, e.Path.String(), e.State, lockns.State{})
			return nil
		}))
	})
	t.Run("a batch has the order asked, and zero for what is not there", func(t *testing.T) {
		states, err := f.LockStates(ctx, f.user.Workspace(), []store.Target{f.at("/free"), f.at("/gone"), f.at("/no/parent"), f.at("/deep/in")})
		must(t, err)
		wantEqual(t, "states", len(states), 4)
		wantEqual(t, "first", states[0].Kind, lockns.Unlocked)
		wantEqual(t, "not there", states[1], lockns.State{})
		wantEqual(t, "without parent", states[2], lockns.State{})
		wantEqual(t, "last", states[3].Kind, lockns.Inherited)
	})
	t.Run("what is not there has no state", func(t *testing.T) {
		_, err := f.LockState(ctx, f.at("/gone"))
		wantError(t, err, store.ErrNotFound)
		_, err = f.LockState(ctx, at(store.User{ID: 99}, "/"))
		wantError(t, err, store.ErrNotFound)
		err = f.Walk(ctx, at(store.User{ID: 99}, "/"), 0, store.Want{States: true}, 0, func(store.Entry) error { return nil })
		wantError(t, err, store.ErrNotFound)
	})
	t.Run("a batch is of one workspace", func(t *testing.T) {
		bob := f.addUser("bob")
		if _, err := f.LockStates(ctx, f.user.Workspace(), []store.Target{f.at("/free"), at(bob, "/")}); err == nil {
			t.Error("a target in another workspace was taken")
		}
	})
	t.Run("a locked workspace root is inherited by all", func(t *testing.T) {
		must(t, f.Unlock(ctx, f.at("/deep"), store.ByToken(deep.Lock.Token), f.me()))
		f.share("/", lockns.Infinity, 2*time.Hour)
		wantEqual(t, "root", f.stateAt("/"), "direct shared 120m")
		wantEqual(t, "file", f.stateAt("/free"), "inherited shared 120m")
	})
}

// TestStatesFollowEachChange: whoever's lock or unlock was answered sees it, at
// once and whatever others do.
func TestStatesFollowEachChange(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	for i := range 4 {
		f.put(fmt.Sprintf("/f%d", i), "x")
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			target := f.at(fmt.Sprintf("/f%d", i))
			shows := func(want lockns.StateKind) {
				s, err := f.LockState(ctx, target)
				if err != nil || s.Kind != want {
					t.Errorf("%v shows %s, want %s (error %v)", target.Path, s.Kind, want, err)
				}
			}
			for range 20 {
				l, err := f.Lock(ctx, target, f.spec(lockns.Resource), f.me())
				if err != nil {
					t.Error(err)
					return
				}
				shows(lockns.Direct)
				if err := f.Unlock(ctx, target, store.ByToken(l.Lock.Token), f.me()); err != nil {
					t.Error(err)
				}
				shows(lockns.Unlocked)
			}
		})
	}
	wg.Wait()
}

// TestStatesAreTheRule compares what a projection shows with the rule applied to
// all locks, for every node of random trees, below the limit and above it, at
// once and after some locks have expired.
func TestStatesAreTheRule(t *testing.T) {
	for _, limit := range []int{4096, 3} {
		t.Run(fmt.Sprintf("of at most %d locks", limit), func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, uint64(limit)))
			seen := map[lockns.StateKind]int{}
			for range 4 {
				f, spy := newSpied(t)
				f.SetMaxProjected(limit)
				paths := f.randomTree(r, 30)
				f.randomLocks(r, paths, 20)
				for range 3 {
					f.compareStates(paths, seen)
					f.advance(20 * time.Minute)
				}
				wantEqual(t, "projections were made", len(spy.puts) > 0, limit > 3)
			}
			for _, kind := range []lockns.StateKind{lockns.Unlocked, lockns.Direct, lockns.Inherited} {
				wantEqual(t, "enough "+string(kind), seen[kind] > 20, true)
			}
		})
	}
}

// randomTree makes n files and folders and returns their paths, the root first.
func (f *fixture) randomTree(r *rand.Rand, n int) []string {
	paths, folders := []string{"/"}, []string{""}
	for i := range n {
		path := fmt.Sprintf("%s/%d", folders[r.IntN(len(folders))], i)
		if r.IntN(2) == 0 {
			f.mkdir(path)
			folders = append(folders, path)
		} else {
			f.put(path, "x")
		}
		paths = append(paths, path)
	}
	return paths
}

// randomLocks tries n locks and skips those that conflict.
func (f *fixture) randomLocks(r *rand.Rand, paths []string, n int) {
	for range n {
		_, _ = f.Lock(f.t.Context(), f.at(paths[r.IntN(len(paths))]), store.LockSpec{
			Depth:  []lockns.Depth{lockns.Resource, lockns.Infinity}[r.IntN(2)],
			Mode:   []lockns.Mode{lockns.Exclusive, lockns.Shared, lockns.Shared}[r.IntN(3)],
			Origin: lockns.WebDAV, Holder: f.user.ID,
			Timeout: time.Duration(r.IntN(4)) * 15 * time.Minute,
		}, f.me())
	}
}

// compareStates checks each node's state, in a detail, a batch and a listing,
// with what the locks themselves say, and counts the kinds seen.
func (f *fixture) compareStates(paths []string, seen map[lockns.StateKind]int) {
	f.t.Helper()
	var targets []store.Target
	for _, path := range paths {
		targets = append(targets, f.at(path))
	}
	batch, err := f.LockStates(f.t.Context(), f.user.Workspace(), targets)
	must(f.t, err)
	listing := f.states("/", store.DepthInfinity, store.Want{})
	for i, path := range paths {
		e := f.entry(f.at(path))
		want := stateByRule(e.Locks, e.Place)
		one, err := f.LockState(f.t.Context(), f.at(path))
		must(f.t, err)
		wantEqual(f.t, path+" in a detail", one, want)
		wantEqual(f.t, path+" in a batch", batch[i], want)
		wantEqual(f.t, path+" in a listing", listing[path], want)
		seen[want.Kind]++
	}
}

// stateByRule is what the active locks that cover a place say of it: the nearest
// root decides, and there the lock that ends last.
func stateByRule(covering []lockns.Lock, place lockns.Place) lockns.State {
	if len(covering) == 0 {
		return lockns.State{Kind: lockns.Unlocked}
	}
	best := slices.MaxFunc(covering, func(a, b lockns.Lock) int {
		if c := len(a.Place.Ancestry) - len(b.Place.Ancestry); c != 0 {
			return c
		}
		switch {
		case a.ExpiresAt.IsZero() || b.ExpiresAt.IsZero():
			return int(boolInt(a.ExpiresAt.IsZero()) - boolInt(b.ExpiresAt.IsZero()))
		default:
			return a.ExpiresAt.Compare(b.ExpiresAt)
		}
	})
	s := lockns.State{Kind: lockns.Inherited, Mode: best.Mode, ExpiresAt: best.ExpiresAt, Root: best.Place.Root}
	if best.Place.Root == place.Root {
		s.Kind = lockns.Direct
	}
	return s
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestStatesOfALongListing: a listing asks the cache once, however long it is,
// and when the projection is there it reads no lock at all.
func TestStatesOfALongListing(t *testing.T) {
	f, spy := newSpied(t)
	f.mkdir("/d")
	f.fill("/d", 2500)
	f.lock("/d/m00007", lockns.Resource)
	f.stateAt("/") // fills the cache
	spy.reset()
	must(t, f.Close()) // new connections, which have prepared nothing yet
	f.open()
	states := f.states("/d", store.DepthOne, store.Want{})
	wantEqual(t, "entries", len(states), 2501)
	wantEqual(t, "locked", f.shown(states["/d/m00007"]), "direct exclusive 60m")
	wantEqual(t, "not locked", f.shown(states["/d/m00008"]), "unlocked")
	wantEqual(t, "look-ups", len(spy.gets), 1)
	wantEqual(t, "fills", len(spy.puts), 0)
	for _, statement := range f.Statements() {
		if strings.Contains(statement, "resource_locks") {
			t.Errorf("locks were read: %s", statement)
		}
	}
}

// TestStatesOfManyLocks: one lock above the limit, there is no projection, and
// states are the same.
func TestStatesOfManyLocks(t *testing.T) {
	f, spy := newSpied(t)
	f.mkdir("/d")
	f.fill("/d", 4097)
	f.sql(`INSERT INTO resource_locks (token, namespace_id, root_kind, root_file_id, ancestry, depth, mode, origin, holder_user_id, timeout_at, created_at)
SELECT 'urn:x:' || id, namespace_id, 'file', id, '/' || (SELECT id FROM folders WHERE parent_id IS NULL AND namespace_id = files.namespace_id) || '/' || folder_id || '/f' || id,
'resource', 'exclusive', 'webdav', ?, ?, 0 FROM files`, f.user.ID, f.now().Add(time.Hour).UnixMicro())
	shows := func(fills int) {
		t.Helper()
		spy.reset()
		states := f.states("/d", store.DepthOne, store.Want{})
		locked := 0
		for _, s := range states {
			locked += boolInt(s.Kind == lockns.Direct)
		}
		wantEqual(t, "locked", int64(locked), f.rows("resource_locks"))
		wantEqual(t, "fills", len(spy.puts), fills)
		wantEqual(t, "a detail", f.stateAt("/d/m00001"), "direct exclusive 60m")
	}
	shows(0)
	must(t, f.Unlock(t.Context(), f.at("/d/m00000"), store.ByToken(fmt.Sprintf("urn:x:%d", f.stat("/d/m00000").Place.Root.ID)), f.me()))
	shows(1) // 4,096 are not too many
	wantEqual(t, "roots", len(spy.puts[0].p.Roots()), 4096)
}

// spy is a cache that notes what is asked of it. answer and fault, when set, are
// what it gives instead.
type spy struct {
	cache.Cache
	mu     sync.Mutex
	gets   []cache.Key
	puts   []kept
	answer func(cache.Key) (*lockns.Projection, error)
	fault  error
}

// kept is one call of Put.
type kept struct {
	key cache.Key
	p   *lockns.Projection
	ttl time.Duration
}

// newSpied is a fixture with a spy before a cache in memory.
func newSpied(t *testing.T, adjust ...func(*store.Options)) (*fixture, *spy) {
	t.Helper()
	s := &spy{Cache: cache.NewMemory()}
	return newFixture(t, append(adjust, func(o *store.Options) { o.Cache = s })...), s
}

func (s *spy) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets, s.puts = nil, nil
}

// TestCrowdedIsFoundOnce: that a workspace has too many locks for a projection is
// found out once for a generation; until it moves nothing is counted or looked up
// again.
func TestCrowdedIsFoundOnce(t *testing.T) {
	f, spy := newSpied(t)
	f.mkdir("/d")
	f.mkdir("/other")
	f.SetMaxProjected(0)
	for n, path := range []string{"/d", "/other"} {
		f.lock(path, lockns.Resource)
		for range 3 {
			wantEqual(t, "state", f.stateAt(path), "direct exclusive 60m")
			wantEqual(t, "look-ups", len(spy.gets), n+1)
		}
	}
	f.SetMaxProjected(4096)
	wantEqual(t, "state", f.stateAt("/d"), "direct exclusive 60m")
	wantEqual(t, "fills", len(spy.puts), 1)
}
