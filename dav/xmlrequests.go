package dav

import (
	"io"
	"net/http"
	"slices"
)

// Limits of what one body may ask for. Names come back in every response of a
// multistatus and properties become rows, so both are bounded far below what
// would fit into the body.
const (
	maxPropNames     = 1024
	maxPropNameBytes = 1024     // of a namespace name, and of a local name
	maxPropfindBytes = 64 << 10 // of all names of a PROPFIND
	maxOwnerBytes    = 8 << 10
)

var (
	errTooManyProps  = errStatus(http.StatusRequestEntityTooLarge, "the XML body names too many properties")
	errPropName      = errStatus(http.StatusRequestEntityTooLarge, "a property's name is longer than 1024 bytes")
	errOwnerTooLarge = errStatus(http.StatusRequestEntityTooLarge, "the owner element is larger than 8 KiB")
	errRootElement   = badRequest("the root element of the XML body is not the one this method takes")
	errMkcolBody     = errStatus(http.StatusUnsupportedMediaType, "the body of a MKCOL must be a DAV: mkcol element")
)

// parseXML reads a document whose root element is expected to be of that name in
// the namespace DAV: and calls visit for every child of the root. Other errors
// than visit's are errEmptyBody for a body without a document, otherRoot for a
// well-formed one of another kind, and those of the reader.
func parseXML(text, root string, otherRoot error, visit func(*xmlReader, xmlName) error) error {
	if isBlank(text) {
		return errEmptyBody
	}
	r, err := newXMLReader(text)
	if err != nil {
		return err
	}
	name, err := r.root()
	if err != nil {
		return err
	}
	known := name == davName(root)
	err = r.eachChild(func(name xmlName) error {
		if !known {
			return nil
		}
		return visit(r, name)
	})
	if err != nil {
		return err
	}
	if err := r.finish(); err != nil {
		return err
	}
	if !known {
		return otherRoot
	}
	return nil
}

// propfindKind is what a PROPFIND asks for (RFC 4918 section 14.20).
type propfindKind int

const (
	propfindAll propfindKind = iota + 1
	propfindNames
	propfindProps
)

// propfind is a parsed PROPFIND body.
type propfind struct {
	kind  propfindKind
	props []xmlName // of propfindProps, or of allprop's include; each once
}

// readPropfind reads a PROPFIND body. No body, or one of white space, asks for
// all properties. Unknown elements are ignored as RFC 4918 section 17 demands;
// a body that asks for none or several kinds is 400.
func readPropfind(body io.Reader) (propfind, error) {
	text, err := readXMLBody(body)
	if err != nil {
		return propfind{}, err
	}
	if isBlank(text) {
		return propfind{kind: propfindAll}, nil
	}
	var p propfindParser
	if err := parseXML(text, "propfind", errRootElement, p.child); err != nil {
		return propfind{}, err
	}
	return p.result()
}

// propfindParser collects the children of a propfind element.
type propfindParser struct {
	kinds   []propfindKind
	include bool
	props   []xmlName
	named   int // names so far, repeated ones too
	size    int // bytes of these
}

func (p *propfindParser) child(r *xmlReader, name xmlName) error {
	switch name {
	case davName("allprop"):
		p.kinds = append(p.kinds, propfindAll)
	case davName("propname"):
		p.kinds = append(p.kinds, propfindNames)
	case davName("prop"):
		p.kinds = append(p.kinds, propfindProps)
		return r.eachChild(p.add)
	case davName("include"):
		p.include = true
		return r.eachChild(p.add)
	}
	return nil
}

func (p *propfindParser) add(name xmlName) error {
	if err := checkPropName(name); err != nil {
		return err
	}
	p.named++
	p.size += len(name.space) + len(name.local)
	if p.named > maxPropNames || p.size > maxPropfindBytes {
		return errTooManyProps
	}
	if !slices.Contains(p.props, name) {
		p.props = append(p.props, name)
	}
	return nil
}

func (p *propfindParser) result() (propfind, error) {
	if len(p.kinds) != 1 {
		return propfind{}, badRequest("a propfind body needs one of prop, propname and allprop")
	}
	if p.include && p.kinds[0] != propfindAll {
		return propfind{}, badRequest("include goes with allprop only")
	}
	return propfind{kind: p.kinds[0], props: p.props}, nil
}

func checkPropName(name xmlName) error {
	if len(name.space) > maxPropNameBytes || len(name.local) > maxPropNameBytes {
		return errPropName
	}
	return nil
}

// propOp sets or removes one dead property.
type propOp struct {
	remove bool
	name   xmlName
	xml    []byte // the whole property element, self-contained; nil to remove
}

