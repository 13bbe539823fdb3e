package dav

import (
	"mime"
	"net/http"
	"strings"
	"time"

	"holdfast/dav/content"
	"holdfast/store"
)

// request is one request with everything its headers say, parsed and checked.
// It is also the store.Claim of its request. Nothing of it travels through a
// context.
type request struct {
	h         *Handler
	r         *http.Request
	principal Principal
	own       map[string]*mount // the principal's own, by prefix, once asked for
	teams     map[string]*mount // those looked up, by name; nil for no team of theirs

	location           // of the Request-URI
	dest      location // of the Destination, for COPY and MOVE
	depth     depth
	overwrite bool

	ifHeader   *ifHeader           // nil when not sent
	ifTags     map[string]location // what the tags of ifHeader name
	conditions content.Conditions
	// modified is the modification time that comes with the request, zero when
	// there is none to obey.
	modified time.Time
}

// admit reads the headers of a located request and refuses what the rest relies
// on not to see, go-webdav included. Every failure is of the grammar, the
// mounts, the blocked names or the principal's access; no resource is looked up.
func (q *request) admit() error {
	if err := q.readConditions(); err != nil {
		return err
	}
	var err error
	if q.depth, err = parseDepth(q.r.Header.Values("Depth")); err != nil && q.wantsDepth() {
		return err
	}
	q.readModified()
	if q.r.Method == "COPY" || q.r.Method == "MOVE" {
		if q.overwrite, err = parseOverwrite(q.r.Header); err != nil {
			return err
		}
		if q.dest, err = q.destination(); err != nil {
			return err
		}
	}
	if err := q.checkBlocked(); err != nil {
		return err
	}
	return q.checkAccess()
}

// locate finds out what the Request-URI names.
func (q *request) locate() error {
	if err := checkTarget(q.r); err != nil {
		return err
	}
	loc, err := q.resolve(q.r.URL.EscapedPath())
	if err != nil {
		return err
	}
	if loc.mount == nil {
		return store.ErrNotFound
	}
	q.location, loc.asked = loc, loc
	return nil
}

// checkTarget refuses a fragment, which is no part of a request target (RFC 9110
// section 7.1): net/http takes a '#' into the path, where it can't be told from %23
// any more.
func checkTarget(r *http.Request) error {
	if strings.Contains(r.RequestURI, "#") {
		return badRequest("the request target has a fragment")
	}
	return nil
}

// wantsDepth reports whether the method has a Depth header (RFC 4918 section
// 10.2). Some clients send one with everything.
func (q *request) wantsDepth() bool {
	switch q.r.Method {
	case "PROPFIND", "REPORT", "LOCK", "COPY", "MOVE", http.MethodDelete:
		return true
	}
	return false
}

// readConditions parses the headers that make a request conditional.
func (q *request) readConditions() (err error) {
	header := q.r.Header
	if q.ifHeader, err = parseIf(header.Values("If")); err != nil {
		return err
	}
	if err := q.resolveTags(); err != nil {
		return err
	}
	q.conditions = content.ParseConditions(header)
	return nil
}

// destination reads the Destination header. Another server's is 502 (RFC 4918
// section 9.8.5); a URL of this server outside the principal's mounts can't take
// a copy and is 403.
func (q *request) destination() (location, error) {
	values := q.r.Header.Values("Destination")
	if len(values) > 1 {
		return location{}, badRequest("the Destination header is repeated")
	}
	d, err := parseDestination(q.r.Header.Get("Destination"))
	if err != nil {
		return location{}, err
	}
	if !q.ownOrigin(d) {
		return location{}, errStatus(http.StatusBadGateway, "the destination is on another server")
	}
	loc, err := q.resolve(q.internal(d.escapedPath))
	if err != nil {
		return location{}, err
	}
	if loc.mount == nil {
		return location{}, errStatus(http.StatusForbidden, "the destination is not a place for files")
	}
	return loc, nil
}

// ownOrigin reports whether scheme and host of a URL are this server's. The
// schemes of file managers stand for those of HTTP.
func (q *request) ownOrigin(d destination) bool {
	switch d.scheme {
	case "":
		return true
	case "http", "webdav", "dav":
		return q.h.opt.Origin(q.r, "http", d.host)
	}
	return q.h.opt.Origin(q.r, "https", d.host)
}

// store is where the resources are.
func (q *request) store() *store.Store { return q.h.opt.Store }

// external is the path that goes before those of this server in the client's
// URLs.
func (q *request) external() string { return q.h.opt.External(q.r) }

// internal is the path here of a URL in a header. Some proxies strip the prefix
// there too, so that it need not stand before it.
func (q *request) internal(escapedPath string) string {
	if rest, ok := cutPrefix(escapedPath, q.external()); ok {
		return rest
	}
	return escapedPath
}

// href is the reference of the Request-URI in the client's own spelling.
func (q *request) href(collection bool) string { return q.mount.href(q.path, collection) }

// stat is the resource of the Request-URI.
func (q *request) stat() (store.Node, error) {
	return q.store().Stat(q.r.Context(), q.target())
}

// refuseDepth fails when the Request-URI is a collection and the Depth header
// has another value than infinity. On a file Depth is ignored, so it is looked
// up only then.
func (q *request) refuseDepth() error {
	if q.depth == depthAbsent || q.depth == depthInfinity {
		return nil
	}
	node, err := q.stat()
	if err != nil {
		return err
	}
	if node.IsFolder() {
		return badRequest("the method works on a collection with Depth infinity only")
	}
	return nil
}

// checkXMLType refuses a body that says it is something else than XML. Without
// a type it is XML, and so it is with the types that curl and fetch() give to any
// text: that of HTML forms, and plain text.
func (q *request) checkXMLType() error {
	if q.r.ContentLength == 0 || xmlContentType(q.r.Header) {
		return nil
	}
	switch t, _, _ := mime.ParseMediaType(q.r.Header.Get("Content-Type")); t {
	case "application/x-www-form-urlencoded", "text/plain":
		return nil
	}
	return errStatus(http.StatusUnsupportedMediaType, "the body must be XML")
}
