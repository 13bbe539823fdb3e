package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

func (f *fixture) uploadID(name string) store.UploadID {
	return store.UploadID{User: f.user.ID, Name: name}
}

// unannounced: the client said nothing of the file's size.
var unannounced = store.UploadSize{Total: -1}

func (f *fixture) addUpload(name string) {
	f.t.Helper()
	must(f.t, f.AddUpload(f.t.Context(), f.uploadID(name), unannounced, f.me()))
}

func (f *fixture) putChunk(upload, name, content string) error {
	_, err := f.PutChunk(f.t.Context(), f.uploadID(upload), name, file(content), unannounced, f.me())
	return err
}

// upload begins an upload and sends pieces called 1, 2, 3, ….
func (f *fixture) upload(name string, pieces ...string) {
	f.t.Helper()
	f.addUpload(name)
	for i, content := range pieces {
		must(f.t, f.putChunk(name, fmt.Sprint(i+1), content))
	}
}

func (f *fixture) finish(name string, target store.Target) error {
	_, _, err := f.FinishUpload(f.t.Context(), f.uploadID(name), target, store.File{}, store.FinishOptions{UploadSize: unannounced}, f.me())
	return err
}

// pieces are those of an upload, "NAME:SIZE" each, in their order.
func (f *fixture) pieces(name string) string {
	f.t.Helper()
	_, chunks, err := f.Upload(f.t.Context(), f.uploadID(name))
	must(f.t, err)
	var all []string
	for _, c := range chunks {
		all = append(all, fmt.Sprintf("%s:%d", c.Name, c.Size))
	}
	return strings.Join(all, " ")
}

func (f *fixture) noUpload(name string) {
	f.t.Helper()
	_, _, err := f.Upload(f.t.Context(), f.uploadID(name))
	wantError(f.t, err, store.ErrNotFound)
}

// purgeAll deletes all that was detached.
func (f *fixture) purgeAll() {
	f.t.Helper()
	for n := 1; n > 0; {
		var err error
		n, err = f.Purge(f.t.Context())
		must(f.t, err)
	}
}

// everyUpload runs all operations on uploads.
func (f *fixture) everyUpload() {
	f.t.Helper()
	f.upload("a", "one", "a piece that is an object")
	must(f.t, f.putChunk("a", "1", "again"))
	must(f.t, f.putChunk("a", "3", "x"))
	must(f.t, f.RemoveChunk(f.t.Context(), f.uploadID("a"), "3", f.me()))
	_, err := f.Chunk(f.t.Context(), f.uploadID("a"), "01")
	must(f.t, err)
	_, err = f.Uploads(f.t.Context(), f.uploadID(""))
	must(f.t, err)
	wantEqual(f.t, "pieces", f.pieces("a"), "1:5 2:25")
	must(f.t, f.finish("a", f.at("/uploaded")))
	f.upload("b", "x")
	must(f.t, f.RemoveUpload(f.t.Context(), f.uploadID("b"), f.me()))
	f.upload("lapsing", "x")
}

