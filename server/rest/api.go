package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humamux"
	"github.com/gorilla/mux"

	"holdfast/server/auth"
	"holdfast/store"
)

// Prefix is the path that all operations are below.
const Prefix = "/api/v1"

// Options configure an API.
type Options struct {
	Store *store.Store
	Auth  *auth.Authenticator
	Log   *slog.Logger
	// Address is the client's address, for the brake and the audit log.
	Address func(*http.Request) netip.Addr
	// Known reports whether scheme and host are an origin of this server, as the
	// request sees it.
	Known func(r *http.Request, scheme, host string) bool
	// External is the path that a proxy strips of a request's URL.
	External func(*http.Request) string
	// Secure reports whether the client speaks HTTPS, as far as the request tells.
	Secure func(*http.Request) bool
	// Origins are those of other servers' pages that may use the API (--cors-origin).
	Origins []string
	// Public are the origins that this server is known under.
	Public []string
	// Mounts lists where a login finds files by WebDAV, at the address that the
	// request was sent to.
	Mounts func(r *http.Request, in auth.Login) ([]Mounted, error)
	// Identified is told who sends a request, for the access line.
	Identified func(w http.ResponseWriter, user string)
	// Compress wraps the ResponseWriter of an operation whose answers may be
	// compressed for a client that asks for it, and gives what ends the answer; nil
	// compresses none.
	Compress func(http.ResponseWriter, *http.Request) (http.ResponseWriter, func())
	// BlockedNames can be neither seen nor made.
	BlockedNames []string
	// LockMax is the longest time of a lock that has an end.
	LockMax time.Duration
	// Listeners is how many streams of events there may be at a time; 0 is 1,024.
	Listeners int
	// MaxBody is how many bytes a file may have that is sent at once; 0 is no limit.
	MaxBody int64
}

// API serves everything below Prefix. Its methods may be called concurrently.
type API struct {
	o       Options
	log     *slog.Logger
	huma    huma.API
	handler http.Handler
	blocked map[string]bool // by store.CaselessKey
	hub     *hub            // of events
	pace    pace
}

// New makes an API.
func New(o Options) *API {
	a := &API{o: o, log: o.Log, blocked: map[string]bool{}, pace: pace{heartbeat, recheck}}
	for _, name := range o.BlockedNames {
		a.blocked[store.CaselessKey(name)] = true
	}
	a.hub = newHub(o.Store, o.Log, o.Listeners, a.show)
	router := mux.NewRouter().SkipClean(true)
	router.NotFoundHandler = a.unmatched(router)
	router.MethodNotAllowedHandler = router.NotFoundHandler
	a.huma = humamux.New(router.PathPrefix(Prefix).Subrouter(), describe())
	a.huma.UseMiddleware(a.identify)
	for _, register := range registrations {
		register(a)
	}
	a.handler = a.sameOrigin(noStore(router))
	return a
}

// registrations are the groups of operations.
var registrations = []func(*API){
	(*API).registerSessions,
	(*API).registerWorkspaces,
	(*API).registerUsers,
	(*API).registerTeams,
	(*API).registerNamedLocks,
	(*API).registerTrash,
	(*API).registerAppPasswords,
	(*API).registerMounts,
	(*API).registerAudit,
	(*API).registerDownloads,
	(*API).registerUploads,
	(*API).registerTree,
	(*API).registerVersions,
	(*API).registerLocks,
	(*API).registerAdminLocks,
	(*API).registerEvents,
	(*API).registerResources,
	(*API).registerChildren,
	(*API).registerSearch,
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// OpenAPI is the document that describes the operations.
func (a *API) OpenAPI() *huma.OpenAPI { return a.huma.OpenAPI() }

// noStore keeps answers out of caches: they say what this caller may see now.
func noStore(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses what a page of another origin makes a browser send, unless it
// could change nothing.
func (a *API) sameOrigin(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	for _, origin := range slices.Concat(a.o.Origins, a.o.Public) {
		if err := guard.AddTrustedOrigin(origin); err != nil {
			a.log.Warn("pages of an origin cannot use the API", "origin", origin, "err", err)
		}
	}
	deny := a.refuse(problem(http.StatusForbidden, "request.cross_origin", "a page of another origin may not do this"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if guard.Check(r) != nil && !a.ownOrigin(r) {
			deny.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownOrigin reports whether a browser that sends no Sec-Fetch-Site, as none does
// over plain HTTP, names an origin of this server that its proxy does not pass on
// in Host.
func (a *API) ownOrigin(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") != "" {
		return false
	}
	u, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && a.o.Known(r, u.Scheme, u.Host)
}

// methods are those that operations have.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// unmatched answers what no operation does: another method of a path that has
// operations, or another path. The router itself does not know for sure, since the
// prefix, which every route matches, makes it forget the methods it has seen.
func (a *API) unmatched(router *mux.Router) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var allow []string
		for _, method := range methods {
			other, match := *r, mux.RouteMatch{}
			other.Method = method
			if router.Match(&other, &match) && match.MatchErr == nil {
				allow = append(allow, method)
			}
		}
		if len(allow) == 0 {
			a.write(w, r, problem(http.StatusNotFound, "not_found", "the API has nothing there; see "+Prefix+"/openapi.json"))
			return
		}
		p := problem(http.StatusMethodNotAllowed, "method.not_allowed", "the API has no such method there; see "+Prefix+"/openapi.json")
		p.headers = http.Header{"Allow": {strings.Join(allow, ", ")}}
		a.write(w, r, p)
	})
}

// refuse answers everything with one problem.
func (a *API) refuse(p *Problem) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.write(w, r, p) })
}

