package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// generationCase is a change and how far it moves the versions: of the lock
// projection here and in bob's workspace, and of the tree here.
type generationCase struct {
	name        string
	by, there   int64
	tree        int64
	prepare, do func() error
}

// TestGeneration: the version of the lock projection moves by one with every
// change of lock rows, and with nothing else.
func TestGeneration(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	var cases []generationCase
	cases = append(cases, f.treeGenerations()...)
	cases = append(cases, f.lockGenerations()...)
	cases = append(cases, f.bothGenerations(bob)...)
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s moves it by %d", c.name, c.by+c.there), func(t *testing.T) {
			f.sql(`DELETE FROM resource_locks`)
			if c.prepare != nil {
				must(t, c.prepare())
			}
			before := [3]int64{f.generation(f.user), f.generation(bob), f.treeVersion()}
			must(t, c.do())
			after := [3]int64{f.generation(f.user), f.generation(bob), f.treeVersion()}
			for i := range after {
				after[i] -= before[i]
			}
			wantEqual(t, "generation here, there, tree_version", after, [3]int64{c.by, c.there, c.tree})
		})
	}
}

// treeGenerations are changes of the tree, beside locks and without.
func (f *fixture) treeGenerations() []generationCase {
	ctx := f.t.Context()
	var l lockns.Lock
	own := func() store.Claim { return with{f.user.ID, []string{l.Token}} }
	locked := func(path string) func() error {
		return func() error {
			f.put(path, "x")
			l = f.lock(path, lockns.Resource).Lock
			return nil
		}
	}
	put := func(path string) func() error {
		return func() error { _, _, err := f.Put(ctx, f.at(path), file("x"), own()); return err }
	}
	patch := func(p store.Patch) func() error {
		return func() error { _, err := f.PatchProps(ctx, f.at("/n"), p, own()); return err }
	}
	cp := func(from, to string) func() error {
		return func() error { _, _, err := f.Copy(ctx, f.at(from), f.at(to), store.CopyOptions{}, own()); return err }
	}
	move := func(from, to string) func() error {
		return func() error { _, err := f.Move(ctx, f.at(from), f.at(to), store.MoveOptions{}, own()); return err }
	}
	remove := func(path string) func() error { return func() error { return f.Remove(ctx, f.at(path), own()) } }
	return []generationCase{
		{"PUT of a new file", 0, 0, 1, nil, put("/n")},
		{"PUT to a file", 0, 0, 1, nil, put("/n")},
		{"PUT under a lock", 0, 0, 1, locked("/n"), put("/n")},
		{"MKCOL", 0, 0, 1, nil, func() error { _, err := f.Mkdir(ctx, f.at("/m"), store.Patch{}, f.me()); return err }},
		{"PROPPATCH", 0, 0, 1, nil, patch(store.Patch{Props: []store.PropOp{prop("a", "1")}})},
		{"PROPPATCH under a lock", 0, 0, 1, locked("/n"), patch(store.Patch{Props: []store.PropOp{prop("a", "2")}})},
		{"an empty PROPPATCH", 0, 0, 0, nil, patch(store.Patch{})},
		{"COPY", 0, 0, 1, nil, cp("/n", "/o")},
		{"COPY of a locked file", 0, 0, 1, locked("/n"), cp("/n", "/o")},
		{"COPY onto a locked file", 1, 0, 1, locked("/o"), cp("/n", "/o")},
		{"MOVE without locks", 0, 0, 1, nil, move("/o", "/p")},
		{"MOVE onto a locked file", 1, 0, 1, locked("/q"), move("/p", "/q")},
		{"MOVE ending a lock", 1, 0, 1, locked("/p"), move("/p", "/r")},
		{"MOVE beside a lock", 0, 0, 1, locked("/n"), move("/r", "/p")},
		{"MOVE taking a lock along", 1, 0, 1, func() error { f.productLock("/p", lockns.Resource); return nil }, move("/p", "/r")},
		{"DELETE without locks", 0, 0, 1, nil, remove("/r")},
		{"DELETE ending a lock", 1, 0, 1, locked("/r"), remove("/r")},
		{"DELETE ending locks below", 1, 0, 1, locked("/m/f"), remove("/m")},
		{"a refused DELETE", 0, 0, 0, locked("/r"), func() error { return expectError(f.Remove(ctx, f.at("/r"), f.me())) }},
	}
}

