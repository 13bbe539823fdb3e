package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/blob/blobtest"
	"holdfast/lockns"
	"holdfast/lockns/cache"
	"holdfast/lockns/cache/cachetest"
	"holdfast/store"
)

// TestLockTables: whoever writes to the database past the rules is still refused
// what no lock can be.
func TestLockTables(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	folder, file := f.stat("/d").Place.Root.ID, f.put("/f", "x").Place.Root.ID
	f.sql(`PRAGMA foreign_keys = ON`)
	type row struct {
		token               string
		namespace           int64
		kind                string
		folder, file        any
		depth, mode, origin string
	}
	add := func(r row) error {
		_, err := f.database().Exec(`INSERT INTO resource_locks (token, namespace_id, root_kind, root_folder_id, root_file_id, ancestry, depth, mode, origin, created_at)
VALUES (?, ?, ?, ?, ?, '/1/', ?, ?, ?, 0)`, r.token, r.namespace, r.kind, r.folder, r.file, r.depth, r.mode, r.origin)
		f.sql(`DELETE FROM resource_locks WHERE token <> 'taken'`)
		return err
	}
	here := f.number(`SELECT id FROM resource_lock_namespaces`)
	good := row{"new", here, "file", nil, file, "resource", "exclusive", "webdav"}
	must(t, add(row{"taken", here, "workspace_root", nil, nil, "infinity", "shared", "wopi"}))
	for _, c := range []struct {
		name   string
		change func(*row)
		ok     bool
	}{
		{"a lock on a file", func(*row) {}, true},
		{"a lock on a folder", func(r *row) { r.kind, r.folder, r.file = "folder", folder, nil }, true},
		{"a second lock on a root", func(r *row) { r.kind, r.file = "workspace_root", nil }, true},
		{"a workspace root with a folder", func(r *row) { r.kind, r.folder, r.file = "workspace_root", folder, nil }, false},
		{"a workspace root with a file", func(r *row) { r.kind = "workspace_root" }, false},
		{"a workspace root with both", func(r *row) { r.kind, r.folder = "workspace_root", folder }, false},
		{"a folder without one", func(r *row) { r.kind, r.file = "folder", nil }, false},
		{"a folder with a file", func(r *row) { r.kind = "folder" }, false},
		{"a folder with both", func(r *row) { r.kind, r.folder = "folder", folder }, false},
		{"a file without one", func(r *row) { r.file = nil }, false},
		{"a file with a folder", func(r *row) { r.folder, r.file = folder, nil }, false},
		{"a file with both", func(r *row) { r.folder = folder }, false},
		{"a root that is not there", func(r *row) { r.file = file + 1 }, false},
		{"a workspace that is not there", func(r *row) { r.namespace++ }, false},
		{"another kind of root", func(r *row) { r.kind = "personal_root" }, false},
		{"another depth", func(r *row) { r.depth = "1" }, false},
		{"another mode", func(r *row) { r.mode = "read" }, false},
		{"another origin", func(r *row) { r.origin = "rest" }, false},
		{"a token for the second time", func(r *row) { r.token = "taken" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := good
			c.change(&r)
			wantEqual(t, "taken", add(r) == nil, c.ok)
		})
	}
	t.Run("a second namespace of a workspace", func(t *testing.T) {
		_, err := f.database().Exec(`INSERT INTO resource_lock_namespaces (workspace_type, workspace_id, created_at, updated_at)
SELECT workspace_type, workspace_id, 0, 0 FROM resource_lock_namespaces`)
		wantEqual(t, "refused", err != nil, true)
		wantEqual(t, "namespaces", f.rows("resource_lock_namespaces"), 1)
	})
	f.sql(`DELETE FROM resource_locks`)
}

// TestLockIndexes: the table has the indexes that the contract names, besides
// those that the statements turned out to need.
func TestLockIndexes(t *testing.T) {
	f := newFixture(t)
	rows, err := f.database().Query(`SELECT (SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno)) || iif(l."unique", ' unique', '')
FROM pragma_index_list('resource_locks') l`)
	must(t, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var columns string
		must(t, rows.Scan(&columns))
		all = append(all, columns)
	}
	must(t, rows.Err())
	for _, want := range []string{
		"token unique", "namespace_id,timeout_at", "namespace_id,root_kind,root_folder_id", "namespace_id,root_kind,root_file_id",
		"holder_user_id,timeout_at", "namespace_id,lockroot_path",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("no index on %s among %q", want, all)
		}
	}
}

