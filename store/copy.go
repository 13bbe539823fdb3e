package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"holdfast/lockns"
)

const (
	// copyAtOnce is how many members one transaction copies; more are built
	// detached, chunk by chunk.
	copyAtOnce = 2000
	// chunkRows bounds the rows that one transaction of a background or
	// chunked job handles, and so how long it keeps others from the writer.
	chunkRows = 500
	// buildGrace is how long a tree under construction is safe from Purge; each
	// chunk renews it.
	buildGrace = time.Hour
)

// CopyOptions refine Copy.
type CopyOptions struct {
	Shallow     bool // a folder without its members (Depth: 0)
	NoOverwrite bool // ErrExists when the destination exists
	// Modified is the modification time to give the copy, and nothing below it;
	// zero is the source's for a file and now for a folder.
	Modified time.Time
}

// Copy copies a resource with its dead properties; content is shared, no bytes
// are copied, and locks and versions are not copied. What the destination mapped
// to is replaced; a lock rooted there stays and holds the copy from then on. A
// file that replaces a file takes over its versions and, where versions are kept,
// its content as the newest. id is what was made; created tells whether the
// destination mapped to nothing. The workspaces may differ.
//
// A tree of more than 2,000 members is built out of sight in chunks and put in
// place by a last transaction that asks the claim again; changes of the source
// meanwhile may or may not be in the copy.
//
// Errors: ErrNotFound (source), ErrBadName, ErrTooDeep, ErrNoParent, ErrRoot,
// ErrIntoItself, ErrExists, ErrQuota, *lockns.LockedError, and the claim's.
func (s *Store) Copy(ctx context.Context, from, to Target, o CopyOptions, c Claim) (id lockns.Root, created bool, err error) {
	if err := to.Path.check(); err != nil {
		return id, false, err
	}
	var big *Node
	level := 0
	err = s.update(ctx, []lockns.Workspace{from.Workspace, to.Workspace}, func(t *tx) error {
		big = nil
		src, dst, err := t.admitCopy(from, to, o, c)
		if err != nil {
			return err
		}
		created = dst.node == nil
		if src.node.IsFolder() && !o.Shallow {
			n, err := t.countTree(src.space.folderID(src.node), copyAtOnce+1)
			if err != nil {
				return err
			}
			if n > copyAtOnce {
				big, level = src.node, len(dst.path())
				return nil
			}
		}
		id, err = t.copyNow(src, dst, o)
		return err
	})
	if err != nil || big == nil {
		return id, created, err
	}
	return s.copyBig(ctx, from, to, o, *big, level, c)
}

// admitCopy resolves both ends and decides whether the copy may go on.
func (t *tx) admitCopy(from, to Target, o CopyOptions, c Claim) (src, dst *spot, err error) {
	if src, dst, err = t.ends(from, to); err != nil {
		return nil, nil, err
	}
	if dst.node != nil && dst.node.Place.Holds(src.node.Place) || !o.Shallow && src.node.Place.Holds(dst.place()) {
		return nil, nil, ErrIntoItself
	}
	cred, err := t.permit(c, replacing(dst)...)
	if err != nil {
		return nil, nil, err
	}
	if err := t.mayRead(src.space, cred.User); err != nil {
		return nil, nil, err
	}
	return src, dst, dst.refuseExisting(o.NoOverwrite)
}

// ends resolves source and destination and refuses what needs no rules.
func (t *tx) ends(from, to Target) (src, dst *spot, err error) {
	if src, err = t.mapped(from); err != nil {
		return nil, nil, err
	}
	if dst, err = t.find(to); err != nil {
		return nil, nil, err
	}
	switch {
	case to.Path.IsRoot():
		return nil, nil, ErrRoot
	case dst.parentID == 0:
		return nil, nil, ErrNoParent
	}
	return src, dst, nil
}

// replacing are the touches of putting something where dst is.
func replacing(dst *spot) []touch {
	touches := []touch{dst.membership()}
	if dst.node != nil {
		touches = append(touches, dst.deep())
	}
	return touches
}

// refuseExisting is Overwrite: F.
func (sp *spot) refuseExisting(noOverwrite bool) error {
	if sp.node != nil && noOverwrite {
		return ErrExists
	}
	return nil
}

