package dav

import (
	"net/http"
	"testing"
	"time"
)

func TestParseDepth(t *testing.T) {
	tests := []struct {
		name   string
		values []string
		want   depth
		status int
	}{
		{"absent", nil, depthAbsent, 0},
		{"zero", []string{"0"}, depth0, 0},
		{"one", []string{" 1\t"}, depth1, 0},
		{"infinity", []string{"infinity"}, depthInfinity, 0},
		{"infinity in any case", []string{"Infinity"}, depthInfinity, 0},
		{"equal lines", []string{"infinity", "INFINITY"}, depthInfinity, 0},
		{"different lines", []string{"0", "1"}, 0, 400},
		{"list", []string{"0, 1"}, 0, 400},
		{"empty", []string{""}, 0, 400},
		{"two", []string{"2"}, 0, 400},
		{"leading zero", []string{"00"}, 0, 400},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseDepth(test.values)
			if test.status != 0 {
				wantStatus(t, err, test.status)
				return
			}
			if err != nil || got != test.want {
				t.Errorf("parseDepth(%q) = %v, %v, want %v", test.values, got, err, test.want)
			}
		})
	}
}

func TestParseOverwrite(t *testing.T) {
	tests := []struct {
		name   string
		values []string
		want   bool
		status int
	}{
		{"R62 absent is T", nil, true, 0},
		{"T", []string{"T"}, true, 0},
		{"F", []string{"F"}, false, 0},
		{"lower case", []string{"f"}, false, 0},
		{"equal lines", []string{"T", "T"}, true, 0},
		{"different lines", []string{"T", "F"}, false, 400},
		{"word", []string{"false"}, false, 400},
		{"empty", []string{""}, false, 400},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseOverwrite(http.Header{"Overwrite": test.values})
			if test.status != 0 {
				wantStatus(t, err, test.status)
				return
			}
			if err != nil || got != test.want {
				t.Errorf("parseOverwrite(%q) = %v, %v, want %v", test.values, got, err, test.want)
			}
		})
	}
}

func TestParseTimeout(t *testing.T) {
	type result struct {
		d            time.Duration
		infinite, ok bool
	}
	tests := []struct {
		name   string
		values []string
		want   result
	}{
		{"absent", nil, result{}},
		{"seconds", []string{"Second-600"}, result{600 * time.Second, false, true}},
		{"any case", []string{"second-7"}, result{7 * time.Second, false, true}},
		{"infinite", []string{"Infinite"}, result{0, true, true}},
		{"B23 first of a list", []string{"Infinite, Second-4100000000"}, result{0, true, true}},
		{"B23 first usable of a list", []string{"Extend, Second-x, Second-5, Infinite"}, result{5 * time.Second, false, true}},
		{"second line", []string{"", "Second-9"}, result{9 * time.Second, false, true}},
		{"B23 huge number", []string{"Second-99999999999999999999"}, result{maxTimeout, false, true}},
		{"beyond a Duration", []string{"Second-9223372037"}, result{maxTimeout, false, true}},
		{"longest Duration", []string{"Second-9223372036"}, result{maxTimeout, false, true}},
		{"zero", []string{"Second-0"}, result{}},
		{"negative", []string{"Second--1"}, result{}},
		{"signed", []string{"Second-+1"}, result{}},
		{"no number", []string{"Second-"}, result{}},
		{"B24 fraction", []string{"Second-1.5"}, result{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d, infinite, ok := parseTimeout(test.values)
			if got := (result{d, infinite, ok}); got != test.want {
				t.Errorf("parseTimeout(%q) = %+v, want %+v", test.values, got, test.want)
			}
		})
	}
	longest := maxTimeout
	if longest += time.Second; longest > 0 {
		t.Error("maxTimeout is not the longest whole number of seconds")
	}
}

func TestParseLockToken(t *testing.T) {
	tests := []struct {
		name   string
		value  string
		want   string
		status int
	}{
		{"coded URL", "<urn:uuid:1>", "urn:uuid:1", 0},
		{"blanks around", " <urn:uuid:1>\t", "urn:uuid:1", 0},
		{"R99 bare", "urn:uuid:1", "urn:uuid:1", 0},
		{"missing", "", "", 400},
		{"empty", "<>", "", 400},
		{"not closed", "<urn:uuid:1", "", 400},
		{"not opened", "urn:uuid:1>", "", 400},
		{"blank inside", "<urn:uuid: 1>", "", 400},
		{"blanks inside the brackets", "< urn:uuid:1 >", "", 400},
		{"two tokens", "<urn:a> <urn:b>", "", 400},
		{"two tokens without blank", "<urn:a><urn:b>", "", 400},
		{"a list", "(<urn:a>)", "", 400},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseLockToken(test.value)
			if test.status != 0 {
				wantStatus(t, err, test.status)
				return
			}
			if err != nil || got != test.want {
				t.Errorf("parseLockToken(%q) = %q, %v, want %q", test.value, got, err, test.want)
			}
		})
	}
}

