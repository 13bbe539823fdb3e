package store

import (
	"context"

	"holdfast/lockns"
)

// Mkdir creates a folder with the properties of p, all or nothing.
//
// Errors: ErrBadName, ErrTooDeep, ErrExists, ErrNoParent, ErrTooManyProps,
// ErrQuota, *lockns.LockedError, and the claim's.
func (s *Store) Mkdir(ctx context.Context, target Target, p Patch, c Claim) (n Node, err error) {
	if err := target.Path.check(); err != nil {
		return n, err
	}
	err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, err := t.find(target)
		if err != nil {
			return err
		}
		if sp.node != nil {
			return ErrExists
		}
		if sp.parentID == 0 {
			return ErrNoParent
		}
		if _, err := t.permit(c, sp.membership()); err != nil {
			return err
		}
		name := target.Path.Base()
		id, err := t.addFolder(sp.id, sp.parentID, name, t.now.UnixMicro())
		if err != nil {
			return err
		}
		n = Node{
			Place: sp.parent.Folder(id), Name: name, Created: t.now, Modified: t.now,
			namespace: sp.id, parent: sp.parentID,
		}
		if err := t.patch(sp.space, &n, p); err != nil {
			return err
		}
		if err := t.touchFolder(sp.space, sp.parentID); err != nil {
			return err
		}
		if err := t.changedNode(sp.space, &n); err != nil {
			return err
		}
		return t.at(Written)
	})
	return n, err
}

// addFolder inserts a folder row; parent 0 makes it one without a parent.
func (t *tx) addFolder(namespace, parent int64, name string, created int64) (int64, error) {
	return t.insert(`INSERT INTO folders (namespace_id, parent_id, name, name_key, created_at, modified_at) VALUES (?, ?, ?, ?, ?, ?)`,
		namespace, null(parent), name, NameKey(name), created, micros(t.now))
}
