package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// errClosed is what a Reader answers after Close.
var errClosed = errors.New("blob: reader is closed")

// NewReader reads one object of known size, seeking freely, as
// http.ServeContent wants it. ctx bounds all of its reading.
//
// Nothing is opened before the first Read, and a Seek opens nothing either; so
// asking for the size by seeking to the end is free. From a [Windowed] store the
// object is asked for in windows that double while the reading stays sequential:
// a hundred bytes of a large object do not make the store send the rest of it,
// and a whole download still needs few requests.
//
// An object that ends before size is io.ErrUnexpectedEOF. The reader is not safe
// for concurrent use.
func NewReader(ctx context.Context, s Store, key string, size int64) io.ReadSeekCloser {
	r := &reader{ctx: ctx, store: s, key: key, size: size}
	if w, ok := s.(Windowed); ok {
		r.first, r.most = w.Window()
	}
	return r
}

type reader struct {
	ctx   context.Context
	store Store
	key   string
	size  int64

	first, most int64 // window bounds; zero: no windows

	pos    int64         // where the next Read begins
	stream io.ReadCloser // nil when nothing is open
	at     int64         // position of stream, or where the last window ended
	left   int64         // bytes of the window not read yet
	window int64         // length of the last window
	closed bool
}

func (r *reader) Read(p []byte) (int, error) {
	if r.closed {
		return 0, errClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	if r.pos >= r.size {
		return 0, io.EOF
	}
	if err := r.position(); err != nil {
		return 0, err
	}
	if int64(len(p)) > r.left {
		p = p[:r.left]
	}
	n, err := r.stream.Read(p)
	r.pos += int64(n)
	r.at += int64(n)
	r.left -= int64(n)
	if err == io.EOF && r.left > 0 {
		err = fmt.Errorf("object ends at %d of %d bytes: %w", r.pos, r.size, io.ErrUnexpectedEOF)
	}
	if err == io.EOF {
		err = nil // the window's end, not the object's
	}
	return n, err
}

// position makes stream deliver the byte at pos.
func (r *reader) position() error {
	if r.stream != nil && r.at == r.pos && r.left > 0 {
		return nil
	}
	sequential := r.window > 0 && r.at == r.pos
	r.release()
	length := r.nextWindow(sequential)
	stream, err := r.store.Open(r.ctx, r.key, r.pos, length)
	if err != nil {
		return err
	}
	r.stream, r.at, r.left, r.window = stream, r.pos, length, length
	return nil
}

func (r *reader) nextWindow(sequential bool) int64 {
	rest := r.size - r.pos
	if r.first <= 0 {
		return rest
	}
	if !sequential {
		return min(r.first, rest)
	}
	return min(max(2*r.window, r.first), r.most, rest)
}

// Seek sets where the next Read begins.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	if r.closed {
		return 0, errClosed
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		offset += r.size
	default:
		return 0, fmt.Errorf("%w: whence %d", ErrRange, whence)
	}
	if offset < 0 {
		return 0, fmt.Errorf("%w: seek to %d", ErrRange, offset)
	}
	r.pos = offset
	return offset, nil
}

// Close ends the reading. Closing twice is no error.
func (r *reader) Close() error {
	r.closed = true
	return r.release()
}

func (r *reader) release() error {
	if r.stream == nil {
		return nil
	}
	err := r.stream.Close()
	r.stream = nil
	return err
}
