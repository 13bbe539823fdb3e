package store

import (
	"context"
	"fmt"
	"time"

	"holdfast/lockns"
)

const (
	// MaxUploads is how many uploads a login may have under way: what one of a
	// user's programs left lying about must not be in the way of the others.
	MaxUploads = 100
	// MaxChunks is how many pieces an upload may have, and their highest number.
	MaxChunks = 10000
	// uploadLapse is the default of Options.UploadLapse.
	uploadLapse = 24 * time.Hour
)

// UploadID names an upload. Each login has its own: what one limited to a folder
// finishes cannot have come from another.
type UploadID struct {
	User    int64
	Account int64 // the app password, 0 for the user's own
	Name    string
}

func (id UploadID) workspace() lockns.Workspace {
	return lockns.Workspace{Kind: lockns.Personal, ID: id.User}
}

// UploadSize is what limits the file that an upload becomes.
type UploadSize struct {
	Total int64 // bytes that the client announced, -1 for none
	Most  int64 // bytes that the file may have; 0 is no limit
}

// check refuses a file that is to have at least so many bytes: ErrTooLarge.
func (s UploadSize) check(bytes int64) error {
	if s.Most > 0 && max(bytes, s.Total) > s.Most {
		return ErrTooLarge
	}
	return nil
}

// Upload is a file that comes in pieces.
type Upload struct {
	Name    string
	Bytes   int64 // of all its pieces
	Created time.Time
	Expires time.Time
}

// Chunk is a piece of an upload.
type Chunk struct {
	Name     string
	Size     int64 // bytes
	Modified time.Time
}

// uploadRow is an upload inside a transaction.
type uploadRow struct {
	Upload
	id, user, chunks, revision int64
}

const selectUpload = `SELECT id, user_id, name, bytes, chunks, revision, created_at, expires_at FROM uploads WHERE user_id = ? AND account_id = ?`

func scanUpload(scan func(...any) error) (u uploadRow, err error) {
	var created, expires int64
	err = scan(&u.id, &u.user, &u.Name, &u.Bytes, &u.chunks, &u.revision, &created, &expires)
	u.Created, u.Expires = fromMicros(created), fromMicros(expires)
	return u, err
}

// upload finds an upload: ErrNotFound.
func (t *tx) upload(id UploadID) (u uploadRow, err error) {
	err = t.rows(selectUpload+` AND name = ?`, []any{id.User, id.Account, id.Name}, func(scan func(...any) error) (err error) {
		u, err = scanUpload(scan)
		return err
	})
	if err == nil && u.id == 0 {
		err = fmt.Errorf("upload: %w", ErrNotFound)
	}
	return u, err
}

// Uploads lists the uploads of a login by name. id's own name is ignored.
func (s *Store) Uploads(ctx context.Context, id UploadID) (all []Upload, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		return t.rows(selectUpload+` ORDER BY name`, []any{id.User, id.Account}, func(scan func(...any) error) error {
			u, err := scanUpload(scan)
			all = append(all, u.Upload)
			return err
		})
	})
	return all, err
}

// Upload finds an upload and its pieces in the order in which they make the file:
// ErrNotFound. There are at most MaxChunks.
func (s *Store) Upload(ctx context.Context, id UploadID) (u Upload, chunks []Chunk, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		row, err := t.upload(id)
		if err != nil {
			return err
		}
		u = row.Upload
		pieces, err := t.pieces(row)
		for _, p := range pieces {
			chunks = append(chunks, p.Chunk)
		}
		return err
	})
	return u, chunks, err
}

// Chunk finds a piece of an upload by its name, with any number of zeros before it:
// ErrNotFound (upload or piece).
func (s *Store) Chunk(ctx context.Context, id UploadID, name string) (c Chunk, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		u, err := t.upload(id)
		if err != nil {
			return err
		}
		p, err := t.named(u, name)
		c = p.Chunk
		return err
	})
	return c, err
}

// AddUpload begins an upload. Its pieces count as content of the user's own
// workspace, wherever the file will go.
//
// Errors: ErrBadName, ErrExists, ErrUploadLimit, ErrTooLarge and ErrQuota by what
// is announced, ErrForbidden, and the claim's.
func (s *Store) AddUpload(ctx context.Context, id UploadID, size UploadSize, c Claim) error {
	if err := CheckName(id.Name); err != nil {
		return err
	}
	return s.update(ctx, []lockns.Workspace{id.workspace()}, func(t *tx) error {
		sp, err := t.space(id.workspace())
		if err != nil {
			return err
		}
		if err := t.permitUpload(sp, id, c); err != nil {
			return err
		}
		if err := t.roomForUpload(sp, id, size); err != nil {
			return err
		}
		_, err = t.insert(`INSERT INTO uploads (user_id, account_id, name, expires_at, created_at) VALUES (?, ?, ?, ?, ?)`,
			id.User, id.Account, id.Name, micros(t.uploadEnd()), micros(t.now))
		return err
	})
}

// roomForUpload refuses one upload too many, and one that is too large.
func (t *tx) roomForUpload(sp *space, id UploadID, size UploadSize) error {
	var taken bool
	var count int
	_, err := t.row(`SELECT EXISTS (SELECT 1 FROM uploads WHERE user_id = ?1 AND account_id = ?2 AND name = ?3), (SELECT count(*) FROM uploads WHERE user_id = ?1 AND account_id = ?2)`,
		[]any{id.User, id.Account, id.Name}, &taken, &count)
	switch {
	case err != nil:
		return err
	case taken:
		return ErrExists
	case count >= MaxUploads:
		return ErrUploadLimit
	}
	if err := size.check(0); err != nil {
		return err
	}
	room, err := t.room(sp, 0)
	if err == nil && room >= 0 && size.Total > room {
		err = ErrQuota
	}
	return err
}

