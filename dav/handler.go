package dav

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// Options configure a Handler.
type Options struct {
	Store *store.Store
	// Prefix is the URL path, without a final slash, of the caller's own mount:
	// "/dav".
	Prefix string
	// TeamsPrefix is the URL path, without a final slash, below which each team
	// of the caller has a mount of its name: "/teams". "" is none.
	TeamsPrefix string
	// FilesPrefix is the URL path, without a final slash, below which the
	// caller's own mount has a second URL, of the caller's name, as clients of
	// ownCloud and Nextcloud spell it: "/remote.php/dav/files". LegacyPrefix is
	// what the same was called before it had a name in it: "/remote.php/webdav".
	// "" is none.
	FilesPrefix, LegacyPrefix string
	// UploadsPrefix is the URL path, without a final slash, below which the caller
	// sends files in pieces, again behind their name: "/remote.php/dav/uploads".
	UploadsPrefix string
	// Log receives the causes of 5xx answers. Nil discards them.
	Log *slog.Logger
	// LockDefault is granted to a LOCK without a usable Timeout, LockMax is
	// the longest time granted to any. 0 is a day and seven days.
	LockDefault, LockMax time.Duration
	// PropfindMax is how many entries a PROPFIND may list; 0 is no limit.
	PropfindMax int
	// MaxBody is how many bytes a PUT may send; 0 is no limit.
	MaxBody int64
	// BlockedNames are names that no path may have in any segment.
	BlockedNames []string
	// Origin reports whether scheme ("http" or "https") and host (lower case,
	// without default port) are an address this server is known under. Nil
	// accepts the request's own Host.
	Origin func(r *http.Request, scheme, host string) bool
	// External is the path, escaped and without a final slash, that a proxy
	// strips of the URLs of a request's client: it stands before every path that
	// goes out, and may stand before those that come in in Destination and If.
	// Nil is none.
	External func(*http.Request) string
	// Now is the store's clock, by which the rest of a lock's time is shown.
	// Nil is time.Now.
	Now func() time.Time
}

// Principal is who a request is from and what the login opens to them.
type Principal struct {
	UserID int64
	// Account is the id of the app password that the login is by; 0 is the
	// user's own password. It is asked again in the transaction of each change.
	Account   int64
	Name      string
	Anonymous bool
	// Workspace is what the mount of a user stands for: their own, or the team's
	// that the login is limited to.
	Workspace lockns.Workspace
	// Base is the id of the folder of Workspace that the mount stands for,
	// wherever that folder is by now; 0 is the whole workspace.
	Base int64
	// Scoped: the login opens that mount only, and no team's.
	Scoped bool
	// ReadOnly: the login changes and locks nothing.
	ReadOnly bool
}

// Handler serves WebDAV. It is safe for concurrent use and keeps no state of
// its own between requests.
type Handler struct {
	opt     Options
	blocked map[string]bool // by store.CaselessKey
	own     []string        // the prefixes of the caller's own mount that have no name in them
	above   []above         // the collections above their own mount, but for "/"
}

