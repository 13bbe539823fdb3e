package server

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestOrigins(t *testing.T) {
	known := origins{
		public:  []publicURL{{origin: newOrigin("https", "DAV.example:443")}},
		proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}
	for _, c := range []struct {
		outcome      string
		host, peer   string
		header       http.Header
		scheme, name string
		want         bool
	}{
		{"own host", "files:8080", "1.2.3.4:5", nil, "http", "files:8080", true},
		{"own host in upper case", "files:8080", "1.2.3.4:5", nil, "HTTP", "FILES:8080", true},
		{"default port left out", "files:80", "1.2.3.4:5", nil, "http", "files", true},
		{"default port added", "files", "1.2.3.4:5", nil, "http", "files:80", true},
		{"empty port", "files", "1.2.3.4:5", nil, "http", "files:", true},
		{"KDE's scheme", "files", "1.2.3.4:5", nil, "webdav", "files", true},
		{"KDE's scheme with TLS", "files", "1.2.3.4:5", nil, "webdavs", "dav.example", true},
		{"other port", "files:8080", "1.2.3.4:5", nil, "http", "files:8081", false},
		{"other host", "files", "1.2.3.4:5", nil, "http", "other", false},
		{"other scheme", "files", "1.2.3.4:5", nil, "https", "files", false},
		{"public URL", "inner:8080", "1.2.3.4:5", nil, "https", "dav.example", true},
		{"public host with another scheme", "inner:8080", "1.2.3.4:5", nil, "http", "dav.example", false},
		{"IPv6", "[::1]:8080", "1.2.3.4:5", nil, "http", "[::1]:8080", true},
		{"forwarded by a trusted proxy", "inner", "10.1.1.1:5",
			http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"cloud.example"}}, "https", "cloud.example", true},
		{"scheme forwarded, host kept", "cloud.example", "10.1.1.1:5",
			http.Header{"X-Forwarded-Proto": {"https"}}, "https", "cloud.example", true},
		{"what the nearest proxy said counts", "inner", "10.1.1.1:5",
			http.Header{"X-Forwarded-Host": {"evil.example, cloud.example"}}, "http", "evil.example", false},
		{"forwarded by anybody", "inner", "1.2.3.4:5",
			http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"cloud.example"}}, "https", "cloud.example", false},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			r := httptest.NewRequest("MOVE", "/dav/a", nil)
			r.Host, r.RemoteAddr = c.host, c.peer
			if c.header != nil {
				r.Header = c.header
			}
			if got := known.knows(r, c.scheme, c.name); got != c.want {
				t.Errorf("%s://%s: got %v", c.scheme, c.name, got)
			}
		})
	}
}

func TestExternal(t *testing.T) {
	known := origins{
		public: []publicURL{
			{newOrigin("https", "dav.example"), "/files"}, {newOrigin("https", "plain.example"), ""}, {newOrigin("http", "dav.example"), "/files"},
		},
		proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}
	forwarded := func(host, prefix string) http.Header {
		return http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {host}, "X-Forwarded-Prefix": {prefix}}
	}
	for _, c := range []struct {
		outcome, host, peer string
		header              http.Header
		want, shown         string
	}{
		{"direct", "127.0.0.1:8080", "127.0.0.1:5", nil, "", "http://127.0.0.1:8080"},
		{"public host passed on by any proxy", "DAV.example", "1.2.3.4:5", nil, "/files", "http://dav.example/files"},
		{"public host with another scheme", "plain.example", "1.2.3.4:5", nil, "", "https://plain.example"},
		{"public host on another port", "dav.example:8443", "1.2.3.4:5", nil, "", "http://dav.example:8443"},
		{"forwarded by a trusted proxy", "inner", "10.0.0.1:5", http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"dav.example"}}, "/files", "https://dav.example/files"},
		{"forwarded by anybody", "inner", "1.2.3.4:5", forwarded("dav.example", "/x"), "", "http://inner"},
		{"the trusted proxy's own prefix", "inner", "10.0.0.1:5", forwarded("dav.example", "/x/ü/"), "/x/%C3%BC", "https://dav.example/x/%C3%BC"},
		{"of a host not named", "inner", "10.0.0.1:5", forwarded("other.example", "/x"), "/x", "https://other.example/x"},
		{"that strips nothing", "inner", "10.0.0.1:5", forwarded("dav.example", "/"), "", "https://dav.example"},
		{"the nearest proxy's", "inner", "10.0.0.1:5", forwarded("other.example", "/evil, /x"), "/x", "https://other.example/x"},
		{"markup is escaped", "inner", "10.0.0.1:5", forwarded("other.example", `/<"&'>`), "/%3C%22%26%27%3E", "https://other.example/%3C%22%26%27%3E"},
		{"that climbs is none", "inner", "10.0.0.1:5", forwarded("dav.example", "/../x"), "/files", "https://dav.example/files"},
		{"that is too long is none", "inner", "10.0.0.1:5", forwarded("other.example", "/"+strings.Repeat("x/", 1024)), "", "https://other.example"},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			r := httptest.NewRequest("PROPFIND", "/dav/a", nil)
			r.Host, r.RemoteAddr = c.host, c.peer
			if c.header != nil {
				r.Header = c.header
			}
			if got := known.external(r); got != c.want {
				t.Errorf("external %q, want %q", got, c.want)
			}
			if got := known.shown(r).String(); got != c.shown {
				t.Errorf("shown %q, want %q", got, c.shown)
			}
		})
	}
}

