package dav

import (
	"math"
	"mime"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// depth is the value of a Depth header (RFC 4918 section 10.2). What an absent
// one means depends on the method.
type depth int

const (
	depthAbsent depth = iota
	depth0
	depth1
	depthInfinity
)

// parseDepth reads the lines of a Depth header. Equal lines count once; any
// other repetition, and any value the RFC doesn't know, is 400.
func parseDepth(values []string) (depth, error) {
	value, ok := single(values, strings.EqualFold)
	if !ok {
		return depthAbsent, badRequest("the Depth header is repeated with different values")
	}
	switch {
	case len(values) == 0:
		return depthAbsent, nil
	case value == "0":
		return depth0, nil
	case value == "1":
		return depth1, nil
	case strings.EqualFold(value, "infinity"):
		return depthInfinity, nil
	}
	return depthAbsent, badRequest("the Depth header must be 0, 1 or infinity")
}

// parseOverwrite reads the Overwrite header (RFC 4918 section 10.6): T unless
// it says F. Anything else is 400.
func parseOverwrite(h http.Header) (bool, error) {
	values := h.Values("Overwrite")
	value, ok := single(values, strings.EqualFold)
	switch {
	case len(values) == 0:
		return true, nil
	case ok && strings.EqualFold(value, "T"):
		return true, nil
	case ok && strings.EqualFold(value, "F"):
		return false, nil
	}
	return false, badRequest("the Overwrite header must be T or F")
}

// single returns the one trimmed value of a header that must not be a list,
// and false when its lines differ.
func single(values []string, equal func(a, b string) bool) (string, bool) {
	if len(values) == 0 {
		return "", true
	}
	first := trimOWS(values[0])
	for _, value := range values[1:] {
		if !equal(first, trimOWS(value)) {
			return "", false
		}
	}
	return first, true
}

// trimOWS removes the optional white space of RFC 9110 section 5.6.3.
func trimOWS(s string) string { return strings.Trim(s, " \t") }

// maxTimeout is the longest whole number of seconds a Duration holds.
const maxTimeout = math.MaxInt64 / time.Second * time.Second

// parseTimeout reads the lines of a Timeout header (RFC 4918 section 10.7) and
// returns the first entry it can use: a whole number of seconds above zero, or
// infinite. ok is false when there is none, which means the server's default;
// a Timeout is a wish and never fails a request. Numbers too large for a
// Duration become the longest one.
func parseTimeout(values []string) (d time.Duration, infinite, ok bool) {
	for _, line := range values {
		for more := true; more; {
			var entry string
			entry, line, more = strings.Cut(line, ",")
			entry = trimOWS(entry)
			if strings.EqualFold(entry, "Infinite") {
				return 0, true, true
			}
			if d, ok := parseSeconds(entry); ok {
				return d, false, true
			}
		}
	}
	return 0, false, false
}

// parseSeconds reads "Second-N" with N above zero.
func parseSeconds(entry string) (time.Duration, bool) {
	const prefix = "Second-"
	if len(entry) <= len(prefix) || !strings.EqualFold(entry[:len(prefix)], prefix) {
		return 0, false
	}
	digits := entry[len(prefix):]
	if !allDigits(digits) {
		return 0, false
	}
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || seconds > int64(maxTimeout/time.Second) {
		return maxTimeout, true // only the range can be wrong
	}
	return time.Duration(seconds) * time.Second, seconds > 0
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// parseLockToken reads a Lock-Token header (RFC 4918 section 10.5). The angle
// brackets may be missing, as some clients send it; a token with blanks,
// control characters or brackets inside, or an empty one, is 400.
func parseLockToken(value string) (token string, err error) {
	token = trimOWS(value)
	if rest, ok := strings.CutPrefix(token, "<"); ok {
		if token, ok = strings.CutSuffix(rest, ">"); !ok {
			return "", badRequest("the Lock-Token header has no closing bracket")
		}
	}
	if !isURIText(token) {
		return "", badRequest("the Lock-Token header must hold one lock token")
	}
	return token, nil
}

// isURIText reports whether s could be a URI as far as finding its end goes:
// not empty and free of blanks, control characters and angle brackets.
func isURIText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7F || c == '<' || c == '>' {
			return false
		}
	}
	return s != ""
}

