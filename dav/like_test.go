package dav

import (
	"regexp"
	"strings"
	"testing"

	"holdfast/store"
)

func TestLike(t *testing.T) {
	long := strings.Repeat("abc", 30)
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"%", "", true},
		{"_", "", false},
		{"_", "\U0001F600", true},
		{"__", "\U0001F600", false},
		{"ab%ba", "aba", false},
		{"ab%ba", "abba", true},
		{"a%b%c", "acb", false},
		{"%a%a%", "a", false},
		{"%_%", "", false},
		{"%_b%", "aab", true},
		{"_%", "a", true},
		{"a_%_d", "abcd", true},
		{"a_%_d", "abd", false},
		{`\%\_\\`, `%_\`, true},
		{`\__`, "__", true},
		{`\__`, "ab", false},
		{"_" + long[1:], long, true},
		{long + "_", long + "x", true},
		{long + "_", long, false},
		{"%" + long + "_%", "ab" + long + "x" + long, true},
		{"%b_" + long + "%", "abx" + long[:80] + "abx" + long, true},
	} {
		p, ok := parsePattern(c.pattern, false)
		if !ok {
			t.Fatalf("%q is refused", c.pattern)
		}
		if got := p.matches(c.text); got != c.want {
			t.Errorf("%q like %q: %t, want %t", c.text, c.pattern, got, c.want)
		}
	}
	for _, pattern := range []string{`\`, `a\b`, `%\\\`} {
		if _, ok := parsePattern(pattern, false); ok {
			t.Errorf("%q is taken", pattern)
		}
	}
}

// FuzzLike compares patterns with regular expressions of the same meaning.
func FuzzLike(f *testing.F) {
	f.Add("%a_b%", "xaybz")
	f.Add(`\%%`+strings.Repeat("ab_", 30), "%"+strings.Repeat("abc", 30))
	f.Fuzz(func(t *testing.T, literal, text string) {
		literal, text = store.Fold(strings.ToValidUTF8(literal, "?"), false), store.Fold(strings.ToValidUTF8(text, "?"), false)
		if strings.ContainsRune(literal+text, anyChar) {
			t.Skip("no character of XML")
		}
		p, ok := parsePattern(literal, false)
		if !ok {
			return
		}
		var expr strings.Builder
		quoted := false
		for _, r := range literal {
			switch {
			case quoted:
				expr.WriteString(regexp.QuoteMeta(string(r)))
				quoted = false
			case r == '\\':
				quoted = true
			case r == '%':
				expr.WriteString(".*")
			case r == '_':
				expr.WriteString(".")
			default:
				expr.WriteString(regexp.QuoteMeta(string(r)))
			}
		}
		re, err := regexp.Compile("(?s)^(?:" + expr.String() + ")$")
		if err != nil {
			t.Skip(err) // too large
		}
		if got, want := p.matches(text), re.MatchString(text); got != want {
			t.Fatalf("%q like %q: %t, want %t", text, literal, got, want)
		}
	})
}

func TestFold(t *testing.T) {
	for _, same := range [][]string{
		{"ABC", "abc"},
		{"stra\u00dfe", "STRASSE", "stra\u1e9ee"},
		{"\u00dc", "u\u0308", "\u00fc", "U\u0308"},
		{"\u03a3", "\u03c3", "\u03c2"},
		{"\u212b", "\u00e5", "a\u030a"},
		// The iota subscript stands behind the accent until it is a letter.
		{"\u1fb4", "\u03b1\u0345\u0301", "\u03b1\u0301\u0345", "\u0391\u0301\u0399"},
		{"\u1f80", "\u1f88", "\u1f00\u03b9"},
	} {
		for _, s := range same {
			if store.Fold(s, true) != store.Fold(same[0], true) {
				t.Errorf("%+q is %+q, but %+q is %+q", s, store.Fold(s, true), same[0], store.Fold(same[0], true))
			}
		}
	}
	for _, other := range [][2]string{{"a", "b"}, {"i", "\u0131"}, {"a", "\u00e4"}, {"\u0438", "\u0439"}} {
		if store.Fold(other[0], true) == store.Fold(other[1], true) {
			t.Errorf("%+q and %+q are one", other[0], other[1])
		}
	}
	if store.Fold("A", false) != "A" || store.Fold("u\u0308", false) != "\u00fc" {
		t.Error("characters are not compared as they are")
	}
}
