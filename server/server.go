package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"holdfast/dav"
	"holdfast/server/auth"
	"holdfast/server/rest"
	"holdfast/store"
)

// Limits of a connection. There is none on a request as a whole: a large file
// over a thin line takes hours; see pacedBody for what holds instead.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	// How much of a body may be on its way over HTTP/2 before the server has read
	// any: over a line of 100 ms, 40 MB/s are that much.
	http2Stream     = 4 << 20
	http2Connection = 8 << 20
)

// Server is a running Holdfast. Its methods may be called concurrently.
type Server struct {
	cfg       Config
	log       *slog.Logger
	store     *store.Store
	dav       *dav.Handler
	api       *rest.API
	auth      *auth.Authenticator
	origins   origins
	named     []string      // origins whose pages may use the server
	anonymous dav.Principal // whom requests without credentials are, with --anonymous
	minted    string        // the administrator's password, until it is printed
	tls       *certificate  // nil without TLS
	staff     staff
	readiness readiness
	listener  net.Listener
	http      *http.Server
	serving   chan struct{}      // closed by Serve; the janitor waits for it
	stop      context.CancelFunc // ends the janitor
	upkeep    sync.WaitGroup
	closed    func() error // closes the store, once
}

// New opens the data, makes the first administrator when there is no user yet,
// and listens. ctx bounds the opening only. The caller closes the server.
//
// Errors: those of Config.Check; else the step that failed.
func New(ctx context.Context, cfg Config) (*Server, error) {
	settings, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg:     cfg,
		log:     newLogger(&cfg),
		origins: origins{settings.publicURL, settings.proxies},
		named:   settings.named,
		serving: make(chan struct{}),
	}
	s.readiness.every = readyEvery
	if s.tls, err = loadCertificate(&cfg, s.log); err != nil {
		return nil, err
	}
	// First of all: a port that is taken must not cost the first password.
	s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	st, objects, err := settings.storage.open(ctx, &cfg, false, s.log)
	if err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	s.store, s.closed = st, sync.OnceValue(st.Close)
	if err := s.firstStart(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("make first users: %w", err), s.listener.Close(), s.closed())
	}
	if err := st.KeepHA1(ctx, slices.Contains(settings.schemes, auth.Digest)); err != nil {
		return nil, errors.Join(fmt.Errorf("keep or drop what Digest compares: %w", err), s.listener.Close(), s.closed())
	}
	s.auth = auth.New(st, auth.Options{Schemes: settings.schemes, External: s.origins.external, Log: s.log})
	s.assemble()
	s.startUpkeep(newJanitor(s.log, st, jobs(st, objects, &cfg)))
	return s, nil
}

// assemble puts the doors together.
func (s *Server) assemble() {
	s.dav = dav.New(dav.Options{
		Store:         s.store,
		Prefix:        davPrefix,
		TeamsPrefix:   teamsPrefix,
		FilesPrefix:   filesPrefix,
		LegacyPrefix:  legacyPrefix,
		UploadsPrefix: uploadsPrefix,
		Log:           s.log,
		LockDefault:   time.Duration(s.cfg.LockDefault),
		LockMax:       time.Duration(s.cfg.LockMax),
		PropfindMax:   s.cfg.PropfindMax,
		MaxBody:       int64(s.cfg.MaxBody),
		BlockedNames:  s.cfg.BlockedNames,
		Origin:        s.origins.knows,
		External:      s.origins.external,
	})
	s.api = rest.New(rest.Options{
		Store:        s.store,
		Auth:         s.auth,
		Log:          s.log,
		Address:      s.origins.client,
		Known:        s.origins.knows,
		External:     s.origins.external,
		Secure:       func(r *http.Request) bool { return s.origins.shown(r).scheme == "https" },
		Origins:      s.named,
		Public:       s.origins.own(),
		Mounts:       s.apiMounts,
		Identified:   identified,
		Compress:     compressingJSON,
		BlockedNames: s.cfg.BlockedNames,
		LockMax:      time.Duration(s.cfg.LockMax),
		MaxBody:      int64(s.cfg.MaxBody),
	})
	s.http = &http.Server{
		Handler:                      s.handler(s.routes()),
		DisableGeneralOptionsHandler: true, // "OPTIONS *" is answered by routes
		ReadHeaderTimeout:            readHeaderTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		HTTP2:                        &http.HTTP2Config{MaxReceiveBufferPerConnection: http2Connection, MaxReceiveBufferPerStream: http2Stream},
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	s.http.RegisterOnShutdown(s.api.EndStreams)
	if s.tls != nil {
		s.http.TLSConfig = s.tls.config()
	}
}

// startUpkeep lets the janitor begin when the server serves, and end when it
// closes.
func (s *Server) startUpkeep(j *janitor) {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.upkeep.Go(func() {
		select {
		case <-s.serving:
			j.run(ctx)
		case <-ctx.Done():
		}
	})
}

// Addr is the HOST:PORT the server listens on, with the port it was given.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is the base URL, without final slash, to show to people: the first
// --public-url, else the address.
func (s *Server) URL() string {
	if len(s.origins.public) > 0 {
		return s.origins.public[0].String()
	}
	host, port, _ := net.SplitHostPort(s.Addr()) // a listener's address has both
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	return newOrigin(scheme, net.JoinHostPort(host, port)).String()
}

// Serve answers requests until ctx ends. It then stops accepting, gives running
// requests Config.Grace to end, closes the store and returns nil. It is called
// once.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.accept() }()
	if err := s.announce(); err != nil {
		return errors.Join(err, s.Close())
	}
	close(s.serving)
	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("serve: %w", err), s.Close())
	case <-ctx.Done():
	}
	s.log.Info("stopping", "grace", s.cfg.Grace)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Grace)
	defer cancel()
	if err := s.http.Shutdown(grace); err != nil {
		s.log.Warn("requests cut off", "err", err)
	}
	err := s.Close()
	s.log.Info("stopped")
	return err
}

