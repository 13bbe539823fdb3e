package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/cases"
	"holdfast/lockns"
)

// NewTeam is a team to be added.
type NewTeam struct {
	Name  string
	Owner string // name of the user who is its first member
	Quota int64  // bytes in its workspace; 0 for the default
	By    Actor
}

// Member is a user in a team.
type Member struct {
	User  User
	Role  Role
	Since time.Time
}

// CheckTeamName refuses a name no team may have, with an error that wraps
// ErrBadName. It is a segment of URLs and stands in lists: a name as CheckName
// allows it, of at most 64 bytes, of characters that print (unicode.IsPrint, so
// the one blank is U+0020), that neither starts nor ends with a blank. Names are
// unique without regard to case and normal form.
func CheckTeamName(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if len(name) > 64 {
		return &NameError{"of a team is longer than 64 bytes"}
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return &NameError{fmt.Sprintf("of a team contains the character %U", r)}
		}
	}
	if strings.Trim(name, " ") != name {
		return &NameError{"of a team starts or ends with a blank"}
	}
	return nil
}

// teamKey is what a team's name is looked up by: without regard to case. What is
// folded must be in normal form, and is not afterwards.
func teamKey(name string) string { return NameKey(cases.Fold().String(NameKey(name))) }

const (
	teamColumns = `t.id, t.name, t.created_at`
	selectTeam  = `SELECT ` + teamColumns + ` FROM teams t `
)

func scanTeam(scan func(...any) error, more ...any) (t Team, err error) {
	var created int64
	err = scan(append([]any{&t.ID, &t.Name, &created}, more...)...)
	t.Created = fromMicros(created)
	return t, err
}

// team reads one team by name: ErrNotFound.
func (t *tx) team(name string) (team Team, err error) {
	found := false
	err = t.rows(selectTeam+`WHERE t.name_key = ?`, []any{teamKey(name)}, func(scan func(...any) error) (err error) {
		found = true
		team, err = scanTeam(scan)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("team: %w", ErrNotFound)
	}
	return team, err
}

// teamByID reads one team by id: ErrNotFound.
func (t *tx) teamByID(id int64) (team Team, err error) {
	found := false
	err = t.rows(selectTeam+`WHERE t.id = ?`, []any{id}, func(scan func(...any) error) (err error) {
		found = true
		team, err = scanTeam(scan)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("team: %w", ErrNotFound)
	}
	return team, err
}

// AddTeam adds a team with a workspace, and its owner: ErrBadName, ErrExists,
// ErrNotFound (the owner).
func (s *Store) AddTeam(ctx context.Context, n NewTeam) (team Team, err error) {
	if err := CheckTeamName(n.Name); err != nil {
		return team, err
	}
	err = s.update(ctx, nil, func(t *tx) error {
		team, err = t.addTeam(n)
		return err
	})
	return team, err
}

func (t *tx) addTeam(n NewTeam) (team Team, err error) {
	owner, err := t.user(n.Owner)
	if err != nil {
		return team, fmt.Errorf("owner: %w", err)
	}
	if _, err := t.team(n.Name); !errors.Is(err, ErrNotFound) {
		return team, firstError(err, ErrExists)
	}
	team = Team{Name: n.Name, Created: t.now}
	team.ID, err = t.insert(`INSERT INTO teams (name, name_key, created_at) VALUES (?, ?, ?)`, n.Name, teamKey(n.Name), micros(t.now))
	if err != nil {
		return team, err
	}
	if err := t.addWorkspace(team.Workspace(), n.Quota); err != nil {
		return team, err
	}
	if err := t.audit(n.By, "team.added", team.Workspace(), team.Name, ""); err != nil {
		return team, err
	}
	return team, t.setRole(teammate{team: team, user: owner}, Owner, n.By)
}

// Teams lists all teams by name.
func (s *Store) Teams(ctx context.Context) (all []Team, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		return t.rows(selectTeam+`ORDER BY t.name_key`, nil, func(scan func(...any) error) error {
			team, err := scanTeam(scan)
			all = append(all, team)
			return err
		})
	})
	return all, err
}

// TeamByName finds a team by name, without regard to case: ErrNotFound.
func (s *Store) TeamByName(ctx context.Context, name string) (team Team, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		team, err = t.team(name)
		return err
	})
	return team, err
}

// RemoveTeam removes a team with its members, the accounts limited to it, and
// its workspace with all locks in it; its tree is detached and purged later.
// ErrNotFound.
func (s *Store) RemoveTeam(ctx context.Context, name string, by Actor) error {
	return s.update(ctx, nil, func(t *tx) error {
		team, err := t.team(name)
		if err != nil {
			return err
		}
		return t.removeTeam(team, by)
	})
}

