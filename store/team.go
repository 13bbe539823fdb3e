package store

import (
	"context"
	"fmt"
	"strings"

	"holdfast/lockns"
)

// teamKey is what a team's name is looked up by: without regard to case.
func teamKey(name string) string { return NameKey(strings.ToLower(name)) }

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

// role is what a user is in a team, "" when they are no member.
func (t *tx) role(team, user int64) (r Role, err error) {
	_, err = t.row(`SELECT role FROM team_members WHERE team_id = ? AND user_id = ?`, []any{team, user}, (*string)(&r))
	return r, err
}

// mayWrite refuses with ErrForbidden a user who may not change a workspace. Who
// is let at a personal workspace its door decides, by whose it is; membership
// of a team ends while requests are under way, so it is asked here.
func (t *tx) mayWrite(sp *space, user int64) error {
	return t.may(sp, user, Role.MayWrite)
}

// mayRead is mayWrite for what only reads.
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