func TestClientAddress(t *testing.T) {
	known := origins{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	for _, c := range []struct {
		outcome, peer string
		forwarded     []string
		want          string
	}{
		{"no proxy", "1.2.3.4:5", nil, "1.2.3.4"},
		{"untrusted peer claims another", "1.2.3.4:5", []string{"9.9.9.9"}, "1.2.3.4"},
		{"trusted proxy", "10.0.0.1:5", []string{"9.9.9.9"}, "9.9.9.9"},
		{"trusted proxy, mapped", "[::ffff:10.0.0.1]:5", []string{"9.9.9.9"}, "9.9.9.9"},
		{"two trusted proxies", "10.0.0.1:5", []string{"9.9.9.9, 10.0.0.2"}, "9.9.9.9"},
		{"two lines", "10.0.0.1:5", []string{"9.9.9.9", "fd00::2"}, "9.9.9.9"},
		{"client's own claim before the proxy's", "10.0.0.1:5", []string{"8.8.8.8, 9.9.9.9"}, "9.9.9.9"},
		{"with port", "10.0.0.1:5", []string{"[2001:db8::1]:99"}, "2001:db8::1"},
		{"nonsense", "10.0.0.1:5", []string{"unknown"}, "10.0.0.1"},
		{"proxy alone", "10.0.0.1:5", nil, "10.0.0.1"},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = c.peer
			for _, line := range c.forwarded {
				r.Header.Add("X-Forwarded-For", line)
			}
			if got := known.client(r); got != netip.MustParseAddr(c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestCheckAnonymous(t *testing.T) {
	for _, c := range []struct {
		outcome, host string
		header        http.Header
		want          error
	}{
		{"IPv4", "127.0.0.1:8080", nil, nil},
		{"other loopback address", "127.1.2.3", nil, nil},
		{"IPv6", "[::1]:8080", nil, nil},
		{"IPv6 without port", "[::1]", nil, nil},
		{"localhost", "localhost:8080", nil, nil},
		{"localhost in upper case", "LOCALHOST", nil, nil},
		{"rebound name", "evil.example:8080", nil, errForeignHost},
		{"name below localhost", "evil.localhost", nil, errForeignHost},
		{"name like localhost", "localhost.evil.example", nil, errForeignHost},
		{"name like an address", "127.0.0.1.evil.example", nil, errForeignHost},
		{"address of this machine", "192.0.2.1:8080", nil, errForeignHost},
		{"every address", "0.0.0.0:8080", nil, errForeignHost},
		{"no host", "", nil, errForeignHost},
		{"Forwarded", "localhost", http.Header{"Forwarded": {"for=1.2.3.4"}}, errForwarded},
		{"X-Forwarded-For", "localhost", http.Header{"X-Forwarded-For": {"1.2.3.4"}}, errForwarded},
		{"X-Forwarded-anything", "localhost", http.Header{"X-Forwarded-Prefix": {""}}, errForwarded},
		{"same origin", "localhost:8080", http.Header{"Origin": {"http://localhost:8080"}, "Sec-Fetch-Site": {"same-origin"}}, nil},
		{"other port", "localhost:8080", http.Header{"Origin": {"http://localhost:3000"}}, errForeignOrigin},
		{"other scheme", "localhost:8080", http.Header{"Origin": {"https://localhost:8080"}}, errForeignOrigin},
		{"other origin", "localhost:8080", http.Header{"Origin": {"https://evil.example"}}, errForeignOrigin},
		{"opaque origin", "localhost:8080", http.Header{"Origin": {"null"}}, errForeignOrigin},
		{"one of two origins", "localhost", http.Header{"Origin": {"http://localhost", "http://evil.example"}}, errForeignOrigin},
		{"cross-site fetch", "localhost", http.Header{"Sec-Fetch-Site": {"cross-site"}}, errForeignOrigin},
		{"same-site fetch", "localhost", http.Header{"Sec-Fetch-Site": {"same-site"}}, errForeignOrigin},
		{"empty Sec-Fetch-Site", "localhost", http.Header{"Sec-Fetch-Site": {""}}, errForeignOrigin},
		{"address typed by the user", "localhost", http.Header{"Sec-Fetch-Site": {"none"}}, nil},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/dav/", nil)
			r.Host = c.host
			if c.header != nil {
				r.Header = c.header
			}
			if got := checkAnonymous(r); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
