package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/blob"
	"holdfast/lockns"
	"holdfast/server/auth"
	"holdfast/server/rest"
	"holdfast/store"
)

// world is an API on a store of its own, with a clock that the test sets.
type world struct {
	*store.Store
	t     *testing.T
	url   string
	clock atomic.Int64 // UTC microseconds
	api   *rest.API
	http  *http.Client
}

func (w *world) now() time.Time { return time.UnixMicro(w.clock.Load()).UTC() }

func newWorld(t *testing.T, adjust ...func(*store.Options, *rest.Options)) *world {
	t.Helper()
	w := &world{t: t, http: http.DefaultClient}
	w.clock.Store(time.Now().UnixMicro())
	dir := t.TempDir()
	blobs, err := blob.NewDir(filepath.Join(dir, "blobs"), blob.DirOptions{})
	must(t, err)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	path := filepath.Join(dir, "holdfast.db")
	must(t, os.WriteFile(path, emptyDatabase(), 0o600))
	so := store.Options{DB: "sqlite:" + path, Blobs: blobs, InlineMax: 1 << 10, NoSync: true, Now: w.now, Log: log}
	ro := rest.Options{
		Log: log, LockMax: 7 * 24 * time.Hour,
		Address:  func(*http.Request) netip.Addr { return netip.MustParseAddr("127.0.0.1") },
		Known:    func(r *http.Request, _, host string) bool { return host == r.Host },
		External: func(*http.Request) string { return "" },
		Secure:   func(r *http.Request) bool { return r.TLS != nil },
		Mounts: func(r *http.Request, in auth.Login) ([]rest.Mounted, error) {
			return []rest.Mounted{{Name: in.User.Name, Workspace: in.User.Workspace(), URL: "http://" + r.Host + "/dav/"}}, nil
		},
	}
	for _, a := range adjust {
		a(&so, &ro)
	}
	w.Store, err = store.Open(t.Context(), so)
	must(t, err)
	ro.Store, ro.Auth = w.Store, auth.New(w.Store, auth.Options{Schemes: []auth.Scheme{auth.Basic}})
	w.api = rest.New(ro)
	server := httptest.NewServer(w.api)
	w.url = server.URL + rest.Prefix
	t.Cleanup(func() {
		server.Close()
		must(t, w.Store.Close())
	})
	return w
}

