package rest_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"holdfast/blob"
	"holdfast/lockns"
	"holdfast/server/rest"
	"holdfast/store"
)

// file and folder are the URLs of a resource.
func file(n store.Node) string   { return fmt.Sprintf("/files/%d", n.ID()) }
func folder(n store.Node) string { return fmt.Sprintf("/folders/%d", n.ID()) }

// root is the root folder of the client's workspace.
func (c *client) root() store.Node { return c.stat(c.at("/")) }

func (c *client) stat(at store.Target) store.Node {
	c.w.t.Helper()
	n, err := c.w.Stat(c.w.t.Context(), at)
	must(c.w.t, err)
	return n
}

// holds fails the test unless a file has this content.
func (c *client) holds(at store.Target, content string) {
	c.w.t.Helper()
	_, r, err := c.w.Read(c.w.t.Context(), at)
	must(c.w.t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	must(c.w.t, err)
	if string(b) != content {
		c.w.t.Fatalf("content %q, want %q", b, content)
	}
}

// webdav locks a resource as WebDAV does, for the client's user.
func (c *client) webdav(at store.Target, depth lockns.Depth) {
	c.w.t.Helper()
	_, err := c.w.Lock(c.w.t.Context(), at, store.LockSpec{Depth: depth, Mode: lockns.Exclusive, Origin: lockns.WebDAV, Holder: c.user.ID}, store.Holder(c.user.ID))
	must(c.w.t, err)
}

// resource is the answer to a change.
func (a answer) resource() (r rest.Resource) {
	a.t.Helper()
	a.into(&r)
	if r.ETag != a.header.Get("ETag") {
		a.t.Errorf("ETag %s beside %s in the body", a.header.Get("ETag"), r.ETag)
	}
	return r
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

func TestDownload(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.user("ada"), w.user("bob")
	n := ada.put(ada.at("/f.txt"), "0123456789")
	url := file(n) + "/content"
	a := ada.do("GET", url, nil).wants(200)
	for name, want := range map[string]string{
		"ETag": n.ETag, "Content-Type": "text/plain; charset=utf-8", "Content-Length": "10", "Accept-Ranges": "bytes",
		"Content-Disposition": `attachment; filename=f.txt`, "Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "sandbox", "Last-Modified": n.Modified.Format(http.TimeFormat),
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, test := range []struct {
		method, header string
		status         int
		body           string
	}{
		{"GET", "Range: bytes=2-4", 206, "234"},
		{"GET", "Range: BYTES=-2", 206, "89"},
		{"GET", "Range: bytes=9-1", 200, "0123456789"},
		{"HEAD", "Range: bytes=2-4", 200, ""},
		{"GET", "If-None-Match: " + n.ETag, 304, ""},
		{"GET", `If-None-Match: "other", W/` + n.ETag, 304, ""},
		{"GET", "If-Modified-Since: " + n.Modified.Format(http.TimeFormat), 304, ""},
		{"GET", "If-Match: *", 200, "0123456789"},
	} {
		if a := ada.do(test.method, url, nil, test.header).wants(test.status); a.body != test.body {
			t.Errorf("%s with %s: %q, want %q", test.method, test.header, a.body, test.body)
		}
	}
	a = ada.do("GET", url, nil, "Range: bytes=20-")
	a.refuses(416, "range.not_satisfiable")
	if got := a.header.Get("Content-Range"); got != "bytes */10" {
		t.Errorf("Content-Range %q", got)
	}
	a = ada.do("GET", url, nil, "If-Match: W/"+n.ETag)
	a.refuses(412, "precondition.failed")
	for _, name := range []string{"Content-Disposition", "ETag", "Content-Range"} {
		if a.header.Get(name) != "" {
			t.Errorf("a problem has %s %q", name, a.header.Get(name))
		}
	}
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("a problem may be kept: %q", got)
	}
	ada.do("HEAD", url, nil, "If-Match: \"other\"").wants(412)

	byPath := "/workspaces/personal/content?path="
	if a := ada.do("GET", byPath+"/f.txt", nil).wants(200); a.body != "0123456789" {
		t.Errorf("by path: %q", a.body)
	}
	ada.do("HEAD", byPath+"f.txt", nil).wants(200)
	ada.do("GET", byPath+"/", nil).refuses(409, "resource.is_folder")
	ada.do("GET", byPath+"/g", nil).refuses(404, "not_found")
	ada.do("GET", byPath+"/a//b", nil).refuses(400, "name.invalid")
	bob.do("GET", url, nil).refuses(404, "not_found")
	bob.do("GET", "/workspaces/"+fmt.Sprint("personal-", ada.user.ID)+"/content?path=/f.txt", nil).refuses(404, "not_found")
	(&client{w: w}).do("GET", url, nil).refuses(401, "login.required")
}

// TestDisposition: a name arrives as it is, and where it cannot, as plain letters.
func TestDisposition(t *testing.T) {
	w := newWorld(t)
	ada := w.user("ada")
	for name, want := range map[string][2]string{
		`plan 2.odt`:    {`plan 2.odt`, ""},
		`a";b=\c`:       {`a";b=\c`, ""},
		`100%.txt`:      {`100_.txt`, `UTF-8''100%25.txt`},
		"größe €.txt":   {"gr__e _.txt", "UTF-8''gr%C3%B6%C3%9Fe%20%E2%82%AC.txt"},
		"x\u202egpj.js": {"x_gpj.js", "UTF-8''x%E2%80%AEgpj.js"},
	} {
		n := ada.put(ada.at("/"+name), "x")
		value := ada.do("GET", file(n)+"/content", nil).wants(200).header.Get("Content-Disposition")
		plain, extended, _ := strings.Cut(value, "; filename*=")
		kind, params, err := mime.ParseMediaType(plain)
		must(t, err)
		if kind != "attachment" || params["filename"] != want[0] || extended != want[1] {
			t.Errorf("%q is %s", name, value)
		}
		if _, params, err := mime.ParseMediaType("attachment; filename*=" + extended); want[1] != "" && (err != nil || params["filename"] != name) {
			t.Errorf("%q is read as %q, %v", name, params["filename"], err)
		}
	}
}

func TestUpload(t *testing.T) {
	w := newWorld(t, func(_ *store.Options, o *rest.Options) { o.MaxBody = 4096 })
	ada := w.user("ada")
	files := folder(ada.root()) + "/files?name="
	long := strings.Repeat("long ", 400)

	a := ada.do("POST", files+"plan.odt", long, "Content-Digest: "+digest(long)).wants(201)
	made := a.resource()
	n := ada.stat(ada.at("/plan.odt"))
	if made.ID != n.ID() || made.Kind != "file" || made.Parent != ada.root().ID() || made.Name != "plan.odt" || made.Path != "/plan.odt" || made.Size != 2000 ||
		made.ETag != n.ETag || made.ContentType != "application/vnd.oasis.opendocument.text" || len(made.SHA256) != 64 || made.LockState.State != "unlocked" {
		t.Errorf("made %+v", made)
	}
	if got := a.header.Get("Location"); got != rest.Prefix+file(n) {
		t.Errorf("Location %q", got)
	}
	ada.holds(ada.at("/plan.odt"), long)
	ada.do("POST", files+"plan.odt", "x").refuses(409, "name.taken")
	ada.do("POST", files+"a%2Fb", "x").refuses(400, "name.invalid")
	ada.do("POST", files, "x").refuses(400, "request.invalid")
	ada.do("POST", "/folders/9999/files?name=x", "x").refuses(404, "not_found")

	url := file(n) + "/content"
	a = ada.do("PUT", url, "two", "If-Match: "+n.ETag, "Content-Type: text/x-plan").wants(200)
	if r := a.resource(); r.ID != n.ID() || r.ETag == n.ETag || r.ContentType != "text/x-plan" || a.header.Get("Location") != "" {
		t.Errorf("put %+v", r)
	}
	for header, code := range map[string]string{
		"If-Match: " + n.ETag:                 "412 precondition.failed",
		"If-Match: W/" + a.header.Get("ETag"): "412 precondition.failed",
		"If-None-Match: *":                    "412 precondition.failed",
		"Content-Digest: " + digest("other"):  "400 content.checksum",
		"Repr-Digest: sha-256=:AAAA:":         "400 request.invalid",
		"Content-Encoding: gzip":              "415 content.coding",
		"Content-Range: bytes 0-1/2":          "400 content.part",
	} {
		a := ada.do("PUT", url, "three", header)
		if got := fmt.Sprint(a.status, " ", a.code()); got != code {
			t.Errorf("with %s: %s, want %s", header, got, code)
		}
	}
	ada.do("PUT", url, strings.Repeat("x", 4097)).refuses(413, "content.too_large")
	ada.do("PUT", url+"?modified=1500-01-01T00:00:00Z", "x").refuses(400, "request.invalid")
	ada.do("PUT", "/files/9999/content", "x").refuses(404, "not_found")
	ada.holds(ada.at("/plan.odt"), "two")

	byPath := "/workspaces/personal/content?path="
	ada.do("PUT", byPath+"/new.txt&modified=2001-02-03T04:05:06Z", "x", "If-None-Match: *").wants(201)
	if got := ada.stat(ada.at("/new.txt")).Modified; got.Year() != 2001 {
		t.Errorf("modified %v", got)
	}
	ada.do("PUT", byPath+"/new.txt", "y").wants(200)
	ada.do("PUT", byPath+"/new.txt", "y", "If-None-Match: *").refuses(412, "precondition.failed")
	ada.do("PUT", byPath+"/none/new.txt", "y").refuses(409, "parent.missing")
	ada.do("PUT", byPath+"/", "y").refuses(409, "resource.is_folder")
	ada.holds(ada.at("/new.txt"), "y")
}

// TestUploadBroken: a body that ends early, or is longer than allowed without having
// said so, changes nothing and leaves nothing.
func TestUploadBroken(t *testing.T) {
	var objects blob.Store
	w := newWorld(t, func(s *store.Options, o *rest.Options) { objects, o.MaxBody = s.Blobs, 100_000 })
	ada := w.user("ada")
	n := ada.put(ada.at("/f"), "one")
	u, err := url.Parse(w.url)
	must(t, err)
	send := func(request string, cut bool) string {
		t.Helper()
		conn, err := net.Dial("tcp", u.Host)
		must(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n"))
		must(t, err)
		if cut {
			must(t, conn.(*net.TCPConn).CloseWrite())
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		must(t, err)
		return res.Status + " " + string(body)
	}
	head := fmt.Sprintf("PUT %s%s/content HTTP/1.1\nHost: x\nAuthorization: Bearer %s\n", rest.Prefix, file(n), ada.token)
	for _, request := range []string{
		head + "Content-Length: 100000\n\n" + strings.Repeat("x", 5000),
		head + "Transfer-Encoding: chunked\n\n5\nhello\n",
	} {
		if got := send(request, true); !strings.Contains(got, "content.broken_off") {
			t.Errorf("answer %s", got)
		}
	}
	if got := send(head+"Transfer-Encoding: chunked\n\n20000\n"+strings.Repeat("x", 0x20000)+"\n0\n\n", false); !strings.HasPrefix(got, "413") {
		t.Errorf("answer %s", got)
	}
	if got := send(strings.Replace(head, "1.1", "1.0", 1)+"\n", false); !strings.HasPrefix(got, "411") {
		t.Errorf("answer %s", got)
	}
	if got := send(head+"Transfer-Encoding: chunked\n\n5\nhello\n0\n\n", false); !strings.HasPrefix(got, "200") {
		t.Errorf("answer %s", got)
	}
	ada.holds(ada.at("/f"), "hello")
	for o, err := range objects.List(t.Context()) {
		if err != nil || o.Key != blob.EmptyKey {
			t.Errorf("object left: %v, %v", o, err)
		}
	}
}

// refusedUnread is a body that fails the test's request once it is read.
type refusedUnread struct{ read bool }

func (b *refusedUnread) Read([]byte) (int, error) {
	b.read = true
	return 0, errors.New("read")
}

// TestUploadRefusedUnread: what refuses an upload is answered while the client
// still waits for the word to send the body.
func TestUploadRefusedUnread(t *testing.T) {
	w := newWorld(t, func(o *store.Options, _ *rest.Options) { o.Quota = 1000 })
	ada, bob, nobody := w.user("ada"), w.user("bob"), &client{w: w}
	n := ada.put(ada.at("/f"), "one")
	ada.mkdir(ada.at("/d"))
	locked := ada.put(ada.at("/d/locked"), "one")
	ada.webdav(ada.at("/d"), lockns.Infinity)
	for _, test := range []struct {
		c      *client
		name   string
		url    string
		size   int64
		header string
		status int
	}{
		{nobody, "no login", file(n) + "/content", 10, "", 401},
		{bob, "not theirs", file(n) + "/content", 10, "", 404},
		{ada, "not there", "/files/9999/content", 10, "", 404},
		{ada, "locked", file(locked) + "/content", 10, "", 423},
		{ada, "another version", file(n) + "/content", 10, "If-Match: \"x\"", 412},
		{ada, "no room", file(n) + "/content", 5000, "", 507},
		{ada, "no folder", "/workspaces/personal/content?path=/none/f", 10, "", 409},
		{ada, "a read-only login", "", 10, "", 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := test.c
			if test.url == "" {
				test.url, c = file(n)+"/content", ada.limited(store.NewAccount{Name: "reads", ReadOnly: true})
			}
			body := &refusedUnread{}
			r, err := http.NewRequestWithContext(t.Context(), "PUT", w.url+test.url, body)
			must(t, err)
			r.ContentLength = test.size
			r.Header.Set("Expect", "100-continue")
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			if name, value, ok := strings.Cut(test.header, ": "); ok {
				r.Header.Set(name, value)
			}
			client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: 1 << 40}}
			defer client.CloseIdleConnections()
			res, err := client.Do(r)
			must(t, err)
			res.Body.Close()
			if res.StatusCode != test.status || body.read {
				t.Errorf("status %d, want %d; body read: %v", res.StatusCode, test.status, body.read)
			}
		})
	}
}
