package blobtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/blob"
)

func testRoundTrip(t *testing.T, s blob.Store) {
	sizes := []int64{0, 1, 16 * kib, 256 * kib, mib, 17*mib + 1, 40 * mib}
	for i, size := range sizes {
		for _, announced := range []int64{size, -1} {
			t.Run(fmt.Sprintf("%d bytes announced as %d", size, announced), func(t *testing.T) {
				if testing.Short() && size > 20*mib {
					t.Skip("large body")
				}
				roundTrip(t, s, uint64(i), size, announced)
			})
		}
	}
}

func roundTrip(t *testing.T, s blob.Store, seed uint64, size, announced int64) {
	sum := sha256.New()
	start := time.Now()
	o, err := blob.Write(t.Context(), s, io.TeeReader(content(seed, size), sum), announced)
	if err != nil {
		t.Fatalf("Write = %v", err)
	}
	if o.Size != size {
		t.Errorf("Write says %d bytes, want %d", o.Size, size)
	}
	if want := [sha256.Size]byte(sum.Sum(nil)); o.SHA256 != want {
		t.Errorf("Write says SHA-256 %x, want %x", o.SHA256, want)
	}
	checkContent(t, s, o.Key, size, o.SHA256)
	info, err := s.Stat(t.Context(), o.Key)
	if err != nil || info.Key != o.Key || info.Size != size {
		t.Errorf("Stat = %+v, %v; want size %d of %s", info, err, size, o.Key)
	}
	// Engines may keep whole seconds only.
	if early := start.Add(-2 * time.Second); info.Modified.Before(early) || info.Modified.After(time.Now().Add(2*time.Second)) {
		t.Errorf("Stat says modified at %v, put at %v", info.Modified, start)
	}
}

func testWrongSize(t *testing.T, s blob.Store) {
	tests := []struct {
		name            string
		size, announced int64
	}{
		{"empty for one", 0, 1},
		{"one for empty", 1, 0},
		{"one short", 999, 1000},
		{"one long", 1001, 1000},
		{"one short of a buffer", 256*kib - 1, 256 * kib},
		{"one over a buffer", 256*kib + 1, 256 * kib},
		{"large and short", 3 * mib, 3*mib + 1},
		{"large and long", 3*mib + 1, 3 * mib},
		{"half of large", 2 * mib, 4 * mib},
		{"twice as large", 4 * mib, 2 * mib},
		{"invalid size", 0, -2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key := blob.NewKey()
			err := s.Put(t.Context(), key, content(3, tt.size), tt.announced)
			if !errors.Is(err, blob.ErrSize) {
				t.Errorf("Put = %v, want ErrSize", err)
			}
			checkNothing(t, s, key)
		})
	}
}

func testFailedBody(t *testing.T, s blob.Store) {
	torn := errors.New("torn")
	for _, at := range []int64{0, 100, mib, 17 * mib} {
		for _, announced := range []int64{-1, at + 10} {
			// A connection that is cut ends an HTTP body with io.ErrUnexpectedEOF,
			// which must not pass for the end of a last, short part.
			for _, cause := range []error{torn, io.ErrUnexpectedEOF} {
				t.Run(fmt.Sprintf("%v at %d of %d", cause, at, announced), func(t *testing.T) {
					key := blob.NewKey()
					err := s.Put(t.Context(), key, failAfter(content(4, at), cause), announced)
					if !errors.Is(err, cause) {
						t.Errorf("Put = %v, want %v", err, cause)
					}
					checkNothing(t, s, key)
				})
			}
		}
	}
}

func testCanceled(t *testing.T, s blob.Store) {
	tests := []struct{ before, size, announced int64 }{
		{100, 1000, 1000},
		{100, 1000, -1},
		{mib, 3 * mib, 3 * mib},
		{17 * mib, 20 * mib, 20 * mib},
		{17 * mib, 20 * mib, -1},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("after %d of %d announced as %d", tt.before, tt.size, tt.announced), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			key := blob.NewKey()
			err := s.Put(ctx, key, cancelAfter(tt.before, tt.size, cancel), tt.announced)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Put = %v, want context.Canceled", err)
			}
			checkNothing(t, s, key)
		})
	}
	t.Run("before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		key := blob.NewKey()
		if err := s.Put(ctx, key, content(5, 10), 10); !errors.Is(err, context.Canceled) {
			t.Errorf("Put = %v, want context.Canceled", err)
		}
		checkNothing(t, s, key)
	})
}

// testBodyReleased checks that a body belongs to the caller again once Put has
// returned, whatever ended it.
func testBodyReleased(t *testing.T, s blob.Store) {
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		var returned atomic.Bool
		src := content(6, 30*mib)
		count := 0
		body := readerFunc(func(p []byte) (int, error) {
			if returned.Load() {
				t.Error("the body was read after Put had returned")
			}
			if count++; count == 20 {
				go cancel()
			}
			return src.Read(p[:min(len(p), 32*kib)])
		})
		err := s.Put(ctx, blob.NewKey(), body, 30*mib)
		returned.Store(true)
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Put = %v, want context.Canceled", err)
		}
	}
}

func testExist(t *testing.T, s blob.Store) {
	for _, size := range []int64{10, mib} {
		first := contentBytes(7, size)
		key := put(t, s, content(7, size), size)
		for _, announced := range []int64{size, -1} {
			err := s.Put(t.Context(), key, content(8, size), announced)
			if !errors.Is(err, blob.ErrExist) {
				t.Errorf("second Put = %v, want ErrExist", err)
			}
		}
		checkContent(t, s, key, size, sha256.Sum256(first))
	}
}

func testKeys(t *testing.T, s blob.Store) {
	invalid := []string{
		"", "/", "/a", "a/", "a//b", "..", "../a", "a/../b", ".", "a.b", "A", "ä", "a b", "a\x00b", `a\b`, "a%2fb",
		strings.Repeat("a", 129),
	}
	for _, key := range invalid {
		if err := s.Put(t.Context(), key, strings.NewReader("x"), 1); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Put(%q) = %v, want ErrKey", key, err)
		}
		if _, err := s.Open(t.Context(), key, 0, -1); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Open(%q) = %v, want ErrKey", key, err)
		}
		if _, err := s.Stat(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Stat(%q) = %v, want ErrKey", key, err)
		}
		if err := s.Delete(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Delete(%q) = %v, want ErrKey", key, err)
		}
	}
	for _, key := range []string{"a", "a-b/c/0", "x/" + strings.Repeat("9", 126)} {
		if err := s.Put(t.Context(), key, strings.NewReader("x"), 1); err != nil {
			t.Errorf("Put(%q) = %v", key, err)
		}
		checkContent(t, s, key, 1, sha256.Sum256([]byte("x")))
	}
}

func testEmpty(t *testing.T, s blob.Store) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			o, err := blob.EnsureEmpty(t.Context(), s)
			if err != nil || o.Key != blob.EmptyKey || o.Size != 0 || o.SHA256 != sha256.Sum256(nil) {
				t.Errorf("EnsureEmpty = %+v, %v", o, err)
			}
		})
	}
	wg.Wait()
	checkContent(t, s, blob.EmptyKey, 0, sha256.Sum256(nil))
	if keys := listed(t, s); len(keys) != 1 {
		t.Errorf("the store lists %q, want the empty object once", keys)
	}
}

func testParallel(t *testing.T, s blob.Store) {
	var wg sync.WaitGroup
	for writer := range uint64(12) {
		wg.Go(func() {
			for i, size := range []int64{0, 700, 70 * kib, 700 * kib} {
				announced := size
				if writer%2 == 0 {
					announced = -1
				}
				o, err := blob.Write(t.Context(), s, content(writer<<8+uint64(i), size), announced)
				if err != nil {
					t.Errorf("writer %d, %d bytes: %v", writer, size, err)
					continue
				}
				checkContent(t, s, o.Key, size, sha256.Sum256(contentBytes(writer<<8+uint64(i), size)))
			}
		})
	}
	wg.Wait()
	if keys := listed(t, s); len(keys) != 48 {
		t.Errorf("the store lists %d objects, want 48", len(keys))
	}
}
