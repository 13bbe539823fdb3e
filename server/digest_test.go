package server

import (
	"bufio"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/server/auth"
	"holdfast/store"
)

// withDigest starts a server with Digest beside Basic, and gives an app password
// made for it.
func withDigest(t *testing.T) (v *served, password string) {
	v = serve(t, func(c *Config) { c.Auth = []string{"basic", "digest"} })
	return v, v.digestAccount("phone")
}

func (v *served) digestAccount(name string) (password string) {
	password = auth.NewAppPassword()
	n := store.NewAccount{User: "admin", Name: name, PasswordHash: auth.HashAppPassword(password), HA1: func(user string) store.HA1 { return auth.NewHA1(user, password) }}
	if _, err := v.store.AddAccount(v.t.Context(), n); err != nil {
		v.t.Fatal(err)
	}
	return password
}

// digestFor answers the challenges of a 401 as a client does that knows MD5 only.
func digestFor(t *testing.T, resp *http.Response, method, uri, user, password string) string {
	t.Helper()
	var nonce string
	for _, challenge := range resp.Header.Values("WWW-Authenticate") {
		if strings.Contains(challenge, "algorithm=MD5,") {
			nonce = regexp.MustCompile(`nonce="([^"]*)"`).FindStringSubmatch(challenge)[1]
		}
	}
	hash := func(parts ...string) string {
		sum := md5.Sum([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(sum[:])
	}
	answer := hash(hash(user, "Holdfast", password), nonce, "00000001", "abc", "auth", hash(method, uri))
	return fmt.Sprintf(`Authorization: Digest username="%s", realm="Holdfast", nonce="%s", uri="%s", cnonce="abc", nc=00000001, qop=auth, response="%s"`,
		user, nonce, uri, answer)
}

// TestDigestR10B100: the request that was refused, sent again with an answer to
// the challenge, is served with its whole body.
func TestDigestR10B100(t *testing.T) {
	v, password := withDigest(t)
	asked := call{method: "PUT", target: "/dav/f", body: "the body", anonymous: true}
	resp, _ := v.want(401, asked)
	if got := resp.Header.Values("WWW-Authenticate"); len(got) != 3 || !strings.HasPrefix(got[0], "Digest ") || !strings.HasPrefix(got[2], "Basic ") {
		t.Errorf("challenges %q", got)
	}
	answer := digestFor(t, resp, "PUT", "/dav/f", "admin", password)
	asked.headers = []string{answer}
	v.want(201, asked)
	resp, _ = v.want(401, asked) // the same answer twice
	if got := resp.Header.Get("WWW-Authenticate"); !strings.HasSuffix(got, "stale=true") {
		t.Errorf("challenge %q", got)
	}
	if _, body := v.want(200, call{method: "GET", target: "/dav/f"}); body != "the body" {
		t.Errorf("stored %q", body)
	}
	asked.target, asked.headers = "/dav/g", nil
	resp, _ = v.want(401, asked)
	asked.headers = []string{digestFor(t, resp, "PUT", "/dav/f", "admin", password)}
	v.want(400, asked)
	v.want(404, call{method: "GET", target: "/dav/g"})
	if !strings.Contains(v.log.String(), "user=admin") {
		t.Errorf("the log does not say who: %s", v.log)
	}
}

// TestRefusedUploadR114B100: a body that comes with a refused login is read, or
// the connection says that it ends; nothing is stored, and a client that waits to
// be asked for the body is not asked.
func TestRefusedUploadR114B100(t *testing.T) {
	v, _ := withDigest(t)
	conn := v.raw()
	in := bufio.NewReader(conn)
	send := func(text string) *http.Response {
		t.Helper()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp
	}
	const put = "PUT /dav/a HTTP/1.1\r\nHost: x\r\n"
	for _, request := range []string{
		put + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		put + "Content-Length: 5\r\n\r\nhello",
		put + "Content-Length: 0\r\n\r\n",
	} {
		if resp := send(request); resp.StatusCode != 401 || resp.Close {
			t.Fatalf("status %d, close %v", resp.StatusCode, resp.Close)
		}
	}
	if resp := send(put + "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"); resp.StatusCode != 401 || !resp.Close {
		t.Errorf("with Expect: status %d, close %v", resp.StatusCode, resp.Close)
	}
	v.want(404, call{method: "GET", target: "/dav/a"})
}

// TestRefusedUploadThatNeverComesB100: curl 7 announces a chunked body and sends
// none of it before it is asked who it is.
func TestRefusedUploadThatNeverComesB100(t *testing.T) {
	bubble(t, "answered all the same", func(t *testing.T) {
		w := dial(t, func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusUnauthorized, "login required") })
		start := time.Now()
		w.send("PUT /dav/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
		resp, _ := w.answer(t)
		if took := time.Since(start); resp.StatusCode != 401 || !resp.Close || took > drainStall {
			t.Errorf("status %d, close %v, after %s", resp.StatusCode, resp.Close, took)
		}
	})
}

// TestDigestIsServedNoMore: a server without Digest drops what it compared, and
// offers it no more.
func TestDigestIsServedNoMore(t *testing.T) {
	v, password := withDigest(t)
	resp, _ := v.want(401, call{method: "GET", target: "/dav/", anonymous: true})
	v.want(200, call{method: "GET", target: "/dav/", anonymous: true, headers: []string{digestFor(t, resp, "GET", "/dav/", "admin", password)}})
	later := serve(t, func(c *Config) { c.Data = v.cfg.Data })
	resp, _ = later.want(401, call{method: "GET", target: "/dav/", anonymous: true})
	if got := resp.Header.Values("WWW-Authenticate"); len(got) != 1 || !strings.HasPrefix(got[0], "Basic ") {
		t.Errorf("challenges %q", got)
	}
	accounts, err := later.store.Accounts(t.Context(), "admin")
	if err != nil || len(accounts) != 1 || accounts[0].Digest {
		t.Errorf("%+v, %v", accounts, err)
	}
	again := serve(t, func(c *Config) { c.Data, c.Auth = v.cfg.Data, []string{"digest"} })
	resp, _ = again.want(401, call{method: "GET", target: "/dav/"}) // with Basic
	again.want(401, call{method: "GET", target: "/dav/", anonymous: true, headers: []string{digestFor(t, resp, "GET", "/dav/", "admin", password)}})
	other := again.digestAccount("other")
	again.want(200, call{method: "GET", target: "/dav/", anonymous: true, headers: []string{digestFor(t, resp, "GET", "/dav/", "admin", other)}})
}

// TestBearerR09: an app password alone opens what it may, and an empty one is no
// fault of the server.
func TestBearerR09(t *testing.T) {
	v := serve(t, func(c *Config) { c.Auth = []string{"bearer", "basic"} })
	reader := v.account(store.NewAccount{Name: "reader", ReadOnly: true})
	v.want(200, call{method: "GET", target: "/dav/", anonymous: true, headers: []string{"Authorization: Bearer " + reader}})
	v.want(403, call{method: "PUT", target: "/dav/f", body: "x", anonymous: true, headers: []string{"Authorization: Bearer " + reader}})
	for _, header := range []string{"Bearer ", "Bearer", "Bearer x", "Bearer secret"} {
		resp, _ := v.want(401, call{method: "GET", target: "/dav/", anonymous: true, headers: []string{"Authorization: " + header}})
		if got := resp.Header.Values("WWW-Authenticate"); len(got) != 2 || !strings.HasPrefix(got[0], "Basic ") || !strings.HasPrefix(got[1], "Bearer ") {
			t.Errorf("challenges %q", got)
		}
	}
}

// TestWindowsDomainR08: Windows puts its domain before the name.
func TestWindowsDomainR08(t *testing.T) {
	v := serve(t, nil)
	r := v.request(call{method: "OPTIONS", target: "/dav/", anonymous: true})
	r.SetBasicAuth(`WORK\admin`, "secret")
	resp, err := v.client.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
}
