package dav

import (
	"bufio"
	"errors"
	"io"
	"net/http"

	"holdfast/store"
)

// mkcol serves MKCOL: through go-webdav without a body, as extended MKCOL (RFC
// 5689) with one.
func (q *request) mkcol(w http.ResponseWriter) error {
	content := bufio.NewReader(q.r.Body)
	_, err := content.Peek(1)
	if errors.Is(err, io.EOF) {
		return q.delegate(w, &session{q: q}, nil)
	}
	if err != nil {
		return badRequest("the body broke off")
	}
	if !xmlContentType(q.r.Header) {
		return errMkcolBody
	}
	ops, err := readMkcol(content)
	if errors.Is(err, errEmptyBody) { // white space
		return q.delegate(w, &session{q: q}, nil)
	}
	if err != nil {
		return err
	}
	return q.extendedMkcol(w, ops)
}

// extendedMkcol makes the collection with its properties, or neither (RFC 5689
// section 3). Properties that are to blame answer with their own status, as in
// the example of section 3.4.
func (q *request) extendedMkcol(w http.ResponseWriter, ops []propOp) error {
	patch, protected := planPatch(ops)
	if len(protected) > 0 {
		if _, err := q.stat(); !errors.Is(err, store.ErrNotFound) {
			if err == nil {
				err = store.ErrExists
			}
			return err
		}
		writeDocument(w, http.StatusForbidden, "mkcol-response", patched{ops, protected, protectedFailure}.write)
		return nil
	}
	_, err := q.h.opt.Store.Mkdir(q.r.Context(), q.target(), patch, q)
	var outcome patched
	switch {
	case err == nil:
		w.Header().Set("Content-Length", "0")
		w.Header().Set("Cache-Control", "no-cache")
		w.WriteHeader(http.StatusCreated)
		return nil
	case oversized(err):
		outcome = patched{ops, settings(ops), q.failureOf(err)}
	default:
		return err
	}
	writeDocument(w, outcome.reason.status, "mkcol-response", outcome.write)
	return nil
}