// TestNamespacesFirst is TestTransactionOrder for the changes of locks alone and
// those that have no claim: no namespace is taken once anything else was read or
// written, and a claim is asked when it is taken, before the first write.
func TestNamespacesFirst(t *testing.T) {
	f := newFixture(t, keeping(1))
	bob := f.addUser("bob")
	f.write("/f", "former", "now")
	former := f.nth("/f", 0)
	byProduct := store.ByOrigin(lockns.Product)
	for name, change := range map[string]func(store.Claim) error{
		"unlock": func(c store.Claim) error { return f.Unlock(t.Context(), f.at("/f"), byProduct, c) },
		"relock": func(c store.Claim) error {
			_, err := f.Relock(t.Context(), f.at("/f"), byProduct, f.ofOrigin(lockns.Product, lockns.Resource), c)
			return err
		},
		"restore a version": func(c store.Claim) error {
			_, err := f.RestoreVersion(t.Context(), f.at("/f"), former, c)
			return err
		},
		"move there and back": func(c store.Claim) error {
			_, there := f.Move(t.Context(), f.at("/f"), at(bob, "/f"), store.MoveOptions{}, c)
			_, back := f.Move(t.Context(), at(bob, "/f"), f.at("/f"), store.MoveOptions{}, c)
			return errors.Join(there, back)
		},
		"set again": func(c store.Claim) error {
			_, _, err := f.SetLock(t.Context(), f.at("/f"), f.ofOrigin(lockns.Product, lockns.Infinity), c)
			return err
		},
		"end by id": func(c store.Claim) error {
			_, err := f.EndLock(t.Context(), f.entry(f.at("/f")).Locks[0].ID, new(f.at("/")), c)
			return err
		},
		"a token shown": func(store.Claim) error {
			_, err := f.ShowToken(t.Context(), f.entry(f.at("/f")).Locks[0].ID, admin)
			return err
		},
		"a forced unlock": func(store.Claim) error {
			_, err := f.ForceUnlock(t.Context(), f.entry(f.at("/f")).Locks[0].ID, admin)
			return err
		},
		"a cleanup":                  func(store.Claim) error { _, err := f.ExpireLocks(t.Context()); return err },
		"an administrator's cleanup": func(store.Claim) error { _, err := f.CleanExpired(t.Context(), admin); return err },
	} {
		t.Run(name, func(t *testing.T) {
			defer f.sql(`DELETE FROM resource_locks`)
			f.productLock("/f", lockns.Resource)
			unclaimed := strings.HasPrefix(name, "a ") || strings.HasPrefix(name, "an ")
			if strings.HasSuffix(name, "cleanup") {
				f.sql(`UPDATE resource_locks SET timeout_at = ?`, f.now().UnixMicro()-1)
			}
			var seen []string
			var order []step
			note := func(s step, text string) { order, seen = append(order, s), append(seen, text) }
			stop := f.Watch(func(query string, args []any) {
				if !strings.HasPrefix(query, "ROLLBACK") { // of a change that fails, below
					note(stepOf(query), fmt.Sprintf("%s %v", query, args))
				}
			})
			err := change(witness{f.me(), func() { note(claim, "the claim") }})
			stop()
			must(t, err)
			first := slices.Index(order, namespace)
			if first < 0 {
				t.Fatalf("no namespace is taken in\n%s", strings.Join(seen, "\n"))
			}
			for i, s := range order {
				if s == namespace && order[i-1] != begin && order[i-1] != namespace {
					t.Errorf("a namespace is taken after\n%s\nin\n%s", seen[i-1], strings.Join(seen, "\n"))
				}
			}
			inside := order[first : first+slices.Index(order[first:], write)]
			if !unclaimed && !slices.Contains(inside, claim) {
				t.Errorf("the claim is not asked before the first write in\n%s", strings.Join(seen, "\n"))
			}
		})
	}
}