// clear takes away what dst maps to, for src to come. It returns the locks rooted
// there, which hold whatever comes instead; those below end. A file that has
// something to leave to the file that comes is set aside for inherit.
func (t *tx) clear(dst *spot, src *Node) ([]lockns.Lock, error) {
	if dst.node == nil {
		return nil, nil
	}
	all, err := t.covering(dst.space, dst.node.Place)
	if err != nil {
		return nil, err
	}
	var kept []lockns.Lock
	for _, l := range all {
		if l.Place.Root == dst.node.Place.Root {
			kept = append(kept, l)
			if err := t.liftLock(dst.space, l); err != nil {
				return nil, err
			}
		}
	}
	if err := t.dropUnder(dst.space, dst.node.Place, endOverwrite); err != nil {
		return nil, err
	}
	if err := t.changedNode(dst.space, dst.node); err != nil {
		return nil, err
	}
	if err := t.auditResource("resource.replaced", dst.ws, dst.node.Place.Root, dst.spelled(), ""); err != nil {
		return nil, err
	}
	if t.succeeds(src, dst.node) {
		return kept, t.setAside(dst.node)
	}
	return kept, t.removeNode(dst.node)
}

// inherit gives what dst maps to now, which came from src, what was kept: the
// versions and the content of a file that was set aside, and the locks of the
// destination, which keep id, token, holder and end.
func (t *tx) inherit(dst *spot, src *Node, kept []lockns.Lock, place lockns.Place) error {
	if t.succeeds(src, dst.node) {
		if err := t.succeed(dst.node, place.Root.ID); err != nil {
			return err
		}
	}
	for _, l := range kept {
		l.Place = place
		if _, err := t.addLock(dst.space, l); err != nil {
			return err
		}
	}
	return nil
}

// copyNow copies a file, an empty folder or a small tree in this transaction.
func (t *tx) copyNow(src, dst *spot, o CopyOptions) (id lockns.Root, err error) {
	kept, err := t.clear(dst, src.node)
	if err != nil {
		return id, err
	}
	var n Node
	if src.node.IsFolder() {
		n, err = t.copyFolder(src, dst, !o.Shallow)
	} else {
		n, err = t.copyFile(src.node, dst)
	}
	if err != nil {
		return id, err
	}
	if err := t.setModified(&n, o.Modified); err != nil {
		return id, err
	}
	if err := t.inherit(dst, src.node, kept, n.Place); err != nil {
		return id, err
	}
	if err := t.fits(dst.space); err != nil {
		return id, err
	}
	if err := t.touchFolder(dst.space, dst.parentID); err != nil {
		return id, err
	}
	if err := t.changedNode(dst.space, &n); err != nil {
		return id, err
	}
	return n.Place.Root, t.at(Written)
}

// fits refuses when the workspace now stores more than its quota. The freed
// space of replaced folders counts only once they are purged.
func (t *tx) fits(sp *space) error {
	u, err := t.usage(sp)
	if err == nil && u.Quota > 0 && u.Used > u.Quota {
		return ErrQuota
	}
	return err
}

