package dav_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"holdfast/dav"
	"holdfast/store"
)

// searchBody is a query for the names of what is at and below a scope.
func searchBody(scope, clauses string) string {
	return `<D:searchrequest xmlns:D="DAV:" xmlns:x="urn:x"><D:basicsearch><D:select><D:prop><D:displayname/></D:prop></D:select><D:from><D:scope><D:href>` +
		scope + `</D:href><D:depth>infinity</D:depth></D:scope></D:from>` + clauses + `</D:basicsearch></D:searchrequest>`
}

var hrefElement = regexp.MustCompile(`<D:response><D:href>([^<]*)</D:href>`)

// found are the hrefs of a query's results.
func (r row) found(t *testing.T, where string) string {
	t.Helper()
	a := r.do(t, call{method: "SEARCH", target: "/", body: searchBody("/dav/", "<D:where>"+where+"</D:where>"), hasBody: true})
	if a.status != http.StatusMultiStatus {
		t.Fatalf("%s: %d %s", where, a.status, a.body)
	}
	var all []string
	for _, m := range hrefElement.FindAllStringSubmatch(a.body, -1) {
		all = append(all, strings.TrimPrefix(m[1], "/dav"))
	}
	return strings.Join(all, " ")
}

// operator is an operator on a property; "x:..." are dead ones.
func operator(op, attr, prop, literal string) string {
	if !strings.Contains(prop, ":") {
		prop = "D:" + prop
	}
	if op != "is-defined" {
		literal = "<D:literal>" + literal + "</D:literal>"
	}
	return fmt.Sprintf("<D:%s%s><D:prop><%s/></D:prop>%s</D:%[1]s>", op, attr, prop, literal)
}

