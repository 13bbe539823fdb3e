package store

import (
	"context"
	"errors"
	"time"

	"holdfast/blob"
)

const (
	// garbageAge is how long an object stays after its last reference went, for
	// readers that resolved a path just before.
	garbageAge = 15 * time.Minute
	// orphanAge is how old an object without any row must be before it is
	// taken for a leftover and not for an upload at work.
	orphanAge = 24 * time.Hour
)

// PurgeSignal is ready after a folder was detached, so that its purge need not
// wait for the next round.
func (s *Store) PurgeSignal() <-chan struct{} { return s.purge }

func (s *Store) signalPurge() {
	select {
	case s.purge <- struct{}{}:
	default:
	}
}

// Purge deletes up to 500 rows of detached trees, deepest first, and of uploads
// that ended, gives back what they take, and says how many rows went; 0 means nothing is left.
// Interrupted anywhere, the next call goes on.
func (s *Store) Purge(ctx context.Context) (rows int, err error) {
	err = s.update(ctx, nil, func(t *tx) error {
		rows = 0
		for rows < chunkRows {
			n, err := t.purgeSome(chunkRows - rows)
			if err == nil && n == 0 {
				n, err = t.purgeUploads(chunkRows - rows)
			}
			if err != nil {
				return err
			}
			if n == 0 {
				return nil
			}
			rows += n
		}
		return nil
	})
	return rows, err
}

// purgeSome deletes files of the deepest folder found below the oldest detached
// one, or that folder when it is empty.
func (t *tx) purgeSome(limit int) (int, error) {
	var folder int64
	ok, err := t.row(`SELECT id FROM folders WHERE detached_at <= ? ORDER BY detached_at LIMIT 1`, []any{micros(t.now)}, &folder)
	if err != nil || !ok {
		return 0, err
	}
	if err := t.leaveTrash(folder); err != nil {
		return 0, err
	}
	for {
		var child int64
		ok, err := t.row(`SELECT id FROM folders WHERE parent_id = ? LIMIT 1`, []any{folder}, &child)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		folder = child
	}
	n, err := t.purgeFiles(folder, limit)
	if err != nil || n > 0 {
		return n, err
	}
	var namespace, props int64
	_, err = t.row(`DELETE FROM folders WHERE id = ? RETURNING namespace_id, props_bytes`, []any{folder}, &namespace, &props)
	if err != nil {
		return 0, err
	}
	return 1, t.addUsage(namespace, -props)
}

// purgeFiles deletes files of a folder. Each of their versions is a row too.
func (t *tx) purgeFiles(folder int64, limit int) (rows int, err error) {
	var nodes []Node
	err = t.rows(`SELECT id, namespace_id, blob_id, size, props_bytes, versions_bytes FROM files WHERE folder_id = ? LIMIT ?`, []any{folder, limit},
		func(scan func(...any) error) error {
			var n Node
			err := scan(&n.Place.Root.ID, &n.namespace, &n.blob, &n.Size, &n.props, &n.versions)
			nodes = append(nodes, n)
			return err
		})
	if err != nil {
		return 0, err
	}
	for i := 0; i < len(nodes) && rows < limit; i++ {
		n, err := t.purgeFile(&nodes[i], limit-rows)
		if err != nil {
			return 0, err
		}
		rows += n
	}
	return rows, nil
}

// purgeFile deletes versions of a file, and then the file if there may be one row
// more.
func (t *tx) purgeFile(n *Node, limit int) (rows int, err error) {
	if n.versions > 0 {
		gone, bytes, err := t.dropVersions(`id IN (SELECT id FROM file_versions WHERE file_id = ? LIMIT ?)`, n.Place.Root.ID, limit)
		if err == nil {
			err = t.unbook(n.Place.Root.ID, bytes)
		}
		if rows = len(gone); err != nil || rows == limit {
			return rows, err
		}
		n.versions -= bytes
	}
	return rows + 1, t.removeNode(n)
}

// CollectGarbage removes up to 500 objects that lost their last reference at
// least 15 minutes ago and says how many; 0 means there are none.
func (s *Store) CollectGarbage(ctx context.Context) (objects int, err error) {
	type item struct {
		id  int64
		key string
	}
	var items []item
	err = s.snapshot(ctx, func(t *tx) error {
		return t.rows(`SELECT id, object_key FROM garbage WHERE dropped_at <= ? ORDER BY dropped_at LIMIT ?`,
			[]any{micros(t.now.Add(-garbageAge)), chunkRows}, func(scan func(...any) error) error {
				var i item
				err := scan(&i.id, &i.key)
				items = append(items, i)
				return err
			})
	})
	if err != nil || len(items) == 0 {
		return 0, err
	}
	// Objects first: a row without its object is tried again, an object
	// without its row would wait for the orphan sweep. One that cannot be
	// removed keeps its row and does not stop the others.
	var removed []int64
	var failed error
	for _, i := range items {
		if err := s.o.Blobs.Delete(ctx, i.key); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		removed = append(removed, i.id)
	}
	err = s.update(ctx, nil, func(t *tx) error {
		for _, id := range removed {
			if _, err := t.exec(`DELETE FROM garbage WHERE id = ?`, id); err != nil {
				return err
			}
		}
		return nil
	})
	return len(removed), errors.Join(err, failed)
}

// RemoveOrphans removes objects that no row refers to and that are at least a
// day old: what a crash or an unknown commit left behind. It decides by
// reference, never by path, and says how many went.
func (s *Store) RemoveOrphans(ctx context.Context) (objects int, err error) {
	var batch []string
	sweep := func() error {
		n, err := s.removeUnknown(ctx, batch)
		objects += n
		batch = batch[:0]
		return err
	}
	for info, err := range s.o.Blobs.List(ctx) {
		if err != nil {
			return objects, err
		}
		if info.Key == blob.EmptyKey || s.now().Sub(info.Modified) < orphanAge {
			continue
		}
		if batch = append(batch, info.Key); len(batch) == chunkRows {
			if err := sweep(); err != nil {
				return objects, err
			}
		}
	}
	return objects, sweep()
}

func (s *Store) removeUnknown(ctx context.Context, keys []string) (removed int, err error) {
	var orphans []string
	err = s.snapshot(ctx, func(t *tx) error {
		for _, key := range keys {
			var known bool
			_, err := t.row(`SELECT EXISTS (SELECT 1 FROM blobs WHERE object_key = ?) OR EXISTS (SELECT 1 FROM garbage WHERE object_key = ?)`,
				[]any{key, key}, &known)
			if err != nil {
				return err
			}
			if !known {
				orphans = append(orphans, key)
			}
		}
		return nil
	})
	for _, key := range orphans {
		if err := s.o.Blobs.Delete(ctx, key); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, err
}
