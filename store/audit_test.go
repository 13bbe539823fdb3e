package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// auditLines are entries of the audit log, "actor event workspace subject: detail"
// each.
func (f *fixture) auditLines(filter store.AuditFilter) []string {
	f.t.Helper()
	entries, err := f.Audit(f.t.Context(), filter)
	must(f.t, err)
	var all []string
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%s %s %s %s: %s", e.Actor, e.Event, e.Workspace.Kind, e.Subject, e.Detail))
	}
	return all
}

// TestAuditOfUsersAndTeams: every event, who caused it, and where.
func TestAuditOfUsersAndTeams(t *testing.T) {
	f := newFixture(t)
	_, err := f.AddUser(t.Context(), store.NewUser{Name: "bob", By: boss})
	must(t, err)
	text, hash, yes, no, quota := "B", "argon2-of-a-secret", true, false, int64(5)
	_, err = f.SetUser(t.Context(), "BOB", store.UserPatch{DisplayName: &text, PasswordHash: &hash, Admin: &yes, Disabled: &no, Quota: &quota, By: boss})
	must(t, err)
	_, err = f.SetUser(t.Context(), "bob", store.UserPatch{})
	must(t, err)
	_, err = f.AddTeam(t.Context(), store.NewTeam{Name: "Ops", Owner: "ADA", By: boss})
	must(t, err)
	must(t, f.SetMember(t.Context(), "OPS", "BOB", store.Writer, boss))
	for _, n := range []store.NewAccount{
		{User: "BOB", Name: "phone", PasswordHash: "h1", By: boss},
		{User: "bob", Name: "pad", PasswordHash: "h2", Team: "ops", By: boss},
		{User: "bob", Name: "car", PasswordHash: "h3", Team: "ops", By: boss},
	} {
		_, err = f.AddAccount(t.Context(), n)
		must(t, err)
	}
	must(t, f.RemoveAccount(t.Context(), "BOB", "phone", boss))
	must(t, f.RemoveMember(t.Context(), "OPS", "BOB", boss))
	must(t, f.RemoveTeam(t.Context(), "OPS", boss))
	must(t, f.RemoveUser(t.Context(), "BOB", boss))
	wantSlice(t, "audit log", f.auditLines(store.AuditFilter{}), []string{
		"boss user.removed  bob: ",
		"boss team.removed team Ops: ",
		"boss account.removed team bob: pad",
		"boss account.removed team bob: car",
		"boss member.removed team bob: ",
		"boss account.removed personal bob: phone",
		"boss account.added team bob: car",
		"boss account.added team bob: pad",
		"boss account.added personal bob: phone",
		"boss member.set team bob: member",
		"boss member.set team ada: owner",
		"boss team.added team Ops: ",
		"boss user.changed  bob: display name, password, admin=true, disabled=false, quota=5",
		"boss user.added  bob: ",
		" user.added  ada: ",
	})
	entries, err := f.Audit(t.Context(), store.AuditFilter{Event: "team.added"})
	must(t, err)
	want := store.AuditEntry{ID: entries[0].ID, At: f.now(), ActorID: boss.ID, Actor: boss.Name, Event: "team.added", Subject: "Ops",
		Workspace: entries[0].Workspace}
	wantEqual(t, "entry", entries[0], want)
	wantEqual(t, "workspace", entries[0].Workspace, lockns.Workspace{Kind: lockns.Team, ID: 1})
	t.Run("a refused change leaves no entry", func(t *testing.T) {
		before := f.rows("audit_log")
		_, err := f.AddUser(t.Context(), store.NewUser{Name: "ada"})
		wantError(t, err, store.ErrExists)
		wantError(t, f.RemoveUser(t.Context(), "bob", store.Actor{}), store.ErrNotFound)
		wantError(t, f.RemoveAccount(t.Context(), "ada", "none", boss), store.ErrNotFound)
		wantEqual(t, "entries", f.rows("audit_log"), before)
	})
}

