package dav

import (
	"fmt"
	"net/http"
	"slices"

	"holdfast/store"
)

// propfind serves PROPFIND (RFC 4918 section 9.1), streamed: memory holds a
// page of entries, however large the collection is.
func (q *request) propfind(w http.ResponseWriter) error {
	pw, err := q.newPropWriter(w)
	if err != nil {
		return err
	}
	if err := q.checkIf(); err != nil {
		return err
	}
	depth, limit := store.DepthInfinity, q.h.opt.PropfindMax
	switch q.depth {
	case depth0:
		depth, limit = store.DepthZero, 0
	case depth1:
		depth, limit = store.DepthOne, 0
	}
	if err := pw.readUsage(); err != nil {
		return err
	}
	if depth != store.DepthZero && q.preferences().noRoot {
		pw.noRoot = true
		applied(w, "depth-noroot")
	}
	return pw.finish(pw.walk(depth, limit))
}

// walk writes the resource of the Request-URI and what is below it.
func (pw *propWriter) walk(depth, limit int) error {
	q := pw.q
	skip := pw.noRoot
	return q.walk(depth, pw.want, limit, func(e store.Entry) error {
		if skip { // the resource itself comes first
			skip = false
			return nil
		}
		return pw.entry(listed{Entry: e, href: q.entryHref(e), displayName: q.nameOf(e)})
	})
}

// entryHref is the href of an entry of a Walk: the start as the client spelled
// it, by which it recognizes the rest, then the names as stored.
func (q *request) entryHref(e store.Entry) string {
	below := e.Path[min(len(q.path), len(e.Path)):]
	return q.mount.href(append(slices.Clip(q.path), below...), e.IsFolder())
}

// nameOf is the display name of an entry: its name, and for the root of a
// workspace, which has none, the mount's.
func (q *request) nameOf(e store.Entry) string {
	if e.Name == "" {
		return q.name
	}
	return e.Name
}

// propWriter answers one PROPFIND, SEARCH or REPORT.
type propWriter struct {
	q     *request
	w     *multistatusWriter
	m     *multistatus
	ask   propfind
	want  store.Want
	usage store.Usage
	// windows: the client is Windows' own, which takes no more than a million
	// bytes for one collection. allprop has its properties then, and does
	// without supportedlock, the longest and the same everywhere.
	windows bool
	minimal bool // the names of properties that are not there are left out
	noRoot  bool // only the members of the resource are shown
}

// newPropWriter reads the body and gets ready what the answer takes.
func (q *request) newPropWriter(w http.ResponseWriter) (*propWriter, error) {
	if err := q.checkXMLType(); err != nil {
		return nil, err
	}
	ask, err := readPropfind(q.r.Body)
	if err != nil {
		return nil, err
	}
	return q.newPropWriterFor(w, ask), nil
}

// newPropWriterFor gets ready what an answer with these properties takes.
func (q *request) newPropWriterFor(w http.ResponseWriter, ask propfind) *propWriter {
	pw := &propWriter{q: q, ask: ask, w: &multistatusWriter{w: w}, windows: q.isWindows()}
	if pw.minimal = q.preferences().minimal; pw.minimal {
		applied(w, "return=minimal")
	}
	pw.plan()
	pw.m = newMultistatus(pw.w)
	return pw
}

// readUsage reads what the quota properties of the request's mount show.
func (pw *propWriter) readUsage() (err error) {
	if pw.ask.kind != propfindNames && !pw.asksFor("quota-available-bytes") && !pw.asksFor("quota-used-bytes") {
		return nil
	}
	if pw.usage, err = pw.q.store().Usage(pw.q.r.Context(), pw.q.workspace); err != nil {
		return fmt.Errorf("read usage: %w", err)
	}
	return nil
}

// plan decides what the store has to read beside the nodes: no dead property
// that was not asked for, and no value where names will do.
func (pw *propWriter) plan() {
	switch pw.ask.kind {
	case propfindAll:
		pw.want = store.Want{Props: true, Locks: true, Checksums: slices.Contains(pw.ask.props, checksumsProperty)}
		return
	case propfindNames:
		pw.want = store.Want{Props: true, NamesOnly: true}
		return
	}
	for _, name := range pw.ask.props {
		if !isComputed(name) && !slices.Contains(pw.want.PropNames, name.local) {
			pw.want.PropNames = append(pw.want.PropNames, name.local)
		}
	}
	pw.want.Props = len(pw.want.PropNames) > 0
	pw.want.Locks = pw.asksFor("lockdiscovery")
	pw.want.Checksums = slices.Contains(pw.ask.props, checksumsProperty)
}

