package server

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// maxLoggedPath is how many bytes of a path the access line shows.
const maxLoggedPath = 1024

// handler puts the layers in order, the outermost last.
func (s *Server) handler(h http.Handler) http.Handler {
	h = s.preflight(h)   // before any login, behind everything that refuses
	h = s.guard(h)       // after target: what it logs and refuses is well-formed
	h = target(h)        // before any door looks at the path
	h = s.crossOrigin(h) // before anything answers, refusals too
	h = harden(h)        // likewise
	h = s.observe(h)     // sees every answer, recovers every panic, sets the pace
	return h
}

// observe wraps the ResponseWriter, gives the request an id and logs it when it
// is over. It never logs headers or bodies: they hold passwords, lock tokens
// and owners.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		start := time.Now()
		w := &response{ResponseWriter: plain, control: http.NewResponseController(plain), id: rand.Text()[:16], streams: r.ProtoMajor >= 2}
		w.Header().Set("X-Request-Id", w.id)
		r = pace(w, r)
		defer func() {
			thrown := recover()
			abort := s.recovered(w, r, thrown)
			s.logRequest(w, r, time.Since(start))
			if abort {
				panic(http.ErrAbortHandler) // net/http closes the connection
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// recovered ends the answer. After a panic that is a 500 without text, or, when
// the header is out already, no proper end, so that the client cannot take the
// part it has for the whole. It reports whether to abort.
func (s *Server) recovered(w *response, r *http.Request, thrown any) (abort bool) {
	if thrown == nil {
		w.end()
		return false
	}
	if err, ok := thrown.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	s.log.Error("panic", "id", w.id, "method", r.Method, "panic", thrown, "stack", string(debug.Stack()))
	if w.status != 0 {
		return true
	}
	clear(w.Header())
	w.Header().Set("X-Request-Id", w.id)
	w.WriteHeader(http.StatusInternalServerError)
	w.end()
	return false
}

func (s *Server) logRequest(w *response, r *http.Request, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case isFault(w.status):
		level = slog.LevelError
	case isProbe(r.URL.Path):
		level = slog.LevelDebug
	}
	var read int64
	if w.body != nil {
		read = w.body.read
	}
	s.log.Log(r.Context(), level, "request", "id", w.id, "method", r.Method, "path", shorten(r.URL.EscapedPath()),
		"status", w.status, "user", w.user, "remote", s.origins.client(r), "in", read, "out", w.written,
		"ms", took.Milliseconds())
}

// isFault reports whether a status tells of a fault of this server. A method
// that is unknown (501), a Destination on another server (502) and a full quota
// (507) are between the client and its request.
func isFault(status int) bool {
	switch status {
	case http.StatusNotImplemented, http.StatusBadGateway, http.StatusInsufficientStorage:
		return false
	}
	return status >= 500
}

// shorten keeps a path of the client's choosing from filling the log.
func shorten(path string) string {
	if len(path) <= maxLoggedPath {
		return path
	}
	return path[:maxLoggedPath] + "..."
}

func isProbe(path string) bool { return path == "/healthz" || path == "/readyz" }

// harden keeps what users stored from acting as this server's pages: a browser
// takes it for what Content-Type says, runs no script of it, and gives it to no
// other site. Doors with pages of their own set another policy. The resource
// policy is about what pages embed; what they fetch is for crossOrigin to allow.
func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "sandbox")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// target refuses a raw '#' in the request target (RFC 9112 section 3.2): no
// client means the name it would make, and net/http puts it into the path.
func target(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.RequestURI, "#") {
			fail(w, http.StatusBadRequest, "a '#' in the request target must be sent as %23")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// guard keeps an anonymous server to the programs of its own machine.
func (s *Server) guard(next http.Handler) http.Handler {
	if !s.cfg.Anonymous {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkAnonymous(r); err != nil {
			fail(w, http.StatusForbidden, "this server answers only programs of its own machine: "+err.Error())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// fail answers with a status and a line of text for people.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, text, status)
}
