package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/blob"
	"holdfast/blob/blobtest"
	"holdfast/store"
)

func TestReadyAsksTheObjects(t *testing.T) {
	dir := t.TempDir()
	objects, err := blob.NewDir(filepath.Join(dir, "blobs"), blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var fault atomic.Pointer[func(context.Context) error]
	st, err := store.Open(t.Context(), store.Options{DB: "sqlite:" + filepath.Join(dir, "db"), NoSync: true,
		Blobs: &blobtest.Fault{Store: objects, Before: func(ctx context.Context, _ blobtest.Call) error {
			if fn := fault.Load(); fn != nil {
				return (*fn)(ctx)
			}
			return nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	s := &Server{store: st, log: slog.New(slog.NewTextHandler(log, nil))}
	probe := func(wait time.Duration, want int, body string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		w := httptest.NewRecorder()
		s.readyz(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil))
		if w.Code != want || w.Body.String() != body {
			t.Errorf("status %d, %q; want %d", w.Code, w.Body, want)
		}
	}
	probe(time.Minute, http.StatusOK, "ok\n")
	down := func(context.Context) error { return errors.New("secret of the inside") }
	fault.Store(&down)
	probe(time.Minute, http.StatusServiceUnavailable, "not ready\n")
	stuck := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	fault.Store(&stuck)
	start := time.Now()
	probe(50*time.Millisecond, http.StatusServiceUnavailable, "not ready\n")
	if took := time.Since(start); took > readyTimeout {
		t.Errorf("waited %v for an object store that does not answer", took)
	}
	fault.Store(nil)
	probe(time.Minute, http.StatusOK, "ok\n")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	probe(time.Minute, http.StatusServiceUnavailable, "not ready\n")
}

// TestReadyIsNotAskedEachTime: whoever probes as fast as they can costs a write
// now and then, no more, and a probe that was given up leaves nothing behind.
func TestReadyIsNotAskedEachTime(t *testing.T) {
	s, _ := assembled(t, nil)
	s.readiness.every = time.Hour
	probe := func(ctx context.Context) int {
		w := httptest.NewRecorder()
		s.readyz(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil))
		return w.Code
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if status := probe(gone); status != http.StatusServiceUnavailable {
		t.Errorf("status %d for who left", status)
	}
	if status := probe(t.Context()); status != http.StatusOK {
		t.Errorf("status %d after somebody left", status)
	}
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	if status := probe(t.Context()); status != http.StatusOK {
		t.Errorf("status %d: the store was asked again", status)
	}
	s.readiness.every = 0
	if status := probe(t.Context()); status != http.StatusServiceUnavailable {
		t.Errorf("status %d of a closed store", status)
	}
}
