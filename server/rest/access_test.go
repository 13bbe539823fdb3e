package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/store"
)

type rawJSON = json.RawMessage

// TestAccess asks for every operation as every caller. testdata/access.txt says
// who gets what.
func TestAccess(t *testing.T) {
	s := newScene(t)
	for _, row := range accessRows(t) {
		t.Run(row.op.id, func(t *testing.T) {
			s.world.t = t
			got := make([]string, len(callers))
			same := true
			var st *stage
			for i, caller := range callers {
				if st == nil {
					st = s.newStage()
				}
				path, body := row.request(st, caller)
				a := st.caller(caller).do(row.op.method, path, body)
				got[i] = fmt.Sprint(a.status)
				if got[i] != row.statuses[i] {
					same = false
					t.Errorf("%s: %s, not %s: %s", caller, got[i], row.statuses[i], a.body)
				}
				if a.status < 400 && row.op.method != http.MethodGet {
					st = nil // something may be gone
				}
			}
			if !same {
				t.Errorf("as it is:\n%-22s %s", row.op.id, strings.Join(got, " "))
			}
		})
	}
}

// variants are forms of a request of which none may tell an id of somebody else's
// from one that nothing has.
var variants = []struct {
	name   string
	change func(path string, body any) (string, any, []string)
}{
	{"as it should be", func(p string, b any) (string, any, []string) { return p, b, nil }},
	{"without a body", func(p string, _ any) (string, any, []string) { return p, nil, nil }},
	{"malformed body", func(p string, _ any) (string, any, []string) {
		return p, "{", []string{"Content-Type: application/json"}
	}},
	{"another media type", func(p string, _ any) (string, any, []string) { return p, "x", []string{"Content-Type: text/plain"} }},
	{"false condition", func(p string, b any) (string, any, []string) { return p, b, []string{`If-Match: "other"`} }},
	{"true condition", func(p string, b any) (string, any, []string) { return p, b, []string{"If-Match: *"} }},
	{"not if there", func(p string, b any) (string, any, []string) { return p, b, []string{"If-None-Match: *"} }},
	{"range", func(p string, b any) (string, any, []string) { return p, b, []string{"Range: bytes=100-200"} }},
	{"unknown query", func(p string, b any) (string, any, []string) { return p + "&more=1", b, nil }},
}

// missing are names that nothing has.
const missing = "987654321"

// absent is the value of nothing, in the form that a placeholder's values have.
func absent(name string) string {
	if name == "workspace" {
		return "team-" + missing
	}
	return missing
}

// TestNothingTellsOfOthers: what the caller may not see answers as what is not
// there, to the last byte and header.
func TestNothingTellsOfOthers(t *testing.T) {
	s := newScene(t)
	for _, row := range accessRows(t) {
		if path, _, _ := strings.Cut(row.path, "?"); !placeholder.MatchString(path) {
			continue
		}
		t.Run(row.op.id, func(t *testing.T) {
			s.world.t = t
			there, gone := s.newStage(), s.newStage()
			for _, caller := range []string{"other", "outside", "anonymous"} {
				path, _ := row.request(there, caller)
				c := there.caller(caller)
				for _, name := range placeholder.FindAllString(row.path, -1) {
					if name = strings.Trim(name, "{}"); name != "at" {
						gone.made[name] = absent(name)
					}
				}
				if row.seen(caller) {
					continue // it is this caller's to see
				}
				pathGone, body := row.request(gone, caller)
				for _, v := range variants {
					compareAnswers(t, caller+", "+v.name, c, row.op.method, func(path string) (string, any, []string) {
						return v.change(path, body)
					}, path, pathGone)
				}
			}
		})
	}
}

// seen reports whether the table says that a caller gets more than a refusal.
func (row *accessRow) seen(caller string) bool {
	for i, c := range callers {
		if c == caller {
			return row.statuses[i] < "400"
		}
	}
	return false
}

// TestNothingTellsOfOthersInBodies: nor does an id in a body or a query, where the
// resource that the path names is the caller's own.
func TestNothingTellsOfOthersInBodies(t *testing.T) {
	s := newScene(t)
	for _, row := range accessRows(t) {
		_, query, _ := strings.Cut(row.path, "?")
		text, _ := row.body.(string)
		for _, name := range placeholder.FindAllString(query+text, -1) {
			name = strings.Trim(name, "{}")
			if !strings.Contains("folder in file version lock session password team workspace", name) {
				continue // who is a user here is no secret
			}
			t.Run(row.op.id+" "+name, func(t *testing.T) {
				s.world.t = t
				own, gone := s.newStage(), s.newStage()
				others := s.stageOf(s.people["other"], map[*client]store.Role{})
				own.made[name], gone.made[name] = others.value(name), absent(name)
				path, body := row.request(own, "owner")
				pathGone, bodyGone := row.request(gone, "owner")
				a := own.caller("owner").do(row.op.method, path, body)
				b := own.caller("owner").do(row.op.method, pathGone, bodyGone)
				if a.status < 400 {
					t.Errorf("an id of another's is taken: %d %s", a.status, a.body)
				}
				wantSame(t, "owner", a, b)
			})
		}
	}
}

// compareAnswers sends the same request of two paths.
func compareAnswers(t *testing.T, what string, c *client, method string, request func(path string) (string, any, []string), there, gone string) {
	t.Helper()
	mark := func(path string) string {
		if strings.Contains(path, "?") {
			return path
		}
		return path + "?"
	}
	path, body, headers := request(mark(there))
	a := c.do(method, path, body, headers...)
	path, body, headers = request(mark(gone))
	b := c.do(method, path, body, headers...)
	wantSame(t, what, a, b)
}

func wantSame(t *testing.T, what string, a, b answer) {
	t.Helper()
	clean := func(h http.Header) string {
		h = h.Clone()
		h.Del("Date")
		return fmt.Sprint(h)
	}
	if a.status != b.status || a.body != b.body || clean(a.header) != clean(b.header) {
		t.Errorf("%s: another's is told from what is not there:\n%d %v %s\n%d %v %s", what, a.status, a.header, a.body, b.status, b.header, b.body)
	}
}
