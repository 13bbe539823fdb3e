package server

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"

	"holdfast/dav"
	"holdfast/store"
)

// TestNothingRedirects: clients lose the method, the body or the login on the way,
// so whatever the method and the spelling of the path, no answer is 3xx, and none
// is a fault.
func TestNothingRedirects(t *testing.T) {
	v := serve(t, nil)
	if _, err := v.store.AddTeam(t.Context(), store.NewTeam{Name: "crew", Owner: "admin"}); err != nil {
		t.Fatal(err)
	}
	v.want(201, call{method: "MKCOL", target: "/dav/d/"})
	v.want(201, call{method: "PUT", target: "/dav/f", body: "x"})
	login := base64.StdEncoding.EncodeToString([]byte("admin:secret"))
	var conn net.Conn
	var in *bufio.Reader
	ask := func(method, path string) *http.Response {
		t.Helper()
		if conn == nil {
			conn = v.raw()
			in = bufio.NewReader(conn)
		}
		_, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Basic %s\r\nDepth: 0\r\nDestination: %s\r\nContent-Length: 0\r\n\r\n",
			method, path, v.Addr(), login, path)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		if resp.Close {
			_ = conn.Close()
			conn = nil
		}
		return resp
	}
	methods := append(dav.Methods(), "POST", "PATCH", "TRACE", "FOO", "REPORT", "SEARCH")
	slices.Sort(methods)
	for _, method := range slices.Compact(methods) {
		for _, path := range []string{
			"/", "//", "/.", "/./", "/dav", "/dav/", "//dav//", "/dav/.", "/./dav/", "/%64av", "/dav/../dav/", "/dav/d", "/dav/d/", "/dav//d", "/dav/d//", "/dav/./d/.",
			"/dav/f", "/dav/f/", "/dav/f/.", "/dav/none", "/dav/none/", "/dav/%2e%2e/", "/dav/index.html", "/dav%2F", "/DAV/", "/dav/?x", "/dav/d?x=/../",
			"/teams", "/teams/", "//teams//crew", "/teams/crew", "/teams/crew/", "/teams/none", "/principals", "/principals/", "/principals/admin", "/principals//admin/",
			"/remote.php", "/remote.php/dav", "/remote.php/dav/files/admin", "/remote.php//dav/files//admin/", "/healthz", "/healthz/", "/elsewhere", "/elsewhere//",
			"http://" + v.Addr() + "//dav", "*",
		} {
			resp := ask(method, path)
			if resp.StatusCode >= 300 && resp.StatusCode < 400 || resp.Header.Get("Location") != "" || resp.StatusCode == 500 {
				t.Errorf("%s %s: %s to %q", method, path, resp.Status, resp.Header.Get("Location"))
			}
		}
		// Some of them may have made or removed what the next ones are asked about.
		v.do(call{method: "MKCOL", target: "/dav/d/"})
		v.do(call{method: "PUT", target: "/dav/f", body: "x"})
	}
}
