package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// boss is who does what the audit log shall remember.
var boss = store.Actor{ID: 77, Name: "boss"}

// addTeam adds a team whose owner is the first user.
func (f *fixture) addTeam(name string) store.Team {
	f.t.Helper()
	team, err := f.AddTeam(f.t.Context(), store.NewTeam{Name: name, Owner: f.user.Name})
	must(f.t, err)
	return team
}

func (f *fixture) setMember(team store.Team, u store.User, role store.Role) {
	f.t.Helper()
	must(f.t, f.SetMember(f.t.Context(), team.Name, u.Name, role, boss))
}

func inTeam(team store.Team, path string) store.Target {
	return store.Target{Workspace: team.Workspace(), Path: store.ParsePath(path)}
}

// lockIn locks a path of any workspace for a user.
func (f *fixture) lockIn(u store.User, target store.Target) lockns.Lock {
	f.t.Helper()
	l, err := f.Lock(f.t.Context(), target, specOf(u, lockns.Resource), store.Holder(u.ID))
	must(f.t, err)
	return l.Lock
}

// generationOf is the version of a workspace's lock projection.
func (f *fixture) generationOf(ws lockns.Workspace) int64 {
	f.t.Helper()
	return f.number(`SELECT generation FROM resource_lock_namespaces WHERE workspace_type = ? AND workspace_id = ?`, string(ws.Kind), ws.ID)
}

// members are those of a team, "name role" each.
func (f *fixture) members(team store.Team) []string {
	f.t.Helper()
	ms, err := f.Members(f.t.Context(), team.Name)
	must(f.t, err)
	var all []string
	for _, m := range ms {
		all = append(all, m.User.Name+" "+string(m.Role))
	}
	return all
}

func TestAddTeam(t *testing.T) {
	f := newFixture(t)
	team, err := f.AddTeam(t.Context(), store.NewTeam{Name: "Ops", Owner: "Ada", Quota: 7, By: boss})
	must(t, err)
	wantEqual(t, "team", team, store.Team{ID: team.ID, Name: "Ops", Created: f.now()})
	usage, err := f.Usage(t.Context(), team.Workspace())
	must(t, err)
	wantEqual(t, "usage", usage, store.Usage{Quota: 7})
	root, err := f.Stat(t.Context(), inTeam(team, "/"))
	must(t, err)
	wantEqual(t, "root", root.Place.Root.Kind, lockns.WorkspaceRoot)
	wantSlice(t, "members", f.members(team), []string{"ada owner"})
	_, err = f.AddTeam(t.Context(), store.NewTeam{Name: "x", Owner: "nobody"})
	wantError(t, err, store.ErrNotFound)
	wantEqual(t, "teams after a refused one", f.rows("teams"), 1)
	wantEqual(t, "workspaces after a refused one", f.rows("resource_lock_namespaces"), 2)
}

func TestTeamNames(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("n", 64)
	for _, name := range []string{"é team", "ΟΔΟΣ", "İ", "ᾴ", long, "日本 チーム", "#%?"} {
		team := f.addTeam(name)
		found, err := f.TeamByName(t.Context(), name)
		must(t, err)
		wantEqual(t, "found", found, team)
	}
	for _, c := range []struct {
		name, team string
		want       error
	}{
		{"the same name in another case", "É TEAM", store.ErrExists},
		{"the same name in another normal form", "e\u0301 team", store.ErrExists},
		{"both", "E\u0301 Team", store.ErrExists},
		{"another small form of one letter", "οδος", store.ErrExists},
		{"a capital letter whose parts have another small form", "I\u0307", store.ErrExists},
		{"parts in another order", "α\u0345\u0301", store.ErrExists},
		{"no name", "", store.ErrBadName},
		{"a dot segment", "..", store.ErrBadName},
		{"a slash", "a/b", store.ErrBadName},
		{"a control character", "a\nb", store.ErrBadName},
		{"65 bytes", long + "n", store.ErrBadName},
		{"a blank at the start", " a", store.ErrBadName},
		{"a blank at the end", "a ", store.ErrBadName},
		{"a wide blank at the end", "a\u3000", store.ErrBadName},
		{"a line end of Unicode at the end", "a\u2028", store.ErrBadName},
		{"a control character of Latin-1 at the end", "a\u0085", store.ErrBadName},
		{"another control character of Latin-1 at the end", "a\u009f", store.ErrBadName},
		{"a control character of Latin-1 inside", "a\u009bb", store.ErrBadName},
		{"a character that turns the text around", "a\u202eb", store.ErrBadName},
		{"a character without width", "a\u200bb", store.ErrBadName},
		{"a line end of Unicode inside", "a\u2028b", store.ErrBadName},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			_, err := f.AddTeam(t.Context(), store.NewTeam{Name: c.team, Owner: "ada"})
			wantError(t, err, c.want)
		})
	}
	all, err := f.Teams(t.Context())
	must(t, err)
	wantEqual(t, "teams", len(all), 7)
	_, err = f.TeamByName(t.Context(), "nobody's")
	wantError(t, err, store.ErrNotFound)
}

