package content

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Conditions are those that a request makes of the resource it changes (RFC 9110
// section 13.1).
type Conditions struct {
	Match, NoneMatch ETags
	// UnmodifiedSince is the date of If-Unmodified-Since, zero when there is none
	// to obey.
	UnmodifiedSince time.Time
}

// ParseConditions reads the headers of a request. What cannot be read makes a
// condition false, or, of a date, is passed over.
func ParseConditions(h http.Header) Conditions {
	c := Conditions{Match: ParseETags(h.Values("If-Match")), NoneMatch: ParseETags(h.Values("If-None-Match"))}
	if t, ok := parseHTTPDate(h.Values("If-Unmodified-Since")); ok {
		c.UnmodifiedSince = t
	}
	return c
}

// Any reports whether there is a condition at all.
func (c Conditions) Any() bool {
	return c.Match.Present() || c.NoneMatch.Present() || !c.UnmodifiedSince.IsZero()
}

// Hold decides in the order of RFC 9110 section 13.2.2 for a method that changes
// the resource. If-Modified-Since is for GET and HEAD only.
func (c Conditions) Hold(exists bool, etag string, modified time.Time) bool {
	switch {
	case c.Match.Present():
		if !exists || !c.Match.Star() && !c.Match.MatchStrong(etag) {
			return false
		}
	case exists && !c.UnmodifiedSince.IsZero():
		if modified.Truncate(time.Second).After(c.UnmodifiedSince) {
			return false
		}
	}
	return !c.NoneMatch.Present() || !exists || !c.NoneMatch.Star() && !c.NoneMatch.MatchWeak(etag)
}

// parseHTTPDate reads If-Modified-Since or If-Unmodified-Since. ok is false for
// an absent or invalid date and for a repeated field, all of which a recipient
// ignores (RFC 9110 sections 13.1.3 and 13.1.4).
func parseHTTPDate(values []string) (t time.Time, ok bool) {
	if len(values) != 1 {
		return time.Time{}, false
	}
	t, err := http.ParseTime(trimOWS(values[0]))
	return t, err == nil
}

// ServeHeaders are the conditional and range headers of a GET or HEAD as
// http.ServeContent reads them rightly: one line each, no part that is not an
// entity-tag, no Range where RFC 9110 section 14.2 has it ignored.
func ServeHeaders(method string, sent http.Header) http.Header {
	c, h := ParseConditions(sent), http.Header{}
	if c.Match.Present() {
		// Without a usable tag nothing matches; the empty list says so.
		h.Set("If-Match", c.Match.join())
	}
	if !c.UnmodifiedSince.IsZero() {
		h.Set("If-Unmodified-Since", c.UnmodifiedSince.UTC().Format(http.TimeFormat))
	}
	if tags := c.NoneMatch.join(); tags != "," {
		h.Set("If-None-Match", tags)
	}
	if t, ok := parseHTTPDate(sent.Values("If-Modified-Since")); ok && !c.NoneMatch.Present() {
		h.Set("If-Modified-Since", t.UTC().Format(http.TimeFormat))
	}
	if ranges := byteRanges(method, sent.Values("Range")); ranges != "" {
		h.Set("Range", ranges)
		if ifRange := sent.Get("If-Range"); ifRange != "" {
			h.Set("If-Range", trimOWS(ifRange))
		}
	}
	return h
}

// maxRanges is how many parts one answer may have (RFC 9110 section 17.15).
const maxRanges = 32

// byteRanges is the Range header to obey, "" for none: HEAD has no ranges, nor
// has a malformed value or another unit, and the unit's case does not count
// (RFC 9110 section 14.1).
func byteRanges(method string, values []string) string {
	if method != http.MethodGet || len(values) != 1 {
		return ""
	}
	unit, set, ok := strings.Cut(trimOWS(values[0]), "=")
	if !ok || !strings.EqualFold(unit, "bytes") {
		return ""
	}
	n := 0
	for _, spec := range strings.Split(set, ",") {
		if spec = trimOWS(spec); spec == "" {
			continue
		}
		if n++; n > maxRanges || !validRange(spec) {
			return ""
		}
	}
	if n == 0 {
		return ""
	}
	return "bytes=" + set
}

// validRange reports whether a range-spec is "first-[last]" or "-length". A
// suffix of length zero, which no answer could show, counts as invalid.
func validRange(spec string) bool {
	first, last, ok := strings.Cut(spec, "-")
	if !ok || first != "" && !allDigits(first) || last != "" && !allDigits(last) {
		return false
	}
	from, err1 := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	switch {
	case first == "":
		return err2 == nil && to > 0
	case last == "":
		return err1 == nil
	}
	return err1 == nil && err2 == nil && from <= to
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