// lockGenerations are changes of locks, and those refused.
func (f *fixture) lockGenerations() []generationCase {
	ctx := f.t.Context()
	var l lockns.Lock
	lock := func(path string) func() error {
		return func() error {
			out, err := f.Lock(ctx, f.at(path), f.spec(lockns.Resource), f.me())
			l = out.Lock
			return err
		}
	}
	expired := func() error {
		defer f.advance(2 * time.Hour)
		return lock("/n")()
	}
	product := func() error { l = f.productLock("/n", lockns.Resource); return nil }
	refresh := func(token *string) func() error {
		return func() error {
			_, err := f.RefreshLock(ctx, f.at("/n"), store.ByToken(*token), time.Minute, f.me())
			return err
		}
	}
	set := func(depth lockns.Depth, note string) func() error {
		return func() error {
			spec := f.ofOrigin(lockns.Product, depth)
			spec.Timeout, spec.Owner = 0, note
			_, _, err := f.setLock("/n", spec)
			return err
		}
	}
	unlock := func(which store.Which) error { return f.Unlock(ctx, f.at("/n"), which, f.me()) }
	none := "urn:uuid:none"
	refused := func(do func() error) func() error { return func() error { return expectError(do()) } }
	return []generationCase{
		{"LOCK", 1, 0, 0, nil, lock("/n")},
		{"a refused LOCK", 0, 0, 0, lock("/n"), refused(lock("/n"))},
		{"LOCK creating a file", 1, 0, 1, nil, lock("/new")},
		{"LOCK replacing an expired one", 1, 0, 0, expired, lock("/n")},
		{"a product lock", 1, 0, 0, nil, product},
		{"a WOPI lock", 1, 0, 0, nil, func() error { f.wopiLock("/n", "v"); return nil }},
		{"refresh", 1, 0, 0, lock("/n"), refresh(&l.Token)},
		{"a refused refresh", 0, 0, 0, lock("/n"), refused(refresh(&none))},
		{"refresh of an expired lock", 0, 0, 0, expired, refused(refresh(&l.Token))},
		{"relock", 1, 0, 0, product, func() error {
			_, err := f.Relock(ctx, f.at("/n"), store.ByOrigin(lockns.Product), f.ofOrigin(lockns.Product, lockns.Resource), f.me())
			return err
		}},
		{"UNLOCK", 1, 0, 0, lock("/n"), func() error { return unlock(store.ByToken(l.Token)) }},
		{"a refused UNLOCK", 0, 0, 0, product, refused(func() error { return unlock(store.ByToken(l.Token)) })},
		{"unlock by the owner", 1, 0, 0, product, func() error { return unlock(store.ByOrigin(lockns.Product)) }},
		{"forced unlock", 1, 0, 0, lock("/n"), func() error { _, err := f.ForceUnlock(ctx, l.ID, admin); return err }},
		{"set", 1, 0, 0, nil, set(lockns.Resource, "")},
		{"set again, as it is", 0, 0, 0, set(lockns.Resource, ""), set(lockns.Resource, "")},
		{"set again, with another note", 0, 0, 0, set(lockns.Resource, ""), set(lockns.Resource, "x")},
		{"set again, with another depth", 1, 0, 0, set(lockns.Resource, ""), set(lockns.Infinity, "")},
		{"a refused set", 0, 0, 0, lock("/n"), refused(set(lockns.Resource, ""))},
		{"end by id", 1, 0, 0, lock("/n"), func() error { _, err := f.EndLock(ctx, l.ID, nil, f.me()); return err }},
		{"end by another", 0, 0, 0, lock("/n"), refused(func() error { _, err := f.EndLock(ctx, l.ID, nil, store.Holder(1<<40)); return err })},
		{"a token shown", 0, 0, 0, lock("/n"), func() error { _, err := f.ShowToken(ctx, l.ID, admin); return err }},
		{"forced unlock of none", 0, 0, 0, nil, refused(func() error { _, err := f.ForceUnlock(ctx, 1<<40, admin); return err })},
		{"cleanup without rows", 0, 0, 0, lock("/n"), func() error { _, err := f.ExpireLocks(ctx); return err }},
		{"cleanup with rows", 1, 0, 0, expired, func() error { _, err := f.ExpireLocks(ctx); return err }},
		{"an administrator's cleanup without rows", 0, 0, 0, lock("/n"), func() error { _, err := f.CleanExpired(ctx, admin); return err }},
		{"an administrator's cleanup with rows", 1, 0, 0, expired, func() error { _, err := f.CleanExpired(ctx, admin); return err }},
		{"a LOCK whose commit fails", 0, 0, 0, nil, func() error {
			f.SetHook(failAt(store.BeforeCommit, errUndone))
			defer f.SetHook(nil)
			return refused(lock("/n"))()
		}},
	}
}

