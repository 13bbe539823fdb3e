package dav

import "unicode/utf8"

// replacement stands for what XML can't carry.
const replacement = "\uFFFD"

// appendText appends s as character data. Carriage returns become references,
// since a reader turns literal ones into line feeds (XML 1.0 section 2.11).
// Invalid UTF-8 and characters XML has no way to write become U+FFFD.
func appendText(dst []byte, s string) []byte { return appendEscaped(dst, s, &textEscapes) }

// appendAttrValue is appendText for a value in double quotes, where a reader
// would turn literal tabs and line feeds into blanks (section 3.3.3).
func appendAttrValue(dst []byte, s string) []byte { return appendEscaped(dst, s, &attrEscapes) }

// escapeTable maps an ASCII character to what replaces it, "" for itself.
type escapeTable [utf8.RuneSelf]string

var textEscapes = func() (t escapeTable) {
	for c := range 0x20 {
		t[c] = replacement
	}
	t['\t'], t['\n'] = "", ""
	t['\r'] = "&#13;"
	t['&'], t['<'], t['>'] = "&amp;", "&lt;", "&gt;"
	return t
}()

var attrEscapes = func() escapeTable {
	t := textEscapes
	t['\t'], t['\n'], t['"'] = "&#9;", "&#10;", "&quot;"
	return t
}()

func appendEscaped(dst []byte, s string, escapes *escapeTable) []byte {
	done := 0 // s[:done] is written
	for i := 0; i < len(s); {
		escape, size := "", 1
		if c := s[i]; c < utf8.RuneSelf {
			escape = escapes[c]
		} else {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 || !isXMLChar(r) {
				escape = replacement
			}
		}
		if escape != "" {
			dst = append(dst, s[done:i]...)
			dst = append(dst, escape...)
			done = i + size
		}
		i += size
	}
	return append(dst, s[done:]...)
}
