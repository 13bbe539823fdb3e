package dav

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// newRequest is a request of the method that was never on a wire.
func newRequest(method string) *request {
	return &request{
		h: New(Options{Prefix: "/dav"}), r: httptest.NewRequest(method, "/dav/x", nil),
		principal: Principal{UserID: 1, Name: "alice"}, location: location{mount: &mount{prefix: "/dav"}},
	}
}

func TestFailureOf(t *testing.T) {
	locks := []lockns.Lock{{Path: "/x", Holder: 1, Token: "urn:uuid:secret", Owner: "private", Place: lockns.RootPlace(1).File(2)}}
	for _, c := range []struct {
		method    string
		err       error
		status    int
		condition string
	}{
		{"GET", store.ErrNotFound, 404, ""},
		{"PUT", store.ErrNoParent, 409, ""},
		{"PUT", store.ErrIsFolder, 405, ""},
		{"MKCOL", store.ErrExists, 405, ""},
		{"COPY", store.ErrExists, 412, ""},
		{"MOVE", store.ErrExists, 412, ""},
		{"DELETE", store.ErrRoot, 403, ""},
		{"MOVE", store.ErrIntoItself, 403, ""},
		{"PUT", store.ErrBadName, 400, ""},
		{"PUT", store.ErrTooDeep, 403, ""},
		{"PUT", store.ErrBodySize, 400, ""},
		{"PUT", store.ErrPrecondition, 412, ""},
		{"PUT", store.ErrForbidden, 403, ""},
		{"PUT", store.ErrQuota, 507, "quota-not-exceeded"},
		{"PUT", store.ErrNoSpace, 507, "sufficient-disk-space"},
		{"PUT", &http.MaxBytesError{Limit: 7}, 413, ""},
		{"LOCK", store.ErrLockQuota, 507, ""},
		{"LOCK", store.ErrNoSuchLock, 412, "lock-token-matches-request-uri"},
		{"UNLOCK", store.ErrNoSuchLock, 409, "lock-token-matches-request-uri"},
		{"UNLOCK", store.ErrNotHolder, 403, ""},
		{"PROPFIND", store.ErrTooMany, 403, "propfind-finite-depth"},
		{"MOVE", store.ErrTooMany, 403, ""},
		{"MOVE", store.ErrForeignLock, 423, ""},
		{"MOVE", errors.Join(store.ErrForeignLock, &lockns.LockedError{Locks: locks}), 423, "lock-token-submitted"},
		{"PUT", &lockns.LockedError{Locks: locks}, 423, "lock-token-submitted"},
		{"LOCK", &lockns.ConflictError{Covering: locks}, 423, "no-conflicting-lock"},
		{"PROPPATCH", store.ErrTooManyProps, 507, ""},
		{"PUT", store.ErrUnavailable, 503, ""},
		{"PUT", fmt.Errorf("%w: %w", store.ErrUnavailable, errors.New("disk on fire")), 503, ""},
		{"PUT", store.ErrBusy, 503, ""},
		{"PUT", store.ErrCommitUnknown, 503, ""},
		{"PUT", store.ErrClosed, 503, ""},
		{"PUT", errors.New("disk on fire"), 500, ""},
		{"PUT", badRequest("no"), 400, ""},
	} {
		t.Run(fmt.Sprintf("%s %v", c.method, c.err), func(t *testing.T) {
			f := newRequest(c.method).failureOf(fmt.Errorf("put: %w", c.err))
			if f.status != c.status || f.condition != c.condition {
				t.Errorf("status %d, condition %q; want %d and %q", f.status, f.condition, c.status, c.condition)
			}
			if f.retry != (c.status == http.StatusServiceUnavailable) {
				t.Errorf("retry is %t", f.retry)
			}
			for _, word := range []string{"put:", "store:", "body store", "lockns:", "fire", "secret", "private"} {
				if strings.Contains(f.text, word) {
					t.Errorf("the text %q tells internals", f.text)
				}
			}
		})
	}
}

// R113: trouble that passes says when to come back, and nothing else does.
func TestRetryAfterR113(t *testing.T) {
	passing := 0
	for _, r := range refusals {
		w, q := httptest.NewRecorder(), newRequest("PUT")
		q.fail(w, fmt.Errorf("put: %w", r.err))
		want := ""
		if w.Code == http.StatusServiceUnavailable {
			passing++
			want = "1"
		}
		if got := w.Header().Get("Retry-After"); got != want {
			t.Errorf("%v: status %d with Retry-After %q, want %q", r.err, w.Code, got, want)
		}
	}
	if passing < 5 {
		t.Errorf("%d errors pass, want more", passing)
	}
}

