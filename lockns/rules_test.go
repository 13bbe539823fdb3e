package lockns_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"holdfast/lockns"
)

// The oracle knows a tree by pointers to parents and asks every resource of it
// in turn. It shares no line with the rules: they compare id paths and never
// learn which members a folder has.
type res struct {
	name   string
	parent *res
	folder bool
	place  lockns.Place
}

// world is the tree of the oracle. Ids are prefixes of each other on purpose.
// Every folder has a member that no lock is rooted on (spare), since the rules
// must assume one.
type world struct {
	all      []*res // everything that can be touched
	lockable []*res // what a lock can be rooted on
}

func newWorld() *world {
	w := &world{}
	root := &res{name: "root", folder: true, place: lockns.RootPlace(1)}
	folder := func(parent *res, id int64) *res {
		return &res{fmt.Sprintf("folder %d", id), parent, true, parent.place.Folder(id)}
	}
	file := func(parent *res, id int64) *res {
		return &res{fmt.Sprintf("file %d", id), parent, false, parent.place.File(id)}
	}
	ten := folder(root, 10)
	hundred := folder(root, 100)
	seven := folder(ten, 7)
	w.lockable = []*res{root, ten, hundred, seven, file(root, 1), file(ten, 7), file(ten, 71), file(seven, 10)}
	w.all = append(w.all, w.lockable...)
	for i, f := range []*res{root, ten, hundred, seven} {
		spare := file(f, int64(900+i))
		spare.name = "spare of " + f.name
		w.all = append(w.all, spare)
	}
	w.all = append(w.all, &res{"new in folder 10", ten, false, ten.place.Unmapped()})
	return w
}

func (r *res) isOrUnder(top *res) bool {
	for ; r != nil; r = r.parent {
		if r == top {
			return true
		}
	}
	return false
}

// held is a lock as the oracle sees it.
type held struct {
	lockns.Lock
	on *res
}

// protects says in the words of RFC 4918 section 7.4 whether a lock holds r.
func (h held) protects(r *res) bool {
	if r == h.on {
		return true
	}
	return h.Depth == lockns.Infinity && h.on.folder && r.isOrUnder(h.on)
}

// submission is a caller as the oracle sees it; scope nil is an untagged token.
type submission struct {
	user   int64
	tokens []submitted
}

type submitted struct {
	value  string
	origin lockns.Origin
	scope  *res
}

func (s submission) credentials() lockns.Credentials {
	c := lockns.Credentials{User: s.user}
	for _, t := range s.tokens {
		token := lockns.Token{Value: t.value, Origin: t.origin}
		if t.scope != nil {
			token.Scope = &t.scope.place
		}
		c.Tokens = append(c.Tokens, token)
	}
	return c
}

// satisfies is the table of the package comment, origin by origin.
func (s submission) satisfies(h held) bool {
	isHolder := s.user > 0 && s.user == h.Holder
	hasToken := slices.ContainsFunc(s.tokens, func(t submitted) bool {
		return t.value == h.Token && t.origin == h.Origin && (t.scope == nil || h.protects(t.scope))
	})
	return map[lockns.Origin]bool{
		lockns.Product: isHolder,
		lockns.WebDAV:  isHolder && hasToken,
		lockns.WOPI:    hasToken,
	}[h.Origin]
}

type change struct {
	on   *res
	deep bool
}

func (c change) touch() lockns.Touch { return lockns.Touch{Place: c.on.place, Deep: c.deep} }

