package dav

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestMultistatus(t *testing.T) {
	var b bytes.Buffer
	m := newMultistatus(&b)
	m.response("/dav/a%20b")
	m.propstatOpen()
	m.text("displayname", `a<&>"b`)
	m.number("getcontentlength", 5368709120)
	m.date("getlastmodified", time.Date(2001, 9, 9, 3, 46, 40, 0, time.FixedZone("", 2*3600)), "Mon, 02 Jan 2006 15:04:05 GMT")
	m.raw(`<D:resourcetype><D:collection/></D:resourcetype>`)
	m.rawBytes([]byte(`<x:a xmlns:x="urn:x">1</x:a>`))
	m.textName(xmlName{"urn:schemas-microsoft-com:", "Win32FileAttributes"}, "00000020")
	m.textName(xmlName{local: "plain"}, "")
	m.propstatClose(200)
	m.propstatOpen()
	m.emptyName(davName("getetag"))
	m.emptyName(xmlName{`urn:"&`, "y"})
	m.emptyName(xmlName{local: "z"})
	m.emptyName(xmlName{xmlNamespace, "lang"})
	m.propstatClose(404)
	m.propstatOpen()
	m.emptyName(davName("q"))
	m.propstatFail(403, "cannot-modify-protected-property", "it's <live>")
	m.endResponse()
	m.responseStatus("/dav/c", 423, "")
	m.responseStatus("/dav/d", 424, "lock-token-submitted")
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
	want := `<?xml version="1.0" encoding="utf-8"?>
<D:multistatus xmlns:D="DAV:">` +
		`<D:response><D:href>/dav/a%20b</D:href>` +
		`<D:propstat><D:prop>` +
		`<D:displayname>a&lt;&amp;&gt;"b</D:displayname>` +
		`<D:getcontentlength>5368709120</D:getcontentlength>` +
		`<D:getlastmodified>Sun, 09 Sep 2001 01:46:40 GMT</D:getlastmodified>` +
		`<D:resourcetype><D:collection/></D:resourcetype>` +
		`<x:a xmlns:x="urn:x">1</x:a>` +
		`<Z:Win32FileAttributes xmlns:Z="urn:schemas-microsoft-com:">00000020</Z:Win32FileAttributes>` +
		`<plain xmlns=""></plain>` +
		`</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>` +
		`<D:propstat><D:prop><D:getetag/><x:y xmlns:x="urn:&quot;&amp;"/><z xmlns=""/><xml:lang/></D:prop>` +
		`<D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>` +
		`<D:propstat><D:prop><D:q/></D:prop><D:status>HTTP/1.1 403 Forbidden</D:status>` +
		`<D:error><D:cannot-modify-protected-property/></D:error>` +
		`<D:responsedescription>it's &lt;live&gt;</D:responsedescription></D:propstat>` +
		"</D:response>\n" +
		`<D:response><D:href>/dav/c</D:href><D:status>HTTP/1.1 423 Locked</D:status></D:response>` + "\n" +
		`<D:response><D:href>/dav/d</D:href><D:status>HTTP/1.1 424 Failed Dependency</D:status>` +
		`<D:error><D:lock-token-submitted/></D:error></D:response>` + "\n" +
		`</D:multistatus>`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	wellFormed(t, b.String())
}

// wellFormed checks a document of ours by both readers there are.
func wellFormed(t *testing.T, doc string) {
	t.Helper()
	if err := readAll(doc); err != nil {
		t.Errorf("not well-formed: %v\n%s", err, doc)
	}
	checkNames(t, doc)
	d := xml.NewDecoder(strings.NewReader(doc))
	for {
		switch _, err := d.Token(); {
		case err == io.EOF:
			return
		case err != nil:
			t.Fatalf("encoding/xml: %v\n%s", err, doc)
		}
	}
}

// countingWriter records the sizes of writes and fails after some.
type countingWriter struct {
	sizes []int
	fail  int // the write that fails, counted from 1; 0 for none
}

var errBroken = errors.New("broken pipe")

func (w *countingWriter) Write(p []byte) (int, error) {
	w.sizes = append(w.sizes, len(p))
	if len(w.sizes) == w.fail {
		return 0, errBroken
	}
	return len(p), nil
}

func TestMultistatusStreams(t *testing.T) {
	var w countingWriter
	m := newMultistatus(&w)
	for i := range 10_000 {
		writeEntry(m, i)
	}
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
	if len(w.sizes) < 10 {
		t.Errorf("%d writes for 10,000 entries", len(w.sizes))
	}
	for _, size := range w.sizes {
		if size > flushBytes+1024 {
			t.Errorf("a write of %d bytes", size)
		}
	}
}

func TestMultistatusHoldsBackSmallBodies(t *testing.T) {
	var w countingWriter
	m := newMultistatus(&w)
	writeEntry(m, 1)
	if len(w.sizes) != 0 {
		t.Error("a small body was written before close")
	}
	if err := m.close(); err != nil || len(w.sizes) != 1 {
		t.Errorf("%d writes, %v", len(w.sizes), err)
	}
}

