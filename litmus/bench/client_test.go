package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// serve answers each connection's requests with the text that answer gives, and returns the address.
func serve(t *testing.T, answer func(r *http.Request, body string) string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewReader(conn); ; {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					body, _ := io.ReadAll(r.Body)
					text := answer(r, string(body))
					io.WriteString(conn, text)
					if strings.Contains(text, "Connection: close") {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func TestClientReads(t *testing.T) {
	for _, test := range []struct {
		name, method, answer string
		status               int
		body, token          string
	}{
		{"content of a known length", "GET", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", 200, "hello", ""},
		{"content in chunks", "GET", "HTTP/1.1 207 Multi-Status\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", 207, "hello", ""},
		{"content up to the end of the connection", "GET", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", 200, "hello", ""},
		{"an empty answer", "PUT", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", ""},
		{"an answer after 100", "PUT", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", 201, "", ""},
		{"a lock token", "LOCK", "HTTP/1.1 200 OK\r\nLock-Token: <urn:uuid:1>\r\nContent-Length: 2\r\n\r\nok", 200, "ok", "<urn:uuid:1>"},
		{"HEAD without the content it announces", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 200, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(serve(t, func(*http.Request, string) string { return test.answer }), "", "")
			defer c.close()
			for range 2 { // a second request shows that the first left nothing behind
				p, err := c.do(request{method: test.method, path: "/"})
				if err != nil {
					t.Fatal(err)
				}
				if p.status != test.status || string(p.body) != test.body || p.token != test.token {
					t.Errorf("got %d %q %q", p.status, p.body, p.token)
				}
			}
		})
	}
}

func TestClientSends(t *testing.T) {
	echo := func(r *http.Request, body string) string {
		user, password, _ := r.BasicAuth()
		text := fmt.Sprintf("%s %s %s:%s %s %d %s", r.Method, r.URL.Path, user, password, r.Header.Get("Depth"), r.ContentLength, body[:min(len(body), 8)])
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	}
	c := newClient(serve(t, echo), "me", "secret")
	defer c.close()
	long := bytes.Repeat([]byte("x"), 3*oneWrite)
	for _, test := range []struct {
		name string
		r    request
		want string
	}{
		{"credentials and header", request{method: "PROPFIND", path: "/a", header: []string{"Depth", "1"}}, "PROPFIND /a me:secret 1 0 "},
		{"a short body", request{method: "PUT", path: "/a", body: []byte("hello")}, "PUT /a me:secret  5 hello"},
		{"a long body", request{method: "PUT", path: "/a", body: long}, fmt.Sprintf("PUT /a me:secret  %d xxxxxxxx", len(long))},
		{"a stream", request{method: "PUT", path: "/a", stream: bytes.NewReader(long), length: 9}, "PUT /a me:secret  9 xxxxxxxx"},
		{"an empty body", request{method: "PUT", path: "/a"}, "PUT /a me:secret  0 "},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := c.do(test.r)
			if err != nil {
				t.Fatal(err)
			}
			if string(p.body) != test.want {
				t.Errorf("got %q, want %q", p.body, test.want)
			}
		})
	}
}

func TestAskTakesOnlyTheStatusesWanted(t *testing.T) {
	c := newClient(serve(t, func(*http.Request, string) string {
		return "HTTP/1.1 423 Locked\r\nContent-Length: 0\r\n\r\n"
	}), "", "")
	defer c.close()
	err := c.put("/a", nil)
	var status *statusError
	if !errors.As(err, &status) || kind(err) != "PUT 423" {
		t.Errorf("got %v, want PUT 423", err)
	}
}

func TestAnswersWithTheWrongContentFail(t *testing.T) {
	const multistatus = `<?xml version="1.0"?><ns:multistatus xmlns:ns="DAV:"><ns:response></ns:response></ns:multistatus>`
	c := newClient(serve(t, func(r *http.Request, _ string) string {
		switch r.Method {
		case "PROPFIND":
			return fmt.Sprintf("HTTP/1.1 207 Multi-Status\r\nContent-Length: %d\r\n\r\n%s", len(multistatus), multistatus)
		case "LOCK":
			return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
		}
		return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"
	}), "", "")
	defer c.close()
	if err := c.get("/a", []byte("ok")); !errors.Is(err, errContent) {
		t.Errorf("GET: %v", err)
	}
	if err := c.propfind("/a/", allprop, 1); !errors.Is(err, errResponses) {
		t.Errorf("PROPFIND: %v", err)
	}
	if err := c.propfind("/a/", allprop, 0); err != nil {
		t.Errorf("PROPFIND: %v", err)
	}
	if _, err := c.lock("/a"); !errors.Is(err, errNoToken) {
		t.Errorf("LOCK: %v", err)
	}
}

func TestCountResponses(t *testing.T) {
	for text, want := range map[string]int{
		`<D:multistatus xmlns:D="DAV:"><D:response/></D:multistatus>`:                                      0,
		`<D:multistatus xmlns:D="DAV:"><D:response></D:response><D:response></D:response></D:multistatus>`: 2,
		`<multistatus xmlns="DAV:"><response></response></multistatus>`:                                    1,
		`<D:multistatus xmlns:D="DAV:"><D:response><x:response></x:response></D:response></D:multistatus>`: 1,
		`<D:error xmlns:D="DAV:"></D:error>`:                                                               0,
		`multistatus`:                                                                                      0,
	} {
		if got := countResponses([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func TestPatternIsChecked(t *testing.T) {
	const n = 3<<20 + 5
	body, err := io.ReadAll(io.LimitReader(&pattern{}, n))
	if err != nil || len(body) != n {
		t.Fatal(len(body), err)
	}
	if bytes.Equal(body[:1<<20], body[1<<20:2<<20]) {
		t.Error("two blocks are alike")
	}
	check := &checker{}
	for rest := body; len(rest) > 0; { // in pieces that do not fit the blocks
		size := min(len(rest), 70_001)
		if _, err := check.Write(rest[:size]); err != nil {
			t.Fatal(err)
		}
		rest = rest[size:]
	}
	if check.length != n {
		t.Errorf("length %d, want %d", check.length, n)
	}
	for _, place := range []int{0, 7, 8, 1<<20 + 3, n - 1} {
		body[place] ^= 1
		if _, err := (&checker{}).Write(body); !errors.Is(err, errContent) {
			t.Errorf("byte %d wrong: %v", place, err)
		}
		body[place] ^= 1
	}
}
