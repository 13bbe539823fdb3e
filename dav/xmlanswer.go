package dav

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// xmlType is the media type of every XML answer.
const xmlType = "application/xml; charset=utf-8"

// setXMLHeaders sets what every XML answer with properties has in common.
// Caches keep none of it: some HTTP stacks would otherwise add conditions to
// the next PROPFIND by themselves.
func setXMLHeaders(h http.Header) {
	h.Set("Content-Type", xmlType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// multistatusWriter sends the status of a multistatus with its first byte, so
// that until then the request can still fail.
type multistatusWriter struct {
	w       http.ResponseWriter
	started bool
}

// Write implements io.Writer.
func (mw *multistatusWriter) Write(p []byte) (int, error) {
	if !mw.started {
		mw.started = true
		setXMLHeaders(mw.w.Header())
		mw.w.WriteHeader(http.StatusMultiStatus)
	}
	return mw.w.Write(p)
}

// writeDocument answers with a small document whose root is the DAV: element
// of that name and whose content fill writes.
func writeDocument(w http.ResponseWriter, status int, root string, fill func(*multistatus)) {
	m := &multistatus{}
	m.add(xmlDeclaration, `<D:`, root, ` xmlns:D="DAV:">`)
	fill(m)
	m.add(`</D:`, root, `>`)
	setXMLHeaders(w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(m.b)))
	w.WriteHeader(status)
	_, _ = w.Write(m.b) // a client that left needs no answer
}

// elementText is the character data directly inside the root of an element
// that readProppatch has read, without blanks around it.
func elementText(xml string) string { return innerText(xml, 1) }

// innerText is elementText as far as some levels of elements, those inside the root
// set off by blanks.
func innerText(xml string, levels int) string {
	r, err := newXMLReader(xml)
	if err != nil {
		return ""
	}
	if _, err := r.root(); err != nil {
		return ""
	}
	var text strings.Builder
	for {
		switch token, err := r.next(); {
		case err != nil || token == tokenEOF:
			return trimOWS(text.String())
		case token == tokenText && len(r.open) <= levels:
			text.WriteString(r.text)
		case token == tokenEnd:
			text.WriteByte(' ')
		}
	}
}

// seconds is a remaining time as a TimeType (RFC 4918 section 10.7), rounded up
// so that a lock just granted shows what was granted.
func seconds(d time.Duration) string {
	n := int64((d + time.Second - 1) / time.Second)
	return "Second-" + strconv.FormatInt(max(n, 1), 10)
}
