package store

import (
	"context"
	"sync"
)

// SetHook installs what happens at the points of changes; nil removes it.
func (s *Store) SetHook(hook func(context.Context, Point) error) {
	if hook == nil {
		s.hook.Store(nil)
		return
	}
	s.hook.Store(&hook)
}

// Barrier makes n callers meet at a point: each waits there until all have
// come. Later callers pass.
func Barrier(p Point, n int) func(context.Context, Point) error {
	var mu sync.Mutex
	left, open := n, make(chan struct{})
	return func(ctx context.Context, at Point) error {
		if at != p {
			return nil
		}
		mu.Lock()
		left--
		if left == 0 {
			close(open)
		}
		mu.Unlock()
		select {
		case <-open:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