// TestSearchConditions: what each operator holds of (RFC 5323 sections 5.5 to
// 5.18). Names are /a.txt, /A.TXT, an umlaut composed and decomposed in /d, and
// what has meaning in a pattern.
func TestSearchConditions(t *testing.T) {
	s := newServer(t, nil)
	r := newRow(t, s)
	r.run(t, "MKCOL /d => 201 ;; PUT /a.txt `abc` => 201 ;; PUT /A.TXT `abcdef` => 201 ;; PUT /d/%C3%BC `x` => 201 ;; PUT /d/stra%C3%9Fe `x` => 201 ;; PUT /d/u%CC%88%CF%83 `x` => 201 ;;"+
		" PUT /d/5%25_%5C {Content-Type: text/x-a} `x` => 201 ;; PROPPATCH /a.txt set=`<x:p xmlns:x=\"urn:x\">Value</x:p><D:displayname>Shown</D:displayname>` => 207 ;;"+
		" PROPPATCH /d set=`<x:p xmlns:x=\"urn:x\"><x:b/></x:p>` => 207 ;; PROPPATCH /A.TXT set=`<x:p xmlns:x=\"urn:x\"/>` => 207")
	no := func(where string) string { return "<D:not>" + where + "</D:not>" }
	const yes = ` caseless="yes"`
	for _, c := range []struct{ name, where, want string }{
		{"eq is exact", operator("eq", "", "displayname", "A.TXT"), "/A.TXT"},
		{"eq without regard to case", operator("eq", yes, "displayname", "a.TxT"), "/A.TXT"},
		{"white space counts", operator("eq", "", "displayname", " A.TXT"), ""},
		{"the display name is the one set", operator("eq", yes, "displayname", "shown"), "/a.txt"},
		{"R106 NFC finds NFC", operator("eq", "", "displayname", "\u00fc"), "/d/%C3%BC"},
		{"R106 NFD finds NFC", operator("eq", "", "displayname", "u\u0308"), "/d/%C3%BC"},
		{"R106 NFC finds NFD, in another case", operator("like", yes, "displayname", "\u00dc_"), "/d/u%CC%88%CF%83"},
		{"sharp s", operator("eq", yes, "displayname", "STRASSE"), "/d/stra%C3%9Fe"},
		{"a final sigma", operator("like", yes, "displayname", "%\u03c2"), "/d/u%CC%88%CF%83"},
		{"like is exact", operator("like", "", "displayname", "A%"), "/A.TXT"},
		{"like everything", operator("like", "", "displayname", "%"), "/ /d/ /d/5%25_%5C /d/stra%C3%9Fe /d/%C3%BC /d/u%CC%88%CF%83 /A.TXT /a.txt"},
		{"one character, not one byte", operator("like", "", "displayname", "_"), "/d/ /d/%C3%BC"},
		{"quoted", operator("like", "", "displayname", `%\%\_\\`), "/d/5%25_%5C"},
		{"quoted, none", operator("like", "", "displayname", `5\%\%%`), ""},
		{"length", operator("gt", "", "getcontentlength", "3"), "/A.TXT"},
		{"length as a number", operator("lt", "", "getcontentlength", "10"), "/d/5%25_%5C /d/stra%C3%9Fe /d/%C3%BC /d/u%CC%88%CF%83 /A.TXT /a.txt"},
		{"a collection has no length, so that not does not find it", no(operator("lt", "", "getcontentlength", "6")), "/A.TXT"},
		{"what nothing has is unknown", no(operator("eq", "", "x:none", "x")), ""},
		{"unknown or true", "<D:or>" + operator("eq", "", "x:none", "x") + operator("eq", "", "displayname", "A.TXT") + "</D:or>", "/A.TXT"},
		{"unknown and true", no("<D:and>" + operator("eq", "", "x:none", "x") + "<D:is-collection/></D:and>"), "/d/5%25_%5C /d/stra%C3%9Fe /d/%C3%BC /d/u%CC%88%CF%83 /A.TXT /a.txt"},
		{"media type as shown", operator("like", "", "getcontenttype", "text/plain%"), "/A.TXT /a.txt"},
		{"media type as sent", operator("eq", "", "getcontenttype", "text/x-a"), "/d/5%25_%5C"},
		{"collections", "<D:is-collection/>", "/ /d/"},
		{"a dead property is there", operator("is-defined", "", "x:p", ""), "/d/ /A.TXT /a.txt"},
		{"its text", operator("eq", yes, "x:p", "vALUE"), "/a.txt"},
		{"an empty text is a text", operator("lt", "", "x:p", "A"), "/A.TXT"},
		{"elements are unknown", no(operator("eq", "", "x:p", "Value")), "/A.TXT"},
		{"so are those of live properties", no(operator("like", "", "resourcetype", "%")), ""},
		{"elements are there", no(operator("is-defined", "", "lockdiscovery", "")), ""},
		{"files have a length", operator("is-defined", "", "getetag", ""), "/d/5%25_%5C /d/stra%C3%9Fe /d/%C3%BC /d/u%CC%88%CF%83 /A.TXT /a.txt"},
		{"dates", operator("gt", "", "creationdate", "2099-01-01T00:00:00Z"), ""},
		{"dates in another zone", "<D:and>" + operator("lt", "", "getlastmodified", "2199-01-01T00:00:00+05:00") + operator("gt", "", "getlastmodified", "Sun, 06 Nov 1994 08:49:37 GMT") + "<D:is-collection/></D:and>", "/ /d/"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			if got := r.found(t, c.where); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
	t.Run("etag", func(t *testing.T) {
		r.run(t, "PUT /e `x` => 201 $E=ETag")
		if got := r.found(t, operator("eq", "", "getetag", r.vars["E"])); got != "/e" {
			t.Errorf("found %q", got)
		}
	})
}

// TestSearchLimits: what one query may ask for is bounded.
func TestSearchLimits(t *testing.T) {
	r := newRow(t, newServer(t, nil))
	const isCollection = "<D:is-collection/>"
	scope := "<D:scope><D:href>/dav/</D:href><D:depth>0</D:depth></D:scope>"
	order := "<D:order><D:prop><D:displayname/></D:prop></D:order>"
	for _, c := range []struct {
		name, clauses string
		status        int
	}{
		{"64 operators", "<D:where><D:and>" + strings.Repeat(isCollection, 63) + "</D:and></D:where>", 207},
		{"65 operators", "<D:where><D:and>" + strings.Repeat(isCollection, 64) + "</D:and></D:where>", 413},
		{"63 operators in each other", "<D:where>" + strings.Repeat("<D:not>", 63) + isCollection + strings.Repeat("</D:not>", 63) + "</D:where>", 207},
		{"a literal of 1024 bytes", "<D:where>" + operator("eq", "", "displayname", strings.Repeat("x", 1024)) + "</D:where>", 207},
		{"a literal of 1025 bytes", "<D:where>" + operator("eq", "", "displayname", strings.Repeat("x", 1025)) + "</D:where>", 413},
		{"8 orders", "<D:orderby>" + strings.Repeat(order, 8) + "</D:orderby>", 207},
		{"9 orders", "<D:orderby>" + strings.Repeat(order, 9) + "</D:orderby>", 413},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			if a := r.do(t, call{method: "SEARCH", target: "/", body: searchBody("/dav/", c.clauses), hasBody: true}); a.status != c.status {
				t.Errorf("status %d, want %d: %s", a.status, c.status, a.body)
			}
		})
	}
	for n, status := range map[int]int{16: 207, 17: 413} {
		body := strings.Replace(searchBody("/dav/", ""), "<D:scope>", strings.Repeat(scope, n-1)+"<D:scope>", 1)
		if a := r.do(t, call{method: "SEARCH", target: "/", body: body, hasBody: true}); a.status != status {
			t.Errorf("%d scopes: status %d, want %d", n, a.status, status)
		}
	}
}

