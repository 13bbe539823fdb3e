package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"holdfast/lockns"
)

// Trashed is a file or folder in the trash of a workspace.
type Trashed struct {
	ID int64 // of the entry; it is not the resource's
	// Resource is the identity that the resource had and gets back.
	Resource lockns.Root
	// Folder is the id of the folder it was in.
	Folder int64
	// Path is where it was when it was removed, below the Base of the target asked,
	// its own name last.
	Path Path
	// Size in bytes; 0 for folders.
	Size int64
	// RemovedBy is the name that the user had; "" for the server itself.
	RemovedBy string
	// Removed is when it came, Expires the first moment at which it can no longer
	// be restored.
	Removed, Expires time.Time

	holder    int64  // the detached folder that it is in
	namespace int64  // id of the namespace row
	ancestry  string // of the folder it was in
	path      Path   // below the workspace root
}

// seenFrom says whether the entry came from a folder or from below it, and cuts
// its path there. Who is limited to a folder sees what was in it.
func (e *Trashed) seenFrom(base int64) bool {
	e.Path = e.path
	if base == 0 {
		return true
	}
	for level, id := range folderIDs(e.ancestry) {
		if id == base {
			e.Path = e.path[level:]
			return true
		}
	}
	return false
}

// RestoreOptions say where a resource goes from the trash.
type RestoreOptions struct {
	// Folder is the id of a folder of the same workspace; 0 is the one that the
	// resource was in, wherever that is by now.
	Folder int64
	// Name is the name it gets; "" is its own.
	Name string
}

// discard takes what a spot maps to out of the tree, for ever or into the trash,
// and notes it. Its locks must be gone already.
func (t *tx) discard(sp *spot) error {
	detail := ""
	if t.s.o.Trash > 0 {
		id, err := t.toTrash(sp)
		if err != nil {
			return err
		}
		detail = fmt.Sprintf("trash %d", id)
	} else if err := t.removeNode(sp.node); err != nil {
		return err
	}
	return t.auditResource("resource.removed", sp.ws, sp.node.Place.Root, sp.spelled(), detail)
}

