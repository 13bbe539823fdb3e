package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// searchTree makes a tree of n members of few names, sizes and properties below
// the root, and returns the paths of its folders.
func (f *fixture) searchTree(rng *rand.Rand, n int) []string {
	f.t.Helper()
	folders := []string{"/"}
	for i := range n {
		path := fmt.Sprintf("%s/%c%d", strings.TrimRight(folders[rng.IntN(len(folders))], "/"), 'a'+rng.IntN(3), i)
		if rng.IntN(4) == 0 {
			f.mkdir(path)
			folders = append(folders, path)
		} else {
			f.put(path, strings.Repeat("x", rng.IntN(4)))
		}
		if rng.IntN(3) == 0 {
			f.setProp(path, string(rune('p'+rng.IntN(2))), string(rune('1'+rng.IntN(2))))
		}
	}
	return folders
}

// propOf is the value of an entry's property {urn:x}NAME, "" without it.
func propOf(e store.Entry, name string) string {
	for _, p := range e.Props {
		if p.Local == name {
			return p.XML
		}
	}
	return ""
}

// hitLine is a result as the tests compare it.
func hitLine(scope int, e store.Entry) string {
	return fmt.Sprintf("%d %s %d p=%s q=%s", scope, e.Path, e.Size, propOf(e, "p"), propOf(e, "q"))
}