func TestXMLContentType(t *testing.T) {
	for value, want := range map[string]bool{
		"":                                  true,
		"text/xml":                          true,
		"application/xml":                   true,
		`Text/XML; charset="utf-8"`:         true,
		"application/xml;charset=utf-8":     true,
		"application/soap+xml":              true,
		"text/xml; charset=":                true,
		"text/plain":                        false,
		"application/octet-stream":          false,
		"application/x-www-form-urlencoded": false,
		"xml":                               false,
		"xzy-foo/bar-512":                   false,
	} {
		h := http.Header{}
		if value != "" {
			h.Set("Content-Type", value)
		}
		if got := xmlContentType(h); got != want {
			t.Errorf("Content-Type %q: %v, want %v", value, got, want)
		}
	}
}

func TestParseEntityLength(t *testing.T) {
	tests := []struct {
		name   string
		values []string
		want   int64
		ok     bool
		status int
	}{
		{"absent", nil, 0, false, 0},
		{"zero", []string{"0"}, 0, true, 0},
		{"beyond 32 bits", []string{"5368709120"}, 5368709120, true, 0},
		{"equal lines", []string{"5", "5"}, 5, true, 0},
		{"different lines", []string{"5", "6"}, 0, false, 400},
		{"negative", []string{"-1"}, 0, false, 400},
		{"empty", []string{""}, 0, false, 400},
		{"word", []string{"many"}, 0, false, 400},
		{"overflow", []string{"99999999999999999999"}, 0, false, 400},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n, ok, err := parseEntityLength(http.Header{"X-Expected-Entity-Length": test.values})
			if test.status != 0 {
				wantStatus(t, err, test.status)
				return
			}
			if err != nil || n != test.want || ok != test.ok {
				t.Errorf("got %d, %v, %v, want %d, %v", n, ok, err, test.want, test.ok)
			}
		})
	}
}

func TestParseDestination(t *testing.T) {
	tests := []struct {
		name  string
		value string
		want  destination
	}{
		{"absolute URI", "http://host/b", destination{"http", "host", "/b"}},
		{"B60 absolute path", "/b", destination{"", "", "/b"}},
		{"blanks around", " /b\t", destination{"", "", "/b"}},
		{"B59 upper case", "HTTP://HOST.Example/B", destination{"http", "host.example", "/B"}},
		{"B59 user info", "http://user:pw@host/b", destination{"http", "host", "/b"}},
		{"B59 default port", "http://host:80/b", destination{"http", "host", "/b"}},
		{"default port of https", "https://host:443/b", destination{"https", "host", "/b"}},
		{"empty port", "https://host:/b", destination{"https", "host", "/b"}},
		{"other port", "https://host:80/b", destination{"https", "host:80", "/b"}},
		{"port with zeros", "http://host:08080/b", destination{"http", "host:8080", "/b"}},
		{"R64 webdav", "webdav://host:80/b", destination{"webdav", "host", "/b"}},
		{"R64 webdavs", "webdavs://host:443/b", destination{"webdavs", "host", "/b"}},
		{"R64 davs", "davs://host/b", destination{"davs", "host", "/b"}},
		{"IPv6", "http://[::1]:8080/b", destination{"http", "[::1]:8080", "/b"}},
		{"IPv6 with default port", "http://[::1]:80/b", destination{"http", "[::1]", "/b"}},
		{"IPv6 spelled out", "http://[0:0:0:0:0:0:0:1]/b", destination{"http", "[::1]", "/b"}},
		{"IPv4", "http://127.0.0.1:8080/b", destination{"http", "127.0.0.1:8080", "/b"}},
		{"no path", "http://host", destination{"http", "host", "/"}},
		{"escapes are kept", "http://host/a%2Fb%20c+d", destination{"http", "host", "/a%2Fb%20c+d"}},
		{"at sign in the path", "http://host/a@b", destination{"http", "host", "/a@b"}},
		{"raw UTF-8", "http://host/ü", destination{"http", "host", "/ü"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseDestination(test.value)
			if err != nil || got != test.want {
				t.Errorf("parseDestination(%q) = %+v, %v, want %+v", test.value, got, err, test.want)
			}
		})
	}
}

func TestParseDestinationRefuses(t *testing.T) {
	tests := []struct {
		name   string
		value  string
		status int
	}{
		{"missing", "", 400},
		{"blank", "  ", 400},
		{"relative", "b", 400},
		{"network path", "//host/b", 400},
		{"no authority", "http:/b", 400},
		{"no host", "http:///b", 400},
		{"no host but a port", "http://:80/b", 400},
		{"query", "http://host/b?x", 400},
		{"fragment", "/b#x", 400},
		{"blank inside", "/a b", 400},
		{"two values", "/a, /b", 400},
		{"brackets", "<http://host/b>", 400},
		{"bad port", "http://host:x/b", 400},
		{"port out of range", "http://host:65536/b", 400},
		{"bad IPv6", "http://[::1/b", 400},
		{"IPv6 outside of brackets", "http://::1/b", 400},
		{"bracket without its partner", "webdav://:1]:", 400},
		{"IPv6 with a zone", "http://[fe80::1%25eth0]/b", 400},
		{"IPv4 in brackets", "http://[127.0.0.1]/b", 400},
		{"text after an IPv6 address", "http://[::1]x/b", 400},
		{"escape in a host", "http://h%6Fst/b", 400},
		{"signed port", "http://host:+80/b", 400},
		{"scheme of another kind", "mailto:a@b", 400},
		{"other scheme", "ftp://host/b", 502},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseDestination(test.value)
			wantStatus(t, err, test.status)
		})
	}
}