func (t *tx) copyFile(from *Node, dst *spot) (Node, error) {
	name := dst.target.Path.Base()
	to := Node{Name: name, namespace: dst.id, parent: dst.parentID}
	id, err := t.insert(`INSERT INTO files (namespace_id, folder_id, name, name_key, blob_id, size, version, content_type, created_at, modified_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, dst.id, dst.parentID, name, NameKey(name), from.blob, from.Size, uuid.NewString(),
		null(from.ContentType), micros(t.now), micros(from.Modified))
	if err != nil {
		return to, err
	}
	to.Place = dst.parent.File(id)
	if err := t.shareBlob(from.blob); err != nil {
		return to, err
	}
	if err := t.copyProps(from, &to); err != nil {
		return to, err
	}
	return to, t.addUsage(dst.id, from.Size)
}

func (t *tx) copyFolder(src, dst *spot, members bool) (Node, error) {
	name := dst.target.Path.Base()
	to := Node{Name: name, namespace: dst.id, parent: dst.parentID}
	id, err := t.addFolder(dst.id, dst.parentID, name, micros(t.now))
	if err != nil {
		return to, err
	}
	to.Place = dst.parent.Folder(id)
	if err := t.copyProps(src.node, &to); err != nil || !members {
		return to, err
	}
	todo := []pending{{from: src.space.folderID(src.node), to: id, level: len(dst.path())}}
	c := copier{t: t, namespace: dst.id, todo: todo}
	return to, c.run(copyAtOnce + 1)
}

// copyBig builds the copy of a big tree, whose root will be at this level, under a
// detached folder and attaches it.
func (s *Store) copyBig(ctx context.Context, from, to Target, o CopyOptions, src Node, level int, c Claim) (id lockns.Root, created bool, err error) {
	var root int64
	var build copier
	spaces := []lockns.Workspace{to.Workspace}
	err = s.update(ctx, spaces, func(t *tx) error {
		sp, err := t.space(to.Workspace)
		if err != nil {
			return err
		}
		root, err = t.addDetached(sp.id, to.Path.Base(), t.now.Add(buildGrace))
		if err != nil {
			return err
		}
		copied := Node{Place: lockns.Place{}.Folder(root), namespace: sp.id}
		if err := t.copyProps(&src, &copied); err != nil {
			return err
		}
		build = copier{namespace: sp.id, todo: []pending{{from: ownerOf(&src).id, to: root, level: level}}}
		return nil
	})
	for err == nil && len(build.todo) > 0 {
		var next copier
		err = s.update(ctx, spaces, func(t *tx) error {
			next = build.clone(t)
			if err := t.keepBuilding(root); err != nil {
				return err
			}
			if err := next.run(chunkRows); err != nil {
				return err
			}
			sp, err := t.space(to.Workspace)
			if err != nil {
				return err
			}
			return t.fits(sp)
		})
		if err == nil {
			build = next
		}
	}
	if err == nil {
		err = s.update(ctx, []lockns.Workspace{from.Workspace, to.Workspace}, func(t *tx) error {
			created, err = t.attach(from, to, o, src, root, c)
			return err
		})
	}
	if err != nil {
		s.abandon(context.WithoutCancel(ctx), root)
	}
	return lockns.Root{Kind: lockns.FolderRoot, ID: root}, created, err
}

// addDetached inserts the root of a tree out of sight, which Purge leaves alone
// until a time. It is born detached: for a moment without, it would be a second
// root of the workspace.
func (t *tx) addDetached(namespace int64, name string, until time.Time) (int64, error) {
	return t.insert(`INSERT INTO folders (namespace_id, name, name_key, detached_at, created_at, modified_at) VALUES (?, ?, ?, ?, ?, ?)`,
		namespace, name, NameKey(name), micros(until), micros(t.now), micros(t.now))
}

// keepBuilding keeps Purge away from a tree under construction.
func (t *tx) keepBuilding(root int64) error {
	_, err := t.exec(`UPDATE folders SET detached_at = ? WHERE id = ?`, micros(t.now.Add(buildGrace)), root)
	return err
}

// attach puts a finished tree in place.
func (t *tx) attach(from, to Target, o CopyOptions, copied Node, root int64, c Claim) (created bool, err error) {
	src, dst, err := t.admitCopy(from, to, o, c)
	if err != nil {
		return false, err
	}
	if !sameNode(src.node, &copied) {
		return false, fmt.Errorf("%w: the source was replaced while it was copied", ErrBusy)
	}
	kept, err := t.clear(dst, src.node)
	if err != nil {
		return false, err
	}
	n, err := t.exec(`UPDATE folders SET parent_id = ?, detached_at = NULL, modified_at = ? WHERE id = ? AND detached_at IS NOT NULL`,
		dst.parentID, micros(t.orNow(o.Modified)), root)
	if err == nil && n != 1 {
		err = fmt.Errorf("%w: copy was purged while it was built", ErrBusy)
	}
	if err != nil {
		return false, err
	}
	if err := t.inherit(dst, src.node, kept, dst.parent.Folder(root)); err != nil {
		return false, err
	}
	if err := t.touchFolder(dst.space, dst.parentID); err != nil {
		return false, err
	}
	return dst.node == nil, t.changed(dst.space, dst.parentID, to.Path.Base(), true)
}

// abandon hands an unfinished tree to Purge. Failing to is no loss: its grace
// runs out.
func (s *Store) abandon(ctx context.Context, root int64) {
	if root == 0 {
		return
	}
	err := s.update(ctx, nil, func(t *tx) error {
		_, err := t.exec(`UPDATE folders SET detached_at = ? WHERE id = ? AND detached_at IS NOT NULL`, micros(t.now), root)
		t.after = append(t.after, s.signalPurge)
		return err
	})
	if err != nil {
		s.log.Warn("unfinished copy left to the purge", "error", err)
	}
}
