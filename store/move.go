package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/lockns"
)

// moveAtOnce is how many members a move between workspaces may take along.
const moveAtOnce = 10000

// MoveOptions refine Move.
type MoveOptions struct {
	NoOverwrite bool // ErrExists when the destination exists
	// Modified is the modification time to give the resource, and nothing below
	// it; zero leaves its own.
	Modified time.Time
}

// Move gives a resource another place: identity, entity tag, times and
// properties stay. Inside a workspace it costs the same whatever is below. The
// WebDAV locks of the source end, those of other origins go along; what the
// destination mapped to is replaced, and a lock rooted there stays and holds
// the moved resource from then on. A file that replaces a file takes over its
// versions, beside its own, and, where versions are kept, its content as the
// newest. created tells whether the destination mapped to nothing.
//
// Between workspaces every member changes its workspace in the same
// transaction, at most 10,000 of them.
//
// Errors: ErrNotFound (source), ErrBadName, ErrTooDeep, ErrNoParent, ErrRoot,
// ErrIntoItself, ErrExists, *lockns.LockedError and the claim's; between
// workspaces ErrTooMany, ErrQuota, and ErrForeignLock for a lock that cannot
// leave its workspace.
func (s *Store) Move(ctx context.Context, from, to Target, o MoveOptions, c Claim) (created bool, err error) {
	if err := to.Path.check(); err != nil {
		return false, err
	}
	err = s.update(ctx, []lockns.Workspace{from.Workspace, to.Workspace}, func(t *tx) error {
		created, err = t.move(from, to, o, c)
		return err
	})
	return created, err
}

func (t *tx) move(from, to Target, o MoveOptions, c Claim) (created bool, err error) {
	src, dst, err := t.ends(from, to)
	if err != nil {
		return false, err
	}
	if src.isBase() {
		return false, ErrRoot
	}
	renamed := sameNode(src.node, dst.node)
	if renamed && src.node.Name == to.Path.Base() || !renamed && overlap(src, dst) {
		return false, ErrIntoItself
	}
	if renamed {
		dst.node = nil // another spelling of the source's own name
	}
	cred, err := t.permit(c, append([]touch{src.membership(), src.deep()}, replacing(dst)...)...)
	if err != nil {
		return false, err
	}
	if err := dst.refuseExisting(o.NoOverwrite); err != nil {
		return false, err
	}
	if err := t.shallowEnough(src, dst); err != nil {
		return false, err
	}
	return dst.node == nil, t.relocate(src, dst, o.Modified, cred)
}

// relocate does the move that was allowed.
func (t *tx) relocate(src, dst *spot, modified time.Time, cred lockns.Credentials) error {
	n := src.node
	carried, err := t.takeLocks(src)
	if err != nil {
		return err
	}
	kept, err := t.clear(dst, n)
	if err != nil {
		return err
	}
	arriving, err := t.arriving(src, dst, carried, kept)
	if err != nil {
		return err
	}
	if src.space != dst.space {
		if err := t.emigrate(src, dst, carried, cred); err != nil {
			return err
		}
	}
	if err := t.rehang(n, dst); err != nil {
		return err
	}
	if err := t.setModified(n, modified); err != nil {
		return err
	}
	for _, l := range arriving {
		if _, err := t.addLock(dst.space, l); err != nil {
			return err
		}
	}
	if err := t.inherit(dst, n, kept, dst.placeOf(n)); err != nil {
		return err
	}
	if src.space != dst.space {
		if err := t.fits(dst.space); err != nil {
			return err
		}
	}
	if err := t.touchFolder(src.space, src.parentID); err != nil {
		return err
	}
	if err := t.touchFolder(dst.space, dst.parentID); err != nil {
		return err
	}
	if err := t.changedNode(src.space, n); err != nil {
		return err
	}
	if err := t.changed(dst.space, dst.parentID, dst.target.Path.Base(), n.IsFolder()); err != nil {
		return err
	}
	return t.at(Written)
}

// placeOf is the place of a node once it is what the spot maps to.
func (sp *spot) placeOf(n *Node) lockns.Place {
	if n.IsFolder() {
		return sp.parent.Folder(n.Place.Root.ID)
	}
	return sp.parent.File(n.Place.Root.ID)
}

// rehang changes the row: parent and name, nothing else.
func (t *tx) rehang(n *Node, dst *spot) error {
	return t.hang(n.Place.Root, dst.id, dst.parentID, dst.target.Path.Base())
}

// hang gives a file or folder another parent and name.
func (t *tx) hang(id lockns.Root, namespace, parent int64, name string) error {
	query := `UPDATE files SET folder_id = ?, name = ?, name_key = ?, namespace_id = ? WHERE id = ?`
	if id.Kind == lockns.FolderRoot {
		query = `UPDATE folders SET parent_id = ?, name = ?, name_key = ?, namespace_id = ? WHERE id = ?`
	}
	_, err := t.exec(query, parent, name, NameKey(name), namespace, id.ID)
	return err
}

// sameNode reports whether both are the same resource.
func sameNode(a, b *Node) bool { return b != nil && a.Place.Root == b.Place.Root }

// overlap reports whether one end lies at or inside the other.
func overlap(src, dst *spot) bool {
	return src.node.Place.Holds(dst.place()) || dst.node != nil && dst.node.Place.Holds(src.node.Place)
}

