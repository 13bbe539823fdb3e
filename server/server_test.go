package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/server"
)

// running is a server that a test started, on a free port.
type running struct {
	*server.Server
	t              *testing.T
	stdout, stderr *output
	stop           context.CancelFunc
	ended          chan error
}

// output is a stream that tests may read while it is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// config is a server's in a folder of its own, whose administrator's password
// is "secret".
func config(t *testing.T) server.Config {
	t.Helper()
	cfg := server.DefaultConfig()
	cfg.Addr, cfg.Data, cfg.Sync = "127.0.0.1:0", t.TempDir(), "normal"
	cfg.AdminPassword = "secret"
	return cfg
}

func start(t *testing.T, cfg server.Config) *running {
	t.Helper()
	r := &running{t: t, stdout: &output{}, stderr: &output{}, ended: make(chan error, 1)}
	cfg.Stdout, cfg.Stderr = r.stdout, r.stderr
	s, err := server.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = s
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r.stop = stop
	go func() { r.ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// wait ends the server gracefully.
func (r *running) wait() {
	r.t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		r.t.Errorf("serve: %v", err)
	}
}

type request struct {
	method, target string
	user, password string
	host           string
	header         http.Header
	body           io.Reader
}

// do sends a request with its target as it stands.
func (r *running) do(q request) (*http.Response, string) {
	r.t.Helper()
	resp, body, err := r.send(q)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, body
}

// send is do for goroutines, which may not end the test.
func (r *running) send(q request) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(r.t.Context(), q.method, r.URL(), q.body)
	if err != nil {
		return nil, "", err
	}
	req.URL.Opaque = q.target
	if q.header != nil {
		req.Header = q.header
	}
	if q.user != "" {
		req.SetBasicAuth(q.user, q.password)
	}
	req.Host = q.host
	resp, err := transport.RoundTrip(req) // follows no redirect
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

// transport waits for 100 Continue for as long as it takes, so that a body on
// its way tells that the server reads it.
var transport = &http.Transport{ExpectContinueTimeout: time.Minute}

func TestDoors(t *testing.T) {
	s := start(t, config(t))
	preflight := http.Header{"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"PROPFIND"}}
	depth0 := http.Header{"Depth": {"0"}}
	for _, c := range []struct {
		outcome        string
		method, target string
		header         http.Header
		in             bool
		want           int
	}{
		{"files without login", "PROPFIND", "/dav/", depth0, false, 401},
		{"files", "PROPFIND", "/dav/", depth0, true, 207},
		{"files without final slash", "PROPFIND", "/dav", depth0, true, 207},
		{"OPTIONS without login", "OPTIONS", "/dav/", nil, false, 401},
		{"OPTIONS", "OPTIONS", "/dav/", nil, true, 200},
		{"OPTIONS of no file", "OPTIONS", "/dav/none", nil, true, 200},
		{"OPTIONS outside the mounts", "OPTIONS", "/somewhere/else", nil, true, 200},
		{"OPTIONS *", "OPTIONS", "*", nil, true, 200},
		{"OPTIONS * without login", "OPTIONS", "*", nil, false, 401},
		{"preflight needs no login", "OPTIONS", "/dav/", preflight, false, 204},
		{"page", "GET", "/", nil, true, 200},
		{"page without login", "GET", "/", nil, false, 401},
		{"collection of mounts", "PROPFIND", "/", depth0, true, 207},
		{"no file may be put beside the mounts", "PUT", "/x", nil, true, 404},
		{"the root takes no file", "PUT", "/", nil, true, 405},
		{"own principal", "PROPFIND", "/principals/admin/", depth0, true, 207},
		{"alive", "GET", "/healthz", nil, false, 200},
		{"ready", "GET", "/readyz", nil, false, 200},
		{"probes are for reading", "POST", "/healthz", nil, false, 405},
		{"elsewhere", "GET", "/nope", nil, true, 404},
		{"elsewhere without login", "GET", "/nope", nil, false, 401},
		{"the prefix of a mount is no mount", "GET", "/davx", nil, true, 404},
		{"an encoded slash is no slash", "GET", "/dav%2Fx", nil, true, 404},
		{"no redirect to a clean path", "PROPFIND", "//" + s.Addr() + "//dav/", depth0, true, 207},
		{"a prefix in another spelling", "PROPFIND", "/%64av/", depth0, true, 207},
		{"a raw '#'", "GET", "/dav/a#b", nil, true, 400},
		{"R09 empty bearer", "GET", "/dav/", http.Header{"Authorization": {"Bearer "}}, false, 401},
		{"unknown scheme", "GET", "/dav/", http.Header{"Authorization": {"Negotiate YII="}}, false, 401},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			q := request{method: c.method, target: c.target, header: c.header.Clone()}
			if c.in {
				q.user, q.password = "admin", "secret"
			}
			resp, body := s.do(q)
			if resp.StatusCode != c.want {
				t.Errorf("status %d (%s), want %d", resp.StatusCode, body, c.want)
			}
			if challenged := resp.Header.Get("WWW-Authenticate") != ""; challenged != (c.want == 401) {
				t.Errorf("WWW-Authenticate: %q", resp.Header.Get("WWW-Authenticate"))
			}
			if resp.Header.Get("Date") == "" || resp.Header.Get("X-Request-Id") == "" {
				t.Error("no Date, or no id")
			}
			if allowed := resp.Header.Get("Access-Control-Allow-Origin"); allowed != "" {
				t.Errorf("allows origin %q", allowed)
			}
		})
	}
}

