package content

import "strings"

// trimOWS removes the optional white space of RFC 9110 section 5.6.3.
func trimOWS(s string) string { return strings.Trim(s, " \t") }

// ETags is the value of an If-Match or If-None-Match header (RFC 9110
// sections 13.1.1 and 13.1.2): "*", or entity-tags of which one must match.
type ETags struct {
	sent bool
	any  bool
	tags []string // as sent, quotes and W/ included
}

// ParseETags reads all lines of the header. Parts that are no entity-tag, such
// as an unquoted word, are dropped: they can't match and, since a client put
// them there to keep its own stack quiet, must not fail the request either.
func ParseETags(values []string) ETags {
	l := ETags{sent: len(values) > 0}
	for _, line := range values {
		for line = trimETagList(line); line != ""; line = trimETagList(line) {
			tag, rest, quoted := cutETag(line)
			switch {
			case quoted:
				l.tags = append(l.tags, tag)
			case tag == "*":
				l.any = true
			}
			line = rest
		}
	}
	return l
}

func trimETagList(s string) string { return strings.TrimLeft(s, " \t,") }

// cutETag cuts the first member off a list of entity-tags: an entity-tag, or
// whatever stands before the next comma.
func cutETag(s string) (tag, rest string, quoted bool) {
	if n := ETagLen(s); n > 0 {
		return s[:n], s[n:], true
	}
	tag, rest, _ = strings.Cut(s, ",")
	return trimOWS(tag), rest, false
}

// ETagLen returns the length of the entity-tag s begins with, 0 if it begins
// with none.
func ETagLen(s string) int {
	opaque, ok := strings.CutPrefix(strings.TrimPrefix(s, "W/"), `"`)
	if !ok {
		return 0
	}
	end := strings.IndexByte(opaque, '"')
	if end < 0 {
		return 0
	}
	return len(s) - len(opaque) + end + 1
}

// Present reports whether the header was sent at all; one without a usable
// part was, and matches nothing.
func (l ETags) Present() bool { return l.sent }

// Star reports whether the header is "*", which any existing resource matches.
func (l ETags) Star() bool { return l.any }

// MatchStrong reports whether a listed tag equals etag, the quoted entity-tag of
// the resource, by strong comparison (RFC 9110 section 8.8.3.2): for If-Match.
// It does not look at Star. An empty etag matches nothing.
func (l ETags) MatchStrong(etag string) bool {
	if etag == "" || strings.HasPrefix(etag, "W/") {
		return false
	}
	for _, tag := range l.tags {
		if tag == etag {
			return true
		}
	}
	return false
}

// MatchWeak is MatchStrong by weak comparison: for If-None-Match.
func (l ETags) MatchWeak(etag string) bool {
	if etag == "" {
		return false
	}
	etag = strings.TrimPrefix(etag, "W/")
	for _, tag := range l.tags {
		if strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}

// join is the list on one line; "," when nothing can match.
func (l ETags) join() string {
	if l.Star() {
		return "*"
	}
	if len(l.tags) == 0 {
		return ","
	}
	return strings.Join(l.tags, ", ")
}
