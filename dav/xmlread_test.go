package dav

import (
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"
)

// readAll reads a whole document the way the request readers do.
func readAll(doc string) error {
	r, err := newXMLReader(doc)
	if err != nil {
		return err
	}
	if _, err := r.root(); err != nil {
		return err
	}
	if err := r.skipTo(0); err != nil {
		return err
	}
	return r.finish()
}

func TestWellFormed(t *testing.T) {
	tests := []struct{ name, doc string }{
		{"root alone", `<a/>`},
		{"XML declaration", `<?xml version="1.0" encoding="utf-8"?><a/>`},
		{"XML declaration, all of it", "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n<a/>"},
		{"version 1.1 is read as 1.0", `<?xml version="1.1"?><a/>`},
		{"ASCII", `<?xml version="1.0" encoding="us-ascii"?><a/>`},
		{"byte order mark", "\uFEFF<a/>"},
		{"byte order mark and declaration", "\uFEFF<?xml version=\"1.0\"?><a/>"},
		{"white space around the root", "\r\n <a/>\t\n"},
		{"comments and instructions around the root", `<!-- a - b --><?x?><a/><?x y?><!---->`},
		{"stylesheet instruction", `<?xml-stylesheet href="a"?><a/>`},
		{"blanks in tags", "<a\tb = '1'\n></a >"},
		{"both quotes", `<a b='"' c="'"/>`},
		{"greater-than in text and value", `<a b=">">></a>`},
		{"references", `<a b="&lt;&#65;">&amp;&gt;&apos;&quot;&#x1F600;&#xa;</a>`},
		{"CDATA", `<a><![CDATA[<&]] >]]></a>`},
		{"namespaces", `<D:a xmlns:D="DAV:" xmlns="u"><b D:c="1" c="2"/></D:a>`},
		{"prefix redeclared", `<p:a xmlns:p="u"><p:b xmlns:p="v"/></p:a>`},
		{"default namespace taken back", `<a xmlns="u"><b xmlns=""/></a>`},
		{"prefix declared after its use in the tag", `<p:a p:b="1" xmlns:p="u"/>`},
		{"xml prefix", `<a xml:lang="de" xml:space="preserve"/>`},
		{"xml prefix declared as it is", `<xml:a xmlns:xml="http://www.w3.org/XML/1998/namespace"/>`},
		{"same local name in two namespaces", `<a xmlns:p="u" xmlns:q="v" p:b="" q:b="" b=""/>`},
		{"names beyond ASCII", `<größe längë="1"/>`},
		{"prefixes and local parts beyond ASCII", `<ä:ö xmlns:ä="u" ä:ü-·="1"/>`},
		{"names with dots, digits, hyphens", `<a.b-1 _c="1"/>`},
		{"high characters in text", "<a>\U00010000\U0010FFFF\uFFFD</a>"},
		{"as deep as allowed", strings.Repeat("<a>", 128) + strings.Repeat("</a>", 128)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := readAll(test.doc); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	tests := []struct{ name, doc string }{
		{"R28 not closed", `<foo>`},
		{"litmus empty prefix binding", `<D:a xmlns:D="DAV:" xmlns:bar=""/>`},
		{"nothing but white space", "  \n"},
		{"nothing but a comment", "<!-- -->"},
		{"text before the root", `x<a/>`},
		{"text after the root", `<a/>x`},
		{"reference outside the root", `<a/>&#32;`},
		{"CDATA outside the root", `<a/><![CDATA[ ]]>`},
		{"two roots", `<a/><b/>`},
		{"end tag of another", `<a></b>`},
		{"end tag with another prefix of the same namespace", `<p:a xmlns:p="u" xmlns:q="u"></q:a>`},
		{"crossed tags", `<a><b></a></b>`},
		{"end tag too many", `<a/></a>`},
		{"local part that starts with a middle dot", `<x:·a xmlns:x="u"/>`},
		{"local part that is a combining mark", "<x:\u0300 xmlns:x='u'/>"},
		{"attribute with such a local part", `<a xmlns:x="u" x:·b="1"/>`},
		{"prefix that starts with a middle dot", `<a xmlns:·z="u"/>`},
		{"local part that starts with a digit", `<x:1 xmlns:x="u"/>`},
		{"repeated attribute", `<a b="1" b="2"/>`},
		{"repeated expanded attribute", `<a xmlns:p="u" xmlns:q="u" p:b="" q:b=""/>`},
		{"repeated declaration", `<a xmlns:p="u" xmlns:p="v"/>`},
		{"undeclared prefix of an element", `<p:a/>`},
		{"undeclared prefix of an attribute", `<a p:b="1"/>`},
		{"undeclared prefix of one attribute of two", `<a b="1" p:b="1"/>`},
		{"prefix out of scope", `<a><b xmlns:p="u"/><p:c/></a>`},
		{"xmlns as a prefix", `<xmlns:a/>`},
		{"xmlns declared", `<a xmlns:xmlns="u"/>`},
		{"xml bound elsewhere", `<a xmlns:xml="u"/>`},
		{"xml's namespace bound elsewhere", `<a xmlns:p="http://www.w3.org/XML/1998/namespace"/>`},
		{"xml's namespace as the default", `<a xmlns="http://www.w3.org/XML/1998/namespace"/>`},
		{"xmlns' namespace bound", `<a xmlns:p="http://www.w3.org/2000/xmlns/"/>`},
		{"two colons", `<a:b:c xmlns:a="u"/>`},
		{"colon first", `<:a/>`},
		{"colon last", `<a: xmlns:a="u"/>`},
		{"name that begins with a digit", `<1a/>`},
		{"local name that begins with a digit", `<a:1 xmlns:a="u"/>`},
		{"name no other parser reads", "<\U0001F600/>"},
		{"blank before the name", `< a/>`},
		{"no blank between attributes", `<a b="1"c="2"/>`},
		{"no quotes", `<a b=1/>`},
		{"no value", `<a b/>`},
		{"value not closed", `<a b="1/>`},
		{"less-than in a value", `<a b="<"/>`},
		{"unknown entity", `<a>&nbsp;</a>`},
		{"unknown entity in a value", `<a b="&nbsp;"/>`},
		{"bare ampersand", `<a>a & b</a>`},
		{"reference to NUL", `<a>&#0;</a>`},
		{"reference to a surrogate", `<a>&#xD800;</a>`},
		{"reference beyond Unicode", `<a>&#x110000;</a>`},
		{"reference with capital X", `<a>&#X41;</a>`},
		{"reference with a sign", `<a>&#+65;</a>`},
		{"end of CDATA in text", `<a>]]></a>`},
		{"CDATA not closed", `<a><![CDATA[x</a>`},
		{"comment not closed", `<a><!-- </a>`},
		{"two hyphens in a comment", `<a><!-- -- --></a>`},
		{"comment that ends in three hyphens", `<a><!-- ---></a>`},
		{"instruction not closed", `<a><?x </a>`},
		{"instruction without target", `<a><? x?></a>`},
		{"XML declaration too late", ` <?xml version="1.0"?><a/>`},
		{"XML declaration inside", `<a><?xml version="1.0"?></a>`},
		{"XML declaration twice", `<?xml version="1.0"?><?xml version="1.0"?><a/>`},
		{"XML declaration without version", `<?xml encoding="utf-8"?><a/>`},
		{"XML declaration in the wrong order", `<?xml encoding="utf-8" version="1.0"?><a/>`},
		{"XML declaration of version 2", `<?xml version="2.0"?><a/>`},
		{"XML declaration with another attribute", `<?xml version="1.0" x="y"?><a/>`},
		{"XML declaration not closed", `<?xml version="1.0"><a/>`},
		{"control character", "<a>\x01</a>"},
		{"NUL", "<a>\x00</a>"},
		{"U+FFFE", "<a>\uFFFE</a>"},
		{"invalid UTF-8", "<a>\xFF</a>"},
		{"surrogate in UTF-8", "<a>\xED\xA0\x80</a>"},
		{"UTF-16 without a byte order mark", toUTF16(`<a/>`, binary.BigEndian)[2:]},
		{"UTF-16 with half a unit", toUTF16(`<a/>`, binary.BigEndian) + "\x00"},
		{"UTF-16 with a lone high surrogate", "\xFE\xFF\x00<\x00a\x00>\xD8\x00\x00<\x00/\x00a\x00>"},
		{"UTF-16 with a lone low surrogate", "\xFE\xFF\x00<\x00a\x00>\xDC\x00\x00<\x00/\x00a\x00>"},
		{"UTF-16 that ends in a surrogate", "\xFE\xFF\x00<\x00a\x00>\xD8\x00"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantStatus(t, readAll(test.doc), http.StatusBadRequest)
		})
	}
}

// toUTF16 encodes a document with its byte order mark.
func toUTF16(doc string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\uFEFF" + doc)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func TestEncodings(t *testing.T) {
	doc := `<a xmlns="DAV:">ü` + "\U0001F600\r\n" + `</a>`
	want := `<a xmlns="DAV:">ü` + "\U0001F600\n" + `</a>`
	tests := []struct{ name, doc string }{
		{"UTF-8", doc},
		{"UTF-8 with a byte order mark", "\uFEFF" + doc},
		{"UTF-16 big endian", toUTF16(doc, binary.BigEndian)},
		{"UTF-16 little endian", toUTF16(doc, binary.LittleEndian)},
		{"UTF-16 declared", toUTF16(`<?xml version="1.0" encoding="UTF-16"?>`+doc, binary.LittleEndian)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, err := decodeXML(test.doc)
			if err != nil || text != want {
				t.Errorf("decoded %q, %v, want %q", text, err, want)
			}
			if err := readAll(test.doc); err != nil {
				t.Error(err)
			}
		})
	}
	for _, doc := range []string{
		`<?xml version="1.0" encoding="iso-8859-1"?><a/>`,
		`<?xml version="1.0" encoding="utf-16"?><a/>`,
		toUTF16(`<?xml version="1.0" encoding="utf-8"?><a/>`, binary.LittleEndian),
	} {
		if err := readAll(doc); !errors.Is(err, errEncoding) {
			t.Errorf("%q: %v, want errEncoding", doc, err)
		}
	}
}