// New returns a Handler for the options.
func New(o Options) *Handler {
	o = o.withDefaults()
	h := &Handler{opt: o, blocked: map[string]bool{}}
	for _, name := range o.BlockedNames {
		h.blocked[store.CaselessKey(name)] = true
	}
	h.own = append(h.own, o.Prefix)
	if o.LegacyPrefix != "" {
		h.own = append(h.own, o.LegacyPrefix)
	}
	h.findAbove()
	return h
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Origin == nil {
		o.Origin = ownHost
	}
	if o.External == nil {
		o.External = func(*http.Request) string { return "" }
	}
	if o.LockDefault <= 0 {
		o.LockDefault = 24 * time.Hour
	}
	if o.LockMax <= 0 {
		o.LockMax = 7 * 24 * time.Hour
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Prefix = strings.TrimRight(o.Prefix, "/")
	for _, prefix := range []*string{&o.TeamsPrefix, &o.FilesPrefix, &o.LegacyPrefix, &o.UploadsPrefix} {
		*prefix = strings.TrimRight(*prefix, "/")
	}
	return o
}

// ownHost is the default of Options.Origin.
func ownHost(r *http.Request, scheme, host string) bool {
	own, err := normalizeHost(r.Host, defaultPorts[scheme])
	return err == nil && own == host
}

// Serves reports whether a request is for a URL at or below the caller's own
// mount, however the URL spells it.
func (h *Handler) Serves(r *http.Request) bool {
	_, ok := cutPrefix(r.URL.EscapedPath(), h.opt.Prefix)
	return ok
}

// ServesTeams is Serves for the mounts of teams and the collection of them.
func (h *Handler) ServesTeams(r *http.Request) bool {
	_, ok := h.cutTeams(r.URL.EscapedPath())
	return ok
}

// ServesRemote is Serves for the mount's further URLs, the caller's uploads and the
// collections above them.
func (h *Handler) ServesRemote(r *http.Request) bool {
	path := r.URL.EscapedPath()
	for _, prefix := range []string{h.opt.FilesPrefix, h.opt.LegacyPrefix, h.opt.UploadsPrefix} {
		if _, ok := cutPrefix(path, prefix); ok && prefix != "" {
			return true
		}
	}
	_, ok := h.aboveAt(path)
	return ok
}

// cutTeams takes the prefix of the teams' mounts off an escaped path.
func (h *Handler) cutTeams(escapedPath string) (rest string, ok bool) {
	if h.opt.TeamsPrefix == "" {
		return "", false
	}
	return cutPrefix(escapedPath, h.opt.TeamsPrefix)
}

// Serve answers a request for a URL that Serves, ServesTeams or ServesRemote is
// true of. The caller has authenticated the principal.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, p Principal) {
	q := &request{h: h, r: r, principal: p}
	if q.isTeamsURL() {
		q.serveMadeUp(w, (*request).listTeams)
		return
	}
	if a, ok := h.aboveAt(r.URL.EscapedPath()); ok {
		q.serveMadeUp(w, a.list)
		return
	}
	if _, ok := h.cutUploads(r.URL.EscapedPath()); ok {
		q.serveUpload(w)
		return
	}
	if err := q.serve(w); err != nil {
		q.fail(w, err)
	}
}

// serve finds out what the request is about, admits it and calls its method's
// handler.
func (q *request) serve(w http.ResponseWriter) error {
	err := q.locate()
	if q.r.Method == http.MethodOptions {
		return q.options(w, err)
	}
	if err != nil {
		return err
	}
	serve, ok := handlers[q.r.Method]
	if !ok {
		return errUnknownMethod(q.r.Method)
	}
	if err := q.admit(); err != nil {
		return err
	}
	return serve(q, w)
}

var handlers map[string]func(*request, http.ResponseWriter) error

func init() {
	handlers = map[string]func(*request, http.ResponseWriter) error{
		http.MethodGet:    (*request).get,
		http.MethodHead:   (*request).get,
		http.MethodPut:    (*request).put,
		http.MethodDelete: (*request).remove,
		"COPY":            (*request).copyOrMove,
		"MOVE":            (*request).copyOrMove,
		"MKCOL":           (*request).mkcol,
		"PROPFIND":        (*request).propfind,
		"PROPPATCH":       (*request).proppatch,
		http.MethodPatch:  (*request).recalculate,
		"LOCK":            (*request).lock,
		"UNLOCK":          (*request).unlock,
		"SEARCH":          (*request).search,
		"REPORT":          (*request).report,
	}
}

// allMethods are those of a resource to which its principal may write.
var allMethods = []string{
	http.MethodOptions, http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete,
	"COPY", "MOVE", "MKCOL", "PROPFIND", "PROPPATCH", "LOCK", "UNLOCK", "SEARCH", "REPORT",
}

// Methods lists the methods that some resource has.
func Methods() []string { return slices.Clone(allMethods) }

// refusedMethods are registered methods that no resource here has, so that 405
// is the answer and not 501 (RFC 9110 section 9.1).
var refusedMethods = []string{http.MethodPost, http.MethodPatch, http.MethodTrace, http.MethodConnect}

func errUnknownMethod(method string) error {
	if slices.Contains(refusedMethods, method) || slices.Contains(allMethods, method) {
		return errStatus(http.StatusMethodNotAllowed, "this resource does not have the method")
	}
	return errStatus(http.StatusNotImplemented, "the method is not known here")
}
