package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/blob"
)

func testRanges(t *testing.T, s blob.Store) {
	const size = 300 * kib
	all := contentBytes(9, size)
	key := put(t, s, bytes.NewReader(all), size)
	empty := put(t, s, strings.NewReader(""), 0)
	tests := []struct {
		name           string
		key            string
		offset, length int64
		want           []byte
	}{
		{"whole", key, 0, -1, all},
		{"whole by length", key, 0, size, all},
		{"first byte", key, 0, 1, all[:1]},
		{"last byte", key, size - 1, 1, all[size-1:]},
		{"inner", key, 1000, 5000, all[1000:6000]},
		{"suffix", key, size - 100, -1, all[size-100:]},
		{"beyond the end", key, size - 100, 1000, all[size-100:]},
		{"enormous", key, 5, 1<<63 - 1, all[5:]},
		{"nothing", key, 10, 0, nil},
		{"at the end", key, size, -1, nil},
		{"past the end", key, size + 10, 10, nil},
		{"empty object", empty, 0, -1, nil},
		{"range of empty object", empty, 0, 10, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stream, err := s.Open(t.Context(), tt.key, tt.offset, tt.length)
			if err != nil {
				t.Fatalf("Open = %v", err)
			}
			got, err := io.ReadAll(stream)
			if err := errors.Join(err, stream.Close()); err != nil {
				t.Fatalf("reading: %v", err)
			}
			if !bytes.Equal(got, tt.want) {
				t.Errorf("got %d bytes, want %d, or other ones", len(got), len(tt.want))
			}
		})
	}
	for _, r := range [][2]int64{{-1, 1}, {0, -2}} {
		if _, err := s.Open(t.Context(), key, r[0], r[1]); !errors.Is(err, blob.ErrRange) {
			t.Errorf("Open(offset %d, length %d) = %v, want ErrRange", r[0], r[1], err)
		}
	}
}

func testReader(t *testing.T, s blob.Store) {
	const size = 3*mib + 3
	all := contentBytes(10, size)
	key := put(t, s, bytes.NewReader(all), size)

	t.Run("any walk reads what a file would", func(t *testing.T) {
		got, want := blob.NewReader(t.Context(), s, key, size), bytes.NewReader(all)
		defer got.Close()
		random := rand.New(rand.NewPCG(1, 2))
		for step := range 30 {
			if step%2 == 0 {
				walkSeek(t, random, got, want)
			}
			length := random.Int64N(mib)
			a, errA := io.ReadAll(io.LimitReader(got, length))
			b, _ := io.ReadAll(io.LimitReader(want, length))
			if errA != nil || !bytes.Equal(a, b) {
				t.Fatalf("step %d: read %d bytes, %v; want %d, or other ones", step, len(a), errA, len(b))
			}
		}
	})
	t.Run("ServeContent answers ranges from it", func(t *testing.T) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Range", "bytes=-100")
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/octet-stream")
		content := blob.NewReader(t.Context(), s, key, size)
		defer content.Close()
		http.ServeContent(w, r, "", time.Time{}, content)
		if w.Code != http.StatusPartialContent || !bytes.Equal(w.Body.Bytes(), all[size-100:]) {
			t.Errorf("status %d with %d bytes, want 206 with the last 100", w.Code, w.Body.Len())
		}
	})
	t.Run("a missing object is reported by the first Read", func(t *testing.T) {
		r := blob.NewReader(t.Context(), s, blob.NewKey(), 10)
		defer r.Close()
		if _, err := r.Read(make([]byte, 1)); !errors.Is(err, blob.ErrNotExist) {
			t.Errorf("Read = %v, want ErrNotExist", err)
		}
	})
	t.Run("an object shorter than its size is torn", func(t *testing.T) {
		r := blob.NewReader(t.Context(), s, key, size+1)
		defer r.Close()
		if n, err := io.Copy(io.Discard, r); n != size || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("read %d bytes, %v; want %d and io.ErrUnexpectedEOF", n, err, size)
		}
	})
}

