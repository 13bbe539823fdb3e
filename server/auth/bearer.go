package auth

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// challengeBearer asks for a bearer token (RFC 6750 section 3).
const challengeBearer = `Bearer realm="` + Realm + `"`

// byToken logs in whom an app password opens, sent alone as a bearer token. It
// needs no name, since no two are alike, and no brake, since nobody guesses one.
func (a *Authenticator) byToken(ctx context.Context, token string) (Login, error) {
	in, ok, err := a.openedBy(ctx, token)
	if err != nil {
		return Login{}, err
	}
	if !ok || strings.EqualFold(in.User.Name, Anonymous) {
		return Login{}, ErrCredentials
	}
	a.noteUse(ctx, *in.Account)
	return in, nil
}

// AuthenticateAPI is Authenticate for the API, whose programs may send an app
// password as a bearer token whatever schemes are served. Digest is not for them.
//
// Errors: those of Authenticate.
func (a *Authenticator) AuthenticateAPI(r *http.Request, from netip.Addr) (Login, error) {
	at := visit{API, from}
	return a.noting(at, func() (Login, error) {
		scheme, rest := credentials(r.Header)
		switch {
		case scheme == string(Bearer):
			return a.byToken(r.Context(), rest)
		case scheme == string(Basic) && slices.Contains(a.schemes, Basic):
			return a.byPassword(r.Context(), rest, at)
		}
		return Login{}, ErrCredentials
	})
}
