package dav

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"holdfast/lockns"
	"holdfast/store"
)

var _ store.Claim = (*request)(nil)

// Prove implements store.Claim: it decides the If header (RFC 4918 section
// 10.4) and gives the tokens that are stated as held in it. A false header is
// store.ErrPrecondition.
func (q *request) Prove(v store.View) (lockns.Credentials, error) {
	cred := lockns.Credentials{User: q.principal.UserID, Account: q.principal.Account}
	if q.ifHeader == nil {
		return cred, nil
	}
	e := evaluation{q: q, view: v, states: map[string]ifState{}}
	if !q.ifHeader.eval(e.state) {
		return lockns.Credentials{}, store.ErrPrecondition
	}
	for _, t := range q.ifHeader.tokens() {
		token := lockns.Token{Value: t.token, Origin: lockns.WebDAV}
		if t.tag != "" {
			loc, ok := q.tagged(t.tag)
			if !ok {
				continue
			}
			place := v.Resource(loc.target()).Place
			token.Scope = &place
		}
		cred.Tokens = append(cred.Tokens, token)
	}
	return cred, nil
}

// Precondition implements store.Claim: If-Match and its kin, decided after the
// locks (RFC 9110 section 13.2.1).
func (q *request) Precondition(v store.View) error {
	if !q.conditions.Any() {
		return nil
	}
	res := v.Resource(q.target())
	return q.precondition(res.Exists, res.Node)
}

// precondition decides If-Match and its kin for a method that changes the resource.
func (q *request) precondition(exists bool, node store.Node) error {
	if !q.conditions.Hold(exists, node.ETag, node.Modified) {
		return store.ErrPrecondition
	}
	return nil
}

// evaluation decides an If header on one view.
type evaluation struct {
	q      *request
	view   store.View
	states map[string]ifState // by tag: each resource is looked up once
}

// state is what the header's conditions ask of the resource a tag names.
func (e evaluation) state(tag string) ifState {
	if e.states[tag] == nil {
		e.states[tag] = e.lookUp(tag)
	}
	return e.states[tag]
}

func (e evaluation) lookUp(tag string) ifState {
	loc, ok := e.q.tagged(tag)
	if !ok {
		return stateless{}
	}
	return viewState{
		Resource: e.view.Resource(loc.target()), view: e.view, q: e.q,
		user: e.q.principal.UserID, also: e.neighbours(tag),
	}
}

// neighbours are the places beside the Request-URI at or below which a lock
// makes an untagged token true: the source and destination of DELETE, MOVE and
// COPY, which change all that is below them. RFC 4918 section 9.9.6 shows it in
// its example, and Finder renames a folder with a child's token.
func (e evaluation) neighbours(tag string) []store.Resource {
	if tag != "" {
		return nil
	}
	switch e.q.r.Method {
	case http.MethodDelete:
		return []store.Resource{e.view.Resource(e.q.target())}
	case "COPY", "MOVE":
		return []store.Resource{e.view.Resource(e.q.target()), e.view.Resource(e.q.dest.target())}
	}
	return nil
}

// resolveTags finds out what the Resource-Tags of the If header name, in any of
// the principal's mounts. It is done before the store's transaction, which a
// look-up of teams would hold up.
func (q *request) resolveTags() error {
	if q.ifHeader == nil {
		return nil
	}
	q.ifTags = map[string]location{"": q.location}
	for _, list := range q.ifHeader.lists {
		if _, done := q.ifTags[list.tag]; done {
			continue
		}
		loc, err := q.resolveTag(list.tag)
		if err != nil {
			return err
		}
		q.ifTags[list.tag] = loc
	}
	return nil
}

// resolveTag maps a Resource-Tag. URLs of other servers, and those of this one
// that no resource can have, name nothing.
func (q *request) resolveTag(tag string) (location, error) {
	d, err := parseDestination(tag)
	if err != nil || !q.ownOrigin(d) {
		return location{}, nil
	}
	loc, err := q.resolve(q.internal(d.escapedPath))
	var grammar *httpError
	if errors.As(err, &grammar) {
		return location{}, nil
	}
	return loc, err
}

