package store_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"holdfast/blob"
	"holdfast/store"
)

// slowReads are objects that are read in steps of seven bytes, each of which is
// told and waits until it is let go.
type slowReads struct {
	blob.Store
	begun, let chan struct{}
}

func (s *slowReads) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := s.Store.Open(context.WithoutCancel(ctx), key, offset, length)
	return slowReader{r, s}, err
}

type slowReader struct {
	io.ReadCloser
	s *slowReads
}

func (r slowReader) Read(p []byte) (int, error) {
	r.s.begun <- struct{}{}
	<-r.s.let
	return r.ReadCloser.Read(p[:min(7, len(p))])
}

func newSlowReads(t *testing.T) (*fixture, *slowReads) {
	t.Helper()
	reads := &slowReads{begun: make(chan struct{}, 100), let: make(chan struct{}, 100)}
	return newFixture(t, func(o *store.Options) { reads.Store, o.Blobs = o.Blobs, reads }), reads
}

// wantHashing waits until so many requests compute checksums or wait for a turn.
func (f *fixture) wantHashing(n int) {
	f.t.Helper()
	for end := time.Now().Add(10 * time.Second); f.Hashing() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%d compute or wait, want %d", f.Hashing(), n)
		}
	}
}

// TestChecksumsAreComputedOnce: however many ask at a time, content is read once,
// and other content of the workspace not before that.
func TestChecksumsAreComputedOnce(t *testing.T) {
	f, reads := newSlowReads(t)
	f.put("/a", object("a"))
	f.put("/b", object("b"))
	var all sync.WaitGroup
	ask := func(path string) {
		all.Go(func() {
			known, err := f.Checksums(t.Context(), f.at(path), "SHA1", "MD5")
			if err != nil || len(known) != 3 {
				t.Errorf("%s: %v (%v)", path, known, err)
			}
		})
	}
	ask("/a")
	<-reads.begun
	for range 20 {
		ask("/a")
		ask("/b")
	}
	f.wantHashing(41)
	close(reads.let)
	all.Wait()
	wantEqual(t, "further steps", len(reads.begun), 2+3)
	f.wantHashing(0)
}

// TestChecksumsGivenUp: who leaves gives back their turn, while waiting for it and
// while content is read, and nothing is read for them any more.
func TestChecksumsGivenUp(t *testing.T) {
	f, reads := newSlowReads(t)
	f.put("/f", object("f"))
	ask := func(ctx context.Context) error {
		_, err := f.Checksums(ctx, f.at("/f"), "SHA1")
		return err
	}
	reading, leave := context.WithCancel(t.Context())
	outcome := make(chan error)
	go func() { outcome <- ask(reading) }()
	<-reads.begun
	waiting, stop := context.WithCancel(t.Context())
	go func() { outcome <- ask(waiting) }()
	f.wantHashing(2)
	stop()
	wantError(t, <-outcome, context.Canceled)
	leave()
	reads.let <- struct{}{}
	wantError(t, <-outcome, context.Canceled)
	wantEqual(t, "further steps", len(reads.begun), 0)
	f.wantChecksums("/f", object("f"), "SHA256")
	close(reads.let)
	must(t, ask(t.Context()))
	f.wantHashing(0)
	f.wantChecksums("/f", object("f"), "SHA1", "SHA256")
}

// TestChecksumsOfOthersDoNotWait: a workspace that computes is in the way of no
// other while there is a core.
func TestChecksumsOfOthersDoNotWait(t *testing.T) {
	f, reads := newSlowReads(t)
	bob := f.addUser("bob")
	f.put("/f", object("f"))
	_, _, err := f.Put(t.Context(), at(bob, "/f"), file(object("g")), store.Holder(bob.ID))
	must(t, err)
	var all sync.WaitGroup
	for _, target := range []store.Target{f.at("/f"), at(bob, "/f")} {
		all.Go(func() {
			if known, err := f.Checksums(t.Context(), target, "SHA1"); err != nil || len(known) != 2 {
				t.Errorf("%v (%v)", known, err)
			}
		})
	}
	for range 2 {
		<-reads.begun
	}
	close(reads.let)
	all.Wait()
}
