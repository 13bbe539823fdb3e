package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// account adds an account of the first user; its hash is "hash of NAME".
func (f *fixture) account(name string, n store.NewAccount) store.Account {
	f.t.Helper()
	n.User, n.Name, n.PasswordHash = "ada", name, "hash of "+name
	a, err := f.AddAccount(f.t.Context(), n)
	must(f.t, err)
	return a
}

// names are the paths that an account sees of its workspace.
func (f *fixture) seen(a store.Account) (string, error) {
	var all []string
	target := store.Target{Workspace: a.Workspace(), Base: a.Root}
	err := f.Walk(f.t.Context(), target, store.DepthInfinity, store.Want{}, 0, func(e store.Entry) error {
		all = append(all, e.Path.String())
		return nil
	})
	return strings.Join(all, " "), err
}

func TestAddAccount(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.mkdir("/d/e")
	f.put("/d/f", "x")
	team := f.addTeam("Ops")
	_, err := f.Mkdir(t.Context(), inTeam(team, "/d"), store.Patch{}, f.me())
	must(t, err)
	end := f.now().Add(time.Hour)
	for _, c := range []struct {
		name string
		new  store.NewAccount
		want store.Account
	}{
		{"all", store.NewAccount{}, store.Account{Scope: store.ScopeAll}},
		{"read-only with an end", store.NewAccount{ReadOnly: true, ExpiresAt: end}, store.Account{Scope: store.ScopeAll, ReadOnly: true, ExpiresAt: end}},
		{"personal", store.NewAccount{Scoped: true}, store.Account{Scope: store.ScopePersonal}},
		{"personal from a folder down", store.NewAccount{Root: store.ParsePath("/d/e")},
			store.Account{Scope: store.ScopePersonal, Root: f.stat("/d/e").Place.Root.ID}},
		{"team", store.NewAccount{Team: "oPS"}, store.Account{Scope: store.ScopeTeam, TeamID: team.ID}},
		{"team from a folder down", store.NewAccount{Team: "Ops", Root: store.ParsePath("/d"), Scoped: true},
			store.Account{Scope: store.ScopeTeam, TeamID: team.ID, Root: f.entry(inTeam(team, "/d")).Place.Root.ID}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := f.account(c.name, c.new)
			want := c.want
			want.ID, want.UserID, want.Name, want.Created = a.ID, f.user.ID, c.name, f.now()
			wantEqual(t, "account", a, want)
			u, found, err := f.AccountByHash(t.Context(), "hash of "+c.name)
			must(t, err)
			wantEqual(t, "found", found, want)
			wantEqual(t, "user", u, f.user)
		})
	}
	all, err := f.Accounts(t.Context(), "ADA")
	must(t, err)
	wantEqual(t, "accounts", len(all), 6)
	_, err = f.Accounts(t.Context(), "nobody")
	wantError(t, err, store.ErrNotFound)
}

func TestAddAccountRefuses(t *testing.T) {
	f := newFixture(t)
	f.addUser("bob")
	f.addTeam("Ops")
	f.put("/f", "x")
	f.account("taken", store.NewAccount{})
	for _, c := range []struct {
		name string
		new  store.NewAccount
		want error
	}{
		{"a label that is taken", store.NewAccount{Name: "taken"}, store.ErrExists},
		{"no label", store.NewAccount{}, store.ErrBadName},
		{"a label of 65 bytes", store.NewAccount{Name: strings.Repeat("x", 65)}, store.ErrBadName},
		{"a label with a line end", store.NewAccount{Name: "a\nb"}, store.ErrBadName},
		{"a label with an invisible character", store.NewAccount{Name: "a\u200bb"}, store.ErrBadName},
		{"a label with a character that turns the text around", store.NewAccount{Name: "a\u202eb"}, store.ErrBadName},
		{"a label that is not UTF-8", store.NewAccount{Name: "a\xff"}, store.ErrBadName},
		{"a missing user", store.NewAccount{Name: "x", User: "nobody"}, store.ErrNotFound},
		{"a missing team", store.NewAccount{Name: "x", Team: "Dev"}, store.ErrNotFound},
		{"a team the user is no member of", store.NewAccount{Name: "x", User: "bob", Team: "Ops"}, store.ErrForbidden},
		{"a missing root", store.NewAccount{Name: "x", Root: store.ParsePath("/none")}, store.ErrNotFound},
		{"a root below a missing folder", store.NewAccount{Name: "x", Root: store.ParsePath("/none/d")}, store.ErrNotFound},
		{"a root that is a file", store.NewAccount{Name: "x", Root: store.ParsePath("/f")}, store.ErrNotFound},
		{"a root of a name no folder has", store.NewAccount{Name: "x", Root: store.Path{".."}}, store.ErrBadName},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.new.User == "" {
				c.new.User = "ada"
			}
			c.new.PasswordHash = "hash"
			_, err := f.AddAccount(t.Context(), c.new)
			wantError(t, err, c.want)
		})
	}
	t.Run("no password", func(t *testing.T) {
		if _, err := f.AddAccount(t.Context(), store.NewAccount{User: "ada", Name: "x"}); err == nil {
			t.Error("added")
		}
	})
	t.Run("nothing at 64 bytes, nor a label another user has", func(t *testing.T) {
		for _, n := range []store.NewAccount{
			{User: "ada", Name: strings.Repeat("é", 32), PasswordHash: "h1"}, {User: "bob", Name: "taken", PasswordHash: "h2"},
		} {
			_, err := f.AddAccount(t.Context(), n)
			must(t, err)
		}
	})
	wantEqual(t, "accounts", f.rows("accounts"), 3)
}

