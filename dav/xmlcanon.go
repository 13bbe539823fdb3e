package dav

import "bytes"

// Dead properties and lock owners are stored as text that means the same
// wherever it is put: appendSubtree writes an element with the prefixes,
// attributes, white space and order the client chose (RFC 4918 section 4.3),
// and adds to its start tag what it inherits and needs, namespace declarations
// and xml:lang. Comments and processing instructions are no part of a value.

// maxCanonicalBytes bounds what one body may grow to: every property could
// inherit a long namespace name or language.
const maxCanonicalBytes = 4 * maxXMLBytes

// appendSubtree appends the element just opened, up to and including its end
// tag. Reading and writing the result again yields the same bytes.
func (r *xmlReader) appendSubtree(dst []byte) ([]byte, error) {
	root := r.open[len(r.open)-1]
	lang := ""
	if !r.hasAttr(langAttr) {
		lang = root.lang
	}
	scope := r.bindings // what it holds now stays while root is open
	body, outerDefault, err := r.appendContent(r.scratch[:0], root)
	r.scratch = body[:0]
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(dst, '<')
	dst = appendQName(dst, root.name)
	dst = appendInherited(dst, root, scope, body, outerDefault)
	if lang != "" {
		dst = appendAttr(dst, langAttr, lang)
	}
	dst = append(dst, body...)
	if r.copied += len(dst) - start; r.copied > maxCanonicalBytes {
		return dst, errTooLarge
	}
	return dst, nil
}

var langAttr = qname{prefix: "xml", local: "lang"}

// hasAttr reports whether the last start tag has the attribute.
func (r *xmlReader) hasAttr(name qname) bool {
	for _, attr := range r.attrs {
		if attr.name == name {
			return true
		}
	}
	return false
}

// appendContent appends the root's attributes, the end of its start tag, its
// content and its end tag. outerDefault reports whether a name without prefix
// takes its namespace, or its lack of one, from outside the root.
func (r *xmlReader) appendContent(dst []byte, root openElement) (_ []byte, outerDefault bool, err error) {
	depth := len(r.open)
	w := subtreeWriter{dst: dst}
	token := tokenStart
	for len(r.open) >= depth {
		switch token {
		case tokenStart:
			if len(r.open) > depth {
				w.open(r.name)
			}
			w.attrs(r.attrs)
			outerDefault = outerDefault || r.name.prefix == "" && r.lookup("") < root.bindings
		case tokenText:
			w.text(r.text)
		case tokenEnd:
			w.close(r.name)
		}
		if len(w.dst) > maxCanonicalBytes {
			return w.dst, false, errTooLarge
		}
		if token, err = r.next(); err != nil {
			return w.dst, false, err
		}
	}
	w.close(r.name)
	return w.dst, outerDefault, nil
}

// subtreeWriter appends tags and text, writing an element without content as
// an empty-element tag.
type subtreeWriter struct {
	dst     []byte
	tagOpen bool // the last start tag still lacks its ">"
}

func (w *subtreeWriter) open(name qname) {
	w.content()
	w.dst = append(w.dst, '<')
	w.dst = appendQName(w.dst, name)
}

func (w *subtreeWriter) attrs(attrs []xmlAttr) {
	for _, attr := range attrs {
		w.dst = appendAttr(w.dst, attr.name, attr.value)
	}
	w.tagOpen = true
}

func (w *subtreeWriter) content() {
	if w.tagOpen {
		w.dst = append(w.dst, '>')
		w.tagOpen = false
	}
}

func (w *subtreeWriter) text(text string) {
	if text == "" { // an empty CDATA section
		return
	}
	w.content()
	w.dst = appendText(w.dst, text)
}

func (w *subtreeWriter) close(name qname) {
	if w.tagOpen {
		w.dst = append(w.dst, "/>"...)
		w.tagOpen = false
		return
	}
	w.dst = append(w.dst, "</"...)
	w.dst = appendQName(w.dst, name)
	w.dst = append(w.dst, '>')
}

// appendInherited appends the declarations root needs from around it; scope
// holds those and its own. A prefix is needed if a name has it, and kept too if
// the text holds something like a qualified name, for values such as XPath or
// xsi:type.
func appendInherited(dst []byte, root openElement, scope []binding, body []byte, outerDefault bool) []byte {
	defaultURI := ""
	for i, b := range scope[:root.bindings] {
		switch {
		case b.prefix == "":
			defaultURI = b.uri
		case binds(scope[i+1:], b.prefix): // by a declaration further in
		case b.prefix == root.name.prefix || mentions(body, b.prefix):
			dst = appendAttr(dst, qname{prefix: "xmlns", local: b.prefix}, b.uri)
		}
	}
	if outerDefault {
		dst = appendAttr(dst, qname{local: "xmlns"}, defaultURI)
	}
	return dst
}

func binds(bindings []binding, prefix string) bool {
	for _, b := range bindings {
		if b.prefix == prefix {
			return true
		}
	}
	return false
}

// mentions reports whether prefix and a colon stand in body as the beginning of
// a word.
func mentions(body []byte, prefix string) bool {
	word := []byte(prefix + ":")
	for {
		i := bytes.Index(body, word)
		if i < 0 {
			return false
		}
		if i == 0 || !continuesName(body[i-1]) {
			return true
		}
		body = body[i+len(word):]
	}
}

// continuesName reports whether a name may hold c, so that what follows c is no
// beginning of one.
func continuesName(c byte) bool {
	return c >= 0x80 || c != ':' && asciiNameStart(c) || asciiNameRest(c)
}

func appendQName(dst []byte, name qname) []byte {
	if name.prefix != "" {
		dst = append(dst, name.prefix...)
		dst = append(dst, ':')
	}
	return append(dst, name.local...)
}

func appendAttr(dst []byte, name qname, value string) []byte {
	dst = append(dst, ' ')
	dst = appendQName(dst, name)
	dst = append(dst, `="`...)
	dst = appendAttrValue(dst, value)
	return append(dst, '"')
}
