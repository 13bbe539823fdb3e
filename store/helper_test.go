package store_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/blob"
	"holdfast/lockns"
	"holdfast/store"
)

// fixture is a store on disk with one user, and a clock that the test sets.
type fixture struct {
	*store.Store
	t     *testing.T
	o     store.Options
	clock atomic.Int64 // UTC microseconds
	user  store.User
}

func (f *fixture) now() time.Time          { return time.UnixMicro(f.clock.Load()).UTC() }
func (f *fixture) advance(d time.Duration) { f.clock.Add(d.Microseconds()) }

func newFixture(t *testing.T, adjust ...func(*store.Options)) *fixture {
	t.Helper()
	dir := t.TempDir()
	blobs, err := blob.NewDir(filepath.Join(dir, "blobs"), blob.DirOptions{})
	must(t, err)
	f := &fixture{t: t}
	f.clock.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
	f.o = store.Options{
		DB: "sqlite:" + filepath.Join(dir, "holdfast.db"), Blobs: blobs, InlineMax: 16, NoSync: true, Now: f.now,
	}
	for _, a := range adjust {
		a(&f.o)
	}
	f.open()
	f.user = f.addUser("ada")
	t.Cleanup(func() {
		f.SetHook(nil)
		f.clean()
		must(t, f.Close())
	})
	return f
}

func (f *fixture) open() {
	f.t.Helper()
	s, err := store.Open(f.t.Context(), f.o)
	must(f.t, err)
	f.Store = s
}

func (f *fixture) reopen() {
	f.t.Helper()
	must(f.t, f.Close())
	f.open()
}

// clean fails the test for every fault that check finds.
func (f *fixture) clean() {
	f.t.Helper()
	must(f.t, f.Check(context.Background(), func(fault string) { f.t.Errorf("check: %s", fault) }))
}

func (f *fixture) addUser(name string) store.User {
	f.t.Helper()
	u, err := f.AddUser(f.t.Context(), store.NewUser{Name: name, PasswordHash: "x"})
	must(f.t, err)
	return u
}

// at is a path in the first user's workspace.
func (f *fixture) at(path string) store.Target { return at(f.user, path) }

func at(u store.User, path string) store.Target {
	return store.Target{Workspace: u.Workspace(), Path: store.ParsePath(path)}
}

// me is the claim of the first user without tokens.
func (f *fixture) me() store.Claim { return store.Holder(f.user.ID) }

// with is a claim of a user that submits tokens without conditions.
type with struct {
	user   int64
	tokens []string
}

func (w with) Prove(store.View) (lockns.Credentials, error) {
	c := lockns.Credentials{User: w.user}
	for _, t := range w.tokens {
		c.Tokens = append(c.Tokens, lockns.Token{Value: t, Origin: lockns.WebDAV})
	}
	return c, nil
}
func (with) Precondition(store.View) error { return nil }

func (f *fixture) put(path, content string) store.Node {
	f.t.Helper()
	n, _, err := f.Put(f.t.Context(), f.at(path), file(content), f.me())
	must(f.t, err)
	return n
}

func file(content string) store.File {
	return store.File{Body: strings.NewReader(content), Size: int64(len(content))}
}

func (f *fixture) mkdir(path string) {
	f.t.Helper()
	_, err := f.Mkdir(f.t.Context(), f.at(path), store.Patch{}, f.me())
	must(f.t, err)
}

func (f *fixture) read(path string) string {
	f.t.Helper()
	n, err := f.Stat(f.t.Context(), f.at(path))
	must(f.t, err)
	r, err := f.Store.Open(f.t.Context(), n)
	must(f.t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	must(f.t, err)
	return string(b)
}

// lock acquires an exclusive lock for the first user.
func (f *fixture) lock(path string, depth lockns.Depth) store.Locked {
	f.t.Helper()
	l, err := f.Lock(f.t.Context(), f.at(path), f.spec(depth), f.me())
	must(f.t, err)
	return l
}

func (f *fixture) spec(depth lockns.Depth) store.LockSpec { return specOf(f.user, depth) }

func specOf(u store.User, depth lockns.Depth) store.LockSpec {
	return store.LockSpec{Depth: depth, Mode: lockns.Exclusive, Origin: lockns.WebDAV, Holder: u.ID, Timeout: time.Hour}
}

// list is the tree below a path, one path a line, folders with a slash.
func (f *fixture) list(path string) string {
	f.t.Helper()
	var lines []string
	err := f.Walk(f.t.Context(), f.at(path), store.DepthInfinity, store.Want{}, 0, func(e store.Entry) error {
		line := e.Path.String()
		if e.IsFolder() && line != "/" {
			line += "/"
		}
		lines = append(lines, line)
		return nil
	})
	must(f.t, err)
	return strings.Join(lines, "\n")
}

// objects is how many objects the body store holds besides the shared empty.
func (f *fixture) objects() int {
	f.t.Helper()
	n := 0
	for info, err := range f.o.Blobs.List(f.t.Context()) {
		must(f.t, err)
		if info.Key != blob.EmptyKey {
			n++
		}
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
