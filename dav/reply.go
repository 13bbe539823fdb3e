package dav

import (
	"io"
	"net/http"
)

// reply is the http.ResponseWriter given to go-webdav. Answers below 400 pass
// through; of others nothing passes but the status: failed writes the answer,
// so that every failure has one author.
//
// The status is held back until the first byte of content has been read, since
// it may turn out only then that there is none to be had.
type reply struct {
	http.ResponseWriter
	failed  func(status int)
	status  int // 0 before WriteHeader
	sent    bool
	dropped bool
}

// WriteHeader implements http.ResponseWriter.
func (p *reply) WriteHeader(status int) {
	if p.status != 0 {
		return
	}
	p.status = status
	if status >= http.StatusBadRequest {
		p.dropped = true
		p.failed(status)
	}
}

// send lets the status out.
func (p *reply) send() {
	if p.sent || p.dropped {
		return
	}
	p.sent = true
	if p.status != 0 {
		p.ResponseWriter.WriteHeader(p.status)
	}
}

// Write implements http.ResponseWriter.
func (p *reply) Write(b []byte) (int, error) {
	if p.dropped {
		return len(b), nil
	}
	p.send()
	return p.ResponseWriter.Write(b)
}

// firstBytes is how much content is read before the status is sent.
const firstBytes = 4 << 10

// ReadFrom implements io.ReaderFrom, so that net/http can use the fastest way
// there is for what follows the first bytes.
func (p *reply) ReadFrom(r io.Reader) (int64, error) {
	if p.dropped {
		return io.Copy(io.Discard, r)
	}
	first := make([]byte, firstBytes)
	got, readErr := io.ReadFull(r, first)
	ended := readErr == io.EOF || readErr == io.ErrUnexpectedEOF && got > 0
	if readErr != nil && !ended {
		return 0, readErr
	}
	n, err := p.Write(first[:got])
	if err != nil || ended {
		return int64(n), err
	}
	rest, err := io.Copy(p.ResponseWriter, r)
	return int64(n) + rest, err
}

// Unwrap gives http.ResponseController the writer below.
func (p *reply) Unwrap() http.ResponseWriter { return p.ResponseWriter }