// shallowEnough refuses a move that would push members below the deepest level.
func (t *tx) shallowEnough(src, dst *spot) error {
	return t.reaches(src.node.Place.Root, len(src.path()), len(dst.path()))
}

// reaches refuses to take a resource from one level to another with ErrTooDeep when
// something below it would come below the deepest. Only on the way down it has to
// look.
func (t *tx) reaches(id lockns.Root, from, to int) error {
	if id.Kind != lockns.FolderRoot || to <= from {
		return nil
	}
	var height int
	_, err := t.row(`WITH RECURSIVE tree (id, depth) AS (
SELECT ?, 0 UNION ALL SELECT f.id, tree.depth + 1 FROM tree CROSS JOIN folders f ON f.parent_id = tree.id WHERE tree.depth <= ?)
SELECT max(depth + EXISTS (SELECT 1 FROM files WHERE folder_id = tree.id)) FROM tree`,
		[]any{id.ID, MaxLevels}, &height)
	if err == nil && to+height > MaxLevels {
		return ErrTooDeep
	}
	return err
}

// takeLocks removes all locks at or below the source and returns those that go
// along with it: the active ones of origins other than WebDAV.
func (t *tx) takeLocks(src *spot) ([]lockns.Lock, error) {
	at, err := t.covering(src.space, src.node.Place)
	if err != nil {
		return nil, err
	}
	under, err := t.below(src.space, src.node.Place)
	if err != nil {
		return nil, err
	}
	var carried []lockns.Lock
	for _, l := range append(at, under...) {
		if l.Origin != lockns.WebDAV && src.node.Place.Holds(l.Place) {
			carried = append(carried, l)
		}
	}
	for _, l := range carried {
		if err := t.liftLock(src.space, l); err != nil {
			return nil, err
		}
	}
	return carried, t.dropUnder(src.space, src.node.Place, endMovedAway)
}

// arriving are the carried locks as they will be at the destination. They must
// not come to where a lock stands that excludes them: on the resource replaced,
// or above with depth infinity.
func (t *tx) arriving(src, dst *spot, carried, kept []lockns.Lock) ([]lockns.Lock, error) {
	if carried == nil {
		return nil, nil
	}
	place := dst.placeOf(src.node)
	there, err := t.covering(dst.space, dst.parent)
	if err != nil {
		return nil, err
	}
	for _, k := range kept {
		k.Place = place
		there = append(there, k)
	}
	var moved, refused []lockns.Lock
	for _, l := range carried {
		m := rebase(l, src.node.Place, place, src.path(), dst.path())
		moved = append(moved, m)
		if lockns.Admit(m, there) != nil {
			refused = append(refused, l)
		}
	}
	if refused != nil {
		return nil, locked(refused)
	}
	return moved, nil
}

// rebase gives a carried lock its new place and shown path.
func rebase(l lockns.Lock, from, to lockns.Place, fromPath, toPath Path) lockns.Lock {
	if l.Place.Root == from.Root {
		l.Place = to
	} else {
		l.Place.Ancestry = to.Ancestry + strings.TrimPrefix(l.Place.Ancestry, from.Ancestry)
	}
	// By levels: names above may be spelled otherwise than when it was locked.
	if path := ParsePath(l.Path); len(path) >= len(fromPath) {
		l.Path = append(toPath[:len(toPath):len(toPath)], path[len(fromPath):]...).String()
	}
	return l
}

// emigrate moves every member, and the bytes they take, to the other workspace.
func (t *tx) emigrate(src, dst *spot, carried []lockns.Lock, cred lockns.Credentials) error {
	var foreign []lockns.Lock
	for _, l := range carried {
		if l.Origin == lockns.WOPI || l.Holder != cred.User {
			foreign = append(foreign, l)
		}
	}
	if foreign != nil {
		return errors.Join(ErrForeignLock, locked(foreign))
	}
	bytes := src.node.stored()
	if src.node.IsFolder() {
		id := src.node.Place.Root.ID
		n, err := t.countTree(id, moveAtOnce+1)
		if err != nil {
			return err
		}
		if n > moveAtOnce {
			return ErrTooMany
		}
		if bytes, err = t.treeBytes(id); err != nil {
			return err
		}
		for _, q := range []string{
			`UPDATE files SET namespace_id = ?2 WHERE folder_id IN (` + treeOf1 + `)`,
			`UPDATE folders SET namespace_id = ?2 WHERE id IN (` + treeOf1 + `)`,
		} {
			if _, err := t.exec(q, id, dst.id); err != nil {
				return err
			}
		}
	}
	if err := t.addUsage(src.id, -bytes); err != nil {
		return err
	}
	return t.addUsage(dst.id, bytes)
}

// treeOf1 selects a folder, the statement's first parameter, and all below it.
const treeOf1 = `WITH RECURSIVE tree (id) AS (
SELECT ?1 UNION ALL SELECT f.id FROM tree CROSS JOIN folders f ON f.parent_id = tree.id) SELECT id FROM tree`

// treeBytes is what a folder and all below it take.
func (t *tx) treeBytes(folder int64) (bytes int64, err error) {
	_, err = t.row(`SELECT (SELECT coalesce(sum(size + props_bytes + versions_bytes), 0) FROM files WHERE folder_id IN (`+treeOf1+`))
+ (SELECT coalesce(sum(props_bytes), 0) FROM folders WHERE id IN (`+treeOf1+`))`, []any{folder}, &bytes)
	return bytes, err
}
