package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/blob"
	"holdfast/blob/blobtest"
	"holdfast/store"
)

func TestCollectGarbage(t *testing.T) {
	f := newFixture(t)
	f.put("/f", strings.Repeat("x", 100))
	f.put("/f", strings.Repeat("y", 100))
	f.advance(15*time.Minute - time.Microsecond)
	collect := func() int {
		n, err := f.CollectGarbage(t.Context())
		must(t, err)
		return n
	}
	wantEqual(t, "removed before 15 minutes", collect(), 0)
	wantEqual(t, "objects", f.objects(), 2)
	f.advance(time.Microsecond)
	wantEqual(t, "removed after 15 minutes", collect(), 1)
	wantEqual(t, "objects", f.objects(), 1)
	wantEqual(t, "garbage", f.rows("garbage"), 0)
	wantEqual(t, "content", f.read("/f"), strings.Repeat("y", 100))
	wantEqual(t, "removed again", collect(), 0)
}

// TestCollectGarbageGoesOn: an object that cannot be removed is tried again and
// keeps no other back.
func TestCollectGarbageGoesOn(t *testing.T) {
	fault := &blobtest.Fault{}
	f := newFixture(t, func(o *store.Options) { fault.Store, o.Blobs = o.Blobs, fault })
	for _, path := range []string{"/a", "/b"} {
		f.put(path, strings.Repeat("x", 100))
		f.remove(path)
	}
	f.advance(15 * time.Minute)
	stuck := errors.New("cannot be removed")
	first := true
	fault.Before = func(_ context.Context, c blobtest.Call) error {
		if c.Method == blobtest.Delete && first {
			first = false
			return stuck
		}
		return nil
	}
	n, err := f.CollectGarbage(t.Context())
	wantError(t, err, stuck)
	wantEqual(t, "removed beside it", n, 1)
	n, err = f.CollectGarbage(t.Context())
	must(t, err)
	wantEqual(t, "removed then", n, 1)
	wantEqual(t, "objects", f.objects(), 0)
}

func TestRemoveOrphans(t *testing.T) {
	f := newFixture(t)
	f.put("/f", strings.Repeat("x", 100))
	f.put("/g", strings.Repeat("y", 100))
	f.remove("/g") // garbage, not an orphan
	orphan := blob.NewKey()
	must(t, f.o.Blobs.Put(t.Context(), orphan, strings.NewReader("lost"), 4))
	written := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.setModified(written)
	sweep := func(age time.Duration) int {
		f.clock.Store(written.Add(age).UnixMicro())
		n, err := f.RemoveOrphans(t.Context())
		must(t, err)
		return n
	}
	wantEqual(t, "removed before a day", sweep(24*time.Hour-time.Microsecond), 0)
	wantEqual(t, "objects", f.objects(), 3)
	wantEqual(t, "removed after a day", sweep(24*time.Hour), 1)
	wantEqual(t, "objects", f.objects(), 2)
	_, err := f.o.Blobs.Stat(t.Context(), orphan)
	wantError(t, err, blob.ErrNotExist)
	_, err = f.o.Blobs.Stat(t.Context(), blob.EmptyKey)
	must(t, err)
	wantEqual(t, "content", f.read("/f"), strings.Repeat("x", 100))
}

// setModified makes all objects as old as it says.
func (f *fixture) setModified(at time.Time) {
	f.t.Helper()
	root := filepath.Join(filepath.Dir(strings.TrimPrefix(f.o.DB, "sqlite:")), "blobs")
	must(f.t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, at, at)
	}))
}

// TestSharedEmpty: the shared object is made once when it is missing, and not at
// all when lock-null resources have objects of their own.
func TestSharedEmpty(t *testing.T) {
	for _, owned := range []bool{false, true} {
		f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = owned })
		_, err := f.o.Blobs.Stat(t.Context(), blob.EmptyKey)
		if owned {
			wantError(t, err, blob.ErrNotExist)
			continue
		}
		must(t, err)
		must(t, f.o.Blobs.Delete(t.Context(), blob.EmptyKey))
		f.reopen()
		_, err = f.o.Blobs.Stat(t.Context(), blob.EmptyKey)
		must(t, err)
	}
}