func (t *tx) removeTeam(team Team, by Actor) error {
	if err := t.removeWorkspace(team.Workspace(), by, team.Name); err != nil {
		return err
	}
	if err := t.endUploadsFor(team); err != nil {
		return err
	}
	// Members and accounts go with the row (ON DELETE CASCADE).
	if _, err := t.exec(`DELETE FROM teams WHERE id = ?`, team.ID); err != nil {
		return err
	}
	return t.audit(by, "team.removed", team.Workspace(), team.Name, "")
}

// endUploadsFor ends the uploads of all accounts that are limited to a team.
func (t *tx) endUploadsFor(team Team) error {
	var limited []Account
	err := t.rows(`SELECT id, user_id FROM accounts WHERE team_id = ?`, []any{team.ID}, func(scan func(...any) error) error {
		var a Account
		err := scan(&a.ID, &a.UserID)
		limited = append(limited, a)
		return err
	})
	for _, a := range limited {
		if err == nil {
			err = t.endUploadsBy(a)
		}
	}
	return err
}

// Members lists the members of a team by name: ErrNotFound.
func (s *Store) Members(ctx context.Context, team string) (all []Member, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		team, err := t.team(team)
		if err != nil {
			return err
		}
		return t.rows(`SELECT `+userColumns+`, m.role, m.created_at FROM team_members m JOIN users u ON u.id = m.user_id
WHERE m.team_id = ? ORDER BY u.name_key`, []any{team.ID}, func(scan func(...any) error) (err error) {
			var m Member
			var since int64
			m.User, err = scanUser(scan, (*string)(&m.Role), &since)
			m.Since = fromMicros(since)
			all = append(all, m)
			return err
		})
	})
	return all, err
}

// teammate is a team, a user, and what the user is in it; role "" is no member.
type teammate struct {
	team Team
	user User
	role Role
}

// teammate takes a team's workspace and finds the user in it: ErrNotFound for a
// missing team or user.
func (t *tx) teammate(team, user string) (m teammate, err error) {
	if m.team, err = t.team(team); err != nil {
		return m, err
	}
	if _, err = t.space(m.team.Workspace()); err != nil {
		return m, err
	}
	if m.user, err = t.user(user); err != nil {
		return m, err
	}
	m.role, err = t.role(m.team.ID, m.user.ID)
	return m, err
}

// SetMember makes a user a member of a team, or gives a member another role.
// Whoever becomes a viewer loses their locks in the team's workspace, in the
// same transaction.
//
// Errors: ErrBadName (role), ErrNotFound (team, user), ErrLastOwner.
func (s *Store) SetMember(ctx context.Context, team, user string, role Role, by Actor) error {
	if err := role.check(); err != nil {
		return err
	}
	return s.update(ctx, nil, func(t *tx) error {
		m, err := t.teammate(team, user)
		if err != nil || m.role == role {
			return err
		}
		return t.setRole(m, role, by)
	})
}

func (r Role) check() error {
	if !r.Valid() {
		return fmt.Errorf("%w: there is no role %q", ErrBadName, r)
	}
	return nil
}

// setRole is SetMember once the member is known.
func (t *tx) setRole(m teammate, role Role, by Actor) (err error) {
	if m.role == "" {
		_, err = t.exec(`INSERT INTO team_members (team_id, user_id, role, created_at) VALUES (?, ?, ?, ?)`,
			m.team.ID, m.user.ID, string(role), micros(t.now))
	} else {
		_, err = t.exec(`UPDATE team_members SET role = ? WHERE team_id = ? AND user_id = ?`, string(role), m.team.ID, m.user.ID)
	}
	if err != nil {
		return err
	}
	if err := t.audit(by, "member.set", m.team.Workspace(), m.user.Name, string(role)); err != nil {
		return err
	}
	if !role.MayWrite() {
		if err := t.dropLocksOf(m, by, "member became a viewer"); err != nil {
			return err
		}
	}
	return t.keepOwner(m)
}

// RemoveMember ends a membership, and in the same transaction the user's locks
// in the team's workspace and their accounts limited to it.
//
// Errors: ErrNotFound (team, user, membership), ErrLastOwner.
func (s *Store) RemoveMember(ctx context.Context, team, user string, by Actor) error {
	return s.update(ctx, nil, func(t *tx) error {
		m, err := t.teammate(team, user)
		if err == nil && m.role == "" {
			err = fmt.Errorf("member: %w", ErrNotFound)
		}
		if err != nil {
			return err
		}
		return t.removeMember(m, by)
	})
}

