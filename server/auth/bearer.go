package auth

import (
	"context"
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
