package store_test

import (
	"cmp"
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

// listAll reads all pages of a list of limit members each, and fails if a page but
// the last is not full.
func (f *fixture) listAll(path string, filter store.ListFilter) (all []store.Entry) {
	f.t.Helper()
	for {
		page, err := f.List(f.t.Context(), f.at(path), filter)
		must(f.t, err)
		all = append(all, page...)
		if len(page) < filter.Limit {
			return all
		}
		filter.After = page[len(page)-1].Key(filter.Order)
	}
}

// everyList lists a folder in all ways.
func (f *fixture) everyList(path string) {
	f.t.Helper()
	for _, order := range []store.ListOrder{store.ByName, store.BySize, store.ByModified} {
		for _, descending := range []bool{false, true} {
			f.listAll(path, store.ListFilter{Order: order, Descending: descending, Limit: 1, States: true})
		}
	}
}

// projectAtMost limits the projection from now on: one that is cached is of another
// generation.
func (f *fixture) projectAtMost(n int) {
	f.t.Helper()
	f.SetMaxProjected(n)
	f.mkdir("/elsewhere" + fmt.Sprint(n))
	f.lock("/elsewhere"+fmt.Sprint(n), lockns.Resource)
}

// compareListed is the order of lists in the words of its doc comment.
func compareListed(order store.ListOrder, descending bool) func(a, b store.Entry) int {
	return func(a, b store.Entry) int {
		if a.IsFolder() != b.IsFolder() {
			if a.IsFolder() {
				return -1
			}
			return 1
		}
		c := 0
		switch {
		case order == store.ByModified:
			c = cmp.Or(a.Modified.Compare(b.Modified), cmp.Compare(a.ID(), b.ID()))
		case order == store.BySize && !a.IsFolder():
			c = cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.ID(), b.ID()))
		default:
			c = strings.Compare(store.NameKey(a.Name), store.NameKey(b.Name))
		}
		if descending {
			return -c
		}
		return c
	}
}

// mixed fills a folder with members of few sizes and times, so that many are equal,
// and locks some of them, and the folder, in different ways.
func (f *fixture) mixed(path string, n int) {
	f.t.Helper()
	f.mkdir(path)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		at := path + "/" + []string{"a", "B", "é", "e\u0301", "Z", "\u00fc"}[i%6] + fmt.Sprint(i)
		if i%3 == 0 {
			f.mkdir(at)
		} else {
			f.put(at, strings.Repeat("x", r.IntN(4)))
		}
		modified := f.now().Add(-time.Duration(r.IntN(5)) * time.Hour)
		_, err := f.PatchProps(f.t.Context(), f.at(at), store.Patch{Modified: &modified}, f.me())
		must(f.t, err)
		switch i % 5 {
		case 0:
			f.share(at, lockns.Resource, time.Hour)
			f.share(at, lockns.Infinity, 0)
		case 1:
			f.lock(at, lockns.Resource)
		case 2:
			f.share(at, lockns.Resource, time.Millisecond)
		case 3:
			for hours := range 4 {
				f.share(at, lockns.Resource, time.Duration(hours+1)*time.Hour)
			}
		}
	}
	f.advance(time.Second)
}

func TestList(t *testing.T) {
	f := newFixture(t)
	f.mixed("/d", 40)
	f.mkdir("/other")
	f.put("/other/f", "x")
	defer f.SetMaxProjected(4096)
	var all []store.Entry
	must(t, f.Walk(t.Context(), f.at("/d"), store.DepthOne, store.Want{Locks: true, States: true}, 0, func(e store.Entry) error {
		e.Path, e.Locks = nil, nil
		all = append(all, e)
		return nil
	}))
	all = all[1:]
	odd := func(name string) bool { return strings.HasSuffix(name, "3") }
	for _, projected := range []int{4096, 0} {
		f.projectAtMost(projected)
		for _, order := range []store.ListOrder{store.ByName, store.BySize, store.ByModified} {
			for _, descending := range []bool{false, true} {
				want := slices.Clone(all)
				slices.SortFunc(want, compareListed(order, descending))
				for _, limit := range []int{1, 2, 7, 26, 27, 40, 41, 1001} {
					filter := store.ListFilter{Order: order, Descending: descending, Limit: limit, States: true}
					what := fmt.Sprintf("projected %d, order %d, descending %v, limit %d", projected, order, descending, limit)
					wantSlice(t, what, listed(f.listAll("/d", filter)), listed(want))
					filter.Skip = odd
					without := slices.DeleteFunc(slices.Clone(want), func(e store.Entry) bool { return odd(e.Name) })
					wantSlice(t, what+", without some", listed(f.listAll("/d", filter)), listed(without))
				}
			}
		}
	}
	if states := strings.Join(listed(all), "\n"); strings.Count(states, "direct exclusive") != 8 || strings.Count(states, "direct shared") != 16 {
		t.Errorf("the members are not locked as they should be:\n%s", states)
	}
}