// toTrash puts what a spot maps to into a detached folder of its own. Rows, and
// what they take, stay.
func (t *tx) toTrash(sp *spot) (id int64, err error) {
	holder, err := t.addDetached(sp.id, "", t.now.Add(t.s.o.Trash))
	if err != nil {
		return 0, err
	}
	n := sp.node
	if err := t.hang(n.Place.Root, sp.id, holder, n.Name); err != nil {
		return 0, err
	}
	return t.insert(`INSERT INTO trash (namespace_id, folder_id, is_folder, resource_id, size, from_ancestry, from_path, removed_by, removed_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		sp.id, holder, n.IsFolder(), n.Place.Root.ID, n.Size, sp.parent.Ancestry, sp.spelled(), t.by.Name, micros(t.now))
}

const selectTrash = `SELECT t.id, t.folder_id, t.namespace_id, t.is_folder, t.resource_id, t.size, t.from_ancestry, t.from_path, t.removed_by, t.removed_at, w.detached_at
FROM trash t CROSS JOIN folders w ON w.id = t.folder_id WHERE `

func scanTrashed(scan func(...any) error) (e Trashed, err error) {
	var folder bool
	var path string
	var removed, expires int64
	err = scan(&e.ID, &e.holder, &e.namespace, &folder, &e.Resource.ID, &e.Size, &e.ancestry, &path, &e.RemovedBy, &removed, &expires)
	if e.Resource.Kind = lockns.FileRoot; folder {
		e.Resource.Kind = lockns.FolderRoot
	}
	if ids := folderIDs(e.ancestry); len(ids) > 0 {
		e.Folder = ids[len(ids)-1].(int64)
	}
	e.path, e.Removed, e.Expires = ParsePath(path), fromMicros(removed), fromMicros(expires)
	return e, err
}

// Trash lists the trash of a target's workspace, newest first: of the entries
// before an id (0 is the first page) it looks at up to limit and gives those that
// came from the target's Base or from below it. next is the id to go on before; 0
// is the end. Start and Path of the target are not asked.
//
// Errors: ErrNotFound when the workspace, or the Base, is not there.
func (s *Store) Trash(ctx context.Context, target Target, before int64, limit int) (all []Trashed, next int64, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	err = s.snapshot(ctx, func(t *tx) error {
		sp, err := t.trashOf(target)
		if err != nil {
			return err
		}
		all, next, err = t.trashBefore(sp, target.Base, before, min(limit, pageRows))
		return err
	})
	return all, next, err
}

// TrashEntry is one entry of a target's trash: ErrNotFound, also for one that did
// not come from the target's Base.
func (s *Store) TrashEntry(ctx context.Context, target Target, id int64) (e Trashed, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		_, e, err = t.trashed(target, id)
		return err
	})
	return e, err
}

// trashOf is the workspace of a target whose Base is still there.
func (t *tx) trashOf(target Target) (*space, error) {
	sp, err := t.space(target.Workspace)
	if err == nil && target.Base != 0 {
		_, err = t.folder(sp, target.Base)
	}
	return sp, err
}

// trashBefore is a page of a workspace's trash.
func (t *tx) trashBefore(sp *space, base, before int64, limit int) (all []Trashed, next int64, err error) {
	rows := 0
	err = t.rows(selectTrash+`t.namespace_id = ? AND t.id < ? AND w.detached_at > ? ORDER BY t.id DESC LIMIT ?`,
		[]any{sp.id, before, micros(t.now), limit}, func(scan func(...any) error) error {
			e, err := scanTrashed(scan)
			rows, next = rows+1, e.ID
			if err == nil && e.seenFrom(base) {
				all = append(all, e)
			}
			return err
		})
	if rows < limit {
		next = 0
	}
	return all, next, err
}

// trashed finds an entry that can still be restored: ErrNotFound.
func (t *tx) trashed(target Target, id int64) (sp *space, e Trashed, err error) {
	if sp, err = t.trashOf(target); err != nil {
		return nil, e, err
	}
	err = t.rows(selectTrash+`t.id = ? AND t.namespace_id = ? AND w.detached_at > ?`,
		[]any{id, sp.id, micros(t.now)}, func(scan func(...any) error) (err error) {
			e, err = scanTrashed(scan)
			return err
		})
	if err == nil && (e.ID == 0 || !e.seenFrom(target.Base)) {
		err = ErrNotFound
	}
	return sp, e, err
}

// Restore brings what an entry of a target's trash holds back, with its id,
// properties, content and versions, and returns the id. To the lock rules it is a
// new member of the folder that it comes to; locks of its own it has none. Nothing
// is replaced. Start and Path of the target are not asked.
//
// Errors: ErrNotFound (the entry, as in TrashEntry), ErrBadName, ErrNoParent when
// the folder is not there or not below the target's Base, ErrExists, ErrTooDeep,
// *lockns.LockedError, and the claim's.
func (s *Store) Restore(ctx context.Context, target Target, id int64, o RestoreOptions, c Claim) (restored lockns.Root, err error) {
	if o.Name != "" {
		if err := CheckName(o.Name); err != nil {
			return restored, err
		}
	}
	err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		_, e, err := t.trashed(target, id)
		if err != nil {
			return err
		}
		dst, err := t.findForRestore(target, e, o)
		if err != nil {
			return err
		}
		if _, err := t.permit(c, dst.membership()); err != nil {
			return err
		}
		restored = e.Resource
		return t.putBack(e, dst)
	})
	return restored, err
}

// findForRestore resolves where an entry is to go.
func (t *tx) findForRestore(target Target, e Trashed, o RestoreOptions) (*spot, error) {
	if o.Name == "" {
		o.Name = e.path.Base()
	}
	if o.Folder == 0 {
		o.Folder = e.Folder
	}
	target.Start, target.Path = lockns.Root{Kind: lockns.FolderRoot, ID: o.Folder}, Path{o.Name}
	dst, err := t.find(target)
	if errors.Is(err, ErrNotFound) {
		err = ErrNoParent
	}
	return dst, err
}

// putBack does the restore that was allowed.
func (t *tx) putBack(e Trashed, dst *spot) error {
	if dst.node != nil {
		return ErrExists
	}
	if err := t.reaches(e.Resource, len(e.path), len(dst.path())); err != nil {
		return err
	}
	name := dst.target.Path.Base()
	if err := t.hang(e.Resource, dst.id, dst.parentID, name); err != nil {
		return err
	}
	// The entry goes with its folder (ON DELETE CASCADE).
	if _, err := t.exec(`DELETE FROM folders WHERE id = ?`, e.holder); err != nil {
		return err
	}
	if err := t.touchFolder(dst.space, dst.parentID); err != nil {
		return err
	}
	if err := t.changed(dst.space, dst.parentID, name, e.Resource.Kind == lockns.FolderRoot); err != nil {
		return err
	}
	if err := t.auditResource("resource.restored", dst.ws, e.Resource, dst.path().String(), fmt.Sprintf("trash %d", e.ID)); err != nil {
		return err
	}
	return t.at(Written)
}

// PurgeTrash ends an entry of a target's trash before its time, for ever. Purge
// does the work. Whoever may change the workspace may do that: ErrNotFound as in
// TrashEntry, and the claim's.
func (s *Store) PurgeTrash(ctx context.Context, target Target, id int64, c Claim) error {
	return s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, e, err := t.trashed(target, id)
		if err != nil {
			return err
		}
		if err := t.allow(c, sp); err != nil {
			return err
		}
		if err := t.purgeEntry(sp.ws, e); err != nil {
			return err
		}
		return t.at(Written)
	})
}

// EmptyTrash is PurgeTrash for all entries that came from a target's Base, up to
// 500 in a transaction, and says how many. What comes meanwhile stays. ErrNotFound
// as in Trash, and the claim's; what was purged before an error stays so.
func (s *Store) EmptyTrash(ctx context.Context, target Target, c Claim) (entries int, err error) {
	for before := int64(math.MaxInt64); before != 0; {
		var page []Trashed
		var next int64
		err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
			sp, err := t.trashOf(target)
			if err != nil {
				return err
			}
			if err := t.allow(c, sp); err != nil {
				return err
			}
			if page, next, err = t.trashBefore(sp, target.Base, before, chunkRows); err != nil {
				return err
			}
			for _, e := range page {
				if err := t.purgeEntry(sp.ws, e); err != nil {
					return err
				}
			}
			return t.at(Written)
		})
		if err != nil {
			return entries, err
		}
		entries, before = entries+len(page), next
	}
	return entries, nil
}

// purgeEntry hands an entry's tree to Purge.
func (t *tx) purgeEntry(ws lockns.Workspace, e Trashed) error {
	if _, err := t.exec(`UPDATE folders SET detached_at = ? WHERE id = ?`, micros(t.now), e.holder); err != nil {
		return err
	}
	t.after = append(t.after, t.s.signalPurge)
	return t.dropEntry(ws, e)
}

// dropEntry is the end of an entry that will not be restored.
func (t *tx) dropEntry(ws lockns.Workspace, e Trashed) error {
	if _, err := t.exec(`DELETE FROM trash WHERE id = ?`, e.ID); err != nil {
		return err
	}
	return t.auditResource("trash.purged", ws, e.Resource, e.path.String(), fmt.Sprintf("trash %d", e.ID))
}

// leaveTrash ends the entry, if there is one, of a detached folder whose time has
// come. It comes before the first row of the tree goes, so that whatever clocks say
// no part of a tree is restored.
func (t *tx) leaveTrash(holder int64) error {
	var e Trashed
	err := t.rows(selectTrash+`t.folder_id = ?`, []any{holder}, func(scan func(...any) error) (err error) {
		e, err = scanTrashed(scan)
		return err
	})
	if err != nil || e.ID == 0 {
		return err
	}
	ws, err := t.workspaceOf(e.namespace)
	if err != nil {
		return err
	}
	return t.dropEntry(ws, e)
}

// abandonTrash hands all trees in the trash of a workspace that ends to Purge. The
// entries go with the workspace (ON DELETE CASCADE).
func (t *tx) abandonTrash(sp *space) error {
	_, err := t.exec(`UPDATE folders SET detached_at = ? WHERE id IN (SELECT folder_id FROM trash WHERE namespace_id = ?)`, micros(t.now), sp.id)
	return err
}