func TestTooManyAccounts(t *testing.T) {
	f := newFixture(t)
	f.addUser("bob")
	for i := range store.MaxAccounts - 1 {
		f.account(fmt.Sprint(i), store.NewAccount{})
	}
	f.SetHook(store.Barrier(store.Queued, 2)) // both saw room for one more
	add := func(name string) func() error {
		return func() error {
			_, err := f.AddAccount(t.Context(), store.NewAccount{User: "ada", Name: name, PasswordHash: name})
			return err
		}
	}
	errs := together(add("a"), add("b"))
	f.SetHook(nil)
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("errors %v, want one refusal", errs)
	}
	for _, err := range errs {
		if err != nil {
			wantError(t, err, store.ErrTooManyAccounts)
		}
	}
	wantEqual(t, "accounts", f.rows("accounts"), store.MaxAccounts)
	_, err := f.AddAccount(t.Context(), store.NewAccount{User: "bob", Name: "x", PasswordHash: "x"})
	must(t, err)
	must(t, f.RemoveAccount(t.Context(), "ada", "0", boss))
	f.account("again", store.NewAccount{})
}

// TestAccountRoot: the root is a folder, not a path.
func TestAccountRoot(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	f.mkdir("/d/e")
	f.put("/d/e/f", "x")
	f.put("/secret", "x")
	a := f.account("phone", store.NewAccount{Root: store.ParsePath("/d/e")})
	see := func(t *testing.T, want string) {
		t.Helper()
		got, err := f.seen(a)
		must(t, err)
		wantEqual(t, "seen", got, want)
	}
	blind := func(t *testing.T) {
		t.Helper()
		got, err := f.seen(a)
		wantError(t, err, store.ErrNotFound)
		wantEqual(t, "seen", got, "")
	}
	t.Run("is all it sees", func(t *testing.T) { see(t, "/ /f") })
	t.Run("is followed when it is renamed and moved", func(t *testing.T) {
		f.move("/d/e", "/d/new")
		see(t, "/ /f")
		f.mkdir("/x")
		f.move("/d", "/x/d")
		see(t, "/ /f")
		path, err := f.FolderPath(t.Context(), a.Workspace(), a.Root)
		must(t, err)
		wantEqual(t, "path", path.String(), "/x/d/new")
	})
	t.Run("is not another folder of its name", func(t *testing.T) {
		f.mkdir("/d")
		f.mkdir("/d/e")
		see(t, "/ /f")
	})
	t.Run("opens nothing in another workspace", func(t *testing.T) {
		_, err := f.Move(t.Context(), f.at("/x/d/new"), at(bob, "/taken"), store.MoveOptions{}, f.me())
		must(t, err)
		blind(t)
		_, err = f.Move(t.Context(), at(bob, "/taken"), f.at("/back"), store.MoveOptions{}, f.me())
		must(t, err)
		see(t, "/ /f")
	})
	t.Run("opens nothing once it is removed", func(t *testing.T) {
		f.remove("/back")
		blind(t)
		f.purge()
		blind(t)
		_, found, err := f.AccountByHash(t.Context(), "hash of phone")
		must(t, err)
		wantEqual(t, "root", found.Root, a.Root)
	})
	t.Run("may come from another normal form of its path", func(t *testing.T) {
		f.mkdir("/é")
		b := f.account("nfd", store.NewAccount{Root: store.Path{"e\u0301"}})
		wantEqual(t, "root", b.Root, f.stat("/é").Place.Root.ID)
	})
}

