package dav

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxXMLBytes bounds a request body that is XML, before any recoding.
const maxXMLBytes = 1 << 20

var (
	errTooLarge  = errStatus(http.StatusRequestEntityTooLarge, "the XML body is too large")
	errEncoding  = errStatus(http.StatusUnsupportedMediaType, "the XML body must be UTF-8 or UTF-16")
	errBadText   = malformed("bytes that are no text in its encoding")
	errEmptyBody = badRequest("the request needs an XML body")
)

// readXMLBody reads a whole body, at most maxXMLBytes. An empty one is "".
// Errors of the connection are returned wrapped, as they are no fault of the
// grammar.
func readXMLBody(r io.Reader) (string, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxXMLBytes+1))
	var tooLarge *http.MaxBytesError
	switch {
	case len(body) > maxXMLBytes, errors.As(err, &tooLarge):
		return "", errTooLarge
	case err != nil:
		return "", fmt.Errorf("read request body: %w", err)
	}
	return string(body), nil
}

// decodeXML turns a body into what xmlScanner reads: UTF-8 of XML characters,
// line ends normalized (XML 1.0 section 2.11), byte order mark and XML
// declaration taken off. Both encodings every XML processor must know are read
// (section 4.3.3); UTF-16 needs its byte order mark.
func decodeXML(body string) (string, error) {
	text, wasUTF16, err := toUTF8(body)
	if err != nil {
		return "", err
	}
	if err := checkXMLChars(text); err != nil {
		return "", err
	}
	if strings.Contains(text, "\r") {
		text = lineEnds.Replace(text)
	}
	text, encoding, err := cutXMLDeclaration(text)
	if err != nil {
		return "", err
	}
	if !encodingMatches(encoding, wasUTF16) {
		return "", errEncoding
	}
	return text, nil
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// toUTF8 recodes the body by its byte order mark and reports whether it was
// UTF-16.
func toUTF8(body string) (text string, wasUTF16 bool, err error) {
	switch {
	case strings.HasPrefix(body, "\xFF\xFE"):
		text, err = fromUTF16(body[2:], binary.LittleEndian)
		return text, true, err
	case strings.HasPrefix(body, "\xFE\xFF"):
		text, err = fromUTF16(body[2:], binary.BigEndian)
		return text, true, err
	}
	return strings.TrimPrefix(body, "\uFEFF"), false, nil
}

// fromUTF16 refuses lone surrogates and half units instead of replacing them:
// a replaced character would be stored as if the client had sent it.
func fromUTF16(body string, order binary.ByteOrder) (string, error) {
	if len(body)%2 != 0 {
		return "", errBadText
	}
	raw := []byte(body)
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i += 2 {
		r := rune(order.Uint16(raw[i:]))
		if utf16.IsSurrogate(r) {
			i += 2
			if i == len(raw) {
				return "", errBadText
			}
			if r = utf16.DecodeRune(r, rune(order.Uint16(raw[i:]))); r == utf8.RuneError {
				return "", errBadText
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), nil
}

// checkXMLChars refuses invalid UTF-8 and characters XML can't carry.
func checkXMLChars(text string) error {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return errBadText
		case !isXMLChar(r):
			return malformed("a character XML does not allow")
		}
		i += size
	}
	return nil
}

// cutXMLDeclaration takes the XML declaration (XML 1.0 section 2.8) off and
// returns the encoding it names, if any.
func cutXMLDeclaration(text string) (rest, encoding string, err error) {
	const open = "<?xml"
	if !strings.HasPrefix(text, open) || len(text) == len(open) || !isXMLSpace(text[len(open)]) {
		return text, "", nil
	}
	declaration, rest, ok := strings.Cut(text[len(open):], "?>")
	if !ok {
		return "", "", errBadDeclaration
	}
	s := xmlScanner{src: "<xml" + declaration + ">"}
	if err := s.scanStartTag(); err != nil || s.empty || s.pos != len(s.src) {
		return "", "", errBadDeclaration
	}
	encoding, ok = declaredEncoding(s.attrs)
	if !ok || strings.Contains(declaration, "&") {
		return "", "", errBadDeclaration
	}
	return rest, encoding, nil
}

var errBadDeclaration = malformed("a bad XML declaration")

// declaredEncoding checks the three pseudo-attributes and their order.
func declaredEncoding(attrs []xmlAttr) (encoding string, ok bool) {
	for i, want := range []string{"version", "encoding", "standalone"} {
		if len(attrs) == 0 || attrs[0].name != (qname{local: want}) {
			if i == 0 {
				return "", false
			}
			continue
		}
		value := attrs[0].value
		attrs = attrs[1:]
		switch want {
		case "version":
			minor, one := strings.CutPrefix(value, "1.")
			ok = one && allDigits(minor)
		case "encoding":
			encoding = value
			ok = ok && value != ""
		case "standalone":
			ok = ok && (value == "yes" || value == "no")
		}
	}
	return encoding, ok && len(attrs) == 0
}

// encodingMatches reports whether the declared encoding is the one the bytes
// are in. ASCII is UTF-8 as far as it goes.
func encodingMatches(encoding string, wasUTF16 bool) bool {
	switch strings.ToLower(encoding) {
	case "":
		return true
	case "utf-8", "us-ascii", "ascii":
		return !wasUTF16
	case "utf-16", "utf-16le", "utf-16be":
		return wasUTF16
	}
	return false
}
