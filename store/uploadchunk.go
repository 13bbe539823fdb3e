package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"holdfast/lockns"
)

// maxChunkEnd is beyond the last byte of every piece, so that sizes that names claim
// can be added up.
const maxChunkEnd = 1 << 62

// chunkName is what the name of a piece says.
type chunkName struct {
	position int64 // its first byte, or its number
	size     int64 // in bytes, -1 when the name is a number
}

func (n chunkName) numbered() bool { return n.size < 0 }

// parseChunkName reads "START-END", the first and the last byte of a piece, or
// its number, from 1 to MaxChunks. Both may have leading zeros. Others are an
// ErrBadName.
func parseChunkName(name string) (chunkName, error) {
	first, last, ranged := strings.Cut(name, "-")
	start, err := chunkNumber(first)
	if err == nil && !ranged && start >= 1 && start <= MaxChunks {
		return chunkName{start, -1}, nil
	}
	end, err2 := chunkNumber(last)
	if !ranged || err != nil || err2 != nil || start > end || end >= maxChunkEnd {
		return chunkName{}, fmt.Errorf("%w: a piece is called by its first and last byte or by a number from 1 to %d", ErrBadName, MaxChunks)
	}
	return chunkName{start, end - start + 1}, nil
}

func chunkNumber(digits string) (int64, error) {
	if len(digits) > 20 || strings.Trim(digits, "0123456789") != "" {
		return 0, ErrBadName
	}
	return strconv.ParseInt(digits, 10, 64)
}

// PutChunk stores a piece of an upload, atomically; one at the same place is
// replaced. created tells whether there was none. It lets the upload live on for
// Options.UploadLapse.
//
// As in Put, what can refuse the request is asked on a snapshot before the body
// is read, and decided again in the transaction.
//
// Errors: ErrNotFound (upload), ErrBadName, ErrBodySize, also for a body that is
// not as long as the piece's name says, ErrUploadLimit, ErrTooLarge, ErrQuota,
// ErrForbidden, those of storing a body, and the claim's.
func (s *Store) PutChunk(ctx context.Context, id UploadID, name string, f File, size UploadSize, c Claim) (created bool, err error) {
	said, err := parseChunkName(name)
	if err != nil {
		return false, err
	}
	if !said.numbered() {
		if f.Size >= 0 && f.Size != said.size {
			return false, ErrBodySize
		}
		f.Size = said.size
	}
	p := chunkPut{id: id, name: name, said: said, size: size, claim: c}
	var room int64
	err = s.snapshot(ctx, func(t *tx) (err error) {
		room, err = p.admit(t, f.Size)
		return err
	})
	if err != nil {
		return false, err
	}
	if err := s.at(ctx, Admitted); err != nil {
		return false, err
	}
	b, err := s.take(ctx, f, room)
	if err != nil {
		return false, err
	}
	if err = s.at(ctx, Staged); err == nil {
		err = s.update(ctx, []lockns.Workspace{id.workspace()}, func(t *tx) error {
			if _, err := p.admit(t, b.object.Size); err != nil {
				return err
			}
			return p.write(t, b)
		})
	}
	s.settle(ctx, b, true, err)
	return p.old.id == 0, err
}

// chunkPut is one PutChunk. admit finds out what is there, anew each time.
type chunkPut struct {
	id     UploadID
	name   string
	said   chunkName
	size   UploadSize
	claim  Claim
	sp     *space
	upload uploadRow
	old    piece // what is replaced
}

// admit decides whether a piece of this size (-1 unknown) may come, and how many
// bytes it may have.
func (p *chunkPut) admit(t *tx, size int64) (room int64, err error) {
	if p.sp, err = t.space(p.id.workspace()); err != nil {
		return 0, err
	}
	if p.upload, err = t.upload(p.id); err != nil {
		return 0, err
	}
	if p.old, err = t.piece(p.upload, p.said.position); err != nil {
		return 0, err
	}
	if room, err = t.room(p.sp, p.old.Size); err != nil {
		return 0, err
	}
	if err := t.permitUpload(p.sp, p.id, p.claim); err != nil {
		return 0, err
	}
	others := p.upload.Bytes - p.old.Size
	switch {
	case p.old.id == 0 && p.upload.chunks >= MaxChunks:
		return 0, ErrUploadLimit
	case p.size.check(others+max(size, 0)) != nil:
		return 0, ErrTooLarge
	case room >= 0 && max(size, p.size.Total-others) > room:
		return 0, ErrQuota
	}
	return room, nil
}