// TestUploadPieces: what the names of the pieces say must be the whole file, or
// nothing changes and the upload stays (B73).
func TestUploadPieces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		pieces []string // "NAME=CONTENT"
		total  int64    // announced
		want   string   // the content, or after "!" a part of the reason there is none
	}{
		{"bytes", []string{"000000000000000-000000000000002=abc", "000000000000003-000000000000003=d"}, -1, "abcd"},
		{"bytes out of order", []string{"3-4=de", "0-2=abc"}, 5, "abcde"},
		{"no beginning", []string{"1-2=bc"}, -1, "!byte 0 is missing"},
		{"a gap", []string{"0-9=0123456789", "20-29=0123456789"}, -1, "!byte 10 is missing"},
		{"an overlap", []string{"0-2=abc", "2-3=cd"}, -1, "!byte 2 has come twice"},
		{"a longer piece from the same byte", []string{"0-1=ab", "2-2=x", "0-2=abc"}, -1, "!byte 2 has come twice"},
		{"no end", []string{"0-2=abc"}, 5, "!byte 3 is missing: 5"},
		{"too much", []string{"0-2=abc"}, 2, "!3 bytes have come"},
		{"numbers", []string{"2=b", "10=j", "1=a", "3=c", "4=d", "5=e", "6=f", "7=g", "8=h", "9=i"}, 10, "abcdefghij"},
		{"numbers with zeros", []string{"00002=b", "00001=a"}, -1, "ab"},
		{"one number, two spellings", []string{"1=x", "00001=a"}, -1, "a"},
		{"a number is missing", []string{"1=a", "3=c"}, -1, "!piece 2 is missing"},
		{"the first number is missing", []string{"2=a"}, -1, "!piece 1 is missing"},
		{"the last number is missing", []string{"1=a", "2=b"}, 3, "!byte 2 is missing"},
		{"bytes and numbers", []string{"0-0=a", "1=b"}, -1, "!some"},
		{"nothing", nil, -1, "!byte 0 is missing"},
		{"nothing of something", nil, 3, "!byte 0 is missing"},
		{"nothing announced", nil, 0, ""},
		{"an empty piece", []string{"1=", "2=b"}, -1, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.put("/f", "old")
			etag := f.stat("/f").ETag
			f.addUpload("u")
			for _, p := range c.pieces {
				name, content, _ := strings.Cut(p, "=")
				must(t, f.putChunk("u", name, content))
			}
			_, created, err := f.FinishUpload(t.Context(), f.uploadID("u"), f.at("/f"), store.File{},
				store.FinishOptions{UploadSize: store.UploadSize{Total: c.total}}, f.me())
			reason, fails := strings.CutPrefix(c.want, "!")
			if !fails {
				must(t, err)
				wantEqual(t, "created", created, false)
				wantEqual(t, "content", f.read("/f"), c.want)
				f.noUpload("u")
				return
			}
			var chunks *store.ChunksError
			if !errors.As(err, &chunks) || !strings.HasPrefix(chunks.Reason, reason) && !strings.Contains(chunks.Reason, "; "+reason) {
				t.Errorf("error %v, want %q", err, reason)
			}
			wantEqual(t, "entity tag", f.stat("/f").ETag, etag)
			wantEqual(t, "pieces that stay", f.rows("upload_chunks"), int64(len(strings.Fields(f.pieces("u")))))
		})
	}
}

// TestUploadGoesOn: a client that is told what is missing sends it and asks again.
func TestUploadGoesOn(t *testing.T) {
	f := newFixture(t)
	f.addUpload("u")
	must(t, f.putChunk("u", "0-2", "abc"))
	must(t, f.putChunk("u", "6-8", "ghi"))
	if err := f.finish("u", f.at("/f")); err == nil {
		t.Fatal("a file with a gap")
	}
	f.gone("/f")
	must(t, f.putChunk("u", "3-5", "def"))
	must(t, f.finish("u", f.at("/f")))
	wantEqual(t, "content", f.read("/f"), "abcdefghi")
	wantError(t, f.finish("u", f.at("/f")), store.ErrNotFound)
	f.purgeAll()
	wantEqual(t, "rows left", f.rows("uploads")+f.rows("upload_chunks"), 0)
	wantEqual(t, "contents left", f.rows("blobs"), 1)
}