// refused are the ids of the locks that stand in the way: for each resource
// touched, every unopened exclusive lock on it, and all unopened shared locks
// when none of the shared ones is opened.
func (w *world) refused(s submission, locks []held, changes []change) []int64 {
	in := map[int64]bool{}
	for _, r := range w.all {
		if !slices.ContainsFunc(changes, func(c change) bool { return r == c.on || c.deep && r.isOrUnder(c.on) }) {
			continue
		}
		sharedOpen := false
		for _, h := range locks {
			sharedOpen = sharedOpen || h.Mode == lockns.Shared && h.protects(r) && s.satisfies(h)
		}
		for _, h := range locks {
			if h.protects(r) && !s.satisfies(h) && (h.Mode == lockns.Exclusive || !sharedOpen) {
				in[h.ID] = true
			}
		}
	}
	var ids []int64
	for _, h := range locks {
		if in[h.ID] {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// agree compares the rules with the oracle.
func (w *world) agree(t *testing.T, s submission, locks []held, changes ...change) {
	t.Helper()
	var plain []lockns.Lock
	for _, h := range locks {
		plain = append(plain, h.Lock)
	}
	var touches []lockns.Touch
	for _, c := range changes {
		touches = append(touches, c.touch())
	}
	err := lockns.Authorize(s.credentials(), plain, touches...)
	var got []int64
	var refusal *lockns.LockedError
	switch {
	case errors.As(err, &refusal):
		got = ids(refusal.Locks)
	case err != nil:
		t.Fatalf("Authorize returned %v", err)
	}
	if want := w.refused(s, locks, changes); !slices.Equal(got, want) {
		t.Fatalf("refused by locks %v, want %v\n%s", got, want, describe(s, locks, changes))
	}
}

func ids(locks []lockns.Lock) []int64 {
	var ids []int64
	for _, l := range locks {
		ids = append(ids, l.ID)
	}
	return ids
}

func describe(s submission, locks []held, changes []change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "user %d", s.user)
	for _, t := range s.tokens {
		fmt.Fprintf(&b, " token %s (%s)", t.value, t.origin)
		if t.scope != nil {
			fmt.Fprintf(&b, " for %s", t.scope.name)
		}
	}
	for _, h := range locks {
		fmt.Fprintf(&b, "\nlock %d on %s: %s %s %s held by %d", h.ID, h.on.name, h.Depth, h.Mode, h.Origin, h.Holder)
	}
	for _, c := range changes {
		fmt.Fprintf(&b, "\ntouch %s deep %v", c.on.name, c.deep)
	}
	return b.String()
}

var (
	depths  = []lockns.Depth{lockns.Resource, lockns.Infinity}
	modes   = []lockns.Mode{lockns.Exclusive, lockns.Shared}
	origins = []lockns.Origin{lockns.Product, lockns.WebDAV, lockns.WOPI}
)

const (
	nobody = 0
	alice  = 1
	bob    = 2
)

// everyLock calls fn for each place, depth, mode and origin.
func (w *world) everyLock(id int64, fn func(held)) {
	for _, on := range w.lockable {
		for _, depth := range depths {
			for _, mode := range modes {
				for _, origin := range origins {
					fn(held{lockns.Lock{
						ID: id, Token: fmt.Sprintf("t%d", id), Place: on.place,
						Depth: depth, Mode: mode, Origin: origin, Holder: alice,
					}, on})
				}
			}
		}
	}
}

// everyChange calls fn for each resource, itself or with all below it.
func (w *world) everyChange(fn func(change)) {
	for _, r := range w.all {
		fn(change{r, false})
		fn(change{r, true})
	}
}

// everySubmission calls fn for each user with no token, a wrong one, the right
// one for a wrong door, and the right one untagged and tagged with each resource.
func (w *world) everySubmission(token string, origin lockns.Origin, fn func(submission)) {
	for _, user := range []int64{nobody, alice, bob} {
		fn(submission{user: user})
		fn(submission{user, []submitted{{"another", origin, nil}}})
		for _, o := range origins {
			fn(submission{user, []submitted{{token, o, nil}}})
		}
		for _, r := range w.all {
			fn(submission{user, []submitted{{token, origin, r}}})
		}
	}
}

func TestAuthorizeOneLock(t *testing.T) {
	w := newWorld()
	w.everyLock(1, func(h held) {
		w.everySubmission(h.Token, h.Origin, func(s submission) {
			w.everyChange(func(c change) { w.agree(t, s, []held{h}, c) })
		})
	})
}

// TestAuthorizeHolderlessLock: holder 0 is nobody, and nobody is not its holder.
func TestAuthorizeHolderlessLock(t *testing.T) {
	w := newWorld()
	w.everyLock(1, func(h held) {
		h.Holder = nobody
		for _, user := range []int64{nobody, alice} {
			for _, tokens := range [][]submitted{nil, {{h.Token, h.Origin, nil}}} {
				w.agree(t, submission{user, tokens}, []held{h}, change{h.on, false})
			}
		}
	})
}

func TestAuthorizeTwoLocks(t *testing.T) {
	w := newWorld()
	webdav := func(id int64, fn func(held)) {
		w.everyLock(id, func(h held) {
			if h.Origin == lockns.WebDAV {
				fn(h)
			}
		})
	}
	webdav(1, func(a held) {
		webdav(2, func(b held) {
			for _, tokens := range [][]submitted{nil, {{"t1", lockns.WebDAV, nil}}, {{"t1", lockns.WebDAV, nil}, {"t2", lockns.WebDAV, nil}}} {
				w.everyChange(func(c change) { w.agree(t, submission{alice, tokens}, []held{a, b}, c) })
			}
		})
	})
}

// TestAuthorizeManyLocks tries sets of up to five locks of all kinds, also such
// as Admit would not let stand together, with two touches.
func TestAuthorizeManyLocks(t *testing.T) {
	w := newWorld()
	r := rand.New(rand.NewPCG(4918, 7))
	for range 60_000 {
		var locks []held
		s := submission{user: int64(r.IntN(3))}
		for id := range int64(1 + r.IntN(5)) {
			on := w.lockable[r.IntN(len(w.lockable))]
			h := held{lockns.Lock{
				ID: id + 1, Token: fmt.Sprintf("t%d", id+1), Place: on.place, Depth: depths[r.IntN(2)],
				Mode: modes[r.IntN(2)], Origin: origins[r.IntN(3)], Holder: int64(1 + r.IntN(2)),
			}, on}
			if r.IntN(4) > 0 {
				h.Mode = lockns.Shared // sets of shared locks are the interesting ones
			}
			locks = append(locks, h)
			if r.IntN(2) == 0 {
				token := submitted{h.Token, h.Origin, nil}
				if r.IntN(3) == 0 {
					token.scope = w.all[r.IntN(len(w.all))]
				}
				s.tokens = append(s.tokens, token)
			}
		}
		some := func() change { return change{w.all[r.IntN(len(w.all))], r.IntN(2) == 0} }
		w.agree(t, s, locks, some(), some())
	}
}

func TestAuthorizeWithoutLocksOrTouches(t *testing.T) {
	w := newWorld()
	if err := lockns.Authorize(lockns.Credentials{}, nil, change{w.lockable[0], true}.touch()); err != nil {
		t.Errorf("without locks: %v", err)
	}
	w.everyLock(1, func(h held) {
		if err := lockns.Authorize(lockns.Credentials{}, []lockns.Lock{h.Lock}); err != nil {
			t.Errorf("without touches: %v", err)
		}
	})
}

// TestAdmit asks for every lock beside every other: the pair conflicts when one
// protects the other's root and one is exclusive, whatever door and holder.
func TestAdmit(t *testing.T) {
	w := newWorld()
	w.everyLock(1, func(want held) {
		w.everyLock(2, func(other held) {
			over, under := other.protects(want.on), want.protects(other.on)
			exclusive := want.Mode == lockns.Exclusive || other.Mode == lockns.Exclusive
			err := lockns.Admit(want.Lock, []lockns.Lock{other.Lock})
			if !exclusive || !over && !under {
				if err != nil {
					t.Fatalf("refused with %v\n%s", err, describe(submission{}, []held{want, other}, nil))
				}
				return
			}
			var conflict *lockns.ConflictError
			if !errors.As(err, &conflict) {
				t.Fatalf("granted (%v)\n%s", err, describe(submission{}, []held{want, other}, nil))
			}
			covering, below := []int64{2}, []int64(nil)
			if !over {
				covering, below = below, covering
			}
			if !slices.Equal(ids(conflict.Covering), covering) || !slices.Equal(ids(conflict.Below), below) {
				t.Fatalf("covering %v, below %v, want %v and %v\n%s", ids(conflict.Covering), ids(conflict.Below), covering, below,
					describe(submission{}, []held{want, other}, nil))
			}
		})
	})
}

// TestAdmitNamesEveryConflict: a refusal lists each lock once, on its own side.
func TestAdmitNamesEveryConflict(t *testing.T) {
	w := newWorld()
	root, ten, seven, f7 := w.lockable[0], w.lockable[1], w.lockable[3], w.lockable[5]
	lock := func(id int64, on *res, depth lockns.Depth, mode lockns.Mode) lockns.Lock {
		return lockns.Lock{ID: id, Place: on.place, Depth: depth, Mode: mode, Origin: lockns.WebDAV}
	}
	locks := []lockns.Lock{
		lock(1, root, lockns.Infinity, lockns.Shared),
		lock(2, root, lockns.Resource, lockns.Exclusive), // does not reach folder 10
		lock(3, ten, lockns.Resource, lockns.Shared),
		lock(4, seven, lockns.Infinity, lockns.Exclusive),
		lock(5, f7, lockns.Resource, lockns.Shared),
		lock(6, w.lockable[2], lockns.Infinity, lockns.Exclusive), // beside
	}
	for _, c := range []struct {
		name            string
		want            lockns.Lock
		covering, below []int64
	}{
		{"exclusive infinity meets those above, at and below", lock(9, ten, lockns.Infinity, lockns.Exclusive), []int64{1, 3}, []int64{4, 5}},
		{"exclusive resource meets those above and at", lock(9, ten, lockns.Resource, lockns.Exclusive), []int64{1, 3}, nil},
		{"shared infinity meets only the exclusive one below", lock(9, ten, lockns.Infinity, lockns.Shared), nil, []int64{4}},
		{"shared resource meets none", lock(9, ten, lockns.Resource, lockns.Shared), nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := lockns.Admit(c.want, locks)
			var conflict *lockns.ConflictError
			if c.covering == nil && c.below == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.As(err, &conflict) {
				t.Fatalf("granted: %v", err)
			}
			if !slices.Equal(ids(conflict.Covering), c.covering) || !slices.Equal(ids(conflict.Below), c.below) {
				t.Errorf("covering %v, below %v, want %v and %v", ids(conflict.Covering), ids(conflict.Below), c.covering, c.below)
			}
		})
	}
}
