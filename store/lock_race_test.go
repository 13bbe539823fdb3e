package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// outcomes counts how races ended.
type outcomes struct {
	f    *fixture
	seen map[string]int
}

func (f *fixture) outcomes() *outcomes { return &outcomes{f, map[string]int{}} }

// both fails the test unless the race ended in each of these ways: a batch of
// each order makes sure that it can.
func (o *outcomes) both(ways ...string) {
	o.f.t.Helper()
	total := 0
	for _, way := range ways {
		if o.seen[way] == 0 {
			o.f.t.Errorf("never saw %q: %v", way, o.seen)
		}
		total += o.seen[way]
	}
	wantEqual(o.f.t, "rounds", total, raceRounds+2)
}

// TestRaceAcquireAndUnlock: one gives a lock up while another takes it. Both
// come to an end, and what is locked then is what they were told.
func TestRaceAcquireAndUnlock(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	end := f.outcomes()
	f.race(store.Queued, func(dir string) (a, b func() error) {
		f.put(dir+"/f", "x")
		l := f.lock(dir, lockns.Infinity).Lock
		return func() error {
				return f.Unlock(f.t.Context(), f.at(dir), store.ByToken(l.Token), f.me())
			}, func() error {
				_, err := f.Lock(f.t.Context(), f.at(dir+"/f"), specOf(bob, lockns.Resource), store.Holder(bob.ID))
				return err
			}
	}, func(t *testing.T, dir string, unlock, acquire error) {
		must(t, unlock)
		locks := f.entry(f.at(dir + "/f")).Locks
		var conflict *lockns.ConflictError
		switch {
		case acquire == nil:
			end.seen["taken"]++
			wantEqual(t, "locks", len(locks) == 1 && locks[0].Holder == bob.ID, true)
		case errors.As(acquire, &conflict):
			end.seen["refused"]++
			wantEqual(t, "locks", len(locks), 0)
		default:
			t.Fatal(acquire)
		}
	})
	end.both("taken", "refused")
}

// TestRaceRelock: of two clients that know the same old value, one replaces the
// lock, the other is told that it does not hold it.
func TestRaceRelock(t *testing.T) {
	f := newFixture(t)
	end := f.outcomes()
	f.race(store.Queued, func(dir string) (a, b func() error) {
		f.put(dir+"/f", "x")
		f.wopiLock(dir+"/f", "old")
		relock := func(value string) func() error {
			return func() error {
				_, err := f.Relock(f.t.Context(), f.at(dir+"/f"), store.ByOrigin(lockns.WOPI), wopiSpec(value), f.wopi(dir+"/f", "old"))
				return err
			}
		}
		return relock("one"), relock("two")
	}, func(t *testing.T, dir string, one, two error) {
		if (one == nil) == (two == nil) {
			t.Fatalf("%v and %v; want exactly one winner", one, two)
		}
		winner, lost := "one", two
		if two == nil {
			winner, lost = "two", one
		}
		end.seen[winner]++
		wantError(t, lost, store.ErrNotHolder)
		locks := f.entry(f.at(dir + "/f")).Locks
		wantEqual(t, "locks", len(locks) == 1 && locks[0].Owner == winner, true)
	})
	end.both("one", "two")
}

// TestRaceMoveAndUnlock: a lock that goes along with its file is not ended by the
// name it had, and none of the other's comes to harm.
func TestRaceMoveAndUnlock(t *testing.T) {
	f := newFixture(t)
	end := f.outcomes()
	var moved, other lockns.Lock
	f.race(store.Queued, func(dir string) (a, b func() error) {
		f.put(dir+"/a", "a")
		f.put(dir+"/b", "b")
		moved, other = f.productLock(dir+"/a", lockns.Resource), f.productLock(dir+"/b", lockns.Resource)
		return func() error {
				_, err := f.Move(f.t.Context(), f.at(dir+"/a"), f.at(dir+"/c"), store.MoveOptions{}, f.me())
				return err
			}, func() error {
				return f.Unlock(f.t.Context(), f.at(dir+"/a"), store.ByOrigin(lockns.Product), f.me())
			}
	}, func(t *testing.T, dir string, move, unlock error) {
		must(t, move)
		want := []string{}
		if unlock != nil {
			end.seen["moved first"]++
			wantError(t, unlock, store.ErrNotFound)
			want = []string{moved.Token}
		} else {
			end.seen["unlocked first"]++
		}
		wantSlice(t, "locks of the moved file", f.tokens(dir+"/c"), want)
		wantSlice(t, "locks of the other file", f.tokens(dir+"/b"), []string{other.Token})
	})
	end.both("moved first", "unlocked first")
}