// TestCheckFinds: every kind of fault that Check knows is found, each alone.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping(1), trashing)
	f.put("/trashed", "x")
	f.remove("/trashed")
	f.mkdir("/d")
	f.mkdir("/d/e")
	f.put("/d/f", strings.Repeat("x", 100))
	f.put("/h", "former")
	f.put("/h", "")
	f.put("/g", "inline")
	f.setProp("/g", "a", "1")
	f.lock("/g", "resource")
	f.addTeam("Ops")
	f.account("phone", store.NewAccount{Team: "Ops"})
	f.clean()
	whole := f.backup()
	for _, c := range []struct{ name, fault, want string }{
		{"a missing root", `UPDATE folders SET detached_at = 1 WHERE parent_id IS NULL`, "has 0 root folders"},
		{"a user without a workspace", `INSERT INTO users (name, name_key) VALUES ('x', 'x')`, "user x has no workspace"},
		{"a member that is no user", `DELETE FROM users`, "a row of team_members refers to a missing row of users"},
		{"a team without a workspace", `INSERT INTO teams (name, name_key) VALUES ('x', 'x')`, "team x has no workspace"},
		{"an account left over from a membership", `DELETE FROM team_members`, "is for a team that user 1 is no member of"},
		{"a workspace without an owner", `DELETE FROM users`, "has no owner"},
		{"a folder in another workspace", `UPDATE folders SET namespace_id = 99 WHERE name = 'd'`, "is in another workspace than its parent"},
		{"a file in another workspace", `UPDATE files SET namespace_id = 99 WHERE name = 'f'`, "is in another workspace than its folder"},
		{"a cycle", `UPDATE folders SET parent_id = id WHERE name = 'd'`, "is not below any root"},
		{"a file and a folder of one name", `UPDATE files SET name = 'e', name_key = 'e' WHERE name = 'f'`, "have one name"},
		{"a wrong number of references", `UPDATE blobs SET refs = refs + 1`, "references, found 1"},
		{"a wrong size", `UPDATE files SET size = size + 1 WHERE name = 'g'`, "its blob"},
		{"a version without a reference", `DELETE FROM file_versions`, "has 1 references, found 0"},
		{"a version of a wrong size", `UPDATE file_versions SET size = size + 1`, "version 1 has size 7, its blob 6"},
		{"forgotten versions", `UPDATE files SET versions_bytes = 0 WHERE name = 'h'`, "says its versions take 0 bytes, found 6"},
		{"versions that are not there", `UPDATE files SET versions_bytes = 1 WHERE name = 'g'`, "says its versions take 1 bytes, found 0"},
		{"lost data", `DELETE FROM blob_data`, "neither or both of object and data"},
		{"cut data", `UPDATE blob_data SET data = x''`, "its data 0"},
		{"garbage in use", `INSERT INTO garbage (object_key, dropped_at) SELECT object_key, 0 FROM blobs WHERE object_key IS NOT NULL`, "is garbage and in use"},
		{"a wrong usage", `UPDATE storage_usage SET bytes = bytes + 1`, "its usage says"},
		{"forgotten properties of a folder", `UPDATE folders SET props_bytes = 1 WHERE name = 'd'`, "says its properties take 1 bytes"},
		{"hidden properties of a file", `UPDATE files SET props_bytes = 0 WHERE name = 'g'`, "says its properties take 0 bytes"},
		{"a lock in another workspace", `UPDATE files SET namespace_id = 99 WHERE name = 'g'`, "is rooted in another workspace"},
		{"a lock with a wrong id path", `UPDATE resource_locks SET ancestry = '/1/2/'`, "has the id path /1/2/"},
		{"trash that is not detached", `UPDATE trash SET folder_id = (SELECT id FROM folders WHERE name = 'e')`, "trash 1 is in no detached folder"},
		{"trash of another workspace", `UPDATE trash SET namespace_id = namespace_id + 1`, "trash 1 is in no detached folder of its workspace"},
		{"trash without its resource", `UPDATE trash SET resource_id = (SELECT id FROM files WHERE name = 'g')`, "trash 1 does not hold its resource alone"},
		{"trash with more than its resource", `UPDATE folders SET parent_id = (SELECT folder_id FROM trash) WHERE name = 'e'`, "trash 1 does not hold its resource alone"},
		{"a wrong name key", `UPDATE files SET name_key = 'z' WHERE name = 'g'`, "has a key that is not its name's"},
		{"a name that is not allowed", `UPDATE files SET name = 'a/b', name_key = 'a/b' WHERE name = 'g'`, "has a name that is not allowed"},
		{"no name", `UPDATE files SET name = '', name_key = '' WHERE name = 'g'`, "has no name"},
		{"a missing object", `UPDATE blobs SET object_key = 'no/such' WHERE object_key IS NOT NULL`, "is missing"},
		{"an object of another size", `UPDATE blobs SET size = 1 WHERE object_key IS NOT NULL`, "says 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.sql(c.fault)
			var faults []string
			must(t, f.Check(t.Context(), func(fault string) { faults = append(faults, fault) }))
			if !strings.Contains(strings.Join(faults, "\n"), c.want) {
				t.Errorf("faults %q, want one with %q", faults, c.want)
			}
			f.restore(whole)
		})
	}
}

// backup and restore undo a fault: every test ends with a check.
func (f *fixture) backup() []byte {
	f.t.Helper()
	path := filepath.Join(f.t.TempDir(), "backup")
	f.sql(`VACUUM INTO ?`, path)
	whole, err := os.ReadFile(path)
	must(f.t, err)
	return whole
}

func (f *fixture) restore(whole []byte) {
	f.t.Helper()
	must(f.t, f.Close())
	must(f.t, f.raw.Close())
	f.raw = nil
	must(f.t, os.WriteFile(strings.TrimPrefix(f.o.DB, "sqlite:"), whole, 0o600))
	f.open()
}
