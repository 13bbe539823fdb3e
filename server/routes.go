package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/mux"

	"holdfast/dav"
	"holdfast/server/rest"
	"holdfast/store"
)

// Where the caller's workspace and those of their teams are mounted, and where
// clients of ownCloud and Nextcloud look for the caller's.
const (
	davPrefix     = "/dav"
	teamsPrefix   = "/teams"
	filesPrefix   = "/remote.php/dav/files"
	legacyPrefix  = "/remote.php/webdav"
	uploadsPrefix = "/remote.php/dav/uploads"
)

// readyTimeout bounds how long /readyz waits for database and objects, readyEvery
// how often it asks them.
const (
	readyTimeout = 2 * time.Second
	readyEvery   = time.Second
)

// routes maps paths to doors. The router must not clean paths, for it would
// answer with a redirect that no client follows, nor decode them, for "/dav%2Fx"
// is no member of "/dav"; dav itself knows which URLs are its own. No route has
// methods; the doors know theirs.
func (s *Server) routes() http.Handler {
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	router.MatcherFunc(when(s.dav.Serves)).Handler(s.loginOrAnonymous(s.dav.Serve))
	router.MatcherFunc(when(s.dav.ServesTeams)).Handler(s.login(s.dav.Serve))
	router.MatcherFunc(when(s.dav.ServesRemote)).Handler(s.loginOrAnonymous(s.dav.Serve))
	router.MatcherFunc(when(isAPI)).Handler(s.api)
	router.Path("/").Handler(s.loginOrAnonymous(s.root))
	router.PathPrefix("/principals/").Handler(s.login(s.dav.ServePrincipal))
	router.Path("/healthz").HandlerFunc(s.healthz)
	router.Path("/readyz").HandlerFunc(s.readyz)
	router.NotFoundHandler = s.login(s.elsewhere)

	server := s.loginOrAnonymous(s.dav.ServeRoot)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// "OPTIONS *" asks about the server as a whole (RFC 9110 section
		// 9.3.7); a router knows paths only.
		if r.URL.Path == "*" {
			server.ServeHTTP(w, r)
			return
		}
		router.ServeHTTP(w, r)
	})
}

// when is a route for the requests that a door says are its own.
func when(serves func(*http.Request) bool) mux.MatcherFunc {
	return func(r *http.Request, _ *mux.RouteMatch) bool { return serves(r) }
}

// isAPI reports whether a request is for the API, which has its own login.
func isAPI(r *http.Request) bool {
	return r.URL.Path == rest.Prefix || strings.HasPrefix(r.URL.Path, rest.Prefix+"/")
}

// root is a page to a browser and the collection of the caller's mounts to a
// WebDAV client.
func (s *Server) root(w http.ResponseWriter, r *http.Request, who dav.Principal) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		s.servePage(w, r, who)
	default:
		s.dav.ServeRoot(w, r, who)
	}
}

// elsewhere is every path without a door. OPTIONS answers there too: clients
// ask it about folders above the one they mount, and give up on a 404.
func (s *Server) elsewhere(w http.ResponseWriter, r *http.Request, who dav.Principal) {
	if r.Method == http.MethodOptions {
		s.dav.ServeRoot(w, r, who)
		return
	}
	fail(w, http.StatusNotFound, "nothing here; files are below "+davPrefix+"/")
}

// healthz says that the process is alive, whatever its database does.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) { answerProbe(w, r, nil) }

// readyz says that requests can be served: the database takes changes and the
// objects answer.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	answerProbe(w, r, s.readiness.ask(r.Context(), s.store, s.log))
}

// readiness is what the store last said. Whoever probes needs no login, and to
// ask costs a write, so that it is not asked each time.
type readiness struct {
	every time.Duration // at most
	mu    sync.Mutex
	asked time.Time
	err   error
}

func (p *readiness) ask(ctx context.Context, st *store.Store, log *slog.Logger) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.asked) < p.every {
		return p.err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := st.Ping(ctx)
	if err != nil {
		log.WarnContext(ctx, "not ready", "err", err)
	}
	if !errors.Is(ctx.Err(), context.Canceled) { // which says something of who asked, not of the store
		p.asked, p.err = time.Now(), err
	}
	return err
}

func answerProbe(w http.ResponseWriter, r *http.Request, err error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		fail(w, http.StatusMethodNotAllowed, "only GET and HEAD")
		return
	}
	if err != nil {
		fail(w, http.StatusServiceUnavailable, "not ready")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n") // a client that left needs no answer
}

// TeamPath is the path of the URL that a team's workspace is mounted at.
func TeamPath(t store.Team) string { return teamsPrefix + "/" + dav.Segment(t.Name) + "/" }
