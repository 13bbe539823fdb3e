package dav

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"holdfast/store"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Seeds beyond those given here are in testdata/fuzz.

// A path that is accepted has an href that means the same, and no name that
// could leave the mount.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"", "/", "/a/b/", "//a/./b", "/%2e%2E/x", "/a%2Fb", "/%c3%bc+%20", "/a%00", "/\U0001F600;=&'[#"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		names, slash, err := splitPath(path)
		if err != nil {
			onlyHTTPError(t, err)
			return
		}
		if len(names) > store.MaxLevels {
			t.Fatalf("%d levels", len(names))
		}
		for _, name := range names {
			if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
				t.Fatalf("name %q", name)
			}
		}
		href := string(appendHref(nil, "", names, slash))
		again, againSlash, err := splitPath(href)
		if err != nil || !slices.Equal(again, names) || againSlash != (slash || len(names) == 0) {
			t.Fatalf("%q is %q, %v; its href %q is %q, %v, %v", path, names, slash, href, again, againSlash, err)
		}
		if len(names) > 0 {
			checkHref(t, href, names)
		}
	})
}

// A Destination that is accepted is in a form that no longer changes.
func FuzzDestination(f *testing.F) {
	for _, value := range []string{"/b", "//h/b", "http://u:p@HOST:80/b%20c", "webdavs://[::1]:443/", "https://h", "ftp://h/x", "http://h:0/", "a b", "http://h/?q#f"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		d, err := parseDestination(value)
		if err != nil {
			onlyHTTPError(t, err)
			return
		}
		if !strings.HasPrefix(d.escapedPath, "/") || strings.ContainsAny(d.escapedPath, "?# <>") {
			t.Fatalf("path %q", d.escapedPath)
		}
		form := d.escapedPath
		if d.scheme != "" {
			if d.host == "" || d.host != strings.ToLower(d.host) || strings.ContainsAny(d.host, "@/ ") {
				t.Fatalf("host %q", d.host)
			}
			form = d.scheme + "://" + d.host + d.escapedPath
		}
		again, err := parseDestination(form)
		if err != nil || again != d {
			t.Fatalf("%q is %+v; %q is %+v, %v", value, d, form, again, err)
		}
	})
}

// A time that is accepted can be shown, and means the same in its plainest form.
func FuzzUnixTime(f *testing.F) {
	for _, value := range []string{"0", "-1.5", "1000000000", "0x10", "1e9", "-11644473600", "253402300800", "1.", "-", ""} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := parseUnixTime(value)
		if !ok {
			if !got.IsZero() {
				t.Fatalf("%q is no time, and %v", value, got)
			}
			return
		}
		shown, err := http.ParseTime(got.Format(http.TimeFormat))
		if err != nil || !shown.Equal(got) || got.IsZero() {
			t.Fatalf("%q is %v and shown as %v, %v", value, got, shown, err)
		}
		if again, ok := parseUnixTime(strconv.FormatInt(got.Unix(), 10)); !ok || again != got {
			t.Fatalf("%q is %v, its plain form %v", value, got, again)
		}
	})
}

// Checksums that are accepted have values of their algorithm's length, in a form
// that no longer changes.
func FuzzChecksums(f *testing.F) {
	f.Add("MD5:9dd4e461268c8034f5c8564e155c67a6 adler32:790079", "")
	f.Add("SHA3-256:00", "sha-256=:LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=:;x=1, md5=:xx:")
	f.Add("MD5:", "sha-256=::")
	f.Add("x", "sha-256")
	f.Fuzz(func(t *testing.T, list, digest string) {
		sums, err := parseChecksums(http.Header{"Oc-Checksum": {list}, "Content-Digest": {digest}})
		if err != nil {
			onlyHTTPError(t, err)
			return
		}
		sums = slices.DeleteFunc(sums, func(sum store.Checksum) bool { return sum.Hex == "" })
		for _, sum := range sums {
			if size := checksumBytes[sum.Algorithm]; size == 0 || len(sum.Hex) != 2*size || strings.Trim(sum.Hex, "0123456789abcdef") != "" {
				t.Fatalf("checksum %+v", sum)
			}
		}
		if again, err := parseChecksumList(formatChecksums(sums)); err != nil || !slices.Equal(again, sums) {
			t.Fatalf("%q and %q are %v; again they are %v, %v", list, digest, sums, again, err)
		}
	})
}

