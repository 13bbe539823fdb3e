package store

import (
	"context"

	"github.com/google/uuid"
	"holdfast/lockns"
)

// Put creates a file or replaces its content, atomically: readers see the old
// content or the new one, and a Put that fails changes nothing. created tells
// which. The old content becomes a version where versions are kept.
//
// Everything that can refuse the request is asked on a snapshot before the
// first byte of the body is read, and decided again in the transaction.
//
// Errors: ErrBadName, ErrTooDeep, ErrNoParent, ErrIsFolder, ErrQuota,
// ErrNoSpace, ErrBodySize, ErrChecksum, ErrUnavailable, *lockns.LockedError, the claim's, and
// the body reader's, wrapped.
func (s *Store) Put(ctx context.Context, target Target, f File, c Claim) (n Node, created bool, err error) {
	if err := target.Path.check(); err != nil {
		return n, false, err
	}
	var room int64
	err = s.snapshot(ctx, func(t *tx) error {
		_, room, err = t.admitPut(target, f.Size, c)
		return err
	})
	if err != nil {
		return n, false, err
	}
	if err := s.at(ctx, Admitted); err != nil {
		return n, false, err
	}
	b, err := s.take(ctx, f, room)
	if err != nil {
		return n, false, err
	}
	if err = s.at(ctx, Staged); err == nil {
		err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
			sp, _, err := t.admitPut(target, b.object.Size, c)
			if err != nil {
				return err
			}
			created = sp.node == nil
			n, err = t.putFile(sp, b, f)
			return err
		})
	}
	s.settle(ctx, b, true, err)
	return n, created, err
}

// admitPut decides whether content of this size (-1 unknown) may be put, and
// how many bytes may come.
func (t *tx) admitPut(target Target, size int64, c Claim) (*spot, int64, error) {
	sp, err := t.findForFile(target)
	if err != nil {
		return nil, 0, err
	}
	room, err := t.admitContent(sp, size, c)
	return sp, room, err
}

// findForFile resolves a path that a file is to be put at.
func (t *tx) findForFile(target Target) (*spot, error) {
	sp, err := t.find(target)
	switch {
	case err != nil:
		return nil, err
	case sp.node != nil && sp.node.IsFolder():
		return nil, ErrIsFolder
	case sp.parentID == 0:
		return nil, ErrNoParent
	}
	return sp, nil
}

// admitContent decides whether a file may get content of this size, or be made
// with it, and how many bytes may come.
func (t *tx) admitContent(sp *spot, size int64, c Claim) (room int64, err error) {
	touched := sp.membership()
	var freed int64
	if sp.node != nil {
		touched = sp.touch()
		if freed, err = t.freed(sp.node); err != nil {
			return 0, err
		}
	}
	if room, err = t.room(sp.space, freed+sp.returns); err != nil {
		return 0, err
	}
	if _, err := t.permit(c, touched); err != nil {
		return 0, err
	}
	if room >= 0 && size > room {
		return 0, ErrQuota
	}
	return room, nil
}

// putFile writes the rows of a file's new content, which f says the rest of.
func (t *tx) putFile(sp *spot, b *body, f File) (Node, error) {
	n := Node{
		Name: sp.name(), Size: b.object.Size, ContentType: f.ContentType,
		ETag: etag(uuid.NewString()), Created: t.now, Modified: t.orNow(f.Modified), namespace: sp.id, parent: sp.parentID,
	}
	if sp.node != nil {
		return t.overwrite(sp, n, b)
	}
	var err error
	if n.blob, err = t.addBlob(b); err != nil {
		return n, err
	}
	id, err := t.insert(`INSERT INTO files (namespace_id, folder_id, name, name_key, blob_id, size, version, content_type, created_at, modified_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, sp.id, sp.parentID, n.Name, NameKey(n.Name), n.blob, n.Size, n.version(), null(n.ContentType), micros(n.Created), micros(n.Modified))
	if err != nil {
		return n, err
	}
	n.Place = sp.parent.File(id)
	if err := t.touchFolder(sp.space, sp.parentID); err != nil {
		return n, err
	}
	if err := t.changedNode(sp.space, &n); err != nil {
		return n, err
	}
	return n, t.written(sp.space, n.Size)
}

// overwrite gives an existing file the content of a body.
func (t *tx) overwrite(sp *spot, n Node, b *body) (Node, error) {
	old := sp.node
	var rewritten bool
	var err error
	if !t.keeps(old) {
		rewritten, err = t.rewriteBlob(old.blob, b)
	}
	if n.blob = old.blob; err == nil && !rewritten {
		n.blob, err = t.addBlob(b)
	}
	if err != nil {
		return n, err
	}
	return t.replaceContent(sp, n)
}

// replaceContent gives an existing file the content of n, whose blob has the
// reference already. Identity, name, time of creation and properties stay. The
// former content becomes a version, or goes unless its blob is the new one's.
func (t *tx) replaceContent(sp *spot, n Node) (Node, error) {
	old := sp.node
	grown, err := t.keep(old, old.Place.Root.ID)
	if err != nil {
		return n, err
	}
	n.Place, n.Name, n.Created = old.Place, old.Name, old.Created
	n.namespace, n.parent, n.props, n.versions = old.namespace, old.parent, old.props, old.versions+grown
	_, err = t.exec(`UPDATE files SET blob_id = ?, size = ?, version = ?, content_type = ?, modified_at = ?, versions_bytes = versions_bytes + ? WHERE id = ?`,
		n.blob, n.Size, n.version(), null(n.ContentType), micros(n.Modified), grown, n.Place.Root.ID)
	if err != nil {
		return n, err
	}
	if !t.keeps(old) && n.blob != old.blob {
		if err := t.dropBlob(old.blob); err != nil {
			return n, err
		}
	}
	if err := t.changedNode(sp.space, &n); err != nil {
		return n, err
	}
	return n, t.written(sp.space, n.Size-old.Size+grown)
}

// written books the bytes of a change and passes the point after its writes.
func (t *tx) written(sp *space, bytes int64) error {
	if err := t.addUsage(sp.id, bytes); err != nil {
		return err
	}
	return t.at(Written)
}
