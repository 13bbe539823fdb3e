package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	raw   *sql.DB // a connection beside the store's, see number
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
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, a := range adjust {
		a(&f.o)
	}
	if path := strings.TrimPrefix(f.o.DB, "sqlite:"); !exists(path) {
		must(t, os.WriteFile(path, newest(), 0o600))
	}
	f.open()
	f.user = f.addUser("ada")
	t.Cleanup(func() {
		f.SetHook(nil)
		f.clean()
		must(t, f.Close())
		if f.raw != nil {
			must(t, f.raw.Close())
		}
	})
	return f
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// newest and oldest are empty databases of the newest version and of the first.
// Migrating takes longer than most tests do, so it happens once.
var (
	newest = sync.OnceValue(func() []byte { return empty(0) })
	oldest = sync.OnceValue(func() []byte { return empty(5) })
)

// empty is an empty database some migrations back from the newest.
func empty(back int) []byte {
	dir, err := os.MkdirTemp("", "holdfast-store-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "db")
	for i := 0; err == nil && i <= back; i++ {
		_, err = store.Migrate(context.Background(), "sqlite:"+path, i == 0)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		panic(err)
	}
	return data
}

// number reads one number straight from the database, as another program would.
func (f *fixture) number(query string, args ...any) int64 {
	f.t.Helper()
	var n int64
	must(f.t, f.database().QueryRow(query, args...).Scan(&n))
	return n
}

// sql changes the database behind the store's back.
func (f *fixture) sql(query string, args ...any) {
	f.t.Helper()
	_, err := f.database().Exec(query, args...)
	must(f.t, err)
}

func (f *fixture) database() *sql.DB {
	if f.raw == nil {
		db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(f.o.DB, "sqlite:")+"?_pragma=busy_timeout(10000)")
		must(f.t, err)
		db.SetMaxOpenConns(1)
		f.raw = db
	}
	return f.raw
}

// fill puts n files m00000… of two bytes into a folder, faster than one by one.
func (f *fixture) fill(path string, n int) {
	f.t.Helper()
	folder := f.stat(path).Place.Root.ID
	first := f.put(path+"/m00000", "xx")
	f.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 - 1)
INSERT INTO files (namespace_id, folder_id, name, name_key, blob_id, size, version, created_at, modified_at)
SELECT o.namespace_id, ?1, printf('m%05d', i), printf('m%05d', i), o.blob_id, o.size, o.version || '-' || i, o.created_at, o.modified_at
FROM n CROSS JOIN files o WHERE o.id = ?3`, folder, n, first.Place.Root.ID)
	f.sql(`UPDATE blobs SET refs = (SELECT count(*) FROM files WHERE blob_id = blobs.id)`)
	f.recount()
}

// recount books what the rows take, after a change behind the store's back.
func (f *fixture) recount() {
	f.t.Helper()
	f.sql(`UPDATE storage_usage SET bytes =
(SELECT coalesce(sum(size + props_bytes + versions_bytes), 0) FROM files WHERE namespace_id = storage_usage.namespace_id)
+ (SELECT coalesce(sum(props_bytes), 0) FROM folders WHERE namespace_id = storage_usage.namespace_id)`)
}

// folders puts n empty folders x1… into a folder.
func (f *fixture) folders(path string, n int) {
	f.t.Helper()
	f.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO folders (namespace_id, parent_id, name, name_key) SELECT namespace_id, id, 'x' || i, 'x' || i FROM n CROSS JOIN folders WHERE id = ?`,
		n, f.stat(path).Place.Root.ID)
}

// chain makes nested folders in a folder, faster than one by one.
func (f *fixture) chain(path string, names store.Path) {
	f.t.Helper()
	tx, err := f.database().Begin()
	must(f.t, err)
	defer tx.Rollback()
	ids := strings.Split(strings.Trim(f.stat(path).Place.Ancestry, "/"), "/")
	parent := ids[len(ids)-1]
	for _, name := range names {
		must(f.t, tx.QueryRow(`INSERT INTO folders (namespace_id, parent_id, name, name_key)
SELECT namespace_id, id, ?1, ?1 FROM folders WHERE id = ?2 RETURNING id`, name, parent).Scan(&parent))
	}
	must(f.t, tx.Commit())
}

// rows is how many rows a table has.
func (f *fixture) rows(table string) int64 { return f.number(`SELECT count(*) FROM ` + table) }