// A header that is accepted is read the same from its plainest spelling.
func FuzzIf(f *testing.F) {
	for _, value := range []string{
		"(<urn:a>)", `</f> (<urn:a> ["e"]) (Not <DAV:no-lock>)`, `([W/"x"]Not<a>)`, "</a> </b> (<c>)", "(<a>) </b> (<c>)", `(["])"])`, "(<a>),(<b>)", "()", "(Not Not <a>)",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		h, err := parseIf([]string{value})
		if err != nil {
			onlyHTTPError(t, err)
			return
		}
		again, err := parseIf([]string{h.format()})
		if err != nil || !reflect.DeepEqual(again, h) {
			t.Fatalf("%q is %+v; %q is %+v, %v", value, h, h.format(), again, err)
		}
		// Nothing is known of any resource: true only if a list is all Not.
		want := slices.ContainsFunc(h.lists, func(l ifList) bool {
			return !slices.ContainsFunc(l.conditions, func(c ifCondition) bool { return !c.not })
		})
		if got := h.eval(func(string) ifState { return resourceState{} }); got != want {
			t.Fatalf("%q is %v for unknown resources, want %v", value, got, want)
		}
		for _, token := range h.tokens() {
			if token.token == "" || token.token == noLock {
				t.Fatalf("%q submits the token %q", value, token.token)
			}
		}
	})
}

// Names asked for are those encoding/xml sees, and can be answered.
func FuzzPropfind(f *testing.F) {
	for _, body := range []string{
		"", `<D:propfind xmlns:D="DAV:"><D:allprop/><D:include><a/></D:include></D:propfind>`,
		`<?xml version="1.0"?><propfind xmlns="DAV:"><prop><a/><b xmlns="u">x</b><c xmlns=""/></prop></propfind>`,
		`<D:propfind xmlns:D="DAV:"><D:propname/></D:propfind>`, `<p:propfind xmlns:p="DAV:"><p:prop><p:a b="&#10;"/></p:prop><!-- x --></p:propfind>`,
		"\xFE\xFF\x00<\x00a\x00/\x00>",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := readPropfind(bytes.NewReader(body))
		if err != nil {
			onlyHTTPError(t, err)
			return
		}
		if isBlank(string(body)) {
			return
		}
		var want []xmlName
		for _, kind := range []string{"prop", "include"} {
			for _, e := range oracle(t, string(body)).all(kind) {
				want = append(want, e.children()...)
			}
		}
		var got []xmlName
		for _, name := range p.props {
			got = append(got, normalName(name))
			if !slices.Contains(want, normalName(name)) {
				t.Fatalf("%q asks for %v, encoding/xml sees %v", body, name, want)
			}
		}
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Fatalf("%q misses %v", body, name)
			}
		}
		var b bytes.Buffer
		m := newMultistatus(&b)
		m.response("/")
		m.propstatOpen()
		for _, name := range p.props {
			m.emptyName(name)
			m.textName(name, string(body))
		}
		m.propstatClose(http.StatusNotFound)
		m.endResponse()
		if err := m.close(); err != nil {
			t.Fatal(err)
		}
		wellFormed(t, b.String())
	})
}

// Every value means what encoding/xml reads in the request, can be put into a
// document of ours, and is read back from there byte by byte.
func FuzzProppatch(f *testing.F) {
	for _, property := range []string{
		`<x:a xmlns:x="urn:x" xml:lang="de">p<x:b>q</x:b> r</x:a>`, `<x xmlns="">v</x>`, `<a><b xmlns="u" p:c="1"/><![CDATA[p:d]]></a>`,
		"<p:a b='\n&#9;\"'>&#13;\r\n&gt;</p:a><c/>", `<D:a xml:lang=""/>`, `<a xmlns:D="u"><D:b/></a>`,
	} {
		f.Add([]byte(set(property, `xmlns:p="urn:p" xmlns="urn:d" xml:lang="fr"`)))
	}
	f.Add([]byte(`<propertyupdate xmlns="DAV:"><remove><prop><a>x</a></prop></remove></propertyupdate>`))
	f.Fuzz(checkProppatch)
}

