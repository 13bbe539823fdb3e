package dav

import (
	"bufio"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/store"
)

// get serves GET and HEAD: files through go-webdav and http.ServeContent, a
// collection as a short listing for people, since clients take any answer but
// 200 as a sign that it is not there.
func (q *request) get(w http.ResponseWriter) error {
	node, content, err := q.store().Read(q.r.Context(), q.target())
	if err != nil {
		return err
	}
	if node.IsFolder() {
		if err := q.checkIf(); err != nil {
			return err
		}
		return q.list(w, node)
	}
	defer content.Close()
	if err := q.checkIf(); err != nil {
		return err
	}
	setContentHeaders(w.Header(), contentType(node))
	return q.delegate(w, &session{q: q, node: &node, content: content}, q.contentConditions())
}

// setContentHeaders sets what goes with content a user has stored. It must not
// act as a part of this site: a browser shows it in a sandbox of its own and
// guesses no other type. Only PDF viewers do not work in a sandbox; what is
// shown as PDF cannot act.
func setContentHeaders(h http.Header, contentType string) {
	h.Set("Cache-Control", "private, no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	if contentType == "application/pdf" {
		h.Del("Content-Security-Policy")
		return
	}
	h.Set("Content-Security-Policy", "sandbox")
}

// contentConditions are the conditional and range headers as http.ServeContent
// reads them rightly: one line each, no part that is not an entity-tag, no
// Range where RFC 9110 section 14.2 has it ignored.
func (q *request) contentConditions() http.Header {
	h := http.Header{}
	if q.ifMatch.present() {
		// Without a usable tag nothing matches; the empty list says so.
		h.Set("If-Match", q.ifMatch.join())
	}
	if !q.unmodifiedSince.IsZero() {
		h.Set("If-Unmodified-Since", q.unmodifiedSince.UTC().Format(http.TimeFormat))
	}
	if tags := q.ifNoneMatch.join(); tags != "," {
		h.Set("If-None-Match", tags)
	}
	if t, ok := parseHTTPDate(q.r.Header.Values("If-Modified-Since")); ok && !q.ifNoneMatch.present() {
		h.Set("If-Modified-Since", t.UTC().Format(http.TimeFormat))
	}
	if ranges := q.byteRanges(); ranges != "" {
		h.Set("Range", ranges)
		if ifRange := q.r.Header.Get("If-Range"); ifRange != "" {
			h.Set("If-Range", trimOWS(ifRange))
		}
	}
	return h
}

// join is the list on one line; "," when nothing can match.
func (l etagList) join() string {
	if l.star() {
		return "*"
	}
	if len(l.tags) == 0 {
		return ","
	}
	return strings.Join(l.tags, ", ")
}

// maxRanges is how many parts one answer may have (RFC 9110 section 17.15).
const maxRanges = 32

// byteRanges is the Range header to obey, "" for none: HEAD has no ranges, nor
// has a malformed value or another unit, and the unit's case does not count
// (RFC 9110 section 14.1).
func (q *request) byteRanges() string {
	values := q.r.Header.Values("Range")
	if q.r.Method != http.MethodGet || len(values) != 1 {
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

// list answers GET and HEAD of a collection. The listing has no entity-tag,
// since a collection has none, and is not meant for programs.
func (q *request) list(w http.ResponseWriter, node store.Node) error {
	if q.ifMatch.present() && !q.ifMatch.star() {
		return store.ErrPrecondition
	}
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache")
	if q.ifNoneMatch.star() { // RFC 9110 section 13.1.2
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.WriteHeader(http.StatusOK)
	if q.r.Method == http.MethodHead {
		return nil
	}
	page := bufio.NewWriterSize(w, flushBytes)
	title := html.EscapeString(q.nameOf(store.Entry{Node: node, Path: q.path}))
	fmt.Fprintf(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title></head><body>\n<h1>%[1]s</h1>\n<ul>\n", title)
	err := q.walk(store.DepthOne, store.Want{}, 0, func(e store.Entry) error {
		if len(e.Path) == len(q.path) {
			return nil
		}
		return q.listItem(page, e)
	})
	if err == nil {
		fmt.Fprint(page, "</ul>\n</body></html>\n")
		err = page.Flush()
	}
	if err != nil {
		q.abort(fmt.Errorf("list: %w", err)) // 200 is out
	}
	return nil
}

// listItem writes a link to a member.
func (q *request) listItem(page *bufio.Writer, e store.Entry) error {
	name := html.EscapeString(e.Name)
	href := html.EscapeString(q.entryHref(e))
	if e.IsFolder() {
		_, err := fmt.Fprintf(page, "<li><a href=\"%s\">%s/</a></li>\n", href, name)
		return err
	}
	_, err := fmt.Fprintf(page, "<li><a href=\"%s\">%s</a> %d bytes, %s</li>\n",
		href, name, e.Size, e.Modified.UTC().Format(time.DateTime))
	return err
}
