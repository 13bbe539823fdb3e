package store

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"slices"

	"holdfast/lockns"
)

// MaxSorted is how many results a Search with an order hands on: they have to
// be known all before the first of them is.
const MaxSorted = 10_000

// SearchScope is where a Search looks: a resource and, by depth, what is below it.
type SearchScope struct {
	Target
	Depth int // DepthZero, DepthOne or DepthInfinity
}

// Query says what a Search looks for. Scopes are named by their index.
type Query struct {
	// Want is what Match and Keys have to see of an entry.
	Want Want
	// Match reports whether a resource is a result; nil takes every one.
	Match func(scope int, e Entry) bool
	// Skip reports whether a member of this name is passed over, with all that
	// is below it; nil passes over none.
	Skip func(name string) bool
	// Keys is what results are sorted by, the most significant first and always
	// as many; nil leaves them in the order of a Walk.
	Keys func(scope int, e Entry) []SortKey
	// Descending says which of the keys sort the other way round.
	Descending []bool
	// Limit is how many results are wanted, the first ones; 0 is all.
	Limit int
	// MaxLooks is how many resources are looked at, and how often again where scopes
	// have them in common; 0 is no limit.
	MaxLooks int
}

// SortKey is a value to sort by. Of one property, all have a number or all have
// a text, which is compared bytewise.
type SortKey struct {
	Known  bool // unknown values come before all others
	Number int64
	Text   string
}

func (a SortKey) compare(b SortKey) int {
	return cmp.Or(cmp.Compare(btoi(a.Known), btoi(b.Known)), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Text, b.Text))
}

// Search calls fn for the resources of the scopes that match, with what show
// wants of them, each once, whatever the scopes have in common. complete is
// false when there may be more: MaxLooks was reached, or there were more than
// MaxSorted results to sort and no lower limit. Those handed on are in order even
// so. An error of fn ends the search and is returned.
//
// Resources are read as in a Walk, from the indexes of the folders they are in;
// ctx is asked between pages. A scope that maps to nothing has no results. An
// Entry's Path is valid until fn returns.
func (s *Store) Search(ctx context.Context, scopes []SearchScope, q Query, show Want, fn func(scope int, e Entry) error) (complete bool, err error) {
	f := &finder{s: s, ctx: ctx, scopes: scopes, q: q, show: show, fn: fn}
	if len(scopes) > 1 {
		f.seen = map[found]bool{}
	}
	if q.Keys != nil {
		f.best = &results{descending: q.Descending, limit: MaxSorted}
		if q.Limit > 0 && q.Limit <= MaxSorted {
			f.best.limit = q.Limit
		}
	}
	if err := f.look(); err != nil {
		return false, err
	}
	if f.best != nil {
		if err := f.showSorted(); err != nil {
			return false, err
		}
		f.cut = f.cut || f.best.dropped && f.best.limit != q.Limit
	}
	return !f.cut, nil
}

// finder is a Search under way.
type finder struct {
	s      *Store
	ctx    context.Context
	scopes []SearchScope
	q      Query
	show   Want
	fn     func(int, Entry) error

	looked, again int // resources, and those that came once more
	handed        int
	cut           bool           // not everything was looked at
	seen          map[found]bool // nil with a single scope, where nothing comes twice
	best          *results       // nil without an order
}

// found identifies a resource among several workspaces, whose roots have no id.
type found struct {
	workspace lockns.Workspace
	root      lockns.Root
}

// errEnough ends a search that has what it may have.
var errEnough = errors.New("store: enough was found")

// look walks the scopes. What matches is handed on at once, or kept for sorting.
func (f *finder) look() error {
	want := f.q.Want
	if f.best == nil {
		want = want.and(f.show)
	}
	for i, scope := range f.scopes {
		err := f.s.Walk(f.ctx, scope.Target, scope.Depth, want, 0, func(e Entry) error {
			if f.q.Skip != nil && len(e.Path) > len(scope.Path) && f.q.Skip(e.Name) {
				return ErrSkipBelow
			}
			return f.visit(i, e)
		})
		switch {
		case errors.Is(err, errEnough):
			return nil
		case err != nil && !errors.Is(err, ErrNotFound):
			return err
		}
	}
	return nil
}