func TestRemoveTeam(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	team, other := f.addTeam("Ops"), f.addTeam("Dev")
	f.setMember(team, bob, store.Writer)
	_, _, err := f.Put(t.Context(), inTeam(team, "/f"), file(strings.Repeat("x", 100)), store.Holder(bob.ID))
	must(t, err)
	f.lockIn(bob, inTeam(team, "/f"))
	f.lockIn(f.user, inTeam(team, "/g"))
	kept := f.lockIn(f.user, inTeam(other, "/g"))
	f.account("phone", store.NewAccount{Team: "Ops"})
	f.account("laptop", store.NewAccount{})
	before := f.generationOf(other.Workspace())

	f.advance(time.Second)
	must(t, f.RemoveTeam(t.Context(), "oPS", boss))
	wantEqual(t, "workspaces", f.rows("resource_lock_namespaces"), 3)
	wantSlice(t, "locks left", tokensOf(f.entry(inTeam(other, "/g")).Locks), []string{kept.Token})
	wantEqual(t, "locks", f.rows("resource_locks"), 1)
	wantEqual(t, "generation of another team", f.generationOf(other.Workspace()), before)
	wantEqual(t, "members left", f.rows("team_members"), 1)
	wantEqual(t, "accounts left", f.rows("accounts"), 1)
	_, err = f.Stat(t.Context(), inTeam(team, "/f"))
	wantError(t, err, store.ErrNotFound)
	_, _, err = f.Put(t.Context(), inTeam(team, "/f"), file("x"), store.Holder(bob.ID))
	wantError(t, err, store.ErrNotFound)
	wantError(t, f.RemoveTeam(t.Context(), "Ops", boss), store.ErrNotFound)
	wantSlice(t, "audit", f.auditLines(store.AuditFilter{Workspace: team.Workspace(), Limit: 2}), []string{
		"boss team.removed team Ops: ", "boss locks.ended team Ops: 2: workspace removed"})
	f.clean()
	f.purge()
	wantEqual(t, "garbage", f.rows("garbage"), 1)
	again := f.addTeam("Ops")
	wantEqual(t, "the id of a removed team is given out again", again.ID == team.ID, false)
	wantSlice(t, "entries that outlive the team", f.auditLines(store.AuditFilter{Workspace: team.Workspace(), Event: "team.added"}),
		[]string{" team.added team Ops: "})
}

// TestRemoveTeamIsOneTransaction: failing anywhere in it leaves all as it was.
func TestRemoveTeamIsOneTransaction(t *testing.T) {
	f := newFixture(t)
	team := f.addTeam("Ops")
	f.lockIn(f.user, inTeam(team, "/f"))
	f.account("phone", store.NewAccount{Team: "Ops"})
	before := f.generationOf(team.Workspace())
	broken := errors.New("broken")
	f.SetHook(func(_ context.Context, p store.Point) error {
		if p == store.BeforeCommit {
			return broken
		}
		return nil
	})
	wantError(t, f.RemoveTeam(t.Context(), "Ops", boss), broken)
	f.SetHook(nil)
	wantEqual(t, "locks", f.rows("resource_locks"), 1)
	wantEqual(t, "accounts", f.rows("accounts"), 1)
	wantSlice(t, "members", f.members(team), []string{"ada owner"})
	wantEqual(t, "generation", f.generationOf(team.Workspace()), before)
	wantEqual(t, "audited", len(f.auditLines(store.AuditFilter{Event: "team.removed"})), 0)
}

