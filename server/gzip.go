package server

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// gzipMin is the size from which an answer is worth compressing: a smaller one
// fits a packet as it is.
const gzipMin = 1 << 10

// zippers are compressors at their fastest: listings repeat themselves so much
// that the slower levels win little.
var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails for unknown levels only
	return z
}}

// compressed is the ResponseWriter of a door whose client takes gzip (RFC 9110
// section 12.5.3). Of the answers that are the server's own, those of gzipMin bytes
// and more are compressed on their way; the first bytes, and the status, wait until
// it is known which it is. Whatever else passes through.
type compressed struct {
	http.ResponseWriter
	own     func(http.Header) bool
	holding bool // the answer may be compressed, and nothing of it is sent yet
	status  int
	held    []byte
	zip     *gzip.Writer // nil until the answer is compressed
}

// compressing wraps the ResponseWriter of a request, and gives what ends the
// answer. Content of files is not XML of this server's, whatever its type, and
// has lengths, ranges and an ETag of its own: GET and HEAD stay as they are. An
// answer that is broken off must not be ended, for it would look whole.
func compressing(w http.ResponseWriter, r *http.Request) (wrapped http.ResponseWriter, end func()) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return w, func() {}
	}
	return compressingOwn(w, r, isOwnXML)
}

// compressingJSON is compressing for an operation of the API whose answers may be
// compressed: see rest.Options.Compress.
func compressingJSON(w http.ResponseWriter, r *http.Request) (wrapped http.ResponseWriter, end func()) {
	return compressingOwn(w, r, isOwnJSON)
}

func compressingOwn(w http.ResponseWriter, r *http.Request, own func(http.Header) bool) (wrapped http.ResponseWriter, end func()) {
	if !takesGzip(r.Header.Values("Accept-Encoding")) {
		return varying{w, own}, func() {}
	}
	c := &compressed{ResponseWriter: w, own: own}
	return c, c.end
}

// varying says of the server's own answers that they could have been compressed.
type varying struct {
	http.ResponseWriter
	own func(http.Header) bool
}

// Unwrap lets http.ResponseController reach the writer below.
func (v varying) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (v varying) WriteHeader(status int) {
	if v.own(v.Header()) {
		v.Header().Add("Vary", "Accept-Encoding")
	}
	v.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the writer below.
func (c *compressed) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *compressed) WriteHeader(status int) {
	h := c.Header()
	if status < 200 || c.status != 0 || !c.own(h) {
		c.ResponseWriter.WriteHeader(status)
		return
	}
	c.status = status
	h.Add("Vary", "Accept-Encoding")
	if n, err := strconv.Atoi(h.Get("Content-Length")); err == nil && n < gzipMin {
		c.ResponseWriter.WriteHeader(status)
		return
	}
	c.holding = true
}

// Write implements http.ResponseWriter.
func (c *compressed) Write(p []byte) (int, error) {
	switch {
	case c.zip != nil:
		return c.zip.Write(p)
	case !c.holding:
		return c.ResponseWriter.Write(p)
	case len(c.held)+len(p) < gzipMin:
		c.held = append(c.held, p...)
		return len(p), nil
	}
	c.holding = false
	h := c.Header()
	h.Del("Content-Length")
	h.Set("Content-Encoding", "gzip")
	c.ResponseWriter.WriteHeader(c.status)
	c.zip = zippers.Get().(*gzip.Writer)
	c.zip.Reset(c.ResponseWriter)
	if _, err := c.zip.Write(c.held); err != nil {
		return 0, err
	}
	return c.zip.Write(p)
}

// Flush implements http.Flusher. What is still held goes out as it is.
func (c *compressed) Flush() {
	if c.zip != nil {
		_ = c.zip.Flush() // its error comes again with the next write
	}
	c.release()
	_ = http.NewResponseController(c.ResponseWriter).Flush()
}

// release sends what is held.
func (c *compressed) release() {
	if !c.holding {
		return
	}
	c.holding = false
	c.ResponseWriter.WriteHeader(c.status)
	_, _ = c.ResponseWriter.Write(c.held) // a client that left needs no answer
}

// end ends the answer.
func (c *compressed) end() {
	if c.holding {
		c.Header().Set("Content-Length", strconv.Itoa(len(c.held)))
		c.release()
	}
	if c.zip == nil {
		return
	}
	_ = c.zip.Close() // likewise
	c.zip.Reset(nil)
	zippers.Put(c.zip)
}

// isOwnXML reports whether an answer is XML of this server's making.
func isOwnXML(h http.Header) bool {
	mediaType, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return (mediaType == "application/xml" || mediaType == "text/xml") && h.Get("Content-Encoding") == ""
}

// isOwnJSON reports whether an answer is JSON and no problem document.
func isOwnJSON(h http.Header) bool {
	mediaType, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return mediaType == "application/json" && h.Get("Content-Encoding") == ""
}

// takesGzip reads Accept-Encoding: gzip must be taken, and liked no less than
// nothing at all.
func takesGzip(lines []string) bool {
	named, rest, plain := -1.0, -1.0, 0.0
	for coding := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		name, params, _ := strings.Cut(coding, ";")
		weight := 1.0
		if key, value, ok := strings.Cut(params, "="); ok && strings.EqualFold(strings.TrimSpace(key), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || !(q >= 0 && q <= 1) {
				continue
			}
			weight = q
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			named = max(named, weight)
		case "*":
			rest = weight
		case "identity":
			plain = weight
		}
	}
	if named < 0 {
		named = rest
	}
	return named > 0 && named >= plain
}
