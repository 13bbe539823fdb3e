package dav

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	xmlDeclaration = `<?xml version="1.0" encoding="utf-8"?>` + "\n"

	// flushBytes is how much a multistatus collects before it writes.
	flushBytes = 32 << 10
)

// buffers keeps the memory of finished multistatus writers.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// multistatus writes a 207 body (RFC 4918 section 13) as it is put together,
// with memory bounded by its largest response element. Every element has an explicit
// prefix, "D" for DAV:, since the Windows client misreads a default namespace.
//
// The first error of the underlying writer sticks, silences all later calls and
// comes out of close. A multistatus is not safe for concurrent use and must not
// be used after close.
type multistatus struct {
	w   io.Writer
	buf *[]byte
	b   []byte // *buf while in use
	err error
}

// newMultistatus begins a multistatus on w. Nothing is written to w before
// flushBytes have been collected or close is called.
func newMultistatus(w io.Writer) *multistatus {
	buf := buffers.Get().(*[]byte)
	m := &multistatus{w: w, buf: buf, b: (*buf)[:0]}
	m.add(xmlDeclaration, `<D:multistatus xmlns:D="DAV:">`)
	return m
}

// close ends the document, writes what is left and returns the first error.
func (m *multistatus) close() error {
	m.add(`</D:multistatus>`)
	m.flush()
	*m.buf = m.b
	if cap(m.b) <= 4*flushBytes {
		buffers.Put(m.buf)
	}
	m.buf, m.b = nil, nil
	return m.err
}

func (m *multistatus) flush() {
	if m.err == nil {
		_, m.err = m.w.Write(m.b)
	}
	m.b = m.b[:0]
}

func (m *multistatus) add(parts ...string) {
	for _, part := range parts {
		m.b = append(m.b, part...)
	}
}

// response opens the response element of one resource.
func (m *multistatus) response(href string) {
	m.add(`<D:response><D:href>`)
	m.b = appendText(m.b, href)
	m.add(`</D:href>`)
}

// endResponse closes the response element.
func (m *multistatus) endResponse() {
	m.add("</D:response>\n")
	if len(m.b) >= flushBytes {
		m.flush()
	}
}

// responseStatus writes a whole response element for a resource that is
// answered by a status instead of properties; condition is the local name of
// the DAV: element that explains it, "" for none.
func (m *multistatus) responseStatus(href string, status int, condition string) {
	m.response(href)
	m.status(status)
	m.condition(condition)
	m.endResponse()
}

// propstatOpen begins a group of properties that share a status. Clients that
// read only the first group want the one with status 200 first.
func (m *multistatus) propstatOpen() { m.add(`<D:propstat><D:prop>`) }

// propstatClose ends the group.
func (m *multistatus) propstatClose(status int) { m.propstatFail(status, "", "") }

// propstatFail ends a group of properties with the reason they share: the
// local name of a DAV: condition element and a text, "" for none.
func (m *multistatus) propstatFail(status int, condition, text string) {
	m.add(`</D:prop>`)
	m.status(status)
	m.condition(condition)
	if text != "" {
		m.text("responsedescription", text)
	}
	m.add(`</D:propstat>`)
}

func (m *multistatus) status(status int) {
	m.b = append(m.b, `<D:status>HTTP/1.1 `...)
	m.b = strconv.AppendInt(m.b, int64(status), 10)
	m.add(" ", http.StatusText(status), `</D:status>`)
}

func (m *multistatus) condition(name string) {
	if name != "" {
		m.add(`<D:error><D:`, name, `/></D:error>`)
	}
}

// The property writers below take local names of DAV: elements from this
// package's own tables, which need no escaping.

// text writes <D:name>value</D:name>.
func (m *multistatus) text(name, value string) {
	m.add(`<D:`, name, `>`)
	m.b = appendText(m.b, value)
	m.add(`</D:`, name, `>`)
}

// number writes a property that is a decimal number.
func (m *multistatus) number(name string, n int64) {
	m.add(`<D:`, name, `>`)
	m.b = strconv.AppendInt(m.b, n, 10)
	m.add(`</D:`, name, `>`)
}

// date writes a property that is a time, in UTC and in the given layout.
func (m *multistatus) date(name string, t time.Time, layout string) {
	m.add(`<D:`, name, `>`)
	m.b = t.UTC().AppendFormat(m.b, layout)
	m.add(`</D:`, name, `>`)
}

// raw writes well-formed XML whose prefixes, but for "D", it declares itself.
func (m *multistatus) raw(xml string) { m.b = append(m.b, xml...) }

// rawBytes is raw for stored properties.
func (m *multistatus) rawBytes(xml []byte) { m.b = append(m.b, xml...) }

// emptyName writes the empty element of a property that is only named.
func (m *multistatus) emptyName(name xmlName) {
	m.b = appendStart(m.b, name)
	m.b[len(m.b)-1] = '/'
	m.b = append(m.b, '>')
}

// textName writes a property of any namespace that holds text.
func (m *multistatus) textName(name xmlName, value string) {
	m.b = appendStart(m.b, name)
	m.b = appendText(m.b, value)
	m.add(`</`, prefixOf(name.space))
	if name.space != "" {
		m.b = append(m.b, ':')
	}
	m.add(name.local, `>`)
}

// appendStart appends a start tag that declares what it needs. The namespace
// DAV: is declared by the root of every document of this package.
func appendStart(dst []byte, name xmlName) []byte {
	prefix := prefixOf(name.space)
	dst = append(dst, '<')
	dst = appendQName(dst, qname{prefix: prefix, local: name.local})
	switch name.space {
	case davNamespace, xmlNamespace:
	case "":
		dst = append(dst, ` xmlns=""`...)
	default:
		dst = appendAttr(dst, qname{prefix: "xmlns", local: prefix}, name.space)
	}
	return append(dst, '>')
}

// prefixOf returns the prefix this package writes for a namespace. Those with
// one of their own are what their clients look for by prefix, against the rules.
func prefixOf(space string) string {
	switch space {
	case "":
		return ""
	case davNamespace:
		return "D"
	case xmlNamespace:
		return "xml"
	case "urn:schemas-microsoft-com:":
		return "Z"
	case "http://owncloud.org/ns":
		return "oc"
	case "http://nextcloud.org/ns":
		return "nc"
	}
	return "x"
}

// appendErrorBody appends an error document (RFC 4918 section 16): the condition
// element, holding the hrefs it is about, and a description for people. A
// condition of "" leaves the element out.
func appendErrorBody(dst []byte, condition string, hrefs []string, description string) []byte {
	dst = append(dst, xmlDeclaration...)
	dst = append(dst, `<D:error xmlns:D="DAV:">`...)
	if condition != "" {
		dst = append(append(dst, `<D:`...), condition...)
		if len(hrefs) == 0 {
			dst = append(dst, `/>`...)
		} else {
			dst = appendHrefs(append(dst, '>'), hrefs)
			dst = append(append(append(dst, `</D:`...), condition...), '>')
		}
	}
	if description != "" {
		dst = append(dst, `<D:responsedescription>`...)
		dst = appendText(dst, description)
		dst = append(dst, `</D:responsedescription>`...)
	}
	return append(dst, `</D:error>`...)
}

func appendHrefs(dst []byte, hrefs []string) []byte {
	for _, href := range hrefs {
		dst = append(dst, `<D:href>`...)
		dst = appendText(dst, href)
		dst = append(dst, `</D:href>`...)
	}
	return dst
}
