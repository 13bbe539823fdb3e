package blob_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"holdfast/blob"
)

func TestDirIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	root := filepath.Join(t.TempDir(), "data", "blobs")
	d, err := blob.NewDir(root, blob.DirOptions{Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blob.Write(t.Context(), d, strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = filepath.WalkDir(filepath.Dir(root), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = fs.ModeDir | 0o700
		}
		if seen++; info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
		return nil
	})
	if err != nil || seen != 4 {
		t.Errorf("saw %d files and folders, %v; want 4", seen, err)
	}
}

func TestDirListsWhatACrashLeft(t *testing.T) {
	root := t.TempDir()
	d, err := blob.NewDir(root, blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	torn := blob.NewKey()
	for name, text := range map[string]string{
		torn:                  "half of a bo",
		"lost+found/x":        "not ours",
		"Thumbs.db":           "not ours",
		torn[:2] + "/.hidden": "not ours",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []blob.Info
	for info, err := range d.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, info)
	}
	if len(got) != 1 || got[0].Key != torn || got[0].Size != 12 {
		t.Errorf("List = %+v, want only the torn object of 12 bytes", got)
	}
}

func TestDirMakesAFolderAgain(t *testing.T) {
	root := t.TempDir()
	d, err := blob.NewDir(root, blob.DirOptions{Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Put(t.Context(), "a/b/c", strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDirOpenFileOutlivesItsDeletion(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed")
	}
	d := newDir(t, blob.DirOptions{})
	o, err := blob.Write(t.Context(), d, strings.NewReader("still here"), -1)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := d.Open(t.Context(), o.Key, 6, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := d.Delete(t.Context(), o.Key); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(stream); err != nil || string(got) != "here" {
		t.Errorf("read %q, %v", got, err)
	}
}
