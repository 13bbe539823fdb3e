package server

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/server/auth"
	"holdfast/store"
)

// served is a running server, its log, and a client of it that follows no
// redirect and waits for 100 Continue as long as it takes.
type served struct {
	*Server
	t      *testing.T
	base   string // URL of its address, without final slash
	log    *logBuffer
	client *http.Transport
	stop   context.CancelFunc // lets it end gracefully
}

// serve starts a server whose administrator's password is "secret".
func serve(t *testing.T, change func(*Config)) *served {
	t.Helper()
	s, log := assembled(t, change)
	v := &served{Server: s, t: t, base: "http://" + s.Addr(), log: log}
	v.client = &http.Transport{ExpectContinueTimeout: time.Minute, DisableCompression: true}
	if s.tls != nil {
		v.base = "https://" + s.Addr()
		v.client.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // the certificate is the test's own
		v.client.ForceAttemptHTTP2 = true
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	v.stop = stop
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		v.client.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return v
}

// account adds an app password of the administrator.
func (v *served) account(n store.NewAccount) string {
	v.t.Helper()
	password := auth.NewAppPassword()
	n.User, n.PasswordHash = "admin", auth.HashAppPassword(password)
	if _, err := v.store.AddAccount(v.t.Context(), n); err != nil {
		v.t.Fatal(err)
	}
	return password
}

// call is a request of a test; its headers are "Name: value" lines.
type call struct {
	method, target string
	headers        []string
	body           string
	host           string // "" is the server's address
	anonymous      bool   // without the administrator's login
}

// request makes the http.Request of a call, its target as it stands.
func (v *served) request(c call) *http.Request {
	v.t.Helper()
	var body io.Reader
	if c.body != "" {
		body = strings.NewReader(c.body)
	}
	r, err := http.NewRequestWithContext(v.t.Context(), c.method, v.base, body)
	if err != nil {
		v.t.Fatal(err)
	}
	r.URL.Opaque, r.Host = c.target, c.host
	if !c.anonymous {
		r.SetBasicAuth("admin", "secret")
	}
	for _, line := range c.headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// do sends a call and reads its answer.
func (v *served) do(c call) (*http.Response, string) {
	v.t.Helper()
	resp, err := v.client.RoundTrip(v.request(c))
	if err != nil {
		v.t.Fatalf("%s %s: %v", c.method, c.target, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatalf("%s %s: read answer: %v", c.method, c.target, err)
	}
	return resp, string(body)
}

// want sends a call and checks its status.
func (v *served) want(status int, c call) (*http.Response, string) {
	v.t.Helper()
	resp, body := v.do(c)
	if resp.StatusCode != status {
		v.t.Errorf("%s %s: status %d, want %d: %s", c.method, c.target, resp.StatusCode, status, body)
	}
	return resp, body
}

// raw opens a connection to speak byte by byte.
func (v *served) raw() net.Conn {
	v.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(v.t.Context(), "tcp", v.Addr())
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}
