package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

func TestRestoreVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping(3))
	f.mkdir("/d")
	_, _, err := f.Put(t.Context(), f.at("/d/f"), store.File{Body: strings.NewReader(object("one")), Size: -1, ContentType: "text/one"}, f.me())
	must(t, err)
	f.write("/d/f", "two", "three")
	f.setProp("/d/f", "a", "1")
	l := f.lock("/d/f", lockns.Resource).Lock
	claim := with{f.user.ID, []string{l.Token}}
	before, generation, tree := f.entry(f.at("/d/f")), f.generation(f.user), f.treeVersion()
	f.advance(time.Hour)
	t.Run("is refused by a lock as a write is", func(t *testing.T) {
		_, err := f.RestoreVersion(t.Context(), f.at("/d/f"), f.nth("/d/f", 1), f.me())
		wantLocked(t, err, l.Token)
	})
	t.Run("is refused by a condition, after the locks", func(t *testing.T) {
		_, err := f.RestoreVersion(t.Context(), f.at("/d/f"), f.nth("/d/f", 1), unmet{claim})
		wantError(t, err, store.ErrPrecondition)
		_, err = f.RestoreVersion(t.Context(), f.at("/d/f"), f.nth("/d/f", 1), unmet{with{user: f.user.ID}})
		wantLocked(t, err, l.Token)
	})
	t.Run("brings the content back and keeps what the file held", func(t *testing.T) {
		n, err := f.RestoreVersion(t.Context(), f.at("/d/f"), f.nth("/d/f", 1), claim)
		must(t, err)
		wantEqual(t, "what Stat says", f.stat("/d/f"), n)
		wantEqual(t, "content", f.read("/d/f"), object("one"))
		wantEqual(t, "content type", n.ContentType, "text/one")
		wantSlice(t, "versions", f.history("/d/f"), []string{"three", "two", "one"})
		wantEqual(t, "objects, shared", f.objects(), 1)
		wantEqual(t, "used", f.used(f.user), int64(2*len(object("one"))+len("twothree"))+propBytes)
	})
	t.Run("gives a new entity tag and time, and nothing else new", func(t *testing.T) {
		after := f.entry(f.at("/d/f"))
		all, err := f.Versions(t.Context(), f.at("/d/f"), 0, 0)
		must(t, err)
		if after.ETag == before.ETag || after.ETag == all[2].ETag {
			t.Errorf("ETag %s is an old one", after.ETag)
		}
		wantEqual(t, "modified", after.Modified, f.now())
		wantEqual(t, "identity", after.Place.Root, before.Place.Root)
		wantEqual(t, "name", after.Name, before.Name)
		wantEqual(t, "created", after.Created, before.Created)
		wantSlice(t, "properties", f.props("/d/f"), []string{"a=1"})
		wantSlice(t, "locks", f.tokens("/d/f"), []string{l.Token})
		wantEqual(t, "generation", f.generation(f.user), generation)
		wantEqual(t, "tree version", f.treeVersion(), tree+1)
		wantEqual(t, "folder not modified", f.stat("/d").Modified, before.Created)
	})
	t.Run("the restored version goes when it is the oldest and one too many", func(t *testing.T) {
		n, err := f.RestoreVersion(t.Context(), f.at("/d/f"), f.nth("/d/f", 2), claim)
		must(t, err)
		wantEqual(t, "content", f.read("/d/f"), object("one"))
		wantEqual(t, "what Stat says", f.stat("/d/f"), n)
		wantSlice(t, "versions", f.history("/d/f"), []string{"one", "three", "two"})
	})
	t.Run("a lock on the folder alone is not in the way", func(t *testing.T) {
		f.write("/g", "one", "two")
		f.lock("/", lockns.Resource)
		_, err := f.RestoreVersion(t.Context(), f.at("/g"), f.nth("/g", 0), f.me())
		must(t, err)
	})
}

// unmet is a claim whose condition is false.
type unmet struct{ with }

func (unmet) Precondition(store.View) error { return store.ErrPrecondition }

// TestVersionsQuota: kept content counts, and a change is refused for what would
// be stored after it, not for versions that go with it.
func TestVersionsQuota(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		contents []string // of /f so far; one version is kept
		quota    int64
		change   func(f *fixture) error
		want     error
	}{
		{"an overwrite counts the former content", []string{"1234"}, 9, putting("123456"), store.ErrQuota},
		{"an overwrite that fits beside the former content", []string{"1234"}, 10, putting("123456"), nil},
		{"an overwrite does not count the version that it prunes", []string{"123456789", "1234"}, 13, putting("123456789"), nil},
		{"an overwrite counts all that stays", []string{"123456789", "1234"}, 13, putting("123456789x"), store.ErrQuota},
		{"an overwrite of nothing prunes nothing", []string{"12345", "1234", ""}, 9, putting("123456"), store.ErrQuota},
		{"an overwrite of nothing beside a version", []string{"12345", "1234", ""}, 10, putting("123456"), nil},
		{"a restore does not count the version that it prunes", []string{"123456789", "1234"}, 13, restoring, nil},
		{"a restore counts all that stays", []string{"123456789", "12345"}, 13, restoring, store.ErrQuota},
		{"a copy does not count the version that it prunes", []string{"123456789", "1234"}, 13 + 9, copying, nil},
		{"a copy counts all that stays", []string{"123456789", "12345"}, 13 + 9, copying, store.ErrQuota},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, keeping(1))
			f.put("/nine", "123456789")
			f.write("/f", c.contents...)
			before := f.used(f.user)
			quota := c.quota
			if !strings.Contains(c.name, "copy") {
				f.remove("/nine")
				before -= 9
			}
			f.setQuota(quota)
			err := c.change(f)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if err != nil {
				wantEqual(t, "used", f.used(f.user), before)
			} else if used := f.used(f.user); used != quota {
				t.Errorf("used %d, want all of the quota of %d", used, quota)
			}
		})
	}
	t.Run("a body of unknown length is cut off where it would not fit", func(t *testing.T) {
		f := newFixture(t, keeping(1))
		f.write("/f", "123456789", "1234")
		f.setQuota(13)
		body := store.File{Body: strings.NewReader("123456789x"), Size: -1}
		_, _, err := f.Put(t.Context(), f.at("/f"), body, f.me())
		wantError(t, err, store.ErrQuota)
		body = store.File{Body: strings.NewReader("123456789"), Size: -1}
		_, _, err = f.Put(t.Context(), f.at("/f"), body, f.me())
		must(t, err)
	})
}

