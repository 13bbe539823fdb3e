package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/blob"
	"holdfast/store"
)

// opened is a store that is closed at the end of the test. now may be nil.
func opened(t *testing.T, dir string, now func() time.Time) *store.Store {
	t.Helper()
	objects, err := blob.NewDir(filepath.Join(dir, "blobs"), blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), store.Options{
		DB: "sqlite:" + filepath.Join(dir, "holdfast.db"), Blobs: objects, NoSync: true, Now: now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// started runs a janitor in the bubble and returns how to stop it.
func started(t *testing.T, log io.Writer, list ...job) (stop func()) {
	t.Helper()
	return startedOn(opened(t, t.TempDir(), nil), log, list...)
}

func startedOn(st *store.Store, log io.Writer, list ...job) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	j := newJanitor(slog.New(slog.NewTextHandler(log, nil)), st, list)
	done.Go(func() { j.run(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

func counting(n *atomic.Int64) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		n.Add(1)
		return 0, nil
	}
}

func TestJanitorKeepsItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var often, seldom atomic.Int64
		stop := started(t, io.Discard,
			job{name: "seldom", every: time.Hour, round: counting(&seldom)},
			job{name: "often", every: time.Minute, first: true, round: counting(&often)})
		synctest.Wait()
		if often.Load() != 1 || seldom.Load() != 0 {
			t.Errorf("at start: %d and %d rounds, want 1 and 0", often.Load(), seldom.Load())
		}
		time.Sleep(10 * time.Hour)
		// A tenth more or less either way.
		if n := often.Load(); n < 545 || n > 668 {
			t.Errorf("%d rounds of a minute in ten hours", n)
		}
		if n := seldom.Load(); n < 9 || n > 11 {
			t.Errorf("%d rounds of an hour in ten hours", n)
		}
		stop()
		before := often.Load()
		time.Sleep(time.Hour)
		if often.Load() != before {
			t.Error("works on after the end")
		}
	})
}

func TestJanitorWorksUntilNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 7
		stop := started(t, io.Discard, job{name: "purge", every: time.Hour, first: true, round: func(context.Context) (int, error) {
			if left == 0 {
				return 0, nil
			}
			left--
			return 1, nil
		}})
		synctest.Wait()
		stop()
		if left != 0 {
			t.Errorf("%d left", left)
		}
	})
}

func TestJanitorHearsTheSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rounds, other atomic.Int64
		signal := make(chan struct{}, 1)
		stop := started(t, io.Discard,
			job{name: "other", every: time.Hour, round: counting(&other)},
			job{name: "purge", every: time.Hour, signal: signal, round: counting(&rounds)})
		signal <- struct{}{}
		synctest.Wait()
		if rounds.Load() != 1 || other.Load() != 0 {
			t.Errorf("%d and %d rounds at the signal, want 1 and 0", rounds.Load(), other.Load())
		}
		stop()
	})
}

func TestJanitorLogsAndLivesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var tries atomic.Int64
		stop := started(t, &log, job{name: "purge", every: time.Hour, first: true, round: func(context.Context) (int, error) {
			tries.Add(1)
			return 0, errors.New("disk on fire")
		}})
		synctest.Wait()
		if tries.Load() != 1 {
			t.Errorf("%d tries at once: a failure must wait", tries.Load())
		}
		time.Sleep(2 * time.Hour)
		stop()
		if tries.Load() < 2 {
			t.Error("gave up after a failure")
		}
		if !strings.Contains(log.String(), "disk on fire") {
			t.Error("said nothing")
		}
	})
}

func TestJanitorEndsInTheMiddleOfARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		stop := started(t, &log, job{name: "purge", every: time.Hour, first: true, round: func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}})
		synctest.Wait()
		stop() // hangs when the round does not hear of it
		if log.Len() > 0 {
			t.Errorf("an end that was asked for is logged: %s", log.String())
		}
	})
}

func TestJanitorBoundsARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var took time.Duration
		stop := started(t, io.Discard, job{name: "stuck", every: time.Hour, first: true, round: func(ctx context.Context) (int, error) {
			<-ctx.Done()
			took = time.Since(start)
			return 0, ctx.Err()
		}})
		time.Sleep(30 * time.Minute)
		stop()
		if took != jobTimeout {
			t.Errorf("a stuck round took %v, want %v", took, jobTimeout)
		}
	})
}

// TestPruningIsAJob: versions and the audit log are pruned by age where they have
// one.
func TestPruningIsAJob(t *testing.T) {
	st, err := Storage{Data: t.TempDir()}.OpenStore(t.Context(), true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, age := range []Duration{0, 1} {
		all := jobs(st, nil, &Config{VersionsAge: age, AuditAge: age})
		for name, want := range map[string]bool{
			"prune uploads": true, "prune sessions": true, "prune versions": age > 0, "prune audit log": age > 0,
		} {
			if listed := slices.ContainsFunc(all, func(j job) bool { return j.name == name && j.first }); listed != want {
				t.Errorf("age %v: %s listed %v", age, name, listed)
			}
		}
	}
}
