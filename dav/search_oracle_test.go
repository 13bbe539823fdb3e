package dav

import (
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"holdfast/lockns"
	"holdfast/store"
)

// TestSearchOracle asks random queries and compares what SEARCH finds with what
// the same conditions, tried by other means, say of the values that PROPFIND
// shows.
func TestSearchOracle(t *testing.T) {
	h, p := newTree(t)
	growTree(t, h.opt.Store, p)
	all := listing(t, h, p)
	if len(all) < 60 {
		t.Fatalf("only %d resources", len(all))
	}
	rng := rand.New(rand.NewPCG(5323, 2))
	var found, empty int
	for range 1500 {
		where := randomWhere(rng, 3)
		var want []string
		for _, r := range all {
			if where.holds(r) == "true" {
				want = append(want, r.href)
			}
		}
		got := hrefs(t, request1(t, h, p, "SEARCH", "/dav/", `<D:searchrequest xmlns:D="DAV:" xmlns:x="urn:x"><D:basicsearch><D:select><D:prop/></D:select><D:from><D:scope><D:href>/dav/</D:href>`+
			`<D:depth>infinity</D:depth></D:scope></D:from><D:where>`+where.String()+`</D:where></D:basicsearch></D:searchrequest>`))
		if !slices.Equal(got, want) {
			t.Fatalf("%s\nfound %q\nwant  %q", where, got, want)
		}
		found += len(got)
		if len(got) == 0 {
			empty++
		}
	}
	if found < 10_000 || empty > 1000 {
		t.Errorf("%d found, %d of 1500 queries found nothing: they ask for too much", found, empty)
	}
}

var (
	oracleNames = []string{"a", "A", "ab", "aB.txt", "b_", "b%.txt", `c\d`, "\u00fc", "u\u0308", "\u00dc.txt", "\U0001F600", "\u0434\u0414"}
	oracleTimes = []time.Time{time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC), time.Date(2025, 1, 1, 0, 0, 0, 900, time.UTC)}
)

// growTree adds folders, files and properties of few values that are often alike.
func growTree(t *testing.T, s *store.Store, p Principal) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5323, 3))
	pick := func(of []string) string { return of[rng.IntN(len(of))] }
	for i := range 70 {
		target := store.Target{Workspace: p.Workspace, Path: store.Path{pick([]string{"d e", "n"}), fmt.Sprint(pick(oracleNames), i%7)}}
		var err error
		if i == 0 {
			target.Path = store.Path{"n"}
		}
		if i%5 == 0 {
			_, err = s.Mkdir(t.Context(), target, store.Patch{}, store.Holder(p.UserID))
		} else {
			f := store.File{Body: strings.NewReader("xxx"[:i%4]), Size: int64(i % 4), ContentType: pick([]string{"", "", "text/Plain", "a/\u00fc"})}
			_, _, err = s.Put(t.Context(), target, f, store.Holder(p.UserID))
		}
		if err != nil {
			continue // the name is there already
		}
		patch := store.Patch{Modified: &oracleTimes[rng.IntN(2)]}
		for _, name := range []string{"displayname", "p"} {
			if rng.IntN(3) > 0 {
				continue
			}
			prop := store.Property{Space: "DAV:", Local: name, XML: `<D:displayname xmlns:D="DAV:">` + pick(oracleNames) + `</D:displayname>`}
			if name == "p" {
				prop = store.Property{Space: "urn:x", Local: name, XML: `<x:p xmlns:x="urn:x">` + pick([]string{"", " a ", "A", "<x:b/>", "<![CDATA[&]]>", "10", "9"}) + `</x:p>`}
			}
			patch.Props = append(patch.Props, store.PropOp{Property: prop})
		}
		if _, err := s.PatchProps(t.Context(), target, patch, store.Holder(p.UserID)); err != nil {
			t.Fatal(err)
		}
	}
}

