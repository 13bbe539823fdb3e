package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/lockns/cache"
	"holdfast/lockns/cache/cachetest"
	"holdfast/store"
)

func (s *spy) Get(ctx context.Context, key cache.Key) (*lockns.Projection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets = append(s.gets, key)
	switch {
	case s.fault != nil:
		return nil, s.fault
	case s.answer != nil:
		return s.answer(key)
	}
	return s.Cache.Get(ctx, key)
}

func (s *spy) Put(ctx context.Context, key cache.Key, p *lockns.Projection, ttl time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts = append(s.puts, kept{key, p, ttl})
	if s.fault != nil {
		return s.fault
	}
	return s.Cache.Put(ctx, key, p, ttl)
}

// whenProjecting runs change at the point between loading a projection and
// asking whether its generation still holds, and counts how often that is passed.
func (f *fixture) whenProjecting(change func(pass int)) *int {
	passes := new(int)
	f.SetHook(func(_ context.Context, p store.Point) error {
		if p == store.Projecting {
			*passes++
			change(*passes)
		}
		return nil
	})
	return passes
}

func TestProjectionFill(t *testing.T) {
	t.Run("a miss is filled, then hit", func(t *testing.T) {
		f, spy := newSpied(t)
		f.put("/f", "x")
		f.lock("/f", lockns.Resource)
		passes := f.whenProjecting(func(int) {})
		for range 3 {
			wantEqual(t, "state", f.stateAt("/f"), "direct exclusive 60m")
		}
		wantEqual(t, "loads", *passes, 1)
		wantEqual(t, "look-ups", len(spy.gets), 3)
		wantEqual(t, "fills", len(spy.puts), 1)
		wantEqual(t, "generation", spy.puts[0].key.Generation, f.generation(f.user))
		wantEqual(t, "generation in it", spy.puts[0].p.Generation(), f.generation(f.user))
		wantEqual(t, "workspace", spy.puts[0].key.Workspace, f.user.Workspace())
		wantEqual(t, "instances", f.number(`SELECT count(*) FROM instance WHERE uuid = ?`, spy.puts[0].key.Instance), 1)
	})
	t.Run("a workspace without locks is a hit too", func(t *testing.T) {
		f, spy := newSpied(t)
		f.stateAt("/")
		f.stateAt("/")
		wantEqual(t, "fills", len(spy.puts), 1)
	})
	t.Run("a batch is one look-up and one load", func(t *testing.T) {
		f, spy := newSpied(t)
		f.mkdir("/d")
		f.fill("/d", 40)
		f.lock("/d", lockns.Infinity)
		var targets []store.Target
		for i := range 40 {
			targets = append(targets, f.at(fmt.Sprintf("/d/m%05d", i)))
		}
		passes := f.whenProjecting(func(int) {})
		states, err := f.LockStates(t.Context(), f.user.Workspace(), targets)
		must(t, err)
		for _, s := range states {
			wantEqual(t, "state", s.Kind, lockns.Inherited)
		}
		wantEqual(t, "loads", *passes, 1)
		wantEqual(t, "look-ups", len(spy.gets), 1)
	})
	t.Run("expired locks are not loaded", func(t *testing.T) {
		f, spy := newSpied(t)
		f.put("/f", "x")
		f.lock("/f", lockns.Resource)
		f.advance(2 * time.Hour)
		wantEqual(t, "state", f.stateAt("/f"), "unlocked")
		wantEqual(t, "roots", len(spy.puts[0].p.Roots()), 0)
	})
	t.Run("each workspace and each generation has its own", func(t *testing.T) {
		f, spy := newSpied(t)
		bob := f.addUser("bob")
		f.put("/f", "x")
		f.stateAt("/f")
		l := f.lock("/f", lockns.Resource)
		f.stateAt("/f")
		_, err := f.RefreshLock(t.Context(), f.at("/f"), store.ByToken(l.Lock.Token), 2*time.Hour, f.me())
		must(t, err)
		wantEqual(t, "refreshed", f.stateAt("/f"), "direct exclusive 120m")
		_, err = f.LockState(t.Context(), at(bob, "/"))
		must(t, err)
		keys := map[cache.Key]bool{}
		for _, k := range spy.puts {
			keys[k.key] = true
		}
		wantEqual(t, "keys", len(keys), 4)
	})
	t.Run("an error at the point is the answer", func(t *testing.T) {
		f, _ := newSpied(t)
		stop := errors.New("stop")
		f.SetHook(func(_ context.Context, p store.Point) error {
			if p == store.Projecting {
				return stop
			}
			return nil
		})
		_, err := f.LockState(t.Context(), f.at("/"))
		wantError(t, err, stop)
	})
}

