package dav

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/store"
)

// modifiedHeader is how clients of ownCloud and Nextcloud, rclone and gvfs among
// them, say with PUT, COPY, MOVE and MKCOL which modification time the result has.
const modifiedHeader = "X-OC-Mtime"

// readModified reads the modification time that comes with a request. Like
// Timeout it is a wish: what is no time that can be shown is passed over, for a
// wrong date must not cost the content, and the client learns from the answer
// that the time was not taken.
func (q *request) readModified() {
	switch q.r.Method {
	case http.MethodPut, "COPY", "MOVE", "MKCOL":
		if value, ok := single(q.r.Header.Values(modifiedHeader), strings.EqualFold); ok {
			q.modified, _ = parseUnixTime(value)
		}
	}
}

// timePatch is the modification time for a collection that is made.
func (q *request) timePatch() (p store.Patch) {
	if !q.modified.IsZero() {
		p.Modified = &q.modified
	}
	return p
}

// acceptTime tells the client that its modification time was taken.
func (q *request) acceptTime(answer http.Header) {
	if !q.modified.IsZero() {
		answer.Set(modifiedHeader, "accepted")
	}
}

// parseUnixTime reads a time in seconds since 1970, which may have a sign and a
// fraction; HTTP has no place for the fraction, and it is dropped. ok is false
// for all else and for what cannot be shown.
func parseUnixTime(text string) (t time.Time, ok bool) {
	whole, fraction, dot := strings.Cut(text, ".")
	if !allDigits(strings.TrimPrefix(whole, "-")) || dot && !allDigits(fraction) {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if t = time.Unix(n, 0).UTC(); err != nil || !showable(t) {
		return time.Time{}, false
	}
	return t, true
}

// showable reports whether a time is one that HTTP can show and Windows can mean:
// the format has four digits for the year, and the clock of Windows starts in 1601.
func showable(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1601 && year <= 9999
}
