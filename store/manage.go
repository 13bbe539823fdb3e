package store

import (
	"context"
	"errors"
	"fmt"

	"holdfast/lockns"
)

// Manager changes users and teams in the name of a user, the actor. Whether they
// may is asked in the transaction of each change, so that who loses a role loses
// what it allows at once. Users and teams are named by id, which nobody else ever
// has. All methods may be called concurrently.
//
// An administrator of the server manages users, and every team like its owner. The
// owners and admins of a team manage its members; only owners make, change and
// remove owners, and the team itself. Every member may leave. Nobody takes from
// themselves what makes them an administrator, so that one always remains.
//
// Every method refuses with ErrForbidden who may not, and with ErrNotFound who is no
// member of the team, as when there is none.
type Manager struct {
	s  *Store
	by Actor
}

// Manage is the Manager in the name of a user.
func (s *Store) Manage(by Actor) Manager { return Manager{s, by} }

// active reads the actor's row: ErrForbidden when they were removed or disabled.
func (m Manager) active(t *tx) (User, error) {
	u, err := t.userByID(m.by.ID)
	if errors.Is(err, ErrNotFound) || err == nil && u.Disabled {
		err = ErrForbidden
	}
	return u, err
}

// administers refuses all but administrators of the server.
func (m Manager) administers(t *tx) error {
	u, err := m.active(t)
	if err == nil && !u.Admin {
		err = ErrForbidden
	}
	return err
}

// role is what the actor may act as in a team.
func (m Manager) role(t *tx, team int64) (Role, error) {
	u, err := m.active(t)
	if err != nil || u.Admin {
		return Owner, err
	}
	r, err := t.role(team, u.ID)
	if err == nil && r == "" {
		err = fmt.Errorf("team: %w", ErrNotFound)
	}
	return r, err
}

// mayChange refuses an actor of a role who may not make a member of one role one of
// another; "" is no member.
func (r Role) mayChange(before, after Role) error {
	if r == Owner || r == Admin && before != Owner && after != Owner {
		return nil
	}
	return ErrForbidden
}

// AddUser is Store.AddUser for an administrator.
func (m Manager) AddUser(ctx context.Context, n NewUser) (u User, err error) {
	if err := n.check(); err != nil {
		return u, err
	}
	n.By = m.by
	err = m.s.update(ctx, nil, func(t *tx) error {
		if err := m.administers(t); err != nil {
			return err
		}
		u, err = t.addUser(n)
		return err
	})
	return u, err
}

// SetUser is Store.SetUser for an administrator; what is so already is no change.
// Further errors: ErrSelf, for an end of the actor's own role or login, and for
// their own password, which is changed by who knows the former one.
func (m Manager) SetUser(ctx context.Context, id int64, p UserPatch) (u User, err error) {
	if err := p.check(); err != nil {
		return u, err
	}
	p.By = m.by
	err = m.s.update(ctx, nil, func(t *tx) error {
		if err := m.administers(t); err != nil {
			return err
		}
		if u, err = t.userByID(id); err != nil {
			return err
		}
		change := p.of(u)
		if id == m.by.ID && (change.Admin != nil || change.Disabled != nil || change.PasswordHash != nil) {
			return ErrSelf
		}
		u, err = t.changeUser(u, change)
		return err
	})
	return u, err
}

// of is the patch without what the user has already.
func (p UserPatch) of(u User) UserPatch {
	if p.DisplayName != nil && *p.DisplayName == u.DisplayName {
		p.DisplayName = nil
	}
	if p.Admin != nil && *p.Admin == u.Admin {
		p.Admin = nil
	}
	if p.Disabled != nil && *p.Disabled == u.Disabled {
		p.Disabled = nil
	}
	return p
}

// RemoveUser is Store.RemoveUser for an administrator: ErrSelf for themselves.
func (m Manager) RemoveUser(ctx context.Context, id int64) error {
	return m.s.update(ctx, nil, func(t *tx) error {
		if err := m.administers(t); err != nil {
			return err
		}
		u, err := t.userByID(id)
		if err == nil && id == m.by.ID {
			err = ErrSelf
		}
		if err != nil {
			return err
		}
		return t.removeUser(u, m.by)
	})
}

// RemoveAccount is Store.RemoveAccountOf for an administrator.
func (m Manager) RemoveAccount(ctx context.Context, user, id int64) error {
	return m.s.update(ctx, nil, func(t *tx) error {
		if err := m.administers(t); err != nil {
			return err
		}
		return t.removeAccount(user, id, m.by)
	})
}

