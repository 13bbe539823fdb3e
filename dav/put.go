package dav

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"holdfast/dav/content"
	"holdfast/store"
)

// put serves PUT. What the headers alone refuse is refused here; the store asks
// everything else before the first byte of the body is read, which is when
// net/http sends 100 Continue.
func (q *request) put(w http.ResponseWriter) error {
	if q.slash {
		return store.ErrIsFolder
	}
	if err := q.checkContentHeaders(w); err != nil {
		return err
	}
	b, err := q.newBody(w)
	if err != nil {
		return err
	}
	return q.delegate(w, &session{q: q, body: b}, nil)
}

// checkContentHeaders refuses a body that is not the whole content as it is.
func (q *request) checkContentHeaders(w http.ResponseWriter) error {
	switch {
	case !q.r.ProtoAtLeast(1, 1) && q.r.Header.Get("Content-Length") == "":
		// HTTP/1.0 has no other length of a body, and net/http takes it for
		// empty, even one that was sent in chunks.
		return errStatus(http.StatusLengthRequired, "a PUT over HTTP/1.0 needs a Content-Length")
	case q.r.Header.Get("Content-Range") != "":
		// Stored as a whole, a part would destroy the rest (RFC 9110 section 14.5).
		return badRequest("partial PUT is not supported")
	case !content.Identity(q.r.Header):
		w.Header().Set("Accept-Encoding", "identity")
		return errStatus(http.StatusUnsupportedMediaType, "content must come without Content-Encoding")
	}
	return nil
}

// body is the content of a PUT. It keeps the connection's error, which is the
// client's fault, apart from what the store's own storage does.
type body struct {
	r    io.Reader
	size int64 // -1 when unknown
	err  error
	// checksums are what the client says of the content.
	checksums []store.Checksum
}

// newBody finds out how long the body is and refuses one that is too long.
func (q *request) newBody(w http.ResponseWriter) (*body, error) {
	size := q.r.ContentLength
	if announced, ok, err := parseEntityLength(q.r.Header); err != nil {
		return nil, err
	} else if ok && size >= 0 && size != announced {
		return nil, badRequest("Content-Length and X-Expected-Entity-Length differ")
	} else if ok {
		size = announced
	}
	checksums, err := parseChecksums(q.r.Header)
	if err != nil {
		return nil, err
	}
	b := &body{r: q.r.Body, size: size, checksums: checksums}
	if limit := q.h.opt.MaxBody; limit > 0 {
		if size > limit {
			return nil, &http.MaxBytesError{Limit: limit}
		}
		b.r = http.MaxBytesReader(w, q.r.Body, limit)
	}
	return b, nil
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// explain turns the error of a Put into the client's fault when the body broke
// off: the old content is still there.
func (b *body) explain(err error) error {
	var tooLarge *http.MaxBytesError
	if b.err == nil || errors.As(err, &tooLarge) {
		return err
	}
	if errors.As(b.err, &tooLarge) {
		return fmt.Errorf("read body: %w", b.err)
	}
	return badRequest("the body broke off")
}