// TestProjectionGenerations: whatever happens while a projection is loaded, what
// is kept under a generation is what the locks were at it.
func TestProjectionGenerations(t *testing.T) {
	setup := func(t *testing.T) (*fixture, *spy) {
		f, spy := newSpied(t)
		for i := range 4 {
			f.put(fmt.Sprintf("/f%d", i), "x")
		}
		return f, spy
	}
	t.Run("a change meanwhile makes it read once more", func(t *testing.T) {
		f, spy := setup(t)
		passes := f.whenProjecting(func(pass int) {
			if pass == 1 {
				f.lock("/f0", lockns.Resource)
			}
		})
		wantEqual(t, "state", f.stateAt("/f0"), "direct exclusive 60m")
		wantEqual(t, "loads", *passes, 2)
		wantEqual(t, "fills", len(spy.puts), 1)
		wantEqual(t, "generation", spy.puts[0].key.Generation, f.generation(f.user))
	})
	t.Run("two changes meanwhile leave nothing behind", func(t *testing.T) {
		f, spy := setup(t)
		passes := f.whenProjecting(func(pass int) { f.lock(fmt.Sprintf("/f%d", pass), lockns.Resource) })
		wantEqual(t, "state", f.stateAt("/f1"), "direct exclusive 60m")
		wantEqual(t, "loads", *passes, 2)
		wantEqual(t, "fills", len(spy.puts), 0)
		f.SetHook(nil)
		wantEqual(t, "state of the next reader", f.stateAt("/f2"), "direct exclusive 60m")
		wantEqual(t, "fills then", len(spy.puts), 1)
	})
	t.Run("a hit of the second try is taken", func(t *testing.T) {
		f, spy := setup(t)
		nested := false
		passes := f.whenProjecting(func(int) {
			if !nested {
				nested = true
				f.lock("/f0", lockns.Resource)
				f.stateAt("/f0") // another reader fills the new generation
			}
		})
		wantEqual(t, "state", f.stateAt("/f0"), "direct exclusive 60m")
		wantEqual(t, "loads", *passes, 2)
		wantEqual(t, "fills", len(spy.puts), 1)
	})
	t.Run("a fill of an old generation does not reach the new one", func(t *testing.T) {
		f, spy := setup(t)
		f.stateAt("/f0")
		old := spy.puts[0]
		f.lock("/f0", lockns.Resource)
		f.stateAt("/f0")
		must(t, spy.Cache.Put(t.Context(), old.key, old.p, time.Minute)) // a reader that slept
		wantEqual(t, "state", f.stateAt("/f0"), "direct exclusive 60m")
	})
	t.Run("a change of the tree alone keeps the generation", func(t *testing.T) {
		f, spy := setup(t)
		f.lock("/f0", lockns.Resource)
		f.stateAt("/f0")
		f.mkdir("/new")
		f.put("/new/file", "x")
		wantEqual(t, "a new file", f.stateAt("/new/file"), "unlocked")
		wantEqual(t, "fills", len(spy.puts), 1)
	})
}

