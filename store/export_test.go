package store

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
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

// OnWriter runs fn in a transaction of the writer, as a request of its own. exec
// runs a statement on the writer's connection, with a context that may interrupt
// it, which no statement of an operation has.
func (s *Store) OnWriter(ctx context.Context, fn func(exec func(ctx context.Context, query string, args ...any) error) error) error {
	return s.writer.do(ctx, func(c *conn) error {
		return fn(func(ctx context.Context, query string, args ...any) error {
			_, err := c.c.ExecContext(ctx, query, args...)
			return err
		})
	})
}

// WriterConnections is how many connections are open for the writer.
func (s *Store) WriterConnections() int { return s.db[0].Stats().OpenConnections }

// Waiting is how many requests are waiting for the writer to take them. An
// unbuffered channel cannot be asked, so the goroutines are.
func Waiting() int {
	buf := make([]byte, 1<<20)
	n := 0
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		state, frames, _ := strings.Cut(g, "\n")
		if strings.Contains(state, "[select") && strings.Contains(frames, "store.(*writer).do(") {
			n++
		}
	}
	return n
}

// Statements are the texts of all statements that the store has prepared so
// far. No other request may be under way.
func (s *Store) Statements() []string {
	all := map[string]bool{}
	collect := func(c *conn) error {
		if c != nil {
			for query := range c.stmts {
				all[query] = true
			}
		}
		return nil
	}
	if err := s.writer.do(context.Background(), collect); err != nil {
		panic(err)
	}
	for range cap(s.readers.idle) {
		c := <-s.readers.idle
		_ = collect(c)
		s.readers.idle <- c
	}
	return slices.Sorted(maps.Keys(all))
}

// SetMaxProjected changes how many active locks a projection is made of at most.
func (s *Store) SetMaxProjected(n int) {
	s.projections.max = n
	s.projections.crowded.Clear()
}

// Watch has every statement of the writer told to fn before it runs, until the
// returned function is called.
func (s *Store) Watch(fn func(query string, args []any)) (stop func()) {
	set := func(fn func(string, []any)) {
		err := s.writer.do(context.Background(), func(c *conn) error {
			c.seen = fn
			return nil
		})
		if err != nil {
			panic(err)
		}
	}
	set(fn)
	return func() { set(nil) }
}

// WatchReaders has every statement of the connections that only read told to fn
// before it runs, until the returned function is called. No other request may be
// under way.
func (s *Store) WatchReaders(fn func(query string)) (stop func()) {
	set := func(seen func(string, []any)) {
		for range cap(s.readers.idle) {
			c, err := s.readers.take(context.Background())
			if err != nil {
				panic(err)
			}
			c.seen = seen
			defer s.readers.put(c)
		}
	}
	set(func(query string, _ []any) { fn(query) })
	return func() { set(nil) }
}

// ReadersIdle reports whether all connections that read can be had at once before
// the context ends.
func (s *Store) ReadersIdle(ctx context.Context) bool {
	var taken []*conn
	defer func() {
		for _, c := range taken {
			s.readers.put(c)
		}
	}()
	for range cap(s.readers.idle) {
		c, err := s.readers.take(ctx)
		if err != nil {
			return false
		}
		taken = append(taken, c)
	}
	return true
}

// Hashing is how many requests compute checksums or wait for their turn.
func (s *Store) Hashing() (n int) {
	s.hashing.mu.Lock()
	defer s.hashing.mu.Unlock()
	for _, own := range s.hashing.turns {
		n += own.users
	}
	return n
}
