package blobtest_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"holdfast/blob"
	"holdfast/blob/blobtest"
)

func newFault(t *testing.T) *blobtest.Fault {
	t.Helper()
	d, err := blob.NewDir(t.TempDir(), blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &blobtest.Fault{Store: d}
}

func TestFaultWithoutHooksIsAStore(t *testing.T) {
	blobtest.Suite(t, func(t *testing.T) blob.Store { return newFault(t) })
}

var errFault = errors.New("fault")

// everyMethod calls each method once on an object that is there, except Put,
// which makes a new one, and returns what each answered.
func everyMethod(ctx context.Context, s blob.Store, there string) map[blobtest.Method]error {
	got := make(map[blobtest.Method]error)
	got[blobtest.Put] = s.Put(ctx, blob.NewKey(), strings.NewReader("new"), 3)
	stream, err := s.Open(ctx, there, 0, -1)
	if err == nil {
		_, err = io.Copy(io.Discard, stream)
		err = errors.Join(err, stream.Close())
	}
	got[blobtest.Open] = err
	_, got[blobtest.Stat] = s.Stat(ctx, there)
	for _, err := range s.List(ctx) {
		got[blobtest.List] = err
	}
	got[blobtest.Delete] = s.Delete(ctx, there)
	return got
}

func TestFaultFailsOneMethod(t *testing.T) {
	methods := []blobtest.Method{blobtest.Put, blobtest.Open, blobtest.Stat, blobtest.Delete, blobtest.List}
	for _, after := range []bool{false, true} {
		for _, m := range methods {
			name := m.String() + " before"
			if after {
				name = m.String() + " after"
			}
			t.Run(name, func(t *testing.T) { failOne(t, m, after) })
		}
	}
}

func failOne(t *testing.T, m blobtest.Method, after bool) {
	f := newFault(t)
	o, err := blob.Write(t.Context(), f, strings.NewReader("there"), -1)
	if err != nil {
		t.Fatal(err)
	}
	f.ResetCalls()
	hook := func(_ context.Context, c blobtest.Call) error {
		if c.Method == m {
			return errFault
		}
		return nil
	}
	if f.Before = hook; after {
		f.Before, f.After = nil, hook
	}
	for method, err := range everyMethod(t.Context(), f, o.Key) {
		if got := errors.Is(err, errFault); got != (method == m) {
			t.Errorf("%v = %v", method, err)
		}
		if n := f.Calls(method); n != 1 {
			t.Errorf("%v was counted %d times, want 1", method, n)
		}
	}
	// What a hook before the call failed did not happen; after it, it did.
	objects := 0
	for range f.Store.List(t.Context()) {
		objects++
	}
	want := 1
	if !after && m == blobtest.Put {
		want = 0
	}
	if !after && m == blobtest.Delete {
		want = 2
	}
	if objects != want {
		t.Errorf("the store holds %d objects, want %d", objects, want)
	}
}