// tagged is what a Resource-Tag names; "" is the Request-URI. ok is false when
// that is no resource and has no state.
func (q *request) tagged(tag string) (loc location, ok bool) {
	loc = q.ifTags[tag]
	return loc, loc.mount != nil
}

// stateless is the state of a URL that is no resource: nothing is true of it.
type stateless struct{}

func (stateless) hasToken(string) bool    { return false }
func (stateless) matchesETag(string) bool { return false }

// viewState is the state of a resource inside a transaction, mapped or not.
type viewState struct {
	store.Resource
	view store.View
	q    *request
	user int64
	also []store.Resource // at and below these, locks of the user count too
}

// hasToken implements ifState. Locks of other origins have no token here. The
// ids in places are of one workspace only, so none is mistaken for another.
func (s viewState) hasToken(token string) bool {
	if isSyncToken(token) {
		return s.Exists && s.q.atSyncToken(s.Node, token)
	}
	l, _, ok := s.view.Lock(token)
	if !ok || l.Origin != lockns.WebDAV {
		return false
	}
	if l.Covers(s.Place) {
		return true
	}
	for _, r := range s.also {
		if l.Holder == s.user && r.Exists && r.Place.Holds(l.Place) {
			return true
		}
	}
	return false
}

// matchesETag implements ifState.
func (s viewState) matchesETag(etag string) bool {
	return s.Exists && s.Node.ETag != "" && s.Node.ETag == etag
}

// checkIf decides the If header of a method that changes nothing, GET, HEAD and
// PROPFIND, on what is there to read. A missing resource comes first.
func (q *request) checkIf() error {
	if q.ifHeader == nil {
		return nil
	}
	if _, err := q.stat(); err != nil {
		return err
	}
	var failed error
	states := map[string]ifState{}
	holds := q.ifHeader.eval(func(tag string) ifState {
		if states[tag] == nil {
			states[tag] = stateless{}
			if loc, ok := q.tagged(tag); ok && failed == nil {
				states[tag], failed = q.readState(loc.target())
			}
		}
		return states[tag]
	})
	if failed != nil {
		return fmt.Errorf("read state for If: %w", failed)
	}
	if !holds {
		return store.ErrPrecondition
	}
	return nil
}

// readState is the state of a resource outside a change. A URL that maps to
// nothing is still covered by the locks that reach the members of its parent.
func (q *request) readState(t store.Target) (ifState, error) {
	e, err := q.entry(t)
	if errors.Is(err, store.ErrNotFound) && !t.Path.IsRoot() {
		var parent store.Entry
		t.Path = t.Path.Parent()
		parent, err = q.entry(t)
		if errors.Is(err, store.ErrNotFound) {
			return stateless{}, nil
		}
		if !parent.IsFolder() {
			return stateless{}, err
		}
		return entryState{place: parent.Place.Unmapped(), locks: parent.Locks}, err
	}
	return entryState{q: q, node: e.Node, place: e.Place, etag: e.ETag, locks: e.Locks}, err
}

// entry reads one resource with the locks that cover it.
func (q *request) entry(t store.Target) (entry store.Entry, err error) {
	err = q.store().Walk(q.r.Context(), t, store.DepthZero, store.Want{Locks: true}, 0, func(e store.Entry) error {
		entry = e
		return nil
	})
	return entry, err
}

// entryState is the state of a resource that was read.
type entryState struct {
	q     *request
	node  store.Node // zero when the URL maps to nothing
	place lockns.Place
	etag  string
	locks []lockns.Lock
}

// hasToken implements ifState.
func (s entryState) hasToken(token string) bool {
	if isSyncToken(token) {
		return s.q != nil && s.q.atSyncToken(s.node, token)
	}
	return slices.ContainsFunc(s.locks, func(l lockns.Lock) bool {
		return l.Token == token && l.Origin == lockns.WebDAV && l.Covers(s.place)
	})
}

// matchesETag implements ifState.
func (s entryState) matchesETag(etag string) bool { return s.etag != "" && s.etag == etag }
