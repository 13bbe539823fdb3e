package store

import (
	"context"
	"strings"
)

// HA1 is what a Digest login of an account is compared with, by the algorithm:
// the hash of name, realm and password (RFC 7616 section 3.4.2), in hex, once for
// each spelling of the user's name that may be sent. Unlike a password's hash it
// opens the account to whoever reads it, so it is kept only while Digest is
// served.
type HA1 struct{ MD5, SHA256 []string }

// columns are the HA1 as they are stored: blanks between, null when there is none.
func (h HA1) columns() (md5, sha256 any) {
	join := func(all []string) any {
		if len(all) == 0 {
			return nil
		}
		return strings.Join(all, " ")
	}
	return join(h.MD5), join(h.SHA256)
}

// DigestLogin is an account that can be logged in to with Digest.
type DigestLogin struct {
	Account Account
	HA1     HA1
}

// KeepHA1 says whether accounts added from now on get an HA1. With keep false
// those there are lose theirs, though the database file may hold them until their
// space is used again. Of several servers on one database the last one started
// decides.
func (s *Store) KeepHA1(ctx context.Context, keep bool) error {
	return s.update(ctx, nil, func(t *tx) error {
		changed, err := t.exec(`UPDATE instance SET digest = ? WHERE id = 1 AND digest <> ?`, btoi(keep), btoi(keep))
		if err == nil && changed > 0 && !keep {
			_, err = t.exec(`UPDATE accounts SET ha1_md5 = NULL, ha1_sha256 = NULL WHERE ha1_md5 IS NOT NULL OR ha1_sha256 IS NOT NULL`)
		}
		return err
	})
}

// ha1 is what is kept for a new account of the user, nothing unless Digest is
// served.
func (t *tx) ha1(n NewAccount, u User) (HA1, error) {
	if n.HA1 == nil {
		return HA1{}, nil
	}
	var kept bool
	if _, err := t.row(`SELECT digest FROM instance WHERE id = 1`, nil, &kept); err != nil || !kept {
		return HA1{}, err
	}
	return n.HA1(u.Name), nil
}

const selectDigestLogins = `SELECT ` + accountColumns + `, coalesce(a.ha1_md5, ''), coalesce(a.ha1_sha256, '') FROM accounts a
WHERE a.user_id = ? AND a.ha1_md5 IS NOT NULL AND (a.expires_at IS NULL OR a.expires_at >= ?)`

// DigestLogins finds a user by name without regard to case, and those of their
// accounts that can be logged in to with Digest and have not expired: ErrNotFound.
// Whether the user may log in is for the caller to decide.
func (s *Store) DigestLogins(ctx context.Context, user string) (u User, all []DigestLogin, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		if u, err = t.user(user); err != nil {
			return err
		}
		return t.rows(selectDigestLogins, []any{u.ID, micros(t.now)}, func(scan func(...any) error) error {
			var md5, sha256 string
			a, err := scanAccount(func(account ...any) error { return scan(append(account, &md5, &sha256)...) })
			all = append(all, DigestLogin{a, HA1{strings.Fields(md5), strings.Fields(sha256)}})
			return err
		})
	})
	return u, all, err
}
