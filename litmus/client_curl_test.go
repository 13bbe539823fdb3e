package litmus

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// oddNames break servers and clients that decode a path twice or not at all, that take a name for a
// pattern, or that take the two forms of an accent for different characters.
var oddNames = []string{
	"with some spaces.txt",
	"#hash.txt",
	"100%.txt",
	"%41 is not A.txt",
	"a+b.txt",
	"salt&pepper.txt",
	"rocket 🚀.txt",
	"composed é.txt",
	"decomposed e\u0301.txt",
}

// curl runs curl and returns the status and the headers of the answer.
func curl(t *testing.T, m *machine, s *server, method, target string, args ...string) reply {
	t.Helper()
	argv := append([]string{"curl", "--silent", "--show-error", "--max-time", "60", "--netrc-file", m.path("netrc"),
		"--request", method, "--dump-header", m.path("headers"), "--output", m.path("body"), "--write-out", "%{http_code}"}, args...)
	if method == "HEAD" {
		argv = append(argv, "--head")
	}
	m.write(t, "", "body")
	status, err := strconv.Atoi(m.run(t, "", append(argv, target)...))
	if err != nil {
		t.Fatal(err)
	}
	r := reply{status: status, header: http.Header{}, body: m.read(t, "body")}
	for line := range strings.Lines(m.read(t, "headers")) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			r.header.Add(name, strings.TrimSpace(value))
		}
	}
	return r
}

// netrc holds the password of the server for curl and cadaver, which would show it in the list of
// processes otherwise.
func (m *machine) netrc(t *testing.T, s *server, name string) {
	t.Helper()
	m.write(t, fmt.Sprintf("machine 127.0.0.1 login %s password %s\n", s.user, s.password), name)
}

func TestClientCurl(t *testing.T) {
	m := thisMachine(t, "curl")
	s := startServer(t, folderBacking(t))
	m.netrc(t, s, "netrc")
	if r := curl(t, m, s, "MKCOL", s.dav("curl")+"/"); r.status != http.StatusCreated {
		t.Fatalf("MKCOL: %d %s", r.status, r.body)
	}
	for _, name := range oddNames {
		t.Run(name, func(t *testing.T) { everyMethod(t, m, s, name) })
	}
}

// everyMethod sends each WebDAV method for a resource of the name.
func everyMethod(t *testing.T, m *machine, s *server, name string) {
	target, copied := s.dav("curl", name), s.dav("curl", "copy of "+name)
	first, second := "first "+name, "second "+name
	const xml = "Content-Type: application/xml"
	must := func(want int, method, target string, args ...string) reply {
		t.Helper()
		r := curl(t, m, s, method, target, args...)
		if r.status != want {
			t.Fatalf("%s %s: %d %s, want %d", method, target, r.status, clip(r.body), want)
		}
		return r
	}

	if r := must(http.StatusOK, "OPTIONS", target); !strings.Contains(r.header.Get("DAV"), "2") {
		t.Errorf("OPTIONS: DAV: %s lacks class 2", r.header.Get("DAV"))
	}
	must(http.StatusCreated, "PUT", target, "--data-binary", first)
	s.holds(t, first, "curl", name)
	if r := must(http.StatusOK, "HEAD", target); r.header.Get("Content-Length") != strconv.Itoa(len(first)) || r.header.Get("ETag") == "" {
		t.Errorf("HEAD: %v", r.header)
	}
	if r := must(http.StatusMultiStatus, "PROPFIND", s.dav("curl")+"/", "--header", "Depth: 1"); !slices.Contains(hrefs(t, r.body), "/dav/curl/"+name) {
		t.Errorf("PROPFIND does not list %q: %s", name, r.body)
	}
	must(http.StatusMultiStatus, "PROPPATCH", target, "--header", xml, "--data-binary",
		`<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x:mood xmlns:x="urn:x">glad</x:mood></D:prop></D:set></D:propertyupdate>`)
	if r := must(http.StatusMultiStatus, "PROPFIND", target, "--header", "Depth: 0", "--header", xml, "--data-binary",
		`<D:propfind xmlns:D="DAV:"><D:prop><x:mood xmlns:x="urn:x"/></D:prop></D:propfind>`); !strings.Contains(r.body, ">glad<") {
		t.Errorf("PROPFIND lacks the property: %s", r.body)
	}

	r := must(http.StatusOK, "LOCK", target, "--header", "Depth: 0", "--header", xml, "--data-binary", fmt.Sprintf(lockinfo, "curl"))
	token := r.header.Get("Lock-Token")
	must(http.StatusLocked, "PUT", target, "--data-binary", second)
	must(http.StatusLocked, "LOCK", target, "--header", "Depth: 0", "--header", xml, "--data-binary", fmt.Sprintf(lockinfo, "other"))
	s.holds(t, first, "curl", name)
	must(http.StatusNoContent, "PUT", target, "--header", "If: ("+token+")", "--data-binary", second)
	s.holds(t, second, "curl", name)
	must(http.StatusOK, "LOCK", target, "--header", "If: ("+token+")") // refresh
	must(http.StatusNoContent, "UNLOCK", target, "--header", "Lock-Token: "+token)
	must(http.StatusConflict, "UNLOCK", target, "--header", "Lock-Token: "+token)

	must(http.StatusCreated, "COPY", target, "--header", "Destination: "+copied)
	must(http.StatusPreconditionFailed, "COPY", target, "--header", "Destination: "+copied, "--header", "Overwrite: F")
	must(http.StatusNoContent, "DELETE", target)
	s.lacks(t, "curl", name)
	s.holds(t, second, "curl", "copy of "+name)
	must(http.StatusCreated, "MOVE", copied, "--header", "Destination: "+target)
	s.lacks(t, "curl", "copy of "+name)
	if r := must(http.StatusOK, "GET", target); r.body != second {
		t.Errorf("GET: %s, want %s", r.body, second)
	}
}
