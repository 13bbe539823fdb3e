package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// bufferSize is what one copy step moves. 256 KiB costs a quarter less time for a
// large body than io.Copy's 32 KiB, and hashing runs in step with it.
const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

var (
	errBodyClosed = errors.New("body read after its Put returned")
	errBodyUnread = errors.New("upload ended before its body did")
)

// body is the reader a Store uploads from. It holds the source to the announced
// size, ends it when ctx is done, and remembers the first failure, since a client
// library between the source and the store may swallow it or take an unexpected
// EOF for a proper one.
//
// Its mutex serves the end of a Put: an HTTP transport may still be reading the
// request body when the answer is there, and the source belongs to the caller
// again once Put has returned.
type body struct {
	mu   sync.Mutex
	ctx  context.Context
	src  io.Reader
	want int64 // announced size, -1 when unknown
	read int64 // bytes handed on
	done bool  // the source ended properly, at want if that is known
	err  error // what every further Read answers
}

func newBody(ctx context.Context, src io.Reader, size int64) (*body, error) {
	if size < -1 {
		return nil, fmt.Errorf("%w: announced %d bytes", ErrSize, size)
	}
	return &body{ctx: ctx, src: src, want: size}, nil
}

// Read hands on what the source gives. The bytes that complete the announced size
// are held until the source has proved that it ends there: a body that is too long
// therefore fails before a store could take it for complete.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := b.step(p)
	b.read += int64(n)
	if err == nil {
		return n, nil
	}
	b.done = err == io.EOF
	b.err = err
	if n > 0 && b.done {
		return n, nil
	}
	return n, err
}

func (b *body) step(p []byte) (int, error) {
	if err := b.canceled(); err != nil {
		return 0, err
	}
	if b.want >= 0 && int64(len(p)) > b.want-b.read {
		p = p[:b.want-b.read]
	}
	n, err := 0, error(nil)
	if len(p) > 0 {
		n, err = b.src.Read(p)
	}
	if err == nil && b.read+int64(n) == b.want {
		err = b.probe()
	}
	return b.judge(n, err)
}

// probe asks the source for the end it owes.
func (b *body) probe() error {
	var one [1]byte
	n, err := io.ReadFull(b.src, one[:])
	if n > 0 {
		return fmt.Errorf("%w: more than %d bytes", ErrSize, b.want)
	}
	return err
}

// judge turns the end of the source into io.EOF or into the error of the Put.
// Errors are wrapped so that no layer above mistakes an io.ErrUnexpectedEOF of the
// source, a connection cut, for the end of a last, short part.
func (b *body) judge(n int, err error) (int, error) {
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, ErrSize):
		return 0, err
	case err != io.EOF:
		return 0, fmt.Errorf("read body: %w", err)
	case b.want >= 0 && b.read+int64(n) < b.want:
		return 0, fmt.Errorf("%w: %d bytes of %d", ErrSize, b.read+int64(n), b.want)
	}
	if err := b.canceled(); err != nil {
		return 0, err // the last read may have taken long
	}
	return n, io.EOF
}

func (b *body) canceled() error {
	if err := b.ctx.Err(); err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	return nil
}

// fill reads into p until p is full or the body ends; b.done tells which.
func (b *body) fill(p []byte) (int, error) {
	n := 0
	for n < len(p) && !b.done {
		m, err := b.Read(p[n:])
		n += m
		if err != nil && err != io.EOF {
			return n, err
		}
	}
	return n, nil
}

// finish takes the source back when an upload ended with err, and returns what is
// to be said of the upload as a whole. The body's own failure goes first: it says
// more than what a client library made of it, if that noticed it at all. finish
// waits for a Read that is under way.
func (b *body) finish(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	failed := b.err
	b.err, b.src = errBodyClosed, nil
	switch {
	case b.done:
		return err
	case failed != nil:
		return failed
	case err == nil:
		return errBodyUnread
	}
	return err
}

// copyTo writes the whole body to w.
func (b *body) copyTo(w io.Writer) error {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	for {
		n, err := b.Read(buffer[:])
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return fmt.Errorf("write body: %w", err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
