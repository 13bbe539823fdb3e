package dav

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"holdfast/store"
)

var (
	errSyncDepth = badRequest("a sync-collection report has Depth 0; how deep it goes is said by sync-level")
	errNoResults = errCondition(http.StatusInsufficientStorage, "number-of-matches-within-limits", "no changes fit into a limit of none")
)

// syncCollection serves the report of RFC 6578 section 3.2: what changed in a
// collection since a token, streamed, and a token for the next time. An answer
// that is cut short, by the client's limit or by Options.PropfindMax, says so by
// a 507 of the Request-URI, and its token goes on from there (section 3.6).
func (q *request) syncCollection(w http.ResponseWriter, ask syncCollection) error {
	switch {
	case q.depth != depthAbsent && q.depth != depth0:
		return errSyncDepth
	case ask.limit == 0:
		return errNoResults
	}
	since, ok := q.parseSyncToken(ask.token)
	if !ok {
		return store.ErrPosition
	}
	limit := q.h.opt.PropfindMax
	if ask.limit > 0 && (limit == 0 || ask.limit < limit) {
		limit = ask.limit
	}
	pw := q.newPropWriterFor(w, propfind{kind: propfindProps, props: ask.props})
	if err := pw.readUsage(); err != nil {
		return err
	}
	now, more, err := q.store().Changes(q.r.Context(), q.target(), since, pw.want, limit, func(c store.Change) error {
		return pw.change(c, ask.infinite)
	})
	if err == nil {
		if more {
			pw.m.responseStatus(q.href(true), http.StatusInsufficientStorage, "number-of-matches-within-limits")
		}
		pw.m.text("sync-token", q.syncToken(now))
	}
	return pw.finish(err)
}

// change writes the response of a member: 404 when it is gone (RFC 6578 section
// 3.5.2). Below one another report has to be asked, of which a client that wants
// all levels is told (section 3.3).
func (pw *propWriter) change(c store.Change, infinite bool) error {
	q := pw.q
	if q.h.isBlocked(c.Name) {
		return nil
	}
	path := append(slices.Clip(q.path), c.Name)
	href := q.mount.href(path, c.Folder)
	switch {
	case c.Entry == nil:
		pw.m.responseStatus(href, http.StatusNotFound, "")
	case c.Folder && infinite:
		pw.m.responseStatus(href, http.StatusForbidden, "sync-traversal-supported")
	default:
		e := *c.Entry
		e.Path = path
		return pw.entry(listed{Entry: e, href: href, displayName: c.Name})
	}
	return pw.m.err
}

// syncTokenPrefix begins every sync token. A token has to be a URI (RFC 6578
// section 6.2), and "data" is a scheme that promises no more than to hold some
// text (RFC 2397). What follows is the database, the folder and the last change
// known; while a first listing is under way also where it goes on:
//
//	data:,sync/INSTANCE/FOLDER/CHANGE
//	data:,sync/INSTANCE/FOLDER/CHANGE/d/NAME   (or f, among the files)
const syncTokenPrefix = "data:,sync/"

// syncToken is a position as clients see it.
func (q *request) syncToken(p store.Position) string {
	b := append([]byte(syncTokenPrefix), q.store().Instance()...)
	b = strconv.AppendInt(append(b, '/'), p.Folder, 10)
	b = strconv.AppendInt(append(b, '/'), p.Change, 10)
	if p.Listing {
		kind := "/d/"
		if p.Files {
			kind = "/f/"
		}
		b = appendSegment(append(b, kind...), p.After)
	}
	return string(b)
}

// parseSyncToken is the way back. The empty token is the zero Position; ok is
// false for what syncToken has not written, or not in this database.
func (q *request) parseSyncToken(token string) (p store.Position, ok bool) {
	if token == "" {
		return p, true
	}
	rest, ok := strings.CutPrefix(token, syncTokenPrefix+q.store().Instance()+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 2 && len(parts) != 4 {
		return p, false
	}
	p.Folder, _ = strconv.ParseInt(parts[0], 10, 64)
	p.Change, _ = strconv.ParseInt(parts[1], 10, 64)
	if len(parts) == 4 {
		p.Listing, p.Files = true, parts[2] == "f"
		p.After, _ = percentDecode(parts[3])
	}
	// Whatever was not read as it is written makes another token.
	return p, p.Folder > 0 && q.syncToken(p) == token
}

// isSyncToken tells a sync token from a lock token, which both may stand in an If
// header (RFC 6578 section 5).
func isSyncToken(token string) bool { return strings.HasPrefix(token, syncTokenPrefix) }

// atSyncToken reports whether a token is that of a resource as it is: nothing in
// the collection changed since.
func (q *request) atSyncToken(n store.Node, token string) bool {
	return isSyncToken(token) && n.IsFolder() && q.syncToken(n.Position()) == token
}
