package cachetest

import (
	"crypto/rand"
	"reflect"
	"sync"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/lockns/cache"
)

// Run holds a cache to what package cache promises of every one.
func Run(t *testing.T, c cache.Cache) {
	for _, test := range []struct {
		rule string
		run  func(*suite)
	}{
		{"what was not put is not there", (*suite).absent},
		{"what was put comes back whole", (*suite).present},
		{"a workspace without locks is a hit", (*suite).empty},
		{"what is put again replaces", (*suite).replaced},
		{"generations do not mix", (*suite).generations},
		{"an old generation put late does not reach the new one", (*suite).late},
		{"workspaces and instances do not mix", (*suite).apart},
		{"nothing is kept longer than asked", (*suite).expires},
		{"without time to keep it nothing is kept", (*suite).noTime},
		{"many may read and write at once", (*suite).concurrent},
	} {
		t.Run(test.rule, func(t *testing.T) {
			test.run(&suite{T: t, c: c, key: cache.Key{
				Instance: rand.Text(), Workspace: lockns.Workspace{Kind: lockns.Personal, ID: 7}, Generation: 5,
			}})
		})
	}
}

// suite is one test: a cache, and a key that no other test has.
type suite struct {
	*testing.T
	c   cache.Cache
	key cache.Key
}

// Locks is a projection with roots of every kind, depth, mode and kind of end.
func Locks(generation int64) *lockns.Projection {
	root := lockns.RootPlace(1)
	end := time.Date(2040, 1, 2, 3, 4, 5, 678_000, time.UTC)
	return lockns.NewProjection(generation, []lockns.ProjectedRoot{
		{Place: root, Depth: lockns.Resource, Mode: lockns.Shared},
		{Place: root.Folder(5), Depth: lockns.Infinity, Mode: lockns.Shared, ExpiresAt: end},
		{Place: root.Folder(5), Depth: lockns.Infinity, Mode: lockns.Shared, ExpiresAt: end.Add(time.Hour)},
		{Place: root.Folder(1 << 40).File(9), Depth: lockns.Resource, Mode: lockns.Exclusive, ExpiresAt: end},
		{Place: root.Folder(6).File(10), Depth: lockns.Infinity, Mode: lockns.Exclusive},
	})
}

func (s *suite) put(key cache.Key, p *lockns.Projection, ttl time.Duration) {
	s.Helper()
	if err := s.c.Put(s.Context(), key, p, ttl); err != nil {
		s.Fatalf("put: %v", err)
	}
}

func (s *suite) get(key cache.Key) *lockns.Projection {
	s.Helper()
	p, err := s.c.Get(s.Context(), key)
	if err != nil {
		s.Fatalf("get: %v", err)
	}
	return p
}

// want fails the test unless this is what is kept under the key; nil is nothing.
func (s *suite) want(key cache.Key, want *lockns.Projection) {
	s.Helper()
	got := s.get(key)
	switch {
	case got == nil && want == nil:
	case got == nil || want == nil:
		s.Errorf("%s: got %v, want %v", key, got, want)
	case got.Generation() != want.Generation() || !got.FirstEnd().Equal(want.FirstEnd()):
		s.Errorf("%s: generation %d, first end %v", key, got.Generation(), got.FirstEnd())
	case len(got.Roots()) != len(want.Roots()) || len(got.Roots()) > 0 && !reflect.DeepEqual(got.Roots(), want.Roots()):
		s.Errorf("%s: roots %v, want %v", key, got.Roots(), want.Roots())
	}
}

func (s *suite) absent() { s.want(s.key, nil) }

func (s *suite) present() {
	p := Locks(5)
	s.put(s.key, p, time.Minute)
	s.want(s.key, p)
	s.want(s.key, p) // reading takes nothing away
}

func (s *suite) empty() {
	p := lockns.NewProjection(5, nil)
	s.put(s.key, p, time.Minute)
	s.want(s.key, p)
}

func (s *suite) replaced() {
	s.put(s.key, Locks(5), time.Minute)
	p := lockns.NewProjection(5, Locks(5).Roots()[1:3])
	s.put(s.key, p, time.Minute)
	s.want(s.key, p)
}

// older and newer are the key of the generations beside.
func (s *suite) older() cache.Key { k := s.key; k.Generation--; return k }
func (s *suite) newer() cache.Key { k := s.key; k.Generation++; return k }

func (s *suite) generations() {
	s.put(s.key, Locks(5), time.Minute)
	s.want(s.older(), nil)
	s.want(s.newer(), nil)
	s.put(s.newer(), lockns.NewProjection(6, nil), time.Minute)
	s.want(s.newer(), lockns.NewProjection(6, nil))
}

func (s *suite) late() {
	s.put(s.key, Locks(5), time.Minute)
	s.put(s.older(), lockns.NewProjection(4, nil), time.Minute)
	s.want(s.key, Locks(5))
}

func (s *suite) apart() {
	s.put(s.key, Locks(5), time.Minute)
	for _, change := range []func(*cache.Key){
		func(k *cache.Key) { k.Instance = rand.Text() },
		func(k *cache.Key) { k.Workspace.Kind = lockns.Team },
		func(k *cache.Key) { k.Workspace.ID = 77 },
		func(k *cache.Key) { k.Workspace.ID, k.Generation = 75, 5 },
	} {
		other := s.key
		change(&other)
		s.want(other, nil)
		s.put(other, lockns.NewProjection(other.Generation, nil), time.Minute)
	}
	s.want(s.key, Locks(5))
}

func (s *suite) expires() {
	s.put(s.key, Locks(5), 40*time.Millisecond)
	begun := time.Now()
	for s.get(s.key) != nil {
		if time.Since(begun) > 5*time.Second {
			s.Fatal("still there long after its time")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (s *suite) noTime() {
	for _, ttl := range []time.Duration{0, -1, -time.Hour} {
		s.put(s.key, Locks(5), ttl)
		s.want(s.key, nil)
	}
}

func (s *suite) concurrent() {
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for generation := range int64(50) {
				key := s.key
				key.Generation = generation + int64(i%2)
				if err := s.c.Put(s.Context(), key, Locks(key.Generation), time.Minute); err != nil {
					s.Errorf("put: %v", err)
				}
				p, err := s.c.Get(s.Context(), key)
				if err != nil || p != nil && p.Generation() != key.Generation {
					s.Errorf("got %v, error %v", p, err)
				}
			}
		})
	}
	wg.Wait()
}