func TestChunkNames(t *testing.T) {
	f := newFixture(t)
	f.addUpload("u")
	for _, name := range []string{"", "0", "10001", "-1", "1-", "-", "2-1", "1-2-3", "a", "1x", "+1", " 1", ".file", "1.0",
		"99999999999999999999", "0-9223372036854775807", "0-4611686018427387904", "0000000000000000000000001"} {
		wantError(t, f.putChunk("u", name, "x"), store.ErrBadName)
	}
	for _, c := range []struct{ name, content string }{{"0-1", "x"}, {"0-1", "xyz"}} {
		wantError(t, f.putChunk("u", c.name, c.content), store.ErrBodySize)
	}
	for _, content := range []string{"x", "xyz"} {
		unknown := store.File{Body: strings.NewReader(content), Size: -1}
		_, err := f.PutChunk(t.Context(), f.uploadID("u"), "0-1", unknown, unannounced, f.me())
		wantError(t, err, store.ErrBodySize)
	}
	wantEqual(t, "pieces", f.pieces("u"), "")
	wantError(t, f.RemoveChunk(t.Context(), f.uploadID("u"), "x", f.me()), store.ErrNotFound)
	must(t, f.putChunk("u", "5-6", "xy"))
	wantError(t, f.RemoveChunk(t.Context(), f.uploadID("u"), "5-7", f.me()), store.ErrNotFound)
	wantError(t, f.RemoveChunk(t.Context(), f.uploadID("u"), "5", f.me()), store.ErrNotFound)
	must(t, f.RemoveChunk(t.Context(), f.uploadID("u"), "005-006", f.me()))
	wantEqual(t, "used", f.used(f.user), 0)
}

// TestUploadLimits bounds what a client may begin, and in how many pieces.
func TestUploadLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for n := range store.MaxUploads {
		f.addUpload(fmt.Sprint(n))
	}
	add := func(id store.UploadID, size store.UploadSize) error {
		return f.AddUpload(t.Context(), id, size, f.me())
	}
	wantError(t, add(f.uploadID("more"), unannounced), store.ErrUploadLimit)
	phone := byAccount{f.user.ID, f.account("phone", store.NewAccount{}).ID}
	must(t, f.AddUpload(t.Context(), store.UploadID{User: phone.user, Account: phone.account, Name: "more"}, unannounced, phone))
	wantError(t, add(f.uploadID("1"), unannounced), store.ErrExists)
	wantError(t, add(f.uploadID(strings.Repeat("x", 256)), unannounced), store.ErrBadName)
	must(t, f.RemoveUpload(t.Context(), f.uploadID("0"), f.me()))
	wantError(t, add(f.uploadID("large"), store.UploadSize{Total: 11, Most: 10}), store.ErrTooLarge)
	must(t, add(f.uploadID("large"), store.UploadSize{Total: 10, Most: 10}))
	most := store.UploadSize{Total: -1, Most: 10}
	put := func(name string, f1 store.File) error {
		_, err := f.PutChunk(t.Context(), f.uploadID("large"), name, f1, most, f.me())
		return err
	}
	must(t, put("1", file("123456")))
	must(t, put("1", file("123456")))
	wantError(t, put("2", file("12345")), store.ErrTooLarge)
	wantError(t, put("2", store.File{Body: strings.NewReader("12345"), Size: -1}), store.ErrTooLarge)
	wantError(t, put("6-4611686018427387903", store.File{Size: -1}), store.ErrTooLarge)
	must(t, put("2", file("1234")))
	_, _, err := f.FinishUpload(t.Context(), f.uploadID("large"), f.at("/f"), store.File{}, store.FinishOptions{UploadSize: store.UploadSize{Total: -1, Most: 9}}, f.me())
	wantError(t, err, store.ErrTooLarge)
	f.sql(`UPDATE uploads SET chunks = ? WHERE name = '1'`, store.MaxChunks)
	wantError(t, f.putChunk("1", "1", "x"), store.ErrUploadLimit)
	f.sql(`UPDATE uploads SET chunks = 0 WHERE name = '1'`)
}

