package store_test

import (
	"slices"
	"strings"

	"holdfast/lockns"
)

// What the store is known to do in another way than the model. Programs keep
// clear of it; with the fault this file goes.

// known reports a step that meets a known fault:
//   - a refresh that gives a lock the end it has already advances the generation;
//   - a lock is moved along to below a lock of depth infinity that excludes it;
//   - a change of spelling advances the generation for a lock that comes along,
//     also when its path was shown in the new spelling before.
func (r *run) known(s action) bool {
	switch s.op {
	case "refresh":
		g, _, o := r.w.mean(s, r.caller(s))
		if !o.ok() {
			return false
		}
		return s.wish.lasts == 0 && g.ends.IsZero() || g.ends.Equal(r.w.now.Add(s.wish.lasts))
	case "move":
		src, dst, o := r.w.ends(s)
		return o.ok() && slices.ContainsFunc(r.w.actives(), func(g *grant) bool {
			respelled := src.item == dst.item && strings.HasPrefix(g.shown.String(), dst.shown.String())
			return g.on.in(src.item) && g.origin != lockns.WebDAV && (respelled || r.w.meets(g, src, dst))
		})
	}
	return false
}

// lessNamed reports the known fault that a refusal between two workspaces names
// the locks of the first, and of locks bound to their workspace the first only.
func lessNamed(got, want verdict) bool {
	return got.class == want.class && (got.class == "locked" || got.class == "foreign lock") && len(got.locks) > 0 &&
		!slices.ContainsFunc(got.locks, func(token string) bool { return !slices.Contains(want.locks, token) })
}