func TestProjectionTime(t *testing.T) {
	for _, c := range []struct {
		rule     string
		timeouts []time.Duration // 0: no end
		want     time.Duration   // 0: not kept
	}{
		{"without locks it is kept for five minutes", nil, 5 * time.Minute},
		{"a lock without end bounds nothing", []time.Duration{0}, 5 * time.Minute},
		{"a lock that ends later bounds nothing", []time.Duration{0, time.Hour}, 5 * time.Minute},
		{"the earliest end bounds it", []time.Duration{0, time.Hour, 90 * time.Second, 2 * time.Minute}, 90 * time.Second},
		{"at the earliest end it is not kept", []time.Duration{time.Hour, -1}, 0},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f, spy := newSpied(t)
			f.put("/f", "x")
			for _, timeout := range c.timeouts {
				if timeout < 0 {
					f.share("/f", lockns.Resource, time.Second)
					f.advance(time.Second) // at its end a lock is still active
					continue
				}
				f.share("/f", lockns.Resource, timeout)
			}
			wantEqual(t, "locked", f.stateAt("/f") != "unlocked", c.timeouts != nil)
			if c.want == 0 {
				wantEqual(t, "fills", len(spy.puts), 0)
				return
			}
			wantEqual(t, "kept for", spy.puts[0].ttl, c.want)
		})
	}
	t.Run("what was kept is asked at the time of the reader", func(t *testing.T) {
		f, spy := newSpied(t)
		f.mkdir("/d")
		f.put("/d/f", "x")
		f.share("/d", lockns.Infinity, time.Hour)
		f.share("/d/f", lockns.Resource, time.Minute)
		wantEqual(t, "before", f.stateAt("/d/f"), "direct shared 1m")
		f.advance(time.Minute)
		wantEqual(t, "at its end", f.stateAt("/d/f"), "direct shared 0m")
		f.advance(time.Microsecond)
		for path, s := range f.states("/d", store.DepthOne, store.Want{}) {
			wantEqual(t, path+" after it", s.Mode == lockns.Shared && s.ExpiresAt.After(f.now()), true)
		}
		f.advance(time.Hour)
		wantEqual(t, "after both", f.stateAt("/d/f"), "unlocked")
		wantEqual(t, "fills", len(spy.puts), 1)
	})
}

// TestProjectionFaults: whatever the cache does, answers are the database's, and
// the log tells of it once a minute.
func TestProjectionFaults(t *testing.T) {
	wrong := func(key cache.Key) (*lockns.Projection, error) {
		return lockns.NewProjection(key.Generation-1, nil), nil
	}
	for _, c := range []struct {
		name  string
		spoil func(*spy)
	}{
		{"every call fails", func(s *spy) { s.fault = errors.New("away") }},
		{"a value is of another generation", func(s *spy) { s.answer = wrong }},
		{"a value cannot be read", func(s *spy) {
			s.answer = func(cache.Key) (*lockns.Projection, error) { return nil, cache.ErrBadValue }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			s := &spy{Cache: cache.NewMemory()}
			f := newFixture(t, func(o *store.Options) { o.Cache, o.Log = s, slog.New(slog.NewTextHandler(&log, nil)) })
			f.put("/f", "x")
			f.lock("/f", lockns.Resource)
			wantEqual(t, "before", f.stateAt("/f"), "direct exclusive 60m")
			c.spoil(s)
			f.put("/g", "x")
			f.lock("/g", lockns.Resource)
			for range 5 {
				wantEqual(t, "while at fault", f.stateAt("/g"), "direct exclusive 60m")
			}
			wantEqual(t, "told", strings.Count(log.String(), "at fault"), 1)
			f.advance(time.Minute)
			f.stateAt("/g")
			f.stateAt("/g")
			wantEqual(t, "told after a minute", strings.Count(log.String(), "at fault"), 2)
		})
	}
}

// newRedis is a fixture whose cache is a Redis server of its own.
func newRedis(t *testing.T, log *bytes.Buffer) (*fixture, *cachetest.Server) {
	t.Helper()
	server := cachetest.StartRedis(t)
	return newFixture(t, func(o *store.Options) {
		o.Cache = cache.NewRedis(server.RedisOptions)
		o.Log = slog.New(slog.NewTextHandler(log, nil))
	}), server
}

