package server

import (
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"holdfast/dav"
)

// corsMaxAge is how many seconds a browser may remember the answer to a
// preflight; Chromium remembers none longer.
const corsMaxAge = "7200"

// corsMethods are the methods that a page of a named origin may use: those of
// WebDAV and of the API.
var corsMethods = strings.Join(append(dav.Methods(), http.MethodPost, http.MethodPatch), ", ")

// corsHeaders are the request headers that a page of a named origin may send.
var corsHeaders = []string{
	"Accept", "Accept-Language", "Authorization", "Cache-Control", "Content-Language", "Content-Range", "Content-Type",
	"Depth", "Destination", "If", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Lock-Token",
	"OC-Checksum", "OC-Chunked", "OC-Total-Length", "Overwrite", "Pragma",
	"Prefer", "Range", "TE", "Timeout", "Translate", "User-Agent", "X-Expected-Entity-Length", "X-OC-Mtime", "X-Requested-With",
}

// corsExposed are the headers of an answer that such a page may read besides
// those it always may.
var corsExposed = strings.Join([]string{
	"Allow", "Content-Length", "Content-Range", "DAV", "ETag", "Last-Modified", "Location", "Lock-Token", "MS-Author-Via",
	"OC-Checksum", "OC-ETag", "OC-FileId", "Preference-Applied", "Retry-After", "WWW-Authenticate", "X-OC-Mtime", "X-Request-Id",
}, ", ")

// parseNamedOrigin reads an origin of --cors-origin into the form that browsers
// send (RFC 6454 section 6.2): lower case, without default port, nothing after
// the host.
func parseNamedOrigin(text string) (string, error) {
	if strings.Contains(text, "*") {
		return "", fmt.Errorf("%q: name each origin; there is no wildcard, since any page that somebody visits could then use the server", text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || u.User != nil || strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q is not of the form SCHEME://HOST[:PORT], such as https://app.example or app://obsidian.md", text)
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return scheme + "://" + host, nil
}

// crossOrigin lets pages of the origins in --cors-origin read answers, refusals
// too (Fetch standard, "CORS protocol"). Their scripts send an Authorization
// header of their own: credentials that a browser keeps are not for them, so
// there is no Access-Control-Allow-Credentials.
func (s *Server) crossOrigin(next http.Handler) http.Handler {
	if len(s.named) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); slices.Contains(s.named, origin) {
			h.Set("Access-Control-Allow-Origin", origin)
			if !isPreflight(r) {
				h.Set("Access-Control-Expose-Headers", corsExposed)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// isPreflight reports whether a browser asks, before the real request and always
// without credentials, whether a page of another origin may send it (Fetch
// standard, "CORS-preflight request").
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight answers what asks no more than that, without a login. An origin that
// is not named is allowed nothing, and its browser keeps the request.
func (s *Server) preflight(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isPreflight(r) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
		if slices.Contains(s.named, r.Header.Get("Origin")) {
			h.Set("Access-Control-Allow-Methods", corsMethods)
			if allowed := knownHeaders(r.Header.Values("Access-Control-Request-Headers")); allowed != "" {
				h.Set("Access-Control-Allow-Headers", allowed)
			}
			h.Set("Access-Control-Max-Age", corsMaxAge)
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// knownHeaders are those of the headers asked for that a page may send, each
// once.
func knownHeaders(asked []string) string {
	var known []string
	for _, line := range asked {
		for name := range strings.SplitSeq(line, ",") {
			name = textproto.TrimString(name)
			i := slices.IndexFunc(corsHeaders, func(h string) bool { return strings.EqualFold(h, name) })
			if i >= 0 && !slices.Contains(known, corsHeaders[i]) {
				known = append(known, corsHeaders[i])
			}
		}
	}
	return strings.Join(known, ", ")
}
