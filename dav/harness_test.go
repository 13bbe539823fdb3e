package dav_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/blob"
	"holdfast/blob/blobtest"
	"holdfast/dav"
	"holdfast/lockns"
	"holdfast/store"
)

// publicHost is an address beside its own that the test server is known under.
const publicHost = "public.example"

// server is a real store behind a real HTTP server.
type server struct {
	folder  string
	store   *store.Store
	blobs   *blobtest.Fault
	http    *httptest.Server
	handler *dav.Handler
	skew    atomic.Int64 // how far the clock is ahead, in nanoseconds
	change  func(*dav.Options)
	log     logged
	rows    int // workspaces made so far
	// principals holds dav.Principal values by the header that names them.
	principals sync.Map
}

// newServer starts a server; change may alter its options.
func newServer(t testing.TB, change func(*dav.Options)) *server {
	t.Helper()
	s := &server{folder: t.TempDir(), change: change}
	s.open(t)
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.Config.DisableGeneralOptionsHandler = true
	s.http.Start()
	t.Cleanup(func() {
		s.http.Close()
		if err := s.store.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return s
}

func (s *server) now() time.Time { return time.Now().Add(time.Duration(s.skew.Load())) }

// open opens the store and makes a handler for it. Bodies above 16 bytes are
// files.
func (s *server) open(t testing.TB) {
	t.Helper()
	blobs, err := blob.NewDir(filepath.Join(s.folder, "blobs"), blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.blobs = &blobtest.Fault{Store: blobs}
	s.store, err = store.Open(t.Context(), store.Options{
		DB: "sqlite:" + filepath.Join(s.folder, "test.db"), Blobs: s.blobs, InlineMax: 16,
		NoSync: true, LocksPerUser: 20, Now: s.now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	o := dav.Options{
		Store: s.store, Prefix: "/dav", TeamsPrefix: "/teams", FilesPrefix: "/remote.php/dav/files", LegacyPrefix: "/remote.php/webdav",
		UploadsPrefix: "/remote.php/dav/uploads", LockDefault: time.Hour, LockMax: 24 * time.Hour,
		PropfindMax: 50, MaxBody: 1 << 20, BlockedNames: []string{".DAV"}, Now: s.now,
		Log: slog.New(slog.NewTextHandler(&s.log, nil)),
		Origin: func(r *http.Request, scheme, host string) bool {
			return host == r.Host || scheme == "https" && host == publicHost
		},
		External: func(r *http.Request) string { return r.Header.Get("Test-External") },
	}
	if s.change != nil {
		s.change(&o)
	}
	s.handler = dav.New(o)
}

// reopen is a restart of the process.
func (s *server) reopen(t testing.TB) {
	t.Helper()
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	s.open(t)
}

// serve routes as the real server does. A header names the principal.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	known, ok := s.principals.Load(r.Header.Get("Test-Principal"))
	if !ok {
		http.Error(w, "no such principal", http.StatusTeapot)
		return
	}
	p := known.(dav.Principal)
	switch {
	case r.URL.Path == "/", r.URL.Path == "*":
		s.handler.ServeRoot(w, r, p)
	case strings.HasPrefix(r.URL.Path, "/principals/"):
		s.handler.ServePrincipal(w, r, p)
	default:
		s.handler.Serve(w, r, p)
	}
}

// space is a fresh workspace, its user alice, and bob, whose own mount shows
// alice's workspace too. eve has another.
type space struct {
	*server
	row             string // follows all names, which are the server's alone then
	alice, bob, eve store.User
}

func (s *server) newSpace(t testing.TB) *space {
	t.Helper()
	s.rows++
	sp := &space{server: s, row: strconv.Itoa(s.rows)}
	for name, user := range map[string]*store.User{"alice": &sp.alice, "bob": &sp.bob, "eve": &sp.eve} {
		var err error
		if *user, err = s.store.AddUser(t.Context(), store.NewUser{Name: name + sp.row}); err != nil {
			t.Fatal(err)
		}
	}
	sp.login("", sp.alice, sp.alice.Workspace(), 0, false)
	sp.login("bob", sp.bob, sp.alice.Workspace(), 0, false)
	sp.login("eve", sp.eve, sp.eve.Workspace(), 0, false)
	sp.login("reader", sp.alice, sp.alice.Workspace(), 0, true)
	return sp
}

// login makes a principal that calls can be by: a user with their teams, or, from
// a folder on, an account for that folder only.
func (sp *space) login(as string, u store.User, ws lockns.Workspace, base int64, readOnly bool) {
	sp.principals.Store(sp.key(as), dav.Principal{
		UserID: u.ID, Name: u.Name, Workspace: ws, Base: base, Scoped: base != 0, ReadOnly: readOnly,
	})
}

// key is the principal in the header of a call.
func (sp *space) key(as string) string { return as + sp.row }

// base is the URL of the mount.
func (sp *space) base() string { return sp.http.URL + "/dav" }

// call is one request, put on the wire as it is.
type call struct {
	as      string // by whom, alice if empty
	method  string
	target  string // below the mount, or the whole request target after "^"
	header  []string
	body    string
	hasBody bool
	chunked bool
	http10  bool // speak HTTP/1.0
	cut     int  // announce as many bytes and close the connection after the body
	// meanwhile is called when the server has asked for the body (Expect).
	meanwhile func()
}

// answer is what came back. interim tells whether a 100 came first.
type answer struct {
	status  int
	interim bool
	header  http.Header
	body    string
}

// do sends a request over a connection of its own.
func (sp *space) do(t testing.TB, c call) answer {
	t.Helper()
	a, err := sp.try(c)
	if err != nil {
		t.Fatalf("%s %s: %v", c.method, c.target, err)
	}
	return a
}

func (sp *space) try(c call) (answer, error) {
	conn, err := net.DialTimeout("tcp", sp.http.Listener.Addr().String(), 10*time.Second)
	if err != nil {
		return answer{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return answer{}, err
	}
	if _, err := io.WriteString(conn, sp.head(c)); err != nil {
		return answer{}, err
	}
	in := bufio.NewReader(conn)
	interim := false
	if c.expects() {
		// Without the 100 the body stays here.
		res, err := http.ReadResponse(in, &http.Request{Method: c.method})
		if err != nil {
			return answer{}, err
		}
		if interim = res.StatusCode == http.StatusContinue; !interim {
			return read(res, false)
		}
		if c.meanwhile != nil {
			c.meanwhile()
		}
	}
	if c.cut > 0 {
		if _, err := io.WriteString(conn, c.body); err != nil {
			return answer{}, err
		}
		return answer{}, conn.(*net.TCPConn).CloseWrite()
	}
	// An early answer comes while the body is still being written.
	go io.WriteString(conn, c.payload())
	res, err := http.ReadResponse(in, &http.Request{Method: c.method})
	if err != nil {
		return answer{}, err
	}
	return read(res, interim)
}

func read(res *http.Response, interim bool) (answer, error) {
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read answer: %w", err)
	}
	return answer{status: res.StatusCode, interim: interim, header: res.Header, body: string(b)}, res.Body.Close()
}

func (c call) expects() bool {
	for _, h := range c.header {
		if strings.HasPrefix(strings.ToLower(h), "expect:") {
			return true
		}
	}
	return false
}

// head is the request up to the blank line.
func (sp *space) head(c call) string {
	target, whole := strings.CutPrefix(c.target, "^")
	if !whole {
		target = "/dav" + target
	}
	version := "1.1"
	if c.http10 {
		version = "1.0"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/%s\r\nConnection: close\r\nTest-Principal: %s\r\n", c.method, target, version, sp.key(c.as))
	host := sp.http.Listener.Addr().String()
	for _, h := range c.header {
		if name, value, _ := strings.Cut(h, ":"); strings.EqualFold(name, "Host") {
			host = strings.TrimSpace(value)
			continue
		}
		b.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&b, "Host: %s\r\n", host)
	switch {
	case c.chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case c.cut > 0:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", c.cut)
	case c.hasBody:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(c.body))
	}
	return b.String() + "\r\n"
}

// payload is the body as framed.
func (c call) payload() string {
	if !c.chunked {
		return c.body
	}
	if c.body == "" {
		return "0\r\n\r\n"
	}
	return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(c.body), c.body)
}

// logged is what a handler has logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serveAs answers one request without a network between.
func serveAs(t testing.TB, h *dav.Handler, u store.User, method, target string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	h.Serve(w, r, dav.Principal{UserID: u.ID, Name: u.Name, Workspace: u.Workspace()})
	return w
}
