package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/dav/content"
	"holdfast/lockns"
	"holdfast/server/auth"
	"holdfast/store"
)

// Problem is what every failure is answered with (RFC 9457).
type Problem struct {
	Title  string       `json:"title" doc:"The status in words."`
	Status int          `json:"status" doc:"The HTTP status."`
	Code   string       `json:"code" doc:"What went wrong, for programs: it stays as it is." example:"resource.locked"`
	Detail string       `json:"detail" doc:"What went wrong, for people."`
	Locks  []LockHolder `json:"locks,omitempty" doc:"With resource.locked: the locks in the way."`
	Fields []Field      `json:"fields,omitempty" doc:"With request.invalid: what is wrong where."`

	headers http.Header
}

// LockHolder says who is in the way, and until when. It never says what opens the
// lock.
type LockHolder struct {
	Root    LockRoot `json:"root"`
	Mode    string   `json:"mode" enum:"exclusive,shared"`
	Depth   string   `json:"depth" enum:"resource,infinity"`
	Origin  string   `json:"origin" enum:"product,webdav,wopi"`
	Holder  string   `json:"holder" doc:"The holder's display name; empty when the lock has none."`
	Expires *Time    `json:"expires,omitempty" doc:"The last moment of the lock; absent when it has no end."`
}

// Field says what is wrong with a part of a request.
type Field struct {
	Location string `json:"location" doc:"Where, such as body.name or query.limit."`
	Message  string `json:"message"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return p.headers }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// problem makes a Problem.
func problem(status int, code, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// errBlocked: a name that is blocked was to be given or changed.
var errBlocked = errors.New("rest: name is blocked")

// invalid says that a part of a request cannot be what was sent.
func invalid(location, message string) *Problem {
	p := problem(http.StatusBadRequest, "request.invalid", "validation failed")
	p.Fields = []Field{{Location: location, Message: message}}
	return p
}

// refusals says what each error of the store, and of the login, is to a caller.
// Order matters where one error wraps another.
var refusals = []struct {
	err    error
	status int
	code   string
	text   string
	retry  bool // the same request may work soon
	fault  bool // the cause is the server's and belongs in the log
}{
	{auth.ErrCredentials, 401, "login.required", "a login is required", false, false},
	{auth.ErrWrongPassword, 403, "password.wrong", "the old password is not that", false, false},
	{auth.ErrBadPassword, 400, "password.invalid", "a password has 1 to 1024 bytes of UTF-8 and no control characters", false, false},
	{auth.ErrBusy, 503, "server.busy", "too many logins at once", true, false},
	{store.ErrNotFound, 404, "not_found", "there is nothing of that name or id", false, false},
	{store.ErrNoParent, 409, "parent.missing", "the folder this would be in does not exist", false, false},
	{store.ErrExists, 409, "name.taken", "the name is taken", false, false},
	{store.ErrIsFolder, 409, "resource.is_folder", "a folder has no content", false, false},
	{store.ErrRoot, 403, "resource.is_root", "the root folder stays where it is", false, false},
	{store.ErrIntoItself, 409, "move.into_itself", "source and destination overlap", false, false},
	{store.ErrBadName, 400, "name.invalid", "the name is not allowed", false, false},
	{errBlocked, 403, "name.blocked", "the name is reserved", false, false},
	{store.ErrTooDeep, 403, "path.too_deep", "the path has too many levels", false, false},
	{store.ErrTooMany, 403, "too_many_members", "too many members are below this folder", false, false},
	{store.ErrForbidden, 403, "forbidden", "you may not do this here", false, false},
	{store.ErrLastOwner, 409, "team.last_owner", "a team with members keeps an owner", false, false},
	{store.ErrTooManyNamedLocks, 507, "named_lock.limit", "the workspace has as many named locks as allowed", false, false},
	{store.ErrMember, 409, "member.exists", "the user is a member already", false, false},
	{store.ErrSelf, 409, "user.self", "administrators cannot end their own role or login, and change their own password at /me", false, false},
	{store.ErrTooManyAccounts, 409, "app_password.limit", "you have as many app passwords as allowed", false, false},
	{store.ErrPrecondition, 412, "precondition.failed", "a condition of the request is false", false, false},
	{store.ErrQuota, 507, "quota.exceeded", "the storage quota would be exceeded", false, false},
	{store.ErrLockQuota, 507, "lock.limit", "you hold as many locks as allowed", false, false},
	{store.ErrNoSpace, 507, "server.full", "the server has no space left", false, true},
	{store.ErrTooLarge, 413, "content.too_large", "the file would be larger than the server takes", false, false},
	{errLength, 411, "content.length", "a body over HTTP/1.0 needs a Content-Length", false, false},
	{errPart, 400, "content.part", "content is sent whole, without Content-Range", false, false},
	{errCoding, 415, "content.coding", "content must come without Content-Encoding", false, false},
	{errBrokenOff, 400, "content.broken_off", "the body broke off; nothing has changed", false, false},
	{store.ErrBodySize, 400, "content.size", "the body is not as long as announced", false, false},
	{store.ErrChecksum, 400, "content.checksum", "the content does not match its checksum", false, false},
	{store.ErrBadLock, 400, "lock.invalid", "no lock can be like that", false, false},
	{store.ErrLockTooLong, 400, "lock.too_long", "a lock that has an end must end sooner", false, false},
	{store.ErrNoSuchLock, 404, "lock.not_found", "there is no such lock here", false, false},
	{store.ErrNotHolder, 403, "lock.not_holder", "the lock is another user's", false, false},
	{store.ErrForeignLock, 423, "resource.locked", "a lock inside belongs to its workspace", false, false},
	{store.ErrUnavailable, 503, "server.unavailable", "the storage of contents is out of reach", true, true},
	{store.ErrBusy, 503, "server.busy", "the server is busy", true, true},
	{store.ErrCommitUnknown, 503, "server.unknown", "the server does not know whether the change was made; look before you try again", true, true},
	{store.ErrClosed, 503, "server.closing", "the server is shutting down", true, false},
	{context.Canceled, 400, "request.given_up", "the request was given up", false, false},
	{context.DeadlineExceeded, 503, "server.busy", "the request took too long", true, true},
}

// problemOf turns any error into a Problem. Text of errors from below is never
// part of it.
func (a *API) problemOf(ctx context.Context, who *Caller, err error) *Problem {
	var known *Problem
	var braked *auth.BrakeError
	var locked *lockns.LockedError
	var conflict *lockns.ConflictError
	var tooLarge *http.MaxBytesError
	var digest *content.DigestError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &braked):
		p := problem(http.StatusTooManyRequests, "login.braked", "too many wrong passwords")
		p.headers = retryAfter(int(braked.Wait.Seconds()) + 1)
		return p
	case errors.As(err, &locked):
		return a.lockedProblem(ctx, who, locked.Locks)
	case errors.As(err, &conflict):
		return a.lockedProblem(ctx, who, append(conflict.Covering, conflict.Below...))
	case errors.As(err, &tooLarge):
		return problem(http.StatusRequestEntityTooLarge, "content.too_large", "the body is larger than "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes")
	case errors.As(err, &digest):
		return invalid("header."+digest.Field, "must have a sha-256 of 32 bytes in base64 between colons")
	}
	for _, r := range refusals {
		if !errors.Is(err, r.err) {
			continue
		}
		p := problem(r.status, r.code, r.text)
		if r.fault {
			a.log.ErrorContext(ctx, "api request failed", "code", r.code, "err", err)
		}
		if r.retry {
			p.headers = retryAfter(1)
		}
		if r.status == http.StatusUnauthorized {
			p.headers = http.Header{"Www-Authenticate": {challenge}}
		}
		return p
	}
	a.log.ErrorContext(ctx, "api request failed", "err", err)
	return problem(http.StatusInternalServerError, "server.failed", "the server failed")
}

// challenge is what a 401 asks for. It is not Basic, for which a browser would
// ask its user in a dialog of its own.
const challenge = `Bearer realm="` + auth.Realm + `"`

func retryAfter(seconds int) http.Header {
	return http.Header{"Retry-After": {strconv.Itoa(max(seconds, 1))}}
}

func init() {
	// The one way to give huma's own refusals this form.
	huma.NewError = func(status int, text string, errs ...error) huma.StatusError {
		code := "request.invalid"
		switch status {
		case http.StatusUnprocessableEntity:
			status = http.StatusBadRequest
		case http.StatusUnsupportedMediaType:
			code = "request.media_type"
		case http.StatusRequestEntityTooLarge:
			code = "request.too_large"
		case http.StatusRequestTimeout:
			code = "request.timeout"
		case http.StatusInternalServerError:
			code, text, errs = "server.failed", "the server failed", nil
		}
		p := problem(status, code, text)
		for _, err := range errs {
			f := Field{Message: err.Error()}
			if d, ok := err.(huma.ErrorDetailer); ok {
				f = Field{Location: d.ErrorDetail().Location, Message: d.ErrorDetail().Message}
			}
			p.Fields = append(p.Fields, f)
		}
		return p
	}
}
