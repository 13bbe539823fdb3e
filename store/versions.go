package store

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/google/uuid"
	"holdfast/lockns"
)

// Version is a former content of a file.
type Version struct {
	// ID names the version. Ids are never reused, and the newest version of a
	// file has the highest.
	ID int64
	// Size in bytes, never 0: empty content is not kept.
	Size int64
	// ETag and ContentType are those that the file had with this content.
	ETag, ContentType string
	// Modified is when the content was written, Replaced when the next came.
	Modified, Replaced time.Time

	blob int64 // id of the blobs row
}

// Versions lists the former contents of the file at a path, newest first; a
// folder has none. Those that Options.VersionsAge ended are not among them, also
// while PruneVersions has not come by. before is the id of the last version
// already seen, 0 for none; limit is how many are wanted at most, 0 for all there
// are. ErrNotFound when nothing is there.
func (s *Store) Versions(ctx context.Context, target Target, before int64, limit int) (all []Version, err error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	if limit <= 0 {
		limit = math.MaxInt
	}
	err = s.snapshot(ctx, func(t *tx) error {
		sp, err := t.mapped(target)
		if err == nil {
			all, err = t.versions(sp.node, before, limit)
		}
		return err
	})
	return all, err
}

// ReadVersion finds a version of the file at a path and its content, as Read does
// for the content of the day: it stays readable for 15 minutes after the version
// went. ErrNotFound when the path maps to nothing, or to something that has no
// such version.
func (s *Store) ReadVersion(ctx context.Context, target Target, id int64) (v Version, content io.ReadSeekCloser, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		sp, err := t.mapped(target)
		if err != nil {
			return err
		}
		if v, err = t.version(sp.node, id); err != nil {
			return err
		}
		content, err = t.content(ctx, Node{blob: v.blob, Size: v.Size})
		return err
	})
	return v, content, err
}

// RestoreVersion gives the file at a path the content of one of its versions. It
// is a content change like a Put: the same locks refuse it, the entity tag is a
// new one, and what the file held becomes a version. Identity, name, properties
// and locks stay. So does the restored version, unless it is the oldest and one
// too many now: its content is the file's.
//
// Errors: ErrNotFound as in ReadVersion, ErrQuota, *lockns.LockedError, and the
// claim's.
func (s *Store) RestoreVersion(ctx context.Context, target Target, id int64, c Claim) (n Node, err error) {
	err = s.update(ctx, []lockns.Workspace{target.Workspace}, func(t *tx) error {
		sp, err := t.mapped(target)
		if err != nil {
			return err
		}
		v, err := t.version(sp.node, id)
		if err != nil {
			return err
		}
		if _, err := t.admitContent(sp, v.Size, c); err != nil {
			return err
		}
		n, err = t.restore(sp, v)
		return err
	})
	return n, err
}

// restore refers to the content of a version once more.
func (t *tx) restore(sp *spot, v Version) (Node, error) {
	n := Node{Size: v.Size, ETag: etag(uuid.NewString()), ContentType: v.ContentType, Modified: t.now, blob: v.blob}
	if t.keeps(sp.node) || v.blob != sp.node.blob {
		if err := t.shareBlob(v.blob); err != nil {
			return n, err
		}
	}
	return t.replaceContent(sp, n)
}

// PruneVersions removes up to 500 versions that were replaced longer than
// Options.VersionsAge ago and says how many; 0 means there are none, or that
// versions have no age.
func (s *Store) PruneVersions(ctx context.Context) (rows int, err error) {
	if s.o.VersionsAge <= 0 {
		return 0, nil
	}
	// As in Purge, no namespace row: nothing that a lock guards is changed, and
	// numbers are only added to.
	err = s.update(ctx, nil, func(t *tx) error {
		gone, _, err := t.dropVersions(`id IN (SELECT id FROM file_versions WHERE replaced_at < ? ORDER BY replaced_at LIMIT ?)`,
			t.oldest(), chunkRows)
		if err != nil {
			return err
		}
		for _, v := range gone {
			if err := t.unbook(v.file, v.size); err != nil {
				return err
			}
		}
		rows = len(gone)
		return nil
	})
	return rows, err
}

// unbook takes the bytes of dropped versions off their file and its workspace.
func (t *tx) unbook(file, bytes int64) error {
	var namespace int64
	_, err := t.row(`UPDATE files SET versions_bytes = versions_bytes - ? WHERE id = ? RETURNING namespace_id`,
		[]any{bytes, file}, &namespace)
	if err != nil {
		return err
	}
	return t.addUsage(namespace, -bytes)
}

// oldest is when a version must have been replaced at the earliest to be
// offered, as stored.
func (t *tx) oldest() int64 {
	if t.s.o.VersionsAge <= 0 {
		return math.MinInt64
	}
	return micros(t.now.Add(-t.s.o.VersionsAge))
}

// stored is what a node alone takes in its workspace.
func (n *Node) stored() int64 { return n.Size + n.props + n.versions }

const selectVersions = `SELECT id, size, version, coalesce(content_type, ''), modified_at, replaced_at, blob_id
FROM file_versions WHERE file_id = ? AND replaced_at >= ?`

