package store_test

import (
	"errors"
	"testing"

	"holdfast/store"
)

// TestManagerAsksInTheTransaction: what an actor may is what they are at the time of
// the change, whatever a door found out before.
func TestManagerAsksInTheTransaction(t *testing.T) {
	no, yes := false, true
	name := "x"
	type outcome struct{ users, team, members error }
	for _, c := range []struct {
		name   string
		become func(f *fixture) error
		want   outcome
	}{
		{"an administrator", func(*fixture) error { return nil }, outcome{}},
		{"no administrator any more", func(f *fixture) error {
			_, err := f.SetUser(f.t.Context(), "eve", store.UserPatch{Admin: &no})
			return err
		}, outcome{store.ErrForbidden, store.ErrNotFound, store.ErrNotFound}},
		{"disabled", func(f *fixture) error {
			_, err := f.SetUser(f.t.Context(), "eve", store.UserPatch{Disabled: &yes})
			return err
		}, outcome{store.ErrForbidden, store.ErrForbidden, store.ErrForbidden}},
		{"removed", func(f *fixture) error { return f.RemoveUser(f.t.Context(), "eve", boss) },
			outcome{store.ErrForbidden, store.ErrForbidden, store.ErrForbidden}},
		{"an owner", func(f *fixture) error { return f.demoted(store.Owner) }, outcome{store.ErrForbidden, nil, nil}},
		{"an admin of the team", func(f *fixture) error { return f.demoted(store.Admin) }, outcome{store.ErrForbidden, store.ErrForbidden, nil}},
		{"a member", func(f *fixture) error { return f.demoted(store.Writer) }, outcome{store.ErrForbidden, store.ErrForbidden, store.ErrForbidden}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			ctx := t.Context()
			_, err := f.AddUser(ctx, store.NewUser{Name: "eve", Admin: true})
			must(t, err)
			eve, err := f.User(ctx, "eve")
			must(t, err)
			bob, gone := f.addUser("bob"), f.addUser("gone")
			ops := f.addTeam("Ops")
			f.setMember(ops, bob, store.Viewer)
			must(t, c.become(f))
			m := f.Manage(store.Actor{ID: eve.ID, Name: "eve"})
			quota := int64(1)

			_, err = m.AddUser(ctx, store.NewUser{Name: name})
			same(t, "add a user", err, c.want.users)
			_, err = m.SetUser(ctx, bob.ID, store.UserPatch{Quota: &quota})
			same(t, "change a user", err, c.want.users)
			phone := f.account("phone "+c.name, store.NewAccount{})
			same(t, "remove an account", m.RemoveAccount(ctx, f.user.ID, phone.ID), c.want.users)
			same(t, "remove a user", m.RemoveUser(ctx, gone.ID), c.want.users)
			_, err = m.AddTeam(ctx, store.NewTeam{Name: name, Owner: "ada"})
			same(t, "add a team", err, c.want.users)
			same(t, "set a team's quota", m.SetTeamQuota(ctx, ops.ID, 1), c.want.users)
			same(t, "change a member", m.SetMember(ctx, ops.ID, bob.ID, store.Writer), c.want.members)
			same(t, "remove a member", m.RemoveMember(ctx, ops.ID, bob.ID), c.want.members)
			_, err = m.AddMember(ctx, ops.ID, "bob", store.Viewer)
			same(t, "add a member", err, c.want.members)
			same(t, "remove the team", m.RemoveTeam(ctx, ops.ID), c.want.team)
		})
	}
}

// demoted makes eve a member of a role in the team, and no administrator.
func (f *fixture) demoted(role store.Role) error {
	no := false
	_, err := f.SetUser(f.t.Context(), "eve", store.UserPatch{Admin: &no})
	return errors.Join(err, f.SetMember(f.t.Context(), "Ops", "eve", role, boss))
}

func same(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// TestAnAdministratorRemains: two who take the role from each other at once do not
// both succeed.
func TestAnAdministratorRemains(t *testing.T) {
	f := newFixture(t)
	no := false
	var actors []store.User
	for _, name := range []string{"one", "two"} {
		u, err := f.AddUser(t.Context(), store.NewUser{Name: name, PasswordHash: "x", Admin: true})
		must(t, err)
		actors = append(actors, u)
	}
	f.SetHook(store.Barrier(store.Queued, 2))
	defer f.SetHook(nil)
	errs := make(chan error, 2)
	for i, u := range actors {
		go func() {
			_, err := f.Manage(store.Actor{ID: u.ID}).SetUser(t.Context(), actors[1-i].ID, store.UserPatch{Admin: &no})
			errs <- err
		}()
	}
	first, second := <-errs, <-errs
	if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), store.ErrForbidden) {
		t.Errorf("outcomes %v and %v", first, second)
	}
	wantEqual(t, "administrators", f.number(`SELECT count(*) FROM users WHERE is_admin = 1`), 1)
}