// AddTeam is Store.AddTeam for an administrator.
func (m Manager) AddTeam(ctx context.Context, n NewTeam) (team Team, err error) {
	if err := CheckTeamName(n.Name); err != nil {
		return team, err
	}
	n.By = m.by
	err = m.s.update(ctx, nil, func(t *tx) error {
		if err := m.administers(t); err != nil {
			return err
		}
		team, err = t.addTeam(n)
		return err
	})
	return team, err
}

// SetTeamQuota says, for an administrator, how many bytes a team's workspace may
// store; 0 is the default.
func (m Manager) SetTeamQuota(ctx context.Context, id, quota int64) error {
	return m.s.update(ctx, nil, func(t *tx) error {
		if err := m.administers(t); err != nil {
			return err
		}
		team, err := t.teamByID(id)
		if err != nil {
			return err
		}
		if _, err := t.space(team.Workspace()); err != nil {
			return err
		}
		if err := t.setQuota(team.Workspace(), quota); err != nil {
			return err
		}
		return t.audit(m.by, "team.changed", team.Workspace(), team.Name, fmt.Sprintf("quota=%d", quota))
	})
}

// RemoveTeam is Store.RemoveTeam for an owner.
func (m Manager) RemoveTeam(ctx context.Context, id int64) error {
	return m.update(ctx, id, func(t *tx, mine Role) error {
		if mine != Owner {
			return ErrForbidden
		}
		team, err := t.teamByID(id)
		if err != nil {
			return err
		}
		return t.removeTeam(team, m.by)
	})
}

// update changes a team in which the actor has a role.
func (m Manager) update(ctx context.Context, team int64, change func(t *tx, mine Role) error) error {
	return m.s.update(ctx, []lockns.Workspace{Team{ID: team}.Workspace()}, func(t *tx) error {
		mine, err := m.role(t, team)
		if err != nil {
			return err
		}
		return change(t, mine)
	})
}

// AddMember makes a user, known by their whole login name, a member of a team.
//
// Errors: ErrBadName (role), ErrNotFound (the user), ErrMember.
func (m Manager) AddMember(ctx context.Context, team int64, name string, role Role) (added Member, err error) {
	if err := role.check(); err != nil {
		return added, err
	}
	err = m.update(ctx, team, func(t *tx, mine Role) error {
		if err := mine.mayChange("", role); err != nil {
			return err
		}
		u, err := t.user(name)
		if err != nil {
			return err
		}
		mate, err := t.teammateByID(team, u.ID)
		if err == nil && mate.role != "" {
			err = ErrMember
		}
		if err != nil {
			return err
		}
		added = Member{User: u, Role: role, Since: t.now}
		return t.setRole(mate, role, m.by)
	})
	return added, err
}

// SetMember gives a member of a team another role. Who becomes a viewer loses their
// locks in the team's workspace, in the same transaction.
//
// Errors: ErrBadName (role), ErrNotFound (the member), ErrLastOwner.
func (m Manager) SetMember(ctx context.Context, team, user int64, role Role) error {
	if err := role.check(); err != nil {
		return err
	}
	return m.update(ctx, team, func(t *tx, mine Role) error {
		mate, err := m.member(t, mine, team, user, role)
		if err != nil || mate.role == role {
			return err
		}
		return t.setRole(mate, role, m.by)
	})
}

// RemoveMember is Store.RemoveMember by ids.
//
// Errors: ErrNotFound (the member), ErrLastOwner.
func (m Manager) RemoveMember(ctx context.Context, team, user int64) error {
	return m.update(ctx, team, func(t *tx, mine Role) error {
		mate, err := m.member(t, mine, team, user, "")
		if err != nil {
			return err
		}
		return t.removeMember(mate, m.by)
	})
}

// member finds the member that an actor of a role may give another one; "" is none,
// which everybody may give themselves.
func (m Manager) member(t *tx, mine Role, team, user int64, after Role) (teammate, error) {
	leaves := user == m.by.ID && after == ""
	// Who manages nobody is told so, whoever is named.
	if err := mine.mayChange("", ""); err != nil && !leaves {
		return teammate{}, err
	}
	mate, err := t.teammateByID(team, user)
	if err == nil && mate.role == "" {
		err = ErrNotFound
	}
	if err == nil && !leaves {
		err = mine.mayChange(mate.role, after)
	}
	return mate, err
}

// teammateByID is teammate by ids.
func (t *tx) teammateByID(team, user int64) (m teammate, err error) {
	if m.team, err = t.teamByID(team); err != nil {
		return m, err
	}
	if m.user, err = t.userByID(user); err != nil {
		return m, err
	}
	m.role, err = t.role(team, user)
	return m, err
}
