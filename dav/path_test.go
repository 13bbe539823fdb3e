package dav

import (
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// wantStatus fails the test unless err is an httpError of that status.
func wantStatus(t *testing.T, err error, status int) {
	t.Helper()
	var e *httpError
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want one with status %d", err, status)
	}
	if e.status != status {
		t.Fatalf("status %d (%v), want %d", e.status, err, status)
	}
}

func TestSplitPath(t *testing.T) {
	tests := []struct {
		name  string
		path  string
		names []string
		slash bool
	}{
		{"mount without slash", "", nil, false},
		{"mount", "/", nil, true},
		{"file", "/a", []string{"a"}, false},
		{"collection", "/a/", []string{"a"}, true},
		{"nested", "/a/b/c", []string{"a", "b", "c"}, false},
		{"B68 double slashes collapse", "//a///b//", []string{"a", "b"}, true},
		{"B68 dot segments vanish", "/./a/%2e/b/.", []string{"a", "b"}, true},
		{"B63 plus is a plus", "/a+b%2Bc", []string{"a+b+c"}, false},
		{"B64 semicolons are no parameters", "/a;b=1", []string{"a;b=1"}, false},
		{"B64 escaped semicolons are the same", "/a%3Bb%3D1", []string{"a;b=1"}, false},
		{"B66 astral characters", "/%F0%9F%98%80.txt", []string{"\U0001F600.txt"}, false},
		{"lower-case hex", "/%c3%bc", []string{"ü"}, false},
		{"raw UTF-8", "/ü", []string{"ü"}, false},
		{"decomposed stays decomposed", "/u%CC%88", []string{"u\u0308"}, false},
		{"B69 zero is a name", "/0/-/null", []string{"0", "-", "null"}, false},
		{"B69 blank is a name", "/%20", []string{" "}, false},
		{"dots within names", "/.hidden/...", []string{".hidden", "..."}, false},
		{"escaped markup", "/%23%25%26%5B%27%3F", []string{"#%&['?"}, false},
		{"escaped percent is decoded once", "/%2541", []string{"%41"}, false},
		{"longest name", "/" + strings.Repeat("n", 255), []string{strings.Repeat("n", 255)}, false},
		{"C1 is allowed", "/%C2%85", []string{"\u0085"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			names, slash, err := splitPath(test.path)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(names, test.names) || slash != test.slash {
				t.Errorf("splitPath(%q) = %q, %v, want %q, %v", test.path, names, slash, test.names, test.slash)
			}
		})
	}
}

func TestSplitPathRefuses(t *testing.T) {
	tests := []struct {
		name string
		path string
	}{
		{"relative path", "a"},
		{"dot dot", "/a/../b"},
		{"escaped dot dot", "/a/%2e%2E/b"},
		{"half-escaped dot dot", "/.%2e"},
		{"B65 escaped slash", "/a%2Fb"},
		{"escaped slash, lower case", "/a%2fb"},
		{"R109 climbing by escaped slash", "/..%2f..%2fetc/passwd"},
		{"lone percent", "/a%"},
		{"cut escape", "/a%4"},
		{"bad hex", "/a%4g"},
		{"invalid UTF-8", "/%FF"},
		{"overlong UTF-8", "/%C0%AF"},
		{"surrogate", "/%ED%A0%80"},
		{"NUL", "/a%00"},
		{"C0", "/a%1F"},
		{"DEL", "/a%7F"},
		{"U+FFFE", "/%EF%BF%BE"},
		{"U+FFFF", "/%EF%BF%BF"},
		{"raw number sign", "/a#b"},
		{"raw question mark", "/a?b"},
		{"too long a name", "/" + strings.Repeat("n", 256)},
		{"too long a name in bytes", "/" + strings.Repeat("%C3%BC", 128)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := splitPath(test.path)
			wantStatus(t, err, http.StatusBadRequest)
		})
	}
}

func TestSplitPathLevels(t *testing.T) {
	names, _, err := splitPath(strings.Repeat("/x", 128) + "/")
	if err != nil || len(names) != 128 {
		t.Errorf("128 levels: %d names, %v", len(names), err)
	}
	_, _, err = splitPath(strings.Repeat("/x", 129))
	if !errors.Is(err, errTooDeep) {
		t.Errorf("129 levels: %v, want errTooDeep", err)
	}
	wantStatus(t, err, http.StatusForbidden)
}

func TestAppendHref(t *testing.T) {
	tests := []struct {
		name   string
		prefix string
		names  []string
		slash  bool
		want   string
	}{
		{"root without prefix", "", nil, false, "/"},
		{"mount as collection", "/dav", nil, true, "/dav/"},
		{"mount without slash", "/dav", nil, false, "/dav"},
		{"file", "/dav", []string{"d", "f"}, false, "/dav/d/f"},
		{"collection", "/dav", []string{"d"}, true, "/dav/d/"},
		{"B61 reserved characters", "", []string{"t #:?&.txt"}, false, "/t%20%23:%3F%26.txt"},
		{"B62 brackets", "", []string{"x[a].txt"}, false, "/x%5Ba%5D.txt"},
		{"B70 markup", "", []string{"a&<.txt"}, false, "/a%26%3C.txt"},
		{"B63 plus", "", []string{"a+b"}, false, "/a%2Bb"},
		{"quotes", "", []string{`'"`}, false, "/%27%22"},
		{"B66 astral character", "", []string{"\U0001F600"}, false, "/%F0%9F%98%80"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(appendHref(nil, test.prefix, test.names, test.slash)); got != test.want {
				t.Errorf("href %q, want %q", got, test.want)
			}
		})
	}
}

// Every byte a name can hold comes back from its href, which is a URI and
// needs no XML escaping.
func TestHrefRoundTrip(t *testing.T) {
	for c := rune(0x20); c < 0x180; c++ {
		name := "a" + string(c)
		if checkName(name) != nil {
			continue
		}
		href := string(appendHref(nil, "", []string{name}, false))
		checkHref(t, href, []string{name})
	}
}

func checkHref(t *testing.T, href string, want []string) {
	t.Helper()
	names, _, err := splitPath(href)
	if err != nil || !slices.Equal(names, want) {
		t.Fatalf("href %q reads as %q, %v, want %q", href, names, err, want)
	}
	u, err := url.ParseRequestURI(href)
	if err != nil || u.EscapedPath() != href {
		t.Fatalf("href %q is not kept by net/url: %v", href, err)
	}
	var escaped strings.Builder
	if err := xml.EscapeText(&escaped, []byte(href)); err != nil || escaped.String() != href {
		t.Fatalf("href %q needs XML escaping", href)
	}
}
