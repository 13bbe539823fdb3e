package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"holdfast/lockns"
	"holdfast/store"
)

func TestAddUser(t *testing.T) {
	f := newFixture(t)
	u, err := f.AddUser(t.Context(), store.NewUser{Name: "Grace.H-1@x_y", DisplayName: "Grace", PasswordHash: "hash", Admin: true, Quota: 7})
	must(t, err)
	found, err := f.User(t.Context(), "gRACE.h-1@X_Y")
	must(t, err)
	wantEqual(t, "found without regard to case", found, u)
	want := store.User{ID: u.ID, Name: "Grace.H-1@x_y", DisplayName: "Grace", PasswordHash: "hash", Admin: true, AuthVersion: 1, Created: f.now()}
	wantEqual(t, "user", u, want)
	usage, err := f.Usage(t.Context(), u.Workspace())
	must(t, err)
	wantEqual(t, "usage", usage, store.Usage{Quota: 7})
	wantEqual(t, "root", f.entry(at(u, "/")).Place.Root.Kind, lockns.WorkspaceRoot)
	all, err := f.Users(t.Context())
	must(t, err)
	wantEqual(t, "users", len(all), 2)
	wantEqual(t, "order", all[0].Name+" "+all[1].Name, "ada "+u.Name)
	for _, c := range []struct {
		name, user string
		want       error
	}{
		{"the same name", "ada", store.ErrExists},
		{"the name in another case", "ADA", store.ErrExists},
		{"no name", "", store.ErrBadName},
		{"a space", "a b", store.ErrBadName},
		{"a slash", "a/b", store.ErrBadName},
		{"a colon, which Basic cannot carry", "a:b", store.ErrBadName},
		{"a letter beyond ASCII", "ädä", store.ErrBadName},
		{"a dot at the start", ".a", store.ErrBadName},
		{"65 characters", strings.Repeat("a", 65), store.ErrBadName},
		{"nothing at 64 characters", strings.Repeat("a", 64), nil},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			_, err := f.AddUser(t.Context(), store.NewUser{Name: c.user})
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
		})
	}
	_, err = f.User(t.Context(), "nobody")
	wantError(t, err, store.ErrNotFound)
}

func TestSetUser(t *testing.T) {
	f := newFixture(t)
	text, hash, yes, no, quota := "Ada L.", "hash2", true, false, int64(99)
	for _, c := range []struct {
		name   string
		patch  store.UserPatch
		proves int64 // by how much auth_version moves
		check  func(store.User) bool
	}{
		{"nothing", store.UserPatch{}, 0, func(u store.User) bool { return u.Name == "ada" }},
		{"the display name", store.UserPatch{DisplayName: &text}, 0, func(u store.User) bool { return u.DisplayName == text }},
		{"the password", store.UserPatch{PasswordHash: &hash}, 1, func(u store.User) bool { return u.PasswordHash == hash }},
		{"the role", store.UserPatch{Admin: &yes}, 1, func(u store.User) bool { return u.Admin }},
		{"disabled", store.UserPatch{Disabled: &yes}, 1, func(u store.User) bool { return u.Disabled }},
		{"enabled and quota", store.UserPatch{Disabled: &no, Quota: &quota}, 1, func(u store.User) bool { return !u.Disabled }},
	} {
		t.Run("sets "+c.name, func(t *testing.T) {
			before, err := f.User(t.Context(), "ada")
			must(t, err)
			u, err := f.SetUser(t.Context(), "Ada", c.patch)
			must(t, err)
			wantEqual(t, "changed", c.check(u), true)
			wantEqual(t, "auth_version", u.AuthVersion-before.AuthVersion, c.proves)
		})
	}
	usage, err := f.Usage(t.Context(), f.user.Workspace())
	must(t, err)
	wantEqual(t, "quota", usage.Quota, quota)
	t.Run("quota 0 is the default again", func(t *testing.T) {
		none := int64(0)
		_, err := f.SetUser(t.Context(), "ada", store.UserPatch{Quota: &none})
		must(t, err)
		usage, err := f.Usage(t.Context(), f.user.Workspace())
		must(t, err)
		wantEqual(t, "quota", usage.Quota, 0)
	})
	_, err = f.SetUser(t.Context(), "nobody", store.UserPatch{})
	wantError(t, err, store.ErrNotFound)
}

