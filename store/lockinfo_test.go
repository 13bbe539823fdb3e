package store_test

import (
	"slices"
	"testing"

	"holdfast/lockns"
	"holdfast/store"
)

// describe is each lock as "workspace at holder", told from a base.
func (f *fixture) describe(base int64, locks ...lockns.Lock) []string {
	f.t.Helper()
	infos, err := f.DescribeLocks(f.t.Context(), base, locks)
	must(f.t, err)
	lines := []string{}
	for i, info := range infos {
		if info.Lock != locks[i] {
			f.t.Errorf("lock %d is described as %+v", locks[i].ID, info.Lock)
		}
		lines = append(lines, info.Workspace.String()+" "+info.At+" "+info.HolderName+" "+info.HolderDisplay)
	}
	return lines
}

func TestDescribeLocks(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	_, err := f.SetUser(t.Context(), "bob", store.UserPatch{DisplayName: new("Bob B.")})
	must(t, err)
	team := f.addTeam("Ops")
	f.mkdir("/a")
	f.mkdir("/a/b")
	f.put("/a/b/f", "x")
	folder := f.productLock("/a/b", lockns.Resource)
	file := f.wopiLock("/a/b/f", "v")
	root := f.lock("/", lockns.Resource).Lock
	out, err := f.Lock(t.Context(), inTeam(team, "/g"), specOf(f.user, lockns.Resource), f.me())
	must(t, err)
	theirs, err := f.Lock(t.Context(), at(bob, "/h"), specOf(bob, lockns.Resource), store.Holder(bob.ID))
	must(t, err)
	all := []lockns.Lock{folder, file, root, out.Lock, theirs.Lock}
	mine := f.user.Workspace().String()
	wantSlice(t, "from the roots", f.describe(0, all...), []string{
		mine + " /a/b ada ada", mine + " /a/b/f  ", mine + " / ada ada",
		team.Workspace().String() + " /g ada ada", bob.Workspace().String() + " /h bob Bob B.",
	})
	wantSlice(t, "none", f.describe(0), []string{})

	b := f.stat("/a/b").Place.Root.ID
	wantSlice(t, "from a folder", f.describe(b, all...), []string{
		mine + " / ada ada", mine + " /f  ", mine + "  ada ada",
		team.Workspace().String() + "  ada ada", bob.Workspace().String() + "  bob Bob B.",
	})
	wantSlice(t, "from a folder that is not there", f.describe(b+100, folder, root), []string{mine + "  ada ada", mine + "  ada ada"})

	// Locks as they were read, by names that were others then.
	must(t, f.Unlock(t.Context(), f.at("/"), store.ByToken(root.Token), f.me()))
	f.sql(`UPDATE folders SET name = 'A', name_key = 'A' WHERE name = 'a'`)
	wantSlice(t, "under other names", f.describe(0, folder, file), []string{mine + " /A/b ada ada", mine + " /A/b/f  "})
	must(t, f.Remove(t.Context(), inTeam(team, "/g"), with{f.user.ID, []string{out.Lock.Token}}))
	wantSlice(t, "of what is gone", f.describe(0, out.Lock), []string{team.Workspace().String() + "  ada ada"})
	must(t, f.RemoveUser(t.Context(), "bob", store.Actor{}))
	if infos, err := f.DescribeLocks(t.Context(), 0, []lockns.Lock{theirs.Lock}); err != nil || infos[0].At != "" {
		t.Errorf("of a removed user: %+v, %v", infos, err)
	}
	if !slices.Equal(f.describe(0, folder), []string{mine + " /A/b ada ada"}) {
		t.Error("the lock that stayed is described otherwise")
	}
}
