package dav

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-webdav"

	"holdfast/blob"
	"holdfast/store"
)

// TestPropfindOracle asks go-webdav for the listing of a tree, over the session
// that serves its other methods, and compares what its client reads from that
// with what it reads from this package's own PROPFIND.
func TestPropfindOracle(t *testing.T) {
	h, p := newTree(t)
	ours := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Serve(w, r, p) }))
	defer ours.Close()
	theirs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := &request{h: h, r: r, principal: p}
		if err := errors.Join(q.locate(), q.admit()); err != nil {
			t.Error(err)
		}
		(&webdav.Handler{FileSystem: &session{q: q}}).ServeHTTP(w, r)
	}))
	defer theirs.Close()
	for _, path := range []string{"", "d e/", "f.txt", "d e/%/"} {
		want, got := readDir(t, theirs.URL, path), readDir(t, ours.URL, path)
		if len(want) == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v", path, got, want)
		}
	}
}

// newTree is a handler for a small tree and its owner.
func newTree(t testing.TB) (*Handler, Principal) {
	t.Helper()
	ctx, folder := t.Context(), t.TempDir()
	blobs, err := blob.NewDir(filepath.Join(folder, "blobs"), blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(ctx, store.Options{
		DB: "sqlite:" + filepath.Join(folder, "test.db"), Blobs: blobs, NoSync: true, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	u, err := s.AddUser(ctx, store.NewUser{Name: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) store.Target { return store.Target{Workspace: u.Workspace(), Path: names} }
	for _, folder := range []store.Target{at("d e"), at("d e", "%")} {
		if _, err := s.Mkdir(ctx, folder, store.Patch{}, store.Holder(u.ID)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []store.Target{at("f.txt"), at("d e", "ü#?.bin"), at("d e", "%", "x+y")} {
		f := store.File{Body: strings.NewReader("content"), Size: 7}
		if _, _, err := s.Put(ctx, file, f, store.Holder(u.ID)); err != nil {
			t.Fatal(err)
		}
	}
	return New(Options{Store: s, Prefix: "/dav"}), Principal{UserID: u.ID, Name: u.Name, Workspace: u.Workspace()}
}

// readDir lists a path with go-webdav's client. Folders have no modification
// time there.
func readDir(t *testing.T, url, path string) []webdav.FileInfo {
	t.Helper()
	c, err := webdav.NewClient(http.DefaultClient, url+"/dav/")
	if err != nil {
		t.Fatal(err)
	}
	infos, err := c.ReadDir(t.Context(), path, true)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for i := range infos {
		if infos[i].IsDir {
			infos[i] = webdav.FileInfo{Path: infos[i].Path, IsDir: true}
		}
	}
	slices.SortFunc(infos, func(a, b webdav.FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return infos
}