func TestPageShowsNoMarkupOfTheClient(t *testing.T) {
	s := start(t, config(t))
	resp, body := s.do(request{method: "GET", target: "/", user: "admin", password: "secret", host: `x"><script>alert(1)</script>`})
	if resp.StatusCode == http.StatusOK && strings.Contains(body, "<script>") {
		t.Error(body)
	}
	resp, body = s.do(request{method: "GET", target: "/", user: "admin", password: "secret", host: "files.example"})
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, "http://files.example/dav/") || !strings.Contains(body, "admin") {
		t.Errorf("status %d, %s", resp.StatusCode, body)
	}
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy %q", policy)
	}
}

func TestAnonymous(t *testing.T) {
	cfg := config(t)
	cfg.Anonymous = true
	s := start(t, cfg)
	if _, body := s.do(request{method: "PUT", target: "/dav/mine", user: "admin", password: "secret", body: strings.NewReader("x")}); body != "" {
		t.Fatal(body)
	}
	for _, c := range []struct {
		outcome string
		request
		want int
	}{
		{"files", request{method: "PUT", target: "/dav/theirs", body: strings.NewReader("x")}, 201},
		{"a workspace of its own", request{method: "GET", target: "/dav/mine"}, 404},
		{"page", request{method: "GET", target: "/"}, 200},
		{"mounts", request{method: "PROPFIND", target: "/", header: http.Header{"Depth": {"1"}}}, 207},
		{"ready", request{method: "GET", target: "/readyz"}, 200},
		{"principal needs a login", request{method: "PROPFIND", target: "/principals/anonymous/"}, 401},
		{"the API needs a login", request{method: "GET", target: "/api/v1/me"}, 401},
		{"the API knows no anonymous", request{method: "POST", target: "/api/v1/session", header: http.Header{"Content-Type": {"application/json"}},
			body: strings.NewReader(`{"user":"anonymous","password":"anonymous"}`)}, 401},
		{"the API knows others", request{method: "POST", target: "/api/v1/session", header: http.Header{"Content-Type": {"application/json"}},
			body: strings.NewReader(`{"user":"admin","password":"secret"}`)}, 200},
		{"elsewhere needs a login", request{method: "GET", target: "/nope"}, 401},
		{"right credentials are somebody", request{method: "GET", target: "/dav/mine", user: "admin", password: "secret"}, 200},
		{"wrong credentials are nobody", request{method: "GET", target: "/dav/theirs", user: "admin", password: "x"}, 401},
		{"anonymous has no password", request{method: "GET", target: "/dav/theirs", user: "anonymous", password: "anonymous"}, 401},
		{"empty scheme is not no credentials", request{method: "GET", target: "/dav/theirs", header: http.Header{"Authorization": {""}}}, 401},
		{"rebound name", request{method: "GET", target: "/dav/theirs", host: "evil.example"}, 403},
		{"rebound name with a login", request{method: "GET", target: "/dav/mine", user: "admin", password: "secret", host: "evil.example"}, 403},
		{"page of another origin", request{method: "GET", target: "/dav/theirs", header: http.Header{"Origin": {"https://evil.example"}}}, 403},
		{"preflight of another origin", request{method: "OPTIONS", target: "/dav/", header: http.Header{"Origin": {"https://evil.example"}, "Access-Control-Request-Method": {"PUT"}}}, 403},
		{"proxy", request{method: "GET", target: "/healthz", header: http.Header{"X-Forwarded-For": {"1.2.3.4"}}}, 403},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			if resp, body := s.do(c.request); resp.StatusCode != c.want {
				t.Errorf("status %d (%s), want %d", resp.StatusCode, body, c.want)
			}
		})
	}
	if log := s.stderr.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "anonymous") {
		t.Errorf("no warning: %s", log)
	}
}