func TestDocumentTypeIsRefused(t *testing.T) {
	for _, doc := range []string{
		`<!DOCTYPE a><a/>`,
		`<?xml version="1.0"?><!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>`,
		`<!DOCTYPE a [<!ENTITY b "&c;&c;">]><a>&b;</a>`,
		`<a><!ENTITY b "c"></a>`,
	} {
		err := readAll(doc)
		if !errors.Is(err, errExternalEntities) {
			t.Errorf("%s: %v, want errExternalEntities", doc, err)
		}
		wantStatus(t, err, http.StatusForbidden)
	}
}

func TestXMLLimits(t *testing.T) {
	var attrs strings.Builder
	for i := range maxXMLAttributes + 1 {
		attrs.WriteString(" a" + strings.Repeat("x", i) + `=""`)
	}
	wide := "<a xmlns:a='u' xmlns:b='u' xmlns:c='u'>"
	tests := []struct {
		name, doc string
		want      error
	}{
		{"body", "<a>" + strings.Repeat("x", maxXMLBytes) + "</a>", errTooLarge},
		{"depth", strings.Repeat("<a>", 129) + strings.Repeat("</a>", 129), errXMLTooDeep},
		{"attributes", "<a" + attrs.String() + "/>", errTooManyAttributes},
		{"bindings", strings.Repeat(wide, 86) + strings.Repeat("</a>", 86), errTooManyBindings},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, err := readXMLBody(strings.NewReader(test.doc))
			if err == nil {
				err = readAll(text)
			}
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			wantStatus(t, err, http.StatusRequestEntityTooLarge)
		})
	}
}

func TestReadXMLBody(t *testing.T) {
	whole := strings.Repeat("x", maxXMLBytes)
	if text, err := readXMLBody(strings.NewReader(whole)); err != nil || text != whole {
		t.Errorf("a body of the largest size: %d bytes, %v", len(text), err)
	}
	limited := http.MaxBytesReader(nil, nopCloser{strings.NewReader(whole)}, 10)
	if _, err := readXMLBody(limited); !errors.Is(err, errTooLarge) {
		t.Errorf("a body cut by MaxBytesReader: %v, want errTooLarge", err)
	}
	broken := errors.New("connection reset")
	_, err := readXMLBody(failingReader{broken})
	var e *httpError
	if !errors.Is(err, broken) || errors.As(err, &e) {
		t.Errorf("a broken connection: %v, want it wrapped and no httpError", err)
	}
}

type nopCloser struct{ *strings.Reader }

func (nopCloser) Close() error { return nil }

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }
