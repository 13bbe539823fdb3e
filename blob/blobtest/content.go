package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"holdfast/blob"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// content is size bytes that are the same for the same seed and compress badly.
// It is a plain reader: no Seek, ReadAt or WriteTo a store could lean on.
func content(seed uint64, size int64) io.Reader {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return io.LimitReader(rand.NewChaCha8(key), size)
}

func contentBytes(seed uint64, size int64) []byte {
	b, err := io.ReadAll(content(seed, size))
	if err != nil {
		panic(err) // the generator has no errors
	}
	return b
}

// put stores what r holds under a new key.
func put(t *testing.T, s blob.Store, r io.Reader, size int64) string {
	t.Helper()
	key := blob.NewKey()
	if err := s.Put(t.Context(), key, r, size); err != nil {
		t.Fatalf("Put(size %d) = %v", size, err)
	}
	return key
}

// checkContent reads the object from its beginning and compares size and SHA-256.
func checkContent(t *testing.T, s blob.Store, key string, size int64, sum [sha256.Size]byte) {
	t.Helper()
	stream, err := s.Open(t.Context(), key, 0, -1)
	if err != nil {
		t.Errorf("Open(%s) = %v", key, err)
		return
	}
	hash := sha256.New()
	n, err := io.Copy(hash, stream)
	if err := errors.Join(err, stream.Close()); err != nil {
		t.Errorf("reading %s: %v after %d bytes", key, err, n)
		return
	}
	if n != size {
		t.Errorf("read %d bytes of %s, want %d", n, key, size)
	}
	if !bytes.Equal(hash.Sum(nil), sum[:]) {
		t.Errorf("the %d bytes of %s are not those that were put", size, key)
	}
}

// listed returns the keys the store lists, sorted.
func listed(t *testing.T, s blob.Store) []string {
	t.Helper()
	var keys []string
	for info, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		keys = append(keys, info.Key)
	}
	slices.Sort(keys)
	return keys
}

// checkNothing fails if the store holds anything, key in particular.
func checkNothing(t *testing.T, s blob.Store, key string) {
	t.Helper()
	if info, err := s.Stat(t.Context(), key); !errors.Is(err, blob.ErrNotExist) {
		t.Errorf("after the failure Stat(%s) = %+v, %v; want ErrNotExist", key, info, err)
	}
	if keys := listed(t, s); len(keys) > 0 {
		t.Errorf("after the failure the store lists %q", keys)
	}
}

// failAfter is a body that ends with err once r is drained.
func failAfter(r io.Reader, err error) io.Reader {
	return io.MultiReader(r, readerFunc(func([]byte) (int, error) { return 0, err }))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// cancelAfter is a body of size bytes in the middle of which cancel is called.
func cancelAfter(before, size int64, cancel context.CancelFunc) io.Reader {
	stop := readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, io.EOF
	})
	return io.MultiReader(content(1, before), stop, content(2, size-before))
}