// TestExpiredIsInNobodysWay: expired locks above, at and below a resource neither
// refuse a lock nor a change, whoever's they are, while their rows are still there.
func TestExpiredIsInNobodysWay(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	f.mkdir("/d/e")
	f.put("/d/e/f", "x")
	f.lock("/", lockns.Resource)
	f.lock("/d", lockns.Resource)
	f.lock("/d/e", lockns.Resource)
	f.lock("/d/e/f", lockns.Infinity)
	f.sql(`UPDATE resource_locks SET depth = 'infinity'`) // each alone would exclude the others
	as := store.Holder(bob.ID)
	changes := map[string]func(store.Claim) error{
		"LOCK above them": func(c store.Claim) error {
			_, err := f.Lock(t.Context(), f.at("/d"), specOf(bob, lockns.Infinity), c)
			return err
		},
		"LOCK below them": func(c store.Claim) error {
			_, err := f.Lock(t.Context(), f.at("/d/e/f"), specOf(bob, lockns.Resource), c)
			return err
		},
		"LOCK of the root": func(c store.Claim) error {
			_, err := f.Lock(t.Context(), f.at("/"), specOf(bob, lockns.Infinity), c)
			return err
		},
		"PUT":    func(c store.Claim) error { _, _, err := f.Put(t.Context(), f.at("/d/e/f"), file("y"), c); return err },
		"DELETE": func(c store.Claim) error { return f.Remove(t.Context(), f.at("/d"), c) },
		"MOVE": func(c store.Claim) error {
			_, err := f.Move(t.Context(), f.at("/d"), f.at("/g"), store.MoveOptions{}, c)
			return err
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			f.clock.Add(time.Hour.Microseconds()) // their very end
			wantEqual(t, "refused at their end", refused(undone(f, change, as)), true)
			f.clock.Add(1)
			wantError(t, undone(f, change, as), errUndone)
			f.clock.Add(-time.Hour.Microseconds() - 1)
		})
	}
}

// TestStagingHoldsUpNobody: the empty object of a LOCK is staged outside the
// transaction, so that others commit while a body store takes its time.
func TestStagingHoldsUpNobody(t *testing.T) {
	var fault *blobtest.Fault
	f := newFixture(t, func(o *store.Options) {
		o.OwnedEmpties = true
		fault = &blobtest.Fault{Store: o.Blobs}
		o.Blobs = fault
	})
	f.put("/quick", "x")
	entered, release := make(chan struct{}), make(chan struct{})
	fault.Before = func(_ context.Context, c blobtest.Call) error {
		if c.Method == blobtest.Put {
			close(entered)
			<-release
		}
		return nil
	}
	slow := make(chan error)
	go func() {
		_, err := f.Lock(f.t.Context(), f.at("/slow"), f.spec(lockns.Resource), f.me())
		slow <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := f.Lock(ctx, f.at("/quick"), f.spec(lockns.Resource), f.me())
	f.gone("/slow")
	close(release)
	must(t, errors.Join(err, <-slow))
	wantEqual(t, "locks", len(f.tokens("/slow")), 1)
}

// TestForceUnlockComparesTheToken: a lock that has another token than the snapshot
// saw is another lock, and all starts again.
func TestForceUnlockComparesTheToken(t *testing.T) {
	f := newFixture(t)
	l := f.lock("/f", lockns.Resource).Lock
	n := f.onLocated(func(n int) {
		if n == 1 {
			f.sql(`UPDATE resource_locks SET token = 'urn:uuid:another'`)
		}
	})
	got, err := f.ForceUnlock(t.Context(), l.ID, admin)
	must(t, err)
	wantEqual(t, "snapshots", *n, 2)
	wantEqual(t, "token", got.Token, "urn:uuid:another")
}

// TestCacheIsNoMutex: all that a shared cache is ever asked is to give and to take
// values. No lock, claim or event of it has a part in anything.
func TestCacheIsNoMutex(t *testing.T) {
	server := cachetest.StartRedis(t)
	f := newFixture(t, allLimits, func(o *store.Options) { o.Cache = cache.NewRedis(server.RedisOptions) })
	everything(t, f)
	f.showStates()
	reply, err := server.Do("INFO", "commandstats")
	must(t, err)
	known := []string{"auth", "client|maint_notifications", "client|setinfo", "get", "hello", "info", "ping", "select", "set"}
	var asked []string
	for line := range strings.Lines(reply) {
		if stat, ok := strings.CutPrefix(line, "cmdstat_"); ok {
			command, _, _ := strings.Cut(stat, ":")
			asked = append(asked, command)
			wantEqual(t, command+" is a known command", slices.Contains(known, command), true)
		}
	}
	wantEqual(t, "get and set were asked", slices.Contains(asked, "get") && slices.Contains(asked, "set"), true)
}

// TestTwoProcesses has two stores on one database, as a server and a command have:
// they exclude each other's locks, and show them at once.
func TestTwoProcesses(t *testing.T) {
	f := newFixture(t)
	other, err := store.Open(t.Context(), f.o)
	must(t, err)
	defer other.Close()
	t.Run("of a parent's infinity LOCK and a child's one is granted", func(t *testing.T) {
		stores := []*store.Store{f.Store, other}
		for i := range raceRounds {
			dir := fmt.Sprintf("/r%d", i)
			f.mkdir(dir)
			f.put(dir+"/f", "x")
			lock := func(s *store.Store, path string, depth lockns.Depth) func() error {
				return func() error {
					_, err := s.Lock(f.t.Context(), f.at(path), f.spec(depth), f.me())
					return err
				}
			}
			barrier := store.Barrier(store.Queued, 2)
			f.SetHook(barrier)
			other.SetHook(barrier)
			errs := together(lock(stores[i%2], dir, lockns.Infinity), lock(stores[1-i%2], dir+"/f", lockns.Resource))
			f.SetHook(nil)
			other.SetHook(nil)
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Fatalf("parent: %v, child: %v; want exactly one winner", errs[0], errs[1])
			}
			wantEqual(t, "the loser met the winner", refused(errors.Join(errs...)), true)
		}
		wantEqual(t, "locks", f.rows("resource_locks"), raceRounds)
	})
	t.Run("what one has cached does not hide the other's lock", func(t *testing.T) {
		f.put("/f", "x")
		wantEqual(t, "before", f.stateAt("/f"), "unlocked")
		l, err := other.Lock(t.Context(), f.at("/f"), f.spec(lockns.Resource), f.me())
		must(t, err)
		wantEqual(t, "locked", f.stateAt("/f"), "direct exclusive 60m")
		must(t, other.Unlock(t.Context(), f.at("/f"), store.ByToken(l.Lock.Token), f.me()))
		wantEqual(t, "unlocked", f.stateAt("/f"), "unlocked")
	})
}