func TestAuditFilter(t *testing.T) {
	f := newFixture(t)
	f.sql(`DELETE FROM audit_log`)
	start := f.now()
	for i := range 6 {
		by := store.Actor{}
		if i%2 == 1 {
			by = boss
		}
		_, err := f.AddTeam(t.Context(), store.NewTeam{Name: fmt.Sprint("t", i), Owner: "ada", By: by})
		must(t, err)
		if i != 2 { // two at one moment
			f.advance(time.Second)
		}
	}
	team, err := f.TeamByName(t.Context(), "t4")
	must(t, err)
	added := store.AuditFilter{Event: "team.added"}
	for _, c := range []struct {
		name   string
		change func(*store.AuditFilter)
		want   []string
	}{
		{"everything of one event, newest first", func(*store.AuditFilter) {}, []string{"t5", "t4", "t3", "t2", "t1", "t0"}},
		{"of an actor", func(a *store.AuditFilter) { a.Actor = "boss" }, []string{"t5", "t3", "t1"}},
		{"of a workspace", func(a *store.AuditFilter) { a.Workspace = team.Workspace() }, []string{"t4"}},
		{"since a moment, which counts", func(a *store.AuditFilter) { a.Since = start.Add(2 * time.Second) }, []string{"t5", "t4", "t3", "t2"}},
		{"before a moment, which does not", func(a *store.AuditFilter) { a.Before = start.Add(2 * time.Second) }, []string{"t1", "t0"}},
		{"the newest few", func(a *store.AuditFilter) { a.Limit = 2 }, []string{"t5", "t4"}},
		{"of all at once", func(a *store.AuditFilter) {
			a.Actor, a.Since, a.Before = "boss", start.Add(time.Second), start.Add(3*time.Second)
		}, []string{"t3", "t1"}},
		{"of another event", func(a *store.AuditFilter) { a.Event = "team.removed" }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			filter := added
			c.change(&filter)
			entries, err := f.Audit(t.Context(), filter)
			must(t, err)
			var got []string
			for _, e := range entries {
				got = append(got, e.Subject)
			}
			wantSlice(t, "entries", got, c.want)
		})
	}
	t.Run("pages meet without a gap", func(t *testing.T) {
		whole, err := f.Audit(t.Context(), store.AuditFilter{})
		must(t, err)
		wantEqual(t, "entries", len(whole), 12)
		for _, size := range []int{1, 2, 5} {
			var paged []store.AuditEntry
			for filter := (store.AuditFilter{Limit: size}); ; {
				page, err := f.Audit(t.Context(), filter)
				must(t, err)
				if len(page) == 0 {
					break
				}
				paged = append(paged, page...)
				filter.After = page[len(page)-1].ID
			}
			wantEqual(t, "pages of "+fmt.Sprint(size), fmt.Sprint(paged), fmt.Sprint(whole))
		}
	})
	t.Run("a page has its end", func(t *testing.T) {
		f.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
INSERT INTO audit_log (at, actor, event, subject, detail) SELECT i, '', 'x', '', '' FROM n`)
		for _, limit := range []int{0, -1, 5000} {
			entries, err := f.Audit(t.Context(), store.AuditFilter{Limit: limit})
			must(t, err)
			wantEqual(t, "entries", len(entries), 1001)
		}
	})
}

// TestLocksEndedAreAuditedWithThem: the log and the change are one transaction.
func TestLocksEndedAreAuditedWithThem(t *testing.T) {
	f := newFixture(t)
	f.lock("/f", lockns.Resource)
	f.sql(`CREATE TRIGGER full BEFORE INSERT ON audit_log WHEN new.event = 'locks.ended' BEGIN SELECT raise(ABORT, 'log is broken'); END`)
	yes := true
	_, err := f.SetUser(t.Context(), "ada", store.UserPatch{Disabled: &yes})
	if err == nil || errors.Is(err, store.ErrNotFound) {
		t.Fatalf("error %v, want the log's", err)
	}
	wantEqual(t, "locks", f.rows("resource_locks"), 1)
	u, err := f.User(t.Context(), "ada")
	must(t, err)
	wantEqual(t, "disabled", u.Disabled, false)
	f.sql(`DROP TRIGGER full`)
}
