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

// curl sends requests about one name of the folder "curl".
type curl struct {
	*machine
	server *server
	name   string
}

// send runs curl and returns the answer.
func (c curl) send(t *testing.T, method, target string, args ...string) reply {
	t.Helper()
	argv := append([]string{"curl", "--silent", "--show-error", "--max-time", "60", "--netrc-file", c.path("netrc"),
		"--request", method, "--dump-header", c.path("headers"), "--output", c.path("body"), "--write-out", "%{http_code}"}, args...)
	if method == "HEAD" {
		argv = append(argv, "--head")
	}
	c.write(t, "", "body")
	status, err := strconv.Atoi(c.run(t, "", append(argv, target)...))
	if err != nil {
		t.Fatal(err)
	}
	r := reply{status: status, header: http.Header{}, body: c.read(t, "body")}
	for line := range strings.Lines(c.read(t, "headers")) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			r.header.Add(name, strings.TrimSpace(value))
		}
	}
	return r
}

// must is send for a request that has to be answered with a status.
func (c curl) must(t *testing.T, status int, method, target string, args ...string) reply {
	t.Helper()
	r := c.send(t, method, target, args...)
	if r.status != status {
		t.Fatalf("%s %s: %d %s, want %d", method, target, r.status, clip(r.body), status)
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
	curl{m, s, ""}.must(t, http.StatusCreated, "MKCOL", s.dav("curl")+"/")
	for _, name := range oddNames {
		t.Run(name, func(t *testing.T) {
			c := curl{m, s, name}
			c.writeAndRead(t)
			c.describe(t)
			c.lockAndWrite(t)
			c.copyAndMove(t)
		})
	}
}

// target is the URL of the name that curl is about.
func (c curl) target() string { return c.server.dav("curl", c.name) }

// content is what the file holds first, and rewritten what it holds after the lock.
func (c curl) content() string   { return "first content of " + c.name }
func (c curl) rewritten() string { return "second content of " + c.name }

func (c curl) writeAndRead(t *testing.T) {
	if r := c.must(t, http.StatusOK, "OPTIONS", c.target()); !strings.Contains(r.header.Get("DAV"), "2") {
		t.Errorf("OPTIONS: DAV: %s lacks class 2", r.header.Get("DAV"))
	}
	c.must(t, http.StatusCreated, "PUT", c.target(), "--data-binary", c.content())
	c.server.holds(t, c.content(), "curl", c.name)
	r := c.must(t, http.StatusOK, "HEAD", c.target())
	if r.header.Get("Content-Length") != strconv.Itoa(len(c.content())) || r.header.Get("ETag") == "" {
		t.Errorf("HEAD: %v", r.header)
	}
	if r := c.must(t, http.StatusOK, "GET", c.target()); r.body != c.content() {
		t.Errorf("GET: %s, want %s", clip(r.body), c.content())
	}
}

// describe lists the folder and sets a dead property.
func (c curl) describe(t *testing.T) {
	const xml = "Content-Type: application/xml"
	r := c.must(t, http.StatusMultiStatus, "PROPFIND", c.server.dav("curl")+"/", "--header", "Depth: 1")
	if !slices.Contains(hrefs(t, r.body), "/dav/curl/"+c.name) {
		t.Errorf("PROPFIND does not list %q: %s", c.name, r.body)
	}
	c.must(t, http.StatusMultiStatus, "PROPPATCH", c.target(), "--header", xml, "--data-binary",
		`<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x:mood xmlns:x="urn:x">glad</x:mood></D:prop></D:set></D:propertyupdate>`)
	r = c.must(t, http.StatusMultiStatus, "PROPFIND", c.target(), "--header", "Depth: 0", "--header", xml, "--data-binary",
		`<D:propfind xmlns:D="DAV:"><D:prop><x:mood xmlns:x="urn:x"/></D:prop></D:propfind>`)
	if !strings.Contains(r.body, ">glad<") {
		t.Errorf("PROPFIND lacks the property: %s", r.body)
	}
}

// lockAndWrite is refused without the token and allowed with it.
func (c curl) lockAndWrite(t *testing.T) {
	target := c.target()
	r := c.must(t, http.StatusOK, "LOCK", target, "--header", "Depth: 0", "--data-binary", fmt.Sprintf(lockinfo, "curl"))
	token := r.header.Get("Lock-Token")
	c.must(t, http.StatusLocked, "PUT", target, "--data-binary", c.rewritten())
	c.must(t, http.StatusLocked, "LOCK", target, "--header", "Depth: 0", "--data-binary", fmt.Sprintf(lockinfo, "other"))
	c.must(t, http.StatusLocked, "DELETE", target)
	c.server.holds(t, c.content(), "curl", c.name)
	c.must(t, http.StatusNoContent, "PUT", target, "--header", "If: ("+token+")", "--data-binary", c.rewritten())
	c.server.holds(t, c.rewritten(), "curl", c.name)
	c.must(t, http.StatusOK, "LOCK", target, "--header", "If: ("+token+")") // refresh
	c.must(t, http.StatusNoContent, "UNLOCK", target, "--header", "Lock-Token: "+token)
	c.must(t, http.StatusConflict, "UNLOCK", target, "--header", "Lock-Token: "+token)
}

// copyAndMove copies the file, deletes it, and moves the copy to its place.
func (c curl) copyAndMove(t *testing.T) {
	copied := c.server.dav("curl", "copy of "+c.name)
	c.must(t, http.StatusCreated, "COPY", c.target(), "--header", "Destination: "+copied)
	c.must(t, http.StatusPreconditionFailed, "COPY", c.target(), "--header", "Destination: "+copied, "--header", "Overwrite: F")
	c.must(t, http.StatusNoContent, "DELETE", c.target())
	c.server.lacks(t, "curl", c.name)
	c.server.holds(t, c.rewritten(), "curl", "copy of "+c.name)
	c.must(t, http.StatusCreated, "MOVE", copied, "--header", "Destination: "+c.target())
	c.server.lacks(t, "curl", "copy of "+c.name)
	c.server.holds(t, c.rewritten(), "curl", c.name)
}