// checkProppatch checks what a PROPPATCH body is read as.
func checkProppatch(t *testing.T, body []byte) {
	ops, err := readProppatch(bytes.NewReader(body))
	if err != nil {
		onlyHTTPError(t, err)
		return
	}
	var properties []*element
	for _, e := range oracle(t, string(body)).elements() {
		if e.name == davName("set") || e.name == davName("remove") {
			for _, prop := range e.all("prop") {
				properties = append(properties, prop.elements()...)
			}
		}
	}
	if len(properties) != len(ops) {
		t.Fatalf("%q has %d operations, encoding/xml sees %d", body, len(ops), len(properties))
	}
	for i, op := range ops {
		if normalName(op.name) != properties[i].name {
			t.Fatalf("operation %d is on %v, not on %v", i, op.name, properties[i].name)
		}
		if !op.remove {
			checkValue(t, op, properties[i])
		}
	}
}

// Mutated bytes are seldom well-formed, so bodies are made up as well, with few
// names and prefixes that collide often. A prefix may be undeclared; most
// bodies must be accepted all the same, or the test tests nothing.
func TestProppatchMadeUp(t *testing.T) {
	const bodies = 1000
	rng := rand.New(rand.NewPCG(4918, 1))
	accepted := 0
	for range bodies {
		var b strings.Builder
		makeUp(&b, rng, 3)
		body := []byte(set(b.String(), `xmlns:p="urn:p" xmlns:q="urn:q"`+[]string{"", ` xmlns="urn:d"`, ` xml:lang="fr"`}[rng.IntN(3)]))
		if _, err := readProppatch(bytes.NewReader(body)); err == nil {
			accepted++
		}
		checkProppatch(t, body)
	}
	if accepted < bodies/2 {
		t.Errorf("only %d of %d bodies were accepted", accepted, bodies)
	}
}

// makeUp writes an element of random names, attributes and content.
func makeUp(b *strings.Builder, rng *rand.Rand, depth int) {
	pick := func(choices ...string) string { return choices[rng.IntN(len(choices))] }
	name := pick("", "", "p:", "q:", "D:") + pick("a", "b", "ü")
	b.WriteString("<" + name)
	for _, attr := range [][]string{
		{`xmlns="urn:p"`, `xmlns=""`, `xmlns="DAV:"`}, {`xmlns:p="urn:q"`, `xmlns:p="urn:p"`, `xmlns:p="&quot;&lt;"`},
		{`xmlns:D="urn:x"`}, {`xml:lang=""`, `xml:lang="de"`}, {`p:b='"'`, `q:b="&#10;&#9; >"`}, {`b="p:c"`, `b="
"`},
	} {
		if rng.IntN(4) == 0 {
			b.WriteString(" " + pick(attr...))
		}
	}
	b.WriteString(">")
	for range rng.IntN(4) {
		if depth > 0 && rng.IntN(2) == 0 {
			makeUp(b, rng, depth-1)
			continue
		}
		b.WriteString(pick(" ", "text", "q:x", "&#13;", "\r\n", "&lt;&amp;", "<![CDATA[<p:]]>", "<!-- p:x -->", "<?p q:x?>", "\U0001F600"))
	}
	b.WriteString("</" + name + ">")
}

// checkValue checks the text of one property against the element it was.
func checkValue(t *testing.T, op propOp, sent *element) {
	t.Helper()
	wellFormed(t, `<D:multistatus xmlns:D="DAV:">`+string(op.xml)+`</D:multistatus>`)
	stored := oracle(t, string(op.xml))
	// A language of "" and none at all are the same.
	if got, want := stored.describe("", ""), sent.describe("", sent.inheritedLang); got != want {
		t.Fatalf("stored %s is\n%s\nsent was\n%s", op.xml, got, want)
	}
	// The wrapper's prefix must not occur in the value, or it would be kept.
	wrapper := "w"
	for bytes.Contains(op.xml, []byte(wrapper+":")) {
		wrapper += "w"
	}
	doc := strings.ReplaceAll(`<W:propertyupdate xmlns:W="DAV:"><W:set><W:prop>`, "W", wrapper) + string(op.xml) +
		strings.ReplaceAll(`</W:prop></W:set></W:propertyupdate>`, "W", wrapper)
	again, err := readProppatch(strings.NewReader(doc))
	if len(doc) > maxXMLBytes {
		return
	}
	if err != nil || len(again) != 1 || !bytes.Equal(again[0].xml, op.xml) {
		t.Fatalf("%s is read back as %+v, %v", op.xml, again, err)
	}
}

