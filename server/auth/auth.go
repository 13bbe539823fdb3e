package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"holdfast/store"
)

// Anonymous is the user whom requests without credentials are served as when
// the server was told to. It never logs in.
const Anonymous = "anonymous"

// Realm is what credentials are for. Digests are of it (RFC 7616 section 3.4.2),
// so that it must never change.
const Realm = "Holdfast"

// Scheme is a way to log in.
type Scheme string

// The schemes, by their names in --auth.
const (
	Digest Scheme = "digest"
	Basic  Scheme = "basic"
	Bearer Scheme = "bearer"
)

// Schemes lists all there are, in the order in which they are offered. Some
// clients look at the first challenge only: so Digest, which tells no password,
// stands before Basic, and Bearer, which only those take who have a token anyway,
// comes last.
var Schemes = []Scheme{Digest, Basic, Bearer}

// Options say how an Authenticator asks for credentials.
type Options struct {
	Schemes []Scheme // those served
	// External is the path that a proxy strips of a request's URL. Nil is none.
	External func(*http.Request) string
	// Log, slog.Default when nil.
	Log *slog.Logger
}

// BrakeError says that an address guessed wrong too often at one name: 429.
type BrakeError struct {
	// Wait until the next guess is heard.
	Wait time.Duration
}

// Error implements error.
func (e *BrakeError) Error() string { return "too many wrong guesses" }

// Users is where users are looked up; *store.Store is one.
type Users interface {
	// User finds a user by name without regard to case, or store.ErrNotFound.
	User(ctx context.Context, name string) (store.User, error)
	// AccountByHash finds the account whose app password has this hash, unless
	// it has expired, and its user, or store.ErrNotFound.
	AccountByHash(ctx context.Context, hash string) (store.User, store.Account, error)
	// DigestLogins finds a user as User does, with those of their accounts that
	// can be logged in to with Digest and have not expired.
	DigestLogins(ctx context.Context, user string) (store.User, []store.DigestLogin, error)
	// UsedAccount notes that an account was used.
	UsedAccount(ctx context.Context, id int64) error
	// OpenSession opens a session, or gives store.ErrForbidden when its user is not
	// who they were.
	OpenSession(ctx context.Context, n store.NewSession) (store.Session, error)
	// SessionByHash finds the session whose token has this hash, if it is good for
	// something, and its user, or store.ErrNotFound.
	SessionByHash(ctx context.Context, hash string) (store.User, store.Session, error)
	// UsedSession notes that a session was used.
	UsedSession(ctx context.Context, n store.Session) error
	// SetProfile changes a user as they asked for it.
	SetProfile(ctx context.Context, p store.Profile) (store.User, store.Session, error)
	// NoteLogin writes a login into the audit log.
	NoteLogin(ctx context.Context, n store.LoginNote) error
}

// Login is who a request is from.
type Login struct {
	User store.User
	// Account is the one whose app password was sent, and says what the request
	// may open; nil when it was the user's own password.
	Account *store.Account
	// Session is the browser's, when its token was sent.
	Session *store.Session
}

// Authenticator checks the credentials of requests. Its methods may be called
// concurrently.
type Authenticator struct {
	schemes  []Scheme // those served, in the order of Schemes
	external func(*http.Request) string
	nonces   *nonces
	users    Users
	memory   *memory
	brake    *brake
	gate     *gate
	flights  singleflight.Group
	notes    singleflight.Group // uses of accounts and sessions being noted
	notebook notebook
	writing  sync.RWMutex // held for reading while a login is written down
	log      *slog.Logger
	verify   func(hash, password string) (bool, error)
	now      func() time.Time
}

// New makes an Authenticator that remembers nothing yet.
func New(users Users, o Options) *Authenticator {
	if o.External == nil {
		o.External = func(*http.Request) string { return "" }
	}
	served := slices.DeleteFunc(slices.Clone(Schemes), func(s Scheme) bool { return !slices.Contains(o.Schemes, s) })
	return &Authenticator{
		schemes: served, external: o.External, users: users, nonces: newNonces(time.Now),
		memory: newMemory(), brake: newBrake(), gate: newGate(), verify: verify, now: time.Now, log: logger(o.Log),
	}
}

// Challenges are the values of WWW-Authenticate, a line each, that go with the
// 401 of an ErrCredentials.
func (a *Authenticator) Challenges(err error) []string {
	var all []string
	for _, scheme := range a.schemes {
		switch scheme {
		case Digest:
			all = append(all, a.challengesDigest(errors.Is(err, errStale))...)
		case Basic:
			all = append(all, challengeBasic)
		case Bearer:
			all = append(all, challengeBearer)
		}
	}
	return all
}