// versions reads those of a node that are offered before one, newest first, up to
// a limit.
func (t *tx) versions(n *Node, before int64, limit int) (all []Version, err error) {
	if n.versions == 0 {
		return nil, nil
	}
	err = t.rows(selectVersions+` AND id < ? ORDER BY id DESC LIMIT ?`, []any{n.Place.Root.ID, t.oldest(), before, limit}, func(scan func(...any) error) error {
		v, err := scanVersion(scan)
		all = append(all, v)
		return err
	})
	return all, err
}

// version reads one of them: ErrNotFound.
func (t *tx) version(n *Node, id int64) (v Version, err error) {
	if n.versions > 0 {
		err = t.rows(selectVersions+` AND id = ?`, []any{n.Place.Root.ID, t.oldest(), id}, func(scan func(...any) error) (err error) {
			v, err = scanVersion(scan)
			return err
		})
	}
	if err == nil && v.ID == 0 {
		err = ErrNotFound
	}
	return v, err
}

func scanVersion(scan func(...any) error) (v Version, err error) {
	var version string
	var modified, replaced int64
	err = scan(&v.ID, &v.Size, &version, &v.ContentType, &modified, &replaced, &v.blob)
	v.ETag, v.Modified, v.Replaced = etag(version), fromMicros(modified), fromMicros(replaced)
	return v, err
}

// keeps reports whether the content of a file becomes a version when another
// takes its place.
func (t *tx) keeps(n *Node) bool { return t.s.o.Versions > 0 && n.Size > 0 }

// surplus selects the versions of a file, the first parameter, beyond as many of
// the newest as the second says. Rows keep their ids when they change files, and
// ids grow with time, so that they tell the age.
const surplus = `file_id = ?1 AND id <= (SELECT id FROM file_versions WHERE file_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`

// freed is how many bytes a change of a file's content gives back: the content's,
// or those of the versions that it pushes out once it is one. A quota refuses what
// would be too much after the change, never for what goes with it.
func (t *tx) freed(n *Node) (bytes int64, err error) {
	room := t.s.o.Versions
	if t.keeps(n) {
		room--
	} else {
		bytes = n.Size
	}
	if t.s.o.Versions == 0 || n.versions == 0 {
		return bytes, nil
	}
	var pruned int64
	_, err = t.row(`SELECT coalesce(sum(size), 0) FROM file_versions WHERE `+surplus, []any{n.Place.Root.ID, room}, &pruned)
	return bytes + pruned, err
}

// keep makes the content of old a version of a file, old itself or the one that
// replaces it, and hands its reference to the content over. The oldest versions
// go when there are too many now. It returns by how many bytes the versions grew.
func (t *tx) keep(old *Node, file int64) (grown int64, err error) {
	if t.keeps(old) {
		grown = old.Size
		_, err = t.exec(`INSERT INTO file_versions (file_id, blob_id, size, version, content_type, modified_at, replaced_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			file, old.blob, old.Size, old.version(), null(old.ContentType), micros(old.Modified), micros(t.now))
	}
	if err != nil || t.s.o.Versions == 0 {
		return grown, err
	}
	_, pruned, err := t.dropVersions(surplus, file, t.s.o.Versions)
	return grown - pruned, err
}

// succeeds reports whether n takes over something of old when it replaces it:
// versions, also where no new ones are kept, or the content. A folder takes over
// nothing, and has nothing to leave.
func (t *tx) succeeds(n, old *Node) bool {
	return old != nil && !n.IsFolder() && (old.versions > 0 || t.keeps(old))
}

// setAside frees the name of a file that will be succeeded in this transaction:
// no name has a slash.
func (t *tx) setAside(n *Node) error {
	_, err := t.exec(`UPDATE files SET name_key = ? WHERE id = ?`, "/"+itoa(n.Place.Root.ID), n.Place.Root.ID)
	return err
}

// succeed makes the versions and the content of a file that was set aside
// versions of its heir, the file that has its name now, and removes it.
func (t *tx) succeed(old *Node, heir int64) error {
	if old.versions > 0 {
		if _, err := t.exec(`UPDATE file_versions SET file_id = ? WHERE file_id = ?`, heir, old.Place.Root.ID); err != nil {
			return err
		}
	}
	grown, err := t.keep(old, heir)
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE files SET versions_bytes = versions_bytes + ? WHERE id = ?`, old.versions+grown, heir)
	if err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM files WHERE id = ?`, old.Place.Root.ID); err != nil {
		return err
	}
	if !t.keeps(old) {
		if err := t.dropBlob(old.blob); err != nil {
			return err
		}
	}
	return t.addUsage(old.namespace, old.versions+grown-old.stored())
}

// droppedVersion is a version whose row went and whose bytes are to be booked.
type droppedVersion struct{ file, size int64 }

// dropVersions deletes the versions that a condition selects, with their
// references to content, and adds up their bytes. Booking those is the caller's.
func (t *tx) dropVersions(condition string, args ...any) (gone []droppedVersion, bytes int64, err error) {
	var blobs []int64
	err = t.rows(`DELETE FROM file_versions WHERE `+condition+` RETURNING file_id, size, blob_id`, args, func(scan func(...any) error) error {
		var v droppedVersion
		var blob int64
		err := scan(&v.file, &v.size, &blob)
		gone, blobs, bytes = append(gone, v), append(blobs, blob), bytes+v.size
		return err
	})
	for _, blob := range blobs {
		if err == nil {
			err = t.dropBlob(blob)
		}
	}
	return gone, bytes, err
}
