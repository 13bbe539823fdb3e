package cache_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/lockns/cache"
	"holdfast/lockns/cache/cachetest"
)

func TestMemory(t *testing.T) { cachetest.Run(t, cache.NewMemory()) }

func TestRedis(t *testing.T) { cachetest.Run(t, newRedis(t, cachetest.StartRedis(t).RedisOptions)) }

func newRedis(t *testing.T, o cache.RedisOptions) *cache.Redis {
	t.Helper()
	r := cache.NewRedis(o)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

func key(generation int64) cache.Key {
	return cache.Key{Instance: "i", Workspace: lockns.Workspace{Kind: lockns.Personal, ID: 7}, Generation: generation}
}

// TestKey pins the names: another spelling would be another cache.
func TestKey(t *testing.T) {
	for _, c := range []struct {
		key  cache.Key
		want string
	}{
		{key(3), "resource_lock_projection:v1:personal:7:g:3"},
		{cache.Key{Workspace: lockns.Workspace{Kind: lockns.Team, ID: 12}, Generation: 0}, "resource_lock_projection:v1:team:12:g:0"},
	} {
		if got := c.key.String(); got != c.want {
			t.Errorf("key %q, want %q", got, c.want)
		}
	}
}

func TestRedisKey(t *testing.T) {
	s := cachetest.StartRedis(t)
	r := newRedis(t, s.RedisOptions)
	must(t, r.Put(t.Context(), cache.Key{
		Instance: "1b4e", Workspace: lockns.Workspace{Kind: lockns.Team, ID: 12}, Generation: 3,
	}, cachetest.Locks(3), time.Minute))
	reply, err := s.Do("KEYS", "*")
	must(t, err)
	if _, name, _ := strings.Cut(reply, "\r\n$"); !strings.Contains(name, "\r\nholdfast:1b4e:resource_lock_projection:v1:team:12:g:3\r\n") {
		t.Errorf("keys %q", reply)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRedisFaults: a server that is away or silent costs one bounded wait, then
// none for some seconds.
func TestRedisFaults(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never answers
	must(t, err)
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, closed.Close())
	for _, c := range []struct{ name, addr string }{
		{"a server that refuses", closed.Addr().String()},
		{"a server that does not answer", silent.Addr().String()},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRedis(t, cache.RedisOptions{Addr: c.addr})
			begun := time.Now()
			if _, err := r.Get(t.Context(), key(1)); err == nil {
				t.Error("no error")
			}
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			begun = time.Now()
			for range 100 {
				if p, err := r.Get(t.Context(), key(1)); p != nil || err != nil {
					t.Fatalf("while resting: %v, %v", p, err)
				}
				must(t, r.Put(t.Context(), key(1), cachetest.Locks(1), time.Minute))
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("200 calls to a resting server took %v", took)
			}
		})
	}
}

func TestRedisTriesAgain(t *testing.T) {
	s := cachetest.StartRedis(t)
	r := newRedis(t, s.RedisOptions)
	must(t, r.Put(t.Context(), key(1), cachetest.Locks(1), time.Minute))
	r.Fault()
	if p, err := r.Get(t.Context(), key(1)); p != nil || err != nil {
		t.Fatalf("while resting: %v, %v", p, err)
	}
	r.EndRest()
	if p, err := r.Get(t.Context(), key(1)); p == nil || err != nil {
		t.Fatalf("after the rest: %v, %v", p, err)
	}
	if p, err := r.Get(t.Context(), key(1)); p == nil || err != nil {
		t.Fatalf("after an answer: %v, %v", p, err)
	}
}

// TestRedisOneTriesAgain: when the rest is over and the server still hangs, one
// caller waits, the others do not.
func TestRedisOneTriesAgain(t *testing.T) {
	r := newRedis(t, cache.RedisOptions{Addr: "127.0.0.1:1"})
	r.Fault()
	r.EndRest()
	if !r.Ready() {
		t.Error("nobody may try again")
	}
	if r.Ready() {
		t.Error("a second caller may try while the first does")
	}
}

// TestRedisCallerGone: who stops waiting says nothing of the server.
func TestRedisCallerGone(t *testing.T) {
	s := cachetest.StartRedis(t)
	r := newRedis(t, s.RedisOptions)
	must(t, r.Put(t.Context(), key(1), cachetest.Locks(1), time.Minute))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if p, err := r.Get(gone, key(1)); p != nil || err != nil {
		t.Errorf("for a caller who went: %v, %v", p, err)
	}
	if p, err := r.Get(t.Context(), key(1)); p == nil || err != nil {
		t.Errorf("for the next caller: %v, %v", p, err)
	}
}

func TestRedisBadValue(t *testing.T) {
	s := cachetest.StartRedis(t)
	r := newRedis(t, s.RedisOptions)
	for _, value := range []string{"", "garbage", "\x02\x02\x00", `{"generation":1}`, strings.Repeat("\x01", 1000)} {
		_, err := s.Do("SET", "holdfast:i:"+key(1).String(), value)
		must(t, err)
		if p, err := r.Get(t.Context(), key(1)); p != nil || err == nil {
			t.Errorf("value %q gave %v, %v", value, p, err)
		}
	}
	// The next fill mends it, at once.
	must(t, r.Put(t.Context(), key(1), cachetest.Locks(1), time.Minute))
	if p, err := r.Get(t.Context(), key(1)); p == nil || err != nil {
		t.Errorf("after a fill: %v, %v", p, err)
	}
}

func TestParseRedisURL(t *testing.T) {
	for _, c := range []struct {
		text string
		want cache.RedisOptions
	}{
		{"redis://127.0.0.1:6380/2", cache.RedisOptions{Addr: "127.0.0.1:6380", DB: 2}},
		{"redis://cache.example", cache.RedisOptions{Addr: "cache.example:6379"}},
		{"redis://:hush%2F%3A@[::1]:6379/0", cache.RedisOptions{Addr: "[::1]:6379", Password: "hush/:"}},
	} {
		got, err := cache.ParseRedisURL(c.text)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, error %v", c.text, got, err)
		}
	}
	for _, text := range []string{
		"", "redis:", "redis://", "redis://:hush@", "rediss://:hush@h:1/0", "http://:hush@h", "unix:///hush", "redis://:hush@h:port/0",
		"redis://:hush@h:0/0", "redis://:hush@h:65536/0",
		"redis://:hush@h:1/x", "redis://:hush@h:1/-1", "redis://:hush@h:1/0/1", "redis://who:hush@h:1/0", "redis://:hush@h:1/0?db=2", "redis://:hush%@h",
	} {
		_, err := cache.ParseRedisURL(text)
		if err == nil {
			t.Errorf("%q was taken", text)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("%q tells the password", err)
		}
	}
}
