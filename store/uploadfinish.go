package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"holdfast/blob"
	"holdfast/lockns"
)

// ChunksError says why the pieces of an upload make no file yet.
type ChunksError struct {
	// Reason is a sentence for people.
	Reason string
}

func (e *ChunksError) Error() string { return "store: " + e.Reason }

// FinishOptions refine FinishUpload.
type FinishOptions struct {
	UploadSize
	NoOverwrite bool // ErrExists when the target exists
}

// FinishUpload makes a file of an upload, or gives the file at the target its
// content: a Put whose body is the pieces. What f says of Body and Size is
// ignored. The pieces must be whole: those called by their bytes begin with byte
// 0, without a gap and without an overlap, those called by numbers are 1, 2, 3, …;
// and they have as many bytes as announced. Otherwise nothing changes and the
// upload stays, for the client to send what is missing.
//
// The upload ends in the transaction that writes the file: it is never lost, and
// there is never one file too many. One upload is put together once at a time.
// That goes on when ctx ends, since clients and proxies give up waiting for it, ask
// again, and would never see the end.
//
// Errors: ErrNotFound (upload), *ChunksError, ErrUploadBusy, ErrUploadChanged,
// ErrTooLarge, ErrExists, and those of Put.
func (s *Store) FinishUpload(ctx context.Context, id UploadID, target Target, f File, o FinishOptions, c Claim) (n Node, created bool, err error) {
	if err := target.Path.check(); err != nil {
		return n, false, err
	}
	if _, busy := s.assembling.LoadOrStore(id, true); busy {
		return n, false, ErrUploadBusy
	}
	defer s.assembling.Delete(id)
	a := assembly{id: id, target: target, o: o, claim: c}
	var room int64
	err = s.snapshot(ctx, func(t *tx) (err error) {
		room, err = a.plan(t)
		return err
	})
	if err != nil {
		return n, false, err
	}
	if err := s.at(ctx, Admitted); err != nil {
		return n, false, err
	}
	if err := s.holdUpload(ctx, a.upload); err != nil {
		return n, false, err
	}
	ctx = context.WithoutCancel(ctx)
	pieces := &piecesReader{ctx: ctx, s: s, left: a.pieces}
	defer pieces.Close()
	f.Body, f.Size = pieces, a.size
	b, err := s.take(ctx, f, room)
	if err != nil {
		return n, false, s.explainPiece(ctx, &a, err)
	}
	if err = s.at(ctx, Staged); err == nil {
		err = s.update(ctx, []lockns.Workspace{target.Workspace, id.workspace()}, func(t *tx) error {
			n, created, err = a.finish(t, b, f)
			return err
		})
	}
	s.settle(ctx, b, true, err)
	return n, created, err
}

// explainPiece says why a piece was not there to be read: the upload ended or got
// others meanwhile. Else its row is lost, or its object, which may come back.
func (s *Store) explainPiece(ctx context.Context, a *assembly, err error) error {
	if !errors.Is(err, ErrNotFound) && !errors.Is(err, blob.ErrNotExist) {
		return err
	}
	now := s.snapshot(ctx, func(t *tx) error {
		_, err := a.again(t)
		return err
	})
	switch {
	case now != nil:
		return now
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("content of a piece is lost: %v", err)
	}
	return err
}

// assembleGrace is how long putting an upload together may take before it could
// lapse meanwhile.
const assembleGrace = time.Hour

// holdUpload keeps an upload that is being put together from lapsing.
func (s *Store) holdUpload(ctx context.Context, u uploadRow) error {
	if u.Expires.Sub(s.now()) >= assembleGrace {
		return nil
	}
	return s.update(ctx, nil, func(t *tx) error {
		_, err := t.exec(`UPDATE uploads SET expires_at = ? WHERE id = ?`, micros(t.uploadEnd()), u.id)
		return err
	})
}

// assembly is one FinishUpload.
type assembly struct {
	id     UploadID
	target Target
	o      FinishOptions
	claim  Claim
	upload uploadRow // as planned
	pieces []piece
	size   int64
}

