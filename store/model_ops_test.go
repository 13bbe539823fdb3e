package store_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// action is one operation of a program. It names resources by path and locks by
// the step that acquired them, so that it means something also when steps before
// it are taken out.
type action struct {
	n      int // its number, which it keeps
	op     string
	user   int // whose it is: 0 nobody, 1 ada, 2 bob
	at, to place
	passes []pass
	wish   wish
	which  int           // the step whose lock, or waste, is meant; 0: by origin
	origin lockns.Origin // of the lock meant by origin
	after  time.Duration // how far the clock moves
	role   store.Role
	name   string // what is restored gets; "" is its own

	shallow, noOverwrite bool
}

// pass is a token submitted: the lock that a step acquired, the origin it is
// said to be for, the resource it is tagged with.
type pass struct {
	born   int
	origin lockns.Origin
	tag    *place
}

// wish is a lock asked for.
type wish struct {
	depth     lockns.Depth
	mode      lockns.Mode
	origin    lockns.Origin
	holder    int // as action.user
	lasts     time.Duration
	until     bool // lasts is said as the end itself
	mustExist bool
}

func (s action) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d: %s by %s", s.n, s.op, []string{"nobody", "ada", "bob"}[s.user])
	switch s.op {
	case "advance":
		return fmt.Sprintf("%d: advance %v", s.n, s.after)
	case "expire", "purge", "unmember":
		return fmt.Sprintf("%d: %s", s.n, s.op)
	case "member":
		return fmt.Sprintf("%d: member %s", s.n, s.role)
	}
	fmt.Fprintf(&b, " %v", s.at)
	switch s.op {
	case "move", "copy":
		fmt.Fprintf(&b, " to %v shallow=%v noOverwrite=%v", s.to, s.shallow, s.noOverwrite)
	case "lock", "relock":
		fmt.Fprintf(&b, " %+v", s.wish)
	case "refresh":
		fmt.Fprintf(&b, " lasts %v", s.wish.lasts)
	case "restore":
		if s.to.path != "" {
			fmt.Fprintf(&b, " to %v", s.to)
		}
		fmt.Fprintf(&b, " as %q", s.name)
	}
	if s.which != 0 || s.origin != "" {
		fmt.Fprintf(&b, " meaning #%d%s", s.which, s.origin)
	}
	for _, p := range s.passes {
		fmt.Fprintf(&b, " (#%d as %s", p.born, p.origin)
		if p.tag != nil {
			fmt.Fprintf(&b, " for %v", *p.tag)
		}
		b.WriteString(")")
	}
	return b.String()
}

// verdict is how an operation ends: "ok", or the class of the refusal with the
// tokens of the locks that it must name.
type verdict struct {
	class        string
	locks, below []string
	created      bool   // the operation says that there was nothing before
	note         string // what is special about it; not compared
}

var succeeded = verdict{class: "ok"}

func refusedAs(class string) verdict { return verdict{class: class} }

func (o verdict) ok() bool { return o.class == "ok" }

func (o verdict) equal(p verdict) bool {
	return o.class == p.class && o.created == p.created && slices.Equal(o.locks, p.locks) && slices.Equal(o.below, p.below)
}

// apply is what a step must do to the world. granted is the lock it acquired.
func (w *world) apply(s action, c caller) (o verdict, granted *grant) {
	switch s.op {
	case "put":
		o = w.put(s, c)
	case "mkdir":
		o = w.mkdir(s, c)
	case "patch":
		o = w.patch(s, c)
	case "remove":
		o = w.remove(s, c)
	case "restore":
		o = w.restore(s, c)
	case "purge trash", "empty trash":
		o = w.purgeTrash(s, c)
	case "move":
		o = w.move(s, c)
	case "copy":
		o = w.copy(s, c)
	case "lock":
		return w.lock(s, c)
	case "relock":
		return w.relock(s, c)
	case "refresh":
		o = w.refresh(s, c)
	case "unlock":
		o = w.unlock(s, c)
	case "force":
		o = w.force(s)
	default:
		o = w.without(s)
	}
	return o, nil
}

