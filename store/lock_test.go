package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/blob"
	"holdfast/lockns"
	"holdfast/store"
)

func TestLockRoots(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.put("/d/f", "x")
	for _, c := range []struct {
		name, path string
		kind       lockns.RootKind
	}{
		{"the workspace root", "/", lockns.WorkspaceRoot}, {"a folder", "/d", lockns.FolderRoot}, {"a file", "/d/f", lockns.FileRoot},
	} {
		for _, depth := range []lockns.Depth{lockns.Resource, lockns.Infinity} {
			t.Run("locks "+c.name+" to depth "+string(depth), func(t *testing.T) {
				spec := f.spec(depth)
				spec.Owner = "<o>somebody</o>"
				out, err := f.Lock(t.Context(), f.at(c.path), spec, f.me())
				must(t, err)
				l := out.Lock
				wantEqual(t, "created", out.Created, false)
				wantEqual(t, "place", l.Place, f.stat(c.path).Place)
				wantEqual(t, "kind", l.Place.Root.Kind, c.kind)
				wantEqual(t, "depth", l.Depth, depth)
				wantEqual(t, "end", l.ExpiresAt, f.now().Add(time.Hour))
				wantEqual(t, "path", l.Path, c.path)
				wantEqual(t, "token is a version 4 uuid", strings.HasPrefix(l.Token, "urn:uuid:") && len(l.Token) == 45 && l.Token[23] == '4', true)
				if e := f.entry(f.at(c.path)); len(e.Locks) != 1 || e.Locks[0] != l {
					t.Errorf("read back as %+v, want %+v", e.Locks, l)
				}
				wantEqual(t, "reaches the member", len(f.tokens("/d/f")) > 0, depth == lockns.Infinity || c.path == "/d/f")
				must(t, f.Unlock(t.Context(), f.at(c.path), store.ByToken(l.Token), f.me()))
				wantEqual(t, "rows", f.rows("resource_locks"), 0)
			})
		}
	}
}

func TestLockConflicts(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	f.mkdir("/d/e")
	f.put("/d/e/f", "x")
	lock := func(path string, depth lockns.Depth, mode lockns.Mode) (store.Locked, error) {
		spec := specOf(bob, depth)
		spec.Mode = mode
		return f.Lock(t.Context(), f.at(path), spec, store.Holder(bob.ID))
	}
	const in, re, ex, sh = lockns.Infinity, lockns.Resource, lockns.Exclusive, lockns.Shared
	for _, c := range []struct {
		name      string
		path      string
		depth     lockns.Depth
		mode      lockns.Mode
		wantPath  string
		wantDepth lockns.Depth
		wantMode  lockns.Mode
		conflict  string // "", "covering" or "below"
	}{
		{"exclusive excludes exclusive", "/d", re, ex, "/d", re, ex, "covering"},
		{"exclusive excludes shared", "/d", re, ex, "/d", re, sh, "covering"},
		{"shared excludes exclusive", "/d", re, sh, "/d", re, ex, "covering"},
		{"shared admits shared", "/d", in, sh, "/d", in, sh, ""},
		{"resource does not reach a member", "/d", re, ex, "/d/e", re, ex, ""},
		{"infinity reaches members", "/d", in, ex, "/d/e/f", re, ex, "covering"},
		{"infinity over a locked member refused", "/d/e/f", re, ex, "/d", in, ex, "below"},
		{"resource over a locked member granted", "/d/e/f", re, ex, "/d", re, ex, ""},
		{"the workspace reaches everything", "/", in, ex, "/d/e/f", re, sh, "covering"},
		{"the workspace over a locked file refused", "/d/e/f", re, sh, "/", in, ex, "below"},
		{"shared infinity over a shared file granted", "/d/e/f", re, sh, "/", in, sh, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer f.sql(`DELETE FROM resource_locks`)
			first, err := lock(c.path, c.depth, c.mode)
			must(t, err)
			before := f.generation(f.user)
			_, err = lock(c.wantPath, c.wantDepth, c.wantMode)
			switch c.conflict {
			case "":
				must(t, err)
				wantEqual(t, "generation", f.generation(f.user), before+1)
				return
			case "covering":
				wantConflict(t, err, []string{first.Lock.Token}, []string{})
			case "below":
				wantConflict(t, err, []string{}, []string{first.Lock.Token})
			}
			wantEqual(t, "generation", f.generation(f.user), before)
			wantEqual(t, "rows", f.rows("resource_locks"), 1)
		})
	}
}

