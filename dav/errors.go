package dav

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// failure is what a request that failed is answered with.
type failure struct {
	status    int
	condition string // precondition code of RFC 4918 section 16, "" for none
	hrefs     []string
	text      string
	retry     bool // the same request may work soon
	internal  bool // the cause is the server's and belongs in the log
}

// refusals says what each error of the store means on the wire. Order matters
// where one error wraps another.
var refusals = []struct {
	err error
	failure
}{
	{store.ErrNotFound, failure{status: 404, text: "nothing is here"}},
	{store.ErrNoParent, failure{status: 409, text: "the collection this would be in does not exist"}},
	{store.ErrIsFolder, failure{status: 405, text: "a collection has no content to replace"}},
	{store.ErrRoot, failure{status: 403, text: "the root collection stays where it is"}},
	{store.ErrIntoItself, failure{status: 403, text: "source and destination overlap"}},
	{store.ErrBadName, failure{status: 400, text: "the name is not allowed"}},
	{store.ErrPosition, failure{status: 403, condition: "valid-sync-token", text: "the sync token is none of this collection's, or too old; list the collection anew"}},
	{store.ErrTooDeep, failure{status: 403, text: "the path has too many levels"}},
	{store.ErrTooMany, failure{status: 403, text: "too many members are below this collection"}},
	{store.ErrForbidden, failure{status: 403, text: "you may not do this here"}},
	{store.ErrPrecondition, failure{status: 412, text: "a condition of the request is false"}},
	{store.ErrQuota, failure{status: 507, condition: "quota-not-exceeded", text: "the storage quota would be exceeded"}},
	{store.ErrTooManyProps, failure{status: 507, text: "the resource would have too many properties, or too large ones"}},
	{store.ErrLockQuota, failure{status: 507, text: "no more locks are allowed"}},
	{store.ErrUploadLimit, failure{status: 507, text: "too many uploads are under way, or this one has too many pieces"}},
	{store.ErrUploadBusy, failure{status: 423, text: "the upload is being put together"}},
	{store.ErrUploadChanged, failure{status: 409, text: "pieces came or went while the upload was put together"}},
	{store.ErrTooLarge, failure{status: 413, text: "the file would be larger than the server takes"}},
	{store.ErrNoSpace, failure{status: 507, condition: "sufficient-disk-space", text: "the server has no space left", internal: true}},
	{store.ErrBodySize, failure{status: 400, text: "the body is not as long as announced"}},
	{store.ErrChecksum, failure{status: 400, text: "the content does not match its checksum"}},
	{store.ErrNotHolder, failure{status: 403, text: "the lock is another user's"}},
	{store.ErrUnavailable, failure{status: 503, text: "the storage of contents is out of reach", retry: true, internal: true}},
	{store.ErrBusy, failure{status: 503, text: "the server is busy", retry: true, internal: true}},
	{store.ErrCommitUnknown, failure{status: 503, text: "the server does not know whether the change was made", retry: true, internal: true}},
	{store.ErrClosed, failure{status: 503, text: "the server is shutting down", retry: true}},
	{context.Canceled, failure{status: 400, text: "the request was given up"}},
	{context.DeadlineExceeded, failure{status: 503, text: "the request took too long", retry: true, internal: true}},
}

// failureOf turns any error into an answer. Text of errors from below is never
// part of it.
func (q *request) failureOf(err error) failure {
	var grammar *httpError
	if errors.As(err, &grammar) {
		return failure{status: grammar.status, condition: grammar.condition, text: grammar.Error()}
	}
	if f, ok := q.lockFailure(err); ok {
		return f
	}
	var tooLarge *http.MaxBytesError
	var chunks *store.ChunksError
	switch {
	case errors.As(err, &chunks):
		return failure{status: http.StatusConflict, text: chunks.Reason}
	case errors.As(err, &tooLarge):
		return failure{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit)}
	case errors.Is(err, store.ErrExists):
		return q.existsFailure()
	case errors.Is(err, store.ErrTooMany) && q.r.Method == "PROPFIND":
		return failure{status: http.StatusForbidden, condition: "propfind-finite-depth", text: "the collection has too many entries below it; ask with Depth 1"}
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return r.failure
		}
	}
	return failure{status: http.StatusInternalServerError, text: "the server failed", internal: true}
}