// permitUpload asks the claim and whether its user may still write. Uploads have
// no locks, and nobody else sees them.
func (t *tx) permitUpload(sp *space, id UploadID, c Claim) error {
	cred, err := c.Prove(t)
	if err != nil {
		return err
	}
	if t.err != nil {
		return t.err
	}
	if cred.User != id.User || cred.Account != id.Account {
		return ErrForbidden
	}
	if err := t.mayWrite(sp, cred); err != nil {
		return err
	}
	if err := t.precondition(c); err != nil {
		return err
	}
	return t.at(Authorized)
}

// uploadEnd is when an upload that is touched now lapses.
func (t *tx) uploadEnd() time.Time {
	if lapse := t.s.o.UploadLapse; lapse > 0 {
		return t.now.Add(lapse)
	}
	return t.now.Add(uploadLapse)
}

// RemoveUpload gives up an upload with all its pieces, whose rows Purge deletes.
//
// Errors: ErrNotFound, ErrForbidden, and the claim's.
func (s *Store) RemoveUpload(ctx context.Context, id UploadID, c Claim) error {
	return s.changeUpload(ctx, id, c, func(t *tx, sp *space, u uploadRow) error {
		return t.endUpload(sp, u)
	})
}

// changeUpload runs a change of an upload that the claim allows.
func (s *Store) changeUpload(ctx context.Context, id UploadID, c Claim, fn func(*tx, *space, uploadRow) error) error {
	return s.update(ctx, []lockns.Workspace{id.workspace()}, func(t *tx) error {
		sp, err := t.space(id.workspace())
		if err != nil {
			return err
		}
		u, err := t.upload(id)
		if err != nil {
			return err
		}
		if err := t.permitUpload(sp, id, c); err != nil {
			return err
		}
		if err := fn(t, sp, u); err != nil {
			return err
		}
		return t.at(Written)
	})
}

// endUpload takes an upload out of sight and gives its bytes back. Its rows are
// left to Purge: there may be thousands.
func (t *tx) endUpload(sp *space, u uploadRow) error {
	if _, err := t.exec(`UPDATE uploads SET user_id = NULL WHERE id = ?`, u.id); err != nil {
		return err
	}
	t.after = append(t.after, t.s.signalPurge)
	return t.addUsage(sp.id, -u.Bytes)
}

// endUploadsOf ends all uploads of a user who is being removed. The workspace
// that they count in goes too.
func (t *tx) endUploadsOf(user int64) error {
	n, err := t.exec(`UPDATE uploads SET user_id = NULL WHERE user_id = ?`, user)
	if n > 0 {
		t.after = append(t.after, t.s.signalPurge)
	}
	return err
}

// endUploadsBy ends all uploads by an account that is being removed: nobody can
// finish or remove them any more, and what they take is given back at once.
func (t *tx) endUploadsBy(a Account) error {
	sp, err := t.space(UploadID{User: a.UserID}.workspace())
	if err != nil {
		return err
	}
	var bytes int64
	var ended bool
	err = t.rows(`UPDATE uploads SET user_id = NULL WHERE user_id = ? AND account_id = ? RETURNING bytes`, []any{a.UserID, a.ID},
		func(scan func(...any) error) error {
			var of int64
			err := scan(&of)
			bytes, ended = bytes+of, true
			return err
		})
	if err != nil || !ended {
		return err
	}
	t.after = append(t.after, t.s.signalPurge)
	return t.addUsage(sp.id, -bytes)
}

// PruneUploads ends up to 500 uploads that got no piece for Options.UploadLapse
// and says how many; 0 means there are none.
func (s *Store) PruneUploads(ctx context.Context) (uploads int, err error) {
	err = s.update(ctx, nil, func(t *tx) error {
		var lapsed []uploadRow
		err := t.rows(`SELECT id, user_id, bytes FROM uploads WHERE expires_at < ? AND user_id IS NOT NULL LIMIT ?`,
			[]any{micros(t.now), chunkRows}, func(scan func(...any) error) error {
				var u uploadRow
				err := scan(&u.id, &u.user, &u.Bytes)
				lapsed = append(lapsed, u)
				return err
			})
		for _, u := range lapsed {
			if err == nil {
				err = t.lapse(u)
			}
		}
		uploads = len(lapsed)
		return err
	})
	return uploads, err
}

func (t *tx) lapse(u uploadRow) error {
	sp, err := t.space(UploadID{User: u.user}.workspace())
	if err != nil {
		return err
	}
	return t.endUpload(sp, u)
}

// purgeUploads deletes pieces of an upload that ended, and it when it has none.
func (t *tx) purgeUploads(limit int) (rows int, err error) {
	var id int64
	ok, err := t.row(`SELECT id FROM uploads WHERE user_id IS NULL LIMIT 1`, nil, &id)
	if err != nil || !ok {
		return 0, err
	}
	var blobs []int64
	err = t.rows(`DELETE FROM upload_chunks WHERE id IN (SELECT id FROM upload_chunks WHERE upload_id = ? LIMIT ?) RETURNING blob_id`,
		[]any{id, limit}, func(scan func(...any) error) error {
			var blob int64
			err := scan(&blob)
			blobs = append(blobs, blob)
			return err
		})
	for _, blob := range blobs {
		if err == nil {
			err = t.dropBlob(blob)
		}
	}
	if err != nil || len(blobs) > 0 {
		return len(blobs), err
	}
	_, err = t.exec(`DELETE FROM uploads WHERE id = ?`, id)
	return 1, err
}
