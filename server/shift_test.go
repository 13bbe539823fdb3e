package server

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/store"
)

// pair is two stores on one database, as two processes have; the clock of the
// second goes ahead.
func pair(t *testing.T, ahead time.Duration) (first, second *store.Store) {
	t.Helper()
	dir := t.TempDir()
	return opened(t, dir, nil), opened(t, dir, func() time.Time { return time.Now().Add(ahead) })
}

// gate is a round that others can be seen to wait for: it stays until it is
// opened or its context ends.
type gate struct {
	entered, left atomic.Int64
	open          chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) round(ctx context.Context) (int, error) {
	g.entered.Add(1)
	defer g.left.Add(1)
	select {
	case <-g.open:
		return 0, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func TestOneJanitorWorks(t *testing.T) {
	t.Run("and others come to it in vain, however long it takes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second := pair(t, 0)
			g := newGate()
			defer startedOn(first, io.Discard, job{name: "long", every: time.Hour, first: true, round: g.round})()
			synctest.Wait()
			if g.entered.Load() != 1 {
				t.Fatal("the first is not at work")
			}
			var rounds atomic.Int64
			defer startedOn(second, io.Discard, job{name: "often", every: time.Minute, first: true, round: counting(&rounds)})()
			time.Sleep(jobTimeout - time.Minute) // nine times nine renewals
			if rounds.Load() != 0 || g.left.Load() != 0 {
				t.Fatalf("%d rounds beside the first, which ended %d times", rounds.Load(), g.left.Load())
			}
			close(g.open)
			time.Sleep(3 * time.Minute)
			if rounds.Load() == 0 {
				t.Error("no round when the first was done")
			}
		})
	})
	t.Run("and who was called looks again soon", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second := pair(t, 0)
			g := newGate()
			defer startedOn(first, io.Discard, job{name: "long", every: time.Hour, first: true, round: g.round})()
			synctest.Wait()
			var purges, others atomic.Int64
			signal := make(chan struct{}, 1)
			defer startedOn(second, io.Discard,
				job{name: "purge", every: time.Hour, signal: signal, round: counting(&purges)},
				job{name: "other", every: time.Hour, first: true, round: counting(&others)})()
			signal <- struct{}{}
			time.Sleep(time.Minute)
			if purges.Load() != 0 {
				t.Fatal("purges beside the first")
			}
			close(g.open)
			time.Sleep(2 * lookAgain)
			if purges.Load() != 1 || others.Load() != 0 {
				t.Errorf("%d purges and %d others soon after, want 1 and 0", purges.Load(), others.Load())
			}
		})
	})
	t.Run("of many, and each has its turn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second := pair(t, 0)
			var inside, overlaps atomic.Int64
			var turns [2]atomic.Int64
			for i, st := range []*store.Store{first, second} {
				defer startedOn(st, io.Discard, job{name: "often", every: time.Minute, first: true, round: func(context.Context) (int, error) {
					if inside.Add(1) > 1 {
						overlaps.Add(1)
					}
					turns[i].Add(1)
					time.Sleep(rand.N(3 * time.Minute))
					inside.Add(-1)
					return 0, nil
				}})()
			}
			time.Sleep(5 * time.Hour)
			if overlaps.Load() != 0 || turns[0].Load() < 10 || turns[1].Load() < 10 {
				t.Errorf("%d overlaps in %d and %d rounds", overlaps.Load(), turns[0].Load(), turns[1].Load())
			}
		})
	})
}

func TestShiftOfTheDeadLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := pair(t, 0)
		dead, err := first.TryLock(t.Context(), shiftLock, "dead", shiftTime)
		if err != nil || dead == nil {
			t.Fatal(dead, err)
		}
		var purges atomic.Int64
		signal := make(chan struct{}, 1)
		signal <- struct{}{}
		defer startedOn(second, io.Discard, job{name: "purge", every: time.Hour, signal: signal, round: counting(&purges)})()
		time.Sleep(shiftTime - time.Second)
		if purges.Load() != 0 {
			t.Error("taken over before it lapsed")
		}
		time.Sleep(time.Second + 2*lookAgain)
		if purges.Load() != 1 {
			t.Errorf("%d purges after it lapsed, want 1", purges.Load())
		}
	})
}

// TestLostShift: who is no longer alone stops.
func TestLostShift(t *testing.T) {
	t.Run("ends the round when another took it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, second := pair(t, 2*shiftTime)
			var log strings.Builder
			g := newGate()
			stop := startedOn(first, &log, job{name: "long", every: time.Hour, first: true, round: g.round})
			synctest.Wait()
			taken, err := second.TryLock(t.Context(), shiftLock, "other", time.Hour)
			if err != nil || taken == nil {
				t.Fatal(taken, err)
			}
			time.Sleep(shiftTime / 3)
			synctest.Wait()
			if g.left.Load() != 1 {
				t.Error("works on beside another")
			}
			stop()
			if held, err := taken.Renew(t.Context(), time.Hour); err != nil || !held {
				t.Errorf("the other's shift was given back: %v, %v", held, err)
			}
			if !strings.Contains(log.String(), "lost") || strings.Contains(log.String(), "upkeep failed") {
				t.Errorf("log %q", log.String())
			}
		})
	})
	t.Run("ends the round when it cannot be renewed in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			first, _ := pair(t, 0)
			start := time.Now()
			g := newGate()
			stop := startedOn(first, io.Discard, job{name: "long", every: time.Hour, first: true, round: g.round})
			time.Sleep(shiftTime + shiftTime/2) // renewed at 20, 40, 60 and 80 seconds
			if g.left.Load() != 0 {
				t.Fatal("ended although it was renewed")
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(start.Add(4*shiftTime/3 + shiftTime - time.Second)))
			if g.left.Load() != 0 {
				t.Error("ended before it lapsed")
			}
			time.Sleep(2 * time.Second)
			if g.left.Load() != 1 {
				t.Error("works on after it lapsed")
			}
			stop()
		})
	})
}

func TestShiftIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := pair(t, 0)
		free := func(when string) {
			t.Helper()
			l, err := second.TryLock(t.Context(), shiftLock, "other", shiftTime)
			if err != nil || l == nil {
				t.Fatalf("not free %s: %v", when, err)
			}
			if _, err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var rounds atomic.Int64
		g := newGate()
		stop := startedOn(first, io.Discard,
			job{name: "short", every: time.Hour, first: true, round: counting(&rounds)},
			job{name: "long", every: 3 * time.Hour, round: g.round})
		synctest.Wait()
		if rounds.Load() != 1 {
			t.Fatal("no round")
		}
		free("after a round")
		for g.entered.Load() == 0 {
			time.Sleep(time.Minute)
		}
		if g.left.Load() != 0 {
			t.Fatal("not in the middle of a round")
		}
		stop()
		free("after the end in the middle of a round")
	})
}
