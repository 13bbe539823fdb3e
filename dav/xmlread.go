package dav

import "net/http"

// Limits of the structure of an XML body. Each bounds work that would otherwise
// grow with the square of the body.
const (
	maxXMLDepth      = 128
	maxXMLAttributes = 256 // of one element
	maxXMLBindings   = 256 // namespace declarations in scope
)

var (
	errTooManyAttributes = errStatus(http.StatusRequestEntityTooLarge, "an XML element has more than 256 attributes")
	errTooManyBindings   = errStatus(http.StatusRequestEntityTooLarge, "the XML body has more than 256 namespace declarations in scope")
	errXMLTooDeep        = errStatus(http.StatusRequestEntityTooLarge, "the XML body is nested more than 128 levels deep")
	errExternalEntities  = errCondition(http.StatusForbidden, "no-external-entities", "the XML body must not have a document type declaration")
)

// Namespaces with a meaning of their own.
const (
	davNamespace   = "DAV:"
	xmlNamespace   = "http://www.w3.org/XML/1998/namespace"
	xmlnsNamespace = "http://www.w3.org/2000/xmlns/"
)

// xmlName is an expanded name: a namespace name, "" for none, and a local name.
// A property's name is one.
type xmlName struct {
	space, local string
}

// davName returns the expanded name of an element of RFC 4918.
func davName(local string) xmlName { return xmlName{space: davNamespace, local: local} }

// xmlReader reads a document element by element, checking what a well-formed
// document with namespaces must keep: one root, matching tags, unique
// attributes, declared prefixes.
type xmlReader struct {
	xmlScanner
	element  xmlName // of the last start tag
	open     []openElement
	bindings []binding // in scope, innermost last
	seen     map[xmlName]struct{}
	pending  bool   // an empty element's end is still to be reported
	rooted   bool   // the root has begun
	scratch  []byte // of appendSubtree
	copied   int    // bytes appendSubtree has written
}

// openElement is an element whose end tag has not come yet.
type openElement struct {
	name     qname
	bindings int    // how many were in scope around it
	lang     string // xml:lang in effect
}

// binding is one namespace declaration; prefix "" is the default namespace.
type binding struct {
	prefix, uri string
}

// newXMLReader reads body, which must hold a whole document.
func newXMLReader(body string) (*xmlReader, error) {
	text, err := decodeXML(body)
	if err != nil {
		return nil, err
	}
	return &xmlReader{xmlScanner: xmlScanner{src: text}}, nil
}

// next returns the next start tag, end tag or text inside the root, or tokenEOF
// after a complete document. <a/> is a start and an end; CDATA is text.
func (r *xmlReader) next() (xmlToken, error) {
	if r.pending {
		r.pending = false
		r.pop()
		return tokenEnd, nil
	}
	for {
		token, err := r.xmlScanner.next()
		if err != nil {
			return tokenEOF, err
		}
		switch token {
		case tokenStart:
			return tokenStart, r.start()
		case tokenEnd:
			return tokenEnd, r.end()
		case tokenEOF:
			if len(r.open) > 0 || !r.rooted {
				return tokenEOF, malformed("an element is not closed")
			}
			return tokenEOF, nil
		}
		if len(r.open) > 0 {
			return tokenText, nil
		}
		if err := r.checkOutside(token); err != nil {
			return tokenEOF, err
		}
	}
}

// checkOutside allows only literal white space before and after the root; a
// reference to a blank is none.
func (r *xmlReader) checkOutside(token xmlToken) error {
	if token != tokenText || !isBlank(r.raw) {
		return malformed("text outside the root element")
	}
	return nil
}

// start opens the element of the scanner's start tag.
func (r *xmlReader) start() error {
	if len(r.open) == 0 && r.rooted {
		return malformed("more than one root element")
	}
	if len(r.open) == maxXMLDepth {
		return errXMLTooDeep
	}
	r.rooted = true
	e := openElement{name: r.name, bindings: len(r.bindings)}
	if len(r.open) > 0 {
		e.lang = r.open[len(r.open)-1].lang
	}
	for _, attr := range r.attrs {
		if err := r.declare(attr); err != nil {
			return err
		}
		if attr.name == langAttr {
			e.lang = attr.value
		}
	}
	r.open = append(r.open, e)
	r.pending = r.empty
	var err error
	if r.element, err = r.expand(r.name); err != nil {
		return err
	}
	return r.checkAttributes()
}

