package dav

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/store"
)

// BenchmarkSearch asks for names among 100,000 files, as many as a SEARCH looks
// at. Their names are of 244 bytes and not ASCII; "dearest" has as many operators
// as a query may have, and patterns of the kind that takes longest.
func BenchmarkSearch(b *testing.B) {
	h, p := newTree(b)
	const name = "\u00fc\u00e4"
	at := func(names ...string) store.Target { return store.Target{Workspace: p.Workspace, Path: names} }
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	holder := store.Holder(p.UserID)
	_, err := h.opt.Store.Mkdir(b.Context(), at("d0"), store.Patch{}, holder)
	must(err)
	for i := range 1000 {
		_, _, err := h.opt.Store.Put(b.Context(), at("d0", fmt.Sprintf("%s%04d", strings.Repeat(name, 60), i)), store.File{Body: strings.NewReader("x"), Size: 1}, holder)
		must(err)
	}
	for i := range 98 {
		_, _, err := h.opt.Store.Copy(b.Context(), at("d0"), at(fmt.Sprint("d", i+1)), store.CopyOptions{}, holder)
		must(err)
	}
	like := func(pattern string) string {
		return `<D:like caseless="yes"><D:prop><D:displayname/></D:prop><D:literal>` + pattern + `</D:literal></D:like>`
	}
	dear := `<D:or>`
	for i := range maxSearchOperators - 1 {
		dear += like("%" + strings.Repeat(name, 40) + strings.Repeat("_", 40) + fmt.Sprint(i, "%"))
	}
	dear += `</D:or>`
	for _, c := range []struct{ name, clauses string }{
		{"everything", ``},
		{"one name", `<D:where><D:eq><D:prop><D:displayname/></D:prop><D:literal>none</D:literal></D:eq></D:where>`},
		{"part of a name", `<D:where>` + like("%none%") + `</D:where>`},
		{"dearest", `<D:where>` + dear + `</D:where>`},
		{"the largest hundred", `<D:orderby><D:order><D:prop><D:displayname/></D:prop><D:descending/></D:order></D:orderby><D:limit><D:nresults>100</D:nresults></D:limit>`},
		{"sorted", `<D:orderby><D:order caseless="yes"><D:prop><D:displayname/></D:prop><D:descending/></D:order></D:orderby>`},
	} {
		b.Run(c.name, func(b *testing.B) {
			body := `<D:searchrequest xmlns:D="DAV:"><D:basicsearch><D:select><D:prop><D:getetag/></D:prop></D:select><D:from><D:scope><D:href>/dav/</D:href>` +
				`<D:depth>infinity</D:depth></D:scope></D:from>` + c.clauses + `</D:basicsearch></D:searchrequest>`
			for b.Loop() {
				w := httptest.NewRecorder()
				h.Serve(w, httptest.NewRequest("SEARCH", "/dav/", strings.NewReader(body)), p)
				if w.Code != http.StatusMultiStatus {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
}
