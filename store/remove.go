package store

import (
	"context"

	"holdfast/lockns"
)

// Remove deletes a file with its versions, or a folder with everything below it, and ends the
// locks there: all or nothing, in one transaction whatever the size of the
// tree. A folder is only detached; Purge does the work of its rows. With
// Options.Trash it waits for that time, a file too, and can be restored.
//
// Errors: ErrNotFound, ErrRoot, *lockns.LockedError naming every lock in the
// way, and the claim's.
func (s *Store) Remove(ctx context.Context, target Target, c Claim) error {
	return s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, err := t.mapped(target)
		if err != nil {
			return err
		}
		if sp.isBase() {
			return ErrRoot
		}
		if _, err := t.permit(c, sp.membership(), sp.deep()); err != nil {
			return err
		}
		if err := t.dropUnder(sp.space, sp.node.Place, endRemoved); err != nil {
			return err
		}
		if err := t.discard(sp); err != nil {
			return err
		}
		if err := t.touchFolder(sp.space, sp.parentID); err != nil {
			return err
		}
		if err := t.changedNode(sp.space, sp.node); err != nil {
			return err
		}
		return t.at(Written)
	})
}

// removeNode takes a node out of the tree. Its locks must be gone already.
func (t *tx) removeNode(n *Node) error {
	if n.IsFolder() {
		_, err := t.exec(`UPDATE folders SET parent_id = NULL, detached_at = ? WHERE id = ?`, micros(t.now), n.Place.Root.ID)
		t.after = append(t.after, t.s.signalPurge)
		return err
	}
	if n.versions > 0 {
		if _, _, err := t.dropVersions(`file_id = ?`, n.Place.Root.ID); err != nil {
			return err
		}
	}
	if _, err := t.exec(`DELETE FROM files WHERE id = ?`, n.Place.Root.ID); err != nil {
		return err
	}
	if err := t.dropBlob(n.blob); err != nil {
		return err
	}
	return t.addUsage(n.namespace, -n.stored())
}