// shownResource is a resource as PROPFIND shows it.
type shownResource struct {
	href  string
	props map[string]*string // nil: has elements inside
}

// request1 sends one request with a body and returns the body of its 207.
func request1(t *testing.T, h *Handler, p Principal, method, target, body string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.Serve(w, httptest.NewRequest(method, target, strings.NewReader(body)), p)
	if w.Code != http.StatusMultiStatus {
		t.Fatalf("%s %s %s: %d %s", method, target, body, w.Code, w.Body)
	}
	return w.Body.String()
}

type xmlProp struct {
	XMLName xml.Name
	Text    string     `xml:",chardata"`
	Inside  []struct{} `xml:",any"`
}

type xmlListing struct {
	Response []struct {
		Href     string `xml:"href"`
		Propstat []struct {
			Status string `xml:"status"`
			Prop   struct {
				Any []xmlProp `xml:",any"`
			} `xml:"prop"`
		} `xml:"propstat"`
	} `xml:"response"`
}

func hrefs(t *testing.T, body string) (all []string) {
	t.Helper()
	var l xmlListing
	if err := xml.Unmarshal([]byte(body), &l); err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Response {
		all = append(all, r.Href)
	}
	return all
}

// listing is everything below the root with the properties it has.
func listing(t *testing.T, h *Handler, p Principal) (all []shownResource) {
	t.Helper()
	var l xmlListing
	if err := xml.Unmarshal([]byte(request1(t, h, p, "PROPFIND", "/dav/", "")), &l); err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Response {
		s := shownResource{href: r.Href, props: map[string]*string{}}
		for _, ps := range r.Propstat {
			for _, prop := range ps.Prop.Any {
				s.props[prop.XMLName.Local] = &prop.Text
				if len(prop.Inside) > 0 {
					s.props[prop.XMLName.Local] = nil
				}
			}
		}
		all = append(all, s)
	}
	return all
}

// where is a condition of a query.
type where struct {
	op, prop, literal string
	caseless          bool
	of                []where
}

// String is the condition as sent.
func (w where) String() string {
	inside := ""
	for _, of := range w.of {
		inside += of.String()
	}
	if w.prop != "" {
		prefix := "D:"
		if w.prop == "p" || w.prop == "none" {
			prefix = "x:"
		}
		inside += "<D:prop><" + prefix + w.prop + "/></D:prop>"
		if w.op != "is-defined" {
			inside += "<D:literal>" + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(w.literal) + "</D:literal>"
		}
	}
	attr := ""
	if w.caseless {
		attr = ` caseless="yes"`
	}
	return "<D:" + w.op + attr + ">" + inside + "</D:" + w.op + ">"
}

// randomWhere makes a condition of at most that many levels above the last.
func randomWhere(rng *rand.Rand, levels int) where {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	if levels > 0 && rng.IntN(2) == 0 {
		w := where{op: pick("and", "or", "not")}
		for range 1 + rng.IntN(3) {
			w.of = append(w.of, randomWhere(rng, levels-1))
			if w.op == "not" {
				break
			}
		}
		return w
	}
	switch rng.IntN(8) {
	case 0:
		return where{op: "is-collection"}
	case 1:
		return where{op: "is-defined", prop: pick("p", "none", "displayname", "getetag", "resourcetype", "lockdiscovery", "getcontentlength")}
	case 2, 3:
		w := where{op: "like", prop: pick("displayname", "displayname", "p", "none", "getcontenttype", "resourcetype"), caseless: rng.IntN(2) == 0}
		for range rng.IntN(5) {
			w.literal += pick("%", "_", "%", "a", "B", ".txt", `\%`, `\_`, `\\`, "\u00fc", "U\u0308", "\u0434", "1", "\U0001F600")
		}
		return w
	}
	w := where{op: pick("eq", "lt", "lte", "gt", "gte"), caseless: rng.IntN(2) == 0}
	w.prop = pick("displayname", "displayname", "p", "p", "none", "getcontenttype", "getcontentlength", "getlastmodified", "resourcetype")
	switch w.prop {
	case "getcontentlength":
		w.literal = pick("0", "1", " 2\n", "-1", "99999999999999999999")
	case "getlastmodified":
		w.literal = pick("2024-02-29T23:59:59Z", "2025-01-01T00:00:00.5Z", "2025-01-01T01:00:00+01:00", "Wed, 01 Jan 2025 00:00:00 GMT")
	case "getcontenttype":
		w.literal = pick("text/plain", "a/u\u0308", "application/octet-stream")
	case "p":
		w.literal = pick("", "a", " a ", "A", "&", "10", "9")
	default:
		w.literal = pick(oracleNames...) + pick("", "0", "1", "2", "3")
	}
	return w
}

