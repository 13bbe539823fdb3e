package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"syscall"

	"holdfast/blob"
)

// body is content that was taken in and is not yet referred to by any row.
type body struct {
	inline bool
	data   []byte // when inline
	object blob.Object
	sums   string // verified checksums as kept, beside SHA-256
	// owned: the object was made for this request alone and is removed when
	// the request surely failed. The shared empty object never is.
	owned bool
}

// take reads a body into the database's hands (small ones) or the body store,
// outside any transaction, and verifies its checksums: after ErrChecksum, as after
// any error, nothing of it is left. room is how many bytes may come, or -1.
func (s *Store) take(ctx context.Context, f File, room int64) (*body, error) {
	var sums *verifier
	f.Body, sums = verifying(f.Body, f.Checksums)
	b, err := s.takeAny(ctx, f, room)
	if err != nil {
		return nil, err
	}
	if b.sums, err = sums.verify(b); err != nil {
		s.settle(ctx, b, false, err)
		return nil, err
	}
	return b, nil
}

// takeAny is take without checksums.
func (s *Store) takeAny(ctx context.Context, f File, room int64) (*body, error) {
	r := f.Body
	if room >= 0 {
		r = &roomReader{r, room}
	}
	if f.Size > s.o.InlineMax {
		return s.takeObject(ctx, r, f.Size)
	}
	// One byte more than fits inline tells whether the rest is long.
	head, err := io.ReadAll(io.LimitReader(r, s.o.InlineMax+1))
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if f.Size >= 0 && int64(len(head)) != f.Size {
		return nil, ErrBodySize
	}
	if int64(len(head)) > s.o.InlineMax {
		return s.takeObject(ctx, io.MultiReader(bytes.NewReader(head), r), f.Size)
	}
	return &body{inline: true, data: head, object: blob.Object{Size: int64(len(head)), SHA256: sha256.Sum256(head)}}, nil
}

func (s *Store) takeObject(ctx context.Context, r io.Reader, size int64) (*body, error) {
	o, err := blob.Write(ctx, s.o.Blobs, r, size)
	switch {
	case errors.Is(err, blob.ErrSize):
		return nil, fmt.Errorf("%w: %w", ErrBodySize, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return nil, fmt.Errorf("%w: %w", ErrNoSpace, err)
	case err != nil:
		return nil, unreachable(fmt.Errorf("store body: %w", err))
	}
	return &body{object: o, owned: true}, nil
}

// unreachable names a failure of the body store that may pass. What the body's
// own reader or the request's context did is not one.
func unreachable(err error) error {
	for _, own := range []error{ErrQuota, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, own) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// objectReader gives the failures of reading an object their name.
type objectReader struct{ io.ReadSeekCloser }

// Read implements io.Reader.
func (r objectReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeekCloser.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, blob.ErrNotExist) {
		err = unreachable(err)
	}
	return n, err
}

// emptySum is the SHA-256 of nothing.
var emptySum = sha256.Sum256(nil)

// takeEmpty stages the empty object of a lock-null resource.
func (s *Store) takeEmpty(ctx context.Context) (*body, error) {
	if s.o.OwnedEmpties {
		return s.takeObject(ctx, bytes.NewReader(nil), 0)
	}
	return &body{object: blob.Object{Key: blob.EmptyKey, SHA256: emptySum}}, nil
}

// settle ends a staging: an object of this request's own is removed unless rows
// refer to it or may refer to it. After an unknown commit it stays, and the
// orphan sweep decides.
func (s *Store) settle(ctx context.Context, b *body, used bool, err error) {
	if b == nil || !b.owned || used && err == nil || errors.Is(err, ErrCommitUnknown) {
		return
	}
	if err := s.o.Blobs.Delete(context.WithoutCancel(ctx), b.object.Key); err != nil {
		s.log.Warn("staged object left to the orphan sweep", "key", b.object.Key, "error", err)
	}
}

// roomReader fails with ErrQuota when more than left bytes come.
type roomReader struct {
	r    io.Reader
	left int64
}

func (r *roomReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, ErrQuota
	}
	return n, err
}

