package store_test

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"hash/adler32"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"holdfast/store"
)

// sums are all checksums of a content.
func sums(content string) map[string]string {
	b := []byte(content)
	return map[string]string{
		"MD5":     fmt.Sprintf("%x", md5.Sum(b)),
		"SHA1":    fmt.Sprintf("%x", sha1.Sum(b)),
		"SHA256":  fmt.Sprintf("%x", sha256.Sum256(b)),
		"ADLER32": fmt.Sprintf("%08x", adler32.Checksum(b)),
	}
}

// claimed is content with some of its checksums.
func claimed(content string, algorithms ...string) store.File {
	f := file(content)
	for _, a := range algorithms {
		f.Checksums = append(f.Checksums, store.Checksum{Algorithm: a, Hex: sums(content)[a]})
	}
	return f
}

func (f *fixture) putFile(path string, content store.File) store.Node {
	f.t.Helper()
	n, _, err := f.Put(f.t.Context(), f.at(path), content, f.me())
	must(f.t, err)
	return n
}

// checksums are those that a listing of a path shows, alone and in its folder.
func (f *fixture) checksums(path string) []store.Checksum {
	f.t.Helper()
	want := f.stat(path)
	parent := f.at(path)
	parent.Path = parent.Path.Parent()
	var found [][]store.Checksum
	for target, depth := range map[*store.Target]int{new(f.at(path)): store.DepthZero, &parent: store.DepthOne} {
		must(f.t, f.Walk(f.t.Context(), *target, depth, store.Want{Checksums: true}, 0, func(e store.Entry) error {
			if e.Place.Root == want.Place.Root {
				found = append(found, e.Checksums)
			}
			return nil
		}))
	}
	if len(found) != 2 {
		f.t.Fatalf("%s was listed %d times", path, len(found))
	}
	wantEqual(f.t, "checksums in a listing", fmt.Sprint(found[1]), fmt.Sprint(found[0]))
	return found[0]
}

// wantChecksums fails the test unless a file shows these sums of a content.
func (f *fixture) wantChecksums(path, content string, algorithms ...string) {
	f.t.Helper()
	wantEqual(f.t, "checksums of "+path, fmt.Sprint(f.checksums(path)), fmt.Sprint(claimed(content, algorithms...).Checksums))
}

// TestChecksumsOfLongContent: content that comes in many reads, with its length
// announced or not.
func TestChecksumsOfLongContent(t *testing.T) {
	f := newFixture(t)
	content := strings.Repeat("0123456789abcdef", 3<<16)
	for _, size := range []int64{int64(len(content)), -1} {
		long := claimed(content, "SHA1", "MD5", "ADLER32", "SHA256")
		long.Size = size
		f.putFile("/f", long)
		f.wantChecksums("/f", content, "SHA1", "MD5", "ADLER32", "SHA256")
		long = claimed(content[1:]+"f", "ADLER32")
		long.Body, long.Size = strings.NewReader(content[1:]+"e"), size
		_, _, err := f.Put(t.Context(), f.at("/f"), long, f.me())
		wantError(t, err, store.ErrChecksum)
		f.wantChecksums("/f", content, "SHA1", "MD5", "ADLER32", "SHA256")
	}
}

// TestChecksumsAreKept: what a client said of content and what turned out right
// is shown with it, in one order.
func TestChecksumsAreKept(t *testing.T) {
	for where, content := range map[string]string{"inline": "short", "object": object("long")} {
		t.Run(where, func(t *testing.T) {
			f := newFixture(t, keeping(5))
			f.putFile("/plain", file(content))
			f.wantChecksums("/plain", content, "SHA256")
			f.putFile("/f", claimed(content, "SHA256", "MD5", "ADLER32", "SHA1"))
			f.wantChecksums("/f", content, "SHA1", "MD5", "ADLER32", "SHA256")
			chunked := claimed(content, "MD5", "MD5")
			chunked.Size, chunked.Body = -1, iotest.OneByteReader(chunked.Body)
			f.putFile("/f", chunked)
			f.wantChecksums("/f", content, "MD5", "SHA256")
			chunked = claimed("other "+content, "SHA1")
			chunked.Checksums = append(chunked.Checksums, store.Checksum{Algorithm: "SHA3-256", Hex: "00"})
			f.putFile("/f", chunked)
			f.wantChecksums("/f", "other "+content, "SHA1", "SHA256")
			chunked = claimed("other "+content, "SHA1")
			chunked.Checksums = append(chunked.Checksums, store.Checksum{Algorithm: "MD5"})
			f.putFile("/asked", chunked)
			f.wantChecksums("/asked", "other "+content, "SHA1", "MD5", "SHA256")

			_, err := f.PatchProps(t.Context(), f.at("/f"), store.Patch{Modified: new(time.Unix(1, 0))}, f.me())
			must(t, err)
			f.copy("/f", "/copy")
			f.move("/f", "/moved")
			f.put("/copy", "new content")
			f.wantChecksums("/copy", "new content", "SHA256")
			f.wantChecksums("/moved", "other "+content, "SHA1", "SHA256")
			_, err = f.RestoreVersion(t.Context(), f.at("/moved"), f.nth("/moved", 0), f.me())
			must(t, err)
			f.wantChecksums("/moved", content, "MD5", "SHA256")
		})
	}
}