func (t *tx) removeMember(m teammate, by Actor) error {
	if _, err := t.exec(`DELETE FROM team_members WHERE team_id = ? AND user_id = ?`, m.team.ID, m.user.ID); err != nil {
		return err
	}
	if err := t.keepOwner(m); err != nil {
		return err
	}
	return t.removedMember(m, by)
}

// removedMember ends what a former member had in the team's workspace.
func (t *tx) removedMember(m teammate, by Actor) error {
	if err := t.audit(by, "member.removed", m.team.Workspace(), m.user.Name, ""); err != nil {
		return err
	}
	if err := t.dropLocksOf(m, by, "member removed"); err != nil {
		return err
	}
	gone, err := t.accounts(m.user.ID, `AND a.team_id = ? ORDER BY a.name`, m.team.ID)
	if err != nil {
		return err
	}
	return t.dropAccounts(by, m.user, gone)
}

// dropLocksOf ends the locks that a user holds in the team's workspace.
func (t *tx) dropLocksOf(m teammate, by Actor, why string) error {
	sp, err := t.space(m.team.Workspace())
	if err != nil {
		return err
	}
	return t.dropHeldIn(sp, by, m.user, why)
}

// keepOwner is asked after a change of a member: ErrLastOwner when the team has
// members and no owner. Where the owner went with their user, the members left
// may still be changed and removed.
func (t *tx) keepOwner(before teammate) error {
	if before.role != Owner && before.role != "" {
		return nil
	}
	var members, owners bool
	_, err := t.row(`SELECT EXISTS (SELECT 1 FROM team_members WHERE team_id = ?), EXISTS (SELECT 1 FROM team_members WHERE team_id = ? AND role = 'owner')`,
		[]any{before.team.ID, before.team.ID}, &members, &owners)
	if err == nil && members && !owners {
		err = ErrLastOwner
	}
	return err
}

// Membership finds a team by name, without regard to case, as one of its members
// sees it: ErrNotFound, for those who are none too.
func (s *Store) Membership(ctx context.Context, user int64, team string) (m Membership, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		if m.Team, err = t.team(team); err != nil {
			return err
		}
		if m.Role, err = t.role(m.Team.ID, user); err == nil && m.Role == "" {
			err = fmt.Errorf("team: %w", ErrNotFound)
		}
		return err
	})
	return m, err
}

// Memberships lists the teams that a user is a member of, by name.
func (s *Store) Memberships(ctx context.Context, user int64) (all []Membership, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		return t.rows(`SELECT `+teamColumns+`, m.role FROM team_members m JOIN teams t ON t.id = m.team_id
WHERE m.user_id = ? ORDER BY t.name_key`, []any{user}, func(scan func(...any) error) (err error) {
			var m Membership
			m.Team, err = scanTeam(scan, (*string)(&m.Role))
			all = append(all, m)
			return err
		})
	})
	return all, err
}

// Role is what a user is in a team known by id, "" when they are no member.
func (s *Store) Role(ctx context.Context, team, user int64) (r Role, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		r, err = t.role(team, user)
		return err
	})
	return r, err
}

// role is what a user is in a team, "" when they are no member.
func (t *tx) role(team, user int64) (r Role, err error) {
	_, err = t.row(`SELECT role FROM team_members WHERE team_id = ? AND user_id = ?`, []any{team, user}, (*string)(&r))
	return r, err
}

// mayWrite refuses with ErrForbidden a user who may not change a workspace: who
// was disabled or removed, whose app password was removed or has expired, or who
// is no member who may write. All that comes about while requests are under way,
// so it is asked here; who is let at a personal workspace its door decides, by
// whose it is. User 0 is the server itself. From here on the user is who causes
// what the audit log notes.
func (t *tx) mayWrite(sp *space, cred lockns.Credentials) error {
	if cred.User != 0 {
		by := Actor{ID: cred.User}
		active, err := t.row(`SELECT name FROM users WHERE id = ? AND disabled = 0`, []any{cred.User}, &by.Name)
		if err == nil && !active {
			err = ErrForbidden
		}
		if err != nil {
			return err
		}
		t.by = by
	}
	if err := t.accountWrites(cred); err != nil {
		return err
	}
	return t.may(sp, cred.User, Role.MayWrite)
}

// mayRead is the part of mayWrite about the workspace, for what only reads: every
// member may. A change that reads somewhere asks mayWrite of where it writes.
func (t *tx) mayRead(sp *space, user int64) error {
	return t.may(sp, user, Role.Valid)
}

func (t *tx) may(sp *space, user int64, allowed func(Role) bool) error {
	if sp.ws.Kind != lockns.Team {
		return nil
	}
	r, err := t.role(sp.ws.ID, user)
	if err == nil && !allowed(r) {
		err = ErrForbidden
	}
	return err
}