func TestAccountByHash(t *testing.T) {
	f := newFixture(t)
	end := f.now().Add(time.Hour)
	f.account("phone", store.NewAccount{ExpiresAt: end})
	f.account("laptop", store.NewAccount{})
	find := func(name string) error {
		_, _, err := f.AccountByHash(t.Context(), "hash of "+name)
		return err
	}
	t.Run("an account counts to its very end and not beyond", func(t *testing.T) {
		f.clock.Store(end.UnixMicro())
		must(t, find("phone"))
		f.advance(time.Microsecond)
		wantError(t, find("phone"), store.ErrNotFound)
		must(t, find("laptop"))
	})
	t.Run("an expired account is still listed and removed", func(t *testing.T) {
		all, err := f.Accounts(t.Context(), "ada")
		must(t, err)
		wantEqual(t, "accounts", len(all), 2)
		must(t, f.RemoveAccount(t.Context(), "ada", "phone", boss))
	})
	t.Run("a removed account opens nothing", func(t *testing.T) {
		must(t, f.RemoveAccount(t.Context(), "Ada", "laptop", boss))
		wantError(t, find("laptop"), store.ErrNotFound)
		wantError(t, f.RemoveAccount(t.Context(), "ada", "laptop", boss), store.ErrNotFound)
	})
	t.Run("the user's row says whether they are disabled", func(t *testing.T) {
		yes := true
		f.account("phone", store.NewAccount{})
		_, err := f.SetUser(t.Context(), "ada", store.UserPatch{Disabled: &yes})
		must(t, err)
		u, _, err := f.AccountByHash(t.Context(), "hash of phone")
		must(t, err)
		wantEqual(t, "disabled", u.Disabled, true)
	})
	wantError(t, find("nothing"), store.ErrNotFound)
}

func TestUsedAccount(t *testing.T) {
	f := newFixture(t)
	a := f.account("phone", store.NewAccount{})
	wantEqual(t, "never used", a.LastUsed.IsZero(), true)
	first := f.now()
	for _, c := range []struct {
		name  string
		later time.Duration
		want  time.Time
	}{
		{"the first use is noted", 0, first},
		{"another within a minute is not", time.Minute - time.Microsecond, first},
		{"one a minute later is", time.Microsecond, first.Add(time.Minute)},
		{"the minute counts from the last note", time.Minute - time.Microsecond, first.Add(time.Minute)},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.advance(c.later)
			must(t, f.UsedAccount(t.Context(), a.ID))
			_, found, err := f.AccountByHash(t.Context(), "hash of phone")
			must(t, err)
			wantEqual(t, "last use", found.LastUsed, c.want)
		})
	}
	must(t, f.UsedAccount(t.Context(), a.ID+1)) // removed meanwhile
}

// TestAccountsEndWithMembership: leaving a team ends what opened it, and nothing
// else.
func TestAccountsEndWithMembership(t *testing.T) {
	f := newFixture(t)
	team := f.addTeam("Ops")
	bob := f.addUser("bob")
	f.setMember(team, bob, store.Owner)
	f.account("team", store.NewAccount{Team: "Ops"})
	f.account("own", store.NewAccount{})
	_, err := f.AddAccount(t.Context(), store.NewAccount{User: "bob", Name: "team", PasswordHash: "bob's", Team: "Ops"})
	must(t, err)
	f.setMember(team, f.user, store.Viewer)
	wantEqual(t, "accounts of a viewer", f.rows("accounts"), 3)
	must(t, f.RemoveMember(t.Context(), "Ops", "ada", boss))
	_, _, err = f.AccountByHash(t.Context(), "hash of team")
	wantError(t, err, store.ErrNotFound)
	for _, hash := range []string{"hash of own", "bob's"} {
		_, _, err = f.AccountByHash(t.Context(), hash)
		must(t, err)
	}
	wantEqual(t, "workspace", f.account("other", store.NewAccount{}).Workspace(), lockns.Workspace{Kind: lockns.Personal, ID: f.user.ID})
}
