package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"holdfast/store"
)

// appPassword is what every app password looks like. Only what does is looked
// up as one.
var appPassword = regexp.MustCompile(`^hf-[a-z2-7]{32}$`)

// NewAppPassword mints the password of an account: 160 random bits, in letters
// and digits that no client has to escape. Keep its HashAppPassword; the
// password itself is shown once.
func NewAppPassword() string {
	return "hf-" + strings.ToLower(base32.StdEncoding.EncodeToString(random(20)))
}

// HashAppPassword is what is kept of an app password, and looked up by: the
// SHA-256 of it, after the name of the scheme. Nobody guesses 160 random bits,
// however fast the hash, so it needs neither salt nor slowness.
func HashAppPassword(password string) string {
	sum := sha256.Sum256([]byte(password))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// byAccount logs a user in by an app password. Whatever does not fit gives no
// Login and no error, and is judged as a password of the user's own, with the
// brake; that includes what was right until it was revoked or expired.
func (a *Authenticator) byAccount(ctx context.Context, name, password string) (in Login, ok bool, err error) {
	in, ok, err = a.openedBy(ctx, password)
	if !ok || !strings.EqualFold(in.User.Name, name) {
		return Login{}, false, err
	}
	a.noteUse(ctx, *in.Account)
	return in, true, nil
}

// openedBy finds whom an app password logs in; ok is false when it is none, or
// was one.
func (a *Authenticator) openedBy(ctx context.Context, password string) (in Login, ok bool, err error) {
	if !appPassword.MatchString(password) {
		return in, false, nil
	}
	user, account, err := a.users.AccountByHash(ctx, HashAppPassword(password))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return in, false, nil
	case err != nil:
		return in, false, fmt.Errorf("look up account: %w", err)
	case user.Disabled:
		return in, false, nil
	}
	return Login{User: user, Account: &account}, true, nil
}

// noteUse keeps when an account was last used, without the request waiting for
// it. A note that is lost does no harm, and what lost it fails the request too.
func (a *Authenticator) noteUse(ctx context.Context, account store.Account) {
	if a.now().Sub(account.LastUsed) < store.UsedEvery {
		return
	}
	ctx = context.WithoutCancel(ctx)
	a.notes.DoChan(strconv.FormatInt(account.ID, 10), func() (any, error) {
		return nil, a.users.UsedAccount(ctx, account.ID)
	})
}
