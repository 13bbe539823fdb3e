package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/dav"
)

// named serves pages of two origins.
func named(t *testing.T) *served {
	return serve(t, func(c *Config) { c.CORSOrigin = []string{"app://obsidian.md", "https://App.example:443"} })
}

// list splits a header that is a list.
func list(h http.Header, name string) []string { return strings.Split(h.Get(name), ", ") }

// TestPreflightR05R06B96: a browser's question is answered without a login, and no
// other OPTIONS is (R05).
func TestPreflightR05R06B96(t *testing.T) {
	v := named(t)
	ask := func(origin string) []string {
		return []string{"Origin: " + origin, "Access-Control-Request-Method: PROPFIND",
			"Access-Control-Request-Headers: depth,authorization, IF, x-evil,if-none-match,x-oc-mtime,depth"}
	}
	for _, origin := range []string{"app://obsidian.md", "https://app.example"} {
		for _, path := range []string{"/", "/dav/", "/dav/none", "/teams/", "/elsewhere", "*"} {
			resp, body := v.want(204, call{method: "OPTIONS", target: path, headers: ask(origin), anonymous: true})
			h := resp.Header
			if h.Get("Access-Control-Allow-Origin") != origin || body != "" || h.Get("WWW-Authenticate") != "" {
				t.Errorf("%s: %v", path, h)
			}
			if got := list(h, "Access-Control-Allow-Methods"); !slices.Equal(got, append(dav.Methods(), "POST", "PATCH")) || !slices.Contains(got, "PROPFIND") {
				t.Errorf("methods %q", got)
			}
			if got := h.Get("Access-Control-Allow-Headers"); got != "Depth, Authorization, If, If-None-Match, X-OC-Mtime" {
				t.Errorf("headers %q", got)
			}
			if !strings.Contains(h.Get("Vary"), "Origin") || h.Get("Access-Control-Max-Age") == "" {
				t.Errorf("Vary %q, Max-Age %q", h.Get("Vary"), h.Get("Access-Control-Max-Age"))
			}
			if _, sent := h["Access-Control-Allow-Credentials"]; sent {
				t.Error("credentials that a browser keeps are allowed")
			}
		}
	}
	for _, origin := range []string{"https://evil.example", "http://app.example", "https://app.example.evil.example", "https://app.example:444", "null", "app://obsidian.md.evil"} {
		resp, _ := v.want(204, call{method: "OPTIONS", target: "/dav/", headers: ask(origin), anonymous: true})
		for name := range resp.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s is told %s", origin, name)
			}
		}
	}
	for _, headers := range [][]string{nil, {"Origin: app://obsidian.md"}, {"Access-Control-Request-Method: PUT"}} {
		v.want(401, call{method: "OPTIONS", target: "/dav/", headers: headers, anonymous: true})
	}
}

// TestCrossOriginAnswersR07: whatever is answered can be read by a named origin
// and by no other.
func TestCrossOriginAnswersR07(t *testing.T) {
	v := named(t)
	v.want(201, call{method: "PUT", target: "/dav/f", body: "x"})
	for _, c := range []struct {
		status int
		call
	}{
		{200, call{method: "GET", target: "/dav/f"}},
		{207, call{method: "PROPFIND", target: "/dav/"}},
		{401, call{method: "PROPFIND", target: "/dav/", anonymous: true}},
		{404, call{method: "GET", target: "/dav/none"}},
		{404, call{method: "GET", target: "/none"}},
		{400, call{method: "GET", target: "/dav/a#b"}},
		{204, call{method: "PUT", target: "/dav/f", body: "y"}},
		{200, call{method: "GET", target: "/healthz", anonymous: true}},
	} {
		for origin, allowed := range map[string]string{"app://obsidian.md": "app://obsidian.md", "https://evil.example": "", "": ""} {
			c.headers = nil
			if origin != "" {
				c.headers = []string{"Origin: " + origin}
			}
			resp, _ := v.want(c.status, c.call)
			h := resp.Header
			if got := h.Get("Access-Control-Allow-Origin"); got != allowed {
				t.Errorf("%s %s: origin %q is answered %q", c.method, c.target, origin, got)
			}
			if !slices.Contains(h.Values("Vary"), "Origin") {
				t.Errorf("%s %s: Vary %q", c.method, c.target, h.Values("Vary"))
			}
			if allowed == "" {
				continue
			}
			exposed := list(h, "Access-Control-Expose-Headers")
			for _, name := range []string{"ETag", "DAV", "Lock-Token", "Last-Modified", "Content-Length", "Content-Range", "Location", "X-OC-Mtime", "WWW-Authenticate"} {
				if !slices.Contains(exposed, name) {
					t.Errorf("%s is hidden", name)
				}
			}
		}
	}
}

// TestForeignPageChangesNothing: with a login that the browser keeps, a page of
// another origin can send GET, HEAD and POST with the headers of a form, all else
// only after a preflight. None of these changes a file, whatever they say.
func TestForeignPageChangesNothing(t *testing.T) {
	v := named(t)
	v.want(201, call{method: "PUT", target: "/dav/f", body: "x"})
	for _, path := range []string{"/", "/dav/", "/dav/f", "/dav/new", "/teams/", "/principals/admin/"} {
		for _, query := range []string{"", "?_method=DELETE"} {
			resp, _ := v.do(call{method: "POST", target: path + query, body: "a=b", headers: []string{
				"Origin: https://evil.example", "Content-Type: text/plain", "X-HTTP-Method-Override: DELETE"}})
			if resp.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("POST %s: %d", path, resp.StatusCode)
			}
		}
	}
	if _, body := v.want(200, call{method: "GET", target: "/dav/f", headers: []string{"X-HTTP-Method-Override: DELETE"}}); body != "x" {
		t.Error(body)
	}
	v.want(200, call{method: "GET", target: "/dav/f"})
	v.want(404, call{method: "GET", target: "/dav/new"})
}
