package blob_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"holdfast/blob"
	"holdfast/blob/blobtest"
)

// plain hides all abilities of a reader but Read, as an HTTP body has no others.
type plain struct{ io.Reader }

func BenchmarkWrite(b *testing.B) {
	for name, opts := range map[string]blob.DirOptions{"DirSync": {Sync: true}, "Dir": {}} {
		b.Run(name, func(b *testing.B) {
			s, err := blob.NewDir(b.TempDir(), opts)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkWrites(b, s)
		})
	}
	b.Run("S3", func(b *testing.B) {
		s, err := blob.NewS3(b.Context(), blobtest.StartS3(b))
		if err != nil {
			b.Fatal(err)
		}
		benchmarkWrites(b, s)
	})
}

func benchmarkWrites(b *testing.B, s blob.Store) {
	for _, c := range []struct{ size, writers int }{{1 << 10, 1}, {64 << 10, 1}, {64 << 10, 32}, {64 * mib, 1}} {
		b.Run(fmt.Sprintf("%dKiB/%d", c.size>>10, c.writers), func(b *testing.B) {
			text := make([]byte, c.size)
			b.SetBytes(int64(c.size))
			b.SetParallelism(c.writers) // a factor of GOMAXPROCS
			b.ReportAllocs()
			write := func() {
				_, err := blob.Write(b.Context(), s, plain{bytes.NewReader(text)}, int64(c.size))
				if err != nil {
					b.Error(err)
				}
			}
			if c.writers == 1 {
				for b.Loop() {
					write()
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					write()
				}
			})
		})
	}
}

func BenchmarkRead(b *testing.B) {
	dir, err := blob.NewDir(b.TempDir(), blob.DirOptions{})
	if err != nil {
		b.Fatal(err)
	}
	s3, err := blob.NewS3(b.Context(), blobtest.StartS3(b))
	if err != nil {
		b.Fatal(err)
	}
	for name, s := range map[string]blob.Store{"Dir": dir, "S3": s3} {
		for _, size := range []int64{1 << 10, 64 * mib} {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				o, err := blob.Write(b.Context(), s, bytes.NewReader(make([]byte, size)), size)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(size)
				b.ReportAllocs()
				buffer := make([]byte, 256<<10)
				for b.Loop() {
					r := blob.NewReader(b.Context(), s, o.Key, o.Size)
					n, err := io.CopyBuffer(io.Discard, plain{r}, buffer)
					if err != nil || n != size {
						b.Fatal(n, err)
					}
					if err := r.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