func TestDescribeLocks(t *testing.T) {
	end := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	q := newRequest("PUT")
	mine := lockns.Lock{Holder: 1, ExpiresAt: end}
	for _, c := range []struct {
		name  string
		locks []lockns.Lock
		want  string
	}{
		{"with an end", []lockns.Lock{mine}, "locked by alice until 2026-12-01 08:00:00 UTC"},
		{"without", []lockns.Lock{{Holder: 1}}, "locked by alice without end"},
		{"many", make7(mine), strings.Repeat("locked by alice until 2026-12-01 08:00:00 UTC; ", 5) + "and 2 more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := q.describeLocks(c.locks); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func make7(l lockns.Lock) []lockns.Lock { return []lockns.Lock{l, l, l, l, l, l, l} }

// A listing must never end early and look complete.
func TestListingBreaksOff(t *testing.T) {
	failure := errors.New("database gone")
	t.Run("before the first byte it is an answer", func(t *testing.T) {
		pw := &propWriter{q: newRequest("PROPFIND"), w: &multistatusWriter{w: httptest.NewRecorder()}}
		if err := pw.finish(failure); !errors.Is(err, failure) {
			t.Errorf("error %v, want the walk's", err)
		}
	})
	t.Run("after it the connection breaks", func(t *testing.T) {
		w := httptest.NewRecorder()
		pw := &propWriter{q: newRequest("PROPFIND"), w: &multistatusWriter{w: w}}
		if _, err := pw.w.Write([]byte("<D:multistatus>")); err != nil || w.Code != http.StatusMultiStatus {
			t.Fatalf("status %d, %v", w.Code, err)
		}
		defer func() {
			if r := recover(); r != http.ErrAbortHandler {
				t.Errorf("recovered %v, want http.ErrAbortHandler", r)
			}
		}()
		err := pw.finish(failure)
		t.Errorf("finish returned %v", err)
	})
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Minute: "Second-60", time.Minute - time.Millisecond: "Second-60",
		time.Nanosecond: "Second-1", 0: "Second-1", -time.Hour: "Second-1",
	} {
		if got := seconds(d); got != want {
			t.Errorf("seconds(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestForeignOwners(t *testing.T) {
	q := newRequest("PROPFIND")
	shown := func(origin lockns.Origin) string {
		m := &multistatus{}
		q.writeActiveLock(m, lockns.Lock{
			Token: "urn:uuid:secret", Origin: origin, Mode: lockns.Exclusive, Depth: lockns.Resource,
			Holder: 1, Owner: "a <b>", Path: "/x", Place: lockns.RootPlace(1).File(2),
		})
		return string(m.b)
	}
	for origin, owner := range map[lockns.Origin]string{lockns.Product: "<D:owner>a &lt;b&gt;</D:owner>", lockns.WOPI: ""} {
		got := shown(origin)
		for _, want := range []string{owner, "<D:timeout>Infinite</D:timeout>", "<D:href>/dav/x</D:href>"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in %s", want, got)
			}
		}
		if strings.Contains(got, "secret") {
			t.Errorf("the token of a lock that is not WebDAV's is shown: %s", got)
		}
	}
	if got := shown(lockns.WOPI); strings.Contains(got, "owner") || strings.Contains(got, "b&gt;") {
		t.Errorf("the value that opens a WOPI lock is shown: %s", got)
	}
}

func TestAnonymousPrincipal(t *testing.T) {
	q := newRequest("PROPFIND")
	q.principal.Anonymous = true
	pw := &propWriter{q: q, m: &multistatus{}}
	pw.currentUserPrincipal(nil)
	if got, want := string(pw.m.b), `<D:current-user-principal><D:unauthenticated/></D:current-user-principal>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOwnHostIsTheDefaultOrigin(t *testing.T) {
	q := newRequest("MOVE")
	q.r.Host = "Dav.Example:80"
	for _, c := range []struct {
		destination string
		own         bool
	}{
		{"http://dav.example/dav/y", true},
		{"webdav://DAV.example:80/dav/y", true},
		{"https://dav.example:80/dav/y", true},
		{"/dav/y", true},
		{"http://dav.example:8080/dav/y", false},
		{"http://other.example/dav/y", false},
	} {
		d, err := parseDestination(c.destination)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.ownOrigin(d); got != c.own {
			t.Errorf("%s: own origin %t, want %t", c.destination, got, c.own)
		}
	}
}
