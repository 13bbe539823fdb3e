package store_test

import (
	"slices"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// grant is a lock.
type grant struct {
	born   int // the step that acquired it
	id     int64
	token  string
	on     *item // its root
	depth  lockns.Depth
	mode   lockns.Mode
	origin lockns.Origin
	holder int64
	owner  string
	ends   time.Time // zero: never
	shown  store.Path
}

// active: "expired if and only if its end is before now".
func (w *world) active(g *grant) bool { return g.ends.IsZero() || !w.now.After(g.ends) }

func (w *world) actives() []*grant {
	return slices.DeleteFunc(slices.Clone(w.grants), func(g *grant) bool { return !w.active(g) })
}

// protects is RFC 4918 section 7.4: a lock holds its root, and with depth
// infinity everything inside. A file has no inside.
func (g *grant) protects(r *item) bool {
	if g.depth == lockns.Infinity && g.on.folder {
		return r.in(g.on)
	}
	return r == g.on
}

// excludes is section 6.2 for a pair of locks: one holds the other's root, and
// not both are shared. Who holds them and which door they came through makes no
// difference.
func (g *grant) excludes(o *grant) bool {
	return (g.mode == lockns.Exclusive || o.mode == lockns.Exclusive) && (g.protects(o.on) || o.protects(g.on))
}

// caller is who asks for a change and what they submit.
type caller struct {
	user   int64
	tokens []submitted
}

// submitted is a token with the origin it is for; tagged, it counts for locks
// that protect the tagged resource only, and for none when the tag names no
// resource and no new member of a folder.
type submitted struct {
	value  string
	origin lockns.Origin
	tagged bool
	tag    *item
}

// opens is the table of the contract: a product lock is opened by its holder, a
// WebDAV lock by its token in its holder's hands, a WOPI lock by its token.
func (c caller) opens(g *grant) bool {
	holds := c.user != 0 && c.user == g.holder
	submits := slices.ContainsFunc(c.tokens, func(s submitted) bool {
		return s.value == g.token && s.origin == g.origin && (!s.tagged || s.tag != nil && g.protects(s.tag))
	})
	return holds && g.origin == lockns.Product || holds && submits && g.origin == lockns.WebDAV || submits && g.origin == lockns.WOPI
}

// refusing are the locks that forbid a change of these resources: of each
// resource every exclusive lock that is not opened, and, when none of the shared
// locks on it is opened, those too.
func (w *world) refusing(c caller, touched []*item) []*grant {
	var refused []*grant
	active := w.actives()
	for _, r := range touched {
		on := slices.DeleteFunc(slices.Clone(active), func(g *grant) bool { return !g.protects(r) })
		oneShared := slices.ContainsFunc(on, func(g *grant) bool { return g.mode == lockns.Shared && c.opens(g) })
		for _, g := range on {
			if !c.opens(g) && (g.mode == lockns.Exclusive || !oneShared) && !slices.Contains(refused, g) {
				refused = append(refused, g)
			}
		}
	}
	return refused
}

// permit decides a change of these resources: first who the user is in each
// workspace, then the locks.
func (w *world) permit(c caller, touched ...*item) verdict {
	for _, r := range touched {
		if !w.may(c.user, r.where(), store.Writer, store.Admin, store.Owner) {
			return refusedAs("forbidden")
		}
	}
	if locks := w.refusing(c, touched); locks != nil {
		return verdict{class: "locked", locks: sortedTokens(locks), note: inHowMany(locks)}
	}
	return succeeded
}

// inHowMany notes a refusal that names locks of two workspaces.
func inHowMany(locks []*grant) string {
	first := locks[0].on.where()
	return note(slices.ContainsFunc(locks, func(g *grant) bool { return g.on.where() != first }), " in two workspaces")
}

// may: who is let at a personal workspace is not the store's business.
func (w *world) may(user int64, r *room, roles ...store.Role) bool {
	return r != w.team || slices.Contains(roles, w.roles[user])
}

// admit decides about a new lock beside all others.
func (w *world) admit(g *grant) verdict {
	var covering, below []*grant
	held := 0
	for _, o := range w.actives() {
		switch {
		case !g.excludes(o):
		case o.protects(g.on):
			covering = append(covering, o)
		default:
			below = append(below, o)
		}
		if g.holder != 0 && o.holder == g.holder {
			held++
		}
	}
	switch {
	case covering != nil || below != nil:
		return verdict{class: "conflict", locks: sortedTokens(covering), below: sortedTokens(below)}
	case w.limit > 0 && held >= w.limit:
		return refusedAs("lock quota")
	}
	return succeeded
}

// consistent names two active locks that must not stand together.
func (w *world) consistent() (a, b *grant) {
	active := w.actives()
	for i, a := range active {
		for _, b := range active[:i] {
			if a.excludes(b) {
				return a, b
			}
		}
	}
	return nil, nil
}