// TestSearchOracle: random queries over random trees find what a walk over
// everything, filtered and sorted afterwards, finds.
func TestSearchOracle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bob := f.addUser("bob")
	rng := rand.New(rand.NewPCG(5323, 1))
	folders := f.searchTree(rng, 150)
	_, _, err := f.Put(t.Context(), at(bob, "/a"), file("xx"), store.Holder(bob.ID))
	must(t, err)
	found := 0
	for n := range 400 {
		var scopes []store.SearchScope
		for range 1 + rng.IntN(3) {
			target := f.at(folders[rng.IntN(2)*rng.IntN(len(folders))]) // half of them the root
			if rng.IntN(8) == 0 {
				target = at(bob, []string{"/", "/a", "/none"}[rng.IntN(3)])
			}
			scopes = append(scopes, store.SearchScope{Target: target, Depth: rng.IntN(3) - 1})
		}
		q := store.Query{Want: store.Want{Props: true, PropNames: []string{"p"}}}
		if rng.IntN(4) > 0 {
			letter, value := string(rune('a'+rng.IntN(3))), []string{"", "1", "2"}[rng.IntN(3)]
			q.Match = func(_ int, e store.Entry) bool { return strings.Contains(e.Name, letter) && propOf(e, "p") == value }
		}
		if rng.IntN(3) == 0 {
			q.Skip = func(name string) bool { return strings.HasPrefix(name, "b") }
		}
		if rng.IntN(2) == 0 {
			q.Descending = []bool{rng.IntN(2) == 0, rng.IntN(2) == 0}
			q.Keys = func(_ int, e store.Entry) []store.SortKey {
				return []store.SortKey{{Known: !e.IsFolder(), Number: e.Size}, {Known: true, Text: propOf(e, "p") + e.Name[:min(1, len(e.Name))]}}
			}
		}
		if rng.IntN(2) == 0 {
			q.Limit = 1 + rng.IntN(20)
		}
		want, got := f.expect(scopes, q), []string{}
		complete, err := f.Search(t.Context(), scopes, q, store.Want{Props: true}, func(scope int, e store.Entry) error {
			got = append(got, hitLine(scope, e))
			return nil
		})
		must(t, err)
		if !slices.Equal(got, want) || !complete {
			t.Fatalf("query %d found, complete %t,\n%s\nwant\n%s", n, complete, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		found += len(got)
	}
	if found < 2000 {
		t.Errorf("only %d results: the queries ask for too much", found)
	}
}

// expect is what a search must find, in the plainest way.
func (f *fixture) expect(scopes []store.SearchScope, q store.Query) []string {
	type hit struct {
		line string
		keys []store.SortKey
	}
	hits := []hit{}
	seen := map[string]bool{}
	for i, scope := range scopes {
		err := f.Walk(f.t.Context(), scope.Target, scope.Depth, store.Want{Props: true}, 0, func(e store.Entry) error {
			id := fmt.Sprint(scope.Workspace, e.Path)
			skipped := q.Skip != nil && slices.ContainsFunc(e.Path[len(scope.Path):], q.Skip)
			if skipped || seen[id] {
				return nil
			}
			seen[id] = true
			if q.Match != nil && !q.Match(i, e) {
				return nil
			}
			h := hit{line: hitLine(i, e)}
			if q.Keys != nil {
				h.keys = q.Keys(i, e)
			}
			hits = append(hits, h)
			return nil
		})
		if !errors.Is(err, store.ErrNotFound) {
			must(f.t, err)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		for k := range a.keys {
			less := func(x, y store.SortKey) bool {
				return !x.Known && y.Known || x.Known == y.Known && (x.Number < y.Number || x.Number == y.Number && x.Text < y.Text)
			}
			x, y := a.keys[k], b.keys[k]
			if q.Descending[k] {
				x, y = y, x
			}
			if less(x, y) {
				return -1
			}
			if less(y, x) {
				return 1
			}
		}
		return 0
	})
	lines := []string{}
	for _, h := range hits {
		if q.Limit == 0 || len(lines) < q.Limit {
			lines = append(lines, h.line)
		}
	}
	return lines
}

// search runs a query over everything and returns the names it found.
func (f *fixture) search(q store.Query) (names []string, complete bool) {
	f.t.Helper()
	scopes := []store.SearchScope{{Target: f.at("/"), Depth: store.DepthInfinity}}
	complete, err := f.Search(f.t.Context(), scopes, q, store.Want{}, func(_ int, e store.Entry) error {
		names = append(names, e.Name)
		return nil
	})
	must(f.t, err)
	return names, complete
}

func byName(_ int, e store.Entry) []store.SortKey {
	return []store.SortKey{{Known: true, Text: e.Name}}
}

// TestSearchWants: conditions see what they want and results what is to be
// shown, whether or not one is part of the other.
func TestSearchWants(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("/f", "x")
	f.setProp("/f", "p", "1")
	f.setProp("/f", "q", "2")
	f.lock("/f", lockns.Resource)
	names := func(n ...string) store.Want { return store.Want{Props: true, PropNames: n} }
	all := store.Want{Props: true}
	locks := store.Want{Locks: true}
	scopes := []store.SearchScope{{Target: f.at("/f"), Depth: store.DepthZero}}
	for _, c := range []struct {
		name        string
		match, show store.Want
		seen, shown string // the values of p and q, and the locks, at least
	}{
		{"names to match only", names("p"), store.Want{}, "1 0", "0"},
		{"names to show only", store.Want{}, names("q"), " 0", "2 0"},
		{"other names", names("p"), names("q"), "1", "2 0"},
		{"names and all", names("p"), all, "1", "12 0"},
		{"all and names", all, names("q"), "12", "2 0"},
		{"names and locks", names("p"), locks, "1", "1"},
		{"a list of no names", names("p"), store.Want{Props: true, PropNames: []string{}}, "1", "0"},
		{"names alone, and values", names("p"), store.Want{Props: true, NamesOnly: true}, "1", "0"},
	} {
		for _, sorted := range []bool{false, true} {
			describe := func(e store.Entry) string { return fmt.Sprint(propOf(e, "p")+propOf(e, "q"), " ", len(e.Locks)) }
			q := store.Query{Want: c.match, Match: func(_ int, e store.Entry) bool {
				if got := describe(e); !strings.Contains(got, c.seen) {
					t.Errorf("%s, sorted %t: the condition saw %q, not %q", c.name, sorted, got, c.seen)
				}
				return true
			}}
			if sorted {
				q.Keys, q.Descending = byName, []bool{false}
			}
			results := 0
			_, err := f.Search(t.Context(), scopes, q, c.show, func(_ int, e store.Entry) error {
				results++
				if got := describe(e); !strings.Contains(got, c.shown) {
					t.Errorf("%s, sorted %t: shown was %q, not %q", c.name, sorted, got, c.shown)
				}
				return nil
			})
			must(t, err)
			wantEqual(t, "results", results, 1)
		}
	}
}

// TestSearchIsCut: no search looks at more than it may, or keeps more than it
// may, and each that was cut says so.
func TestSearchIsCut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mkdir("/d")
	f.fill("/d", store.MaxSorted+10)
	all := store.MaxSorted + 12 // the root and /d too
	for _, c := range []struct {
		name     string
		q        store.Query
		found    int
		complete bool
	}{
		{"one look more would be too many", store.Query{MaxLooks: all}, all, true},
		{"one is not looked at", store.Query{MaxLooks: all - 1}, all - 1, false},
		{"a limit is no cut", store.Query{Limit: 7}, 7, true},
		{"a limit reached with the last look", store.Query{Limit: 7, MaxLooks: 7}, 7, true},
		{"looks end before the limit", store.Query{Limit: 8, MaxLooks: 7}, 7, false},
		{"more than can be sorted", store.Query{Keys: byName, Descending: []bool{true}}, store.MaxSorted, false},
		{"a limit above what can be sorted", store.Query{Keys: byName, Descending: []bool{true}, Limit: store.MaxSorted + 1}, store.MaxSorted, false},
		{"a limit of what can be sorted", store.Query{Keys: byName, Descending: []bool{true}, Limit: store.MaxSorted}, store.MaxSorted, true},
		{"the first of all when sorted", store.Query{Keys: byName, Descending: []bool{true}, Limit: 3}, 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			names, complete := f.search(c.q)
			wantEqual(t, "found", len(names), c.found)
			wantEqual(t, "complete", complete, c.complete)
			if c.q.Keys != nil {
				wantSlice(t, "first", names[:3], []string{"m10009", "m10008", "m10007"})
			}
		})
	}
}

