package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// session opens a session of the fixture's user, found by hash.
func (f *fixture) session(hash string) store.Session {
	f.t.Helper()
	n, err := f.OpenSession(f.t.Context(), store.NewSession{User: f.user, TokenHash: hash, Agent: "Browser/1", Address: "192.0.2.7"})
	must(f.t, err)
	return n
}

// live reports whether a session is good for something.
func (f *fixture) live(hash string) bool {
	f.t.Helper()
	_, _, err := f.SessionByHash(f.t.Context(), hash)
	if err != nil {
		wantError(f.t, err, store.ErrNotFound)
	}
	return err == nil
}

// everySession runs the operations on sessions, and those on accounts by id.
func (f *fixture) everySession(a store.Account) {
	ctx, t := f.t.Context(), f.t
	n := f.session("a")
	_, err := f.OpenSession(ctx, store.NewSession{User: f.user, TokenHash: "b", Replaces: n.ID})
	must(t, err)
	for i := range store.MaxSessions {
		n = f.session(fmt.Sprint("more ", i))
	}
	wantEqual(t, "live", f.live(fmt.Sprint("more ", store.MaxSessions-1)), true)
	must(t, f.UsedSession(ctx, n))
	_, err = f.Sessions(ctx, f.user.ID)
	must(t, err)
	must(t, f.EndSession(ctx, f.user.ID, n.ID, boss))
	must(t, f.NoteLogin(ctx, store.LoginNote{Event: "login", User: f.user}))
	_, err = f.AccountsOf(ctx, f.user.ID)
	must(t, err)
	other := f.account("other", store.NewAccount{TeamID: a.TeamID})
	must(t, f.RemoveAccountOf(ctx, f.user.ID, other.ID, boss))
	name := "Ada"
	f.user, _, err = f.SetProfile(ctx, store.Profile{User: f.user, DisplayName: &name, PasswordHash: "new", Session: &store.NewSession{TokenHash: "c"}})
	must(t, err)
}

// TestSession: what is kept, and until when a session is good.
func TestSession(t *testing.T) {
	f := newFixture(t)
	opened := f.session("a")
	want := store.Session{ID: opened.ID, UserID: f.user.ID, Agent: "Browser/1", Address: "192.0.2.7", Created: f.now(), LastUsed: f.now(), Expires: f.now().Add(7 * 24 * time.Hour)}
	wantEqual(t, "opened", opened, want)
	u, found, err := f.SessionByHash(t.Context(), "a")
	must(t, err)
	wantEqual(t, "found", found, want)
	wantEqual(t, "user", u, f.user)
	wantEqual(t, "by another hash", f.live("A"), false)

	f.advance(30 * time.Second)
	must(t, f.UsedSession(t.Context(), opened))
	_, found, err = f.SessionByHash(t.Context(), "a")
	must(t, err)
	wantEqual(t, "used within the minute", found, want)

	f.advance(30 * time.Second)
	must(t, f.UsedSession(t.Context(), opened))
	want.LastUsed, want.Expires = f.now(), f.now().Add(7*24*time.Hour)
	_, found, err = f.SessionByHash(t.Context(), "a")
	must(t, err)
	wantEqual(t, "used after a minute", found, want)

	f.clock.Store(want.Expires.UnixMicro())
	wantEqual(t, "live at its last moment", f.live("a"), true)
	f.advance(time.Microsecond)
	wantEqual(t, "live after it", f.live("a"), false)
	must(t, f.UsedSession(t.Context(), opened))
	wantEqual(t, "live after a use that came too late", f.live("a"), false)
	all, err := f.Sessions(t.Context(), f.user.ID)
	must(t, err)
	wantEqual(t, "listed", len(all), 0)
}

// TestSessionHasAnEnd: use keeps it no longer than SessionLife.
func TestSessionHasAnEnd(t *testing.T) {
	f := newFixture(t)
	opened := f.session("a")
	for range 5 {
		f.advance(6*24*time.Hour - time.Second)
		wantEqual(t, "live", f.live("a"), true)
		must(t, f.UsedSession(t.Context(), opened))
	}
	_, found, err := f.SessionByHash(t.Context(), "a")
	must(t, err)
	wantEqual(t, "end", found.Expires, opened.Created.Add(30*24*time.Hour))
	f.advance(6 * time.Second)
	wantEqual(t, "live after the end", f.live("a"), false)
}

