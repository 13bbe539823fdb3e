package store

import (
	"context"

	"holdfast/lockns"
)

// WorkspaceInfo is a workspace as one of those who may open it sees it.
type WorkspaceInfo struct {
	Workspace lockns.Workspace
	Name      string // of the user or the team it belongs to
	Role      Role   // Owner in one's own
	Root      int64  // id of its root folder
	Usage     Usage
}

// WorkspaceName is the name of a workspace's owner, a user's or a team's:
// ErrNotFound.
func (s *Store) WorkspaceName(ctx context.Context, ws lockns.Workspace) (name string, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		name, err = t.workspaceName(ws)
		return err
	})
	return name, err
}

func (t *tx) workspaceName(ws lockns.Workspace) (name string, err error) {
	query := `SELECT name FROM teams WHERE id = ?`
	if ws.Kind == lockns.Personal {
		query = `SELECT name FROM users WHERE id = ?`
	}
	ok, err := t.row(query, []any{ws.ID}, &name)
	if err == nil && !ok {
		err = ErrNotFound
	}
	return name, err
}

// Workspaces lists what a user may open: their own workspace, then those of their
// teams in the order in which the teams were made. after is the last one of the
// page before, zero for the first page; a page has at most limit.
func (s *Store) Workspaces(ctx context.Context, user int64, after lockns.Workspace, limit int) (all []WorkspaceInfo, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		all = nil
		if after == (lockns.Workspace{}) {
			all = append(all, WorkspaceInfo{Workspace: lockns.Workspace{Kind: lockns.Personal, ID: user}, Role: Owner})
		}
		team := after.ID
		if after.Kind != lockns.Team {
			team = 0
		}
		err := t.rows(`SELECT team_id, role FROM team_members WHERE user_id = ? AND team_id > ? ORDER BY team_id LIMIT ?`,
			[]any{user, team, limit - len(all)}, func(scan func(...any) error) error {
				i := WorkspaceInfo{Workspace: lockns.Workspace{Kind: lockns.Team}}
				err := scan(&i.Workspace.ID, (*string)(&i.Role))
				all = append(all, i)
				return err
			})
		for i := range all {
			if err == nil {
				err = t.describe(&all[i])
			}
		}
		return err
	})
	return all, err
}

// WorkspaceOpened is one workspace as a user sees it: ErrNotFound, also when they
// may not open it.
func (s *Store) WorkspaceOpened(ctx context.Context, user int64, ws lockns.Workspace) (i WorkspaceInfo, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		i = WorkspaceInfo{Workspace: ws}
		switch {
		case ws.Kind == lockns.Team:
			i.Role, err = t.role(ws.ID, user)
		case ws.ID == user:
			i.Role = Owner
		}
		if err == nil && i.Role == "" {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		return t.describe(&i)
	})
	return i, err
}

// describe adds what is known of a workspace besides the role.
func (t *tx) describe(i *WorkspaceInfo) error {
	sp, err := t.space(i.Workspace)
	if err != nil {
		return err
	}
	i.Root = sp.root
	if i.Name, err = t.workspaceName(i.Workspace); err != nil {
		return err
	}
	i.Usage, err = t.usage(sp)
	return err
}
