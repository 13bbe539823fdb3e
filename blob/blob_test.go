package blob_test

import (
	"testing"

	"holdfast/blob"
	"holdfast/blob/blobtest"
)

func TestDir(t *testing.T) {
	for name, opts := range map[string]blob.DirOptions{"Sync": {Sync: true}, "NoSync": {}} {
		t.Run(name, func(t *testing.T) {
			blobtest.Suite(t, func(t *testing.T) blob.Store { return newDir(t, opts) })
		})
	}
}

func TestS3(t *testing.T) {
	opts := blobtest.StartS3(t)
	blobtest.Suite(t, func(t *testing.T) blob.Store { return newS3(t, opts) })
}

func newDir(t *testing.T, opts blob.DirOptions) *blob.Dir {
	t.Helper()
	d, err := blob.NewDir(t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// newS3 opens an empty store on a shared engine.
func newS3(t *testing.T, opts blob.S3Options) *blob.S3 {
	t.Helper()
	opts.Prefix = blob.NewKey()
	s, err := blob.NewS3(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
