package dav

import (
	"net/http"
	"strings"

	"holdfast/lockns"
	"holdfast/store"
)

// readMethods are those of the collections that dav makes up.
var readMethods = []string{http.MethodOptions, "PROPFIND"}

// ServeRoot answers at "/", the collection of the principal's mounts. Windows
// and GNOME ask it, and each collection on the way to a mount, before they
// mount.
func (h *Handler) ServeRoot(w http.ResponseWriter, r *http.Request, p Principal) {
	h.serveMadeUp(w, r, p, func(q *request, w http.ResponseWriter) error {
		if q.depth == depthAbsent || q.depth == depthInfinity {
			return errCondition(http.StatusForbidden, "propfind-finite-depth", "ask with Depth 0 or 1")
		}
		return q.listMounts(w)
	})
}

// ServePrincipal answers at /principals/NAME/, the user's own URL only.
func (h *Handler) ServePrincipal(w http.ResponseWriter, r *http.Request, p Principal) {
	h.serveMadeUp(w, r, p, func(q *request, w http.ResponseWriter) error {
		rest, ok := cutPrefix(r.URL.EscapedPath(), principalHref(p.Name))
		if !ok || p.Anonymous || strings.Trim(rest, "/") != "" {
			return store.ErrNotFound
		}
		pw, err := q.newPropWriter(w)
		if err != nil {
			return err
		}
		return pw.finish(pw.entry(listed{
			Entry: store.Entry{Node: madeUp}, kind: principalURL,
			href: principalHref(p.Name), displayName: p.Name,
		}))
	})
}

// madeUp is the node of a collection the store does not know.
var madeUp = store.Node{Place: lockns.Place{Root: lockns.Root{Kind: lockns.WorkspaceRoot}}}

// serveMadeUp answers OPTIONS and refuses whatever is not PROPFIND.
func (h *Handler) serveMadeUp(w http.ResponseWriter, r *http.Request, p Principal, propfind func(*request, http.ResponseWriter) error) {
	if r.Method == http.MethodOptions && r.URL.Path == "*" {
		serveOptions(w, allMethods) // the server as a whole (RFC 9110 section 9.3.7)
		return
	}
	if r.Method == http.MethodOptions {
		serveOptions(w, readMethods)
		return
	}
	q := &request{h: h, r: r, principal: p, mount: mount{prefix: h.opt.Prefix, workspace: p.Workspace}}
	var err error
	switch {
	case r.Method == "PROPFIND":
		if q.depth, err = parseDepth(r.Header.Values("Depth")); err == nil {
			err = propfind(q, w)
		}
	case handlers[r.Method] != nil:
		err = errStatus(http.StatusMethodNotAllowed, "this collection only lists what is below it")
	default:
		err = errUnknownMethod(r.Method)
	}
	if err != nil {
		q.failWith(w, err, readMethods)
	}
}

// listMounts writes "/" and, with Depth 1, the principal's mount.
func (q *request) listMounts(w http.ResponseWriter) error {
	pw, err := q.newPropWriter(w)
	if err != nil {
		return err
	}
	err = pw.entry(listed{Entry: store.Entry{Node: madeUp}, kind: mountList, href: "/", displayName: "/"})
	if err == nil && q.depth == depth1 {
		err = q.h.opt.Store.Walk(q.r.Context(), q.target(), store.DepthZero, pw.want, 0, func(e store.Entry) error {
			return pw.entry(listed{Entry: e, href: q.entryHref(e), displayName: q.nameOf(e)})
		})
	}
	return pw.finish(err)
}
