package store

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold is a text as a search compares it with others: in normal form C, so that it
// does not matter in which form a client wrote it, and, if caseless, without regard
// to case in the form of Unicode's canonical caseless matching. RFC 5323 section 5.18
// asks for what section 5.18 of The Unicode Standard describes; section 3.13 of that
// defines it.
func Fold(s string, caseless bool) string {
	switch {
	case !caseless:
		return norm.NFC.String(s)
	case isASCII(s):
		return lowerASCII(s)
	case strings.ContainsFunc(s, hasIota):
		s = norm.NFD.String(s)
	}
	return norm.NFC.String(cases.Fold().String(s))
}

// hasIota reports whether a character is or has the Greek iota subscript, which
// folding makes a letter: the one case in which marks have to be in their order
// before.
func hasIota(r rune) bool { return r == 0x345 || r >= 0x1F80 && r <= 0x1FFC }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lowerASCII(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