// visit looks at one resource.
func (f *finder) visit(scope int, e Entry) error {
	id := found{f.scopes[scope].Workspace, e.Place.Root}
	looks, seen := &f.looked, f.seen[id]
	if seen {
		looks = &f.again
	}
	if *looks == f.q.MaxLooks && f.q.MaxLooks > 0 {
		f.cut = true
		return errEnough
	}
	if *looks++; seen {
		return nil
	}
	if f.seen != nil {
		f.seen[id] = true
	}
	if f.q.Match != nil && !f.q.Match(scope, e) {
		return nil
	}
	if f.best != nil {
		f.best.add(result{keys: f.q.Keys(scope, e), scope: scope, root: e.Place.Root}, e.Path)
		return nil
	}
	if err := f.fn(scope, e); err != nil {
		return err
	}
	if f.handed++; f.handed == f.q.Limit {
		return errEnough
	}
	return nil
}

// showRows is how many sorted results are read in one transaction.
const showRows = 100

// showSorted reads the results that were kept and hands them on. One that is
// gone or has another path by now is left out.
func (f *finder) showSorted() error {
	sorted := f.best.sorted()
	for len(sorted) > 0 {
		type shown struct {
			scope int
			Entry
		}
		var page []shown
		read := 0
		err := f.s.snapshot(f.ctx, func(t *tx) error {
			page, read = page[:0], 0
			var bytes int64
			for _, r := range sorted[:min(showRows, len(sorted))] {
				read++
				e, err := t.result(f.scopes[r.scope].Target, r, f.show)
				if errors.Is(err, ErrNotFound) {
					continue
				}
				if err != nil {
					return err
				}
				page = append(page, shown{r.scope, e})
				if bytes += e.props; bytes > pageBytes {
					break
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := f.fn(e.scope, e.Entry); err != nil {
				return err
			}
		}
		sorted = sorted[read:]
	}
	return nil
}

// result reads one result anew: ErrNotFound when it is no longer there.
func (t *tx) result(scope Target, r result, show Want) (Entry, error) {
	scope.Path = r.path
	sp, err := t.mapped(scope)
	if err != nil {
		return Entry{}, err
	}
	if sp.node.Place.Root != r.root {
		return Entry{}, ErrNotFound
	}
	return t.entry(sp.space, sp.node, r.path, show)
}

// result is a resource that was found, as long as its place in the order is not
// known.
type result struct {
	keys  []SortKey
	seq   int // in the order of the walk, which decides among equals
	scope int
	root  lockns.Root
	path  Path
}

// results keeps the first of all results by their order, as a heap whose root
// is the last of these.
type results struct {
	descending []bool
	limit      int
	kept       []result
	added      int
	dropped    bool // there were more than limit
}

// add takes a result in, if it is among the first. path is copied then.
func (h *results) add(r result, path Path) {
	h.added++
	r.seq = h.added
	if len(h.kept) == h.limit {
		h.dropped = true
		if h.compare(r, h.kept[0]) > 0 {
			return
		}
		heap.Pop(h)
	}
	r.path = slices.Clone(path)
	heap.Push(h, r)
}

// sorted are the results in order.
func (h *results) sorted() []result {
	slices.SortFunc(h.kept, h.compare)
	return h.kept
}

func (h *results) compare(a, b result) int {
	for i := range a.keys {
		c := a.keys[i].compare(b.keys[i])
		if h.descending[i] {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(a.seq, b.seq)
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h *results) Len() int           { return len(h.kept) }
func (h *results) Less(i, j int) bool { return h.compare(h.kept[i], h.kept[j]) > 0 }
func (h *results) Swap(i, j int)      { h.kept[i], h.kept[j] = h.kept[j], h.kept[i] }
func (h *results) Push(r any)         { h.kept = append(h.kept, r.(result)) }
func (h *results) Pop() any {
	last := len(h.kept) - 1
	r := h.kept[last]
	h.kept[last] = result{}
	h.kept = h.kept[:last]
	return r
}

// and is what either of two wants.
func (w Want) and(o Want) Want {
	if w.wantsProps() && o.wantsProps() {
		if w.PropNames != nil && o.PropNames != nil {
			w.PropNames = slices.Concat(w.PropNames, o.PropNames)
		} else {
			w.PropNames = nil
		}
		w.NamesOnly = w.NamesOnly && o.NamesOnly
	} else if o.wantsProps() {
		w.Props, w.PropNames, w.NamesOnly = o.Props, o.PropNames, o.NamesOnly
	}
	w.Locks, w.States, w.Checksums = w.Locks || o.Locks, w.States || o.States, w.Checksums || o.Checksums
	return w
}
