package store

import (
	"context"
	"fmt"
)

// UserInfo is a user and what their own workspace stores.
type UserInfo struct {
	User
	Usage Usage
}

// TeamInfo is a team as a user sees it.
type TeamInfo struct {
	Team
	Role  Role // of the user; "" when they are no member
	Usage Usage
}

// The outer table comes first: the order of a page is its order.
const (
	selectUserInfo = `SELECT ` + userColumns + `, g.bytes, coalesce(g.quota, ?) FROM users u
CROSS JOIN resource_lock_namespaces n ON n.workspace_type = 'personal' AND n.workspace_id = u.id CROSS JOIN storage_usage g ON g.namespace_id = n.id `
	teamSpace = ` CROSS JOIN resource_lock_namespaces n ON n.workspace_type = 'team' AND n.workspace_id = t.id CROSS JOIN storage_usage g ON g.namespace_id = n.id `

	teamInfoColumns = teamColumns + `, g.bytes, coalesce(g.quota, ?), coalesce(m.role, '')`
	selectTeamInfo  = `SELECT ` + teamInfoColumns + ` FROM teams t` + teamSpace + `LEFT JOIN team_members m ON m.team_id = t.id AND m.user_id = ? `
	selectTeamsOf   = `SELECT ` + teamInfoColumns + ` FROM team_members m CROSS JOIN teams t ON t.id = m.team_id` + teamSpace +
		`WHERE m.user_id = ? AND m.team_id > ? ORDER BY m.team_id LIMIT ?`
)

// userInfos reads users by the rest of a query.
func (s *Store) userInfos(ctx context.Context, rest string, args ...any) (all []UserInfo, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		all = nil
		return t.rows(selectUserInfo+rest, append([]any{s.o.Quota}, args...), func(scan func(...any) error) (err error) {
			var i UserInfo
			i.User, err = scanUser(scan, &i.Usage.Used, &i.Usage.Quota)
			all = append(all, i)
			return err
		})
	})
	return all, err
}

// UserByID is a user with what they store: ErrNotFound.
func (s *Store) UserByID(ctx context.Context, id int64) (UserInfo, error) {
	all, err := s.userInfos(ctx, `WHERE u.id = ?`, id)
	return only(all, "user", err)
}

// only is the one row of a look-up by id: ErrNotFound when there is none.
func only[T any](all []T, what string, err error) (T, error) {
	var one T
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	if err != nil {
		return one, err
	}
	return all[0], nil
}

// afterNames is behind all names of users that begin with the same text: they are
// ASCII, and their keys have no character above it.
const afterNames = "\x7f"

// UsersByName lists up to limit users whose names begin with a text, without regard
// to case, in the order of their names. after is the name of the last user of the
// page before, "" for the first page.
func (s *Store) UsersByName(ctx context.Context, begins, after string, limit int) ([]UserInfo, error) {
	end := userKey(begins) + afterNames
	if after == "" {
		return s.userInfos(ctx, `WHERE u.name_key >= ? AND u.name_key < ? ORDER BY u.name_key LIMIT ?`, userKey(begins), end, limit)
	}
	return s.userInfos(ctx, `WHERE u.name_key > ? AND u.name_key < ? ORDER BY u.name_key LIMIT ?`, userKey(after), end, limit)
}

// teamInfos reads teams as a user sees them.
func (s *Store) teamInfos(ctx context.Context, query string, args ...any) (all []TeamInfo, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		all = nil
		return t.rows(query, append([]any{s.o.Quota}, args...), func(scan func(...any) error) (err error) {
			var i TeamInfo
			i.Team, err = scanTeam(scan, &i.Usage.Used, &i.Usage.Quota, (*string)(&i.Role))
			all = append(all, i)
			return err
		})
	})
	return all, err
}

// TeamByID is a team as a user sees it, member or not: ErrNotFound.
func (s *Store) TeamByID(ctx context.Context, user, id int64) (TeamInfo, error) {
	all, err := s.teamInfos(ctx, selectTeamInfo+`WHERE t.id = ?`, user, id)
	return only(all, "team", err)
}

// TeamsByID lists up to limit teams as a user sees them, member or not, the oldest
// first. after is the id of the last one of the page before, 0 for the first page.
func (s *Store) TeamsByID(ctx context.Context, user, after int64, limit int) ([]TeamInfo, error) {
	return s.teamInfos(ctx, selectTeamInfo+`WHERE t.id > ? ORDER BY t.id LIMIT ?`, user, after, limit)
}

// TeamsOf is TeamsByID of those that the user is a member of.
func (s *Store) TeamsOf(ctx context.Context, user, after int64, limit int) ([]TeamInfo, error) {
	return s.teamInfos(ctx, selectTeamsOf, user, after, limit)
}

const selectMembers = `SELECT ` + userColumns + `, m.role, m.created_at FROM team_members m CROSS JOIN users u ON u.id = m.user_id WHERE m.team_id = ? `

// MembersByID lists up to limit members of a team, by the ids of the users. after is
// that of the last one of the page before, 0 for the first page. A team that is not
// there has none.
func (s *Store) MembersByID(ctx context.Context, team, after int64, limit int) ([]Member, error) {
	return s.members(ctx, selectMembers+`AND m.user_id > ? ORDER BY m.user_id LIMIT ?`, team, after, limit)
}

// MemberByID is one member of a team: ErrNotFound.
func (s *Store) MemberByID(ctx context.Context, team, user int64) (Member, error) {
	all, err := s.members(ctx, selectMembers+`AND m.user_id = ?`, team, user)
	return only(all, "member", err)
}

func (s *Store) members(ctx context.Context, query string, args ...any) (all []Member, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		all = nil
		return t.rows(query, args, func(scan func(...any) error) (err error) {
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
