package dav

import (
	"bufio"
	"fmt"
	"html"
	"net/http"
	"time"

	"holdfast/dav/content"
	"holdfast/store"
)

// get serves GET and HEAD: files through go-webdav and http.ServeContent, a
// collection as a short listing for people, since clients take any answer but
// 200 as a sign that it is not there.
func (q *request) get(w http.ResponseWriter) error {
	node, body, err := q.store().Read(q.r.Context(), q.target())
	if err != nil {
		return err
	}
	if node.IsFolder() {
		if err := q.checkIf(); err != nil {
			return err
		}
		return q.list(w, node)
	}
	defer body.Close()
	if err := q.checkIf(); err != nil {
		return err
	}
	setContentHeaders(w.Header(), content.Type(node.ContentType, node.Name))
	s := &session{q: q, node: &node, content: &content.Reader{ReadSeekCloser: body}}
	return q.delegate(w, s, content.ServeHeaders(q.r.Method, q.r.Header))
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

// list answers GET and HEAD of a collection. The listing has no entity-tag,
// since a collection has none, and is not meant for programs.
func (q *request) list(w http.ResponseWriter, node store.Node) error {
	if q.conditions.Match.Present() && !q.conditions.Match.Star() {
		return store.ErrPrecondition
	}
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache")
	if q.conditions.NoneMatch.Star() { // RFC 9110 section 13.1.2
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
