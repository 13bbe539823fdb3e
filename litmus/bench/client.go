package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"time"
)

const (
	// requestTimeout bounds one request, streamTimeout one with a body of any length.
	requestTimeout = 60 * time.Second
	streamTimeout  = 10 * time.Minute
	// oneWrite is up to which length, in bytes, a body is sent in one piece with the header.
	oneWrite = 32 << 10
)

// client is one connection. It writes and reads HTTP/1.1 on the socket itself: net/http's client would
// cost as much as a small request costs the server, on the same processors. It is not safe for
// concurrent use.
type client struct {
	addr   string // host:port, of the loopback
	auth   string // value of Authorization, or ""
	number int    // among the clients of a target

	conn net.Conn // nil when there is none
	in   *bufio.Reader
	out  []byte // header being written
	body []byte // body of the last answer
}

// request is what a client sends. The body is either body or length bytes of stream.
type request struct {
	method, path string
	header       []string // name, value, ...
	body         []byte
	stream       io.Reader
	length       int64
	sink         io.Writer // takes the answer's body; nil keeps it for reply
}

// reply is an answer. Its body is valid until the client's next request.
type reply struct {
	status int
	token  string // of Lock-Token, with its brackets
	body   []byte // empty if it went into a sink

	length  int64 // Content-Length; -1 if not given
	chunked bool
	closes  bool
}

// statusError is an answer with a status that is no success.
type statusError struct {
	method string
	status int
}

func (e *statusError) Error() string { return e.method + " " + strconv.Itoa(e.status) }

// newClient returns a client without a connection yet. An empty user sends no credentials.
func newClient(addr, user, password string) *client {
	c := &client{addr: addr}
	if user != "" {
		c.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	return c
}

// close drops the connection, if there is one.
func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// dial connects, and refuses a peer that is not on the loopback.
func (c *client) dial() error {
	conn, err := net.DialTimeout("tcp", c.addr, 10*time.Second)
	if err != nil {
		return err
	}
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		conn.Close()
		return fmt.Errorf("%s is not on the loopback", conn.RemoteAddr())
	}
	c.conn, c.in = conn, bufio.NewReaderSize(conn, 64<<10)
	return nil
}

// do sends a request and reads the answer, whatever its status. After an error the connection is gone
// and the next request makes a new one; nothing is sent twice.
func (c *client) do(r request) (reply, error) {
	if c.conn == nil {
		if err := c.dial(); err != nil {
			return reply{}, err
		}
	}
	timeout := requestTimeout
	if r.stream != nil || r.sink != nil {
		timeout = streamTimeout
	}
	c.conn.SetDeadline(time.Now().Add(timeout))
	// A server may refuse a body before it has read all of it: then the write fails, but its answer says
	// why.
	sent := c.send(r)
	p, err := c.receive(r)
	if err != nil {
		c.close()
		return reply{}, errors.Join(sent, err)
	}
	if p.closes || sent != nil {
		c.close()
	}
	return p, nil
}

// send writes the request.
func (c *client) send(r request) error {
	b := append(c.out[:0], r.method...)
	b = append(append(b, ' '), r.path...)
	b = append(append(b, " HTTP/1.1\r\nHost: "...), c.addr...)
	b = append(b, "\r\n"...)
	if c.auth != "" {
		b = appendHeader(b, "Authorization", c.auth)
	}
	for i := 0; i+1 < len(r.header); i += 2 {
		b = appendHeader(b, r.header[i], r.header[i+1])
	}
	if r.stream == nil {
		r.length = int64(len(r.body))
	}
	if r.length > 0 || r.method == "PUT" {
		b = append(b, "Content-Length: "...)
		b = append(strconv.AppendInt(b, r.length, 10), "\r\n"...)
	}
	b = append(b, "\r\n"...)
	if len(r.body) <= oneWrite {
		b = append(b, r.body...)
		r.body = nil
	}
	c.out = b
	pieces := net.Buffers{b, r.body}
	if _, err := pieces.WriteTo(c.conn); err != nil {
		return err
	}
	if r.stream == nil {
		return nil
	}
	_, err := io.CopyBuffer(onlyWriter{c.conn}, io.LimitReader(r.stream, r.length), make([]byte, 256<<10))
	return err
}

// onlyWriter hides a connection's ReadFrom, which would bring a buffer of its own.
type onlyWriter struct{ io.Writer }

func appendHeader(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	return append(append(b, value...), "\r\n"...)
}

// receive reads the answer to a request.
func (c *client) receive(r request) (reply, error) {
	p, err := c.head()
	for err == nil && p.status < 200 {
		p, err = c.head()
	}
	if err != nil {
		return reply{}, err
	}
	if r.method == http.MethodHead || p.status == http.StatusNoContent || p.status == http.StatusNotModified {
		return p, nil
	}
	if r.sink != nil {
		_, err = io.CopyBuffer(r.sink, struct{ io.Reader }{c.content(&p)}, make([]byte, 256<<10))
	} else {
		err = c.keep(&p)
	}
	if err == nil && p.chunked {
		_, err = c.in.ReadSlice('\n') // the empty line after the last chunk; no server here sends trailers
	}
	return p, err
}

// content is the body of an answer as a stream.
func (c *client) content(p *reply) io.Reader {
	switch {
	case p.chunked:
		return httputil.NewChunkedReader(c.in)
	case p.length >= 0:
		return io.LimitReader(c.in, p.length)
	default:
		p.closes = true
		return c.in
	}
}

// keep reads the body of an answer into the client's buffer.
func (c *client) keep(p *reply) error {
	if !p.chunked && p.length >= 0 {
		if int64(cap(c.body)) < p.length {
			c.body = make([]byte, p.length)
		}
		p.body = c.body[:p.length]
		_, err := io.ReadFull(c.in, p.body)
		return err
	}
	buffer := bytes.NewBuffer(c.body[:0])
	_, err := buffer.ReadFrom(c.content(p))
	c.body = buffer.Bytes()
	p.body = c.body
	return err
}

// head reads the status line and the header.
func (c *client) head() (reply, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return reply{}, err
	}
	// "HTTP/1.1 207 Multi-Status"
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return reply{}, errors.New("answer is not HTTP/1")
	}
	p := reply{length: -1}
	if p.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return reply{}, errors.New("answer without a status")
	}
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return reply{}, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return p, nil
		}
		if err := p.field(line); err != nil {
			return reply{}, err
		}
	}
}

// field takes in a line of the header. A Content-Length that is no number is an error.
func (p *reply) field(line []byte) (err error) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		p.length, err = strconv.ParseInt(string(value), 10, 64)
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		p.chunked = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("Connection")):
		p.closes = bytes.EqualFold(value, []byte("close"))
	case bytes.EqualFold(name, []byte("Lock-Token")):
		p.token = string(value)
	}
	return err
}

// kind names a failure for the count of failures: method and status, or what the connection said.
func kind(err error) string {
	var status *statusError
	if errors.As(err, &status) {
		return status.Error()
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Op + ": " + network.Err.Error()
	}
	return err.Error()
}