func TestLockNull(t *testing.T) {
	for _, owned := range []bool{false, true} {
		name := map[bool]string{false: "shared", true: "owned"}[owned]
		t.Run("creates an empty file with the "+name+" object", func(t *testing.T) {
			f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = owned })
			f.mkdir("/d")
			before := f.generation(f.user)
			out, err := f.Lock(t.Context(), f.at("/d/new"), f.spec(lockns.Infinity), f.me())
			must(t, err)
			wantEqual(t, "created", out.Created, true)
			wantEqual(t, "content", f.read("/d/new"), "")
			wantEqual(t, "node", out.Node, f.stat("/d/new"))
			wantSlice(t, "locks", f.tokens("/d/new"), []string{out.Lock.Token})
			wantEqual(t, "generation", f.generation(f.user), before+1)
			wantEqual(t, "owned objects", f.objects(), map[bool]int{true: 1}[owned])
			again, err := f.Lock(t.Context(), f.at("/d/new2"), f.spec(lockns.Resource), f.me())
			must(t, err)
			wantEqual(t, "blobs", f.rows("blobs"), map[bool]int64{false: 1, true: 2}[owned])
			// Filled with content, the empty object loses a reference.
			_, _, err = f.Put(t.Context(), f.at("/d/new2"), file("x"), with{f.user.ID, []string{again.Lock.Token}})
			must(t, err)
			wantEqual(t, "garbage", f.rows("garbage"), map[bool]int64{true: 1}[owned])
		})
	}
	t.Run("the shared object outlives its last reference and every sweep", func(t *testing.T) {
		f := newFixture(t)
		out := f.lock("/new", lockns.Resource)
		must(t, f.Remove(t.Context(), f.at("/new"), with{f.user.ID, []string{out.Lock.Token}}))
		wantEqual(t, "garbage", f.rows("garbage"), 0)
		f.clock.Store(time.Now().Add(1000 * time.Hour).UnixMicro())
		_, err := f.CollectGarbage(t.Context())
		must(t, err)
		_, err = f.RemoveOrphans(t.Context())
		must(t, err)
		_, err = f.o.Blobs.Stat(t.Context(), blob.EmptyKey)
		must(t, err)
		f.lock("/again", lockns.Resource)
		wantEqual(t, "content", f.read("/again"), "")
	})
}

func TestLockNullRefuses(t *testing.T) {
	f := newFixture(t, func(o *store.Options) { o.OwnedEmpties = true })
	bob := f.addUser("bob")
	f.mkdir("/locked")
	f.mkdir("/deep")
	f.put("/file", "")
	resource, deep := f.lock("/locked", lockns.Resource), f.lock("/deep", lockns.Infinity)
	as := func(u store.User, tokens ...string) store.Claim { return with{u.ID, tokens} }
	for _, c := range []struct {
		name, path string
		collection bool
		claim      store.Claim
		check      func(*testing.T, error)
	}{
		{"a missing parent", "/no/new", false, as(bob), func(t *testing.T, err error) { wantError(t, err, store.ErrNoParent) }},
		{"a missing parent of a collection", "/no/new", true, as(bob), func(t *testing.T, err error) { wantError(t, err, store.ErrNoParent) }},
		{"a file as parent", "/file/new", false, as(bob), func(t *testing.T, err error) { wantError(t, err, store.ErrNoParent) }},
		{"an unmapped collection", "/new", true, as(bob), func(t *testing.T, err error) { wantError(t, err, store.ErrNotFound) }},
		{"a bad name", "/..", false, as(bob), func(t *testing.T, err error) { wantError(t, err, store.ErrBadName) }},
		{"a locked parent", "/locked/new", false, as(bob), func(t *testing.T, err error) { wantLocked(t, err, resource.Lock.Token) }},
		{"a locked parent to its holder without the token", "/locked/new", false, as(f.user), func(t *testing.T, err error) { wantLocked(t, err, resource.Lock.Token) }},
		{"a locked parent to another with the token", "/locked/new", false, as(bob, resource.Lock.Token), func(t *testing.T, err error) { wantLocked(t, err, resource.Lock.Token) }},
		{"a name under an infinity lock even with its token", "/deep/new", false, as(f.user, deep.Lock.Token), func(t *testing.T, err error) {
			wantConflict(t, err, []string{deep.Lock.Token}, []string{})
		}},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			before := f.list("/")
			spec := f.spec(lockns.Resource)
			spec.MustExist = c.collection
			_, err := f.Lock(t.Context(), f.at(c.path), spec, c.claim)
			c.check(t, err)
			wantEqual(t, "tree", f.list("/"), before)
			wantEqual(t, "objects", f.objects(), 0)
		})
	}
	t.Run("creates in a folder locked to resource depth with its token", func(t *testing.T) {
		out, err := f.Lock(t.Context(), f.at("/locked/new"), f.spec(lockns.Resource), as(f.user, resource.Lock.Token))
		must(t, err)
		wantEqual(t, "created", out.Created, true)
	})
}