// generation is the version of a user's lock projection.
func (f *fixture) generation(u store.User) int64 {
	return f.number(`SELECT generation FROM resource_lock_namespaces WHERE workspace_type = 'personal' AND workspace_id = ?`, u.ID)
}

// used is what a user's workspace stores, in bytes.
func (f *fixture) used(u store.User) int64 {
	f.t.Helper()
	usage, err := f.Usage(f.t.Context(), u.Workspace())
	must(f.t, err)
	return usage.Used
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
	_, r, err := f.Read(f.t.Context(), f.at(path))
	must(f.t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	must(f.t, err)
	return string(b)
}

func (f *fixture) remove(path string) {
	f.t.Helper()
	must(f.t, f.Remove(f.t.Context(), f.at(path), f.me()))
}

func (f *fixture) move(from, to string) {
	f.t.Helper()
	_, err := f.Move(f.t.Context(), f.at(from), f.at(to), store.MoveOptions{}, f.me())
	must(f.t, err)
}

func (f *fixture) copy(from, to string) {
	f.t.Helper()
	_, _, err := f.Copy(f.t.Context(), f.at(from), f.at(to), store.CopyOptions{}, f.me())
	must(f.t, err)
}

// propBytes is what a property that setProp sets takes, for names and values of
// one byte.
const propBytes = int64(len("urn:x") + 2)

// setProp gives a resource the dead property {urn:x}NAME.
func (f *fixture) setProp(path, name, value string) {
	f.t.Helper()
	op := store.PropOp{Property: store.Property{Space: "urn:x", Local: name, XML: value}}
	_, err := f.PatchProps(f.t.Context(), f.at(path), store.Patch{Props: []store.PropOp{op}}, f.me())
	must(f.t, err)
}

func (f *fixture) stat(path string) store.Node {
	f.t.Helper()
	n, err := f.Stat(f.t.Context(), f.at(path))
	must(f.t, err)
	return n
}

// gone fails the test unless the path maps to nothing.
func (f *fixture) gone(path string) {
	f.t.Helper()
	_, err := f.Stat(f.t.Context(), f.at(path))
	wantError(f.t, err, store.ErrNotFound)
}

// entry is one resource with everything that a Walk can say of it.
func (f *fixture) entry(target store.Target) (entry store.Entry) {
	f.t.Helper()
	must(f.t, f.Walk(f.t.Context(), target, store.DepthZero, store.Want{Props: true, Locks: true}, 0, func(e store.Entry) error {
		entry = e
		return nil
	}))
	return entry
}

// props are the dead properties of a path, "name=value" each.
func (f *fixture) props(path string) []string {
	f.t.Helper()
	var all []string
	for _, p := range f.entry(f.at(path)).Props {
		all = append(all, p.Local+"="+p.XML)
	}
	return all
}

// tokens are those of the active locks that cover a path, sorted.
func (f *fixture) tokens(path string) []string {
	f.t.Helper()
	return tokensOf(f.entry(f.at(path)).Locks)
}

func tokensOf(locks []lockns.Lock) []string {
	all := []string{}
	for _, l := range locks {
		all = append(all, l.Token)
	}
	slices.Sort(all)
	return all
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

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

// wantLocked fails the test unless err is a refusal by exactly these locks.
func wantLocked(t *testing.T, err error, tokens ...string) {
	t.Helper()
	var refusal *lockns.LockedError
	if !errors.As(err, &refusal) {
		t.Fatalf("error %v, want a refusal by locks", err)
	}
	slices.Sort(tokens)
	if got := tokensOf(refusal.Locks); !slices.Equal(got, tokens) {
		t.Fatalf("refused by %v, want %v", got, tokens)
	}
}

// wantConflict fails the test unless err is a refusal to grant a lock.
func wantConflict(t *testing.T, err error, covering, below []string) {
	t.Helper()
	var conflict *lockns.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("error %v, want a conflict of locks", err)
	}
	if got := tokensOf(conflict.Covering); !slices.Equal(got, covering) {
		t.Errorf("conflict with %v at or above, want %v", got, covering)
	}
	if got := tokensOf(conflict.Below); !slices.Equal(got, below) {
		t.Errorf("conflict with %v below, want %v", got, below)
	}
}

func wantEqual[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func wantSlice(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// deepPath is a path of n levels.
func deepPath(n int) store.Path {
	p := make(store.Path, n)
	for i := range p {
		p[i] = fmt.Sprintf("d%d", i+1)
	}
	return p
}
