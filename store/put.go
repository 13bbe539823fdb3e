package store

import (
	"context"

	"github.com/google/uuid"
	"holdfast/lockns"
)

// Put creates a file or replaces its content, atomically: readers see the old
// content or the new one, and a Put that fails changes nothing. created tells
// which.
//
// Everything that can refuse the request is asked on a snapshot before the
// first byte of the body is read, and decided again in the transaction.
//
// Errors: ErrBadName, ErrTooDeep, ErrNoParent, ErrIsFolder, ErrQuota,
// ErrNoSpace, ErrBodySize, ErrUnavailable, *lockns.LockedError, the claim's, and
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
			n, err = t.putFile(sp, b, f.ContentType)
			return err
		})
	}
	s.settle(ctx, b, true, err)
	return n, created, err
}

// admitPut decides whether content of this size (-1 unknown) may be put, and
// how many bytes may come.
func (t *tx) admitPut(target Target, size int64, c Claim) (*spot, int64, error) {
	sp, err := t.find(target)
	if err != nil {
		return nil, 0, err
	}
	if sp.node != nil && sp.node.IsFolder() {
		return nil, 0, ErrIsFolder
	}
	if sp.parentID == 0 {
		return nil, 0, ErrNoParent
	}
	touched := sp.membership()
	var freed int64
	if sp.node != nil {
		touched, freed = sp.touch(), sp.node.Size
	}
	room, err := t.room(sp.space, freed)
	if err != nil {
		return nil, 0, err
	}
	if _, err := t.permit(c, touched); err != nil {
		return nil, 0, err
	}
	if room >= 0 && size > room {
		return nil, 0, ErrQuota
	}
	return sp, room, nil
}

// putFile writes the rows of a file's new content.
func (t *tx) putFile(sp *spot, b *body, contentType string) (Node, error) {
	n := Node{
		Name: sp.target.Path.Base(), Size: b.object.Size, ContentType: contentType,
		Created: t.now, Modified: t.now, namespace: sp.id, parent: sp.parentID,
	}
	version := uuid.NewString()
	n.ETag = etag(version)
	if sp.node != nil {
		return t.overwrite(sp, n, b, version)
	}
	var err error
	if n.blob, err = t.addBlob(b); err != nil {
		return n, err
	}
	id, err := t.insert(`INSERT INTO files (namespace_id, folder_id, name, name_key, blob_id, size, version, content_type, created_at, modified_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, sp.id, sp.parentID, n.Name, NameKey(n.Name), n.blob, n.Size, version, null(contentType), micros(t.now), micros(t.now))
	if err != nil {
		return n, err
	}
	n.Place = sp.parent.File(id)
	if err := t.touchFolder(sp.space, sp.parentID); err != nil {
		return n, err
	}
	return n, t.written(sp.space, n.Size)
}

// overwrite gives an existing file the content of n. Identity, name, time of
// creation and properties stay.
func (t *tx) overwrite(sp *spot, n Node, b *body, version string) (Node, error) {
	old := sp.node
	n.Place, n.Name, n.Created, n.props = old.Place, old.Name, old.Created, old.props
	rewritten, err := t.rewriteBlob(old.blob, b)
	if n.blob = old.blob; err == nil && !rewritten {
		n.blob, err = t.addBlob(b)
	}
	if err != nil {
		return n, err
	}
	_, err = t.exec(`UPDATE files SET blob_id = ?, size = ?, version = ?, content_type = ?, modified_at = ? WHERE id = ?`,
		n.blob, n.Size, version, null(n.ContentType), micros(t.now), n.Place.Root.ID)
	if err != nil {
		return n, err
	}
	if !rewritten {
		if err := t.dropBlob(old.blob); err != nil {
			return n, err
		}
	}
	sp.regrows = true
	return n, t.written(sp.space, n.Size-old.Size)
}

// written books the bytes of a change and passes the point after its writes.
func (t *tx) written(sp *space, bytes int64) error {
	if err := t.addUsage(sp.id, bytes); err != nil {
		return err
	}
	return t.at(Written)
}