// TestUnlockOfAReplacedFile: between the request and its transaction the file
// goes, and another one, locked by somebody else, gets its name.
func TestUnlockOfAReplacedFile(t *testing.T) {
	for _, origin := range []lockns.Origin{lockns.WebDAV, lockns.Product, lockns.WOPI} {
		t.Run(string(origin)+" unlock leaves the other's lock", func(t *testing.T) {
			f := newFixture(t)
			bob := f.addUser("bob")
			f.put("/f", "x")
			spec := f.ofOrigin(origin, lockns.Resource)
			spec.Owner = "mine"
			l, err := f.Lock(t.Context(), f.at("/f"), spec, f.me())
			must(t, err)
			which := store.ByOrigin(origin)
			if origin == lockns.WebDAV {
				which = store.ByToken(l.Lock.Token)
			}
			var theirs store.Locked
			f.SetHook(func(_ context.Context, p store.Point) error {
				if p != store.Queued {
					return nil
				}
				f.SetHook(nil)
				must(t, f.Remove(t.Context(), f.at("/f"), opensAll{f.user.ID, l.Lock.Token}))
				f.put("/f", "another")
				spec.Holder, spec.Owner = bob.ID, "theirs"
				theirs, err = f.Lock(t.Context(), f.at("/f"), spec, store.Holder(bob.ID))
				return err
			})
			err = f.Unlock(t.Context(), f.at("/f"), which, f.wopi("/f", "mine"))
			wantEqual(t, "refused", errors.Is(err, store.ErrNoSuchLock) || errors.Is(err, store.ErrNotHolder), true)
			wantSlice(t, "locks", f.tokens("/f"), []string{theirs.Lock.Token})
		})
	}
}

// TestRaceRebindAndUnlock: a lock on the destination of a MOVE is rebound to what
// comes. UNLOCK ends it before or after, wherever it is rooted, and no other.
func TestRaceRebindAndUnlock(t *testing.T) {
	f := newFixture(t)
	end := f.outcomes()
	var l, carried lockns.Lock
	f.race(store.Queued, func(dir string) (a, b func() error) {
		f.put(dir+"/src", "src")
		f.put(dir+"/dst", "dst")
		f.put(dir+"/other", "other")
		l, carried = f.lock(dir+"/dst", lockns.Resource).Lock, f.lock(dir+"/other", lockns.Resource).Lock
		return func() error {
				_, err := f.Move(f.t.Context(), f.at(dir+"/src"), f.at(dir+"/dst"), store.MoveOptions{}, with{f.user.ID, []string{l.Token}})
				return err
			}, func() error {
				return f.Unlock(f.t.Context(), f.at(dir+"/dst"), store.ByToken(l.Token), f.me())
			}
	}, func(t *testing.T, dir string, move, unlock error) {
		must(t, errors.Join(move, unlock))
		wantEqual(t, "content", f.read(dir+"/dst"), "src")
		wantSlice(t, "locks", f.tokens(dir+"/dst"), []string{})
		wantSlice(t, "other locks", f.tokens(dir+"/other"), []string{carried.Token})
		end.seen["done"]++
	})
	end.both("done")
	wantEqual(t, "rows", f.rows("resource_locks"), raceRounds+2)
}

