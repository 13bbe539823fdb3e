package dav

import (
	"net/http"
	"slices"

	"holdfast/store"
)

// isBlocked reports whether a name is blocked.
func (h *Handler) isBlocked(name string) bool {
	return len(h.blocked) > 0 && h.blocked[store.CaselessKey(name)]
}

// hasBlocked reports whether a name of the path is blocked.
func (h *Handler) hasBlocked(p store.Path) bool { return slices.ContainsFunc(p, h.isBlocked) }

// walk calls fn for the resource of the Request-URI and what is below it, as the
// store's Walk does. What lies under a blocked name, from a time when it was not,
// is not shown.
func (q *request) walk(depth int, want store.Want, limit int, fn func(store.Entry) error) error {
	return q.store().Walk(q.r.Context(), q.target(), depth, want, limit, func(e store.Entry) error {
		if len(e.Path) > len(q.path) && q.h.isBlocked(e.Name) {
			return store.ErrSkipBelow
		}
		return fn(e)
	})
}

// checkBlocked refuses a request that names a blocked resource, before anything
// is looked up. Reading finds nothing there, everything else is forbidden.
func (q *request) checkBlocked() error {
	if q.h.hasBlocked(q.dest.path) {
		return errBlocked
	}
	if !q.h.hasBlocked(q.path) {
		return nil
	}
	switch q.r.Method {
	case http.MethodGet, http.MethodHead, "PROPFIND", "SEARCH", "REPORT":
		return store.ErrNotFound
	}
	return errBlocked
}

var errBlocked = errStatus(http.StatusForbidden, "the name is reserved")
