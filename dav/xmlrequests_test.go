package dav

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestReadPropfind(t *testing.T) {
	names := func(local ...string) (names []xmlName) {
		for _, l := range local {
			names = append(names, davName(l))
		}
		return names
	}
	tests := []struct {
		name string
		body string
		want propfind
	}{
		{"R13 no body", "", propfind{kind: propfindAll}},
		{"white space", "\r\n", propfind{kind: propfindAll}},
		{"allprop", `<D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>`, propfind{kind: propfindAll}},
		{"allprop with include", `<D:propfind xmlns:D="DAV:"><D:allprop/><D:include><D:a/><D:b/></D:include></D:propfind>`,
			propfind{kind: propfindAll, props: names("a", "b")}},
		{"propname", `<D:propfind xmlns:D="DAV:"><D:propname/></D:propfind>`, propfind{kind: propfindNames}},
		{"prop", `<D:propfind xmlns:D="DAV:"><D:prop><D:a/> <D:b/></D:prop></D:propfind>`,
			propfind{kind: propfindProps, props: names("a", "b")}},
		{"empty prop", `<D:propfind xmlns:D="DAV:"><D:prop/></D:propfind>`, propfind{kind: propfindProps}},
		{"default namespace", `<propfind xmlns="DAV:"><prop><a/></prop></propfind>`, propfind{kind: propfindProps, props: names("a")}},
		{"no namespace", `<D:propfind xmlns:D="DAV:"><D:prop><a/><b xmlns=""/></D:prop></D:propfind>`,
			propfind{kind: propfindProps, props: []xmlName{{local: "a"}, {local: "b"}}}},
		{"B87 foreign namespace", `<D:propfind xmlns:D="DAV:"><D:prop><x:lastmodified xmlns:x="SAR:"/></D:prop></D:propfind>`,
			propfind{kind: propfindProps, props: []xmlName{{"SAR:", "lastmodified"}}}},
		{"repeated names count once", `<D:propfind xmlns:D="DAV:"><D:prop><D:a/><a xmlns="DAV:"/><D:b/></D:prop></D:propfind>`,
			propfind{kind: propfindProps, props: names("a", "b")}},
		{"unknown elements are ignored", `<D:propfind xmlns:D="DAV:" xmlns:E="urn:e"><E:x><D:prop><D:z/></D:prop></E:x><D:leave-out/><D:propname/></D:propfind>`,
			propfind{kind: propfindNames}},
		{"content of names is ignored", `<D:propfind xmlns:D="DAV:"><D:prop>t<D:a>x<D:z/></D:a></D:prop></D:propfind>`,
			propfind{kind: propfindProps, props: names("a")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readPropfind(strings.NewReader(test.body))
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestReadPropfindRefuses(t *testing.T) {
	many := strings.Repeat("<D:a/>", maxPropNames+1)
	long := strings.Repeat("n", maxPropNameBytes+1)
	tests := []struct {
		name, body string
		status     int
	}{
		{"R28 broken XML", `<foo>`, 400},
		{"other root", `<foo/>`, 400},
		{"root in no namespace", `<propfind><allprop/></propfind>`, 400},
		{"litmus empty prefix binding", `<D:propfind xmlns:D="DAV:"><D:prop><bar:foo xmlns:bar=""/></D:prop></D:propfind>`, 400},
		{"none of the three", `<D:propfind xmlns:D="DAV:"/>`, 400},
		{"none but unknown ones", `<D:propfind xmlns:D="DAV:"><D:x/></D:propfind>`, 400},
		{"allprop and prop", `<D:propfind xmlns:D="DAV:"><D:allprop/><D:prop/></D:propfind>`, 400},
		{"two prop", `<D:propfind xmlns:D="DAV:"><D:prop/><D:prop/></D:propfind>`, 400},
		{"include with prop", `<D:propfind xmlns:D="DAV:"><D:prop/><D:include/></D:propfind>`, 400},
		{"include alone", `<D:propfind xmlns:D="DAV:"><D:include/></D:propfind>`, 400},
		{"text after the root", `<D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>x`, 400},
		{"document type", `<!DOCTYPE x><D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>`, 403},
		{"too many names", `<D:propfind xmlns:D="DAV:"><D:prop>` + many + `</D:prop></D:propfind>`, 413},
		{"too long a name", `<D:propfind xmlns:D="DAV:"><D:prop><D:` + long + `/></D:prop></D:propfind>`, 413},
		{"too long a namespace", `<D:propfind xmlns:D="DAV:"><D:prop><a xmlns="` + long + `"/></D:prop></D:propfind>`, 413},
		{"too long names in all", `<D:propfind xmlns:D="DAV:"><D:prop xmlns="` + long[1:] + `">` + strings.Repeat("<a/>", 64) + `</D:prop></D:propfind>`, 413},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := readPropfind(strings.NewReader(test.body))
			wantStatus(t, err, test.status)
		})
	}
}

// set wraps a property into a PROPPATCH body; around are attributes of the
// elements it inherits from.
func set(property, around string) string {
	return `<D:propertyupdate xmlns:D="DAV:" ` + around + `><D:set><D:prop>` + property + `</D:prop></D:set></D:propertyupdate>`
}

// Values come back as sent, or with what they inherited added.
func TestReadProppatchValue(t *testing.T) {
	tests := []struct{ name, property, around, want string }{
		{"R75 all of it", `<x:a xmlns:x="urn:x" xml:lang="de">p<x:b>q</x:b> r</x:a>`, "", ""},
		{"empty", `<x:a xmlns:x="urn:x"/>`, "", ""},
		{"litmus propnullns", `<x xmlns="">v</x>`, "", ""},
		{"no namespace, not declared", `<x>v</x>`, "", `<x xmlns="">v</x>`},
		{"no namespace inside", `<p:x xmlns:p="u"><y/></p:x>`, "", `<p:x xmlns="" xmlns:p="u"><y/></p:x>`},
		{"litmus propvalnspace", `<t:value xmlns:t="urn:t"><bar xmlns="http://bar"/></t:value>`, "", ""},
		{"default namespace taken back", `<x xmlns="u"><y xmlns=""><z/></y></x>`, "", ""},
		{"high characters", "<x xmlns=\"u\">\U00010000</x>", "", ""},
		{"inherited prefix", `<p:x/>`, `xmlns:p="urn:p"`, `<p:x xmlns:p="urn:p"/>`},
		{"inherited prefix inside", `<x xmlns="u"><p:y/></x>`, `xmlns:p="urn:p"`, `<x xmlns:p="urn:p" xmlns="u"><p:y/></x>`},
		{"inherited prefix of an attribute", `<x xmlns="u" p:y="1"/>`, `xmlns:p="urn:p"`, `<x xmlns:p="urn:p" xmlns="u" p:y="1"/>`},
		{"inherited prefix in text", `<x xmlns="u">p:y</x>`, `xmlns:p="urn:p"`, `<x xmlns:p="urn:p" xmlns="u">p:y</x>`},
		{"unused prefix stays out", `<x xmlns="u">ap:y</x>`, `xmlns:p="urn:p"`, `<x xmlns="u">ap:y</x>`},
		{"own prefix hides the inherited one", `<p:x xmlns:p="urn:own"/>`, `xmlns:p="urn:p"`, `<p:x xmlns:p="urn:own"/>`},
		{"inherited default namespace", `<x><y/></x>`, `xmlns="urn:d"`, `<x xmlns="urn:d"><y/></x>`},
		{"inherited DAV:", `<D:x/>`, "", `<D:x xmlns:D="DAV:"/>`},
		{"namespace that needs escaping", `<x xmlns="u&amp;&quot;"/>`, "", ""},
		{"inherited language", `<x xmlns="u">v</x>`, `xml:lang="fr"`, `<x xml:lang="fr" xmlns="u">v</x>`},
		{"own language wins", `<x xmlns="u" xml:lang="de">v</x>`, `xml:lang="fr"`, `<x xmlns="u" xml:lang="de">v</x>`},
		{"own language taken back", `<x xmlns="u" xml:lang="">v</x>`, `xml:lang="fr"`, `<x xmlns="u" xml:lang="">v</x>`},
		{"white space", "<x xmlns=\"u\"> \n\t<y/> </x>", "", ""},
		{"line ends", "<x xmlns=\"u\">a\r\nb\rc&#13;d</x>", "", "<x xmlns=\"u\">a\nb\nc&#13;d</x>"},
		{"white space in attributes", "<x xmlns=\"u\" a=\"1\n2\t3&#10;4&#9;5&#13;6\"/>", "", "<x xmlns=\"u\" a=\"1 2 3&#10;4&#9;5&#13;6\"/>"},
		{"markup in text", `<x xmlns="u">&lt;&amp;&gt;"'</x>`, "", ""},
		{"quotes in attributes", `<x xmlns="u" a='"&lt;' b="'"/>`, "", `<x xmlns="u" a="&quot;&lt;" b="'"/>`},
		{"CDATA is text", `<x xmlns="u">a<![CDATA[<b>]]>c<![CDATA[]]></x>`, "", `<x xmlns="u">a&lt;b&gt;c</x>`},
		{"empty CDATA is nothing", `<x xmlns="u"><![CDATA[]]></x>`, "", `<x xmlns="u"/>`},
		{"comments and instructions are no value", `<x xmlns="u">a<!-- b --><?c d?>e</x>`, "", `<x xmlns="u">ae</x>`},
		{"tags written out", `<x xmlns="u"></x>`, "", `<x xmlns="u"/>`},
		{"attributes keep their order", `<x b="1" xmlns="u" a="2"/>`, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			if want == "" {
				want = test.property
			}
			ops, err := readProppatch(strings.NewReader(set(test.property, test.around)))
			if err != nil {
				t.Fatal(err)
			}
			if len(ops) != 1 || string(ops[0].xml) != want {
				t.Errorf("got %s, want %s", ops[0].xml, want)
			}
		})
	}
}

func TestReadProppatchOrder(t *testing.T) {
	body := `<?xml version="1.0" encoding="utf-8"?>
<D:propertyupdate xmlns:D="DAV:" xmlns:p="urn:p">
 <D:remove><D:prop><p:gone>content <b/></p:gone></D:prop></D:remove>
 <E:extension xmlns:E="urn:e"><D:prop><p:no/></D:prop></E:extension>
 <D:set>
  <D:prop> <p:one>1</p:one> <p:two>2</p:two> </D:prop>
  <D:prop xml:lang="en"><p:three/></D:prop>
 </D:set>
 <D:set><D:prop><p:gone>3</p:gone></D:prop></D:set>
 <D:remove><D:prop><p:one/></D:prop></D:remove>
</D:propertyupdate>`
	want := []string{
		"remove gone ", `set one <p:one xmlns:p="urn:p">1</p:one>`, `set two <p:two xmlns:p="urn:p">2</p:two>`,
		`set three <p:three xmlns:p="urn:p" xml:lang="en"/>`, `set gone <p:gone xmlns:p="urn:p">3</p:gone>`, "remove one ",
	}
	ops, err := readProppatch(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, op := range ops {
		verb := "set "
		if op.remove {
			verb = "remove "
		}
		if op.name.space != "urn:p" {
			t.Errorf("%v is not in its namespace", op.name)
		}
		got = append(got, verb+op.name.local+" "+string(op.xml))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadProppatchRefuses(t *testing.T) {
	long := strings.Repeat("n", maxPropNameBytes+1)
	tests := []struct {
		name, body string
		status     int
	}{
		{"no body", "", 400},
		{"other root", `<D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>`, 400},
		{"nothing to do", `<D:propertyupdate xmlns:D="DAV:"/>`, 400},
		{"set without prop", `<D:propertyupdate xmlns:D="DAV:"><D:set/></D:propertyupdate>`, 400},
		{"prop without properties", set("", ""), 400},
		{"undeclared prefix", set("<q:a/>", ""), 400},
		{"document type", `<!DOCTYPE a>` + set("<a/>", ""), 403},
		{"too many properties", set(strings.Repeat("<a/>", maxPropNames+1), ""), 413},
		{"too long a name", set("<"+long+"/>", ""), 413},
		{"inherited names that grow the body", set(strings.Repeat("<a/>", 512), `xmlns="`+long[1:]+`" xml:lang="`+strings.Repeat(long, 10)+`"`), 413},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := readProppatch(strings.NewReader(test.body))
			wantStatus(t, err, test.status)
		})
	}
}

const davLockinfo = `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>%</D:lockinfo>`

func TestReadLockinfo(t *testing.T) {
	withOwner := func(owner string) string { return strings.Replace(davLockinfo, "%", owner, 1) }
	tests := []struct {
		name, body string
		want       lockinfo
	}{
		{"R87 no owner", withOwner(""), lockinfo{}},
		{"R87 owner text", withOwner(`<D:owner>me</D:owner>`), lockinfo{owner: "me", hasOwner: true}},
		{"empty owner", withOwner(`<D:owner/>`), lockinfo{hasOwner: true}},
		{"Finder", withOwner(`<D:owner><D:href>http://www.apple.com/webdav_fs/</D:href></D:owner>`),
			lockinfo{owner: `<D:href xmlns:D="DAV:">http://www.apple.com/webdav_fs/</D:href>`, hasOwner: true}},
		{"LibreOffice", `<?xml version="1.0" encoding="utf-8"?><lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>LibreOffice - http://www.libreoffice.org/</owner></lockinfo>`,
			lockinfo{owner: "LibreOffice - http://www.libreoffice.org/", hasOwner: true}},
		{"shared", `<lockinfo xmlns="DAV:"><locktype><write/></locktype><lockscope><shared/></lockscope></lockinfo>`, lockinfo{shared: true}},
		{"white space and markup in the owner", withOwner("<D:owner> a &amp; b\n</D:owner>"), lockinfo{owner: " a &amp; b\n", hasOwner: true}},
		{"mixed owner", withOwner(`<D:owner xmlns:p="u" xml:lang="de">a <p:b/><c/> d</D:owner>`),
			lockinfo{owner: `a <p:b xmlns:p="u" xml:lang="de"/><c xmlns="" xml:lang="de"/> d`, hasOwner: true}},
		{"unknown elements are ignored", withOwner(`<D:x><D:lockscope><D:shared/></D:lockscope></D:x>`), lockinfo{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readLockinfo(strings.NewReader(test.body))
			if err != nil || got != test.want {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestReadLockinfoRefuses(t *testing.T) {
	const (
		head  = `<D:lockinfo xmlns:D="DAV:">`
		scope = `<D:lockscope><D:exclusive/></D:lockscope>`
		write = `<D:locktype><D:write/></D:locktype>`
		tail  = `</D:lockinfo>`
	)
	tests := []struct {
		name, body string
		status     int
	}{
		{"other root", `<D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>`, 400},
		{"nothing inside", head + tail, 400},
		{"no scope", head + write + tail, 400},
		{"empty scope", head + `<D:lockscope/>` + write + tail, 400},
		{"unknown scope", head + `<D:lockscope><D:x/></D:lockscope>` + write + tail, 400},
		{"both scopes", head + `<D:lockscope><D:exclusive/><D:shared/></D:lockscope>` + write + tail, 400},
		{"scope repeated", head + scope + scope + write + tail, 400},
		{"scope in no namespace", head + `<D:lockscope><exclusive/></D:lockscope>` + write + tail, 400},
		{"no type", head + scope + tail, 400},
		{"unknown type", head + scope + `<D:locktype><D:read/></D:locktype>` + tail, 400},
		{"type written twice for a missing scope", head + `<D:lockscope/><D:locktype><D:write/><D:write/></D:locktype>` + tail, 400},
		{"two owners", head + scope + write + `<D:owner/><D:owner/>` + tail, 400},
		{"text after the root", head + scope + write + tail + "x", 400},
		{"document type", `<!DOCTYPE a>` + head + scope + write + tail, 403},
		{"owner too large", head + scope + write + `<D:owner>` + strings.Repeat("o", maxOwnerBytes+1) + `</D:owner>` + tail, 413},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := readLockinfo(strings.NewReader(test.body))
			wantStatus(t, err, test.status)
		})
	}
	t.Run("no body is told apart", func(t *testing.T) {
		if _, err := readLockinfo(strings.NewReader("")); !errors.Is(err, errEmptyBody) {
			t.Errorf("error %v, want errEmptyBody", err)
		}
	})
}

func TestReadMkcol(t *testing.T) {
	mkcol := func(props string) string {
		return `<D:mkcol xmlns:D="DAV:"><D:set><D:prop>` + props + `</D:prop></D:set></D:mkcol>`
	}
	t.Run("properties besides the type", func(t *testing.T) {
		ops, err := readMkcol(strings.NewReader(mkcol(`<D:resourcetype><D:collection/></D:resourcetype><D:displayname>d</D:displayname>`)))
		want := []propOp{{name: davName("displayname"), xml: []byte(`<D:displayname xmlns:D="DAV:">d</D:displayname>`)}}
		if err != nil || !reflect.DeepEqual(ops, want) {
			t.Errorf("got %+v, %v", ops, err)
		}
	})
	t.Run("type alone", func(t *testing.T) {
		ops, err := readMkcol(strings.NewReader(mkcol(`<D:resourcetype><D:collection/></D:resourcetype>`)))
		if err != nil || len(ops) != 0 {
			t.Errorf("got %+v, %v", ops, err)
		}
	})
	refused := []struct {
		name, body string
		status     int
	}{
		{"no set", `<D:mkcol xmlns:D="DAV:"/>`, 400},
		{"broken XML", `<D:mkcol xmlns:D="DAV:">`, 400},
		{"litmus mkcol_with_body", "afafafaf", 400},
		{"R46 other root", `<foo/>`, 415},
		{"other root that is not closed", `<foo>`, 400},
	}
	for _, test := range refused {
		t.Run(test.name, func(t *testing.T) {
			_, err := readMkcol(strings.NewReader(test.body))
			wantStatus(t, err, test.status)
		})
	}
	for _, types := range []string{``, `<D:principal/>`, `<D:collection/><C:calendar xmlns:C="urn:c"/>`} {
		t.Run("type "+types, func(t *testing.T) {
			ops, err := readMkcol(strings.NewReader(mkcol(`<D:resourcetype>` + types + `</D:resourcetype>`)))
			if err != nil || !reflect.DeepEqual(ops, []propOp{{name: resourceType}}) {
				t.Errorf("got %+v, %v", ops, err)
			}
		})
	}
}

func BenchmarkReadPropfind(b *testing.B) {
	const body = `<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:prop><D:displayname/><D:getcontentlength/>` +
		`<D:getcontenttype/><D:getetag/><D:getlastmodified/><D:creationdate/><D:resourcetype/><D:lockdiscovery/><D:supportedlock/>` +
		`<x:y xmlns:x="urn:x"/></D:prop></D:propfind>`
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readPropfind(strings.NewReader(body)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadProppatch(b *testing.B) {
	body := set(`<Z:Win32LastModifiedTime>Mon, 01 Jan 2024 00:00:00 GMT</Z:Win32LastModifiedTime><Z:Win32FileAttributes>00000020</Z:Win32FileAttributes>`,
		`xmlns:Z="urn:schemas-microsoft-com:"`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readProppatch(strings.NewReader(body)); err != nil {
			b.Fatal(err)
		}
	}
}
