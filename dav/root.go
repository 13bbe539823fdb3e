package dav

import (
	"errors"
	"net/http"
	"strings"

	"holdfast/lockns"
	"holdfast/store"
)

// readMethods are those of the collections that dav makes up.
var readMethods = []string{http.MethodOptions, "PROPFIND"}

// ServeRoot answers at "/", the collection of the principal's mounts, and for
// "*", the server as a whole. Windows and GNOME ask it, and each collection on
// the way to a mount, before they mount.
func (h *Handler) ServeRoot(w http.ResponseWriter, r *http.Request, p Principal) {
	q := &request{h: h, r: r, principal: p}
	if r.Method == http.MethodOptions && r.URL.Path == "*" {
		serveOptions(w, q.methods()) // RFC 9110 section 9.3.7
		return
	}
	q.serveMadeUp(w, (*request).listRoot)
}

// ServePrincipal answers at /principals/NAME/, the user's own URL only.
func (h *Handler) ServePrincipal(w http.ResponseWriter, r *http.Request, p Principal) {
	q := &request{h: h, r: r, principal: p}
	q.serveMadeUp(w, (*request).showPrincipal)
}

// madeUp is the node of a collection the store does not know.
var madeUp = store.Node{Place: lockns.Place{Root: lockns.Root{Kind: lockns.WorkspaceRoot}}}

// serveMadeUp answers for a collection that the store does not know: OPTIONS,
// and PROPFIND by the function, but no other method.
func (q *request) serveMadeUp(w http.ResponseWriter, propfind func(*request, http.ResponseWriter) error) {
	var err error
	switch {
	case q.r.Method == http.MethodOptions:
		serveOptions(w, readMethods)
	case q.r.Method == "PROPFIND":
		if q.depth, err = parseDepth(q.r.Header.Values("Depth")); err == nil {
			err = propfind(q, w)
		}
	case handlers[q.r.Method] != nil:
		err = errStatus(http.StatusMethodNotAllowed, "this collection only lists what is below it")
	default:
		err = errUnknownMethod(q.r.Method)
	}
	if err != nil {
		q.failWith(w, err, readMethods)
	}
}

// showPrincipal writes the URL of a user.
func (q *request) showPrincipal(w http.ResponseWriter) error {
	href := principalHref(q.principal.Name)
	rest, ok := cutPrefix(q.r.URL.EscapedPath(), href)
	if !ok || q.principal.Anonymous || strings.Trim(rest, "/") != "" {
		return store.ErrNotFound
	}
	pw, err := q.newPropWriter(w)
	if err != nil {
		return err
	}
	return pw.finish(pw.madeUp(principalURL, href, q.principal.Name))
}

// isTeamsURL reports whether the request is for the collection of the teams'
// mounts.
func (q *request) isTeamsURL() bool {
	rest, ok := q.h.cutTeams(q.r.URL.EscapedPath())
	if ok {
		_, _, ok = cutSegment(rest)
		return !ok
	}
	return false
}

// teamsHref is the URL of the collection of the teams' mounts.
func (q *request) teamsHref() string { return q.h.opt.TeamsPrefix + "/" }

// listRoot writes "/" and, with Depth 1, the principal's own mount and, when
// they have any, the collection of their teams' mounts.
func (q *request) listRoot(w http.ResponseWriter) error {
	return q.listMounts(w, "/", "/", func(pw *propWriter) error {
		teams, err := q.teamMounts()
		if err == nil {
			err = pw.mount(q.ownMount())
		}
		if err == nil && len(teams) > 0 {
			err = pw.madeUp(mountList, q.teamsHref(), "teams")
		}
		return err
	})
}

// listTeams writes the collection of the teams' mounts and, with Depth 1, those.
func (q *request) listTeams(w http.ResponseWriter) error {
	if !q.hasTeams() {
		return store.ErrNotFound
	}
	return q.listMounts(w, q.teamsHref(), "teams", func(pw *propWriter) error {
		teams, err := q.teamMounts()
		for _, m := range teams {
			if err == nil {
				err = pw.mount(m)
			}
		}
		return err
	})
}

// listMounts writes a collection of mounts and, with Depth 1, its members. Deeper
// than that nobody needs to look.
func (q *request) listMounts(w http.ResponseWriter, href, name string, members func(*propWriter) error) error {
	if q.depth == depthAbsent || q.depth == depthInfinity {
		return errFiniteDepth
	}
	pw, err := q.newPropWriter(w)
	if err != nil {
		return err
	}
	if q.depth == depth1 && q.preferences().noRoot {
		applied(w, "depth-noroot")
	} else {
		err = pw.madeUp(mountList, href, name)
	}
	if err == nil && q.depth == depth1 {
		err = members(pw)
	}
	return pw.finish(err)
}

var errFiniteDepth = errCondition(http.StatusForbidden, "propfind-finite-depth", "ask with Depth 0 or 1")

// madeUp writes a resource that the store does not know; href is its URL here.
func (pw *propWriter) madeUp(kind listedKind, href, name string) error {
	return pw.entry(listed{Entry: store.Entry{Node: madeUp}, kind: kind, href: pw.q.external() + href, displayName: name})
}

// mount writes the root of a mount; one that is gone by now is no member.
func (pw *propWriter) mount(m *mount) error {
	pw.q.location = location{mount: m}
	err := pw.readUsage()
	if err == nil {
		err = pw.walk(store.DepthZero, 0)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