// TestRaceRemovalAndAcquire: a lock in a workspace that goes is granted and goes
// with it, or it is refused. No row outlives the workspace.
func TestRaceRemovalAndAcquire(t *testing.T) {
	removals := map[string]func(f *fixture, name string) (ws lockns.Workspace, remove func() error){
		"a user's": func(f *fixture, name string) (lockns.Workspace, func() error) {
			return f.addUser(name).Workspace(), func() error { return f.RemoveUser(f.t.Context(), name, store.Actor{}) }
		},
		"a team's": func(f *fixture, name string) (lockns.Workspace, func() error) {
			team, err := f.AddTeam(f.t.Context(), store.NewTeam{Name: name, Owner: f.user.Name})
			must(f.t, err)
			return team.Workspace(), func() error { return f.RemoveTeam(f.t.Context(), name, admin) }
		},
	}
	for name, removal := range removals {
		t.Run(name+" workspace", func(t *testing.T) {
			f := newFixture(t)
			end := f.outcomes()
			f.race(store.Queued, func(dir string) (a, b func() error) {
				ws, remove := removal(f, "x"+dir[1:])
				target := store.Target{Workspace: ws, Path: store.ParsePath("/f")}
				_, _, err := f.Put(f.t.Context(), target, file("x"), f.me())
				must(f.t, err)
				return remove, func() error {
					_, err := f.Lock(f.t.Context(), target, f.ofOrigin(lockns.Product, lockns.Resource), f.me())
					return err
				}
			}, func(t *testing.T, _ string, remove, acquire error) {
				must(t, remove)
				if acquire == nil {
					end.seen["granted"]++
				} else {
					end.seen["refused"]++
					wantError(t, acquire, store.ErrNotFound)
				}
				wantEqual(t, "rows", f.rows("resource_locks"), 0)
			})
			end.both("granted", "refused")
		})
	}
}

// TestRaceLockNullAndPut: LOCK and PUT create one name. Either PUT finds it
// locked, or LOCK finds the content there.
func TestRaceLockNullAndPut(t *testing.T) {
	f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = true })
	end := f.outcomes()
	f.race(store.Queued, func(dir string) (a, b func() error) {
		return func() error {
				_, err := f.Lock(f.t.Context(), f.at(dir+"/f"), f.spec(lockns.Resource), f.me())
				return err
			}, func() error {
				_, _, err := f.Put(f.t.Context(), f.at(dir+"/f"), file("long enough for an object"), f.me())
				return err
			}
	}, func(t *testing.T, dir string, lock, put error) {
		must(t, lock)
		held := f.tokens(dir + "/f")
		wantEqual(t, "locks", len(held), 1)
		if put == nil {
			end.seen["put first"]++
			wantEqual(t, "content", f.read(dir+"/f"), "long enough for an object")
			return
		}
		end.seen["locked first"]++
		wantLocked(t, put, held...)
		wantEqual(t, "content", f.read(dir+"/f"), "")
	})
	end.both("put first", "locked first")
	wantEqual(t, "objects", int64(f.objects()), f.number(`SELECT count(*) FROM blobs WHERE object_key IS NOT NULL`))
}

// TestRaceLockQuota: requests in two workspaces, through all doors, share one
// limit. Exactly as many are granted as it allows.
func TestRaceLockQuota(t *testing.T) {
	const limit, asked = 4, 12
	for range 5 {
		f := newFixture(t, func(o *store.Options) { o.LocksPerUser = limit })
		bob := f.addUser("bob")
		var requests []func() error
		for i := range asked {
			u := []store.User{f.user, bob}[i%2]
			path := fmt.Sprintf("/f%d", i)
			_, _, err := f.Put(t.Context(), at(u, path), file("x"), store.Holder(u.ID))
			must(t, err)
			spec := f.ofOrigin([]lockns.Origin{lockns.WebDAV, lockns.Product, lockns.WOPI}[i%3], lockns.Resource)
			if i%4 == 0 {
				spec.Timeout = 0
			}
			requests = append(requests, func() error {
				_, err := f.Lock(f.t.Context(), at(u, path), spec, f.me())
				return err
			})
		}
		f.SetHook(store.Barrier(store.Queued, asked))
		errs := together(requests...)
		f.SetHook(nil)
		granted := 0
		for _, err := range errs {
			if err == nil {
				granted++
			} else {
				wantError(t, err, store.ErrLockQuota)
			}
		}
		wantEqual(t, "granted", granted, limit)
		wantEqual(t, "rows", f.rows("resource_locks"), limit)
		wantEqual(t, "generations", f.generation(f.user)+f.generation(bob), limit)
		// One that is at its end counts, one that is over does not.
		f.sql(`UPDATE resource_locks SET timeout_at = ?`, f.now().Add(time.Minute).UnixMicro())
		f.advance(time.Minute)
		free := requests[slices.IndexFunc(errs, func(err error) bool { return err != nil })]
		wantError(t, free(), store.ErrLockQuota)
		f.advance(time.Microsecond)
		must(t, free())
	}
}