func TestRemoveUser(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	_, _, err := f.Put(t.Context(), at(bob, "/f"), file(strings.Repeat("x", 100)), store.Holder(bob.ID))
	must(t, err)
	_, err = f.Lock(t.Context(), at(bob, "/f"), f.spec(lockns.Resource), f.me()) // ada's, in bob's workspace
	must(t, err)
	_, err = f.Lock(t.Context(), f.at("/g"), specOf(bob, lockns.Resource), store.Holder(bob.ID)) // bob's, in ada's
	must(t, err)
	must(t, f.RemoveUser(t.Context(), "Bob", store.Actor{}))
	wantEqual(t, "locks", f.rows("resource_locks"), 0)
	_, err = f.User(t.Context(), "bob")
	wantError(t, err, store.ErrNotFound)
	_, err = f.Stat(t.Context(), at(bob, "/"))
	wantError(t, err, store.ErrNotFound)
	_, _, err = f.Put(t.Context(), at(bob, "/f"), file("x"), store.Holder(bob.ID))
	wantError(t, err, store.ErrNotFound)
	wantError(t, f.RemoveUser(t.Context(), "bob", store.Actor{}), store.ErrNotFound)
	f.clean()
	f.purge()
	wantEqual(t, "garbage", f.rows("garbage"), 1)
	again := f.addUser("bob")
	if again.ID == bob.ID {
		t.Error("the id of a removed user was given out again")
	}
	wantEqual(t, "tree", f.entry(at(again, "/")).Created, f.now())
}