// TestSearchOverlap: a resource that many scopes have in common is found once, and
// scopes that have everything in common cannot make a search look without end.
func TestSearchOverlap(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mkdir("/d")
	f.fill("/d", 8)
	const all = 1 + 8
	for _, c := range []struct {
		scopes, looks int
		complete      bool
	}{{2, 0, true}, {16, 0, true}, {2, all, true}, {3, all, false}, {3, 2 * all, true}, {16, 2 * all, false}} {
		scopes := slices.Repeat([]store.SearchScope{{Target: f.at("/d"), Depth: store.DepthOne}}, c.scopes)
		n := 0
		complete, err := f.Search(t.Context(), scopes, store.Query{MaxLooks: c.looks}, store.Want{}, func(int, store.Entry) error { n++; return nil })
		must(t, err)
		if n != all || complete != c.complete {
			t.Errorf("%d scopes, %d looks: %d found, complete %v", c.scopes, c.looks, n, complete)
		}
	}
}

// TestSearchEnds: a search ends with its context, and with an error of whoever
// takes the results; it holds no connection meanwhile.
func TestSearchEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mkdir("/d")
	f.fill("/d", 3000)
	scopes := []store.SearchScope{{Target: f.at("/"), Depth: store.DepthInfinity}}
	ctx, cancel := context.WithCancel(t.Context())
	looked := 0
	_, err := f.Search(ctx, scopes, store.Query{Match: func(int, store.Entry) bool {
		looked++
		cancel()
		return false
	}}, store.Want{}, nil)
	wantError(t, err, context.Canceled)
	if looked > 1002 {
		t.Errorf("looked at %d resources after the end", looked)
	}
	failed := errors.New("the client is gone")
	for _, q := range []store.Query{{}, {Keys: byName, Descending: []bool{false}}} {
		calls := 0
		_, err = f.Search(t.Context(), scopes, q, store.Want{}, func(int, store.Entry) error {
			calls++
			f.everyReader()
			return failed
		})
		wantError(t, err, failed)
		wantEqual(t, "calls", calls, 1)
	}
}

// everyReader needs all connections that read at once.
func (f *fixture) everyReader() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 10*time.Second)
	defer cancel()
	if !f.ReadersIdle(ctx) {
		f.t.Error("a search holds a connection while its results are handed on")
	}
}

// TestSearchShowsWhatIsThere: a result that was renamed, removed or replaced
// before it is shown is left out.
func TestSearchShowsWhatIsThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		f.put("/"+name, name)
	}
	meddled := false
	scopes := []store.SearchScope{{Target: f.at("/"), Depth: store.DepthOne}}
	q := store.Query{Descending: []bool{false}, Keys: func(i int, e store.Entry) []store.SortKey {
		if e.Name == "d" && !meddled {
			meddled = true
			f.remove("/a")
			f.move("/b", "/moved")
			f.remove("/c")
			f.put("/c", "another")
		}
		return byName(i, e)
	}}
	var names []string
	complete, err := f.Search(t.Context(), scopes, q, store.Want{}, func(_ int, e store.Entry) error {
		names = append(names, e.Name)
		return nil
	})
	must(t, err)
	wantEqual(t, "complete", complete, true)
	wantSlice(t, "names", names, []string{"", "d"})
}
