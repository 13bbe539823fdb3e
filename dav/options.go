package dav

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"holdfast/store"
)

// options answers OPTIONS for a URL at or below a mount, mapped or not, even one
// that no resource can have. failed is what went wrong when it was located.
// Below a team that is unknown to the principal there is nothing to write to.
func (q *request) options(w http.ResponseWriter, failed error) error {
	var grammar *httpError
	switch {
	case failed == nil, errors.As(failed, &grammar):
		serveOptions(w, q.methods())
	case errors.Is(failed, store.ErrNotFound):
		serveOptions(w, readMethods)
	default:
		return failed
	}
	return nil
}

// serveOptions answers OPTIONS (RFC 4918 section 10.1), for any URL and for
// "*". Class 2 is what makes Finder mount for writing, MS-Author-Via what makes
// Office and Explorer speak WebDAV.
func serveOptions(w http.ResponseWriter, methods []string) {
	h := w.Header()
	h.Set("DAV", "1, 2, 3, extended-mkcol")
	h.Set("MS-Author-Via", "DAV")
	h.Set("Allow", strings.Join(methods, ", "))
	if slices.Contains(methods, "SEARCH") {
		h.Set("DASL", grammars)
	}
	h.Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
}