func TestMembers(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	team := f.addTeam("Ops")
	f.setMember(team, bob, store.Writer)
	since := f.now()
	f.advance(1)
	wantSlice(t, "members", f.members(team), []string{"ada owner", "bob member"})
	t.Run("a new role keeps the day of joining", func(t *testing.T) {
		must(t, f.SetMember(t.Context(), "OPS", "BOB", store.Admin, boss))
		ms, err := f.Members(t.Context(), "oPs")
		must(t, err)
		wantEqual(t, "member", ms[1], store.Member{User: bob, Role: store.Admin, Since: since})
	})
	t.Run("the same role again changes nothing", func(t *testing.T) {
		before := f.rows("audit_log")
		f.setMember(team, bob, store.Admin)
		wantEqual(t, "audit log", f.rows("audit_log"), before)
	})
	t.Run("refuses what there is not", func(t *testing.T) {
		wantError(t, f.SetMember(t.Context(), "Ops", "bob", "boss", boss), store.ErrBadName)
		wantError(t, f.SetMember(t.Context(), "Ops", "bob", "", boss), store.ErrBadName)
		wantError(t, f.SetMember(t.Context(), "Ops", "nobody", store.Admin, boss), store.ErrNotFound)
		wantError(t, f.SetMember(t.Context(), "Dev", "bob", store.Admin, boss), store.ErrNotFound)
		wantError(t, f.RemoveMember(t.Context(), "Ops", "nobody", boss), store.ErrNotFound)
		f.addUser("eve")
		wantError(t, f.RemoveMember(t.Context(), "Ops", "eve", boss), store.ErrNotFound)
		_, err := f.Members(t.Context(), "Dev")
		wantError(t, err, store.ErrNotFound)
		wantSlice(t, "members", f.members(team), []string{"ada owner", "bob admin"})
	})
	t.Run("a member sees the team, nobody else does", func(t *testing.T) {
		m, err := f.Membership(t.Context(), bob.ID, "oPS")
		must(t, err)
		wantEqual(t, "membership", m, store.Membership{Team: team, Role: store.Admin})
		must(t, f.RemoveMember(t.Context(), "ops", "Bob", boss))
		_, err = f.Membership(t.Context(), bob.ID, "Ops")
		wantError(t, err, store.ErrNotFound)
		all, err := f.Memberships(t.Context(), bob.ID)
		must(t, err)
		wantEqual(t, "memberships", len(all), 0)
	})
}

func TestLastOwner(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(f *fixture) error
		want error
	}{
		{"the last owner stays while there are members", func(f *fixture) error {
			return f.RemoveMember(f.t.Context(), "Ops", "ada", boss)
		}, store.ErrLastOwner},
		{"the last owner keeps the role", func(f *fixture) error {
			return f.SetMember(f.t.Context(), "Ops", "ada", store.Viewer, boss)
		}, store.ErrLastOwner},
		{"one of two owners may go", func(f *fixture) error {
			return errors.Join(f.SetMember(f.t.Context(), "Ops", "bob", store.Owner, boss), f.RemoveMember(f.t.Context(), "Ops", "ada", boss))
		}, nil},
		{"the last member may go, an owner too", func(f *fixture) error {
			return errors.Join(f.RemoveMember(f.t.Context(), "Ops", "bob", boss), f.RemoveMember(f.t.Context(), "Ops", "ada", boss))
		}, nil},
		{"the first member of a team without any is its owner", func(f *fixture) error {
			return errors.Join(f.RemoveMember(f.t.Context(), "Ops", "bob", boss), f.RemoveMember(f.t.Context(), "Ops", "ada", boss),
				f.SetMember(f.t.Context(), "Ops", "bob", store.Admin, boss))
		}, store.ErrLastOwner},
		{"a user is removed whatever they own", func(f *fixture) error {
			return f.RemoveUser(f.t.Context(), "ada", store.Actor{})
		}, nil},
		{"members left by their owner may go", func(f *fixture) error {
			f.addUser("eve")
			return errors.Join(f.SetMember(f.t.Context(), "Ops", "eve", store.Writer, boss),
				f.RemoveUser(f.t.Context(), "ada", store.Actor{}), f.RemoveMember(f.t.Context(), "Ops", "bob", boss))
		}, nil},
		{"a member left by the owner may become one", func(f *fixture) error {
			return errors.Join(f.RemoveUser(f.t.Context(), "ada", store.Actor{}), f.SetMember(f.t.Context(), "Ops", "bob", store.Owner, boss))
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			bob := f.addUser("bob")
			team := f.addTeam("Ops")
			f.setMember(team, bob, store.Writer)
			f.lockIn(f.user, inTeam(team, "/f"))
			f.account("phone", store.NewAccount{Team: "Ops"})
			before := f.generationOf(team.Workspace())
			err := c.do(f)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if c.want != nil && len(f.members(team)) > 0 {
				wantSlice(t, "members", f.members(team), []string{"ada owner", "bob member"})
				wantEqual(t, "locks", f.rows("resource_locks"), 1)
				wantEqual(t, "accounts", f.rows("accounts"), 1)
				wantEqual(t, "generation", f.generationOf(team.Workspace()), before)
			}
		})
	}
}