// without are the operations that need no claim.
func (w *world) without(s action) verdict {
	ended := func(g *grant) bool { return g.on.where() == w.team && g.holder == bobID }
	switch s.op {
	case "advance":
		w.now = w.now.Add(s.after)
		return verdict{class: "ok", note: w.turning()}
	case "expire":
		w.end(func(g *grant) bool { return !w.active(g) })
	case "purge":
		w.lose(func(d *waste) bool { return !w.now.Before(d.ends) })
	case "member":
		w.roles[bobID] = s.role
		if s.role == store.Viewer {
			w.end(ended)
		}
	case "unmember":
		if w.roles[bobID] == "" {
			return refusedAs("not found")
		}
		delete(w.roles, bobID)
		w.end(ended)
	}
	return succeeded
}

// turning notes a lock at its very end, or just past it.
func (w *world) turning() (notes string) {
	for _, g := range w.grants {
		switch w.now.Sub(g.ends) {
		case 0:
			return " to the end of a lock"
		case time.Microsecond:
			notes = " just past the end of a lock"
		}
	}
	return notes
}

func (w *world) put(s action, c caller) verdict {
	at := w.find(s.at)
	switch {
	case at.gone:
		return refusedAs("not found")
	case at.item != nil && at.item.folder:
		return refusedAs("is folder")
	case at.folder == nil:
		return refusedAs("no parent")
	}
	touched := at.folder // a new member changes the folder
	if at.item != nil {
		touched = at.item // new content does not
	}
	if o := w.permit(c, touched); !o.ok() {
		return o
	}
	o := verdict{class: "ok", created: at.item == nil}
	if o.created {
		at.item = &item{}
		at.item.hang(at.folder, at.name)
	}
	at.item.content, at.item.etag = s.content(), ""
	return o
}

// content is what a step puts.
func (s action) content() string { return fmt.Sprintf("by %d", s.n) }

func (w *world) mkdir(s action, c caller) verdict {
	at := w.find(s.at)
	switch {
	case at.gone:
		return refusedAs("not found")
	case at.item != nil:
		return refusedAs("exists")
	case at.folder == nil:
		return refusedAs("no parent")
	}
	if o := w.permit(c, at.folder); !o.ok() {
		return o
	}
	(&item{folder: true, members: map[string]*item{}}).hang(at.folder, at.name)
	return succeeded
}

func (w *world) patch(s action, c caller) verdict {
	at := w.find(s.at)
	if at.item == nil {
		return refusedAs("not found")
	}
	if o := w.permit(c, at.item); !o.ok() {
		return o
	}
	if at.item.props == nil {
		at.item.props = map[string]string{}
	}
	at.item.props["p"] = s.content()
	return succeeded
}

func (w *world) remove(s action, c caller) verdict {
	at := w.find(s.at)
	switch {
	case at.item == nil:
		return refusedAs("not found")
	case at.start:
		return refusedAs("root")
	}
	if o := w.permit(c, append(at.item.whole(), at.folder)...); !o.ok() {
		return o
	}
	w.end(func(g *grant) bool { return g.on.in(at.item) })
	w.discard(at, s.n)
	return succeeded
}

// ends finds source and destination.
func (w *world) ends(s action) (src, dst spot, o verdict) {
	src, dst = w.find(s.at), w.find(s.to)
	switch {
	case src.item == nil || dst.gone:
		return src, dst, refusedAs("not found")
	case dst.start:
		return src, dst, refusedAs("root")
	case dst.folder == nil:
		return src, dst, refusedAs("no parent")
	}
	return src, dst, succeeded
}

// arriving are the resources that something new at a spot touches: its folder,
// and all that is replaced.
func arriving(s spot) []*item {
	touched := []*item{s.folder}
	if s.item != nil {
		touched = append(touched, s.item.whole()...)
	}
	return touched
}