// TestSessionEndsWithItsLogin: whatever a login proves, a session proves no longer
// than that.
func TestSessionEndsWithItsLogin(t *testing.T) {
	yes, no, hash := true, false, "another"
	for outcome, change := range map[string]func(f *fixture) error{
		"password": func(f *fixture) error {
			_, err := f.SetUser(f.t.Context(), "ada", store.UserPatch{PasswordHash: &hash})
			return err
		},
		"role": func(f *fixture) error {
			_, err := f.SetUser(f.t.Context(), "ada", store.UserPatch{Admin: &yes})
			return err
		},
		"disabled": func(f *fixture) error {
			_, err := f.SetUser(f.t.Context(), "ada", store.UserPatch{Disabled: &yes})
			return err
		},
		"disabled and enabled": func(f *fixture) error {
			for _, disabled := range []*bool{&yes, &no} {
				if _, err := f.SetUser(f.t.Context(), "ada", store.UserPatch{Disabled: disabled}); err != nil {
					return err
				}
			}
			return nil
		},
		"removed": func(f *fixture) error { return f.RemoveUser(f.t.Context(), "ada", boss) },
	} {
		t.Run(outcome, func(t *testing.T) {
			f := newFixture(t)
			f.session("a")
			must(t, change(f))
			wantEqual(t, "live", f.live("a"), false)
			all, err := f.Sessions(t.Context(), f.user.ID)
			must(t, err)
			wantEqual(t, "listed", len(all), 0)
			_, err = f.OpenSession(t.Context(), store.NewSession{User: f.user, TokenHash: "b"}) // the password was right a moment ago
			wantError(t, err, store.ErrForbidden)
			_, _, err = f.SetProfile(t.Context(), store.Profile{User: f.user, PasswordHash: "mine"})
			wantError(t, err, store.ErrForbidden)
		})
	}
}

// TestSessionsAreBounded: one too many ends the one that was not used for longest,
// and what is good for nothing takes no place.
func TestSessionsAreBounded(t *testing.T) {
	f := newFixture(t)
	first := f.session("first")
	f.advance(time.Minute)
	for i := range store.MaxSessions - 1 {
		f.session(fmt.Sprint(i))
	}
	f.advance(time.Minute)
	must(t, f.UsedSession(t.Context(), first))
	f.session("last")
	wantEqual(t, "rows", f.rows("sessions"), store.MaxSessions)
	wantEqual(t, "the one that was used", f.live("first"), true)
	wantEqual(t, "the one that was not", f.live("0"), false)
	wantEqual(t, "the next", f.live("1"), true)
	wantSlice(t, "ended", f.auditLines(store.AuditFilter{Event: "session.ended"}), []string{"ada session.ended  ada: too many sessions"})

	f.advance(8 * 24 * time.Hour)
	bob := f.addUser("bob")
	_, err := f.OpenSession(t.Context(), store.NewSession{User: bob, TokenHash: "bob's"})
	must(t, err)
	wantEqual(t, "rows of others", f.rows("sessions"), store.MaxSessions+1)
	f.session("new")
	wantEqual(t, "rows", f.rows("sessions"), 2)
}

// TestEndSession: a session is ended by its user, and by another login of the same
// browser.
func TestEndSession(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	a := f.session("a")
	wantError(t, f.EndSession(t.Context(), bob.ID, a.ID, bob.Actor()), store.ErrNotFound)
	wantEqual(t, "live", f.live("a"), true)
	must(t, f.EndSession(t.Context(), f.user.ID, a.ID, f.user.Actor()))
	wantEqual(t, "live", f.live("a"), false)
	wantError(t, f.EndSession(t.Context(), f.user.ID, a.ID, f.user.Actor()), store.ErrNotFound)
	must(t, f.UsedSession(t.Context(), a))

	b := f.session("b")
	_, err := f.OpenSession(t.Context(), store.NewSession{User: bob, TokenHash: "c", Address: "192.0.2.8", Replaces: b.ID})
	must(t, err)
	wantEqual(t, "live", f.live("b"), false)
	_, err = f.OpenSession(t.Context(), store.NewSession{User: bob, TokenHash: "d", Replaces: b.ID}) // which has ended
	must(t, err)
	wantSlice(t, "audit log", f.auditLines(store.AuditFilter{})[:6], []string{
		"bob session.opened  bob: ",
		"bob session.opened  bob: 192.0.2.8",
		"ada session.ended  ada: the browser logged in again",
		"ada session.opened  ada: 192.0.2.7",
		"ada session.ended  ada: logged out",
		"ada session.opened  ada: 192.0.2.7",
	})
}

