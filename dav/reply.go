package dav

import (
	"io"
	"net/http"
)

// reply is the http.ResponseWriter given to go-webdav. Answers below 400 pass
// through. Of others nothing passes but the status: failed writes the answer,
// so that every failure has one author.
type reply struct {
	http.ResponseWriter
	failed  func(status int)
	dropped bool
}

// WriteHeader implements http.ResponseWriter.
func (p *reply) WriteHeader(status int) {
	if p.dropped {
		return
	}
	if status >= http.StatusBadRequest {
		p.dropped = true
		p.failed(status)
		return
	}
	p.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (p *reply) Write(b []byte) (int, error) {
	if p.dropped {
		return len(b), nil
	}
	return p.ResponseWriter.Write(b)
}

// ReadFrom implements io.ReaderFrom, by which net/http sends a file without
// copying it through the process.
func (p *reply) ReadFrom(r io.Reader) (int64, error) {
	if p.dropped {
		return io.Copy(io.Discard, r)
	}
	return io.Copy(p.ResponseWriter, r)
}

// Unwrap gives http.ResponseController the writer below.
func (p *reply) Unwrap() http.ResponseWriter { return p.ResponseWriter }