// An owner can be put into lockdiscovery and is kept by a lock taken with it.
func FuzzLockinfo(f *testing.F) {
	for _, owner := range []string{"", "<D:owner/>", "<D:owner>me &amp; you</D:owner>", `<D:owner xmlns="u" xml:lang="de">a <b/><D:href>c</D:href></D:owner>`, "<D:owner><![CDATA[<]]>\r\n&#13;</D:owner>"} {
		f.Add([]byte(strings.Replace(davLockinfo, "%", owner, 1)))
	}
	f.Add([]byte(`<lockinfo xmlns="DAV:"><lockscope><shared/></lockscope><locktype><write/></locktype><owner>x</owner></lockinfo>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		info, err := readLockinfo(bytes.NewReader(body))
		if err != nil {
			onlyHTTPError(t, err)
			return
		}
		sent := oracle(t, string(body)).all("owner")
		if info.hasOwner != (len(sent) == 1) || !info.hasOwner && info.owner != "" {
			t.Fatalf("%q: hasOwner %v, %d sent", body, info.hasOwner, len(sent))
		}
		if !info.hasOwner {
			return
		}
		owner := `<D:owner xmlns:D="DAV:">` + info.owner + `</D:owner>`
		wellFormed(t, owner)
		if got, want := oracle(t, owner).text(), sent[0].text(); got != want {
			t.Fatalf("owner text %q, sent %q", got, want)
		}
		if strings.Contains(info.owner, "l:") {
			return // it would inherit the prefix used below
		}
		lock := strings.NewReader(`<l:lockinfo xmlns:l="DAV:"><l:lockscope><l:exclusive/></l:lockscope><l:locktype><l:write/></l:locktype><l:owner>` +
			info.owner + `</l:owner></l:lockinfo>`)
		again, err := readLockinfo(lock)
		if err != nil || again.owner != info.owner {
			t.Fatalf("owner %s is read back as %s, %v", info.owner, again.owner, err)
		}
	})
}

// A query that is accepted asks for the scopes and properties that encoding/xml
// sees, within the limits, and can be tried on anything.
func FuzzSearch(f *testing.F) {
	const clauses = `<D:select><D:prop><a/></D:prop></D:select><D:from><D:scope><D:href>/dav/</D:href><D:depth>1</D:depth></D:scope></D:from>`
	for _, rest := range []string{
		``, `<D:where><D:not><D:or><D:is-collection/><D:is-defined><D:prop><a/></D:prop></D:is-defined></D:or></D:not></D:where>`,
		`<D:where><D:like caseless="yes"><D:prop><D:displayname/></D:prop><D:literal>%a_\%&#223;</D:literal></D:like></D:where>`,
		`<D:where><D:gte><D:prop><D:getlastmodified/></D:prop><D:literal>2025-01-01T00:00:00Z</D:literal></D:gte></D:where>`,
		`<D:orderby><D:order caseless="no"><D:prop><x xmlns="u"/></D:prop><D:descending/></D:order></D:orderby><D:limit><D:nresults>7</D:nresults></D:limit>`,
	} {
		f.Add([]byte(`<D:searchrequest xmlns:D="DAV:"><D:basicsearch>` + clauses + rest + `</D:basicsearch></D:searchrequest>`))
	}
	f.Add([]byte(`<query-schema-discovery xmlns="DAV:"/>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := readSearch(bytes.NewReader(body))
		if err != nil {
			onlyHTTPError(t, err)
			return
		}
		var scopes, operators int
		for _, basic := range oracle(t, string(body)).all("basicsearch") {
			for _, from := range basic.all("from") {
				scopes += len(from.all("scope"))
			}
			for _, where := range basic.all("where") {
				operators += len(where.elements())
			}
		}
		if len(q.scopes) != scopes || scopes == 0 || scopes > maxSearchScopes || len(q.orders) > maxSearchOrders || (q.where == nil) != (operators == 0) {
			t.Fatalf("%q has %d scopes of %d, %d orders, where %v", body, len(q.scopes), scopes, len(q.orders), q.where)
		}
		if q.where == nil {
			return
		}
		for _, node := range []store.Node{madeUp, {Name: "a\u0308\u00df%", ETag: `"e"`, Size: 7}} {
			try := func(c condition) truth {
				r := &candidate{pw: &propWriter{}, listed: listed{displayName: node.Name, Entry: store.Entry{
					Node: node, Props: []store.Property{{Local: "a", XML: "<a>x</a>"}, {Space: "DAV:", Local: "displayname", XML: "<"}},
				}}}
				return c.eval(r)
			}
			got := try(q.where)
			if got < no || got > yes || try(notOf{q.where}) != -got || try(allOf{q.where, notOf{q.where}}) == yes || try(anyOf{q.where, notOf{q.where}}) == no {
				t.Fatalf("%q is %v", body, got)
			}
		}
	})
}

// A sync-collection body that is accepted has one of each element it needs, and a
// token that is accepted is one that the server would have written.
func FuzzSyncCollection(f *testing.F) {
	h, p := newTree(f)
	q := &request{h: h, principal: p}
	instance := syncTokenPrefix + h.opt.Store.Instance()
	for _, token := range []string{"", instance + "/1/0", instance + "/7/8/d/a%20b", instance + "/7/8/f/%00", instance + "/-1/+2", instance + "/1/9223372036854775808", "http://example.com/ns/sync/1234"} {
		f.Add([]byte(`<D:sync-collection xmlns:D="DAV:"><D:sync-token>` + token + `</D:sync-token><D:sync-level>1</D:sync-level><D:limit><D:nresults>7</D:nresults></D:limit><D:prop><a/></D:prop></D:sync-collection>`))
	}
	f.Add([]byte(`<sync-collection xmlns="DAV:"><sync-token/><sync-level> infinite </sync-level><prop/></sync-collection>`))
	f.Add([]byte(`<version-tree xmlns="DAV:"/>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		ask, err := readSyncCollection(bytes.NewReader(body))
		if err != nil {
			onlyHTTPError(t, err)
			return
		}
		root := oracle(t, string(body))
		if len(root.all("sync-token")) != 1 || len(root.all("sync-level")) != 1 || len(root.all("prop")) != 1 || len(root.all("limit")) > 1 {
			t.Fatalf("%q is accepted", body)
		}
		if (ask.limit < 0) != (len(root.all("limit")) == 0) || len(ask.token) > maxSyncTokenBytes {
			t.Fatalf("%q has limit %d, token %q", body, ask.limit, ask.token)
		}
		if at, ok := q.parseSyncToken(ask.token); ok && ask.token != "" && (q.syncToken(at) != ask.token || at.Folder <= 0 || !strings.HasPrefix(ask.token, instance)) {
			t.Fatalf("%q is %+v", ask.token, at)
		}
	})
}

// onlyHTTPError fails on an error that has no status, and on a status that
// isn't the client's.
func onlyHTTPError(t *testing.T, err error) {
	t.Helper()
	e, ok := err.(*httpError)
	if !ok || e.text == "" || e.status < 400 || e.status >= 500 && e.status != http.StatusBadGateway {
		t.Fatalf("error %v", err)
	}
}

// element is a document as encoding/xml reads it: an oracle that shares no code
// with the reader under test.
type element struct {
	name          xmlName
	attrs         []string // sorted, without declarations and xml:lang
	lang          string   // its own xml:lang
	hasLang       bool
	inheritedLang string
	nodes         []*element // text is a node with content only
	content       string
}

// oracle reads a document, in the encoding and line ends decodeXML has settled.
func oracle(t *testing.T, doc string) *element {
	t.Helper()
	text, err := decodeXML(doc)
	if err != nil {
		t.Fatal(err)
	}
	checkNames(t, text)
	d := xml.NewDecoder(strings.NewReader(text))
	root := new(element)
	open := []*element{root}
	for {
		token, err := d.Token()
		if err == io.EOF {
			return root.nodes[0]
		}
		if err != nil {
			t.Fatalf("encoding/xml refuses what was accepted: %v\n%s", err, doc)
		}
		top := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := newElement(token, top)
			top.nodes = append(top.nodes, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 1 {
				top.nodes = append(top.nodes, &element{content: string(token)})
			}
		}
	}
}

// checkNames fails unless prefix and local part of every name in the document
// are names by themselves, which encoding/xml does not ask.
func checkNames(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.RawToken()
		if err != nil {
			return // the caller reads the document, too
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		names := []xml.Name{start.Name}
		for _, attr := range start.Attr {
			names = append(names, attr.Name)
		}
		for _, name := range names {
			checkNCName(t, name.Local)
			if name.Space != "" {
				checkNCName(t, name.Space)
			}
		}
	}
}

// checkNCName fails unless encoding/xml takes the name for that of an element
// without a prefix.
func checkNCName(t *testing.T, name string) {
	t.Helper()
	token, err := xml.NewDecoder(strings.NewReader("<" + name + "/>")).RawToken()
	if start, ok := token.(xml.StartElement); err != nil || !ok || strings.Contains(name, ":") || start.Name != (xml.Name{Local: name}) {
		t.Fatalf("%q is no name without a colon: %v", name, err)
	}
}

func newElement(start xml.StartElement, parent *element) *element {
	e := &element{name: normalName(xmlName{start.Name.Space, start.Name.Local}), inheritedLang: parent.inheritedLang}
	if parent.hasLang {
		e.inheritedLang = parent.lang
	}
	for _, attr := range start.Attr {
		switch {
		case attr.Name.Space == "xmlns" || attr.Name == xml.Name{Local: "xmlns"}:
		case attr.Name == xml.Name{Space: xmlNamespace, Local: "lang"}:
			e.lang, e.hasLang = oneLine.Replace(attr.Value), true
		default:
			e.attrs = append(e.attrs, fmt.Sprintf("%q %q=%q", oneLine.Replace(attr.Name.Space), attr.Name.Local, oneLine.Replace(attr.Value)))
		}
	}
	slices.Sort(e.attrs)
	return e
}

// oneLine makes up for encoding/xml, which doesn't normalize attribute values.
var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

// normalName is oneLine for the namespace of a name.
func normalName(name xmlName) xmlName {
	return xmlName{oneLine.Replace(name.space), name.local}
}

// elements returns the child elements.
func (e *element) elements() []*element {
	var elements []*element
	for _, n := range e.nodes {
		if n.name.local != "" {
			elements = append(elements, n)
		}
	}
	return elements
}

// all returns the child elements of a name in the namespace DAV:.
func (e *element) all(local string) []*element {
	return slices.DeleteFunc(e.elements(), func(c *element) bool { return c.name != davName(local) })
}

// children returns the names of the child elements.
func (e *element) children() []xmlName {
	var names []xmlName
	for _, c := range e.elements() {
		names = append(names, c.name)
	}
	return names
}

// text returns all text inside.
func (e *element) text() string {
	text := e.content
	for _, n := range e.nodes {
		text += n.text()
	}
	return text
}

// describe writes down what an element means: names, attributes, text and the
// language in effect.
func (e *element) describe(indent, lang string) string {
	if e.hasLang {
		lang = e.lang
	}
	out := fmt.Sprintf("%s%q %q %q lang %q\n", indent, e.name.space, e.name.local, e.attrs, lang)
	text := ""
	flush := func() {
		if text != "" {
			out += fmt.Sprintf("%s  text %q\n", indent, text)
			text = ""
		}
	}
	for _, n := range e.nodes {
		if n.name.local == "" {
			text += n.content
			continue
		}
		flush()
		out += n.describe(indent+"  ", lang)
	}
	flush()
	return out
}
