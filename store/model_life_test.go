package store_test

import (
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// The life of a lock in the model.

func (w *world) lock(s action, c caller) (verdict, *grant) {
	if s.wish.bad() {
		return refusedAs("bad lock"), nil
	}
	at := w.find(s.at)
	var o verdict
	switch {
	case at.gone, at.item == nil && s.wish.origin != lockns.WebDAV:
		return refusedAs("not found"), nil
	case at.item != nil:
		o = w.mayChange(c, at.item)
	case at.folder == nil:
		return refusedAs("no parent"), nil
	case s.wish.mustExist:
		return refusedAs("not found"), nil
	default:
		o = w.permit(c, at.folder)
	}
	if !o.ok() {
		return o, nil
	}
	on := at.item
	if on == nil {
		on = &item{up: at.folder} // hung in when the lock is granted
	}
	g, o := w.acquire(s, at, on)
	if o.ok() && at.item == nil {
		on.hang(at.folder, at.name)
		o.created = true
	}
	return o, g
}

// bad is a lock that cannot be.
func (wi wish) bad() bool {
	return wi.origin == lockns.Product && (wi.mode == lockns.Shared || wi.holder == 0)
}

// mayChange: a lock is taken and ended by those who may write.
func (w *world) mayChange(c caller, on *item) verdict {
	if !w.may(c.user, on.where(), store.Writer, store.Admin, store.Owner) {
		return refusedAs("forbidden")
	}
	return succeeded
}

func (w *world) acquire(s action, at spot, on *item) (*grant, verdict) {
	g := &grant{
		born: s.n, on: on, depth: s.wish.depth, mode: s.wish.mode, origin: s.wish.origin,
		holder: userID(s.wish.holder), owner: s.content(), shown: at.shown,
	}
	if s.wish.lasts != 0 || s.wish.until {
		g.ends = w.now.Add(s.wish.lasts)
	}
	if g.ends.Before(w.now) && !g.ends.IsZero() {
		return nil, refusedAs("bad lock")
	}
	if o := w.admit(g); !o.ok() {
		return nil, o
	}
	w.grants = append(w.grants, g)
	return g, succeeded
}

// mean finds the lock that a step means: a WebDAV lock by its token, which
// protects the resource, is rooted in the folder that the path starts at and is
// held by the caller, or the oldest lock of an origin rooted on the resource that
// the caller opens.
func (w *world) mean(s action, c caller) (*grant, spot, verdict) {
	at := w.find(s.at)
	if at.item == nil {
		return nil, at, refusedAs("not found")
	}
	if o := w.mayChange(c, at.item); !o.ok() {
		return nil, at, o
	}
	o := refusedAs("no such lock")
	var found *grant
	for _, g := range w.actives() {
		mine := c.opens(g)
		if s.which != 0 {
			if g.born != s.which || g.origin != lockns.WebDAV || !g.protects(at.item) {
				continue
			}
			if !g.on.in(at.from) {
				o.note = aboveTheMount
				continue
			}
			mine = c.user != 0 && c.user == g.holder
		} else if g.origin != s.origin || g.on != at.item {
			continue
		}
		if !mine {
			o = refusedAs("not holder")
		} else if found == nil || g.id < found.id {
			found = g
		}
	}
	if found != nil {
		o = succeeded
	}
	return found, at, o
}

// aboveTheMount notes a lock that protects the resource, but more than the folder
// that the path starts at too.
const aboveTheMount = " above the mount"

func (w *world) refresh(s action, c caller) verdict {
	g, _, o := w.mean(s, c)
	if !o.ok() {
		return o
	}
	g.ends = time.Time{}
	if s.wish.lasts != 0 {
		g.ends = w.now.Add(s.wish.lasts)
	}
	return o
}

func (w *world) unlock(s action, c caller) verdict {
	g, _, o := w.mean(s, c)
	if o.ok() {
		w.end(func(e *grant) bool { return e == g })
	}
	return o
}

// relock ends one lock and grants another, or does nothing.
func (w *world) relock(s action, c caller) (verdict, *grant) {
	if s.wish.bad() {
		return refusedAs("bad lock"), nil
	}
	old, at, o := w.mean(s, c)
	switch {
	case !o.ok():
		return o, nil
	case old.origin != s.wish.origin:
		return refusedAs("bad lock"), nil
	}
	w.end(func(e *grant) bool { return e == old })
	g, o := w.acquire(s, at, at.item)
	if !o.ok() {
		w.grants = append(w.grants, old)
	}
	return o, g
}

// force ends a lock whatever it is.
func (w *world) force(s action) verdict {
	g := w.byBorn(s.which)
	if g == nil || !w.active(g) {
		return refusedAs("not found")
	}
	w.end(func(e *grant) bool { return e == g })
	return succeeded
}