// TestUserLosesLocks: disabling and removing end the user's locks everywhere, and
// move the generations of exactly the workspaces that had some.
func TestUserLosesLocks(t *testing.T) {
	yes := true
	for _, c := range []struct {
		name, why string
		do        func(f *fixture) error
	}{
		{"disabled", "user disabled", func(f *fixture) error {
			_, err := f.SetUser(f.t.Context(), "bob", store.UserPatch{Disabled: &yes})
			return err
		}},
		{"removed", "user removed", func(f *fixture) error { return f.RemoveUser(f.t.Context(), "bob", store.Actor{}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			eve, bob := f.addUser("eve"), f.addUser("bob")
			team, other := f.addTeam("Ops"), f.addTeam("Dev")
			f.setMember(team, bob, store.Writer)
			f.lockIn(bob, inTeam(team, "/f")) // the last workspace by key first
			f.lockIn(bob, at(eve, "/f"))
			f.lockIn(bob, f.at("/f"))
			f.lockIn(bob, f.at("/g"))
			kept := f.lockIn(f.user, inTeam(other, "/f"))
			spaces := []lockns.Workspace{f.user.Workspace(), eve.Workspace(), bob.Workspace(), team.Workspace(), other.Workspace()}
			var before, after []int64
			for _, ws := range spaces {
				before = append(before, f.generationOf(ws))
			}
			must(t, c.do(f))
			wantSlice(t, "locks left", tokensOf(f.entry(inTeam(other, "/f")).Locks), []string{kept.Token})
			wantEqual(t, "locks", f.rows("resource_locks"), 1)
			wantSlice(t, "audit, newest first", f.auditLines(store.AuditFilter{Event: "locks.ended"}), []string{
				" locks.ended team bob: 1: " + c.why, " locks.ended personal bob: 1: " + c.why, " locks.ended personal bob: 2: " + c.why})
			for i, ws := range spaces {
				if ws == bob.Workspace() && c.name == "removed" {
					before[i] = 0
				}
				after = append(after, f.number(`SELECT coalesce(max(generation), 0) FROM resource_lock_namespaces WHERE workspace_type = ? AND workspace_id = ?`,
					string(ws.Kind), ws.ID)-before[i])
			}
			wantEqual(t, "generations moved", fmt.Sprint(after), "[1 1 0 1 0]")
		})
	}
}

// TestDisabledUserKeeps: what a user had is there again when they are enabled,
// but for their locks.
func TestDisabledUserKeeps(t *testing.T) {
	f := newFixture(t)
	team := f.addTeam("Ops")
	a := f.account("phone", store.NewAccount{Team: "Ops"})
	yes, no := true, false
	_, err := f.SetUser(t.Context(), "ada", store.UserPatch{Disabled: &yes})
	must(t, err)
	wantSlice(t, "members", f.members(team), []string{"ada owner"})
	_, err = f.Mkdir(t.Context(), f.at("/d"), store.Patch{}, f.me())
	wantError(t, err, store.ErrForbidden)
	_, err = f.SetUser(t.Context(), "ada", store.UserPatch{Disabled: &no})
	must(t, err)
	f.mkdir("/d")
	_, found, err := f.AccountByHash(t.Context(), "hash of phone")
	must(t, err)
	wantEqual(t, "account", found, a)
}

// TestRemovedUserLeavesNothing: memberships, accounts, and the locks of others in
// the user's workspace end too, the last audited as the workspace's.
func TestRemovedUserLeavesNothing(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.addTeam("Ops")
	f.account("phone", store.NewAccount{Team: "Ops"})
	f.account("laptop", store.NewAccount{})
	f.lockIn(bob, f.at("/f"))
	f.lockIn(bob, f.at("/g"))
	f.lockIn(f.user, f.at("/h"))
	must(t, f.RemoveUser(t.Context(), "ada", store.Actor{}))
	for _, table := range []string{"resource_locks", "team_members", "accounts"} {
		wantEqual(t, table, f.rows(table), 0)
	}
	wantSlice(t, "audit", f.auditLines(store.AuditFilter{Workspace: f.user.Workspace(), Event: "locks.ended"}), []string{
		" locks.ended personal ada: 2: workspace removed", " locks.ended personal ada: 1: user removed"})
}

func TestQuota(t *testing.T) {
	f := newFixture(t, func(o *store.Options) { o.Quota = 50 })
	f.put("/f", strings.Repeat("x", 30))
	put := func(path string, n int, size int64) error {
		_, _, err := f.Put(t.Context(), f.at(path), store.File{Body: strings.NewReader(strings.Repeat("y", n)), Size: size}, f.me())
		return err
	}
	t.Run("refuses what would exceed it, before the body", func(t *testing.T) {
		body := &counter{}
		_, _, err := f.Put(t.Context(), f.at("/g"), store.File{Body: body, Size: 21}, f.me())
		wantError(t, err, store.ErrQuota)
		wantEqual(t, "bytes read", body.n, 0)
	})
	t.Run("refuses a body of unknown size that runs over", func(t *testing.T) {
		wantError(t, put("/g", 21, -1), store.ErrQuota)
		f.gone("/g")
		wantEqual(t, "objects", f.objects(), 1)
	})
	t.Run("counts what a write gives back", func(t *testing.T) {
		must(t, put("/f", 50, 50))
		wantError(t, put("/f", 51, 51), store.ErrQuota)
		wantEqual(t, "used", f.used(f.user), 50)
	})
	t.Run("refuses a copy", func(t *testing.T) {
		_, _, err := f.Copy(t.Context(), f.at("/f"), f.at("/g"), store.CopyOptions{}, f.me())
		wantError(t, err, store.ErrQuota)
		f.gone("/g")
	})
	t.Run("lets the empty file of a lock through", func(t *testing.T) {
		f.lock("/null", lockns.Resource)
	})
	t.Run("is full again only after the purge", func(t *testing.T) {
		f.mkdir("/d")
		f.move("/f", "/d/f")
		f.remove("/d")
		wantError(t, put("/g", 1, 1), store.ErrQuota)
		f.purge()
		must(t, put("/g", 50, 50))
	})
	t.Run("a workspace's own goes before the default", func(t *testing.T) {
		more := int64(51)
		_, err := f.SetUser(t.Context(), "ada", store.UserPatch{Quota: &more})
		must(t, err)
		must(t, put("/h", 1, 1))
		wantError(t, put("/i", 1, 1), store.ErrQuota)
	})
}

// counter is an endless body that counts what is read of it.
type counter struct{ n int }

func (c *counter) Read(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}
