package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// assembled is a server with all its layers that listens and does not serve, so
// that a test can hand it requests of its making; the log is what it says.
func assembled(t *testing.T, change func(*Config)) (*Server, *logBuffer) {
	t.Helper()
	log := &logBuffer{}
	cfg := DefaultConfig()
	cfg.Addr, cfg.Data, cfg.Sync, cfg.AdminPassword = "127.0.0.1:0", t.TempDir(), "normal", "secret"
	cfg.Stdout, cfg.Stderr = io.Discard, log
	if change != nil {
		change(&cfg)
	}
	s, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, log
}

func TestLoginOfAClientThatLeft(t *testing.T) {
	s, log := assembled(t, nil)
	for _, c := range []struct {
		outcome string
		give    func(context.Context) (context.Context, context.CancelFunc)
	}{
		{"before its user is looked up", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}},
		{"while its password is compared", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			// A hash takes tens of milliseconds; one that is quicker all the
			// same is an ordinary 401.
			time.AfterFunc(5*time.Millisecond, cancel)
			return ctx, cancel
		}},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			ctx, cancel := c.give(t.Context())
			defer cancel()
			r := httptest.NewRequestWithContext(ctx, http.MethodOptions, "/dav/", nil)
			r.SetBasicAuth("admin", "wrong: "+c.outcome)
			w := httptest.NewRecorder()
			s.http.Handler.ServeHTTP(w, r)
			if w.Code != http.StatusBadRequest && w.Code != http.StatusUnauthorized {
				t.Errorf("status %d, %s", w.Code, w.Body)
			}
			if strings.Contains(log.String(), "level=ERROR") {
				t.Error(log)
			}
		})
	}
	if !strings.Contains(log.String(), "level=INFO msg=request") || !strings.Contains(log.String(), "status=400") {
		t.Error(log)
	}
}
