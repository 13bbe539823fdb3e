package store

import (
	"context"
	"strings"
	"time"

	"holdfast/lockns"
)

// PatchProps applies a Patch to a resource, whole or not at all.
//
// Errors: ErrNotFound, ErrChecksum, ErrTooManyProps, ErrQuota, *lockns.LockedError, and the
// claim's.
func (s *Store) PatchProps(ctx context.Context, target Target, p Patch, c Claim) (n Node, err error) {
	err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, err := t.mapped(target)
		if err != nil {
			return err
		}
		if _, err := t.permit(c, sp.touch()); err != nil {
			return err
		}
		n = *sp.node
		if err := t.patch(sp.space, &n, p); err != nil {
			return err
		}
		if p.Props != nil || p.Modified != nil {
			if err := t.changedNode(sp.space, sp.node); err != nil {
				return err
			}
		}
		return t.at(Written)
	})
	return n, err
}

// propOwner is where a node's properties are filed: the column of properties,
// the table of the node, its id there.
type propOwner struct {
	column, table string
	id            int64
}

func ownerOf(n *Node) propOwner {
	if n.Place.Root.Kind == lockns.FileRoot {
		return propOwner{"file_id", "files", n.Place.Root.ID}
	}
	ids := folderIDs(n.Place.Ancestry)
	return propOwner{"folder_id", "folders", ids[len(ids)-1].(int64)}
}

// patch writes the properties of a node in order.
func (t *tx) patch(sp *space, n *Node, p Patch) error {
	if err := t.proves(n, p.Checksums); err != nil {
		return err
	}
	o := ownerOf(n)
	for _, op := range p.Props {
		query := `INSERT INTO properties (` + o.column + `, namespace, name, value) VALUES (?, ?, ?, ?)
ON CONFLICT (` + o.column + `, namespace, name) WHERE ` + o.column + ` IS NOT NULL DO UPDATE SET value = excluded.value`
		args := []any{o.id, op.Space, op.Local, op.XML}
		if op.Remove {
			query = `DELETE FROM properties WHERE ` + o.column + ` = ? AND namespace = ? AND name = ?`
			args = args[:3]
		}
		if _, err := t.exec(query, args...); err != nil {
			return err
		}
	}
	if p.Modified != nil {
		if err := t.setModified(n, *p.Modified); err != nil {
			return err
		}
	}
	if p.Props == nil {
		return nil
	}
	return t.countProps(sp, n, o)
}

// setModified gives a node a modification time, unless that is zero.
func (t *tx) setModified(n *Node, modified time.Time) error {
	if modified.IsZero() {
		return nil
	}
	n.Modified = modified.UTC()
	o := ownerOf(n)
	_, err := t.exec(`UPDATE `+o.table+` SET modified_at = ? WHERE id = ?`, micros(n.Modified), o.id)
	return err
}

// countProps books what a node's properties take after a change of them.
func (t *tx) countProps(sp *space, n *Node, o propOwner) error {
	var count, bytes int64
	_, err := t.row(`SELECT count(*), coalesce(sum(octet_length(namespace) + octet_length(name) + octet_length(value)), 0)
FROM properties WHERE `+o.column+` = ?`, []any{o.id}, &count, &bytes)
	if err != nil {
		return err
	}
	more := bytes - n.props
	if more > 0 && (count > MaxProps || bytes > MaxPropBytes) {
		return ErrTooManyProps
	}
	if _, err := t.exec(`UPDATE `+o.table+` SET props_bytes = ? WHERE id = ?`, bytes, o.id); err != nil {
		return err
	}
	n.props = bytes
	if err := t.addUsage(n.namespace, more); err != nil || more <= 0 {
		return err
	}
	return t.fits(sp)
}

// wanted completes a query over properties p: which of them, and whether with
// their values. The number of names is rounded up, so that there are few texts.
func (w Want) wanted() (value, condition string, args []any) {
	value = "p.value"
	if w.NamesOnly {
		value = "''"
	}
	if w.PropNames == nil {
		return value, "", nil
	}
	n := 1
	for n < len(w.PropNames) {
		n *= 2
	}
	for i := range n {
		args = append(args, w.PropNames[min(i, len(w.PropNames)-1)])
	}
	return value, ` AND p.name IN (?` + strings.Repeat(",?", n-1) + `)`, args
}

// wantsProps reports whether there is anything to look for.
func (w Want) wantsProps() bool { return w.Props && (w.PropNames == nil || len(w.PropNames) > 0) }

// props reads the dead properties of one node.
func (t *tx) props(n *Node, want Want) ([]Property, error) {
	if n.props == 0 {
		return nil, nil
	}
	o := ownerOf(n)
	value, condition, args := want.wanted()
	var props []Property
	err := t.rows(`SELECT p.namespace, p.name, `+value+` FROM properties p WHERE p.`+o.column+` = ?`+condition+` ORDER BY p.id`,
		append([]any{o.id}, args...), func(scan func(...any) error) error {
			var p Property
			err := scan(&p.Space, &p.Local, &p.XML)
			props = append(props, p)
			return err
		})
	return props, err
}

// copyProps gives one node the properties of another.
func (t *tx) copyProps(from, to *Node) error {
	if from.props == 0 {
		return nil
	}
	return t.copyPropRows(ownerOf(from), ownerOf(to), to.namespace, from.props)
}

func (t *tx) copyPropRows(from, to propOwner, namespace, bytes int64) error {
	_, err := t.exec(`INSERT INTO properties (`+to.column+`, namespace, name, value)
SELECT ?, namespace, name, value FROM properties WHERE `+from.column+` = ? ORDER BY id`, to.id, from.id)
	if err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE `+to.table+` SET props_bytes = ? WHERE id = ?`, bytes, to.id); err != nil {
		return err
	}
	return t.addUsage(namespace, bytes)
}