func walkSeek(t *testing.T, random *rand.Rand, got, want io.Seeker) {
	t.Helper()
	whence := random.IntN(3)
	offset := random.Int64N(4 * mib)
	if whence != io.SeekStart {
		offset -= 2 * mib
	}
	a, errA := got.Seek(offset, whence)
	b, errB := want.Seek(offset, whence)
	if (errA == nil) != (errB == nil) || errA == nil && a != b {
		t.Fatalf("Seek(%d, %d) = %d, %v; want %d, %v", offset, whence, a, errA, b, errB)
	}
}

func testNotExist(t *testing.T, s blob.Store) {
	there := put(t, s, strings.NewReader("x"), 1)
	shard, _, _ := strings.Cut(there, "/")
	for _, key := range []string{blob.NewKey(), shard, there + "/below"} {
		for _, length := range []int64{-1, 0, 10} {
			if _, err := s.Open(t.Context(), key, 0, length); !errors.Is(err, blob.ErrNotExist) {
				t.Errorf("Open(%s, length %d) = %v, want ErrNotExist", key, length, err)
			}
		}
		if _, err := s.Stat(t.Context(), key); !errors.Is(err, blob.ErrNotExist) {
			t.Errorf("Stat(%s) = %v, want ErrNotExist", key, err)
		}
	}
}

func testDelete(t *testing.T, s blob.Store) {
	kept := put(t, s, strings.NewReader("kept"), 4)
	key := put(t, s, strings.NewReader("gone"), 4)
	for range 2 {
		if err := s.Delete(t.Context(), key); err != nil {
			t.Errorf("Delete = %v", err)
		}
	}
	shard, _, _ := strings.Cut(key, "/")
	if err := s.Delete(t.Context(), shard); err != nil {
		t.Errorf("Delete of a shard = %v", err)
	}
	if keys := listed(t, s); !slices.Equal(keys, []string{kept}) {
		t.Errorf("the store lists %q, want only %s", keys, kept)
	}
	if err := s.Put(t.Context(), key, strings.NewReader("again"), 5); err != nil {
		t.Errorf("Put after Delete = %v", err)
	}
}

func testList(t *testing.T, s blob.Store) {
	many := 1008 // more than one page of an S3 listing
	if testing.Short() {
		many = 80
	}
	keys := make([]string, many)
	for i := range keys {
		keys[i] = blob.NewKey()
	}
	var wg sync.WaitGroup
	for part := range slices.Chunk(keys, many/8) {
		wg.Go(func() {
			for _, key := range part {
				if err := s.Put(t.Context(), key, strings.NewReader(key[:2]), 2); err != nil {
					t.Errorf("Put = %v", err)
				}
			}
		})
	}
	wg.Wait()
	slices.Sort(keys)
	if got := listed(t, s); !slices.Equal(got, keys) {
		t.Errorf("List gave %d keys, want the %d that were put", len(got), many)
	}
	for info := range s.List(t.Context()) {
		if info.Size != 2 || info.Modified.IsZero() {
			t.Errorf("List says %+v, want size 2 and a time", info)
		}
		break // an iteration may end early
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	for _, err := range s.List(ctx) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("a canceled List ended with %v, want context.Canceled", last)
	}
}

// testMemory watches the live heap while a body passes. One part of an S3 upload
// may be in memory, a body never.
func testMemory(t *testing.T, s blob.Store) {
	const size, bound = 64 * mib, 24 * mib
	for _, announced := range []int64{size, -1} {
		t.Run(fmt.Sprintf("announced as %d", announced), func(t *testing.T) {
			before := liveHeap()
			var peak, next uint64
			src, passed := content(11, size), uint64(0)
			body := readerFunc(func(p []byte) (int, error) {
				n, err := src.Read(p)
				if passed += uint64(n); passed >= next {
					next = passed + 6*mib
					peak = max(peak, liveHeap())
				}
				return n, err
			})
			put(t, s, body, announced)
			if peak > before+bound {
				t.Errorf("the heap grew by %d MiB for a body of %d MiB", (peak-before)/mib, size/mib)
			}
		})
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