func (w *world) copy(s action, c caller) verdict {
	src, dst, o := w.ends(s)
	if !o.ok() {
		return o
	}
	if src.item.in(dst.item) && dst.item != nil || !s.shallow && dst.folder.in(src.item) {
		return refusedAs("into itself")
	}
	if o := w.permit(c, arriving(dst)...); !o.ok() {
		return o
	}
	switch {
	case !w.may(c.user, src.item.where(), store.Viewer, store.Writer, store.Admin, store.Owner):
		return refusedAs("forbidden")
	case s.noOverwrite && dst.item != nil:
		return refusedAs("exists")
	}
	twin := src.item.twin(!s.shallow)
	inherited := w.clear(dst, twin)
	twin.hang(dst.folder, dst.name)
	return verdict{class: "ok", created: dst.item == nil, note: note(inherited > 0, " and inherits locks")}
}

func (w *world) move(s action, c caller) verdict {
	src, dst, o := w.ends(s)
	if !o.ok() {
		return o
	}
	if src.start {
		return refusedAs("root")
	}
	renamed := dst.item == src.item
	switch {
	case renamed && src.item.name == dst.name,
		!renamed && (dst.folder.in(src.item) || dst.item != nil && src.item.in(dst.item)):
		return refusedAs("into itself")
	}
	touched := append(src.item.whole(), src.folder)
	if renamed {
		dst.item = nil // only the spelling changes
	}
	if o := w.permit(c, append(touched, arriving(dst)...)...); !o.ok() {
		return o
	}
	if s.noOverwrite && dst.item != nil {
		return refusedAs("exists")
	}
	return w.relocate(src, dst, c)
}

// relocate: the source's WebDAV locks end, the others stay with their files. They
// must not meet a lock that excludes them where they come to, and must not leave
// their workspace but for its user's own product locks.
func (w *world) relocate(src, dst spot, c caller) verdict {
	var carried, met, foreign []*grant
	for _, g := range w.actives() {
		if g.on.in(src.item) && g.origin != lockns.WebDAV {
			carried = append(carried, g)
		}
	}
	for _, g := range carried {
		if w.meets(g, src, dst) {
			met = append(met, g)
		}
		if g.origin == lockns.WOPI || g.holder != c.user {
			foreign = append(foreign, g)
		}
	}
	switch {
	case met != nil:
		return verdict{class: "locked", locks: sortedTokens(met), note: whereItComes}
	case foreign != nil && src.folder.where() != dst.folder.where():
		return verdict{class: "foreign lock", locks: sortedTokens(foreign), note: note(len(foreign) > 1, " of several locks")}
	}
	w.end(func(g *grant) bool { return g.on.in(src.item) && !slices.Contains(carried, g) })
	for _, g := range carried {
		below := len(g.on.names()) - len(src.item.names())
		g.shown = append(slices.Clone(dst.shown), g.shown[len(g.shown)-below:]...)
	}
	inherited := w.clear(dst, src.item)
	notes := note(inherited > 0, " and inherits locks") + note(carried != nil, " and takes locks along") +
		note(src.folder.where() != dst.folder.where(), " to another workspace")
	src.item.unhang()
	src.item.hang(dst.folder, dst.name)
	return verdict{class: "ok", created: dst.item == nil, note: notes}
}

// meets reports whether a lock that comes along with the source would stand
// beside one that excludes it: one rooted on the resource replaced, which holds
// the source from then on, or one of depth infinity on a folder above.
func (w *world) meets(g *grant, src, dst spot) bool {
	for _, o := range w.actives() {
		if g.mode == lockns.Shared && o.mode == lockns.Shared || o.on.in(src.item) {
			continue
		}
		inherits := dst.item != nil && o.on == dst.item
		reaches := o.depth == lockns.Infinity && (inherits && src.item.folder || dst.folder.in(o.on))
		if reaches || inherits && (g.on == src.item || g.depth == lockns.Infinity && g.on.folder && src.item.in(g.on)) {
			return true
		}
	}
	return false
}

// whereItComes notes a move that brought a lock to where one excludes it.
const whereItComes = " where it comes to"

// note is a text when something is so.
func note(so bool, text string) string {
	if so {
		return text
	}
	return ""
}