// TestChecksumsOfOverwrittenRows: content that is written over in its row leaves
// no sum behind.
func TestChecksumsOfOverwrittenRows(t *testing.T) {
	f := newFixture(t)
	f.putFile("/f", claimed("one", "MD5"))
	blobs := f.rows("blobs")
	f.putFile("/f", file("two"))
	f.wantChecksums("/f", "two", "SHA256")
	f.putFile("/f", claimed("three", "SHA1"))
	f.wantChecksums("/f", "three", "SHA1", "SHA256")
	wantEqual(t, "blobs", f.rows("blobs"), blobs)
}

// TestChecksumsOfNothing: those of an empty file are known without a row that
// says them; the empty object is shared with files that others made.
func TestChecksumsOfNothing(t *testing.T) {
	f := newFixture(t)
	f.lock("/null", "resource")
	f.putFile("/empty", claimed("", "MD5"))
	f.putFile("/text", claimed("x", "MD5"))
	f.putFile("/text", claimed("", "MD5"))
	for _, path := range []string{"/null", "/empty", "/text"} {
		f.wantChecksums(path, "", "SHA1", "MD5", "ADLER32", "SHA256")
	}
	wantEqual(t, "rows with checksums", f.number(`SELECT count(*) FROM blobs WHERE checksums IS NOT NULL`), 0)
	f.mkdir("/d")
	wantEqual(t, "checksums of a folder", len(f.checksums("/d")), 0)
}

// TestChecksumMismatch: nothing is stored, nothing is left staged, and what was
// there is there.
func TestChecksumMismatch(t *testing.T) {
	f := newFixture(t)
	for _, content := range []string{"short", object("long")} {
		before := f.put("/f", object("old"))
		objects, used := f.objects(), f.used(f.user)
		for algorithm, sum := range sums(content) {
			for _, path := range []string{"/f", "/new"} {
				for _, size := range []int64{int64(len(content)), -1} {
					wrong := claimed(content, "SHA1", "SHA256")
					wrong.Size = size
					wrong.Checksums = append(wrong.Checksums, store.Checksum{Algorithm: algorithm, Hex: strings.Repeat("0", len(sum))})
					_, _, err := f.Put(t.Context(), f.at(path), wrong, f.me())
					wantError(t, err, store.ErrChecksum)
				}
			}
		}
		f.gone("/new")
		wantEqual(t, "entity tag", f.stat("/f").ETag, before.ETag)
		wantEqual(t, "content", f.read("/f"), object("old"))
		wantEqual(t, "objects", f.objects(), objects)
		wantEqual(t, "bytes", f.used(f.user), used)
	}
}

// TestChecksumsComeAfterOtherFaults: a body that breaks off or is too long is
// refused for that.
func TestChecksumsComeAfterOtherFaults(t *testing.T) {
	f := newFixture(t, func(o *store.Options) { o.Quota = 100 })
	for want, body := range map[error]io.Reader{
		io.ErrUnexpectedEOF: iotest.ErrReader(io.ErrUnexpectedEOF),
		store.ErrQuota:      strings.NewReader(strings.Repeat("x", 101)),
	} {
		content := claimed("x", "MD5")
		content.Body, content.Size = body, -1
		_, _, err := f.Put(t.Context(), f.at("/f"), content, f.me())
		wantError(t, err, want)
	}
	wantEqual(t, "objects", f.objects(), 0)
}

// TestModifiedByClients: PUT, COPY and MOVE give a resource the time that comes
// with them, and only it.
func TestModifiedByClients(t *testing.T) {
	f := newFixture(t, keeping(5))
	then := func(n int64) time.Time { return time.Unix(n, 0).UTC() }
	wantModified := func(path string, want time.Time) {
		t.Helper()
		wantEqual(t, "modification time of "+path, f.stat(path).Modified, want)
	}
	content := claimed("one", "MD5")
	content.Modified = then(0)
	n := f.putFile("/f", content)
	wantEqual(t, "modification time of the answer", n.Modified, then(0))
	wantEqual(t, "creation time", n.Created, f.now())
	wantModified("/f", then(0))
	content = file("two")
	content.Modified = then(2)
	f.putFile("/f", content)
	wantModified("/f", then(2))
	f.put("/g", "x")
	wantModified("/g", f.now())

	copied := func(from, to string, at time.Time) {
		t.Helper()
		_, _, err := f.Copy(t.Context(), f.at(from), f.at(to), store.CopyOptions{Modified: at}, f.me())
		must(t, err)
	}
	moved := func(from, to string, at time.Time) {
		t.Helper()
		_, err := f.Move(t.Context(), f.at(from), f.at(to), store.MoveOptions{Modified: at}, f.me())
		must(t, err)
	}
	copied("/f", "/copy", then(3))
	copied("/f", "/same", time.Time{})
	wantModified("/copy", then(3))
	wantModified("/same", then(2))
	moved("/f", "/copy", then(4))
	wantModified("/copy", then(4))
	moved("/copy", "/f", time.Time{})
	wantModified("/f", then(4))

	f.mkdir("/d")
	content = file("in a folder")
	content.Modified = then(2)
	f.putFile("/d/f", content)
	copied("/d", "/e", then(5))
	moved("/d", "/g", then(6))
	for path, want := range map[string]time.Time{"/e": then(5), "/e/f": then(2), "/g": then(6), "/g/f": then(2)} {
		wantModified(path, want)
	}
}

