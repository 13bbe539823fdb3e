package store_test

import (
	"slices"
	"strings"

	"holdfast/lockns"
)

// known reports a step at which the store is known to do something else than the
// model, without harm: a change of spelling advances the generation for a lock
// that comes along, also when its path was shown in the new spelling before.
func (r *run) known(s action) bool {
	if s.op != "move" {
		return false
	}
	src, dst, o := r.w.ends(s)
	return o.ok() && src.item == dst.item && slices.ContainsFunc(r.w.actives(), func(g *grant) bool {
		return g.on.in(src.item) && g.origin != lockns.WebDAV && strings.HasPrefix(g.shown.String(), dst.shown.String())
	})
}
