package store_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// The model says what a program of operations must do, in the words of RFC 4918
// and of the lock contract. Resources are nodes with pointers, locks a flat list;
// what covers what is found by walking to parents. It shares no line with the
// rules of lockns, which compare id paths, nor with the store's SQL. It never
// invents an id, a token or an entity tag: those it is told, once, by the store.

// item is a file or a folder; a workspace's root has a room.
type item struct {
	room    *room
	up      *item
	name    string // as last spelled
	folder  bool
	members map[string]*item // of a folder, by what names are looked up by
	id      int64            // 0 until the store has given one
	etag    string           // of a file; "" until the store has given one
	content string
	props   map[string]string
}

// room is a workspace.
type room struct {
	ws  lockns.Workspace
	top *item
}

func newRoom(ws lockns.Workspace, id int64) *room {
	r := &room{ws: ws}
	r.top = &item{room: r, folder: true, members: map[string]*item{}, id: id}
	return r
}

// where is the workspace that an item is in.
func (i *item) where() *room {
	for i.up != nil {
		i = i.up
	}
	return i.room
}

// in reports whether i is top or below it.
func (i *item) in(top *item) bool {
	for ; i != nil; i = i.up {
		if i == top {
			return true
		}
	}
	return false
}

// names lead from the workspace's root to the item.
func (i *item) names() store.Path {
	if i.up == nil {
		return nil
	}
	return i.up.names().Join(i.name)
}

// ancestry is the path of ids to the item.
func (i *item) ancestry() string {
	switch {
	case i.up == nil:
		return "/" + itoa(i.id) + "/"
	case i.folder:
		return i.up.ancestry() + itoa(i.id) + "/"
	}
	return i.up.ancestry() + "f" + itoa(i.id)
}

// all are the item and everything below it, members by name.
func (i *item) all() []*item {
	list := []*item{i}
	for _, name := range slices.Sorted(maps.Keys(i.members)) {
		list = append(list, i.members[name].all()...)
	}
	return list
}

// whole are the resources that a change of a whole tree touches: all that is
// there, and in each folder one more, since a lock that reaches members holds
// for those to come too.
func (i *item) whole() []*item {
	var list []*item
	for _, m := range i.all() {
		list = append(list, m)
		if m.folder {
			list = append(list, &item{up: m})
		}
	}
	return list
}

// key is what a name is looked up by. Only one letter of the programs has two
// spellings.
func key(name string) string { return strings.ReplaceAll(name, decomposed, composed) }

const composed, decomposed = "\u00e9", "e\u0301"

// hang puts an item into a folder under a name.
func (i *item) hang(folder *item, name string) {
	i.up, i.name = folder, name
	folder.members[key(name)] = i
}

// unhang takes it out.
func (i *item) unhang() {
	delete(i.up.members, key(i.name))
	i.up = nil
}

// twin is a copy: no identity of the original's, the same content and
// properties.
func (i *item) twin(members bool) *item {
	t := &item{folder: i.folder, content: i.content, props: maps.Clone(i.props)}
	if !i.folder {
		return t
	}
	t.members = map[string]*item{}
	for _, m := range i.members {
		if members {
			m.twin(true).hang(t, m.name)
		}
	}
	return t
}

// world is everything the operations can see.
type world struct {
	now    time.Time
	rooms  []*room
	grants []*grant // not ended; expired ones until their rows go
	team   *room
	roles  map[int64]store.Role // what the team's members are
	limit  int                  // active locks a user may hold
	trash  []*waste             // the oldest first; what is lost until the next purge
}

// place names a resource as a caller does: a workspace, the folder that the path
// starts at, the path.
type place struct {
	room int
	base *base
	path string
}

// base is the folder a mount stands for. It is known by id, so that of another
// workspace can be named too.
type base struct {
	room int
	path string
}

func (p place) String() string {
	name := []string{"ada:", "bob:", "team:"}
	if p.base == nil {
		return name[p.room] + p.path
	}
	return name[p.room] + "[" + name[p.base.room] + p.base.path + "]" + p.path
}

// spot is what a place leads to.
type spot struct {
	gone   bool  // the folder that the path starts at is not there
	start  bool  // the path is empty
	from   *item // the folder that the path starts at
	item   *item
	folder *item // what the item is in, or would be in; nil when start, or missing
	name   string
	shown  store.Path // from the workspace's root, below the base as asked
}

// find follows a place from name to name.
func (w *world) find(p place) spot {
	at := w.rooms[p.room].top
	s := spot{start: p.path == "/"}
	if p.base != nil {
		at = w.baseItem(p)
		if at == nil || at.where() != w.rooms[p.room] {
			s.gone = true
			return s
		}
		s.shown = at.names()
	}
	s.from, s.item = at, at
	for _, name := range store.ParsePath(p.path) {
		s.shown = s.shown.Join(name)
		s.folder, s.name = s.item, name
		if s.folder == nil || !s.folder.folder {
			s.folder, s.item = nil, nil
			continue
		}
		s.item = s.folder.members[key(name)]
	}
	return s
}

// baseItem is the folder that a place starts at, nil when there is none.
func (w *world) baseItem(p place) *item {
	s := w.find(place{room: p.base.room, path: p.base.path})
	if s.item == nil || !s.item.folder {
		return nil
	}
	return s.item
}

// target is the place in the store's words.
func (w *world) target(p place) store.Target {
	t := store.Target{Workspace: w.rooms[p.room].ws, Path: store.ParsePath(p.path)}
	if p.base != nil {
		t.Base = 1 << 40 // no folder's
		if b := w.baseItem(p); b != nil {
			t.Base = b.id
		}
	}
	return t
}

// clear takes away what a spot leads to, with the locks inside, for one that
// comes instead: that inherits the locks rooted on the one gone. It says how
// many.
func (w *world) clear(s spot, instead *item) (inherited int) {
	if s.item == nil {
		return 0
	}
	for _, g := range w.grants {
		if g.on == s.item && w.active(g) {
			g.on = instead
			inherited++
		}
	}
	w.end(func(g *grant) bool { return g.on.in(s.item) })
	s.item.unhang()
	return inherited
}

// end ends locks.
func (w *world) end(which func(*grant) bool) { w.grants = slices.DeleteFunc(w.grants, which) }

// roomAt is the number of a workspace.
func (w *world) roomAt(r *room) int { return slices.Index(w.rooms, r) }

// byBorn finds the lock that a step acquired, nil when it has ended.
func (w *world) byBorn(n int) *grant {
	for _, g := range w.grants {
		if g.born == n {
			return g
		}
	}
	return nil
}

func sortedTokens(grants []*grant) []string {
	tokens := []string{}
	for _, g := range grants {
		tokens = append(tokens, g.token)
	}
	slices.Sort(tokens)
	return tokens
}
