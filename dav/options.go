package dav

import (
	"net/http"
	"strings"
)

// serveOptions answers OPTIONS (RFC 4918 section 10.1), for any URL and for
// "*". Class 2 is what makes Finder mount for writing, MS-Author-Via what makes
// Office and Explorer speak WebDAV.
func serveOptions(w http.ResponseWriter, methods []string) {
	h := w.Header()
	h.Set("DAV", "1, 2, 3, extended-mkcol")
	h.Set("MS-Author-Via", "DAV")
	h.Set("Allow", strings.Join(methods, ", "))
	h.Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
}