// write answers with a problem where no operation is at work.
func (a *API) write(w http.ResponseWriter, r *http.Request, p *Problem) {
	ctx := humamux.NewContext(&huma.Operation{}, r, w)
	for name, values := range p.headers {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	ctx.SetStatus(p.Status)
	if err := a.huma.Marshal(ctx.BodyWriter(), "application/json", p); err != nil {
		a.log.DebugContext(r.Context(), "problem not written", "err", err)
	}
}

// call is what the layers below huma know of a request.
type call struct {
	who Caller
	r   *http.Request
	w   http.ResponseWriter
	err error // of the login
}

// callKey is for register alone: operations get the caller as an argument.
type callKey struct{}

// identify finds out who calls. Whether that is enough is for the operation to
// say.
func (a *API) identify(ctx huma.Context, next func(huma.Context)) {
	c := &call{}
	c.r, c.w = humamux.Unwrap(ctx)
	c.who, c.err = a.login(c.r)
	a.identified(c.w, &c.who)
	next(huma.WithValue(ctx, callKey{}, c))
}

// identified says for the access line who calls.
func (a *API) identified(w http.ResponseWriter, who *Caller) {
	if who.User.ID != 0 && a.o.Identified != nil {
		a.o.Identified(w, who.User.Name)
	}
}

// login gives the caller; without any credentials that is nobody and no error. An
// Authorization header is what counts, whatever cookie is there.
func (a *API) login(r *http.Request) (Caller, error) {
	from := a.o.Address(r)
	if !auth.Offers(r) {
		return a.bySession(r, from)
	}
	in, err := a.o.Auth.AuthenticateAPI(r, from)
	return Caller{User: in.User, Account: in.Account, Address: from}, err
}

var errLogin = auth.ErrCredentials

// compressed marks an operation whose answers may be compressed. The length of a
// compressed answer tells who reads the line whether a text that they brought into it
// is like another one there (the BREACH attack). So only lists of files are: what they
// show opens nothing, and pages of other sites, which could make a browser ask again
// and again, do not get its session sent along.
func (a *API) compressed(op huma.Operation) huma.Operation {
	if a.o.Compress == nil {
		return op
	}
	op.Middlewares = append(op.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
		r, w := humamux.Unwrap(ctx)
		r = r.WithContext(ctx.Context())
		w, end := a.o.Compress(w, r)
		next(humamux.NewContext(ctx.Operation(), r, w))
		end() // not when next panics: a broken answer must not look whole
	})
	return op
}

// raw is the request below an operation that streams.
type raw struct {
	r *http.Request
	w http.ResponseWriter
}

// register adds an operation.
func register[I, O any](a *API, need Access, op huma.Operation, run func(ctx context.Context, who *Caller, in *I) (*O, error)) {
	registerRaw(a, need, op, func(ctx context.Context, who *Caller, _ raw, in *I) (*O, error) { return run(ctx, who, in) })
}

// registerRaw adds an operation that reads the body, or writes the answer, itself.
func registerRaw[I, O any](a *API, need Access, op huma.Operation, run func(ctx context.Context, who *Caller, below raw, in *I) (*O, error)) {
	demand(&op, need)
	op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusInternalServerError, http.StatusServiceUnavailable)
	op.Middlewares = append(op.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
		// Before huma reads and checks the request: who may not ask learns nothing.
		c := ctx.Context().Value(callKey{}).(*call)
		err := c.err
		if need == Public {
			err = nil
		}
		if err == nil {
			err = c.who.check(need, mayChange(op.Method))
		}
		if err != nil {
			a.write(c.w, c.r, a.problemOf(c.r.Context(), &c.who, err))
			return
		}
		next(ctx)
	})
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		c := ctx.Value(callKey{}).(*call)
		out, err := run(ctx, &c.who, raw{c.r, c.w}, in)
		if err != nil {
			return nil, a.problemOf(ctx, &c.who, err)
		}
		return out, nil
	})
}