// plan decides on a snapshot whether there is a file to be made of the upload and
// whether it may be put where it is to go, and how many bytes may come.
func (a *assembly) plan(t *tx) (room int64, err error) {
	if a.upload, err = t.upload(a.id); err != nil {
		return 0, err
	}
	if a.pieces, err = t.pieces(a.upload); err != nil {
		return 0, err
	}
	if a.size, err = whole(a.pieces, a.o.Total); err != nil {
		return 0, err
	}
	if err := a.o.check(a.size); err != nil {
		return 0, err
	}
	_, room, err = a.admit(t, a.upload)
	return room, err
}

// admit decides whether the file may be put where it is to go. What the pieces
// take is given back with it, if it is the same workspace's.
func (a *assembly) admit(t *tx, u uploadRow) (sp *spot, room int64, err error) {
	if sp, err = t.findForFile(a.target); err != nil {
		return nil, 0, err
	}
	if a.target.Workspace == a.id.workspace() {
		sp.returns = u.Bytes
	}
	if room, err = t.admitContent(sp, a.size, a.claim); err != nil {
		return nil, 0, err
	}
	return sp, room, sp.refuseExisting(a.o.NoOverwrite)
}

// again finds the upload, which must be as it was planned: ErrNotFound,
// ErrUploadChanged.
func (a *assembly) again(t *tx) (uploadRow, error) {
	u, err := t.upload(a.id)
	if err == nil && (u.id != a.upload.id || u.revision != a.upload.revision) {
		err = ErrUploadChanged
	}
	return u, err
}

// finish writes the file and ends the upload, which must be as it was planned.
func (a *assembly) finish(t *tx, b *body, f File) (n Node, created bool, err error) {
	u, err := a.again(t)
	if err != nil {
		return n, false, err
	}
	own, err := t.space(a.id.workspace())
	if err != nil {
		return n, false, err
	}
	sp, _, err := a.admit(t, u)
	if err != nil {
		return n, false, err
	}
	if err := t.endUpload(own, u); err != nil {
		return n, false, err
	}
	n, err = t.putFile(sp, b, f)
	return n, sp.node == nil, err
}

// whole adds up pieces that make a file, of as many bytes as announced unless that
// is -1: *ChunksError when they make none.
func whole(pieces []piece, announced int64) (size int64, err error) {
	if len(pieces) == 0 && announced != 0 {
		return 0, &ChunksError{"no piece has come; byte 0 is missing"}
	}
	for i, p := range pieces {
		want := size
		if p.said.numbered() {
			want = int64(i + 1)
		}
		switch {
		case p.said.numbered() != pieces[0].said.numbered():
			return 0, &ChunksError{"some pieces are called by their bytes and some by numbers"}
		case p.said.position > want && p.said.numbered():
			return 0, &ChunksError{fmt.Sprintf("piece %d is missing", want)}
		case p.said.position > want:
			return 0, &ChunksError{fmt.Sprintf("byte %d is missing", want)}
		case p.said.position < want:
			return 0, &ChunksError{fmt.Sprintf("byte %d has come twice, in %s and in the piece before", p.said.position, p.Name)}
		}
		size += p.Size
	}
	switch {
	case announced > size:
		return 0, &ChunksError{fmt.Sprintf("byte %d is missing: %d were announced", size, announced)}
	case announced >= 0 && announced < size:
		return 0, &ChunksError{fmt.Sprintf("%d bytes have come, more than the %d announced", size, announced)}
	}
	return size, nil
}

// piecesReader reads pieces one after another; one is open at a time.
type piecesReader struct {
	ctx  context.Context
	s    *Store
	left []piece
	open io.ReadCloser
}

// Read implements io.Reader.
func (r *piecesReader) Read(p []byte) (n int, err error) {
	for {
		if r.open == nil {
			if err := r.next(); err != nil {
				return 0, err
			}
		}
		if n, err = r.open.Read(p); err != io.EOF {
			return n, err
		}
		if err := r.Close(); err != nil || n > 0 {
			return n, err
		}
	}
}

// next opens the next piece, io.EOF when there is none.
func (r *piecesReader) next() error {
	if len(r.left) == 0 {
		return io.EOF
	}
	p := r.left[0]
	err := r.s.snapshot(r.ctx, func(t *tx) (err error) {
		r.open, err = t.content(r.ctx, Node{blob: p.blob, Size: p.Size})
		return err
	})
	if err == nil {
		r.left = r.left[1:]
	}
	return err
}

// Close closes the piece that is open.
func (r *piecesReader) Close() error {
	if r.open == nil {
		return nil
	}
	err := r.open.Close()
	r.open = nil
	return err
}
