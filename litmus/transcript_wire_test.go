package litmus

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// wireTimeout bounds one request with its answer.
const wireTimeout = 60 * time.Second

// wire is one user's connection, kept open from request to request as clients do.
type wire struct {
	addr  string // HOST:PORT
	login string // Authorization of each request, "" for none
	conn  net.Conn
	read  *bufio.Reader
}

// noLogin is the line of a step that goes without its user's login.
var noLogin = field{"Authorization", "none"}

// basic is the Authorization header of RFC 7617.
func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// close ends the connection; the next request opens another.
func (w *wire) close() {
	if w.conn != nil {
		w.conn.Close()
	}
	w.conn, w.read = nil, nil
}

func (w *wire) open(ctx context.Context) error {
	if w.conn == nil {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", w.addr)
		if err != nil {
			return err
		}
		w.conn, w.read = conn, bufio.NewReader(conn)
	}
	return w.conn.SetDeadline(time.Now().Add(wireTimeout))
}

// exchange sends the request of a step and reads the answer.
func (w *wire) exchange(ctx context.Context, s step, v variables) (answer, error) {
	head, body, err := w.request(s, v)
	if err != nil {
		return answer{}, err
	}
	if err := w.open(ctx); err != nil {
		return answer{}, err
	}
	if s.lost {
		_, err := io.WriteString(w.conn, head+body)
		w.close()
		return answer{}, err
	}
	a, err := w.roundTrip(s, head, body)
	connection, _ := s.has("Connection")
	if err != nil || a.closed || strings.EqualFold(connection, "close") {
		w.close()
	}
	return a, err
}

// roundTrip sends the body only after 100 if the client asks for it by Expect, and
// otherwise while it already listens: an early answer may come before the end.
func (w *wire) roundTrip(s step, head, body string) (answer, error) {
	if _, err := io.WriteString(w.conn, head); err != nil {
		return answer{}, err
	}
	if _, waits := s.has("Expect"); waits {
		a, err := w.answer(s.method)
		if err != nil || a.status != http.StatusContinue {
			return a, err
		}
		if len(a.header) > 0 {
			return answer{}, fmt.Errorf("100 Continue has a header, which kills uploads: %v", a.header)
		}
		if _, err := io.WriteString(w.conn, body); err != nil {
			return answer{}, err
		}
		a, err = w.answer(s.method)
		a.interim = true
		return a, err
	}
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(w.conn, body)
		sent <- err
	}()
	a, err := w.answer(s.method)
	if err != nil || a.closed {
		w.conn.Close() // ends the writing
		<-sent
		return a, err
	}
	return a, <-sent
}

// answer reads one answer, whole.
func (w *wire) answer(method string) (answer, error) {
	r, err := http.ReadResponse(w.read, &http.Request{Method: method})
	if err != nil {
		return answer{}, fmt.Errorf("no answer: %w", err)
	}
	defer r.Body.Close()
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(r.Body); err != nil {
			return answer{}, err
		}
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return answer{}, fmt.Errorf("the answer broke off: %w", err)
	}
	if length := r.Header.Get("Content-Length"); r.StatusCode == http.StatusOK && method == http.MethodGet && length == "" {
		return answer{}, errors.New("the answer to GET does not say its length")
	}
	return answer{reply: reply{status: r.StatusCode, header: r.Header, body: string(text)}, closed: r.Close}, nil
}

// request writes a request. What a client sends in each one is added where the step
// does not say it: Host and Authorization in front, Content-Length behind.
func (w *wire) request(s step, v variables) (head, body string, err error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", s.method, s.target)
	if _, ok := s.has("Host"); !ok {
		fmt.Fprintf(&b, "Host: %s\r\n", w.addr)
	}
	if _, ok := s.has("Authorization"); !ok && w.login != "" {
		fmt.Fprintf(&b, "Authorization: %s\r\n", w.login)
	}
	for _, f := range s.header {
		if f == noLogin {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\r\n", f.name, f.value)
	}
	coding, _ := s.has("Transfer-Encoding")
	if body, err = s.content(v, strings.EqualFold(coding, "chunked")); err != nil {
		return "", "", err
	}
	if _, ok := s.has("Content-Length"); !ok && s.hasBody && coding == "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	if head, err = v.expand(b.String(), asItIs); err != nil {
		return "", "", err
	}
	return head, body, nil
}

// content is the body as it goes over the wire: its lines, or each as a chunk.
func (s step) content(v variables, chunked bool) (string, error) {
	lines := []string{strings.Repeat("0123456789abcdef", int(s.size)/16+1)[:s.size]}
	if s.size == 0 {
		lines = nil
	}
	for _, line := range s.body {
		line, err := v.expand(line, asItIs)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	if !chunked {
		return strings.Join(lines, "\n"), nil
	}
	var b strings.Builder
	for _, chunk := range lines {
		b.WriteString(strconv.FormatInt(int64(len(chunk)), 16) + "\r\n" + chunk + "\r\n")
	}
	return b.String() + "0\r\n\r\n", nil
}