// existsFailure tells MKCOL, where a mapped URL has not got the method (RFC
// 4918 section 9.3.1), from a refused overwrite (sections 9.8.5 and 9.9.4).
func (q *request) existsFailure() failure {
	if q.r.Method == "MKCOL" {
		return failure{status: http.StatusMethodNotAllowed, text: "there is something here already"}
	}
	return failure{status: http.StatusPreconditionFailed, text: "the destination exists"}
}

// lockFailure answers for locks that stand in the way or are not there.
func (q *request) lockFailure(err error) (failure, bool) {
	var locked *lockns.LockedError
	var conflict *lockns.ConflictError
	switch {
	case errors.As(err, &locked):
		return q.locksInTheWay("lock-token-submitted", locked.Locks), true
	case errors.As(err, &conflict):
		return q.locksInTheWay("no-conflicting-lock", conflict.Covering), true
	case errors.Is(err, store.ErrForeignLock):
		return failure{status: http.StatusLocked, text: "a lock inside belongs to its workspace"}, true
	case !errors.Is(err, store.ErrNoSuchLock):
		return failure{}, false
	case q.r.Method == "UNLOCK":
		return failure{status: http.StatusConflict, condition: "lock-token-matches-request-uri", text: "the resource has no lock with this token"}, true
	}
	return failure{status: http.StatusPreconditionFailed, condition: "lock-token-matches-request-uri", text: "the resource has no lock with this token"}, true
}

// locksInTheWay is a 423 with the roots of the locks.
func (q *request) locksInTheWay(condition string, locks []lockns.Lock) failure {
	return failure{
		status: http.StatusLocked, condition: condition,
		hrefs: q.lockRoots(locks), text: q.describeLocks(locks),
	}
}

// maxDescribed is how many locks a text describes.
const maxDescribed = 5

// describeLocks says in words who holds the locks and until when. Tokens and
// what clients say of their owners stay out of it.
func (q *request) describeLocks(locks []lockns.Lock) string {
	var b strings.Builder
	for i, l := range locks {
		if i == maxDescribed {
			fmt.Fprintf(&b, "; and %d more", len(locks)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString("locked by " + q.holderName(l))
		if l.ExpiresAt.IsZero() {
			b.WriteString(" without end")
			continue
		}
		b.WriteString(" until " + l.ExpiresAt.UTC().Format(time.DateTime) + " UTC")
	}
	return b.String()
}

// holderName names the holder of a lock.
func (q *request) holderName(l lockns.Lock) string {
	if l.Holder == q.principal.UserID {
		return q.principal.Name
	}
	name, err := q.store().UserName(q.r.Context(), l.Holder)
	if err != nil {
		return "another user" // the lock is what matters
	}
	return name
}

// fail answers a request that failed. It and failWith are the only writers of
// statuses from 400 on.
func (q *request) fail(w http.ResponseWriter, err error) { q.failWith(w, err, q.allowed()) }

// failWith is fail for a resource with other methods.
func (q *request) failWith(w http.ResponseWriter, err error, allowed []string) {
	f := q.failureOf(err)
	if f.internal {
		q.h.opt.Log.ErrorContext(q.r.Context(), "request failed", "method", q.r.Method, "path", q.r.URL.Path, "status", f.status, "err", err)
	}
	writeFailure(w, f, allowed)
}

// writeFailure writes the answer (RFC 4918 section 16). Headers that describe
// content which is not sent are taken back.
func writeFailure(w http.ResponseWriter, f failure, allowed []string) {
	body := appendErrorBody(nil, f.condition, f.hrefs, f.text)
	h := w.Header()
	h.Del("Accept-Ranges")
	h.Del("Preference-Applied")
	if f.status != http.StatusPreconditionFailed {
		h.Del("ETag")
		h.Del("Last-Modified")
	}
	if f.status != http.StatusRequestedRangeNotSatisfiable {
		h.Del("Content-Range")
	}
	h.Set("Content-Type", xmlType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if f.status == http.StatusMethodNotAllowed {
		h.Set("Allow", strings.Join(allowed, ", "))
	}
	if f.retry {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(f.status)
	_, _ = w.Write(body) // the client is gone, and there is nobody else to tell
}
