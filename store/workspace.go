package store

import (
	"context"

	"holdfast/lockns"
)

// WorkspaceName is the name of a workspace's owner, a user's or a team's:
// ErrNotFound.
func (s *Store) WorkspaceName(ctx context.Context, ws lockns.Workspace) (name string, err error) {
	if ws.Kind == lockns.Personal {
		return s.UserName(ctx, ws.ID)
	}
	err = s.snapshot(ctx, func(t *tx) error {
		ok, err := t.row(`SELECT name FROM teams WHERE id = ?`, []any{ws.ID}, &name)
		if err == nil && !ok {
			err = ErrNotFound
		}
		return err
	})
	return name, err
}
