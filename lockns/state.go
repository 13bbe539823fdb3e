package lockns

import (
	"strings"
	"time"
)

// StateKind is how a resource is locked, for display.
type StateKind string

// The kinds of state.
const (
	Unlocked  StateKind = "unlocked"
	Direct    StateKind = "direct"    // a lock is rooted on it
	Inherited StateKind = "inherited" // a lock above reaches it
)

// State says for display how a resource is locked. It decides nothing: changes
// ask Authorize, with the locks themselves.
type State struct {
	Kind StateKind
	// Mode and ExpiresAt are those of the lock that decides; the zero time is
	// no end. Both are zero when unlocked.
	Mode      Mode
	ExpiresAt time.Time
	// Root is where that lock is rooted: the resource itself when direct, the
	// zero Root when unlocked.
	Root Root
}

// ProjectedRoot is what a Projection knows of a lock: where it is rooted, how
// far it reaches, and until when. Who holds it and what opens it are left out.
type ProjectedRoot struct {
	Place     Place
	Depth     Depth
	Mode      Mode
	ExpiresAt time.Time // zero: no end
}

// Projected is what a Projection knows of the lock.
func (l Lock) Projected() ProjectedRoot {
	return ProjectedRoot{Place: l.Place, Depth: l.Depth, Mode: l.Mode, ExpiresAt: l.ExpiresAt}
}

// lock is the root as a lock, so that the rules are asked of one type.
func (r *ProjectedRoot) lock() Lock {
	return Lock{Place: r.Place, Depth: r.Depth, Mode: r.Mode, ExpiresAt: r.ExpiresAt}
}

// outlasts orders the locks of one root: the one that ends last decides, an
// exclusive one before a shared one that ends with it.
func (r *ProjectedRoot) outlasts(o *ProjectedRoot) bool {
	if !r.ExpiresAt.Equal(o.ExpiresAt) {
		return r.ExpiresAt.IsZero() || !o.ExpiresAt.IsZero() && r.ExpiresAt.After(o.ExpiresAt)
	}
	return r.Mode == Exclusive && o.Mode != Exclusive
}

// Direct is the state of a resource that the lock is rooted on and that no lock
// outlasting it is; active reports whether it has not expired at now.
func (r *ProjectedRoot) Direct(now time.Time) (s State, active bool) {
	return r.state(Direct), r.lock().ActiveAt(now)
}

func (r *ProjectedRoot) state(kind StateKind) State {
	return State{Kind: kind, Mode: r.Mode, ExpiresAt: r.ExpiresAt, Root: r.Place.Root}
}

// Projection says of every place of one workspace how it is locked, from the
// lock roots of one generation. It does not change once made and may be shared
// between goroutines.
type Projection struct {
	generation int64
	roots      []ProjectedRoot
	firstEnd   time.Time
	// Of several locks at one root the one that outlasts the others answers
	// for them at any time: when it has expired, all have.
	at   map[Root]*ProjectedRoot   // by root
	over map[string]*ProjectedRoot // those reaching members, by ancestry
}

// NewProjection makes the projection of a workspace's locks at a generation.
// roots is kept and must not be changed afterwards.
func NewProjection(generation int64, roots []ProjectedRoot) *Projection {
	p := &Projection{
		generation: generation, roots: roots,
		at: make(map[Root]*ProjectedRoot, len(roots)), over: map[string]*ProjectedRoot{},
	}
	for i := range roots {
		r := &roots[i]
		keepLast(p.at, r.Place.Root, r)
		if r.lock().deep() {
			keepLast(p.over, r.Place.Ancestry, r)
		}
		if end := r.ExpiresAt; !end.IsZero() && (p.firstEnd.IsZero() || end.Before(p.firstEnd)) {
			p.firstEnd = end
		}
	}
	return p
}

func keepLast[K comparable](last map[K]*ProjectedRoot, key K, r *ProjectedRoot) {
	if old := last[key]; old == nil || r.outlasts(old) {
		last[key] = r
	}
}

// Generation is the one that the projection was made at.
func (p *Projection) Generation() int64 { return p.generation }

// Roots are the lock roots that the projection was made of; they must not be
// changed.
func (p *Projection) Roots() []ProjectedRoot { return p.roots }

// FirstEnd is when the first lock ends, zero when none does.
func (p *Projection) FirstEnd() time.Time { return p.firstEnd }

// State says how the resource at a place of the projection's workspace is
// locked at now. A lock on the resource itself counts before any above, then
// the nearest does. It costs one look-up for each level of the place, however
// many locks there are.
func (p *Projection) State(place Place, now time.Time) State {
	if r := p.at[place.Root]; r != nil && r.lock().ActiveAt(now) {
		return r.state(Direct)
	}
	if len(p.over) > 0 {
		for a := above(place.Ancestry); a != ""; a = above(a) {
			if r := p.over[a]; r != nil && r.lock().ActiveAt(now) {
				return r.state(Inherited)
			}
		}
	}
	return State{Kind: Unlocked}
}

// above is the ancestry of the folder that a resource is in; above the workspace
// root it is "/", where no lock is, then "".
func above(ancestry string) string {
	return ancestry[:strings.LastIndexByte(strings.TrimSuffix(ancestry, "/"), '/')+1]
}
