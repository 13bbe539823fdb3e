package store

import (
	"context"

	"holdfast/lockns"
)

// PatchProps applies a Patch to a resource, whole or not at all.
//
// Errors: ErrNotFound, *lockns.LockedError, and the claim's.
func (s *Store) PatchProps(ctx context.Context, target Target, p Patch, c Claim) (n Node, err error) {
	err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, err := t.find(target)
		if err != nil {
			return err
		}
		found, err := sp.existing()
		if err != nil {
			return err
		}
		if _, err := t.permit(c, sp.touch()); err != nil {
			return err
		}
		n = *found
		if err := t.patch(&n, p); err != nil {
			return err
		}
		if p.Props != nil || p.Modified != nil {
			sp.regrows = true
		}
		return t.at(Written)
	})
	return n, err
}

// owner is the column that a node's properties are filed under, and its id.
func (t *tx) owner(n *Node) (column, table string, id int64) {
	if n.Place.Root.Kind == lockns.FileRoot {
		return "file_id", "files", n.Place.Root.ID
	}
	ids := folderIDs(n.Place.Ancestry)
	return "folder_id", "folders", ids[len(ids)-1].(int64)
}

// patch writes the properties of a node in order.
func (t *tx) patch(n *Node, p Patch) error {
	column, table, id := t.owner(n)
	for _, op := range p.Props {
		query := `INSERT INTO properties (` + column + `, namespace, name, value) VALUES (?, ?, ?, ?)
ON CONFLICT (` + column + `, namespace, name) WHERE ` + column + ` IS NOT NULL DO UPDATE SET value = excluded.value`
		args := []any{id, op.Space, op.Local, op.XML}
		if op.Remove {
			query = `DELETE FROM properties WHERE ` + column + ` = ? AND namespace = ? AND name = ?`
			args = args[:3]
		}
		if _, err := t.exec(query, args...); err != nil {
			return err
		}
		n.hasProps = true
	}
	if p.Modified != nil {
		n.Modified = p.Modified.UTC()
		if _, err := t.exec(`UPDATE `+table+` SET modified_at = ? WHERE id = ?`, micros(n.Modified), id); err != nil {
			return err
		}
	}
	if p.Props == nil {
		return nil
	}
	_, err := t.row(`UPDATE `+table+` SET has_props = EXISTS (SELECT 1 FROM properties WHERE `+column+` = ?) WHERE id = ? RETURNING has_props`,
		[]any{id, id}, &n.hasProps)
	return err
}

// props reads the dead properties of one node.
func (t *tx) props(n *Node) ([]Property, error) {
	if !n.hasProps {
		return nil, nil
	}
	column, _, id := t.owner(n)
	var props []Property
	err := t.rows(`SELECT namespace, name, value FROM properties WHERE `+column+` = ? ORDER BY id`, []any{id},
		func(scan func(...any) error) error {
			var p Property
			err := scan(&p.Space, &p.Local, &p.XML)
			props = append(props, p)
			return err
		})
	return props, err
}

// copyProps gives one node the properties of another.
func (t *tx) copyProps(from, to *Node) error {
	if !from.hasProps {
		return nil
	}
	fromColumn, _, fromID := t.owner(from)
	toColumn, table, toID := t.owner(to)
	_, err := t.exec(`INSERT INTO properties (`+toColumn+`, namespace, name, value)
SELECT ?, namespace, name, value FROM properties WHERE `+fromColumn+` = ? ORDER BY id`, toID, fromID)
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE `+table+` SET has_props = 1 WHERE id = ?`, toID)
	return err
}