// TestUploadQuota: pieces count as stored, and what they take is given back as the
// file comes, never before.
func TestUploadQuota(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *store.Options) { o.Quota = 100 })
	ten := strings.Repeat("x", 10)
	announce := func(name string, total int64) error {
		return f.AddUpload(t.Context(), f.uploadID(name), store.UploadSize{Total: total}, f.me())
	}
	wantError(t, announce("u", 101), store.ErrQuota)
	must(t, announce("u", 100))
	for n := range 9 {
		must(t, f.putChunk("u", fmt.Sprint(n+1), ten))
	}
	wantEqual(t, "used", f.used(f.user), 90)
	wantError(t, f.putChunk("u", "10", ten+"x"), store.ErrQuota)
	_, err := f.PutChunk(t.Context(), f.uploadID("u"), "10", store.File{Body: strings.NewReader(ten + "x"), Size: -1}, unannounced, f.me())
	wantError(t, err, store.ErrQuota)
	_, err = f.PutChunk(t.Context(), f.uploadID("u"), "10", file("x"), store.UploadSize{Total: 101}, f.me())
	wantError(t, err, store.ErrQuota)
	must(t, f.putChunk("u", "9", ten)) // in place of another
	must(t, f.putChunk("u", "10", ten))
	wantError(t, f.putChunk("u", "9", ten+"x"), store.ErrQuota)
	wantEqual(t, "used", f.used(f.user), 100)
	must(t, f.finish("u", f.at("/f"))) // into a workspace that is full
	wantEqual(t, "used", f.used(f.user), 100)
	f.purgeAll()
	wantEqual(t, "used", f.used(f.user), 100)
	f.remove("/f")
	must(t, announce("v", -1))
	must(t, f.putChunk("v", "1", ten))
	must(t, f.RemoveUpload(t.Context(), f.uploadID("v"), f.me()))
	wantEqual(t, "used after it was given up", f.used(f.user), 0)
	// Another workspace has to have the room itself, and the own gets its back.
	team := f.addTeam("Ops")
	f.upload("w", ten, ten)
	_, _, err = f.Put(t.Context(), inTeam(team, "/full"), file(strings.Repeat("x", 85)), f.me())
	must(t, err)
	wantError(t, f.finish("w", inTeam(team, "/f")), store.ErrQuota)
	must(t, f.Remove(t.Context(), inTeam(team, "/full"), f.me()))
	must(t, f.finish("w", inTeam(team, "/f")))
	wantEqual(t, "used", f.used(f.user), 0)
	usage, err := f.Usage(t.Context(), team.Workspace())
	must(t, err)
	wantEqual(t, "used by the team", usage.Used, 20)
}

// TestFinishUploadIsAPut: locks, conditions and names refuse it as they refuse PUT.
func TestFinishUploadIsAPut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mkdir("/d")
	f.put("/f", "old")
	f.setProp("/f", "a", "1")
	f.upload("u", "new ", "content")
	finish := func(target store.Target, o store.FinishOptions, c store.Claim) error {
		o.Total = -1
		_, _, err := f.FinishUpload(t.Context(), f.uploadID("u"), target, store.File{ContentType: "text/x", Modified: f.now().Add(-time.Hour)}, o, c)
		return err
	}
	wantError(t, finish(f.at("/d"), store.FinishOptions{}, f.me()), store.ErrIsFolder)
	wantError(t, finish(f.at("/"), store.FinishOptions{}, f.me()), store.ErrIsFolder)
	wantError(t, finish(f.at("/none/f"), store.FinishOptions{}, f.me()), store.ErrNoParent)
	wantError(t, finish(f.at("/f"), store.FinishOptions{NoOverwrite: true}, f.me()), store.ErrExists)
	wantError(t, finish(store.Target{Workspace: f.user.Workspace(), Path: store.Path{"a/b"}}, store.FinishOptions{}, f.me()), store.ErrBadName)
	l := f.lock("/f", lockns.Resource).Lock
	wantLocked(t, finish(f.at("/f"), store.FinishOptions{}, f.me()), l.Token)
	wantEqual(t, "content", f.read("/f"), "old")
	wantEqual(t, "pieces", f.pieces("u"), "1:4 2:7")
	must(t, finish(f.at("/f"), store.FinishOptions{}, with{f.user.ID, []string{l.Token}}))
	wantEqual(t, "content", f.read("/f"), "new content")
	wantEqual(t, "modified", f.stat("/f").Modified, f.now().Add(-time.Hour))
	wantEqual(t, "type", f.stat("/f").ContentType, "text/x")
	wantSlice(t, "properties", f.props("/f"), []string{"a=1"})
	wantSlice(t, "locks", f.tokens("/f"), []string{l.Token})
}

