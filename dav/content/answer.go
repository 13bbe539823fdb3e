package content

import (
	"io"
	"net/http"
)

// Answer is the ResponseWriter for http.ServeContent and what wraps it. Answers
// below 400 pass through; of others nothing passes but the status: Failed writes
// the answer, so that every failure has one author. Whoever made it calls Send
// at the end, unless content could not be read.
//
// The status is held back until the first byte of content has been read, since
// it may turn out only then that there is none to be had.
type Answer struct {
	http.ResponseWriter
	Failed  func(status int)
	status  int // 0 before WriteHeader
	sent    bool
	dropped bool
}

// WriteHeader implements http.ResponseWriter.
func (p *Answer) WriteHeader(status int) {
	if p.status != 0 {
		return
	}
	p.status = status
	if status >= http.StatusBadRequest {
		p.dropped = true
		p.Failed(status)
	}
}

// Sent reports whether the status of an answer below 400 is out, Dropped whether
// there was another.
func (p *Answer) Sent() bool    { return p.sent }
func (p *Answer) Dropped() bool { return p.dropped }

// Send lets the status out.
func (p *Answer) Send() {
	if p.sent || p.dropped {
		return
	}
	p.sent = true
	if p.status != 0 {
		p.ResponseWriter.WriteHeader(p.status)
	}
}

// Write implements http.ResponseWriter.
func (p *Answer) Write(b []byte) (int, error) {
	if p.dropped {
		return len(b), nil
	}
	p.Send()
	return p.ResponseWriter.Write(b)
}

// firstBytes is how much content is read before the status is sent.
const firstBytes = 4 << 10

// ReadFrom implements io.ReaderFrom, so that net/http can use the fastest way
// there is for what follows the first bytes.
func (p *Answer) ReadFrom(r io.Reader) (int64, error) {
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
func (p *Answer) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Reader notes what goes wrong while http.ServeContent, which keeps it to itself,
// reads content.
type Reader struct {
	io.ReadSeekCloser
	Err error
}

// Read implements io.Reader.
func (c *Reader) Read(p []byte) (int, error) {
	n, err := c.ReadSeekCloser.Read(p)
	if err != nil && err != io.EOF {
		c.Err = err
	}
	return n, err
}

// Seek implements io.Seeker.
func (c *Reader) Seek(offset int64, whence int) (int64, error) {
	n, err := c.ReadSeekCloser.Seek(offset, whence)
	if err != nil {
		c.Err = err
	}
	return n, err
}
