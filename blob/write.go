package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// Object is what a caller keeps of an object it wrote.
type Object struct {
	Key    string
	Size   int64 // bytes
	SHA256 [sha256.Size]byte
}

// Write puts all of r under a new key, hashing and counting the bytes as they
// pass. size is the exact length of r, or -1 when it is unknown. Errors and
// durability are those of [Store].Put: after an error nothing stays behind.
func Write(ctx context.Context, s Store, r io.Reader, size int64) (Object, error) {
	key := NewKey()
	in := &hashingReader{src: r, hash: sha256.New()}
	if err := s.Put(ctx, key, in, size); err != nil {
		return Object{}, err
	}
	o := Object{Key: key, Size: in.size}
	in.hash.Sum(o.SHA256[:0])
	return o, nil
}

// EnsureEmpty makes sure that the shared empty object exists and describes it. It
// may run in several processes at once: whoever finds the object there takes it,
// since its key says all of its content. It is meant to run once per start, which
// also restores the object after a crash that lost its folder entry.
//
// Once it writes, ctx no longer stops it: undoing the write of one caller would
// take the object from another that has found it meanwhile.
func EnsureEmpty(ctx context.Context, s Store) (Object, error) {
	empty := Object{Key: EmptyKey, SHA256: sha256.Sum256(nil)}
	info, err := s.Stat(ctx, EmptyKey)
	if err == nil && info.Size != 0 {
		return Object{}, fmt.Errorf("%w: the shared empty object holds %d bytes", ErrSize, info.Size)
	}
	if err == nil {
		return empty, nil
	}
	if !errors.Is(err, ErrNotExist) {
		return Object{}, fmt.Errorf("look for the shared empty object: %w", err)
	}
	err = s.Put(context.WithoutCancel(ctx), EmptyKey, strings.NewReader(""), 0)
	if err != nil && !errors.Is(err, ErrExist) {
		return Object{}, fmt.Errorf("make the shared empty object: %w", err)
	}
	return empty, nil
}

type hashingReader struct {
	src  io.Reader
	hash hash.Hash
	size int64
}

func (h *hashingReader) Read(p []byte) (int, error) {
	n, err := h.src.Read(p)
	h.hash.Write(p[:n])
	h.size += int64(n)
	return n, err
}