// TestUploadChecksum: the whole file has to have the checksum, and is kept with it.
func TestUploadChecksum(t *testing.T) {
	f := newFixture(t)
	f.upload("u", "hel", "lo")
	finish := func(hex string) error {
		_, _, err := f.FinishUpload(t.Context(), f.uploadID("u"), f.at("/f"),
			store.File{Checksums: []store.Checksum{{Algorithm: "MD5", Hex: hex}}}, store.FinishOptions{UploadSize: unannounced}, f.me())
		return err
	}
	wantError(t, finish("5d41402abc4b2a76b9719d911017c593"), store.ErrChecksum)
	f.gone("/f")
	must(t, finish("5d41402abc4b2a76b9719d911017c592"))
	wantEqual(t, "content", f.read("/f"), "hello")
}

// TestUploadsAreTheirLogins: nobody sees or finishes the uploads of another login,
// not even of another of the same user's, and who may not write any more changes
// none.
func TestUploadsAreTheirLogins(t *testing.T) {
	f := newFixture(t)
	a := f.account("phone", store.NewAccount{})
	byPhone := byAccount{f.user.ID, a.ID}
	id := store.UploadID{User: f.user.ID, Account: a.ID, Name: "u"}
	f.upload("u", "mine")
	_, err := f.PutChunk(t.Context(), id, "1", file("x"), unannounced, byPhone)
	wantError(t, err, store.ErrNotFound)
	must(t, f.AddUpload(t.Context(), id, unannounced, byPhone))
	_, err = f.PutChunk(t.Context(), id, "1", file("phone's"), unannounced, byPhone)
	must(t, err)
	_, err = f.PutChunk(t.Context(), id, "2", file("x"), unannounced, f.me())
	wantError(t, err, store.ErrForbidden)
	wantError(t, f.AddUpload(t.Context(), store.UploadID{User: f.user.ID + 1, Name: "u"}, unannounced, f.me()), store.ErrNotFound)
	wantEqual(t, "pieces", f.pieces("u"), "1:4")
	all, err := f.Uploads(t.Context(), id)
	must(t, err)
	wantEqual(t, "uploads", len(all), 1)
	must(t, f.RemoveAccount(t.Context(), "ada", "phone", boss))
	wantError(t, f.AddUpload(t.Context(), store.UploadID{User: f.user.ID, Account: a.ID, Name: "v"}, unannounced, byPhone), store.ErrForbidden)
}

// TestUploadOfAnAccountThatEnds: an account that has expired changes no upload of
// its own, and when it is removed, by hand, with its user's membership or with its
// team, they go and give back what they took.
func TestUploadOfAnAccountThatEnds(t *testing.T) {
	f := newFixture(t)
	team := f.addTeam("Ops")
	bob := f.addUser("bob")
	f.setMember(team, bob, store.Owner)
	a := f.account("phone", store.NewAccount{Team: "Ops", ExpiresAt: f.now().Add(time.Minute)})
	byPhone := byAccount{f.user.ID, a.ID}
	id := store.UploadID{User: f.user.ID, Account: a.ID, Name: "u"}
	begin := func() {
		t.Helper()
		must(t, f.AddUpload(t.Context(), id, unannounced, byPhone))
		_, err := f.PutChunk(t.Context(), id, "1", file("phone's"), unannounced, byPhone)
		must(t, err)
	}
	begin()
	f.upload("u", "mine")
	f.advance(2 * time.Minute)
	_, err := f.PutChunk(t.Context(), id, "2", file("x"), unannounced, byPhone)
	wantError(t, err, store.ErrForbidden)
	wantError(t, f.RemoveUpload(t.Context(), id, byPhone), store.ErrForbidden)
	wantError(t, f.RemoveChunk(t.Context(), id, "1", byPhone), store.ErrForbidden)
	_, _, err = f.FinishUpload(t.Context(), id, f.at("/f"), store.File{}, store.FinishOptions{UploadSize: unannounced}, byPhone)
	wantError(t, err, store.ErrForbidden)
	f.gone("/f")
	must(t, f.RemoveAccount(t.Context(), "ada", "phone", boss))
	f.onlyMine()
	a = f.account("laptop", store.NewAccount{Team: "Ops"})
	byPhone.account, id.Account = a.ID, a.ID
	begin()
	must(t, f.RemoveMember(t.Context(), "Ops", "ada", boss))
	f.onlyMine()
	f.setMember(team, f.user, store.Writer)
	a = f.account("tablet", store.NewAccount{Team: "Ops"})
	byPhone.account, id.Account = a.ID, a.ID
	begin()
	must(t, f.RemoveTeam(t.Context(), "Ops", boss))
	f.onlyMine()
}

