package dav

import (
	"errors"
	"net/http"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// lock serves LOCK (RFC 4918 section 9.10). A body asks for a new lock, whatever
// If says: its tokens then open the locks that guard the collection. Without a
// body it is a refresh of the one lock that If names.
func (q *request) lock(w http.ResponseWriter) error {
	if q.depth == depth1 {
		return badRequest("LOCK works with Depth 0 or infinity")
	}
	if err := q.checkXMLType(); err != nil {
		return err
	}
	info, err := readLockinfo(q.r.Body)
	if errors.Is(err, errEmptyBody) {
		return q.refresh(w)
	}
	if err != nil {
		return err
	}
	locked, err := q.store().Lock(q.r.Context(), q.target(), q.lockSpec(info), q)
	var conflict *lockns.ConflictError
	if errors.As(err, &conflict) && len(conflict.Covering) == 0 {
		q.writeConflict(w, conflict.Below)
		return nil
	}
	if err != nil {
		return err
	}
	w.Header().Set("Lock-Token", "<"+locked.Lock.Token+">")
	status := http.StatusOK
	if locked.Created {
		status = http.StatusCreated
	}
	q.writeLock(w, status, locked.Lock)
	return nil
}

// lockSpec is the lock a LOCK with a body asks for. Without a Depth header it
// reaches all members (section 9.10.3).
func (q *request) lockSpec(info lockinfo) store.LockSpec {
	spec := store.LockSpec{
		Depth: lockns.Infinity, Mode: lockns.Exclusive, Origin: lockns.WebDAV,
		Holder: q.principal.UserID, Owner: info.owner, Timeout: q.timeout(), MustExist: q.slash,
	}
	if q.depth == depth0 {
		spec.Depth = lockns.Resource
	}
	if info.shared {
		spec.Mode = lockns.Shared
	}
	return spec
}

// timeout is the time to grant (section 10.7).
func (q *request) timeout() time.Duration {
	asked, infinite, usable := parseTimeout(q.r.Header.Values("Timeout"))
	return lockns.ClampTimeout(asked, infinite, usable, q.h.opt.LockDefault, q.h.opt.LockMax)
}

// refresh gives the lock that If names a new timeout (section 9.10.2). Neither
// a body nor If is no request at all; Office has been seen to send one.
func (q *request) refresh(w http.ResponseWriter) error {
	if q.ifHeader == nil {
		return badRequest("LOCK needs a lockinfo body, or an If header with the token of the lock to refresh")
	}
	token := ""
	for _, t := range q.ifHeader.tokens() {
		if token != "" && token != t.token {
			return badRequest("a lock refresh needs exactly one lock token in the If header")
		}
		token = t.token
	}
	if token == "" {
		return badRequest("a lock refresh needs a lock token in the If header")
	}
	locked, err := q.store().RefreshLock(q.r.Context(), q.target(), store.ByToken(token), q.timeout(), q)
	if err != nil {
		return err
	}
	q.writeLock(w, http.StatusOK, locked.Lock)
	return nil
}

// writeLock answers with the lock granted or refreshed.
func (q *request) writeLock(w http.ResponseWriter, status int, l lockns.Lock) {
	writeDocument(w, status, "prop", func(m *multistatus) {
		m.raw(`<D:lockdiscovery>`)
		q.writeActiveLock(m, l)
		m.raw(`</D:lockdiscovery>`)
	})
}

// writeConflict answers a LOCK with Depth infinity that only locks of members
// prevent: each of them, and the Request-URI, which depends on them (section
// 9.10.9 shows it).
func (q *request) writeConflict(w http.ResponseWriter, below []lockns.Lock) {
	writeDocument(w, http.StatusMultiStatus, "multistatus", func(m *multistatus) {
		for _, root := range q.lockRoots(below) {
			m.responseStatus(root, http.StatusLocked, "no-conflicting-lock")
		}
		m.responseStatus(q.href(true), http.StatusFailedDependency, "")
	})
}

// unlock serves UNLOCK (section 9.11).
func (q *request) unlock(w http.ResponseWriter) error {
	values := q.r.Header.Values("Lock-Token")
	if len(values) != 1 {
		return badRequest("UNLOCK needs one Lock-Token header")
	}
	token, err := parseLockToken(values[0])
	if err != nil {
		return err
	}
	if err := q.store().Unlock(q.r.Context(), q.target(), store.ByToken(token), q); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