// TestTwoOwnersLeaveAtOnce: each sees the other as the owner who stays, and one
// of them is right.
func TestTwoOwnersLeaveAtOnce(t *testing.T) {
	f := newFixture(t)
	bob, eve := f.addUser("bob"), f.addUser("eve")
	team := f.addTeam("Ops")
	f.setMember(team, bob, store.Owner)
	f.setMember(team, eve, store.Writer)
	f.SetHook(store.Barrier(store.Queued, 2))
	errs := together(
		func() error { return f.RemoveMember(t.Context(), "Ops", "ada", boss) },
		func() error { return f.SetMember(t.Context(), "Ops", "bob", store.Admin, boss) },
	)
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("errors %v, want one refusal", errs)
	}
	wantError(t, errors.Join(errs...), store.ErrLastOwner)
	wantEqual(t, "owners", f.number(`SELECT count(*) FROM team_members WHERE role = 'owner'`), 1)
}

// TestMemberLosesLocks: what ends a member's right to write ends their locks in
// that team's workspace, and nothing else.
func TestMemberLosesLocks(t *testing.T) {
	for _, c := range []struct {
		name  string
		do    func(f *fixture) error
		event string
		loses bool
	}{
		{"removed", func(f *fixture) error { return f.RemoveMember(f.t.Context(), "Ops", "bob", boss) }, "2: member removed", true},
		{"a viewer", func(f *fixture) error { return f.SetMember(f.t.Context(), "Ops", "bob", store.Viewer, boss) }, "2: member became a viewer", true},
		{"an admin", func(f *fixture) error { return f.SetMember(f.t.Context(), "Ops", "bob", store.Admin, boss) }, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			bob := f.addUser("bob")
			team, other := f.addTeam("Ops"), f.addTeam("Dev")
			f.setMember(team, bob, store.Writer)
			f.setMember(other, bob, store.Writer)
			f.lockIn(bob, inTeam(team, "/f"))
			f.lockIn(bob, inTeam(team, "/g"))
			ada := f.lockIn(f.user, inTeam(team, "/h"))
			f.lockIn(bob, inTeam(other, "/f"))
			f.lockIn(bob, at(bob, "/f"))
			before := [3]int64{f.generationOf(team.Workspace()), f.generationOf(other.Workspace()), f.generation(bob)}
			must(t, c.do(f))
			left := int64(5)
			if c.loses {
				left, before[0] = 3, before[0]+1
				wantSlice(t, "audit", f.auditLines(store.AuditFilter{Event: "locks.ended"}), []string{"boss locks.ended team bob: " + c.event})
			} else {
				wantEqual(t, "audited endings", len(f.auditLines(store.AuditFilter{Event: "locks.ended"})), 0)
			}
			wantEqual(t, "locks", f.rows("resource_locks"), left)
			wantSlice(t, "another member's lock", tokensOf(f.entry(inTeam(team, "/h")).Locks), []string{ada.Token})
			wantEqual(t, "generations", [3]int64{f.generationOf(team.Workspace()), f.generationOf(other.Workspace()), f.generation(bob)}, before)
		})
	}
	t.Run("without locks the projection stays", func(t *testing.T) {
		f := newFixture(t)
		team := f.addTeam("Ops")
		f.setMember(team, f.addUser("bob"), store.Writer)
		before := f.generationOf(team.Workspace())
		must(t, f.RemoveMember(t.Context(), "Ops", "bob", boss))
		wantEqual(t, "generation", f.generationOf(team.Workspace()), before)
		wantEqual(t, "audited endings", len(f.auditLines(store.AuditFilter{Event: "locks.ended"})), 0)
	})
}

