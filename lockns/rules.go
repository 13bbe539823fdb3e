package lockns

import (
	"fmt"
	"strings"
)

// Token is a lock token that a caller submits. A nil Scope is a token of an
// untagged list and counts for every lock that stands in the way; with a Scope,
// the resource a tagged list named, it counts for locks rooted at or covering
// that resource. It opens locks of its own origin only.
type Token struct {
	Value  string
	Origin Origin
	Scope  *Place
}

// Credentials are what a caller has proved: who it is and the tokens it holds.
// User 0 is nobody and holds no lock.
type Credentials struct {
	User int64
	// Account is the app password by which the user came; 0 is their own
	// password. It opens no lock that the user does not.
	Account int64
	Tokens  []Token
}

// Opens reports whether the credentials open the lock (see the table of the
// package comment). What opens a lock may change what it holds, and end it.
func (c Credentials) Opens(l Lock) bool {
	held := c.User != 0 && c.User == l.Holder
	switch l.Origin {
	case Product:
		return held
	case WebDAV:
		return held && c.submits(l)
	case WOPI:
		return c.submits(l)
	}
	return false
}

func (c Credentials) submits(l Lock) bool {
	for _, t := range c.Tokens {
		if t.Value == l.Token && t.Origin == l.Origin && (t.Scope == nil || l.Covers(*t.Scope)) {
			return true
		}
	}
	return false
}

// Touch is a resource that a change touches: itself, or with all below it.
type Touch struct {
	Place Place
	Deep  bool
}

// LockedError says that locks stand in the way of a change (RFC 4918 section
// 11.3). Locks holds each of them once.
type LockedError struct{ Locks []Lock }

func (e *LockedError) Error() string {
	return fmt.Sprintf("lockns: locked by %d lock(s) not opened", len(e.Locks))
}

// ConflictError says that a lock cannot be granted (RFC 4918 section 9.10.6).
// Covering are the locks on the wanted root or above it, Below those under it.
type ConflictError struct{ Covering, Below []Lock }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("lockns: %d conflicting lock(s)", len(e.Covering)+len(e.Below))
}

// Authorize decides whether a change may go on. locks must hold every active
// lock that covers a touched place and, for a deep touch, every one below it;
// others do no harm. It returns nil or a *LockedError.
func Authorize(c Credentials, locks []Lock, touches ...Touch) error {
	opened := c.openedShared(locks)
	var refused []Lock
	for _, l := range locks {
		if c.Opens(l) {
			continue
		}
		for _, t := range touches {
			if opened.refuse(l, t) {
				refused = append(refused, l)
				break
			}
		}
	}
	if refused != nil {
		return &LockedError{refused}
	}
	return nil
}

// openedShared indexes the shared locks that the credentials open: all by
// root, those that reach members by ancestry too.
func (c Credentials) openedShared(locks []Lock) sharedIndex {
	ix := sharedIndex{map[Root]bool{}, map[string]bool{}}
	for _, l := range locks {
		if l.Mode != Shared || !c.Opens(l) {
			continue
		}
		ix.at[l.Place.Root] = true
		if l.deep() {
			ix.over[l.Place.Ancestry] = true
		}
	}
	return ix
}

type sharedIndex struct {
	at   map[Root]bool   // an opened shared lock is rooted here
	over map[string]bool // an opened shared lock of depth infinity is rooted here
}

// refuse reports whether the unopened lock l forbids the touch t.
func (ix sharedIndex) refuse(l Lock, t Touch) bool {
	below := t.Deep && t.Place.Holds(l.Place)
	if !below && !l.Covers(t.Place) {
		return false
	}
	if l.Mode == Exclusive {
		return true
	}
	// One opened shared lock is enough for each locked resource. The resource
	// is the lock's root when that is below, the touched place when the lock
	// stands above it.
	at := t.Place
	if below {
		at = l.Place
	}
	// A lock that reaches members makes each member a locked resource: when
	// they are touched too, only a lock that reaches them all answers for it.
	if t.Deep && l.deep() && at.IsFolder() {
		return !ix.covers(at.Ancestry)
	}
	return !ix.at[at.Root] && !ix.covers(at.Ancestry)
}

// covers reports whether an opened shared lock of depth infinity is rooted at
// or above the ancestry.
func (ix sharedIndex) covers(ancestry string) bool {
	if len(ix.over) == 0 {
		return false
	}
	for i := strings.LastIndexByte(ancestry, '/'); i > 0; i = strings.LastIndexByte(ancestry[:i], '/') {
		if ix.over[ancestry[:i+1]] {
			return true
		}
	}
	return false
}

// Admit decides whether the wanted lock may be granted beside locks, which must
// hold every active lock that covers its root and, when it reaches members,
// every one below; others do no harm. It returns nil or a *ConflictError.
func Admit(want Lock, locks []Lock) error {
	var e ConflictError
	for _, l := range locks {
		if want.Mode == Shared && l.Mode == Shared {
			continue
		}
		switch {
		case l.Covers(want.Place):
			e.Covering = append(e.Covering, l)
		case want.Covers(l.Place):
			e.Below = append(e.Below, l)
		}
	}
	if e.Covering == nil && e.Below == nil {
		return nil
	}
	return &e
}