// bothGenerations are changes of two workspaces at once.
func (f *fixture) bothGenerations(bob store.User) []generationCase {
	ctx := f.t.Context()
	fresh := func() error { f.put("/both", "x"); return nil }
	move := func(from, to store.Target, c store.Claim) error {
		_, err := f.Move(ctx, from, to, store.MoveOptions{}, c)
		return err
	}
	var theirs lockns.Lock
	lockThere := func() error {
		out, err := f.Lock(ctx, at(bob, "/both"), f.spec(lockns.Resource), f.me())
		theirs = out.Lock
		return err
	}
	lockThereAndPut := func() error { return errors.Join(lockThere(), fresh()) }
	own := func() store.Claim { return with{f.user.ID, []string{theirs.Token}} }
	return []generationCase{
		{"MOVE to a workspace without locks", 0, 0, 1, fresh, func() error { return move(f.at("/both"), at(bob, "/both"), f.me()) }},
		{"MOVE from a workspace without locks", 0, 0, 1, nil, func() error { return move(at(bob, "/both"), f.at("/both"), f.me()) }},
		{"MOVE to a workspace taking a lock along", 1, 1, 1, func() error { f.productLock("/both", lockns.Resource); return nil },
			func() error { return move(f.at("/both"), at(bob, "/both"), f.me()) }},
		{"MOVE to a workspace onto a lock", 0, 1, 1, lockThereAndPut, func() error { return move(f.at("/both"), at(bob, "/both"), own()) }},
		{"MOVE to a workspace ending a lock", 1, 0, 1, func() error {
			f.put("/both", "x")
			theirs = f.lock("/both", lockns.Resource).Lock
			return nil
		}, func() error { return move(f.at("/both"), at(bob, "/both"), own()) }},
		{"COPY to a workspace onto a lock", 0, 1, 0, lockThereAndPut, func() error {
			_, _, err := f.Copy(ctx, f.at("/both"), at(bob, "/both"), store.CopyOptions{}, own())
			return err
		}},
		{"MOVE to a workspace that fails", 0, 0, 0, lockThereAndPut, func() error {
			f.SetHook(failAt(store.BeforeCommit, errUndone))
			defer f.SetHook(nil)
			return expectError(move(f.at("/both"), at(bob, "/both"), own()))
		}},
		{"cleanup of both", 1, 1, 0, func() error {
			f.lock("/both", lockns.Resource)
			defer f.advance(2 * time.Hour)
			return lockThere()
		}, func() error { _, err := f.CleanExpired(ctx, admin); return err }},
	}
}
