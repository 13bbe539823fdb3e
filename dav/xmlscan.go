package dav

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The XML of a request body is read by this scanner and the xmlReader on top of
// it, because encoding/xml accepts what is not well-formed (text after the
// root, repeated attributes, undeclared prefixes) and RFC 4918 section 8.2
// wants such bodies refused. The scanner knows XML 1.0 syntax without document
// type declarations; the reader adds nesting and namespaces.

// xmlToken is the kind of markup the scanner stopped at.
type xmlToken int

const (
	tokenEOF xmlToken = iota
	tokenStart
	tokenEnd
	tokenText  // character data, references resolved
	tokenCDATA // a CDATA section's content
)

// qname is a name as written; prefix is "" when there is none.
type qname struct {
	prefix, local string
}

// xmlAttr is an attribute as written, its value normalized (XML 1.0 section
// 3.3.3).
type xmlAttr struct {
	name  qname
	value string
}

// xmlScanner splits a document into tokens. The document is UTF-8 of XML
// characters only, its line ends normalized. Strings it hands out share the
// document's memory where they can.
type xmlScanner struct {
	src   string
	pos   int
	name  qname     // of the last start or end tag
	attrs []xmlAttr // of the last start tag; reused by the next
	empty bool      // the last start tag was <a/>
	text  string    // of the last text or CDATA token
	raw   string    // the same before references were resolved
	wide  []byte    // names beyond ASCII so far, as empty elements
}

// malformed is the answer to every violation of XML's grammar.
func malformed(what string) error {
	return badRequest("the XML body is not well-formed: " + what)
}

// next reads up to and including the next token. Comments and processing
// instructions are checked and passed over.
func (s *xmlScanner) next() (xmlToken, error) {
	for s.pos < len(s.src) {
		rest := s.src[s.pos:]
		var err error
		switch {
		case rest[0] != '<':
			return tokenText, s.scanText()
		case strings.HasPrefix(rest, "</"):
			return tokenEnd, s.scanEndTag()
		case strings.HasPrefix(rest, "<!--"):
			err = s.scanComment()
		case strings.HasPrefix(rest, "<![CDATA["):
			return tokenCDATA, s.scanCDATA()
		case strings.HasPrefix(rest, "<!"):
			return tokenEOF, declarationError(rest)
		case strings.HasPrefix(rest, "<?"):
			err = s.scanInstruction()
		default:
			return tokenStart, s.scanStartTag()
		}
		if err != nil {
			return tokenEOF, err
		}
	}
	return tokenEOF, nil
}

// declarationError tells a document type declaration, which is refused on
// principle (RFC 4918 section 20.6), from a slip.
func declarationError(rest string) error {
	for _, keyword := range []string{"<!DOCTYPE", "<!ENTITY", "<!ELEMENT", "<!ATTLIST", "<!NOTATION"} {
		if strings.HasPrefix(rest, keyword) {
			return errExternalEntities
		}
	}
	return malformed("a declaration in an unexpected place")
}

// scanText reads character data up to the next markup.
func (s *xmlScanner) scanText() error {
	end := strings.IndexByte(s.src[s.pos:], '<')
	if end < 0 {
		end = len(s.src) - s.pos
	}
	s.raw = s.src[s.pos : s.pos+end]
	s.pos += end
	if strings.Contains(s.raw, "]]>") {
		return malformed("']]>' in text")
	}
	var err error
	s.text, err = resolveReferences(s.raw)
	return err
}

func (s *xmlScanner) scanCDATA() error {
	var ok bool
	if s.text, ok = s.until(len("<![CDATA["), "]]>"); !ok {
		return malformed("a CDATA section is not closed")
	}
	return nil
}

func (s *xmlScanner) scanComment() error {
	if _, ok := s.until(len("<!--"), "--"); !ok || !s.accept('>') {
		return malformed("a comment is not closed")
	}
	return nil
}

// scanInstruction passes over a processing instruction. The XML declaration
// was taken off before, so another one is out of place.
func (s *xmlScanner) scanInstruction() error {
	content, ok := s.until(len("<?"), "?>")
	if !ok {
		return malformed("a processing instruction is not closed")
	}
	target := content[:nameLen(content)]
	s.keepWide(target)
	if target == "" || strings.Contains(target, ":") || strings.EqualFold(target, "xml") {
		return malformed("a processing instruction has a bad target")
	}
	if rest := content[len(target):]; rest != "" && !isXMLSpace(rest[0]) {
		return malformed("a processing instruction has a bad target")
	}
	return nil
}

// until skips an opening of n bytes and returns what comes before the closing,
// which it consumes.
func (s *xmlScanner) until(n int, closing string) (string, bool) {
	start := s.pos + n
	end := strings.Index(s.src[start:], closing)
	if end < 0 {
		return "", false
	}
	s.pos = start + end + len(closing)
	return s.src[start : start+end], true
}

func (s *xmlScanner) scanEndTag() error {
	s.pos += len("</")
	if err := s.scanName(&s.name); err != nil {
		return err
	}
	s.skipSpace()
	if !s.accept('>') {
		return malformed("an end tag is not closed")
	}
	return nil
}