func (pw *propWriter) asksFor(live string) bool {
	return slices.Contains(pw.ask.props, davName(live))
}

// finish ends the answer, or fails it: as a request when nothing has been sent,
// else by breaking off, so that half a listing never looks like a whole one.
func (pw *propWriter) finish(err error) error {
	if err == nil {
		err = pw.m.close()
	}
	if err != nil && pw.w.started {
		pw.q.abort(fmt.Errorf("list: %w", err))
	}
	return err
}

// entry writes the response of one resource: the properties it has, and after
// them the names of those it has not. A group without members is left out.
func (pw *propWriter) entry(l listed) error {
	pw.m.response(l.href)
	start := len(pw.m.b)
	pw.m.propstatOpen()
	opened := len(pw.m.b)
	var missing []xmlName
	switch pw.ask.kind {
	case propfindAll:
		missing = pw.all(&l)
	case propfindNames:
		pw.names(&l)
	case propfindProps:
		missing = pw.props(&l, pw.ask.props)
	}
	if pw.minimal {
		missing = nil // RFC 8144 section 2.1; an empty group stays
	}
	if len(pw.m.b) == opened && len(missing) > 0 {
		pw.m.b = pw.m.b[:start]
	} else {
		pw.m.propstatClose(http.StatusOK)
	}
	if len(missing) > 0 {
		pw.m.propstatOpen()
		for _, name := range missing {
			pw.m.emptyName(name)
		}
		pw.m.propstatClose(http.StatusNotFound)
	}
	pw.m.endResponse()
	return pw.m.err
}

// all writes what allprop has: dead properties and the live ones of RFC 4918,
// and those of include that exist (section 9.1.5). It returns the rest of
// include.
func (pw *propWriter) all(l *listed) (missing []xmlName) {
	for i := range liveProperties {
		p := &liveProperties[i]
		if !p.named && !(pw.windows && p.name == "supportedlock") {
			pw.live(p, l)
		}
	}
	for i := range l.Props {
		if p := &l.Props[i]; !liveName(*p) {
			pw.stored(l, p)
		}
	}
	if pw.windows && l.kind == storedResource {
		pw.win32(l)
	}
	for _, name := range pw.ask.props {
		if p := liveByName[name]; p != nil && !p.named || p == nil && l.dead(name) != nil {
			continue // written above
		}
		missing = append(missing, pw.props(l, []xmlName{name})...)
	}
	return missing
}

// names writes the names of all properties, those left out of allprop too (RFC
// 4331 section 2 and RFC 4918 section 9.1.4).
func (pw *propWriter) names(l *listed) {
	for i := range liveProperties {
		if p := &liveProperties[i]; p.has == nil || p.has(pw, l) {
			pw.m.emptyName(p.xmlName())
		}
	}
	for _, p := range l.Props {
		if !liveName(p) {
			pw.m.emptyName(xmlName{p.Space, p.Local})
		}
	}
}

// props writes the named properties that exist and returns the others.
func (pw *propWriter) props(l *listed, names []xmlName) (missing []xmlName) {
	for _, name := range names {
		if p := liveByName[name]; p != nil {
			if !pw.live(p, l) {
				missing = append(missing, name)
			}
			continue
		}
		if p := l.dead(name); p != nil {
			pw.stored(l, p)
			continue
		}
		missing = append(missing, name)
	}
	return missing
}

// live writes a live property unless the resource has not got it. A display
// name that was set is stored as a dead property and comes before the name.
func (pw *propWriter) live(p *liveProperty, l *listed) bool {
	if p.has != nil && !p.has(pw, l) {
		return false
	}
	if p.name == displayName.local {
		if set := l.dead(displayName); set != nil {
			pw.m.raw(set.XML)
			return true
		}
	}
	p.write(pw, l)
	return true
}

// liveName reports whether a stored property takes the place of a live one.
func liveName(p store.Property) bool { return liveByName[xmlName{p.Space, p.Local}] != nil }