// declare adds the binding an attribute makes, if it makes one (Namespaces in
// XML 1.0, sections 2.2 and 3).
func (r *xmlReader) declare(attr xmlAttr) error {
	var prefix string
	switch {
	case attr.name == qname{local: "xmlns"}:
	case attr.name.prefix == "xmlns":
		prefix = attr.name.local
		if attr.value == "" {
			return malformed("a prefix is bound to no namespace")
		}
	default:
		return nil
	}
	if prefix == "xmlns" || attr.value == xmlnsNamespace || (prefix == "xml") != (attr.value == xmlNamespace) {
		return malformed("a reserved prefix or namespace is declared")
	}
	if prefix == "xml" {
		return nil // bound from the start
	}
	if len(r.bindings) == maxXMLBindings {
		return errTooManyBindings
	}
	r.bindings = append(r.bindings, binding{prefix: prefix, uri: attr.value})
	return nil
}

// expand resolves an element's name.
func (r *xmlReader) expand(name qname) (xmlName, error) {
	if name.prefix == "xml" {
		return xmlName{space: xmlNamespace, local: name.local}, nil
	}
	if i := r.lookup(name.prefix); i >= 0 {
		return xmlName{space: r.bindings[i].uri, local: name.local}, nil
	}
	if name.prefix != "" {
		return xmlName{}, malformed("an undeclared namespace prefix")
	}
	return xmlName{local: name.local}, nil
}

// lookup returns the index of the binding of a prefix, -1 when there is none.
func (r *xmlReader) lookup(prefix string) int {
	for i := len(r.bindings) - 1; i >= 0; i-- {
		if r.bindings[i].prefix == prefix {
			return i
		}
	}
	return -1
}

// checkAttributes refuses undeclared prefixes and attributes that are one and
// the same, whether written alike or through two prefixes of one namespace.
func (r *xmlReader) checkAttributes() error {
	if len(r.attrs) > 1 && r.seen == nil {
		r.seen = make(map[xmlName]struct{})
	}
	clear(r.seen)
	for _, attr := range r.attrs {
		name, err := r.expandAttr(attr.name)
		if err != nil {
			return err
		}
		if len(r.attrs) == 1 {
			return nil
		}
		if _, repeated := r.seen[name]; repeated {
			return malformed("a repeated attribute")
		}
		r.seen[name] = struct{}{}
	}
	return nil
}

// expandAttr resolves an attribute's name; without a prefix it is in no
// namespace, whatever the default one is.
func (r *xmlReader) expandAttr(name qname) (xmlName, error) {
	switch name.prefix {
	case "":
		return xmlName{local: name.local}, nil
	case "xmlns":
		return xmlName{space: xmlnsNamespace, local: name.local}, nil
	}
	return r.expand(name)
}

// end closes the innermost element with the scanner's end tag.
func (r *xmlReader) end() error {
	if len(r.open) == 0 || r.open[len(r.open)-1].name != r.name {
		return malformed("an end tag without its start tag")
	}
	r.pop()
	return nil
}

func (r *xmlReader) pop() {
	last := len(r.open) - 1
	r.bindings = r.bindings[:r.open[last].bindings]
	r.open = r.open[:last]
}

// root reads up to the root element's start tag and returns its name.
func (r *xmlReader) root() (xmlName, error) {
	_, err := r.next() // outside the root, next yields nothing but its start tag
	return r.element, err
}

// finish reads the rest of a document whose root has been closed.
func (r *xmlReader) finish() error {
	if _, err := r.next(); err != nil {
		return err
	}
	return r.checkWideNames()
}

// eachChild calls visit for every element inside the one just opened, up to and
// including its end tag. Text between them is passed over, and so is whatever
// visit leaves unread of an element.
func (r *xmlReader) eachChild(visit func(xmlName) error) error {
	depth := len(r.open)
	for {
		token, err := r.next()
		if err != nil {
			return err
		}
		switch token {
		case tokenEnd:
			return nil
		case tokenStart:
			if err := visit(r.element); err != nil {
				return err
			}
			if err := r.skipTo(depth); err != nil {
				return err
			}
		}
	}
}

// skipTo reads until depth elements are open.
func (r *xmlReader) skipTo(depth int) error {
	for len(r.open) > depth {
		if _, err := r.next(); err != nil {
			return err
		}
	}
	return nil
}
