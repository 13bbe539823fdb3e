package store

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast/lockns"
)

// How long a session is good: SessionIdle after its last use, and SessionLife
// whatever its use.
const (
	SessionIdle = 7 * 24 * time.Hour
	SessionLife = 30 * 24 * time.Hour
)

// MaxSessions is how many sessions a user may have. One more ends the one that was
// not used for the longest time.
const MaxSessions = 50

// Session is the login of a browser.
type Session struct {
	ID, UserID int64
	// Agent and Address are those of the browser that opened it.
	Agent, Address string
	Created        time.Time
	LastUsed       time.Time // exact to UsedEvery
	// Expires is the last moment at which it is good for anything.
	Expires time.Time
}

// NewSession is a session to be opened.
type NewSession struct {
	// User is the row that the password was compared with: if anything that a login
	// proves changed since then, there is no session.
	User User
	// TokenHash is what the session is found by. Who knows the token has the
	// session.
	TokenHash      string
	Agent, Address string
	// Replaces is the session that the browser has so far, whoever's it is; it ends.
	// 0 is none.
	Replaces int64
}

const (
	sessionColumns = `s.id, s.user_id, s.agent, s.address, s.created_at, s.last_used_at, s.expires_at`
	// Neither the password nor a role may have changed since a session was opened.
	liveSession = ` FROM sessions s JOIN users u ON u.id = s.user_id AND u.auth_version = s.auth_version AND u.disabled = 0 `

	selectSessionByHash = `SELECT ` + sessionColumns + `, ` + userColumns + liveSession + `WHERE s.token_hash = ? AND s.expires_at >= ?`
	selectSessions      = `SELECT ` + sessionColumns + liveSession + `WHERE s.user_id = ? AND s.expires_at >= ? ORDER BY s.id DESC`
)

func scanSession(scan func(...any) error, more ...any) (n Session, err error) {
	var created, used, expires int64
	err = scan(append([]any{&n.ID, &n.UserID, &n.Agent, &n.Address, &created, &used, &expires}, more...)...)
	n.Created, n.LastUsed, n.Expires = fromMicros(created), fromMicros(used), fromMicros(expires)
	return n, err
}

// endOf is the last moment of a session that is used now.
func endOf(created, now time.Time) time.Time {
	end, most := now.Add(SessionIdle), created.Add(SessionLife)
	if end.After(most) {
		return most
	}
	return end
}

// OpenSession opens a session: ErrForbidden when the user is gone or disabled, or
// has other credentials by now.
func (s *Store) OpenSession(ctx context.Context, n NewSession) (opened Session, err error) {
	err = s.update(ctx, nil, func(t *tx) error {
		u, err := t.sameLogin(n.User)
		if err != nil {
			return err
		}
		opened, err = t.openSession(u, n)
		return err
	})
	return opened, err
}

// sameLogin reads a user anew and refuses with ErrForbidden one who could not log
// in as before. It takes their workspace, where changes of their logins meet.
func (t *tx) sameLogin(before User) (u User, err error) {
	if u, err = t.userByID(before.ID); err == nil {
		_, err = t.space(u.Workspace())
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return u, ErrForbidden
	case err == nil && (u.Disabled || u.AuthVersion != before.AuthVersion):
		return u, ErrForbidden
	}
	return u, err
}