// readProppatch reads a PROPPATCH body and returns its operations in document
// order, the order they take effect in (RFC 4918 section 9.2). At least one is
// needed. What a remove holds inside its property is ignored.
func readProppatch(body io.Reader) ([]propOp, error) {
	text, err := readXMLBody(body)
	if err != nil {
		return nil, err
	}
	var ops []propOp
	err = parseXML(text, "propertyupdate", errRootElement, func(r *xmlReader, name xmlName) error {
		remove := name == davName("remove")
		if !remove && name != davName("set") {
			return nil
		}
		return r.eachProp(func(name xmlName) (err error) {
			ops, err = r.appendOp(ops, name, remove)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if len(ops) == 0 {
		return nil, badRequest("a propertyupdate body needs a property to set or remove")
	}
	return ops, nil
}

// appendOp appends the operation on the property element just opened.
func (r *xmlReader) appendOp(ops []propOp, name xmlName, remove bool) ([]propOp, error) {
	if err := checkPropName(name); err != nil {
		return nil, err
	}
	if len(ops) == maxPropNames {
		return nil, errTooManyProps
	}
	op := propOp{remove: remove, name: name}
	if !remove {
		var err error
		if op.xml, err = r.appendSubtree(nil); err != nil {
			return nil, err
		}
	}
	return append(ops, op), nil
}

// eachProp calls visit for every element in the prop elements of the element
// just opened.
func (r *xmlReader) eachProp(visit func(xmlName) error) error {
	return r.eachChild(func(name xmlName) error {
		if name != davName("prop") {
			return nil
		}
		return r.eachChild(visit)
	})
}

// lockinfo is a parsed LOCK body (RFC 4918 section 14.11). The lock type is
// write, the only one there is.
type lockinfo struct {
	shared   bool
	owner    string // the content of the owner element, self-contained XML
	hasOwner bool
}

// readLockinfo reads a LOCK body. It needs one scope and the type write, else it
// is 400; without a body the error is errEmptyBody, by which the caller knows a
// refresh.
func readLockinfo(body io.Reader) (lockinfo, error) {
	text, err := readXMLBody(body)
	if err != nil {
		return lockinfo{}, err
	}
	var p lockinfoParser
	if err := parseXML(text, "lockinfo", errRootElement, p.child); err != nil {
		return lockinfo{}, err
	}
	return p.result()
}

// lockinfoParser collects the children of a lockinfo element, counting what must
// be there once.
type lockinfoParser struct {
	info          lockinfo
	scopes, modes int // lockscope, and exclusive or shared inside
	types, writes int // locktype, and write inside
	owners        int
}

func (p *lockinfoParser) child(r *xmlReader, name xmlName) (err error) {
	switch name {
	case davName("lockscope"):
		p.scopes++
		return r.eachChild(p.mode)
	case davName("locktype"):
		p.types++
		return r.eachChild(func(name xmlName) error {
			if name == davName("write") {
				p.writes++
			}
			return nil
		})
	case davName("owner"):
		p.owners++
		p.info.owner, err = r.innerXML(maxOwnerBytes)
	}
	return err
}

func (p *lockinfoParser) mode(name xmlName) error {
	switch name {
	case davName("exclusive"):
		p.modes++
	case davName("shared"):
		p.modes++
		p.info.shared = true
	}
	return nil
}

func (p *lockinfoParser) result() (lockinfo, error) {
	switch {
	case p.scopes != 1 || p.modes != 1:
		return lockinfo{}, badRequest("a lockinfo body needs one lockscope, exclusive or shared")
	case p.types != 1 || p.writes != 1:
		return lockinfo{}, badRequest("a lockinfo body needs the locktype write")
	case p.owners > 1:
		return lockinfo{}, badRequest("a lockinfo body has more than one owner")
	}
	p.info.hasOwner = p.owners == 1
	return p.info, nil
}

// innerXML returns the content of the element just opened, text and elements,
// each element self-contained. More than max bytes of it are errOwnerTooLarge.
func (r *xmlReader) innerXML(max int) (string, error) {
	var content []byte
	for depth := len(r.open); ; {
		token, err := r.next()
		switch {
		case err != nil:
			return "", err
		case token == tokenText:
			content = appendText(content, r.text)
		case token == tokenStart:
			if content, err = r.appendSubtree(content); err != nil {
				return "", err
			}
		case len(r.open) < depth:
			return string(content), nil
		}
		if len(content) > max {
			return "", errOwnerTooLarge
		}
	}
}

// readMkcol reads an extended MKCOL body (RFC 5689) and returns the properties
// to set, DAV:resourcetype among them only if it asks for something else than a
// plain collection. Without a body the error is errEmptyBody. A document of
// another kind is 415 (RFC 4918 section 9.3).
func readMkcol(body io.Reader) ([]propOp, error) {
	text, err := readXMLBody(body)
	if err != nil {
		return nil, err
	}
	var ops []propOp
	sets := 0
	err = parseXML(text, "mkcol", errMkcolBody, func(r *xmlReader, name xmlName) error {
		if name != davName("set") {
			return nil
		}
		sets++
		return r.eachProp(func(name xmlName) (err error) {
			if name == resourceType {
				plain, err := r.isPlainCollection()
				if err == nil && !plain {
					ops = append(ops, propOp{name: resourceType})
				}
				return err
			}
			ops, err = r.appendOp(ops, name, false)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if sets == 0 {
		return nil, badRequest("a mkcol body needs a set element")
	}
	return ops, nil
}

var resourceType = davName("resourcetype")

// isPlainCollection reads the resourcetype element just opened.
func (r *xmlReader) isPlainCollection() (bool, error) {
	collection, other := false, false
	err := r.eachChild(func(name xmlName) error {
		if name == davName("collection") {
			collection = true
		} else {
			other = true
		}
		return nil
	})
	return collection && !other, err
}