func TestProjectionInRedis(t *testing.T) {
	var log bytes.Buffer
	f, server := newRedis(t, &log)
	f.put("/private", "x")
	spec := f.spec(lockns.Resource)
	spec.Owner = "<D:href xmlns:D='DAV:'>mailto:me@example</D:href>"
	l, err := f.Lock(t.Context(), f.at("/private"), spec, f.me())
	must(t, err)
	passes := f.whenProjecting(func(int) {})
	wantEqual(t, "first", f.stateAt("/private"), "direct exclusive 60m")
	wantEqual(t, "second", f.stateAt("/private"), "direct exclusive 60m")
	wantEqual(t, "loads", *passes, 1)

	var instance string
	must(t, f.database().QueryRow(`SELECT uuid FROM instance`).Scan(&instance))
	key := fmt.Sprintf("holdfast:%s:resource_lock_projection:v1:personal:%d:g:%d", instance, f.user.ID, f.generation(f.user))
	value, err := server.Do("GET", key)
	must(t, err)
	t.Run("the value holds the lock and no secret", func(t *testing.T) {
		wantEqual(t, "the id path", strings.Contains(value, l.Node.Place.Ancestry), true)
		for _, secret := range []string{l.Lock.Token, l.Lock.Token[9:], "urn:", "href", "mailto", "private", f.user.Name, "webdav"} {
			wantEqual(t, secret, strings.Contains(value, secret), false)
		}
	})
	t.Run("it goes with the first lock's end, in five minutes at most", func(t *testing.T) {
		reply, err := server.Do("PTTL", key)
		must(t, err)
		var ms int
		_, err = fmt.Sscanf(reply, ":%d", &ms)
		must(t, err)
		wantEqual(t, reply, ms > 200_000 && ms <= 300_000, true)
	})
	t.Run("a garbled value is replaced", func(t *testing.T) {
		_, err := server.Do("SET", key, "garbage")
		must(t, err)
		wantEqual(t, "state", f.stateAt("/private"), "direct exclusive 60m")
		again, err := server.Do("GET", key)
		must(t, err)
		wantEqual(t, "value", again, value)
	})
	t.Run("without the server nothing changes", func(t *testing.T) {
		server.Stop()
		begun := time.Now()
		for range 50 {
			wantEqual(t, "state", f.stateAt("/private"), "direct exclusive 60m")
		}
		wantEqual(t, "no waiting", time.Since(begun) < 5*time.Second, true)
		wantEqual(t, "told", strings.Count(log.String(), "at fault"), 1)
		wantEqual(t, "the password is not told", strings.Contains(log.String(), server.Password), false)
	})
}

// TestProjectionParity: in memory, in Redis and without any cache states are the
// same after each step of one story.
func TestProjectionParity(t *testing.T) {
	story := func(t *testing.T, c cache.Cache) (told []string) {
		f := newFixture(t, func(o *store.Options) { o.Cache = c })
		f.mkdir("/d")
		f.put("/d/f", "x")
		f.put("/g", "x")
		var l store.Locked
		for _, step := range []func(){
			func() {},
			func() { l = f.lock("/d", lockns.Infinity) },
			func() { f.share("/g", lockns.Resource, time.Minute) },
			func() { f.advance(time.Minute + 1000) },
			func() {
				_, err := f.RefreshLock(t.Context(), f.at("/d"), store.ByToken(l.Lock.Token), 3*time.Hour, f.me())
				must(t, err)
			},
			func() { must(t, f.Unlock(t.Context(), f.at("/d"), store.ByToken(l.Lock.Token), f.me())) },
			func() { f.share("/", lockns.Infinity, 0) },
		} {
			step()
			for range 2 { // filled, then hit
				told = append(told, f.stateAt("/"), f.stateAt("/d"), f.stateAt("/d/f"), f.stateAt("/g"))
			}
		}
		return told
	}
	none := story(t, &spy{Cache: cache.NewMemory(), fault: errors.New("away")})
	wantEqual(t, "states", len(none), 56)
	wantSlice(t, "in memory", story(t, cache.NewMemory()), none)
	wantSlice(t, "in Redis", story(t, cache.NewRedis(cachetest.StartRedis(t).RedisOptions)), none)
}
