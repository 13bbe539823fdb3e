package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/lockns/cache"
	"holdfast/store"
)

// TestChangesNeverAskTheCache runs every operation but those that show states:
// none looks into the cache or puts anything there.
func TestChangesNeverAskTheCache(t *testing.T) {
	f, spy := newSpied(t, allLimits)
	everything(t, f)
	f.bigTree("/big")
	f.copy("/big", "/bigger")
	wantEqual(t, "look-ups", len(spy.gets), 0)
	wantEqual(t, "fills", len(spy.puts), 0)
	f.stateAt("/")
	wantEqual(t, "look-ups by a state", len(spy.gets), 1) // the spy does see them
}

// TestALyingCacheChangesNothing: a cache that says everything is unlocked, or
// everything locked, changes no outcome of a change, no lock discovery and no If.
func TestALyingCacheChangesNothing(t *testing.T) {
	lie := func(roots ...lockns.ProjectedRoot) func(cache.Key) (*lockns.Projection, error) {
		return func(key cache.Key) (*lockns.Projection, error) {
			return lockns.NewProjection(key.Generation, roots), nil
		}
	}
	honest, _ := lockStory(t, nil)
	for _, c := range []struct {
		name   string
		answer func(cache.Key) (*lockns.Projection, error)
		shows  lockns.StateKind // of the locked file, before each step
	}{
		{"that everything is unlocked", lie(), lockns.Unlocked},
		{"that everything is locked", lie(lockns.ProjectedRoot{
			Place: lockns.RootPlace(1), Depth: lockns.Infinity, Mode: lockns.Exclusive,
		}), lockns.Inherited},
	} {
		t.Run(c.name, func(t *testing.T) {
			told, shown := lockStory(t, c.answer)
			wantSlice(t, "outcomes", told, honest)
			for _, kind := range shown {
				wantEqual(t, "the lie is told", kind, c.shows)
			}
		})
	}
}

// lockStory makes changes with and without the right to, and returns how each
// ended, what lock discovery said then, and how the file was shown before.
func lockStory(t *testing.T, answer func(cache.Key) (*lockns.Projection, error)) (told []string, shown []lockns.StateKind) {
	s := &spy{Cache: cache.NewMemory(), answer: answer}
	f := newFixture(t, func(o *store.Options) { o.Cache = s })
	ctx := t.Context()
	f.mkdir("/d")
	f.put("/d/f", "x")
	f.put("/g", "x")
	l := f.lock("/d", lockns.Infinity).Lock
	named := with{f.user.ID, []string{l.Token}}
	conditional := looking{named, func(v store.View) {
		_, _, active := v.Lock(l.Token)
		told = append(told, fmt.Sprintf("If sees the lock: %v", active))
	}}
	for _, step := range []struct {
		name string
		run  func(store.Claim) error
	}{
		{"put", func(c store.Claim) error { _, _, err := f.Put(ctx, f.at("/d/f"), file("y"), c); return err }},
		{"patch", func(c store.Claim) error { _, err := f.PatchProps(ctx, f.at("/d/f"), store.Patch{}, c); return err }},
		{"mkdir", func(c store.Claim) error { _, err := f.Mkdir(ctx, f.at("/d/sub"), store.Patch{}, c); return err }},
		{"copy", func(c store.Claim) error {
			_, _, err := f.Copy(ctx, f.at("/g"), f.at("/d/f"), store.CopyOptions{}, c)
			return err
		}},
		{"move", func(c store.Claim) error {
			_, err := f.Move(ctx, f.at("/d/f"), f.at("/d/h"), store.MoveOptions{}, c)
			return err
		}},
		{"move back", func(c store.Claim) error {
			_, err := f.Move(ctx, f.at("/d/h"), f.at("/d/f"), store.MoveOptions{}, c)
			return err
		}},
		{"put elsewhere", func(c store.Claim) error { _, _, err := f.Put(ctx, f.at("/g"), file("y"), c); return err }},
		{"lock", func(c store.Claim) error { _, err := f.Lock(ctx, f.at("/d/f"), f.spec(lockns.Resource), c); return err }},
		{"refresh", func(c store.Claim) error {
			_, err := f.RefreshLock(ctx, f.at("/d/f"), store.ByToken(l.Token), 2*time.Hour, c)
			return err
		}},
		{"remove", func(c store.Claim) error { return f.Remove(ctx, f.at("/d/f"), c) }},
		{"put anew", func(c store.Claim) error { _, _, err := f.Put(ctx, f.at("/d/f"), file("y"), c); return err }},
		{"unlock", func(c store.Claim) error { return f.Unlock(ctx, f.at("/d"), store.ByToken(l.Token), c) }},
		{"put unlocked", func(c store.Claim) error { _, _, err := f.Put(ctx, f.at("/d/f"), file("z"), c); return err }},
	} {
		state, err := f.LockState(ctx, f.at("/d"))
		must(t, err)
		shown = append(shown, state.Kind)
		for i, c := range []store.Claim{f.me(), conditional} {
			told = append(told, fmt.Sprintf("%s, claim %d: %s", step.name, i, outcome(step.run(c))))
			locks := 0
			for _, e := range f.entries("/d") {
				locks += len(e.Locks)
			}
			told = append(told, fmt.Sprintf("%d locks discovered", locks))
		}
	}
	return told, shown
}

// entries are those of a tree with their locks and states.
func (f *fixture) entries(path string) (all []store.Entry) {
	f.t.Helper()
	must(f.t, f.Walk(f.t.Context(), f.at(path), store.DepthInfinity, store.Want{Locks: true, States: true}, 0, func(e store.Entry) error {
		all = append(all, e)
		return nil
	}))
	return all
}

// outcome is how a change ended, without what differs from run to run.
func outcome(err error) string {
	var refusal *lockns.LockedError
	var conflict *lockns.ConflictError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &refusal):
		return fmt.Sprintf("locked by %d", len(refusal.Locks))
	case errors.As(err, &conflict):
		return fmt.Sprintf("conflict with %d and %d", len(conflict.Covering), len(conflict.Below))
	}
	return err.Error()
}