func (t *tx) openSession(u User, n NewSession) (opened Session, err error) {
	if err := t.replaceSession(n.Replaces); err != nil {
		return opened, err
	}
	if err := t.roomForSession(u); err != nil {
		return opened, err
	}
	opened = Session{UserID: u.ID, Agent: n.Agent, Address: n.Address, Created: t.now, LastUsed: t.now, Expires: endOf(t.now, t.now)}
	opened.ID, err = t.insert(`INSERT INTO sessions (user_id, token_hash, auth_version, agent, address, created_at, last_used_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		u.ID, n.TokenHash, u.AuthVersion, n.Agent, n.Address, micros(t.now), micros(t.now), micros(opened.Expires))
	if err != nil {
		return opened, err
	}
	return opened, t.audit(u.Actor(), "session.opened", lockns.Workspace{}, u.Name, n.Address)
}

// replaceSession ends the session that a browser had before. It may have ended.
func (t *tx) replaceSession(id int64) error {
	if id == 0 {
		return nil
	}
	var owner Actor
	ok, err := t.row(`SELECT u.id, u.name FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = ?`, []any{id}, &owner.ID, &owner.Name)
	if err != nil || !ok {
		return err
	}
	return t.endSession(id, owner, owner.Name, "the browser logged in again")
}

// roomForSession forgets what is left of sessions that are good for nothing, and
// ends as many others as are one too many.
func (t *tx) roomForSession(u User) error {
	if _, err := t.exec(`DELETE FROM sessions WHERE user_id = ? AND (auth_version <> ? OR expires_at < ?)`, u.ID, u.AuthVersion, micros(t.now)); err != nil {
		return err
	}
	var least []int64
	err := t.rows(`SELECT id FROM sessions WHERE user_id = ? ORDER BY last_used_at DESC, id DESC LIMIT ? OFFSET ?`,
		[]any{u.ID, MaxSessions, MaxSessions - 1}, func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			least = append(least, id)
			return err
		})
	for _, id := range least {
		if err == nil {
			err = t.endSession(id, u.Actor(), u.Name, "too many sessions")
		}
	}
	return err
}

// endSession ends a session of the user of that name: ErrNotFound.
func (t *tx) endSession(id int64, by Actor, user, why string) error {
	n, err := t.exec(`DELETE FROM sessions WHERE id = ?`, id)
	if err == nil && n == 0 {
		err = fmt.Errorf("session: %w", ErrNotFound)
	}
	if err != nil {
		return err
	}
	return t.audit(by, "session.ended", lockns.Workspace{}, user, why)
}

// EndSession ends a session of a user known by id: ErrNotFound, for those of
// others too.
func (s *Store) EndSession(ctx context.Context, user, id int64, by Actor) error {
	return s.update(ctx, nil, func(t *tx) error {
		var name string
		ok, err := t.row(`SELECT u.name FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = ? AND s.user_id = ?`, []any{id, user}, &name)
		if err == nil && !ok {
			err = fmt.Errorf("session: %w", ErrNotFound)
		}
		if err != nil {
			return err
		}
		return t.endSession(id, by, name, "logged out")
	})
}

// Sessions lists the sessions of a user known by id that are good for something,
// the newest first: MaxSessions at most.
func (s *Store) Sessions(ctx context.Context, user int64) (all []Session, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		return t.rows(selectSessions, []any{user, micros(t.now)}, func(scan func(...any) error) error {
			n, err := scanSession(scan)
			all = append(all, n)
			return err
		})
	})
	return all, err
}

// SessionByHash finds the session whose token has this hash, and its user:
// ErrNotFound, also when it has expired, the user is disabled, or anything that a
// login proves changed since it was opened.
func (s *Store) SessionByHash(ctx context.Context, hash string) (u User, n Session, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		found := false
		err := t.rows(selectSessionByHash, []any{hash, micros(t.now)}, func(scan func(...any) error) (err error) {
			found = true
			u, err = scanUser(func(user ...any) error { // its columns follow the session's
				n, err = scanSession(scan, user...)
				return err
			})
			return err
		})
		if err == nil && !found {
			err = fmt.Errorf("session: %w", ErrNotFound)
		}
		return err
	})
	return u, n, err
}

// UsedSession notes that a session was used, and moves its end, unless its last
// use was noted less than UsedEvery ago. One that has ended stays so, and is no
// error.
func (s *Store) UsedSession(ctx context.Context, n Session) error {
	return s.update(ctx, nil, func(t *tx) error {
		_, err := t.exec(`UPDATE sessions SET last_used_at = ?, expires_at = ? WHERE id = ? AND last_used_at <= ? AND expires_at >= ?`,
			micros(t.now), micros(endOf(n.Created, t.now)), n.ID, micros(t.now.Add(-UsedEvery)), micros(t.now))
		return err
	})
}

// PruneSessions removes up to 500 sessions that have expired and says how many; 0
// means there are none.
func (s *Store) PruneSessions(ctx context.Context) (rows int, err error) {
	err = s.update(ctx, nil, func(t *tx) error {
		n, err := t.exec(`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`, micros(t.now), chunkRows)
		rows = int(n)
		return err
	})
	return rows, err
}

// Profile is what users change of themselves; what is nil or empty stays.
type Profile struct {
	// User is the row that the login was compared with.
	User        User
	DisplayName *string
	// PasswordHash is of another password. All sessions of the user end with the
	// former one; app passwords stay.
	PasswordHash string
	// Session, if not nil, is opened in the place of those that end.
	Session *NewSession
}

// SetProfile changes a user as they asked for it themselves.
//
// Errors: ErrBadName (display name), ErrForbidden (the user is gone or disabled,
// or has other credentials by now).
func (s *Store) SetProfile(ctx context.Context, p Profile) (u User, opened Session, err error) {
	if p.DisplayName != nil {
		if err := CheckDisplayName(*p.DisplayName); err != nil {
			return u, opened, err
		}
	}
	err = s.update(ctx, nil, func(t *tx) error {
		if u, err = t.sameLogin(p.User); err != nil {
			return err
		}
		u, opened, err = t.setProfile(u, p)
		return err
	})
	return u, opened, err
}

func (t *tx) setProfile(before User, p Profile) (u User, opened Session, err error) {
	patch := UserPatch{DisplayName: p.DisplayName}
	if p.PasswordHash != "" {
		patch.PasswordHash = &p.PasswordHash
	}
	changes := patch.changes()
	if changes == "" {
		return before, opened, nil
	}
	if err := t.setUser(before.ID, patch); err != nil {
		return u, opened, err
	}
	if err := t.audit(before.Actor(), "user.changed", lockns.Workspace{}, before.Name, changes); err != nil {
		return u, opened, err
	}
	if u, err = t.userByID(before.ID); err != nil || p.PasswordHash == "" {
		return u, opened, err
	}
	ended, err := t.exec(`DELETE FROM sessions WHERE user_id = ?`, u.ID)
	if err == nil && ended > 0 {
		err = t.audit(u.Actor(), "session.ended", lockns.Workspace{}, u.Name, fmt.Sprintf("%d: password changed", ended))
	}
	if err == nil && p.Session != nil {
		opened, err = t.openSession(u, *p.Session)
	}
	return u, opened, err
}

// MaxDisplayName is how many bytes a display name may have.
const MaxDisplayName = 128

// CheckDisplayName refuses, with an error that wraps ErrBadName, what no user may
// be called for people: UTF-8 of characters that print, MaxDisplayName bytes at
// most. An empty one is none.
func CheckDisplayName(name string) error {
	if len(name) > MaxDisplayName {
		return fmt.Errorf("%w: a display name has at most %d bytes", ErrBadName, MaxDisplayName)
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("%w: a display name is UTF-8", ErrBadName)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%w: a display name contains the character %U", ErrBadName, r)
		}
	}
	return nil
}