// TestRootedIsNotCovering: of the locks on a resource a WOPI claim compares its
// value with those rooted there only, never with those above or below.
func TestRootedIsNotCovering(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.put("/d/f", "x")
	above := f.share("/d", lockns.Infinity, 0).Lock
	first, second := f.share("/d/f", lockns.Resource, 0).Lock, f.share("/d/f", lockns.Resource, time.Hour).Lock
	f.share("/d/f", lockns.Resource, time.Second) // expired when it is asked for
	f.advance(time.Minute)
	claim := looking{with{f.user.ID, []string{above.Token, first.Token}}, func(v store.View) {
		for path, want := range map[string][]lockns.Lock{"/": nil, "/d": {above}, "/d/f": {first, second}, "/d/none": nil} {
			if got := v.Rooted(f.at(path)); !slices.Equal(got, want) {
				t.Errorf("rooted on %s: %+v, want %+v", path, got, want)
			}
		}
	}}
	_, _, err := f.Put(t.Context(), f.at("/d/f"), file("y"), claim)
	must(t, err)
}

// TestUnlockComparesTheNamespace: a token is not good for a lock that a row puts in
// another workspace, whatever else of it fits the target.
func TestUnlockComparesTheNamespace(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	l := f.lock("/f", lockns.Resource).Lock
	in := func(u store.User) {
		f.sql(`UPDATE resource_locks SET namespace_id = (SELECT id FROM resource_lock_namespaces WHERE workspace_id = ?)`, u.ID)
	}
	in(bob)
	wantError(t, f.Unlock(t.Context(), f.at("/f"), store.ByToken(l.Token), f.me()), store.ErrNoSuchLock)
	_, err := f.RefreshLock(t.Context(), f.at("/f"), store.ByToken(l.Token), time.Hour, f.me())
	wantError(t, err, store.ErrNoSuchLock)
	in(f.user)
	must(t, f.Unlock(t.Context(), f.at("/f"), store.ByToken(l.Token), f.me()))
}