// listed are entries in short.
func listed(entries []store.Entry) (short []string) {
	for _, e := range entries {
		short = append(short, fmt.Sprintf("%s %d %d %v %v %s %d %v", e.Place.Ancestry, e.Size, e.ID(), e.Modified.UnixMicro(), e.State.Root, e.Name, e.Parent(), strings.TrimSpace(fmt.Sprint(e.State.Kind, " ", e.State.Mode, " ", e.State.ExpiresAt.UnixMicro()))))
	}
	return short
}

// TestListStates: what a list says of locks above, and of none, with a projection
// and without.
func TestListStates(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.mkdir("/d/in")
	f.put("/d/file", "x")
	f.mkdir("/free")
	f.put("/free/file", "x")
	f.share("/d/in", lockns.Resource, time.Hour)
	f.share("/d", lockns.Infinity, 0)
	defer f.SetMaxProjected(4096)
	for _, projected := range []int{4096, 0} {
		f.projectAtMost(projected)
		for path, want := range map[string][]string{
			"/d":    {"direct shared 60m", "inherited shared for ever"},
			"/free": {"unlocked"},
		} {
			var got []string
			for _, e := range f.listAll(path, store.ListFilter{Limit: 10, States: true}) {
				got = append(got, f.shown(e.State))
			}
			wantSlice(t, path, got, want)
		}
		for _, e := range f.listAll("/d", store.ListFilter{Limit: 10}) {
			wantEqual(t, e.Name, e.State, lockns.State{})
		}
	}
}

// TestListWhileItChanges: the next page starts behind the last member of the page
// before, also when that is gone by then.
func TestListWhileItChanges(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	for _, name := range []string{"a", "b", "c", "d"} {
		f.put("/d/"+name, name)
	}
	filter := store.ListFilter{Limit: 2}
	page, err := f.List(t.Context(), f.at("/d"), filter)
	must(t, err)
	filter.After = page[1].Key(store.ByName)
	f.remove("/d/b")
	f.put("/d/aa", "x")
	f.put("/d/bb", "x")
	f.mkdir("/d/folder")
	var names []string
	for _, e := range f.listAll("/d", filter) {
		names = append(names, e.Name)
	}
	wantSlice(t, "what comes after b", names, []string{"bb", "c", "d"})
}

func TestListOfNoFolder(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	file := f.put("/d/f", "x")
	f.mkdir("/gone")
	gone := f.stat("/gone")
	f.remove("/gone")
	for name, target := range map[string]store.Target{
		"a file": f.at("/d/f"), "nothing": f.at("/x"), "a file by id": store.ByID(f.user.Workspace(), file.Place.Root),
		"a removed folder": store.ByID(f.user.Workspace(), gone.Place.Root), "no workspace": at(store.User{ID: 99}, "/"),
	} {
		for _, states := range []bool{false, true} {
			_, err := f.List(t.Context(), target, store.ListFilter{Limit: 10, States: states})
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	page, err := f.List(t.Context(), f.at("/d"), store.ListFilter{})
	must(t, err)
	wantEqual(t, "members without a limit", len(page), 1)
}

// TestListReadsInOrder: no list is sorted, and none reads the locks of other folders.
func TestListReadsInOrder(t *testing.T) {
	f := newFixture(t)
	f.mixed("/d", 6)
	f.SetMaxProjected(0)
	defer f.SetMaxProjected(4096)
	before := f.Statements()
	f.everyList("/d")
	seen := 0
	for _, statement := range f.Statements() {
		if slices.Contains(before, statement) || !strings.Contains(statement, "FROM files f") && !strings.Contains(statement, "FROM folders f") {
			continue
		}
		seen++
		rows, err := f.database().Query("EXPLAIN QUERY PLAN "+statement, make([]any, strings.Count(statement, "?"))...)
		must(t, err)
		for rows.Next() {
			var id, parent, unused int
			var step string
			must(t, rows.Scan(&id, &parent, &unused, &step))
			if strings.Contains(step, "TEMP B-TREE") || strings.HasPrefix(step, "SCAN") {
				t.Errorf("%s\nin %s", step, statement)
			}
		}
		must(t, rows.Close())
	}
	// Files in three orders, folders in two, each in both directions, as a first page
	// and as a next one.
	if seen < 15 {
		t.Errorf("only %d statements were seen", seen)
	}
}