// Authenticate gives the user whose credentials the request carries, and the
// account when they are an app password. from is the client's address, for the
// brake.
//
// Errors: ErrCredentials, ErrTarget, ErrBusy, *BrakeError; the context's; else looking the user up failed, or
// a stored hash is damaged.
func (a *Authenticator) Authenticate(r *http.Request, from netip.Addr) (Login, error) {
	at := visit{WebDAV, from}
	return a.noting(at, func() (Login, error) {
		scheme, rest := credentials(r.Header)
		if !slices.Contains(a.schemes, Scheme(scheme)) {
			return Login{}, ErrCredentials
		}
		switch Scheme(scheme) {
		case Digest:
			return a.byDigest(r, rest, at)
		case Bearer:
			return a.byToken(r.Context(), rest)
		default:
			return a.byPassword(r.Context(), rest, at)
		}
	})
}

// noting tells the audit log who logged in.
func (a *Authenticator) noting(at visit, login func() (Login, error)) (Login, error) {
	in, err := login()
	if err == nil {
		a.noteLogin(at, in)
	}
	return in, err
}

// byPassword logs a user in by name and password, their own or that of an account.
func (a *Authenticator) byPassword(ctx context.Context, token string, at visit) (Login, error) {
	name, password, ok := parseBasic(token)
	if !ok || strings.EqualFold(name, Anonymous) {
		return Login{}, ErrCredentials
	}
	if in, ok, err := a.byAccount(ctx, name, password); ok || err != nil {
		return in, err
	}
	user, err := a.byOwnPassword(ctx, at, name, password)
	return Login{User: user}, err
}

// byOwnPassword logs a user in by name and their own password.
func (a *Authenticator) byOwnPassword(ctx context.Context, at visit, name, password string) (store.User, error) {
	if name == "" || strings.EqualFold(name, Anonymous) || len(password) > MaxPasswordBytes {
		return store.User{}, ErrCredentials
	}
	user, hash, err := a.look(ctx, name)
	if err != nil {
		return store.User{}, fmt.Errorf("look up user: %w", err)
	}
	right, err := a.check(ctx, attempt{visit: at, user: user, name: name, hash: hash, password: password})
	if err != nil {
		return store.User{}, err
	}
	if !right || user.Disabled {
		return store.User{}, ErrCredentials
	}
	return user, nil
}

// look finds a user and the hash to compare with. Whoever cannot log in is
// compared with a hash that nothing matches, for the same time.
func (a *Authenticator) look(ctx context.Context, name string) (store.User, string, error) {
	user, err := a.users.User(ctx, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.User{}, dummyHash, nil
	case err != nil:
		return store.User{}, "", err
	case user.Disabled || user.PasswordHash == "":
		return user, dummyHash, nil
	}
	return user, user.PasswordHash, nil
}

// attempt is one login by a user's own password: the row that was read, what to
// compare, who asks.
type attempt struct {
	visit
	user                 store.User
	name, hash, password string
}

// brakeKey joins address and name. An IPv6 client owns its whole /64.
func (l attempt) brakeKey() string {
	from := l.from.Unmap()
	if from.Is6() {
		prefix, _ := from.WithZone("").Prefix(64) // 64 fits every IPv6 address
		from = prefix.Addr()
	}
	return from.String() + " " + strings.ToLower(l.name)
}

// check tells whether the password is right: from memory, or by a hash, which
// equal logins that arrive together share. The hash outlives the request that
// asked for it, so that an impatient client's next try finds the outcome.
func (a *Authenticator) check(ctx context.Context, l attempt) (bool, error) {
	digest := a.memory.digest(l.user.ID, l.user.AuthVersion, strings.ToLower(l.name), l.password)
	if right, known := a.memory.recall(digest); known {
		return right, nil
	}
	outcome := a.flights.DoChan(digest, func() (any, error) { return a.hash(l, digest) })
	select {
	case result := <-outcome:
		right, _ := result.Val.(bool)
		return right, result.Err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// hash compares the password with its hash when there is a slot and the brake
// allows it, and remembers the outcome.
func (a *Authenticator) hash(l attempt, digest string) (right bool, err error) {
	// A flight that landed between recall and DoChan left its outcome here.
	if right, known := a.memory.recall(digest); known {
		return right, nil
	}
	key := l.brakeKey()
	busy := a.gate.run(func() {
		if wait := a.brake.take(key); wait > 0 {
			err = &BrakeError{Wait: wait}
			return
		}
		right, err = a.verify(l.hash, l.password)
	})
	switch {
	case busy != nil:
		return false, busy
	case err != nil:
		return false, fmt.Errorf("compare password of user %d: %w", l.user.ID, err)
	}
	a.memory.remember(digest, right)
	if right {
		a.brake.succeed(key)
	} else {
		a.noteRefused(l.visit, l.user)
	}
	return right, nil
}