func (s *xmlScanner) scanStartTag() error {
	s.pos += len("<")
	if err := s.scanName(&s.name); err != nil {
		return err
	}
	s.attrs = s.attrs[:0]
	for {
		spaced := s.skipSpace()
		switch {
		case s.accept('>'):
			s.empty = false
			return nil
		case s.accept('/'):
			if !s.accept('>') {
				return malformed("a tag is not closed")
			}
			s.empty = true
			return nil
		case !spaced:
			return malformed("a tag is not closed")
		case len(s.attrs) == maxXMLAttributes:
			return errTooManyAttributes
		}
		if err := s.scanAttribute(); err != nil {
			return err
		}
	}
}

// blanks is the normalization of an attribute's value; carriage returns are
// gone by then.
var blanks = strings.NewReplacer("\t", " ", "\n", " ")

func (s *xmlScanner) scanAttribute() error {
	var attr xmlAttr
	if err := s.scanName(&attr.name); err != nil {
		return err
	}
	s.skipSpace()
	if !s.accept('=') {
		return malformed("an attribute has no value")
	}
	s.skipSpace()
	if s.pos == len(s.src) || s.src[s.pos] != '"' && s.src[s.pos] != '\'' {
		return malformed("an attribute's value is not quoted")
	}
	raw, ok := s.until(1, s.src[s.pos:s.pos+1])
	if !ok {
		return malformed("an attribute's value is not closed")
	}
	if strings.Contains(raw, "<") {
		return malformed("'<' in an attribute's value")
	}
	if strings.ContainsAny(raw, "\t\n") {
		raw = blanks.Replace(raw)
	}
	var err error
	attr.value, err = resolveReferences(raw)
	s.attrs = append(s.attrs, attr)
	return err
}

// scanName reads a qualified name. Its prefix and its local part must each be a
// name by themselves (Namespaces in XML 1.0, section 4).
func (s *xmlScanner) scanName(name *qname) error {
	rest := s.src[s.pos:]
	n := nameLen(rest)
	s.pos += n
	prefix, local, colon := strings.Cut(rest[:n], ":")
	if !colon {
		prefix, local = "", prefix
	}
	// nameLen has checked the first character of the whole, not that of local.
	if local == "" || colon && (prefix == "" || nameLen(local) == 0 || strings.Contains(local, ":")) {
		return malformed("a tag or attribute has a bad name")
	}
	s.keepWide(prefix)
	s.keepWide(local)
	*name = qname{prefix: prefix, local: local}
	return nil
}

func (s *xmlScanner) skipSpace() bool {
	start := s.pos
	for s.pos < len(s.src) && isXMLSpace(s.src[s.pos]) {
		s.pos++
	}
	return s.pos > start
}

func (s *xmlScanner) accept(c byte) bool {
	if s.pos < len(s.src) && s.src[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func isXMLSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// keepWide keeps a name, or one part of a qualified name, for checkWideNames.
func (s *xmlScanner) keepWide(name string) {
	if !isASCII(name) {
		s.wide = append(append(append(s.wide, '<'), name...), "/>"...)
	}
}

// checkWideNames decides on names beyond ASCII by the tables of encoding/xml,
// which are those of XML 1.0's fourth edition, and expat's. The fifth allows
// more, but a property with such a name would make every listing it appears in
// unreadable to clients that use these parsers.
func (s *xmlScanner) checkWideNames() error {
	d := xml.NewDecoder(bytes.NewReader(s.wide))
	for len(s.wide) > 0 {
		switch _, err := d.RawToken(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return malformed("a tag or attribute has a bad name")
		}
	}
	return nil
}

// isBlank reports whether s is white space by XML's definition.
func isBlank(s string) bool {
	for i := range len(s) {
		if !isXMLSpace(s[i]) {
			return false
		}
	}
	return true
}

// resolveReferences replaces character references and the five predefined
// entities (XML 1.0 section 4.6). Without a DTD no other entity is declared.
func resolveReferences(raw string) (string, error) {
	i := strings.IndexByte(raw, '&')
	if i < 0 {
		return raw, nil
	}
	var out strings.Builder
	out.Grow(len(raw))
	for ; i >= 0; i = strings.IndexByte(raw, '&') {
		out.WriteString(raw[:i])
		name, rest, ok := strings.Cut(raw[i+1:], ";")
		r, known := reference(name)
		if !ok || !known {
			return "", malformed("an unknown entity or character reference")
		}
		out.WriteRune(r)
		raw = rest
	}
	out.WriteString(raw)
	return out.String(), nil
}

// reference returns the character that "&name;" stands for.
func reference(name string) (rune, bool) {
	switch name {
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "amp":
		return '&', true
	case "apos":
		return '\'', true
	case "quot":
		return '"', true
	}
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return 0, false
	}
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 21)
	return rune(n), err == nil && isXMLChar(rune(n))
}

// isXMLChar reports whether XML 1.0 can carry r (section 2.2).
func isXMLChar(r rune) bool {
	return r >= 0x20 && r <= 0xD7FF || r == '\t' || r == '\n' || r == '\r' ||
		r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= 0x10FFFF
}

// nameLen returns the length of the XML name (section 2.3) s begins with, 0 if
// it begins with none. Beyond ASCII it takes every character; checkWideNames
// has the last word on those.
func nameLen(s string) int {
	for i := range len(s) {
		c := s[i]
		if c < utf8.RuneSelf && !asciiNameStart(c) && (i == 0 || !asciiNameRest(c)) {
			return i
		}
	}
	return len(s)
}

func asciiNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == ':'
}

func asciiNameRest(c byte) bool { return '0' <= c && c <= '9' || c == '-' || c == '.' }