// onlyMine: of all uploads the user's own "u" with 4 bytes is left.
func (f *fixture) onlyMine() {
	f.t.Helper()
	used, err := f.Usage(f.t.Context(), f.user.Workspace())
	must(f.t, err)
	wantEqual(f.t, "bytes used", used.Used, 4)
	f.clean()
	f.purgeAll()
	wantEqual(f.t, "uploads left", f.rows("uploads"), 1)
	f.clean()
}

// TestUploadLapses: an upload ends when no piece has come for a day, and gives
// back what it took.
func TestUploadLapses(t *testing.T) {
	f := newFixture(t)
	f.upload("u", "a piece that is an object")
	prune := func(want int) {
		t.Helper()
		n, err := f.PruneUploads(t.Context())
		must(t, err)
		wantEqual(t, "uploads pruned", n, want)
	}
	f.advance(23 * time.Hour)
	must(t, f.putChunk("u", "2", "x"))
	f.advance(24 * time.Hour)
	prune(0)
	f.advance(time.Microsecond)
	prune(1)
	prune(0)
	f.noUpload("u")
	wantEqual(t, "used", f.used(f.user), 0)
	wantError(t, f.putChunk("u", "3", "x"), store.ErrNotFound)
	f.addUpload("u") // the name is free
	f.purgeAll()
	wantEqual(t, "pieces left", f.rows("upload_chunks"), 0)
	f.advance(time.Hour)
	_, err := f.CollectGarbage(t.Context())
	must(t, err)
	wantEqual(t, "objects", f.objects(), 0)
}

// TestUploadBeingFinishedDoesNotLapse, however late the request for it came.
func TestUploadBeingFinishedDoesNotLapse(t *testing.T) {
	f := newFixture(t)
	f.upload("u", "x")
	f.advance(24 * time.Hour)
	f.SetHook(func(_ context.Context, p store.Point) error {
		if p != store.Staged {
			return nil
		}
		f.SetHook(nil)
		f.advance(time.Hour)
		n, err := f.PruneUploads(t.Context())
		wantEqual(t, "uploads pruned", n, 0)
		return err
	})
	must(t, f.finish("u", f.at("/f")))
	wantEqual(t, "content", f.read("/f"), "x")
}

// TestUploadLapseOption: how long is an option.
func TestUploadLapseOption(t *testing.T) {
	f := newFixture(t, func(o *store.Options) { o.UploadLapse = time.Minute })
	f.upload("u", "x")
	f.advance(time.Minute + time.Microsecond)
	n, err := f.PruneUploads(t.Context())
	must(t, err)
	wantEqual(t, "uploads pruned", n, 1)
}

