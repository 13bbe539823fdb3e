package dav

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"slices"

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
// the example of section 3.5, the type too.
func (q *request) extendedMkcol(w http.ResponseWriter, ops []propOp) error {
	patch, outcome := planPatch(ops)
	if slices.ContainsFunc(ops, func(op propOp) bool { return op.name == resourceType }) {
		outcome = patched{ops, map[xmlName]bool{resourceType: true}, typeFailure}
	}
	claim := store.Claim(q)
	if len(outcome.blamed) > 0 {
		patch, claim = store.Patch{}, refusing{q, errBlamed}
	}
	_, err := q.store().Mkdir(q.r.Context(), q.target(), patch, claim)
	blamed, ok := q.blame(ops, err)
	switch {
	case err == nil:
		if q.preferences().minimal { // RFC 8144 section 2.3; nothing else is ever sent
			applied(w, "return=minimal")
		}
		w.Header().Set("Content-Length", "0")
		w.Header().Set("Cache-Control", "no-cache")
		w.WriteHeader(http.StatusCreated)
		return nil
	case errors.Is(err, errBlamed):
	case ok:
		outcome = blamed
	default:
		return err
	}
	writeDocument(w, outcome.reason.status, "mkcol-response", outcome.write)
	return nil
}

// typeFailure is the reason when something else than a plain collection is asked
// for (RFC 5689 section 3.3).
var typeFailure = failure{status: http.StatusForbidden, condition: "valid-resourcetype", text: "only plain collections can be made"}

// errBlamed: a property that is to be set cannot be.
var errBlamed = errors.New("dav: property that cannot be set")

// refusing is the claim of a request that is refused in any case: it fails with
// err once the store has asked all that could refuse it sooner, existence, locks
// and conditions.
type refusing struct {
	*request
	err error
}

// Precondition implements store.Claim.
func (r refusing) Precondition(v store.View) error {
	if err := r.request.Precondition(v); err != nil {
		return err
	}
	return r.err
}