func TestMultistatusErrorSticks(t *testing.T) {
	w := countingWriter{fail: 2}
	m := newMultistatus(&w)
	for i := range 1000 {
		writeEntry(m, i)
	}
	if err := m.close(); !errors.Is(err, errBroken) {
		t.Errorf("close returns %v", err)
	}
	if len(w.sizes) != 2 {
		t.Errorf("%d writes after the second failed", len(w.sizes)-2)
	}
}

// A buffer that comes back from the pool holds nothing of the body before.
func TestMultistatusReusesBuffers(t *testing.T) {
	for i := range 100 {
		var b bytes.Buffer
		m := newMultistatus(&b)
		m.responseStatus(fmt.Sprintf("/%d", i), 200, "")
		if err := m.close(); err != nil {
			t.Fatal(err)
		}
		if strings.Count(b.String(), "<D:href>") != 1 || !strings.Contains(b.String(), fmt.Sprintf("<D:href>/%d</D:href>", i)) {
			t.Fatalf("body %d is %s", i, &b)
		}
	}
}

func TestEscape(t *testing.T) {
	tests := []struct{ name, in, text, attr string }{
		{"plain", "aü\U0001F600", "aü\U0001F600", "aü\U0001F600"},
		{"empty", "", "", ""},
		{"markup", `<>&"'`, `&lt;&gt;&amp;"'`, `&lt;&gt;&amp;&quot;'`},
		{"white space", " \t\n\r", " \t\n&#13;", " &#9;&#10;&#13;"},
		{"controls", "a\x00b\x1Fc\x7F", "a\uFFFDb\uFFFDc\x7F", "a\uFFFDb\uFFFDc\x7F"},
		{"noncharacters", "\uFFFE\uFFFFx", "\uFFFD\uFFFDx", "\uFFFD\uFFFDx"},
		{"invalid UTF-8", "a\xFF\xC3", "a\uFFFD\uFFFD", "a\uFFFD\uFFFD"},
		{"replacement stays", "\uFFFD", "\uFFFD", "\uFFFD"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(appendText(nil, test.in)); got != test.text {
				t.Errorf("text %q, want %q", got, test.text)
			}
			if got := string(appendAttrValue(nil, test.in)); got != test.attr {
				t.Errorf("attribute %q, want %q", got, test.attr)
			}
		})
	}
}

func TestAppendErrorBody(t *testing.T) {
	const head = `<?xml version="1.0" encoding="utf-8"?>` + "\n" + `<D:error xmlns:D="DAV:">`
	tests := []struct {
		name, condition string
		hrefs           []string
		description     string
		want            string
	}{
		{"condition", "no-external-entities", nil, "", `<D:no-external-entities/>`},
		{"hrefs", "lock-token-submitted", []string{"/a", "/b"}, "",
			`<D:lock-token-submitted><D:href>/a</D:href><D:href>/b</D:href></D:lock-token-submitted>`},
		{"description", "no-conflicting-lock", []string{"/a"}, "locked by <ann>",
			`<D:no-conflicting-lock><D:href>/a</D:href></D:no-conflicting-lock><D:responsedescription>locked by &lt;ann&gt;</D:responsedescription>`},
		{"description alone", "", nil, "no", `<D:responsedescription>no</D:responsedescription>`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := string(appendErrorBody(nil, test.condition, test.hrefs, test.description))
			if want := head + test.want + `</D:error>`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			wellFormed(t, got)
		})
	}
}

// writeEntry writes what a client's usual PROPFIND gets for a file.
func writeEntry(m *multistatus, i int) {
	var href [64]byte
	names := [...]string{"documents", "report.pdf"}
	m.response(string(appendHref(href[:0], "/dav", names[:], false)))
	m.propstatOpen()
	m.text("displayname", names[1])
	m.number("getcontentlength", int64(i))
	m.text("getcontenttype", "application/pdf")
	m.text("getetag", `"4b1f0c2a"`)
	m.date("getlastmodified", time.Unix(1e9+int64(i), 0), "Mon, 02 Jan 2006 15:04:05 GMT")
	m.date("creationdate", time.Unix(1e9+int64(i), 0), time.RFC3339)
	m.raw(`<D:resourcetype/>`)
	m.propstatClose(200)
	m.propstatOpen()
	m.emptyName(xmlName{"http://apache.org/dav/props/", "executable"})
	m.propstatClose(404)
	m.endResponse()
}

func TestEntriesDoNotAllocate(t *testing.T) {
	m := newMultistatus(io.Discard)
	for i := range 1000 { // let the buffer grow
		writeEntry(m, i)
	}
	if n := testing.AllocsPerRun(1000, func() { writeEntry(m, 7) }); n != 0 {
		t.Errorf("%v allocations an entry", n)
	}
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkMultistatusEntry(b *testing.B) {
	m := newMultistatus(io.Discard)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		writeEntry(m, i)
	}
	if err := m.close(); err != nil {
		b.Fatal(err)
	}
}