func TestAnonymousWorkspaceIsClosedWithoutTheFlag(t *testing.T) {
	cfg := config(t)
	cfg.Anonymous = true
	first := start(t, cfg)
	first.do(request{method: "PUT", target: "/dav/f", body: strings.NewReader("x")})
	first.wait()
	cfg.Anonymous = false
	if resp, _ := start(t, cfg).do(request{method: "GET", target: "/dav/f"}); resp.StatusCode != 401 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

var printedPassword = regexp.MustCompile(`password ([a-z2-7-]+)`)

func TestFirstPasswordIsPrintedOnce(t *testing.T) {
	cfg := config(t)
	cfg.AdminUser, cfg.AdminPassword = "root", ""
	first := start(t, cfg)
	first.do(request{method: "GET", target: "/healthz"})
	first.wait()
	found := printedPassword.FindAllStringSubmatch(first.stdout.String(), -1)
	if len(found) != 1 {
		t.Fatalf("%d passwords in %s", len(found), first.stdout)
	}
	password := found[0][1]
	if strings.Contains(first.stderr.String(), password) {
		t.Error("the password is in the log")
	}
	again := start(t, cfg)
	if resp, _ := again.do(request{method: "OPTIONS", target: "/dav/", user: "root", password: password}); resp.StatusCode != 200 {
		t.Errorf("the password printed gives %d", resp.StatusCode)
	}
	again.wait()
	if out := again.stdout.String(); printedPassword.MatchString(out) || !strings.Contains(out, again.URL()+"/dav/") {
		t.Errorf("second start: %s", out)
	}
}

func TestGivenPasswordIsNotPrinted(t *testing.T) {
	s := start(t, config(t))
	s.do(request{method: "OPTIONS", target: "/dav/", user: "admin", password: "secret"})
	s.wait()
	if text := s.stdout.String() + s.stderr.String(); strings.Contains(text, "secret") {
		t.Error(text)
	}
}

func TestPortInUseCostsNoPassword(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t)
	cfg.AdminPassword = ""
	free := cfg.Addr
	cfg.Addr = taken.Addr().String()
	if s, err := server.New(t.Context(), cfg); err == nil {
		t.Fatal(errors.Join(errors.New("listens on a port in use"), s.Close()))
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Addr = free
	s := start(t, cfg)
	s.do(request{method: "GET", target: "/healthz"})
	s.wait()
	if !printedPassword.MatchString(s.stdout.String()) {
		t.Error("the failed start spent the password")
	}
}

func TestFirstLineSaysWhere(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			cfg := config(t)
			cfg.LogFormat = format
			s := start(t, cfg)
			s.do(request{method: "GET", target: "/healthz"})
			first, _, _ := strings.Cut(s.stderr.String(), "\n")
			want := "addr=" + s.Addr()
			if format == "json" {
				want = fmt.Sprintf(`"addr":%q`, s.Addr())
			}
			if !strings.Contains(first, "listening") || !strings.Contains(first, want) {
				t.Errorf("first line: %s", first)
			}
		})
	}
}

// upload begins a PUT whose body comes from the pipe, and returns when the
// server reads it. The channel gets the status, or 0 when there was no answer.
func (r *running) upload(target string) (*io.PipeWriter, <-chan int) {
	r.t.Helper()
	body, pipe := io.Pipe()
	answer := make(chan int, 1)
	go func() {
		resp, _, err := r.send(request{method: "PUT", target: target, user: "admin", password: "secret", body: body,
			header: http.Header{"Expect": {"100-continue"}}})
		body.CloseWithError(errors.New("the request is over"))
		if err != nil {
			answer <- 0
			return
		}
		answer <- resp.StatusCode
	}()
	if _, err := io.WriteString(pipe, "first half, "); err != nil {
		r.t.Fatal(err)
	}
	return pipe, answer
}

func TestShutdownLetsASlowUploadFinish(t *testing.T) {
	s := start(t, config(t))
	pipe, answer := s.upload("/dav/slow")
	s.stop()
	waitFor(t, func() bool { // no new connections
		conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if _, err := io.WriteString(pipe, "second half"); err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	if status := <-answer; status != http.StatusCreated {
		t.Errorf("upload: %d", status)
	}
	if err := <-s.ended; err != nil {
		t.Errorf("serve: %v", err)
	}
	if log := s.stderr.String(); strings.Contains(log, "level=ERROR") || !strings.Contains(log, "stopped") {
		t.Error(log)
	}
}

func TestShutdownIsBounded(t *testing.T) {
	cfg := config(t)
	cfg.Grace = 50 * time.Millisecond
	s := start(t, cfg)
	pipe, answer := s.upload("/dav/stuck")
	s.stop()
	select {
	case err := <-s.ended:
		if err != nil {
			t.Errorf("serve: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("still waiting for the upload")
	}
	pipe.CloseWithError(errors.New("cut off")) // net/http's client sees the end of its body first
	if status := <-answer; status == http.StatusCreated {
		t.Error("half an upload was taken")
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("waited in vain")
}

func TestLoginStorm(t *testing.T) {
	s := start(t, config(t))
	var all sync.WaitGroup
	for range 48 {
		all.Go(func() {
			if resp, body := s.do(request{method: "OPTIONS", target: "/dav/", user: "admin", password: "secret"}); resp.StatusCode != 200 {
				t.Errorf("status %d, %s", resp.StatusCode, body)
			}
		})
	}
	all.Wait()
}

func TestGuessingIsBraked(t *testing.T) {
	s := start(t, config(t))
	right := func() int {
		resp, _ := s.do(request{method: "OPTIONS", target: "/dav/", user: "admin", password: "secret"})
		return resp.StatusCode
	}
	if status := right(); status != 200 {
		t.Fatalf("before: %d", status)
	}
	braked := false
	for i := 0; i < 200 && !braked; i++ {
		s.do(request{method: "OPTIONS", target: "/dav/"}) // a probe without credentials counts for nothing
		resp, _ := s.do(request{method: "OPTIONS", target: "/dav/", user: "admin", password: fmt.Sprint("guess", i)})
		braked = resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != ""
	}
	if !braked {
		t.Error("200 guesses went through")
	}
	if status := right(); status != 200 {
		t.Errorf("who was in is out: %d", status)
	}
}

func TestCloseWithoutServe(t *testing.T) {
	s, err := server.New(t.Context(), config(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWarnsBeyondLoopback(t *testing.T) {
	cfg := config(t)
	cfg.Addr = "127.0.0.1:0"
	quiet := start(t, cfg)
	quiet.do(request{method: "GET", target: "/healthz"})
	if strings.Contains(quiet.stderr.String(), "level=WARN") {
		t.Error(quiet.stderr)
	}
	cfg = config(t)
	cfg.Addr = "0.0.0.0:0"
	loud := start(t, cfg)
	waitFor(t, func() bool { return strings.Contains(loud.stderr.String(), "BEYOND LOOPBACK") })
}