// write writes the rows of the piece.
func (p *chunkPut) write(t *tx, b *body) error {
	blob, err := t.addBlob(b)
	if err != nil {
		return err
	}
	if p.old.id != 0 {
		if err := t.dropPiece(p.old); err != nil {
			return err
		}
	}
	_, err = t.exec(`INSERT INTO upload_chunks (upload_id, position, name, blob_id, size, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		p.upload.id, p.said.position, p.name, blob, b.object.Size, micros(t.now))
	if err != nil {
		return err
	}
	if err := t.touchUpload(p.upload, b.object.Size-p.old.Size, 1-btoi(p.old.id != 0)); err != nil {
		return err
	}
	return t.written(p.sp, b.object.Size-p.old.Size)
}

// touchUpload notes what pieces came or went.
func (t *tx) touchUpload(u uploadRow, bytes, chunks int64) error {
	_, err := t.exec(`UPDATE uploads SET bytes = bytes + ?, chunks = chunks + ?, revision = revision + 1, expires_at = ? WHERE id = ?`,
		bytes, chunks, micros(t.uploadEnd()), u.id)
	return err
}

// dropPiece deletes the row of a piece and its reference to the content.
func (t *tx) dropPiece(p piece) error {
	if _, err := t.exec(`DELETE FROM upload_chunks WHERE id = ?`, p.id); err != nil {
		return err
	}
	return t.dropBlob(p.blob)
}

// RemoveChunk removes a piece of an upload.
//
// Errors: ErrNotFound (upload or piece), ErrForbidden, and the claim's.
func (s *Store) RemoveChunk(ctx context.Context, id UploadID, name string, c Claim) error {
	return s.changeUpload(ctx, id, c, func(t *tx, sp *space, u uploadRow) error {
		p, err := t.named(u, name)
		if err != nil {
			return err
		}
		if err := t.dropPiece(p); err != nil {
			return err
		}
		if err := t.touchUpload(u, -p.Size, -1); err != nil {
			return err
		}
		return t.addUsage(sp.id, -p.Size)
	})
}

// piece is a Chunk inside a transaction; one without an id is none.
type piece struct {
	Chunk
	said     chunkName
	id, blob int64
}

const selectPieces = `SELECT id, name, size, blob_id, created_at FROM upload_chunks WHERE upload_id = ?`

// pieces reads those of an upload, in the order of their positions.
func (t *tx) pieces(u uploadRow) (all []piece, err error) {
	err = t.rows(selectPieces+` ORDER BY position`, []any{u.id}, func(scan func(...any) error) error {
		p, err := scanPiece(scan)
		all = append(all, p)
		return err
	})
	return all, err
}

// piece reads the one at a position.
func (t *tx) piece(u uploadRow, position int64) (p piece, err error) {
	err = t.rows(selectPieces+` AND position = ?`, []any{u.id, position}, func(scan func(...any) error) (err error) {
		p, err = scanPiece(scan)
		return err
	})
	return p, err
}

// named reads the one with a name: ErrNotFound.
func (t *tx) named(u uploadRow, name string) (p piece, err error) {
	said, err := parseChunkName(name)
	if err != nil {
		return p, ErrNotFound
	}
	if p, err = t.piece(u, said.position); err == nil && (p.id == 0 || p.said != said) {
		err = ErrNotFound
	}
	return p, err
}

func scanPiece(scan func(...any) error) (p piece, err error) {
	var created int64
	if err := scan(&p.id, &p.Name, &p.Size, &p.blob, &created); err != nil {
		return p, err
	}
	p.Modified = fromMicros(created)
	p.said, err = parseChunkName(p.Name)
	return p, err
}