// accept serves connections until the server closes, over TLS when there is a
// certificate.
func (s *Server) accept() error {
	if s.tls == nil {
		return s.http.Serve(s.listener)
	}
	return s.http.ServeTLS(s.listener, "", "") // the certificate is in TLSConfig
}

// Close ends everything at once: requests are cut off. It is safe to call at
// any time, and more than once.
func (s *Server) Close() error {
	err := s.http.Close()
	_ = s.listener.Close() // Serve may have closed it, or never have had it
	s.stop()
	s.upkeep.Wait()
	s.auth.Flush()
	return errors.Join(err, s.closed())
}

// announce says where the server is: the log line first, then what an operator
// must know, then the hints on standard output.
func (s *Server) announce() error {
	s.log.Info("listening", "addr", s.Addr())
	s.announceReach()
	if s.cfg.Anonymous {
		s.log.Warn("anonymous: every program and every user of this machine can read and write the anonymous workspace")
	}
	s.announceStaff()
	return s.greet()
}

// announceReach warns of a server that others can reach and listen to. Where
// there is a proxy, between it and the server is for the operator to judge.
func (s *Server) announceReach() {
	host, _, err := net.SplitHostPort(s.Addr())
	if err != nil || isLoopbackName(host) || s.tls != nil {
		return
	}
	if len(s.origins.proxies) > 0 {
		s.log.Info("listening beyond loopback without TLS: only the trusted proxies should be able to reach this address")
		return
	}
	s.log.Warn("LISTENING BEYOND LOOPBACK WITHOUT TLS: passwords and files cross the network in the clear; use --tls-cert and --tls-key, or put a TLS proxy in front")
}

func (s *Server) announceStaff() {
	if s.staff.ignored {
		s.log.Info("users exist already: --admin-user and HOLDFAST_ADMIN_PASSWORD are ignored")
	}
	if s.staff.headless {
		s.log.Warn("no administrator can log in: make one with: holdfast user set NAME --admin")
	}
}

func (s *Server) greet() error {
	out := s.cfg.stdout()
	if s.minted != "" {
		_, err := fmt.Fprintf(out, "Administrator %s, password %s (shown this once)\n", s.cfg.AdminUser, s.minted)
		if err != nil {
			return fmt.Errorf("print password: %w", err)
		}
		s.minted = ""
	}
	user := s.staff.greeted
	if s.cfg.Anonymous {
		user = ""
	}
	if err := printHints(out, s.URL(), user); err != nil {
		return fmt.Errorf("print hints: %w", err)
	}
	return nil
}

func newLogger(cfg *Config) *slog.Logger {
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(cfg.stderr(), nil))
	}
	return slog.New(slog.NewTextHandler(cfg.stderr(), nil))
}
