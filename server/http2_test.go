package server

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
)

// overHTTP2 sends a call and checks that it went over HTTP/2, on the connection of
// the one before.
func (v *served) overHTTP2(status int, c call, headers ...string) (*http.Response, string) {
	v.t.Helper()
	c.headers = append(c.headers, headers...)
	resp, body := v.want(status, c)
	if resp.ProtoMajor != 2 {
		v.t.Errorf("%s over %s", c.method, resp.Proto)
	}
	return resp, body
}

// TestMethodsOverHTTP2: every method, and the headers of WebDAV, whose names come
// in lower case then.
func TestMethodsOverHTTP2(t *testing.T) {
	v := secure(t, nil)
	do := v.overHTTP2
	do(200, call{method: "OPTIONS", target: "/dav/"})
	do(201, call{method: "MKCOL", target: "/dav/d/"})
	resp, _ := do(201, call{method: "LOCK", target: "/dav/d/f", body: lockinfo}, "Timeout: Second-600", "Depth: 0")
	token := resp.Header.Get("Lock-Token")
	do(423, call{method: "PUT", target: "/dav/d/f", body: "x"})
	do(204, call{method: "PUT", target: "/dav/d/f", body: "hello"}, "If: <"+v.base+"/dav/d/f> ("+token+")")
	do(200, call{method: "LOCK", target: "/dav/d/f"}, "If: ("+token+")")
	if _, body := do(206, call{method: "GET", target: "/dav/d/f"}, "Range: bytes=1-2"); body != "el" {
		t.Errorf("range %q", body)
	}
	do(200, call{method: "HEAD", target: "/dav/d/f"})
	do(207, call{method: "PROPPATCH", target: "/dav/d/f", body: `<propertyupdate xmlns="DAV:"><set><prop><a xmlns="urn:x">1</a></prop></set></propertyupdate>`}, "If: ("+token+")")
	if _, body := do(207, call{method: "PROPFIND", target: "/dav/d/"}, "Depth: 1"); !strings.Contains(body, "<D:href>/dav/d/f</D:href>") {
		t.Error(body)
	}
	do(201, call{method: "COPY", target: "/dav/d/f"}, "Destination: "+v.base+"/dav/d/g")
	do(204, call{method: "MOVE", target: "/dav/d/f"}, "Destination: /dav/d/g", "If: ("+token+")")
	resp, _ = do(200, call{method: "LOCK", target: "/dav/d/", body: lockinfo})
	do(204, call{method: "UNLOCK", target: "/dav/d/"}, "Lock-Token: "+resp.Header.Get("Lock-Token"))
	do(204, call{method: "DELETE", target: "/dav/d/"})
	do(405, call{method: "POST", target: "/dav/", body: "x"})
}

// TestEarlyRefusalOverHTTP2R114: the answer that comes before the end of a large
// body arrives, nothing is stored, and the connection goes on.
func TestEarlyRefusalOverHTTP2R114(t *testing.T) {
	v := secure(t, func(c *Config) { c.MaxBody, c.Quota = 8<<20, 4<<20 })
	v.want(200, call{method: "GET", target: "/dav/"})
	for range 3 {
		for _, c := range []struct {
			status    int
			anonymous bool
			size      int
			headers   []string
		}{
			{401, true, 2 << 20, nil}, {413, false, 9 << 20, nil}, {507, false, 5 << 20, nil}, {412, false, 2 << 20, []string{"If-Match: *"}}, {401, true, 100, nil},
		} {
			r := v.request(call{method: "PUT", target: "/dav/f", body: strings.Repeat("x", c.size), anonymous: c.anonymous, headers: c.headers})
			reused := false
			r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}))
			resp, err := v.client.RoundTrip(r)
			if err != nil {
				t.Fatalf("%d: %v", c.status, err)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != c.status || resp.ProtoMajor != 2 || err != nil || !reused {
				t.Errorf("%s %d, want %d, reused %v, %v", resp.Proto, resp.StatusCode, c.status, reused, err)
			}
		}
	}
	v.want(404, call{method: "GET", target: "/dav/f"})
}

// TestExpectOverHTTP2: a client that waits to be asked for the body is asked only
// when it is wanted.
func TestExpectOverHTTP2(t *testing.T) {
	v := secure(t, func(c *Config) { c.MaxBody = 1000 })
	for _, c := range []struct {
		status, size int
		anonymous    bool
		asked        bool
	}{{401, 500, true, false}, {413, 2000, false, false}, {201, 500, false, true}} {
		var asked atomic.Bool
		r := v.request(call{method: "PUT", target: "/dav/f", body: strings.Repeat("x", c.size), anonymous: c.anonymous, headers: []string{"Expect: 100-continue"}})
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{Got100Continue: func() { asked.Store(true) }}))
		resp, err := v.client.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status || resp.ProtoMajor != 2 || asked.Load() != c.asked {
			t.Errorf("%s %d, want %d, asked %v", resp.Proto, resp.StatusCode, c.status, asked.Load())
		}
	}
}

// BenchmarkTLS moves a file each way over TLS, with either protocol.
func BenchmarkTLS(b *testing.B) {
	const size = 64 << 20
	cfg := DefaultConfig()
	cfg.Addr, cfg.Data, cfg.Sync, cfg.AdminPassword = "127.0.0.1:0", b.TempDir(), "normal", "secret"
	cfg.Stdout, cfg.Stderr = io.Discard, io.Discard
	certFiles(b, &cfg, "first")
	s, err := New(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	go s.accept()
	for _, protocol := range []string{"http1", "http2"} {
		client := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: protocol == "http2"}
		defer client.CloseIdleConnections()
		for _, method := range []string{"PUT", "GET"} {
			b.Run(protocol+"/"+method, func(b *testing.B) {
				b.SetBytes(size)
				for b.Loop() {
					var body io.Reader
					if method == "PUT" {
						body = io.LimitReader(zeros{}, size)
					}
					r, err := http.NewRequestWithContext(b.Context(), method, "https://"+s.Addr()+"/dav/f", body)
					if err != nil {
						b.Fatal(err)
					}
					if method == "PUT" {
						r.ContentLength = size
					}
					r.SetBasicAuth("admin", "secret")
					resp, err := client.RoundTrip(r)
					if err != nil {
						b.Fatal(err)
					}
					_, err = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					if err != nil || resp.StatusCode >= 300 || (resp.ProtoMajor == 2) != (protocol == "http2") {
						b.Fatal(resp.Proto, resp.Status, err)
					}
				}
			})
		}
	}
}
