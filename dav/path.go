package dav

import (
	"errors"
	"net/http"
	"strings"

	"holdfast/store"
)

// errTooDeep refuses a path of more names than the store takes.
var errTooDeep = errStatus(http.StatusForbidden, "the path has more than 128 levels")

// splitPath splits the escaped path below a mount into decoded names; slash
// reports whether it ended in "/", which is how clients mark a collection. The
// argument is empty or begins with "/".
//
// Splitting comes before decoding, so a %2F never becomes a separator (RFC 3986
// section 2.2). Empty and "." segments are dropped (RFC 3986 section 6.2.2.3);
// ".." is refused instead of resolved, because a client that means another
// resource can name it. "+" is a plus.
//
// Failures are 400, or errTooDeep.
func splitPath(escapedPath string) (names []string, slash bool, err error) {
	if escapedPath == "" {
		return nil, false, nil
	}
	if escapedPath[0] != '/' {
		return nil, false, badRequest("the path does not begin with a slash")
	}
	rest := escapedPath[1:]
	for more := true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		name, err := decodeSegment(segment)
		if err != nil {
			return nil, false, err
		}
		// The last segment decides: "/a/" and "/a/." both name a collection.
		slash = name == "" || name == "."
		if slash {
			continue
		}
		if len(names) == store.MaxLevels {
			return nil, false, errTooDeep
		}
		names = append(names, name)
	}
	return names, slash, nil
}

// decodeSegment percent-decodes one path segment and refuses what can't be a
// name. "" and "." pass; splitPath drops them.
func decodeSegment(segment string) (string, error) {
	name, ok := percentDecode(segment)
	if !ok {
		return "", badRequest("the path has a broken percent-encoding")
	}
	if strings.ContainsAny(segment, "?#") {
		return "", badRequest("the path has a raw '?' or '#'")
	}
	if err := checkName(name); err != nil {
		return "", err
	}
	return name, nil
}

// checkName refuses names no resource may have. The empty name and "." are
// left to the caller, since a path may hold them where a name may not.
func checkName(name string) error {
	if name == "" || name == "." {
		return nil
	}
	var bad *store.NameError
	if errors.As(store.CheckName(name), &bad) {
		return badRequest("a name " + bad.Reason)
	}
	return nil
}

// percentDecode decodes %XX in either case of hex digits and nothing else.
func percentDecode(s string) (string, bool) {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s, true
	}
	out := make([]byte, i, len(s))
	copy(out, s)
	for ; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		high, low := unhex(s[i+1]), unhex(s[i+2])
		if high > 15 || low > 15 {
			return "", false
		}
		out = append(out, high<<4|low)
		i += 2
	}
	return string(out), true
}

// unhex returns the value of a hex digit, or 255.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// hrefSafe marks the bytes an href carries as they are: RFC 3986's unreserved
// ones and the sub-delims, ":" and "@" that every known client reads alike.
// Escaped although a path segment could hold them: "&" and "'", so that an
// href needs no XML escaping; "+", which form decoders turn into a blank; ";",
// which some libraries cut off as a parameter. Brackets are no path characters
// at all.
var hrefSafe = func() (safe [256]bool) {
	const chars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~" + "!$()*,=:@"
	for i := range len(chars) {
		safe[chars[i]] = true
	}
	return safe
}()

// appendHref appends the absolute-path reference of a resource: the mount's
// prefix, already escaped and without a final slash, the escaped names, and a
// final slash for a collection. A mount's root without a prefix is "/". The
// result is plain ASCII and needs no XML escaping if prefix doesn't.
func appendHref(dst []byte, prefix string, names []string, slash bool) []byte {
	dst = append(dst, prefix...)
	for _, name := range names {
		dst = append(dst, '/')
		dst = appendSegment(dst, name)
	}
	if slash || prefix == "" && len(names) == 0 {
		dst = append(dst, '/')
	}
	return dst
}

// Segment is a name as hrefs spell it.
func Segment(name string) string { return string(appendSegment(nil, name)) }

// appendSegment appends one percent-encoded name.
func appendSegment(dst []byte, name string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(name) {
		c := name[i]
		if hrefSafe[c] {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', hex[c>>4], hex[c&15])
	}
	return dst
}