// TestModifiedOfABigCopy: a tree that is built out of sight gets its time too.
func TestModifiedOfABigCopy(t *testing.T) {
	f := newFixture(t)
	f.bigTree("/big")
	at := time.Unix(1e9, 0).UTC()
	_, _, err := f.Copy(t.Context(), f.at("/big"), f.at("/copy"), store.CopyOptions{Modified: at}, f.me())
	must(t, err)
	wantEqual(t, "modification time", f.stat("/copy").Modified, at)
}

// TestChecksumsOnDemand: those that nobody named yet are computed from the content
// and kept beside the others.
func TestChecksumsOnDemand(t *testing.T) {
	for where, content := range map[string]string{"inline": "short", "object": object("long")} {
		t.Run(where, func(t *testing.T) {
			f := newFixture(t)
			f.putFile("/f", claimed(content, "MD5"))
			f.copy("/f", "/copy")
			for _, asked := range [][]string{{}, {"MD5", "SHA256", "SHA3-256"}} {
				known, err := f.Checksums(t.Context(), f.at("/f"), asked...)
				must(t, err)
				wantEqual(t, "known", fmt.Sprint(known), fmt.Sprint(claimed(content, "MD5", "SHA256").Checksums))
			}
			known, err := f.Checksums(t.Context(), f.at("/f"), "SHA1", "MD5")
			must(t, err)
			wantEqual(t, "known", fmt.Sprint(known), fmt.Sprint(claimed(content, "SHA1", "MD5", "SHA256").Checksums))
			f.wantChecksums("/copy", content, "SHA1", "MD5", "SHA256")
		})
	}
	f := newFixture(t)
	f.mkdir("/d")
	_, err := f.Checksums(t.Context(), f.at("/d"), "MD5")
	wantError(t, err, store.ErrIsFolder)
	_, err = f.Checksums(t.Context(), f.at("/none"), "MD5")
	wantError(t, err, store.ErrNotFound)
	f.put("/damaged", "right")
	f.sql(`UPDATE blob_data SET data = CAST('wrong' AS BLOB)`)
	if _, err = f.Checksums(t.Context(), f.at("/damaged"), "MD5"); err == nil {
		t.Error("damaged content has got a checksum")
	}
}

// TestChecksumsOnDemandOfContentThatGoes: a checksum that was computed while the
// content was written over is not that of the new content.
func TestChecksumsOnDemandOfContentThatGoes(t *testing.T) {
	f := newFixture(t)
	f.put("/f", "old")
	once := true
	f.SetHook(func(_ context.Context, p store.Point) error {
		if p == store.Queued && once {
			once = false
			f.put("/f", "new")
		}
		return nil
	})
	known, err := f.Checksums(t.Context(), f.at("/f"), "MD5")
	must(t, err)
	wantEqual(t, "old content", fmt.Sprint(known), fmt.Sprint(claimed("old", "MD5", "SHA256").Checksums))
	f.wantChecksums("/f", "new", "SHA256")
}

// TestPatchWithChecksums: a change of properties that says what the content is
// happens only when that is known to be so.
func TestPatchWithChecksums(t *testing.T) {
	f := newFixture(t)
	f.putFile("/f", claimed("content", "MD5"))
	patch := func(path string, of store.File) error {
		_, err := f.PatchProps(t.Context(), f.at(path), store.Patch{Modified: new(time.Unix(1, 0)), Checksums: of.Checksums}, f.me())
		return err
	}
	wantError(t, patch("/f", claimed("other", "MD5")), store.ErrChecksum)
	wantError(t, patch("/f", claimed("content", "MD5", "SHA1")), store.ErrChecksum)
	wantError(t, patch("/", claimed("content", "MD5")), store.ErrChecksum)
	wantEqual(t, "modification time", f.stat("/f").Modified, f.now())
	must(t, patch("/f", claimed("content", "MD5", "SHA256")))
	wantEqual(t, "modification time", f.stat("/f").Modified, time.Unix(1, 0).UTC())
	f.wantChecksums("/f", "content", "MD5", "SHA256")
}
