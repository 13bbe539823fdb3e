package dav

import (
	"net/http"
	"strings"

	"holdfast/store"
)

// foldName is a name as blocked names are compared: without regard to case and
// normal form.
func foldName(name string) string { return strings.ToLower(store.NameKey(name)) }

// hasBlocked reports whether a name of the path is blocked.
func (h *Handler) hasBlocked(p store.Path) bool {
	if len(h.blocked) == 0 {
		return false
	}
	for _, name := range p {
		if h.blocked[foldName(name)] {
			return true
		}
	}
	return false
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