// TestBlockedNamesAreHidden: what was made before its name was blocked is listed
// and found neither by itself nor by what is below it, in any letter case and
// normal form.
func TestBlockedNamesAreHidden(t *testing.T) {
	s := newServer(t, func(o *dav.Options) { o.BlockedNames = []string{".DAV", "\u00dcber"} })
	r := newRow(t, s)
	put := func(names ...string) {
		t.Helper()
		for i := 1; i < len(names); i++ {
			_, err := s.store.Mkdir(t.Context(), store.Target{Workspace: r.alice.Workspace(), Path: names[:i]}, store.Patch{}, store.Holder(r.alice.ID))
			if err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := s.store.Put(t.Context(), store.Target{Workspace: r.alice.Workspace(), Path: names}, store.File{Body: strings.NewReader("x"), Size: 1}, store.Holder(r.alice.ID))
		if err != nil {
			t.Fatal(err)
		}
	}
	put(".dav", "in", "f")
	put("u\u0308BER")
	put("d", ".Dav")
	put("e", ".davx")
	if got, want := r.found(t, operator("like", "", "displayname", "%")), "/ /d/ /e/ /e/.davx"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	for _, c := range []call{
		{method: "PROPFIND", target: "/"}, {method: "GET", target: "/"}, {method: "GET", target: "/d"}, {method: "GET", target: "/e"},
	} {
		a := r.do(t, c)
		if hidden := regexp.MustCompile(`(?i)/(\.dav|u%CC%88ber)["/<]`).FindString(a.body); hidden != "" || a.status >= 300 {
			t.Errorf("%s %s: status %d, shows %q", c.method, c.target, a.status, hidden)
		}
		if (c.method == "PROPFIND" || c.target == "/e") && !strings.Contains(a.body, ".davx") {
			t.Errorf("%s %s lacks what is not blocked: %s", c.method, c.target, a.body)
		}
	}
	for _, scope := range []string{"/dav/.DAV", "/dav/.dav/in", "/dav/%C3%BCber", "/dav/d/.dav"} {
		if a := r.do(t, call{method: "SEARCH", target: "/", body: searchBody(scope, ""), hasBody: true}); a.status != http.StatusConflict {
			t.Errorf("scope %s: status %d %s", scope, a.status, a.body)
		}
	}
}

// TestDeepTrees: what may be 128 levels deep can be listed, found, copied, moved
// and removed there, and nothing comes to be on level 129.
func TestDeepTrees(t *testing.T) {
	const most = 128
	r := newRow(t, newServer(t, func(o *dav.Options) { o.PropfindMax = 1000 }))
	deep := func(top string, levels int) string { return "/" + top + strings.Repeat("/d", levels-1) }
	do := func(want int, method, target string, header ...string) answer {
		t.Helper()
		c := call{method: method, target: target, header: header}
		switch method {
		case "PUT":
			c.body, c.hasBody = "x", true
		case "SEARCH":
			c.body, c.hasBody = searchBody("", "<D:where>"+operator("eq", "", "displayname", "f")+"</D:where>"), true
		}
		a := r.do(t, c)
		if a.status != want {
			t.Fatalf("%s %s %q: status %d, want %d: %s", method, target, header, a.status, want, a.body)
		}
		return a
	}
	for n := 1; n < most; n++ {
		do(201, "MKCOL", deep("a", n))
	}
	last := deep("a", most-1)
	do(201, "PUT", last+"/f")
	do(201, "MKCOL", last+"/d")
	do(403, "PUT", last+"/d/f")
	do(403, "MKCOL", last+"/d/d")
	do(403, "LOCK", last+"/d/f")
	lists := func(method, top string) {
		t.Helper()
		want := "<D:href>/dav/" + top + strings.TrimPrefix(last, "/a") + "/f</D:href>"
		for _, target := range []string{"/", "/" + top} {
			if a := do(207, method, target); !strings.Contains(a.body, want) {
				t.Errorf("%s %s does not show the deepest file", method, target)
			}
		}
	}
	lists("PROPFIND", "a")
	lists("SEARCH", "a")
	do(201, "COPY", "/a", "Destination: "+r.base()+"/b")
	lists("PROPFIND", "b")
	lists("SEARCH", "b")
	do(201, "MOVE", "/b", "Destination: "+r.base()+"/c")
	lists("SEARCH", "c")
	do(201, "MKCOL", "/over")
	for _, method := range []string{"COPY", "MOVE"} {
		do(403, method, "/a", "Destination: "+r.base()+"/over/a")
		do(403, method, last+"/d", "Destination: "+r.base()+deep("c", most)+"/d")
	}
	do(404, "PROPFIND", "/over/a", "Depth: 0")
	do(204, "DELETE", "/c")
	do(404, "PROPFIND", "/c", "Depth: 0")
	lists("SEARCH", "a")
	do(204, "DELETE", deep("a", most))
	do(204, "DELETE", "/a")
	do(404, "PROPFIND", "/a", "Depth: 0")
}
