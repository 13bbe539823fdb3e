package litmus

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/studio-b12/gowebdav"
)

var appPassword = regexp.MustCompile(`(?m)^hf-\S+$`)

// withAppPassword is the server with an app password of the user's in place of their own. Digest takes only
// those.
func (s *server) withAppPassword(t *testing.T) *server {
	t.Helper()
	out := s.admin(t, "", "account", "add", s.user, "digest")
	password := appPassword.FindString(out)
	if password == "" {
		t.Fatalf("no app password in %q", out)
	}
	app := *s
	app.password = password
	return &app
}

func TestClientCurlDigest(t *testing.T) {
	t.Run("current", func(t *testing.T) { useDigest(t, sandbox(t)) })
	t.Run("of the release", func(t *testing.T) { useDigest(t, thisMachine(t, "curl")) })
}

// useDigest writes, locks and reads with a Digest login.
func useDigest(t *testing.T, m *machine) {
	s := startServer(t, folderBacking(t), "--auth", "basic,digest").withAppPassword(t)
	m.netrc(t, s, "netrc")
	for _, name := range oddNames {
		c := curl{m, s, name}
		target := s.dav(name)
		c.must(t, http.StatusCreated, "PUT", target, "--digest", "--data-binary", c.content())
		s.holds(t, c.content(), name)
		if r := c.must(t, http.StatusOK, "GET", target, "--digest"); r.body != c.content() {
			t.Errorf("GET: %s", clip(r.body))
		}
		lock := c.must(t, http.StatusOK, "LOCK", target, "--digest", "--header", "Depth: 0", "--data-binary", fmt.Sprintf(lockinfo, "curl"))
		token := lock.header.Get("Lock-Token")
		c.must(t, http.StatusLocked, "PUT", target, "--digest", "--data-binary", c.rewritten())
		c.must(t, http.StatusNoContent, "PUT", target, "--digest", "--header", "If: ("+token+")", "--data-binary", c.rewritten())
		c.must(t, http.StatusNoContent, "UNLOCK", target, "--digest", "--header", "Lock-Token: "+token)
		s.holds(t, c.rewritten(), name)
	}
	c := curl{m, s, oddNames[0]}
	t.Run("Basic is there too", func(t *testing.T) { c.must(t, http.StatusOK, "GET", s.dav(c.name), "--basic") })
	t.Run("the safer is chosen", func(t *testing.T) { c.chooses(t) })
	t.Run("100-continue", func(t *testing.T) { c.expects(t) })
	t.Run("wrong passwords", func(t *testing.T) { c.isRefused(t) })
}

// chooses lets curl take the login that it thinks best of those offered.
func (c curl) chooses(t *testing.T) {
	log := c.run(t, "", "curl", "--silent", "--verbose", "--max-time", "60", "--netrc-file", c.path("netrc"), "--anyauth", "--output", c.path("body"), c.server.dav(c.name))
	if !strings.Contains(log, "> Authorization: Digest ") || strings.Contains(log, "> Authorization: Basic ") {
		t.Errorf("curl does not choose Digest:\n%s", log)
	}
}

// expects sends 5 MiB that wait for "100 Continue". The first request, which has no credentials that are right
// yet, sends nothing of them.
func (c curl) expects(t *testing.T) {
	_, sum := c.writePattern(t, 5<<20, time.Now(), "five")
	target := c.server.dav("five")
	log := c.run(t, "", "curl", "--silent", "--verbose", "--max-time", "60", "--netrc-file", c.path("netrc"), "--anyauth", "--header", "Expect: 100-continue",
		"--upload-file", c.path("five"), target)
	if !strings.Contains(log, "< HTTP/1.1 100 Continue") || !strings.Contains(log, "< HTTP/1.1 201 Created") {
		t.Errorf("no 100 and 201:\n%s", log)
	}
	if status, got := c.server.stream(t, t.Context(), http.MethodGet, target, http.NoBody, 0, ""); status != http.StatusOK || got != sum {
		t.Errorf("GET: %d, SHA-256 %s, want %s", status, got, sum)
	}
	for line := range strings.Lines(c.server.Log()) {
		if strings.Contains(line, "method=PUT path=/dav/five status=401") && !strings.Contains(line, " in=0 ") {
			t.Errorf("the body was read without a login: %s", line)
		}
	}
}

// isRefused: neither a wrong password nor the user's own opens anything by Digest.
func (c curl) isRefused(t *testing.T) {
	for _, password := range []string{"wrong", testPassword} {
		c.write(t, fmt.Sprintf("machine 127.0.0.1 login %s password %s\n", c.server.user, password), "netrc")
		r := c.must(t, http.StatusUnauthorized, "PUT", c.server.dav(c.name), "--digest", "--data-binary", "stolen")
		if !strings.Contains(strings.Join(r.header.Values("WWW-Authenticate"), "\n"), "Digest ") {
			t.Errorf("no challenge: %v", r.header)
		}
	}
	c.server.holds(t, c.rewritten(), c.name)
}

// TestClientCurlStaleNonce restarts the server between two tries of one request: the nonce that curl has is worth
// nothing then. The server says so, and curl goes on with the new one.
func TestClientCurlStaleNonce(t *testing.T) {
	m := thisMachine(t, "curl")
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	auth := []string{"--auth", "digest,basic"}
	s := startServer(t, folderBacking(t), auth...).withAppPassword(t)
	s.put(t, "content", "file")
	m.netrc(t, s, "netrc")

	var mu sync.Mutex
	var connections int
	var later *Program
	relay := startRelay(t, func() (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		connections++
		switch connections {
		case 1: // curl asks for the challenge
			return dialServer(s.URL)
		case 2: // and answers it
			if err := s.Stop(); err != nil {
				return nil, err
			}
			later, err = Start(context.WithoutCancel(t.Context()), Options{Path: path, Data: s.data, Args: auth})
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() {
				if err := later.Stop(); err != nil {
					t.Error(err)
				}
			})
		}
		return dialServer(later.URL)
	})
	log := m.run(t, "", "curl", "--silent", "--verbose", "--max-time", "60", "--netrc-file", m.path("netrc"), "--digest", "--header", "Connection: close",
		"--output", m.path("file"), relay.URL+"/dav/file")
	if got := m.read(t, "file"); got != "content" {
		t.Errorf("GET: %s\n%s", clip(got), log)
	}
	if n := strings.Count(log, "stale=true"); n == 0 {
		t.Errorf("the server does not say that the nonce is stale:\n%s", log)
	}
}

func TestClientNpmWebdavDigest(t *testing.T) {
	m := npm(t)
	startServer(t, folderBacking(t), "--auth", "basic,digest").withAppPassword(t).runWebdavClient(t, m, "digest")
}

// TestClientGowebdavDigest logs in where nothing but Digest is offered.
func TestClientGowebdavDigest(t *testing.T) {
	need(t, true, "") // not under -short
	s := startServer(t, folderBacking(t), "--auth", "digest").withAppPassword(t)
	if err := gowebdav.NewClient(s.dav(), s.user, testPassword).Connect(); !gowebdav.IsErrCode(err, http.StatusUnauthorized) {
		t.Errorf("the user's own password: %v", err)
	}
	// It signs the path that it is given and not the URL, so the root must be the server's and the name plain.
	c := gowebdav.NewClient(s.URL, s.user, s.password)
	for i := range 3 {
		content := fmt.Sprint("content ", i)
		if err := c.Write("/dav/digest.txt", []byte(content), 0); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Read("/dav/digest.txt"); err != nil || string(got) != content {
			t.Errorf("read %s, %v", got, err)
		}
	}
}