// xmlContentType reports whether a request body may be read as XML: its type is
// text/xml, application/xml or one with the suffix +xml (RFC 7303), or it has
// none, as many clients send it.
func xmlContentType(h http.Header) bool {
	value := trimOWS(h.Get("Content-Type"))
	if value == "" {
		return true
	}
	mediaType, _, err := mime.ParseMediaType(value)
	if err != nil && mediaType == "" {
		return false
	}
	return mediaType == "text/xml" || mediaType == "application/xml" || strings.HasSuffix(mediaType, "+xml")
}

// parseEntityLength reads X-Expected-Entity-Length, by which the macOS client
// announces the size of a chunked upload. ok is false when it is absent; what
// is no size is 400, since accepting it would drop the only check a chunked
// body has.
func parseEntityLength(h http.Header) (n int64, ok bool, err error) {
	values := h.Values("X-Expected-Entity-Length")
	if len(values) == 0 {
		return 0, false, nil
	}
	value, same := single(values, func(a, b string) bool { return a == b })
	if !same || !allDigits(value) {
		return 0, false, badRequest("the X-Expected-Entity-Length header must be a number of bytes")
	}
	n, err = strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, false, badRequest("the X-Expected-Entity-Length header is out of range")
	}
	return n, true, nil
}

// destination is the value of a Destination header (RFC 4918 section 10.3).
// Whether scheme and host are this server's is the caller's decision.
type destination struct {
	scheme      string // lower case; "" for an absolute path
	host        string // lower case, without user info and default port; "" for an absolute path
	escapedPath string // begins with "/", still percent-encoded
}

// defaultPorts lists the schemes a DAV resource can have. The webdav and dav
// ones come from file managers that show them to their users.
var defaultPorts = map[string]string{
	"http": "80", "webdav": "80", "dav": "80",
	"https": "443", "webdavs": "443", "davs": "443",
}

// parseDestination reads a Destination header: an absolute URI, or an absolute
// path as RFC 4918 section 8.3 allows. Failures are 400; a URI of a scheme that
// can't be this server is 502 like any other server's.
func parseDestination(value string) (destination, error) {
	value = trimOWS(value)
	if value == "" {
		return destination{}, badRequest("the Destination header is missing")
	}
	if !isURIText(value) || strings.ContainsAny(value, "?#") {
		return destination{}, badRequest("the Destination header must be a URI without query and fragment")
	}
	if value[0] == '/' {
		if strings.HasPrefix(value, "//") {
			return destination{}, badRequest("the Destination header must be an absolute URI or an absolute path")
		}
		return destination{escapedPath: value}, nil
	}
	scheme, rest, ok := strings.Cut(value, "://")
	if !ok {
		return destination{}, badRequest("the Destination header must be an absolute URI or an absolute path")
	}
	scheme = strings.ToLower(scheme)
	port, known := defaultPorts[scheme]
	if !known {
		return destination{}, errStatus(http.StatusBadGateway, "the destination is on another server")
	}
	authority, path := rest, "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	host, err := normalizeHost(authority, port)
	if err != nil {
		return destination{}, err
	}
	return destination{scheme: scheme, host: host, escapedPath: path}, nil
}

// normalizeHost brings an authority into the form in which two of them can be
// compared (RFC 3986 sections 6.2.2.1 and 6.2.3): lower case, no user info, no
// default port, an IPv6 address in its shortest spelling.
func normalizeHost(authority, defaultPort string) (string, error) {
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	host, port, _ := strings.Cut(authority, ":")
	if strings.HasPrefix(authority, "[") {
		literal, rest, closed := strings.Cut(authority[1:], "]")
		addr, err := netip.ParseAddr(literal)
		if err != nil || !closed || !addr.Is6() || addr.Zone() != "" || rest != "" && rest[0] != ':' {
			return "", errBadHost
		}
		host, port = "["+addr.String()+"]", strings.TrimPrefix(rest, ":")
	} else if !isHostName(host) {
		return "", errBadHost
	}
	host = strings.ToLower(host)
	if port == "" {
		return host, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", errBadHost
	}
	if port = strconv.FormatUint(n, 10); port != defaultPort {
		host += ":" + port
	}
	return host, nil
}

var errBadHost = badRequest("the Destination header has no valid host and port")

// isHostName reports whether s is a host name or an IPv4 address by its
// characters.
func isHostName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (s[i] < '0' || s[i] > '9') && !strings.ContainsRune("-._", rune(s[i])) {
			return false
		}
	}
	return s != ""
}
