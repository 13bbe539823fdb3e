package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"holdfast/store"
)

// sessionToken is what every session's token looks like: 256 random bits. Only
// what does is looked up as one.
var sessionToken = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// ErrWrongPassword says that a password to be changed is another: 403, for who
// asks is logged in.
var ErrWrongPassword = errors.New("the former password is another")

// maxAgent is how many bytes of a browser's name are kept.
const maxAgent = 256

// Credentials are those of a user who logs in at a browser.
type Credentials struct {
	Name, Password string
	From           netip.Addr
	Agent          string // what the browser calls itself
	// Replaces is the session the browser has so far; 0 for none.
	Replaces int64
}

// session is what is to be kept of a new session of these credentials.
func (c Credentials) session(user store.User, token string) store.NewSession {
	return store.NewSession{User: user, TokenHash: hashToken(token), Agent: shown(c.Agent), Address: c.From.String(), Replaces: c.Replaces}
}

// shown is text of a client's choice as people can be shown it.
func shown(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, ""))
	return strings.ToValidUTF8(text[:min(len(text), maxAgent)], "")
}

func newSessionToken() string { return base64.RawURLEncoding.EncodeToString(random(32)) }

// hashToken is what is kept of a session's token, and looked up by; see
// HashAppPassword.
func hashToken(token string) string { return HashAppPassword(token) }

// OpenSession logs a user in by their own password and gives the token of a new
// session. It takes no app password: whoever has one that opens a folder must not
// get the whole user for it, and with it a login that survives its removal.
//
// Errors: those of Authenticate.
func (a *Authenticator) OpenSession(ctx context.Context, c Credentials) (in Login, token string, err error) {
	user, err := a.byOwnPassword(ctx, visit{Browser, c.From}, c.Name, c.Password)
	if err != nil {
		return in, "", err
	}
	token = newSessionToken()
	session, err := a.users.OpenSession(ctx, c.session(user, token))
	switch {
	case errors.Is(err, store.ErrForbidden): // no longer who was compared
		return in, "", ErrCredentials
	case err != nil:
		return in, "", fmt.Errorf("open session: %w", err)
	}
	return Login{User: user, Session: &session}, token, nil
}

// BySession logs in whose session has the token.
//
// Errors: ErrCredentials; else looking it up failed.
func (a *Authenticator) BySession(ctx context.Context, token string) (Login, error) {
	if !sessionToken.MatchString(token) {
		return Login{}, ErrCredentials
	}
	user, session, err := a.users.SessionByHash(ctx, hashToken(token))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Login{}, ErrCredentials
	case err != nil:
		return Login{}, fmt.Errorf("look up session: %w", err)
	}
	a.noteSession(ctx, session)
	return Login{User: user, Session: &session}, nil
}

// noteSession is noteUse for a session.
func (a *Authenticator) noteSession(ctx context.Context, n store.Session) {
	if a.now().Sub(n.LastUsed) < store.UsedEvery {
		return
	}
	ctx = context.WithoutCancel(ctx)
	a.notes.DoChan("session "+strconv.FormatInt(n.ID, 10), func() (any, error) {
		return nil, a.users.UsedSession(ctx, n)
	})
}

// Change is another password of a user, or another name for people.
type Change struct {
	Login       Login // of who changes it
	DisplayName *string
	// Old and New are the user's own passwords; without New the password stays.
	Old, New string
	From     netip.Addr
	Agent    string
}

// ChangeProfile changes a user as they ask for it. With another password all
// their sessions end; who came by one gets another, and its token.
//
// Errors: ErrWrongPassword, ErrBadPassword, store.ErrBadName, store.ErrForbidden,
// ErrBusy, *BrakeError; else the store failed.
func (a *Authenticator) ChangeProfile(ctx context.Context, c Change) (in Login, token string, err error) {
	p := store.Profile{User: c.Login.User, DisplayName: c.DisplayName}
	in = c.Login
	if c.New != "" {
		if p.PasswordHash, err = a.exchange(ctx, c); err != nil {
			return in, "", err
		}
		if in.Session != nil {
			token = newSessionToken()
			n := Credentials{From: c.From, Agent: c.Agent}.session(in.User, token)
			p.Session = &n
		}
	}
	user, opened, err := a.users.SetProfile(ctx, p)
	if err != nil {
		return in, "", err
	}
	in.User = user
	if token != "" {
		in.Session = &opened
	}
	return in, token, nil
}

// exchange compares a user's password, as a login does, and gives the hash of
// another.
func (a *Authenticator) exchange(ctx context.Context, c Change) (hash string, err error) {
	if err := CheckPassword(c.New); err != nil {
		return "", err
	}
	user, err := a.byOwnPassword(ctx, visit{API, c.From}, c.Login.User.Name, c.Old)
	switch {
	case errors.Is(err, ErrCredentials) || err == nil && user.ID != c.Login.User.ID:
		return "", ErrWrongPassword
	case err != nil:
		return "", err
	}
	busy := a.gate.run(func() { hash, err = HashPassword(c.New) })
	return hash, errors.Join(busy, err)
}
