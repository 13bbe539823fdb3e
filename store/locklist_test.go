package store_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// tokensOfInfo are the tokens of a list, in its order.
func tokensOfInfo(list []store.LockInfo) []string {
	all := []string{}
	for _, l := range list {
		all = append(all, l.Token)
	}
	return all
}

// TestLocks lists what three users locked in two workspaces by every filter, and
// compares with the filter's words applied one by one.
func TestLocks(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	f.mkdir("/d/e")
	f.mkdir("/d2")
	for _, path := range []string{"/d/e/f", "/d/g", "/d2/f"} {
		f.put(path, "x")
	}
	type taken struct {
		store.LockInfo
		below []string // paths it is at or below
	}
	var all []taken
	take := func(u store.User, path string, spec store.LockSpec, below ...string) {
		out, err := f.Lock(t.Context(), at(u, path), spec, store.Holder(spec.Holder))
		must(t, err)
		name := map[int64]string{f.user.ID: "ada", bob.ID: "bob"}[spec.Holder]
		all = append(all, taken{store.LockInfo{Lock: out.Lock, Workspace: u.Workspace(), HolderName: name, HolderDisplay: name, At: path}, below})
	}
	short := func(spec store.LockSpec, end time.Duration) store.LockSpec {
		spec.Timeout = end
		return spec
	}
	take(f.user, "/", short(f.ofOrigin(lockns.Product, lockns.Resource), 0), "/")
	take(f.user, "/d/e/f", short(f.spec(lockns.Resource), time.Minute), "/", "/d", "/d/e/f")
	take(f.user, "/d", short(specOf(bob, lockns.Resource), 2*time.Minute), "/", "/d")
	take(f.user, "/d/g", wopiSpec("v"), "/", "/d")
	take(f.user, "/d2/f", short(f.ofOrigin(lockns.WOPI, lockns.Resource), time.Minute+time.Microsecond), "/", "/d2")
	take(bob, "/d2", specOf(bob, lockns.Resource), "bob's /")
	take(bob, "/", f.spec(lockns.Resource), "bob's /")
	f.advance(time.Minute + time.Microsecond) // one is over, one is at its end

	here, there := f.user.Workspace(), bob.Workspace()
	unders := []string{"", "/", "/d", "/d2", "/d/e/f", "bob's /"}
	seen := map[string]bool{}
	for _, ws := range []*lockns.Workspace{nil, &here, &there} {
		for _, holder := range []int64{0, f.user.ID, bob.ID} {
			for _, origin := range []lockns.Origin{"", lockns.Product, lockns.WebDAV, lockns.WOPI} {
				for _, under := range unders {
					for _, expired := range []bool{false, true} {
						filter := store.LockFilter{Workspace: ws, Holder: holder, Origin: origin, Expired: expired}
						if target := f.at(under); under == "bob's /" {
							target = at(bob, "/")
							filter.Under = &target
						} else if under != "" {
							filter.Under = &target
						}
						var want []store.LockInfo
						for _, l := range all {
							if (ws == nil || l.Workspace == *ws) && (holder == 0 || l.Holder == holder) && (origin == "" || l.Origin == origin) &&
								(under == "" || slices.Contains(l.below, under)) && l.ActiveAt(f.now()) != expired {
								want = append(want, l.LockInfo)
							}
						}
						got, err := f.Locks(t.Context(), filter)
						must(t, err)
						if !slices.Equal(got, want) {
							t.Errorf("%+v under %q: %v, want %v", filter, under, tokensOfInfo(got), tokensOfInfo(want))
						}
						seen[fmt.Sprint(tokensOfInfo(got))] = true
					}
				}
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d different lists", len(seen))
	}
}

// TestLocksInOrder: each order, either way and in pages of any size, is that of all
// locks sorted.
func TestLocksInOrder(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	for i, name := range []string{"c", "a", "e", "b", "d", "g", "f"} {
		f.put("/d/"+name, "x")
		spec := f.ofOrigin([]lockns.Origin{lockns.WebDAV, lockns.Product, lockns.WOPI}[i%3], lockns.Resource)
		spec.Timeout = []time.Duration{2, 0, 1, 3, 3, 0, 1}[i] * time.Minute
		_, err := f.Lock(t.Context(), f.at("/d/"+name), spec, f.me())
		must(t, err)
	}
	f.lockIn(bob, at(bob, "/d"))
	// As of old: without a path.
	f.sql(`UPDATE resource_locks SET lockroot_path = NULL WHERE lockroot_path IN ('/d/e', '/d/d')`)
	f.advance(time.Minute + time.Microsecond)

	rank := map[store.LockOrder]func(a, b store.LockInfo) int{
		store.ByLockID: func(a, b store.LockInfo) int { return 0 },
		store.ByEnd: func(a, b store.LockInfo) int {
			return cmp.Or(cmp.Compare(btoi(a.ExpiresAt.IsZero()), btoi(b.ExpiresAt.IsZero())), a.ExpiresAt.Compare(b.ExpiresAt))
		},
		store.ByPath: func(a, b store.LockInfo) int {
			return cmp.Or(cmp.Compare(btoi(a.Path == ""), btoi(b.Path == "")), cmp.Compare(a.Path, b.Path))
		},
	}
	here, folder := f.user.Workspace(), f.at("/d")
	for name, filter := range map[string]store.LockFilter{
		"everywhere": {}, "workspace": {Workspace: &here}, "folder": {Under: &folder}, "holder": {Holder: f.user.ID},
		"holder here": {Holder: f.user.ID, Workspace: &here}, "product": {Origin: lockns.Product}, "WebDAV here": {Origin: lockns.WebDAV, Workspace: &here},
	} {
		for order, compare := range rank {
			if order == store.ByPath && filter.Workspace == nil && filter.Under == nil {
				filter.Order = order
				if _, err := f.Locks(t.Context(), filter); err == nil {
					t.Errorf("%s: paths of all workspaces were put in an order", name)
				}
				continue
			}
			for i := range 4 {
				filter.Expired, filter.Descending = i&1 != 0, i&2 != 0
				filter.Order, filter.Limit, filter.After, filter.AfterEnd, filter.AfterPath = store.ByLockID, 0, 0, time.Time{}, ""
				want, err := f.Locks(t.Context(), filter)
				must(t, err)
				slices.SortFunc(want, func(a, b store.LockInfo) int {
					c := cmp.Or(compare(a, b), cmp.Compare(a.ID, b.ID))
					if filter.Descending {
						c = -c
					}
					return c
				})
				filter.Order = order
				for filter.Limit = 1; filter.Limit <= len(want)+1; filter.Limit++ {
					var got []store.LockInfo
					filter.After, filter.AfterEnd, filter.AfterPath = 0, time.Time{}, ""
					for {
						page, err := f.Locks(t.Context(), filter)
						must(t, err)
						got = append(got, page...)
						if len(page) < filter.Limit || len(got) > len(want) {
							break
						}
						last := page[len(page)-1]
						filter.After = last.ID
						switch order {
						case store.ByEnd:
							filter.AfterEnd = last.ExpiresAt
						case store.ByPath:
							filter.AfterPath = last.Path
						}
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%s, order %d, %+v: %v, want %v", name, order, filter, tokensOfInfo(got), tokensOfInfo(want))
					}
				}
			}
		}
	}
}

// TestLocksByEndWhileTheyEnd: a page after a lock that expired meanwhile begins with
// the first that did not.
func TestLocksByEndWhileTheyEnd(t *testing.T) {
	f := newFixture(t)
	for i, name := range []string{"a", "b", "c"} {
		spec := f.spec(lockns.Resource)
		spec.Timeout = time.Duration(i+1) * time.Minute
		_, err := f.Lock(t.Context(), f.at("/"+name), spec, f.me())
		must(t, err)
	}
	filter := store.LockFilter{Order: store.ByEnd, Limit: 1}
	list, err := f.Locks(t.Context(), filter)
	must(t, err)
	filter.After, filter.AfterEnd = list[0].ID, list[0].ExpiresAt
	f.advance(2*time.Minute + time.Microsecond)
	list, err = f.Locks(t.Context(), filter)
	must(t, err)
	if len(list) != 1 || list[0].At != "/c" {
		t.Errorf("%+v, want /c", list)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestLocksInPages(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.lock("/d/first", lockns.Resource)
	f.sql(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
INSERT INTO resource_locks (token, namespace_id, root_kind, root_file_id, ancestry, depth, mode, origin, holder_user_id, timeout_at, created_at)
SELECT 'urn:x:' || i, namespace_id, root_kind, root_file_id, ancestry, depth, mode, iif(i % 2, 'webdav', 'wopi'), holder_user_id, timeout_at - 1000 * i, created_at
FROM n CROSS JOIN resource_locks`)
	here, folder := f.user.Workspace(), f.at("/d")
	for name, filter := range map[string]store.LockFilter{
		"everywhere": {}, "of a workspace": {Workspace: &here}, "of a user": {Holder: f.user.ID}, "of an origin": {Origin: lockns.WOPI},
		"under a folder": {Under: &folder},
	} {
		t.Run(name, func(t *testing.T) {
			total := map[bool]int{false: 1201, true: 600}[filter.Origin != ""]
			for limit, wantPages := range map[int]int{0: total/1000 + 1, 1002: total/1001 + 1, 500: total/500 + 1, 1000: total/1000 + 1} {
				filter.Limit, filter.After = limit, 0
				var ids []int64
				pages := 0
				for {
					list, err := f.Locks(t.Context(), filter)
					must(t, err)
					pages++
					if len(list) > 1001 || limit == 0 && len(list) > 1000 {
						t.Errorf("a page of %d", len(list))
					}
					for _, l := range list {
						ids = append(ids, l.ID)
					}
					if len(list) < min(max(limit, 1), 1001) || limit == 0 && len(list) < 1000 {
						break
					}
					filter.After = ids[len(ids)-1]
				}
				wantEqual(t, "locks", len(ids), total)
				wantEqual(t, "in order, each once", slices.IsSorted(ids) && len(slices.Compact(ids)) == total, true)
				wantEqual(t, fmt.Sprintf("pages of %d", limit), pages, wantPages)
			}
		})
	}
}

// TestLocksByIndex: the first step of each list's plan is the index made for it.
func TestLocksByIndex(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.put("/d/f", "x")
	here := f.user.Workspace()
	root, folder, leaf := f.at("/"), f.at("/d"), f.at("/d/f")
	const (
		ids      = "INTEGER PRIMARY KEY (rowid>?)"
		listed   = "INDEX resource_locks_listed (namespace_id=? AND id>?)"
		held     = "INDEX resource_locks_held (holder_user_id=? AND id>?)"
		other    = "INDEX resource_locks_other (origin=?"
		ancestry = "INDEX resource_locks_ancestry (namespace_id=? AND ancestry>? AND ancestry<?)"
		rooted   = "INDEX resource_locks_file (namespace_id=? AND root_kind=? AND root_file_id=?)"
		timeout  = "INDEX resource_locks_timeout (namespace_id=? AND timeout_at<?)"
		over     = "INDEX resource_locks_holder (holder_user_id=? AND timeout_at<?)"
		overOn   = "INDEX resource_locks_file_key (root_file_id=? AND timeout_at<?)"

		ends     = "INDEX resource_locks_end (timeout_at>? AND timeout_at<?)"
		endsHere = "INDEX resource_locks_timeout (namespace_id=? AND timeout_at>? AND timeout_at<?)"
		endsHeld = "INDEX resource_locks_holder (holder_user_id=? AND timeout_at>? AND timeout_at<?)"
		endsElse = "INDEX resource_locks_other_end (origin=? AND timeout_at>? AND timeout_at<?)"
		paths    = "INDEX resource_locks_path (namespace_id=? AND lockroot_path>?)"
		holders  = "INDEX resource_locks_held (holder_user_id=?)"
	)
	by := func(order store.LockOrder, f store.LockFilter) store.LockFilter {
		f.Order = order
		return f
	}
	for _, c := range []struct {
		name            string
		filter          store.LockFilter
		active, expired string
	}{
		{"all", store.LockFilter{}, ids, timeout},
		{"workspace", store.LockFilter{Workspace: &here}, listed, timeout},
		{"holder", store.LockFilter{Holder: 1}, held, over},
		{"WebDAV", store.LockFilter{Origin: lockns.WebDAV}, ids, timeout},
		{"product", store.LockFilter{Origin: lockns.Product}, other, "INDEX resource_locks_other_end (origin=? AND timeout_at<?)"},
		{"workspace and holder", store.LockFilter{Workspace: &here, Holder: 1}, held, over},
		{"workspace and origin", store.LockFilter{Workspace: &here, Origin: lockns.WOPI}, listed, timeout},
		{"holder and origin", store.LockFilter{Holder: 1, Origin: lockns.WOPI}, held, over},
		{"the root", store.LockFilter{Under: &root}, listed, timeout},
		{"a folder", store.LockFilter{Under: &folder}, ancestry, ancestry},
		{"a folder in its workspace, holder and origin", store.LockFilter{Workspace: &here, Under: &folder, Holder: 1, Origin: lockns.WOPI}, ancestry, ancestry},
		{"a file", store.LockFilter{Under: &leaf}, rooted, overOn},
		{"all by end", by(store.ByEnd, store.LockFilter{}), ends, ends},
		{"workspace by end", by(store.ByEnd, store.LockFilter{Workspace: &here}), endsHere, endsHere},
		{"holder by end", by(store.ByEnd, store.LockFilter{Holder: 1}), endsHeld, endsHeld},
		{"WebDAV by end", by(store.ByEnd, store.LockFilter{Origin: lockns.WebDAV}), ends, ends},
		{"product by end", by(store.ByEnd, store.LockFilter{Origin: lockns.Product}), endsElse, endsElse},
		{"workspace and holder by end", by(store.ByEnd, store.LockFilter{Workspace: &here, Holder: 1}), endsHeld, endsHeld},
		{"workspace and origin by end", by(store.ByEnd, store.LockFilter{Workspace: &here, Origin: lockns.WOPI}), endsHere, endsHere},
		{"the root and holder by end", by(store.ByEnd, store.LockFilter{Under: &root, Holder: 1}), endsHeld, endsHeld},
		{"a folder by end", by(store.ByEnd, store.LockFilter{Under: &folder}), ancestry, ancestry},
		{"a file by end", by(store.ByEnd, store.LockFilter{Under: &leaf}), rooted, rooted},
		{"workspace by path", by(store.ByPath, store.LockFilter{Workspace: &here}), paths, timeout},
		{"the root by path", by(store.ByPath, store.LockFilter{Under: &root}), paths, timeout},
		{"workspace and origin by path", by(store.ByPath, store.LockFilter{Workspace: &here, Origin: lockns.WOPI}), paths, timeout},
		{"workspace and holder by path", by(store.ByPath, store.LockFilter{Workspace: &here, Holder: 1}), holders, over},
		{"a folder by path", by(store.ByPath, store.LockFilter{Under: &folder}), ancestry, ancestry},
		{"a file by path", by(store.ByPath, store.LockFilter{Under: &leaf}), rooted, overOn},
	} {
		for i := range 4 {
			expired, descending := i&1 != 0, i&2 != 0
			t.Run(fmt.Sprintf("%s, expired %v, descending %v", c.name, expired, descending), func(t *testing.T) {
				f.reopen() // forgets the statements of the lists before
				c.filter.Expired, c.filter.Descending = expired, descending
				_, err := f.Locks(t.Context(), c.filter)
				must(t, err)
				var plans []string
				for _, s := range f.Statements() {
					if strings.Contains(s, "FROM resource_locks l CROSS JOIN resource_lock_namespaces") {
						plan := f.plan(s)
						plans = append(plans, plan[0])
						if sorts := slices.Contains(plan, "USE TEMP B-TREE FOR ORDER BY"); sorts != strings.Contains(s, "ORDER BY +") {
							t.Errorf("sorted: %v, by %q\nin %s", sorts, plan, s)
						}
					}
				}
				want := map[bool]string{false: c.active, true: c.expired}[expired]
				if descending {
					want = strings.Replace(want, "id>?", "id<?", 1)
				}
				if !slices.ContainsFunc(plans, func(p string) bool { return strings.Contains(p, "SEARCH l USING "+want) }) {
					t.Errorf("%q, want %q first", plans, want)
				}
			})
		}
	}
}

// plan are the steps of a statement's query plan.
func (f *fixture) plan(statement string) (steps []string) {
	f.t.Helper()
	rows, err := f.database().Query("EXPLAIN QUERY PLAN "+statement, slices.Repeat([]any{nil}, strings.Count(statement, "?"))...)
	must(f.t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		must(f.t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	must(f.t, rows.Err())
	return steps
}

// lockAllWays runs the operations on locks of all origins, on each kind of root,
// and every kind of list.
func (f *fixture) lockAllWays() {
	f.t.Helper()
	ctx := f.t.Context()
	f.mkdir("/locks")
	f.put("/locks/f", "x")
	here := f.user.Workspace()
	for _, path := range []string{"/", "/locks", "/locks/f"} {
		target, which := f.at(path), store.ByOrigin(lockns.WOPI)
		f.wopiLock(path, "a")
		_, err := f.RefreshLock(ctx, target, which, time.Minute, f.wopi(path, "a"))
		must(f.t, err)
		_, err = f.Relock(ctx, target, which, wopiSpec("b"), f.wopi(path, "a"))
		must(f.t, err)
		must(f.t, f.Unlock(ctx, target, which, f.wopi(path, "b")))
		_, err = f.ForceUnlock(ctx, f.productLock(path, lockns.Resource).ID, admin)
		must(f.t, err)
		var own lockns.Lock
		for range 2 {
			own, _, err = f.setLock(path, f.ofOrigin(lockns.Product, lockns.Resource))
			must(f.t, err)
		}
		_, err = f.LocksCovering(ctx, target, 0, 0)
		must(f.t, err)
		_, err = f.ShowToken(ctx, own.ID, admin)
		must(f.t, err)
		_, err = f.EndLock(ctx, own.ID, &target, f.me())
		must(f.t, err)
		for i := range 1 << 4 {
			filter := store.LockFilter{Expired: i&1 != 0, Origin: []lockns.Origin{"", lockns.WOPI}[i>>1&1]}
			if i&4 != 0 {
				filter.Holder = f.user.ID
			}
			if i&8 != 0 {
				filter.Workspace = &here
			}
			for _, filter.Under = range []*store.Target{nil, &target} {
				f.listAllOrders(filter)
			}
		}
	}
	l := f.lock("/locks/f", lockns.Resource)
	f.describe(0, l.Lock)
	f.advance(2 * time.Hour)
	_, err := f.CleanExpired(ctx, admin)
	must(f.t, err)
}

// listAllOrders lists locks in each order, either way, from the start and after a
// lock.
func (f *fixture) listAllOrders(filter store.LockFilter) {
	f.t.Helper()
	for i := range 4 {
		filter.Descending = i&1 != 0
		if i&2 != 0 {
			filter.After, filter.AfterEnd, filter.AfterPath = 1, f.now(), "/"
		}
		for _, filter.Order = range []store.LockOrder{store.ByLockID, store.ByEnd, store.ByPath} {
			if filter.Order == store.ByPath && filter.Workspace == nil && filter.Under == nil {
				continue
			}
			_, err := f.Locks(f.t.Context(), filter)
			must(f.t, err)
		}
	}
}