func TestLockGuards(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.put("/d/f", "x")
	f.mkdir("/other")
	ctx := t.Context()
	// Every change that a lock must stop, in the order of the touch table.
	changes := map[string]func(c store.Claim) error{
		"PUT to the file": func(c store.Claim) error { _, _, err := f.Put(ctx, f.at("/d/f"), file("y"), c); return err },
		"PUT of a member": func(c store.Claim) error { _, _, err := f.Put(ctx, f.at("/d/new"), file("y"), c); return err },
		"MKCOL of a member": func(c store.Claim) error {
			_, err := f.Mkdir(ctx, f.at("/d/newdir"), store.Patch{}, c)
			return err
		},
		"PROPPATCH of the file":   func(c store.Claim) error { _, err := f.PatchProps(ctx, f.at("/d/f"), store.Patch{}, c); return err },
		"PROPPATCH of the folder": func(c store.Claim) error { _, err := f.PatchProps(ctx, f.at("/d"), store.Patch{}, c); return err },
		"DELETE of the folder":    func(c store.Claim) error { return f.Remove(ctx, f.at("/d"), c) },
		"DELETE of the file":      func(c store.Claim) error { return f.Remove(ctx, f.at("/d/f"), c) },
		"MOVE of the file away": func(c store.Claim) error {
			_, err := f.Move(ctx, f.at("/d/f"), f.at("/other/f"), store.MoveOptions{}, c)
			return err
		},
		"MOVE onto the folder": func(c store.Claim) error {
			_, err := f.Move(ctx, f.at("/other"), f.at("/d"), store.MoveOptions{}, c)
			return err
		},
		"COPY onto the file": func(c store.Claim) error {
			_, _, err := f.Copy(ctx, f.at("/other"), f.at("/d/f"), store.CopyOptions{}, c)
			return err
		},
	}
	for _, c := range []struct {
		name, path string
		depth      lockns.Depth
		free       []string // the changes that the lock leaves free
	}{
		{"resource on the file", "/d/f", lockns.Resource, []string{"PUT of a member", "MKCOL of a member", "PROPPATCH of the folder"}},
		{"resource on the folder", "/d", lockns.Resource, []string{"PUT to the file", "PROPPATCH of the file"}},
		{"infinity on the folder", "/d", lockns.Infinity, nil},
		{"infinity on the workspace", "/", lockns.Infinity, nil},
		{"resource on the workspace", "/", lockns.Resource, []string{"PUT to the file", "PUT of a member", "MKCOL of a member",
			"PROPPATCH of the file", "PROPPATCH of the folder", "DELETE of the file", "MOVE of the file away", "COPY onto the file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := f.lock(c.path, c.depth)
			defer func() { must(t, f.Unlock(ctx, f.at(c.path), store.ByToken(l.Lock.Token), f.me())) }()
			for name, change := range changes {
				err := undone(f, change, f.me())
				if slices.Contains(c.free, name) {
					if !errors.Is(err, errUndone) {
						t.Errorf("%s: %v, want it free", name, err)
					}
					continue
				}
				var refusal *lockns.LockedError
				if !errors.As(err, &refusal) || len(refusal.Locks) != 1 || refusal.Locks[0].Token != l.Lock.Token {
					t.Errorf("%s without the token: %v, want a refusal", name, err)
				}
				if err := undone(f, change, with{f.user.ID, []string{l.Lock.Token}}); !errors.Is(err, errUndone) {
					t.Errorf("%s with the token: %v, want it done", name, err)
				}
			}
		})
	}
}