// TestRemoveUserEndsUploads: they go with their user, bit by bit.
func TestRemoveUserEndsUploads(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	id := store.UploadID{User: bob.ID, Name: "u"}
	must(t, f.AddUpload(t.Context(), id, unannounced, store.Holder(bob.ID)))
	for n := range 3 {
		_, err := f.PutChunk(t.Context(), id, fmt.Sprint(n+1), file("a piece that is an object"), unannounced, store.Holder(bob.ID))
		must(t, err)
	}
	f.upload("u", "mine")
	must(t, f.RemoveUser(t.Context(), "bob", store.Actor{}))
	f.clean()
	f.purgeAll()
	wantEqual(t, "pieces left", f.rows("upload_chunks"), 1)
	wantEqual(t, "uploads left", f.rows("uploads"), 1)
	wantEqual(t, "garbage", f.rows("garbage"), 3)
}

// TestPurgeUploadsInRounds: one round deletes no more rows than others.
func TestPurgeUploadsInRounds(t *testing.T) {
	f := newFixture(t)
	f.upload("u", "x")
	f.sql(`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
INSERT INTO upload_chunks (upload_id, position, name, blob_id, size, created_at)
SELECT upload_id, i, i, blob_id, 1, created_at FROM n CROSS JOIN upload_chunks`)
	f.sql(`UPDATE blobs SET refs = 1200`)
	f.sql(`UPDATE uploads SET chunks = 1200, bytes = 1200`)
	f.sql(`UPDATE storage_usage SET bytes = 1200`)
	f.clean()
	must(t, f.RemoveUpload(t.Context(), f.uploadID("u"), f.me()))
	for _, want := range []int{500, 500, 201, 0} {
		n, err := f.Purge(t.Context())
		must(t, err)
		wantEqual(t, "rows", n, want)
		f.clean()
	}
	wantEqual(t, "contents left", f.rows("blobs"), 0)
}

// TestFinishUploadOnce: of several that finish one upload at a time one makes the
// file, and the others find the upload busy or gone.
func TestFinishUploadOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	second, err := store.Open(t.Context(), f.o) // as another process: it shares nothing in memory
	must(t, err)
	defer second.Close()
	for round := range 10 {
		name := fmt.Sprint("u", round)
		f.upload(name, "a piece that is an object", "short")
		barrier := store.Barrier(store.Staged, 2)
		f.SetHook(barrier)
		second.SetHook(barrier)
		errs := make([]error, 4)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				s := f.Store
				if i%2 == 1 {
					s = second
				}
				_, _, errs[i] = s.FinishUpload(context.Background(), f.uploadID(name), f.at(fmt.Sprintf("/%s-%d", name, i)), store.File{},
					store.FinishOptions{UploadSize: unannounced}, f.me())
			})
		}
		wg.Wait()
		f.SetHook(nil)
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case !errors.Is(err, store.ErrUploadBusy) && !errors.Is(err, store.ErrNotFound):
				t.Errorf("error %v", err)
			}
		}
		wantEqual(t, "winners", won, 1)
		wantEqual(t, "files", strings.Count(f.list("/"), name), 1)
		f.noUpload(name)
	}
}

// TestFinishUploadWhilePiecesCome: a piece that comes while the upload is put
// together is never left out without a word.
func TestFinishUploadWhilePiecesCome(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*fixture) error{
		"replaced": func(f *fixture) error { return f.putChunk("u", "2", "two") },
		"added":    func(f *fixture) error { return f.putChunk("u", "3", "c") },
		"removed":  func(f *fixture) error { return f.RemoveChunk(f.t.Context(), f.uploadID("u"), "2", f.me()) },
	} {
		for when, at := range map[string]store.Point{"before they are read": store.Admitted, "after": store.Staged} {
			t.Run(name+" "+when, func(t *testing.T) {
				f := newFixture(t)
				f.upload("u", "a", "b")
				f.meanwhileAt(at, func() error { return change(f) })
				wantError(t, f.finish("u", f.at("/f")), store.ErrUploadChanged)
				f.SetHook(nil)
				f.gone("/f")
				must(t, f.finish("u", f.at("/f")))
				if got := f.read("/f"); !slices.Contains([]string{"atwo", "abc", "a"}, got) {
					t.Errorf("content %q", got)
				}
			})
		}
	}
}