func TestPruneSessions(t *testing.T) {
	f := newFixture(t)
	f.session("old")
	f.advance(8 * 24 * time.Hour)
	f.session("b")
	f.sql(`INSERT INTO sessions SELECT id + 100, user_id, 'older', auth_version, agent, address, 1, 1, 1 FROM sessions WHERE token_hash = 'b'`)
	n, err := f.PruneSessions(t.Context())
	must(t, err)
	wantEqual(t, "pruned", n, 1) // "old" went when its user logged in again
	wantEqual(t, "live", f.live("b"), true)
	n, err = f.PruneSessions(t.Context())
	must(t, err)
	wantEqual(t, "pruned again", n, 0)
}

func TestSetProfile(t *testing.T) {
	f := newFixture(t)
	f.session("a")
	f.session("b")
	name := "Ada Lovelace"
	u, _, err := f.SetProfile(t.Context(), store.Profile{User: f.user, DisplayName: &name})
	must(t, err)
	wantEqual(t, "name", u.DisplayName, name)
	wantEqual(t, "live", f.live("a"), true)
	u, opened, err := f.SetProfile(t.Context(), store.Profile{User: u, PasswordHash: "new", Session: &store.NewSession{TokenHash: "c", Address: "192.0.2.8"}})
	must(t, err)
	wantEqual(t, "hash", u.PasswordHash, "new")
	wantEqual(t, "version", u.AuthVersion, f.user.AuthVersion+1)
	for _, hash := range []string{"a", "b"} {
		wantEqual(t, "live: "+hash, f.live(hash), false)
	}
	found, n, err := f.SessionByHash(t.Context(), "c")
	must(t, err)
	wantEqual(t, "opened", n, opened)
	wantEqual(t, "its user", found, u)
	_, _, err = f.SetProfile(t.Context(), store.Profile{User: f.user, PasswordHash: "late"}) // compared with the former password
	wantError(t, err, store.ErrForbidden)
	for _, bad := range []string{"a\nb", "\xff", strings.Repeat("x", 129)} {
		_, _, err = f.SetProfile(t.Context(), store.Profile{User: u, DisplayName: &bad})
		wantError(t, err, store.ErrBadName)
	}
	_, _, err = f.SetProfile(t.Context(), store.Profile{User: u})
	must(t, err)
	wantSlice(t, "audit log", f.auditLines(store.AuditFilter{})[:4], []string{
		"ada session.opened  ada: 192.0.2.8",
		"ada session.ended  ada: 2: password changed",
		"ada user.changed  ada: password",
		"ada user.changed  ada: display name",
	})
}

// TestNoteLogin: a refused login has nobody who did it.
func TestNoteLogin(t *testing.T) {
	f := newFixture(t)
	for _, n := range []store.LoginNote{
		{Event: "login", User: f.user, Door: "WebDAV", Address: "192.0.2.7"},
		{Event: "login", User: f.user, Account: "phone", Door: "WebDAV", Address: "192.0.2.7"},
		{Event: "login.refused", User: f.user, Door: "API", Address: "192.0.2.7"},
		{Event: "session.refused", Door: "session", Address: "192.0.2.7", Missed: 7},
	} {
		must(t, f.NoteLogin(t.Context(), n))
	}
	wantSlice(t, "audit log", f.auditLines(store.AuditFilter{})[:4], []string{
		" session.refused  : session from 192.0.2.7; 7 more before it",
		" login.refused  ada: API from 192.0.2.7",
		"ada login  ada: WebDAV from 192.0.2.7, app password phone",
		"ada login  ada: WebDAV from 192.0.2.7",
	})
}

