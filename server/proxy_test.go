package server

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// behind starts a server behind a TLS proxy that strips a prefix of the path, and
// gives a client of the proxy and its URL with the prefix. Clients reach the
// proxy as dav.example, whatever its address.
func behind(t *testing.T, prefix string, change func(*Config), forward func(*httputil.ProxyRequest)) (v *served, public string) {
	t.Helper()
	v = serve(t, change)
	inner, err := url.Parse(v.base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewTLSServer(http.StripPrefix(prefix, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(inner)
		forward(r)
	}}))
	t.Cleanup(proxy.Close)
	v.base = proxy.URL
	v.client.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	return v, "https://dav.example" + prefix
}

// How a proxy passes on what its client named.
var (
	keepHost     = func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host }
	saysForwards = func(r *httputil.ProxyRequest) {
		r.Out.Host = "backend:8080"
		r.SetXForwarded()
	}
	saysPrefix = func(r *httputil.ProxyRequest) {
		saysForwards(r)
		r.Out.Header.Set("X-Forwarded-Prefix", "/files")
	}
)

const lockinfo = `<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`

// TestBehindAProxyB57B58: a proxy that ends TLS, and strips a path or does not,
// and tells of itself in any of the usual ways.
func TestBehindAProxyB57B58(t *testing.T) {
	trusting := func(urls ...string) func(*Config) {
		return func(c *Config) { c.TrustedProxy, c.PublicURL = []string{"127.0.0.1"}, urls }
	}
	for _, c := range []struct {
		outcome, prefix string
		change          func(*Config)
		forward         func(*httputil.ProxyRequest)
	}{
		{"it keeps Host, and the URL is named", "", func(c *Config) { c.PublicURL = []string{"https://dav.example"} }, keepHost},
		{"it says what it forwards", "", trusting(), saysForwards},
		{"it strips a path and keeps Host", "/files", func(c *Config) { c.PublicURL = []string{"https://dav.example/files"} }, keepHost},
		{"it strips a path and says what it forwards", "/files", trusting("https://dav.example/files"), saysForwards},
		{"it says what it strips", "/files", trusting(), saysPrefix},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			v, public := behind(t, c.prefix, c.change, c.forward)
			at := func(path string) string { return c.prefix + path }
			send := func(status int, method, path string, body string, headers ...string) (*http.Response, string) {
				t.Helper()
				return v.want(status, call{method: method, target: at(path), host: "dav.example", body: body, headers: headers})
			}
			href := func(path string) string { return "<D:href>" + at(path) + "</D:href>" }
			shows := func(body string, hrefs ...string) {
				t.Helper()
				for _, path := range hrefs {
					if !strings.Contains(body, href(path)) {
						t.Errorf("no %s in %s", href(path), body)
					}
				}
			}
			send(201, "PUT", "/dav/a", "x")
			for i, destination := range []string{ // R64, B59, B60
				public + "/dav/b", strings.Replace(public, "https://dav", "HTTPS://me@DAV", 1) + "/dav/c",
				strings.Replace(public, ".example", ".example:443", 1) + "/dav/d", strings.Replace(public, "https", "webdavs", 1) + "/dav/e", at("/dav/f"),
			} {
				send(201, "MOVE", "/dav/"+string(rune('a'+i)), "", "Destination: "+destination)
			}
			send(502, "MOVE", "/dav/f", "", "Destination: https://other.example"+c.prefix+"/dav/g")
			_, body := send(207, "PROPFIND", "/", "", "Depth: 1")
			shows(body, "/", "/dav/")
			_, body = send(207, "PROPFIND", "/dav/", `<propfind xmlns="DAV:"><prop><current-user-principal/></prop></propfind>`, "Depth: 1", "Content-Type: text/xml")
			shows(body, "/dav/", "/dav/f", "/principals/admin/")
			resp, body := send(200, "LOCK", "/dav/f", lockinfo)
			shows(body, "/dav/f")
			token := resp.Header.Get("Lock-Token")
			_, body = send(423, "PUT", "/dav/f", "x")
			shows(body, "/dav/f")
			for _, tag := range []string{public + "/dav/f", at("/dav/f")} { // R95, B04, B05
				send(204, "PUT", "/dav/f", "x", "If: <"+tag+">("+token+")")
			}
			send(412, "PUT", "/dav/f", "x", "If: <https://other.example"+c.prefix+"/dav/f> ("+token+")")
			_, body = send(200, "GET", "/", "")
			if !strings.Contains(body, public+"/dav/") || !strings.Contains(body, `href="`+at("/dav/")+`"`) {
				t.Errorf("the page does not lead to %s/dav/: %s", public, body)
			}
		})
	}
}

// TestDirectBesideAProxy: who reaches the server itself sees its own paths.
func TestDirectBesideAProxy(t *testing.T) {
	v := serve(t, func(c *Config) { c.PublicURL = []string{"https://dav.example/files"} })
	v.want(201, call{method: "PUT", target: "/dav/a", body: "x", headers: []string{"X-Forwarded-Prefix: /evil", "X-Forwarded-Host: dav.example"}})
	_, body := v.want(207, call{method: "PROPFIND", target: "/dav/", headers: []string{"Depth: 1", "X-Forwarded-Prefix: /evil", "X-Forwarded-Host: dav.example"}})
	if !strings.Contains(body, "<D:href>/dav/a</D:href>") || strings.Contains(body, "files/dav") {
		t.Error(body)
	}
	v.want(201, call{method: "MOVE", target: "/dav/a", headers: []string{"Destination: " + v.base + "/dav/b"}})
	if got := v.URL(); got != "https://dav.example/files" {
		t.Errorf("the hints begin with %s", got)
	}
}