// emptyDatabase is a database that was migrated already: that takes longer than
// most tests do.
var emptyDatabase = sync.OnceValue(func() []byte {
	dir, err := os.MkdirTemp("", "holdfast-rest-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "db")
	if _, err = store.Migrate(context.Background(), "sqlite:"+path, true); err != nil {
		panic(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return data
})

// client sends requests as one user, by an app password, or by the user's own.
type client struct {
	w        *world
	user     store.User
	token    string
	password string // the user's own
	jar      []*http.Cookie
}

// user adds a user and gives a client of theirs.
func (w *world) user(name string) *client { return w.add(store.NewUser{Name: name, PasswordHash: "x"}) }

// admin adds an administrator.
func (w *world) admin(name string) *client {
	return w.add(store.NewUser{Name: name, PasswordHash: "x", Admin: true})
}

func (w *world) add(n store.NewUser) *client {
	w.t.Helper()
	u, err := w.AddUser(w.t.Context(), n)
	must(w.t, err)
	return (&client{w: w, user: u}).limited(store.NewAccount{Name: "tests"})
}

// limited is a client of the same user by another app password.
func (c *client) limited(n store.NewAccount) *client {
	c.w.t.Helper()
	password := auth.NewAppPassword()
	n.User, n.PasswordHash = c.user.Name, auth.HashAppPassword(password)
	_, err := c.w.AddAccount(c.w.t.Context(), n)
	must(c.w.t, err)
	return &client{w: c.w, user: c.user, token: password}
}

// team adds a team with an owner and members by role.
func (w *world) team(name string, owner *client, members map[*client]store.Role) lockns.Workspace {
	w.t.Helper()
	team, err := w.AddTeam(w.t.Context(), store.NewTeam{Name: name, Owner: owner.user.Name})
	must(w.t, err)
	for c, role := range members {
		must(w.t, w.SetMember(w.t.Context(), name, c.user.Name, role, store.Actor{}))
	}
	return team.Workspace()
}

// answer is what came back.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

// into decodes the body, which must have nothing that the value has not.
func (a answer) into(v any) {
	a.t.Helper()
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		a.t.Fatalf("decode %s: %v", a.body, err)
	}
}

// code is that of a problem.
func (a answer) code() string {
	a.t.Helper()
	var p rest.Problem
	a.into(&p)
	if p.Status != a.status || a.header.Get("Content-Type") != "application/problem+json" {
		a.t.Fatalf("no problem document: %d %v %s", a.status, a.header, a.body)
	}
	return p.Code
}

// do sends a request. body is nil, a string or bytes to send as they are, or what
// is sent as JSON; headers are "Name: value".
func (c *client) do(method, path string, body any, headers ...string) answer {
	t := c.w.t
	t.Helper()
	var reader io.Reader
	kind := ""
	switch b := body.(type) {
	case nil:
	case string:
		reader, kind = strings.NewReader(b), "application/octet-stream"
	case []byte:
		reader, kind = bytes.NewReader(b), "application/octet-stream"
	default:
		data, err := json.Marshal(b)
		must(t, err)
		reader, kind = bytes.NewReader(data), "application/json"
	}
	r, err := http.NewRequestWithContext(t.Context(), method, c.w.url+path, reader)
	must(t, err)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	c.sign(r)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := c.w.http.Do(r)
	must(t, err)
	defer res.Body.Close()
	var data []byte
	if res.Header.Get("Content-Type") != "text/event-stream" { // which does not end
		data, err = io.ReadAll(res.Body)
		must(t, err)
	}
	asDocumented(t, r, res, data)
	return answer{t: t, status: res.StatusCode, header: res.Header, body: string(data)}
}

// asDocumented fails the test if the document says something else of an answer.
func asDocumented(t *testing.T, r *http.Request, res *http.Response, body []byte) {
	t.Helper()
	d := theDocument()
	path, below := strings.CutPrefix(r.URL.EscapedPath(), rest.Prefix)
	if !below || strings.HasPrefix(path, "/openapi") {
		return
	}
	for _, c := range d.complaints(d.operationOf(r.Method, path), res.StatusCode, res.Header, body) {
		t.Errorf("%s %s: %s", r.Method, r.URL, c)
	}
}

// sign adds the client's credentials to a request.
func (c *client) sign(r *http.Request) {
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.password != "" {
		r.SetBasicAuth(c.user.Name, c.password)
	}
	for _, cookie := range c.jar {
		r.AddCookie(cookie)
	}
}

// wants fails the test unless the answer has this status.
func (a answer) wants(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// refuses fails the test unless the answer is a problem of this status and code.
func (a answer) refuses(status int, code string) {
	a.t.Helper()
	if a.status != status || a.code() != code {
		a.t.Fatalf("status %d, want %d %s: %s", a.status, status, code, a.body)
	}
}

// at is a path of the client's own workspace.
func (c *client) at(path string) store.Target {
	return store.Target{Workspace: c.user.Workspace(), Path: store.ParsePath(path)}
}

func (c *client) put(at store.Target, content string) store.Node {
	c.w.t.Helper()
	n, _, err := c.w.Put(c.w.t.Context(), at, store.File{Body: strings.NewReader(content), Size: int64(len(content))}, store.Holder(c.user.ID))
	must(c.w.t, err)
	return n
}

func (c *client) mkdir(at store.Target) store.Node {
	c.w.t.Helper()
	n, err := c.w.Mkdir(c.w.t.Context(), at, store.Patch{}, store.Holder(c.user.ID))
	must(c.w.t, err)
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