func putting(content string) func(*fixture) error {
	return func(f *fixture) error {
		_, _, err := f.Put(f.t.Context(), f.at("/f"), file(content), f.me())
		return err
	}
}

func restoring(f *fixture) error {
	_, err := f.RestoreVersion(f.t.Context(), f.at("/f"), f.nth("/f", 0), f.me())
	return err
}

func copying(f *fixture) error {
	_, err := f.transfer("copy", "/nine", "/f", false)
	return err
}

// TestRaceRestore: both a write and a restore go through, one after the other, and
// nothing that either replaced is lost.
func TestRaceRestore(t *testing.T) {
	f := newFixture(t, keeping(10))
	f.race(store.Queued, func(dir string) (a, b func() error) {
		f.put(dir+"/f", "old")
		f.put(dir+"/f", object("now"))
		id := f.nth(dir+"/f", 0)
		return func() error {
				_, _, err := f.Put(f.t.Context(), f.at(dir+"/f"), file("new"), f.me())
				return err
			}, func() error {
				_, err := f.RestoreVersion(f.t.Context(), f.at(dir+"/f"), id, f.me())
				return err
			}
	}, func(t *testing.T, dir string, put, restore error) {
		must(t, errors.Join(put, restore))
		want := []string{"old", "now", "old"}
		if f.read(dir+"/f") == "old" {
			want[0] = "new"
		} else {
			wantEqual(t, "content", f.read(dir+"/f"), "new")
		}
		wantSlice(t, "versions", f.history(dir+"/f"), want)
	})
}

// TestRaceLastVersion: a restore and the write that prunes its version.
func TestRaceLastVersion(t *testing.T) {
	f := newFixture(t, keeping(1))
	f.race(store.Queued, func(dir string) (a, b func() error) {
		f.put(dir+"/f", "old")
		f.put(dir+"/f", object("now"))
		id := f.nth(dir+"/f", 0)
		return func() error {
				_, _, err := f.Put(f.t.Context(), f.at(dir+"/f"), file("new"), f.me())
				return err
			}, func() error {
				_, err := f.RestoreVersion(f.t.Context(), f.at(dir+"/f"), id, f.me())
				return err
			}
	}, func(t *testing.T, dir string, put, restore error) {
		must(t, put)
		wantEqual(t, "content", f.read(dir+"/f"), "new")
		kept := "old"
		if restore != nil {
			wantError(t, restore, store.ErrNotFound)
			kept = "now"
		}
		wantSlice(t, "versions", f.history(dir+"/f"), []string{kept})
	})
}

// TestVersionFailpoints fails each change that keeps a version at each of its
// points: nothing is left of it.
func TestVersionFailpoints(t *testing.T) {
	t.Parallel()
	failure := errors.New("failed on purpose")
	for _, c := range []struct {
		name   string
		points []store.Point
		change func(*fixture) error
		want   []string // versions after its success
	}{
		{"PUT inline", points, putting("new"), []string{"two", "one"}},
		{"PUT of an object", points, putting(object("new")), []string{"two", "one"}},
		{"RestoreVersion", points[2:], func(f *fixture) error {
			_, err := f.RestoreVersion(f.t.Context(), f.at("/f"), f.nth("/f", 1), f.me())
			return err
		}, []string{"two", "one"}},
		{"COPY", points[2:], func(f *fixture) error {
			_, err := f.transfer("copy", "/other", "/f", false)
			return err
		}, []string{"two", "one"}},
		{"MOVE", points[2:], func(f *fixture) error {
			_, err := f.transfer("move", "/other", "/f", false)
			return err
		}, []string{"two", "past"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, keeping(2))
			f.write("/f", object("zero"), "one", object("two"))
			f.write("/other", object("past"), "other")
			before := f.versionState()
			for _, p := range c.points {
				f.SetHook(failAt(p, failure))
				err := c.change(f)
				f.SetHook(nil)
				if !errors.Is(err, failure) {
					t.Fatalf("at %s: error %v, want the failure", p, err)
				}
				if after := f.versionState(); after != before {
					t.Errorf("failed at %s it left\n%s\nwant\n%s", p, after, before)
				}
			}
			f.SetHook(failAt(store.Committed, store.ErrCommitUnknown))
			wantError(t, c.change(f), store.ErrCommitUnknown)
			f.SetHook(nil)
			wantSlice(t, "versions", f.history("/f"), c.want)
			f.sweep()
			wantSlice(t, "versions after the sweep", f.history("/f"), c.want)
			f.clean()
		})
	}
}

// versionState is state with the versions.
func (f *fixture) versionState() string {
	f.t.Helper()
	state := f.state()
	for _, path := range []string{"/f", "/other"} {
		all, err := f.Versions(context.Background(), f.at(path), 0, 0)
		must(f.t, err)
		state += fmt.Sprintln(path, all, f.history(path))
	}
	return state
}
