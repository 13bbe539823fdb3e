package cache

import (
	"testing"
	"time"

	"holdfast/lockns"
)

func memoryKey(workspace, generation int64) Key {
	return Key{Instance: "i", Workspace: lockns.Workspace{Kind: lockns.Personal, ID: workspace}, Generation: generation}
}

func rootsOf(generation int64, n int) *lockns.Projection {
	return lockns.NewProjection(generation, make([]lockns.ProjectedRoot, n))
}

func put(t *testing.T, m *Memory, key Key, p *lockns.Projection, ttl time.Duration) {
	t.Helper()
	if err := m.Put(t.Context(), key, p, ttl); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, item := range m.entries.Items() {
		held += cost(item.Object.(*lockns.Projection))
	}
	if ttl > time.Minute && held != m.held { // none has expired
		t.Fatalf("holds %d roots, counted %d", held, m.held)
	}
	if m.held > m.max {
		t.Fatalf("holds %d roots of at most %d", m.held, m.max)
	}
}

func TestMemoryKeepsOneGeneration(t *testing.T) {
	m := newMemory(1000)
	for generation := range int64(100) {
		put(t, m, memoryKey(1, generation), rootsOf(generation, 3), time.Hour)
	}
	if n := m.entries.ItemCount(); n != 1 || m.held != 3+entryCost {
		t.Errorf("%d entries of %d roots", n, m.held)
	}
	if p, _ := m.Get(t.Context(), memoryKey(1, 99)); p == nil {
		t.Error("the newest generation is gone")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newMemory(1000)
	for workspace := range int64(500) {
		put(t, m, memoryKey(workspace, 1), rootsOf(1, int(workspace%40)), time.Hour)
		if p, _ := m.Get(t.Context(), memoryKey(workspace, 1)); p == nil {
			t.Fatal("the last one put is not there")
		}
	}
	if m.held < 500 {
		t.Errorf("only %d roots of 1000 are left", m.held)
	}
	put(t, m, memoryKey(1, 2), rootsOf(2, 1000), time.Hour)
	if p, _ := m.Get(t.Context(), memoryKey(1, 2)); p != nil {
		t.Error("one larger than the whole cache was kept")
	}
}

func TestMemoryDropsTheExpiredFirst(t *testing.T) {
	m := newMemory(100)
	put(t, m, memoryKey(1, 1), rootsOf(1, 40), time.Hour)
	put(t, m, memoryKey(2, 1), rootsOf(1, 40), time.Millisecond)
	time.Sleep(5 * time.Millisecond)
	put(t, m, memoryKey(3, 1), rootsOf(1, 40), time.Hour)
	if p, _ := m.Get(t.Context(), memoryKey(1, 1)); p == nil {
		t.Error("one was dropped although another had expired")
	}
}

// TestMemoryTakesOnlyItsGeneration: an answer of another generation than the key's
// is not kept, whoever made it.
func TestMemoryTakesOnlyItsGeneration(t *testing.T) {
	m := NewMemory()
	put(t, m, memoryKey(1, 2), rootsOf(1, 1), time.Hour)
	if n := m.entries.ItemCount(); n != 0 {
		t.Errorf("%d entries", n)
	}
}