// meanwhileAt runs a change when another first comes to a point.
func (f *fixture) meanwhileAt(at store.Point, change func() error) {
	once := true
	f.SetHook(func(_ context.Context, p store.Point) error {
		if p != at || !once {
			return nil
		}
		once = false
		return change()
	})
}

// TestFinishUploadThatIsGivenUp: one that is removed while its pieces are read is
// gone; pieces that are lost are no reason to say so.
func TestFinishUploadThatIsGivenUp(t *testing.T) {
	f := newFixture(t)
	f.upload("u", "a", "b")
	f.meanwhileAt(store.Admitted, func() error {
		err := f.RemoveUpload(t.Context(), f.uploadID("u"), f.me())
		f.purgeAll()
		return err
	})
	wantError(t, f.finish("u", f.at("/f")), store.ErrNotFound)
	f.upload("lost", "a", "b")
	f.meanwhileAt(store.Admitted, func() error {
		f.sql(`DELETE FROM blob_data`)
		f.sql(`PRAGMA foreign_keys = OFF`)
		f.sql(`DELETE FROM blobs`)
		return nil
	})
	if err := f.finish("lost", f.at("/f")); err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrUploadChanged) {
		t.Errorf("pieces are lost: %v", err)
	}
	f.sql(`DELETE FROM upload_chunks`)
	f.sql(`UPDATE uploads SET chunks = 0, bytes = 0`)
	f.sql(`UPDATE storage_usage SET bytes = 0`)
}

// TestFinishUploadGoesOn: a client that leaves while its upload is put together
// finds it done when it asks again.
func TestFinishUploadGoesOn(t *testing.T) {
	f := newFixture(t)
	f.upload("u", "a piece that is an object", "short")
	ctx, cancel := context.WithCancel(t.Context())
	f.SetHook(func(_ context.Context, p store.Point) error {
		if p == store.Admitted {
			cancel()
		}
		return nil
	})
	_, _, err := f.FinishUpload(ctx, f.uploadID("u"), f.at("/f"), store.File{}, store.FinishOptions{UploadSize: unannounced}, f.me())
	must(t, err)
	f.SetHook(nil)
	wantEqual(t, "content", f.read("/f"), "a piece that is an objectshort")
	wantError(t, f.finish("u", f.at("/f")), store.ErrNotFound)
}

// TestFinishUploadWithoutAPiece: a piece whose content is lost makes no file that
// is too short.
func TestFinishUploadWithoutAPiece(t *testing.T) {
	f := newFixture(t)
	f.upload("u", "short", "a piece that is an object")
	var object string
	must(t, f.database().QueryRow(`SELECT object_key FROM blobs WHERE object_key IS NOT NULL`).Scan(&object))
	found := ""
	must(t, filepath.WalkDir(filepath.Dir(strings.TrimPrefix(f.o.DB, "sqlite:")), func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, object[len(object)-8:]) {
			found = path
		}
		return err
	}))
	kept := found + ".kept"
	must(t, os.Rename(found, kept))
	wantError(t, f.finish("u", f.at("/f")), store.ErrUnavailable)
	f.gone("/f")
	wantEqual(t, "pieces", f.pieces("u"), "1:5 2:25")
	must(t, os.Rename(kept, found))
	must(t, f.finish("u", f.at("/f")))
	wantEqual(t, "content", f.read("/f"), "shorta piece that is an object")
}

// TestUploadsSurvive: what was acknowledged is there after a restart.
func TestUploadsSurvive(t *testing.T) {
	f := newFixture(t)
	f.upload("u", "a piece that is an object", "short")
	f.reopen()
	wantEqual(t, "pieces", f.pieces("u"), "1:25 2:5")
	must(t, f.finish("u", f.at("/f")))
	wantEqual(t, "content", f.read("/f"), "a piece that is an objectshort")
}