// addBlob inserts the row of a body and refers to it once.
func (t *tx) addBlob(b *body) (int64, error) {
	if b.object.Key == blob.EmptyKey {
		return t.insert(`INSERT INTO blobs (object_key, size, sha256, refs, created_at) VALUES (?, 0, ?, 1, ?)
ON CONFLICT (object_key) WHERE object_key IS NOT NULL DO UPDATE SET refs = refs + 1`, blob.EmptyKey, emptySum[:], micros(t.now))
	}
	id, err := t.insert(`INSERT INTO blobs (object_key, size, sha256, checksums, refs, created_at) VALUES (?, ?, ?, ?, 1, ?)`,
		null(b.object.Key), b.object.Size, b.object.SHA256[:], b.checksums(), micros(t.now))
	if err != nil || !b.inline {
		return id, err
	}
	_, err = t.exec(`INSERT INTO blob_data (blob_id, data) VALUES (?, ?)`, id, b.bytes())
	return id, err
}

// rewriteBlob writes over inline content that has one reference alone, and
// reports whether it could. Whoever reads has taken the old content out of the
// database whole.
func (t *tx) rewriteBlob(id int64, b *body) (bool, error) {
	if !b.inline {
		return false, nil
	}
	n, err := t.exec(`UPDATE blobs SET size = ?, sha256 = ?, checksums = ?, created_at = ? WHERE id = ? AND refs = 1 AND object_key IS NULL`,
		b.object.Size, b.object.SHA256[:], b.checksums(), micros(t.now), id)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = t.exec(`UPDATE blob_data SET data = ? WHERE blob_id = ?`, b.bytes(), id)
	return true, err
}

// checksums are the verified ones as the database takes them, NULL for none. Those
// of nothing are known anyway.
func (b *body) checksums() any {
	if b.object.Size == 0 {
		return nil
	}
	return null(b.sums)
}

// bytes is inline content as the database takes it: nil would be NULL.
func (b *body) bytes() []byte {
	if b.data == nil {
		return []byte{}
	}
	return b.data
}

// shareBlob adds a reference.
func (t *tx) shareBlob(id int64) error {
	_, err := t.exec(`UPDATE blobs SET refs = refs + 1 WHERE id = ?`, id)
	return err
}

// dropBlob takes a reference away. With the last one the row goes, and its
// object becomes garbage in the same transaction.
func (t *tx) dropBlob(id int64) error {
	var refs int64
	var key *string
	ok, err := t.row(`UPDATE blobs SET refs = refs - 1 WHERE id = ? RETURNING refs, object_key`, []any{id}, &refs, &key)
	if err != nil || !ok || refs > 0 {
		return err
	}
	if _, err := t.exec(`DELETE FROM blobs WHERE id = ?`, id); err != nil {
		return err
	}
	if key == nil || *key == blob.EmptyKey {
		return nil
	}
	_, err = t.exec(`INSERT INTO garbage (object_key, dropped_at) VALUES (?, ?)`, *key, micros(t.now))
	return err
}

// usage reads a workspace's storage row.
func (t *tx) usage(sp *space) (Usage, error) {
	var u Usage
	var quota *int64
	_, err := t.row(`SELECT bytes, quota FROM storage_usage WHERE namespace_id = ?`, []any{sp.id}, &u.Used, &quota)
	u.Quota = t.s.o.Quota
	if quota != nil {
		u.Quota = *quota
	}
	return u, err
}

// room is how many bytes the workspace can still take after giving back some;
// -1 without a quota.
func (t *tx) room(sp *space, freed int64) (int64, error) {
	u, err := t.usage(sp)
	if err != nil || u.Quota == 0 {
		return -1, err
	}
	return max(0, u.Quota-u.Used+freed), nil
}

// addUsage changes what the workspace stores.
func (t *tx) addUsage(namespace, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	_, err := t.exec(`UPDATE storage_usage SET bytes = bytes + ? WHERE namespace_id = ?`, bytes, namespace)
	return err
}