var errUndone = errors.New("got to its end, then undone")

// undone runs a change up to its commit and fails it there.
func undone(f *fixture, change func(store.Claim) error, c store.Claim) error {
	f.SetHook(failAt(store.BeforeCommit, errUndone))
	defer f.SetHook(nil)
	return change(c)
}

func TestExpiry(t *testing.T) {
	f := newFixture(t)
	f.put("/f", "x")
	spec := f.spec(lockns.Resource)
	spec.Timeout = time.Minute
	take := func(t *testing.T) lockns.Lock {
		t.Helper()
		l, err := f.Lock(t.Context(), f.at("/f"), spec, f.me())
		must(t, err)
		return l.Lock
	}
	t.Run("at its end a lock is active, one microsecond later it is gone", func(t *testing.T) {
		l := take(t)
		f.advance(time.Minute)
		wantSlice(t, "locks", f.tokens("/f"), []string{l.Token})
		_, _, err := f.Put(t.Context(), f.at("/f"), file("y"), f.me())
		wantLocked(t, err, l.Token)
		n, err := f.ExpireLocks(t.Context())
		must(t, err)
		wantEqual(t, "rows dropped at the end", n, 0)
		f.advance(time.Microsecond)
		wantSlice(t, "locks", f.tokens("/f"), []string{})
		f.put("/f", "y")
		before := f.generation(f.user)
		n, err = f.ExpireLocks(t.Context())
		must(t, err)
		wantEqual(t, "rows dropped", n, 1)
		wantEqual(t, "generation", f.generation(f.user), before+1)
		n, err = f.ExpireLocks(t.Context())
		must(t, err)
		wantEqual(t, "rows dropped again", n, 0)
		wantEqual(t, "generation without rows", f.generation(f.user), before+1)
	})
	t.Run("replaced by a new lock", func(t *testing.T) {
		take(t)
		f.advance(time.Minute + time.Microsecond)
		l := take(t)
		wantSlice(t, "locks", f.tokens("/f"), []string{l.Token})
		wantEqual(t, "rows", f.rows("resource_locks"), 1)
	})
	t.Run("never refreshed nor unlocked", func(t *testing.T) {
		f.advance(time.Hour)
		l := take(t)
		f.advance(time.Minute)
		_, err := f.RefreshLock(t.Context(), f.at("/f"), store.ByToken(l.Token), time.Minute, f.me())
		must(t, err) // at its end it still is
		f.advance(time.Minute + time.Microsecond)
		_, err = f.RefreshLock(t.Context(), f.at("/f"), store.ByToken(l.Token), time.Minute, f.me())
		wantError(t, err, store.ErrNoSuchLock)
		wantError(t, f.Unlock(t.Context(), f.at("/f"), store.ByToken(l.Token), f.me()), store.ErrNoSuchLock)
	})
	t.Run("without a timeout a lock has no end", func(t *testing.T) {
		f.advance(time.Hour)
		spec.Timeout = 0
		l := take(t)
		wantEqual(t, "end", l.ExpiresAt, time.Time{})
		f.advance(100 * 365 * 24 * time.Hour)
		wantSlice(t, "locks", f.tokens("/f"), []string{l.Token})
		_, err := f.Lock(t.Context(), f.at("/f"), spec, f.me())
		wantConflict(t, err, []string{l.Token}, []string{})
	})
}
