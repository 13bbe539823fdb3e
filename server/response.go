package server

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// writeStall is how long a client may take to accept writeStep bytes.
	writeStall = 2 * time.Minute
	writeStep  = 256 << 10
	// drainMax is how much of an unwanted body is read so that the connection
	// can serve the next request.
	drainMax = 256 << 10
)

// response is the ResponseWriter of one request. It knows what was answered,
// for the access line; lets the client take its time but not stop; and sees to
// the rest of the request's body before the answer begins.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	body    *pacedBody // nil when the request has none
	status  int        // 0 until the header is sent
	written int64
	user    string // who logged in, for the access line
	id      string
	// streams: the connection carries other requests at the same time (HTTP/2). An
	// answer ends its own alone, and net/http tells the client to send no more of a
	// body that nobody has read (RFC 9113 section 8.1).
	streams bool
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if status >= 200 && w.status == 0 {
		w.status = status
		if w.body != nil && !w.streams && !w.body.finish() {
			w.Header().Set("Connection", "close")
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	w.begin()
	written := 0
	for first := true; first || len(p) > 0; first = false {
		w.extend()
		step := min(len(p), writeStep)
		n, err := w.ResponseWriter.Write(p[:step])
		written += n
		w.written += int64(n)
		if err != nil {
			return written, err
		}
		p = p[step:]
	}
	return written, nil
}

// steps are the buffers that content is copied through: net/http's own are an
// eighth of the size, and a body goes out in as many more writes.
var steps = sync.Pool{New: func() any { return new([writeStep]byte) }}

// ReadFrom implements io.ReaderFrom. Each step has its own deadline.
func (w *response) ReadFrom(src io.Reader) (int64, error) {
	w.begin()
	buffer := steps.Get().(*[writeStep]byte)
	defer steps.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{w}, src, buffer[:])
}

// Flush implements http.Flusher.
func (w *response) Flush() {
	w.begin()
	w.extend()
	// A connection that cannot flush has nothing buffered to lose.
	_ = w.control.Flush()
}

func (w *response) begin() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
}

// extend gives the client time for the next step. Connections without
// deadlines, as in tests, have none to set.
func (w *response) extend() {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeStall))
}

// end is called when the handler has returned; net/http then sends what is
// buffered, under the last deadline.
func (w *response) end() {
	w.begin()
	w.extend()
}

const (
	// readStall is how long a client may take to send readStep bytes, not
	// counting the time in which the server does not read.
	readStall = time.Minute
	readStep  = 4 << 10
	// drainStall is that for what nobody wants. Some clients announce a body and
	// wait for the refusal before they send any of it.
	drainStall = 5 * time.Second
)

// pacedBody is a request's body that must move. A deadline for the whole would
// cut off the honest slow; none lets a handful of idle clients hold every
// connection.
type pacedBody struct {
	body    io.ReadCloser
	control *http.ResponseController
	length  int64         // announced and not yet read, -1 when unknown
	expects bool          // the client waits for 100 Continue, which the first Read sends
	stall   time.Duration // for readStep bytes
	left    time.Duration // of it
	step    int64
	read    int64
	err     error // what ended the body
}

// pace gives the request a body that must move, and the response a hold on it.
// The request that net/http keeps stays as it is.
func pace(w *response, r *http.Request) *http.Request {
	_ = w.control.SetWriteDeadline(time.Time{}) // the last request's
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	w.body = &pacedBody{
		body:    r.Body,
		control: w.control,
		length:  r.ContentLength,
		expects: strings.EqualFold(r.Header.Get("Expect"), "100-continue"),
		stall:   readStall,
		left:    readStall,
	}
	// For a body that no handler reads: net/http reads its rest at the end.
	_ = w.control.SetReadDeadline(time.Now().Add(readStall))
	paced := *r
	paced.Body = w.body
	return &paced
}

// Read implements io.Reader.
func (b *pacedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	start := time.Now()
	_ = b.control.SetReadDeadline(start.Add(b.left))
	n, err := b.body.Read(p)
	b.account(n, time.Since(start))
	if err != nil {
		b.err = err
		// net/http goes on reading to notice a client that leaves; an old
		// deadline would look like one.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

func (b *pacedBody) account(n int, waited time.Duration) {
	b.expects = false
	b.read += int64(n)
	if b.length > 0 {
		b.length -= int64(n)
	}
	b.left -= waited
	if b.step += int64(n); b.step >= readStep {
		b.left, b.step = b.stall, 0
	}
}

// Close implements io.Closer. It leaves the body to finish and to net/http,
// whose own Close would read on without a deadline.
func (b *pacedBody) Close() error { return nil }

// finish reads what is left of the body, and reports whether the connection can
// go on. A client that waits for 100 Continue is not asked for a body that
// nobody wants; one with too much left is not heard to its end.
func (b *pacedBody) finish() bool {
	if b.err != nil {
		return errors.Is(b.err, io.EOF)
	}
	if b.expects || b.length > drainMax {
		return false
	}
	b.stall, b.left = drainStall, min(b.left, drainStall)
	_, err := io.CopyN(io.Discard, b, drainMax+1)
	return errors.Is(err, io.EOF)
}