func TestPruneAudit(t *testing.T) {
	f := newFixture(t, func(o *store.Options) { o.AuditAge = time.Hour })
	f.advance(time.Hour)
	n, err := f.PruneAudit(t.Context())
	must(t, err)
	wantEqual(t, "pruned at the age", n, 0)
	f.addUser("bob")
	f.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
INSERT INTO audit_log (at, actor, event, subject, detail) SELECT i, '', 'x', '', '' FROM n`)
	f.advance(time.Microsecond)
	for _, want := range []int{500, 101, 0} {
		n, err = f.PruneAudit(t.Context())
		must(t, err)
		wantEqual(t, "pruned", n, want)
	}
	wantSlice(t, "left", f.auditLines(store.AuditFilter{}), []string{" user.added  bob: "})
	f.o.AuditAge = 0
	f.reopen()
	f.advance(1000 * time.Hour)
	n, err = f.PruneAudit(t.Context())
	must(t, err)
	wantEqual(t, "pruned without an age", n, 0)
}

// TestAccountsByID: an account can be limited to a team and a folder known by
// their ids, and is removed by its own.
func TestAccountsByID(t *testing.T) {
	f := newFixture(t)
	bob, team := f.addUser("bob"), f.addTeam("Ops")
	f.mkdir("/d")
	d := f.stat("/d").Place.Root.ID
	n, err := f.Mkdir(t.Context(), inTeam(team, "/t"), store.Patch{}, f.me())
	must(t, err)
	root := f.number(`SELECT f.id FROM folders f JOIN resource_lock_namespaces n ON n.id = f.namespace_id WHERE workspace_type = 'personal' AND workspace_id = ? AND parent_id IS NULL`, f.user.ID)
	for _, c := range []struct {
		name  string
		n     store.NewAccount
		ws    lockns.Workspace
		scope store.Scope
		root  int64
	}{
		{"folder", store.NewAccount{Folder: d}, f.user.Workspace(), store.ScopePersonal, d},
		{"root folder", store.NewAccount{Folder: root}, f.user.Workspace(), store.ScopePersonal, 0},
		{"team", store.NewAccount{TeamID: team.ID}, team.Workspace(), store.ScopeTeam, 0},
		{"folder of a team", store.NewAccount{TeamID: team.ID, Folder: n.Place.Root.ID}, team.Workspace(), store.ScopeTeam, n.Place.Root.ID},
	} {
		a := f.account(c.name, c.n)
		wantEqual(t, c.name+": workspace", a.Workspace(), c.ws)
		wantEqual(t, c.name+": scope", a.Scope, c.scope)
		wantEqual(t, c.name+": root", a.Root, c.root)
	}
	for name, c := range map[string]struct {
		n    store.NewAccount
		want error
	}{
		"a folder of another":        {store.NewAccount{User: "bob", Folder: d}, store.ErrNotFound},
		"a folder beside the team's": {store.NewAccount{User: "ada", TeamID: team.ID, Folder: d}, store.ErrNotFound},
		"a team that is not":         {store.NewAccount{User: "ada", TeamID: team.ID + 1}, store.ErrNotFound},
		"a team of others":           {store.NewAccount{User: "bob", TeamID: team.ID}, store.ErrForbidden},
	} {
		c.n.Name, c.n.PasswordHash = name, name
		_, err := f.AddAccount(t.Context(), c.n)
		wantError(t, err, c.want)
	}
	all, err := f.AccountsOf(t.Context(), f.user.ID)
	must(t, err)
	wantEqual(t, "accounts", len(all), 4)
	wantError(t, f.RemoveAccountOf(t.Context(), bob.ID, all[0].ID, boss), store.ErrNotFound)
	must(t, f.RemoveAccountOf(t.Context(), f.user.ID, all[0].ID, boss))
	all, err = f.AccountsOf(t.Context(), f.user.ID)
	must(t, err)
	wantEqual(t, "accounts", len(all), 3)
}

// TestSessionsAreAuditedWithThem: the log and the change are one transaction, and
// so are another password, the end of the sessions and the one in their place.
func TestSessionsAreAuditedWithThem(t *testing.T) {
	f := newFixture(t)
	a := f.session("a")
	for _, event := range []string{"session.opened", "session.ended"} {
		f.sql(`CREATE TRIGGER full BEFORE INSERT ON audit_log WHEN new.event = '` + event + `' BEGIN SELECT raise(ABORT, 'log is broken'); END`)
		for change, do := range map[string]func() error{
			"login": func() error {
				_, err := f.OpenSession(t.Context(), store.NewSession{User: f.user, TokenHash: "b", Replaces: a.ID})
				return err
			},
			"password": func() error {
				_, _, err := f.SetProfile(t.Context(), store.Profile{User: f.user, PasswordHash: "new", Session: &store.NewSession{TokenHash: "c"}})
				return err
			},
		} {
			if err := do(); err == nil {
				t.Errorf("%s without %s", change, event)
			}
			wantEqual(t, change+" without "+event+": sessions", f.rows("sessions"), 1)
			wantEqual(t, change+" without "+event+": the former session", f.live("a"), true)
		}
		f.sql(`DROP TRIGGER full`)
	}
}
