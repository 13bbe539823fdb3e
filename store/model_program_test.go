package store_test

import (
	"math/rand/v2"
	"slices"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// generator writes programs. It looks at the world, so that most steps are about
// something: locks that stand, tokens that fit, ends that are near.
type generator struct {
	*rand.Rand
	w     *world
	n     int
	spent []int // steps whose locks were seen

	removed []int // steps that removed something
}

// maxItems is how big a workspace may grow before it is thinned out.
const maxItems = 16

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func one[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

// next writes a step.
func (g *generator) next() action {
	g.n++
	s := action{n: g.n, user: one(g, 1, 1, 1, 2, 2), op: g.op()}
	if g.chance(1) {
		s.user = 0
	}
	s.at = g.there()
	s.passes = g.passes(s.user)
	s.shallow, s.noOverwrite = g.chance(20), g.chance(15)
	switch s.op {
	case "put", "mkdir":
		if g.chance(70) {
			s.at = g.member()
		}
	case "lock":
		s.wish = g.wish(s.user)
		if g.chance(25) {
			s.at = g.member()
		}
	case "relock", "refresh", "unlock":
		g.mean(&s)
	case "force":
		s.which = g.anyLock()
	case "restore", "purge trash", "empty trash":
		g.aboutTrash(&s)
	case "move", "copy":
		g.transfer(&s)
	case "advance":
		s.after = g.wait()
	case "member":
		s.role = one(g, store.Viewer, store.Writer, store.Writer, store.Admin)
	}
	return s
}

// op draws an operation.
func (g *generator) op() string {
	if g.w.roles[bobID] == "" && g.chance(15) || g.w.roles[bobID] == store.Viewer && g.chance(10) {
		return "member"
	}
	for _, r := range g.w.rooms {
		if len(r.top.all()) > maxItems && g.chance(50) {
			return "remove"
		}
	}
	ops := []struct {
		name   string
		weight int
	}{
		{"lock", 26}, {"put", 12}, {"mkdir", 10}, {"patch", 6}, {"move", 17}, {"copy", 10}, {"remove", 5}, {"refresh", 6},
		{"unlock", 10}, {"relock", 6}, {"force", 2}, {"advance", 7}, {"expire", 2}, {"purge", 1}, {"member", 1}, {"unmember", 1},
		{"restore", 7}, {"purge trash", 2}, {"empty trash", 1},
	}
	total := 0
	for _, o := range ops {
		total += o.weight
	}
	n := g.IntN(total)
	for _, o := range ops {
		if n -= o.weight; n < 0 {
			return o.name
		}
	}
	panic("unreachable")
}

// there draws a resource, most often one that is there.
func (g *generator) there() place {
	r := one(g, 0, 1, 2, 2)
	i := one(g, g.w.rooms[r].top.all()...)
	switch {
	case g.chance(10):
		return g.member()
	case g.chance(5): // nothing, or below a file
		return g.through(r, i, i.names().Join("none").Join("x"))
	case i.up == nil && g.chance(60): // the roots are not that interesting
		return g.there()
	}
	return g.through(r, i, i.names())
}

// member draws a name in a folder, taken or not.
func (g *generator) member() place { return g.memberIn(one(g, 0, 1, 2, 2)) }

func (g *generator) memberIn(r int) place {
	folders := slices.DeleteFunc(g.w.rooms[r].top.all(), func(i *item) bool { return !i.folder || len(i.names()) > 3 })
	i := one(g, folders...)
	return g.through(r, i, i.names().Join(g.name()))
}

func (g *generator) name() string { return one(g, "a", "b", "c", composed, decomposed) }

// through says a path from the workspace's root, or from a folder on its way.
func (g *generator) through(r int, i *item, path store.Path) place {
	p := place{room: r}
	switch {
	case g.chance(1):
		p.base = &base{r, "/none"}
	case g.chance(1):
		p.base = &base{(r + 1) % 3, "/"}
	case g.chance(30):
		cut := g.IntN(len(i.names()) + 1)
		p.base = &base{r, g.respell(path[:cut])}
		path = path[cut:]
	}
	p.path = g.respell(path)
	return p
}

// respell writes a path, some of its names in another spelling.
func (g *generator) respell(path store.Path) string {
	path = slices.Clone(path)
	for i, name := range path {
		if key(name) == composed && g.chance(30) {
			path[i] = one(g, composed, decomposed)
		}
	}
	return path.String()
}

// reached draws a resource by which a lock may be meant: its root or what is
// inside.
func (g *generator) reached(l *grant) place {
	i := l.on
	if g.chance(30) {
		i = one(g, i.all()...)
	}
	return g.through(g.w.roomAt(i.where()), i, i.names())
}

// wish draws a lock.
func (g *generator) wish(user int) wish {
	wi := wish{
		depth:  one(g, lockns.Resource, lockns.Infinity),
		mode:   one(g, lockns.Exclusive, lockns.Shared, lockns.Shared),
		origin: one(g, lockns.WebDAV, lockns.WebDAV, lockns.WebDAV, lockns.Product, lockns.WOPI),
		holder: user,
		lasts:  one(g, 0, time.Second, 10*time.Second, time.Minute, 10*time.Minute, time.Hour),
	}
	wi.until = g.chance(20)
	if wi.until && g.chance(30) {
		wi.lasts = one(g, -time.Microsecond, -time.Hour, 0)
	}
	wi.mustExist = g.chance(10)
	if wi.origin == lockns.Product && g.chance(90) {
		wi.mode = lockns.Exclusive
	}
	if wi.origin == lockns.WOPI && g.chance(50) {
		wi.holder = 0
	}
	return wi
}

// anyLock draws a lock, now and then one that ended long ago.
func (g *generator) anyLock() int {
	active := g.w.actives()
	if len(active) > 0 && g.chance(85) {
		return one(g, active...).born
	}
	if len(g.spent) > 0 {
		return one(g, g.spent...)
	}
	return g.n
}

// mean draws which lock a step is about, and where the step is done.
func (g *generator) mean(s *action) {
	s.which = g.anyLock()
	l := g.w.byBorn(s.which)
	if l != nil && g.chance(70) {
		s.user = int(l.holder)
	}
	s.wish = g.wish(s.user)
	if s.op == "refresh" {
		s.wish.lasts = max(s.wish.lasts, 0)
	}
	if l == nil {
		return
	}
	if g.chance(85) {
		s.at = g.reached(l)
	}
	if inner := l.on.all()[1:]; len(inner) > 0 && g.chance(35) { // through a mount below it
		i := one(g, inner...)
		s.at = place{room: g.w.roomAt(i.where()), base: &base{g.w.roomAt(i.where()), i.names().String()}, path: "/"}
	}
	if g.chance(90) {
		s.wish.origin = l.origin
	}
	if l.origin != lockns.WebDAV && g.chance(90) || g.chance(10) {
		s.which, s.origin = 0, l.origin
	}
	s.passes = g.passes(s.user)
}

// aboutTrash draws what of the trash is meant, in whose trash, and where it goes.
func (g *generator) aboutTrash(s *action) {
	s.at = place{room: one(g, 0, 1, 2, 2), path: "/"}
	s.which = g.n
	if g.chance(25) {
		s.user = one(g, 0, 2) // perhaps no member of the team
	}
	if len(g.removed) > 0 { // perhaps it is lost, or restored, long since
		s.which = one(g, g.removed...)
	}
	var d *waste
	if len(g.w.trash) > 0 && g.chance(90) {
		d = one(g, g.w.trash...)
		s.which, s.at.room = d.born, g.w.roomAt(d.room)
	}
	if g.chance(30) {
		folder := one(g, g.folders(s.at.room)...)
		if d != nil && g.chance(70) {
			folder = one(g, d.in...)
		}
		if folder.where() != nil { // else it is in the trash itself
			s.at.base = &base{g.w.roomAt(folder.where()), folder.names().String()}
		}
	}
	if g.chance(5) {
		s.at.base = &base{s.at.room, "/none"}
	}
	if s.op == "restore" && g.chance(50) {
		room := s.at.room
		if g.chance(10) {
			room = one(g, 0, 1, 2)
		}
		to := one(g, g.folders(room)...)
		s.to = g.through(room, to, to.names())
		if g.chance(10) {
			s.to = g.there()
		}
	}
	if g.chance(40) {
		s.name = g.name()
	}
}

// folders are those of a workspace.
func (g *generator) folders(room int) []*item {
	return slices.DeleteFunc(g.w.rooms[room].top.all(), func(i *item) bool { return !i.folder })
}

// transfer draws the other end of a move or copy.
func (g *generator) transfer(s *action) {
	s.to = g.memberIn(one(g, 0, 1, 2, s.at.room, s.at.room))
	if g.chance(20) {
		s.to = g.there()
	}
	for _, l := range g.w.actives() {
		where := g.w.roomAt(l.on.where())
		switch {
		case s.op == "move" && l.origin != lockns.WebDAV && g.chance(6): // it comes along
			s.at = g.through(where, l.on, l.on.names())
		case l.on.folder && g.chance(4): // to where it may reach
			s.to = g.through(where, l.on, l.on.names().Join(g.name()))
		case l.on.up != nil && g.chance(4): // over it
			s.to = g.through(where, l.on, l.on.names())
		}
	}
	if s.op == "move" && g.chance(15) {
		g.emigrate(s)
	}
	if g.chance(4) { // onto itself, spelled in another way or not
		s.to = s.at
		s.to.path = g.respell(store.ParsePath(s.at.path))
	}
	src := g.w.find(s.at)
	if src.item != nil && len(src.item.all()) > maxItems/2 { // copies of copies grow fast
		s.shallow = true
	}
}

// emigrate draws a folder with several WOPI locks in it to another workspace, with
// all their tokens, if there is one.
func (g *generator) emigrate(s *action) {
	for _, l := range g.w.actives() {
		for _, m := range g.w.actives() {
			folder := l.on.up
			if l == m || l.origin != lockns.WOPI || m.origin != lockns.WOPI || folder == nil || folder.up == nil || !m.on.in(folder) {
				continue
			}
			room := g.w.roomAt(folder.where())
			s.user, s.passes = 1, nil
			for _, k := range g.w.actives() {
				s.passes = append(s.passes, pass{born: k.born, origin: k.origin})
			}
			s.at, s.to = g.through(room, folder, folder.names()), g.memberIn((room+1)%3)
			return
		}
	}
}

// passes draws the tokens submitted.
func (g *generator) passes(user int) []pass {
	var all []pass
	for _, l := range g.w.actives() {
		if l.origin == lockns.WebDAV && l.holder == userID(user) || l.origin == lockns.WOPI {
			all = append(all, pass{born: l.born, origin: l.origin})
		}
	}
	switch {
	case g.chance(45): // everything that the user could have
	case g.chance(30):
		all = nil
	default:
		all = slices.DeleteFunc(all, func(pass) bool { return g.chance(50) })
	}
	if g.chance(20) { // somebody else's, or for another door
		p := pass{born: g.anyLock(), origin: one(g, lockns.WebDAV, lockns.WOPI, lockns.Product)}
		if l := g.w.byBorn(p.born); l != nil && g.chance(70) {
			p.origin = l.origin
		}
		all = append(all, p)
	}
	if g.chance(30) {
		for i := range all {
			g.tag(&all[i])
		}
	}
	return all
}

// tag binds a token to a resource: to one that its lock protects, or to any.
func (g *generator) tag(p *pass) {
	l := g.w.byBorn(p.born)
	if g.chance(30) {
		return
	}
	tag := g.there()
	if l != nil && g.chance(60) {
		tag = g.reached(l)
	}
	p.tag = &tag
}

// wait draws how long nothing happens: to the very end of a lock, just past it,
// or any time.
func (g *generator) wait() time.Duration {
	for _, l := range g.w.actives() {
		if !l.ends.IsZero() && g.chance(30) {
			return l.ends.Sub(g.w.now) + one(g, 0, time.Microsecond)
		}
	}
	return time.Duration(g.IntN(20)) * time.Second
}