// holds is "true", "false" or "unknown".
func (w where) holds(r shownResource) string {
	truth := func(b bool) string { return strconv.FormatBool(b) }
	value, has := r.props[w.prop]
	switch w.op {
	case "and", "or":
		// What decides alone, else what is unknown, else the rest.
		decides := truth(w.op == "or")
		result := truth(w.op == "and")
		for _, of := range w.of {
			switch of.holds(r) {
			case decides:
				return decides
			case "unknown":
				result = "unknown"
			}
		}
		return result
	case "not":
		return map[string]string{"true": "false", "false": "true", "unknown": "unknown"}[w.of[0].holds(r)]
	case "is-collection":
		return truth(strings.HasSuffix(r.href, "/"))
	case "is-defined":
		return truth(has)
	}
	if !has || value == nil || w.prop == "resourcetype" {
		return "unknown"
	}
	form := func(s string) string {
		if w.caseless {
			s = strings.ToLower(strings.ToUpper(s))
		}
		return norm.NFC.String(s)
	}
	a, b := form(*value), form(w.literal)
	if w.op == "like" {
		expr := ""
		quoted := false
		for _, c := range b {
			switch {
			case quoted:
				expr, quoted = expr+regexp.QuoteMeta(string(c)), false
			case c == '\\':
				quoted = true
			case c == '%':
				expr += ".*"
			case c == '_':
				expr += "."
			default:
				expr += regexp.QuoteMeta(string(c))
			}
		}
		return truth(regexp.MustCompile("(?s)^(" + expr + ")$").MatchString(a))
	}
	less, equal := a < b, a == b
	switch w.prop {
	case "getcontentlength":
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(strings.TrimSpace(b), 64)
		less, equal = x < y, x == y
	case "getlastmodified":
		x, _ := http.ParseTime(*value)
		y, err := time.Parse(time.RFC3339Nano, w.literal)
		if err != nil {
			y, _ = http.ParseTime(w.literal)
		}
		less, equal = x.Before(y), x.Equal(y)
	}
	return truth(map[string]bool{"eq": equal, "lt": less, "lte": less || equal, "gt": !less && !equal, "gte": !less}[w.op])
}

// TestSortKeysAreSmall: what is kept of a result to sort it has a bound that does
// not grow with the number of orders.
func TestSortKeysAreSmall(t *testing.T) {
	name := searchOrder{prop: davName("displayname")}
	size := searchOrder{prop: davName("getcontentlength")}
	s := &searcher{propWriter: &propWriter{q: &request{}}, query: &searchQuery{orders: []searchOrder{name, size, name, name}}, scopes: make([]location, 1)}
	var e store.Entry
	e.Name, e.Place.Root.Kind, e.Size = strings.Repeat("x", 200), lockns.FileRoot, 7
	var got []string
	for _, k := range s.keys(0, e) {
		got = append(got, fmt.Sprint(k.Known, k.Number, len(k.Text)))
	}
	if want := []string{"true 0 200", "true 7 0", "true 0 56", "true 0 0"}; !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
}
