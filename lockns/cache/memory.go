package cache

import (
	"context"
	"sync"
	"time"

	gocache "github.com/patrickmn/go-cache"
	"holdfast/lockns"
)

// What Memory holds at most, in lock roots; an entry counts as some roots more.
// That is some 50 MB.
const (
	memoryMax = 1 << 17
	entryCost = 4
)

// Memory is the cache of one process. It keeps the newest generation of each
// workspace, whole and decoded, and a bounded number of lock roots in all.
type Memory struct {
	mu      sync.Mutex // for what changes an entry: Put
	entries *gocache.Cache
	max     int // roots it may hold
	held    int // roots it holds
}

// NewMemory makes an empty cache.
func NewMemory() *Memory { return newMemory(memoryMax) }

func newMemory(most int) *Memory {
	// Without a cleaner of its own no goroutine outlives the cache; what has
	// expired goes when room is needed.
	m := &Memory{entries: gocache.New(gocache.NoExpiration, 0), max: most}
	m.entries.OnEvicted(func(_ string, v any) { m.held -= cost(v.(*lockns.Projection)) })
	return m
}

func cost(p *lockns.Projection) int { return entryCost + len(p.Roots()) }

// Get implements Cache.
func (m *Memory) Get(_ context.Context, key Key) (*lockns.Projection, error) {
	if p := m.entry(key); p != nil && p.Generation() == key.Generation {
		return p, nil
	}
	return nil, nil
}

// entry is what is kept of the key's workspace, of whatever generation. Since
// that is one entry, its generation need not be part of its name.
func (m *Memory) entry(key Key) *lockns.Projection {
	v, ok := m.entries.Get(key.scope() + key.workspace())
	if !ok {
		return nil
	}
	return v.(*lockns.Projection)
}

// Put implements Cache. A projection older than the one kept is not kept.
func (m *Memory) Put(_ context.Context, key Key, p *lockns.Projection, ttl time.Duration) error {
	if ttl <= 0 || p.Generation() != key.Generation || cost(p) > m.max {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.entry(key); old != nil && old.Generation() > p.Generation() {
		return nil
	}
	name := key.scope() + key.workspace()
	m.entries.Delete(name)
	m.makeRoom(cost(p))
	m.entries.Set(name, p, ttl)
	m.held += cost(p)
	return nil
}

// makeRoom drops what has expired and then any others, a quarter of all, so that
// it is not needed again soon.
func (m *Memory) makeRoom(roots int) {
	if m.held+roots <= m.max {
		return
	}
	m.entries.DeleteExpired()
	if m.held+roots <= m.max {
		return
	}
	for name := range m.entries.Items() {
		if m.held+roots <= m.max-m.max/4 {
			return
		}
		m.entries.Delete(name)
	}
}

// Close implements Cache.
func (m *Memory) Close() error { return nil }