// TestRoleEndsUnderWay: a request that was let in is decided by what its user is
// when it changes something, not by what they were when it came.
func TestRoleEndsUnderWay(t *testing.T) {
	yes := true
	for _, c := range []struct {
		name string
		end  func(ctx context.Context, f *fixture) error
		// where the user may go on
		inTeam, inOwn bool
	}{
		{"removed from the team", func(ctx context.Context, f *fixture) error { return f.RemoveMember(ctx, "Ops", "bob", boss) }, false, true},
		{"made a viewer", func(ctx context.Context, f *fixture) error {
			return f.SetMember(ctx, "Ops", "bob", store.Viewer, boss)
		}, false, true},
		{"disabled", func(ctx context.Context, f *fixture) error {
			_, err := f.SetUser(ctx, "bob", store.UserPatch{Disabled: &yes})
			return err
		}, false, false},
		{"nothing", func(context.Context, *fixture) error { return nil }, true, true},
	} {
		for op, change := range changes {
			t.Run(c.name+" before "+op+" in the team", func(t *testing.T) {
				f, bob, team := teamFixture(t)
				f.meanwhile(func(ctx context.Context) error { return c.end(ctx, f) })
				f.allowed(change(f, bob, inTeam(team, "/f")), c.inTeam)
			})
			t.Run(c.name+" before "+op+" in their own workspace", func(t *testing.T) {
				f, bob, _ := teamFixture(t)
				f.meanwhile(func(ctx context.Context) error { return c.end(ctx, f) })
				f.allowed(change(f, bob, at(bob, "/f")), c.inOwn)
			})
		}
	}
}

// changes are done to a file that is there, each with one transaction.
var changes = map[string]func(f *fixture, u store.User, target store.Target) error{
	"a lock": func(f *fixture, u store.User, target store.Target) error {
		_, err := f.Lock(f.t.Context(), target, specOf(u, lockns.Resource), store.Holder(u.ID))
		return err
	},
	"a new content": func(f *fixture, u store.User, target store.Target) error {
		_, _, err := f.Put(f.t.Context(), target, file("new"), store.Holder(u.ID))
		return err
	},
}

// teamFixture has a team of ada and bob, and a file /f there and in bob's own
// workspace.
func teamFixture(t *testing.T) (*fixture, store.User, store.Team) {
	t.Helper()
	f := newFixture(t)
	bob, team := f.addUser("bob"), f.addTeam("Ops")
	f.setMember(team, bob, store.Writer)
	for _, target := range []store.Target{inTeam(team, "/f"), at(bob, "/f")} {
		_, _, err := f.Put(t.Context(), target, file("old"), store.Holder(bob.ID))
		must(t, err)
	}
	return f, bob, team
}

// meanwhile does something when the next change is about to wait for the writer.
func (f *fixture) meanwhile(do func(context.Context) error) {
	f.SetHook(func(ctx context.Context, p store.Point) error {
		if p != store.Queued {
			return nil
		}
		f.SetHook(nil)
		return do(ctx)
	})
}

func (f *fixture) allowed(err error, allowed bool) {
	f.t.Helper()
	if allowed {
		must(f.t, err)
		return
	}
	wantError(f.t, err, store.ErrForbidden)
}

// TestTeamRootLock: the root of a team's workspace is locked as that of a
// personal one, and covers what comes later too.
func TestTeamRootLock(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	team := f.addTeam("crew")
	f.setMember(team, bob, store.Writer)
	in := func(path string) store.Target { return inTeam(team, path) }
	locked, err := f.Lock(t.Context(), in("/"), f.spec(lockns.Infinity), f.me())
	must(t, err)
	l := locked.Lock
	put := func(user store.User, path string, tokens ...string) error {
		_, _, err := f.Put(t.Context(), in(path), file("x"), with{user.ID, tokens})
		return err
	}
	wantLocked(t, put(bob, "/new"), l.Token)
	wantLocked(t, put(bob, "/new", l.Token), l.Token) // not in its holder's hands
	must(t, put(f.user, "/new", l.Token))
	wantLocked(t, put(bob, "/new"), l.Token)
	_, err = f.Lock(t.Context(), in("/new"), specOf(bob, lockns.Resource), store.Holder(bob.ID))
	wantConflict(t, err, []string{l.Token}, nil)
	f.put("/new", "a personal workspace is another")
	must(t, f.Unlock(t.Context(), in("/new"), store.ByToken(l.Token), f.me()))
	must(t, put(bob, "/new"))
}
