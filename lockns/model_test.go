package lockns_test

import (
	"slices"
	"testing"
	"time"

	"holdfast/lockns"
)

// TestStoredStrings pins the strings that rows hold: changing one is a migration.
func TestStoredStrings(t *testing.T) {
	for got, want := range map[string]string{
		string(lockns.Personal):      "personal",
		string(lockns.Team):          "team",
		string(lockns.WorkspaceRoot): "workspace_root",
		string(lockns.FolderRoot):    "folder",
		string(lockns.FileRoot):      "file",
		string(lockns.Resource):      "resource",
		string(lockns.Infinity):      "infinity",
		string(lockns.Exclusive):     "exclusive",
		string(lockns.Shared):        "shared",
		string(lockns.Product):       "product",
		string(lockns.WebDAV):        "webdav",
		string(lockns.WOPI):          "wopi",
	} {
		if got != want {
			t.Errorf("stored as %q, want %q", got, want)
		}
	}
}

func TestRootValid(t *testing.T) {
	for _, c := range []struct {
		name string
		root lockns.Root
		want bool
	}{
		{"zero root", lockns.Root{}, false},
		{"unknown kind", lockns.Root{Kind: "drive", ID: 1}, false},
		{"workspace root without id", lockns.Root{Kind: lockns.WorkspaceRoot}, true},
		{"workspace root with id", lockns.Root{Kind: lockns.WorkspaceRoot, ID: 1}, false},
		{"folder with id", lockns.Root{Kind: lockns.FolderRoot, ID: 1}, true},
		{"folder without id", lockns.Root{Kind: lockns.FolderRoot}, false},
		{"folder with negative id", lockns.Root{Kind: lockns.FolderRoot, ID: -1}, false},
		{"file with id", lockns.Root{Kind: lockns.FileRoot, ID: 1}, true},
		{"file without id", lockns.Root{Kind: lockns.FileRoot}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.root.Valid(); got != c.want {
				t.Errorf("Valid() = %v, want %v", got, c.want)
			}
		})
	}
}

func TestWorkspaceOrder(t *testing.T) {
	want := []lockns.Workspace{
		{Kind: lockns.Personal, ID: 2}, {Kind: lockns.Personal, ID: 10}, {Kind: lockns.Team, ID: 1}, {Kind: lockns.Team, ID: 9},
	}
	got := []lockns.Workspace{want[3], want[1], want[2], want[0]}
	slices.SortFunc(got, lockns.Workspace.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("sorted %v, want %v", got, want)
	}
	if want[1].Compare(want[1]) != 0 {
		t.Error("a workspace differs from itself")
	}
	if s := want[1].String(); s != "personal:10" {
		t.Errorf("String() = %q", s)
	}
}

func TestActiveAt(t *testing.T) {
	end := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
	for _, c := range []struct {
		name string
		end  time.Time
		now  time.Time
		want bool
	}{
		{"active before its end", end, end.Add(-time.Microsecond), true},
		{"active at its end", end, end, true},
		{"expired a microsecond after its end", end, end.Add(time.Microsecond), false},
		{"active without an end", time.Time{}, end, true},
		{"active at its end in another zone", end, end.In(time.FixedZone("east", 3600)), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (lockns.Lock{ExpiresAt: c.end}).ActiveAt(c.now); got != c.want {
				t.Errorf("ActiveAt = %v, want %v", got, c.want)
			}
		})
	}
}

func TestClampTimeout(t *testing.T) {
	const day, week = 24 * time.Hour, 7 * 24 * time.Hour
	for _, c := range []struct {
		name                     string
		asked                    time.Duration
		infinite, usable         bool
		byDefault, longest, want time.Duration
	}{
		{"asked is granted", time.Minute, false, true, day, week, time.Minute},
		{"asked at the longest is granted", week, false, true, day, week, week},
		{"more than the longest is cut", week + time.Second, false, true, day, week, week},
		{"infinite is cut", 0, true, true, day, week, week},
		{"unusable gets the default", time.Minute, false, false, day, week, day},
		{"unusable infinite gets the default", 0, true, false, day, week, day},
		{"default above the longest is cut", 0, false, false, week, day, day},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lockns.ClampTimeout(c.asked, c.infinite, c.usable, c.byDefault, c.longest)
			if got != c.want {
				t.Errorf("granted %v, want %v", got, c.want)
			}
		})
	}
}

// TestAncestry spells out the id paths, with ids that are prefixes of others.
func TestAncestry(t *testing.T) {
	root := lockns.RootPlace(1)
	ten, hundred := root.Folder(10), root.Folder(100)
	seven, f7, f71 := ten.Folder(7), ten.File(7), ten.File(71)
	for _, c := range []struct {
		place lockns.Place
		path  string
		root  lockns.Root
		isDir bool
	}{
		{root, "/1/", lockns.Root{Kind: lockns.WorkspaceRoot}, true},
		{ten, "/1/10/", lockns.Root{Kind: lockns.FolderRoot, ID: 10}, true},
		{hundred, "/1/100/", lockns.Root{Kind: lockns.FolderRoot, ID: 100}, true},
		{seven, "/1/10/7/", lockns.Root{Kind: lockns.FolderRoot, ID: 7}, true},
		{f7, "/1/10/f7", lockns.Root{Kind: lockns.FileRoot, ID: 7}, false},
		{f71, "/1/10/f71", lockns.Root{Kind: lockns.FileRoot, ID: 71}, false},
		{ten.Unmapped(), "/1/10/?", lockns.Root{}, false},
	} {
		if c.place.Ancestry != c.path || c.place.Root != c.root || c.place.IsFolder() != c.isDir {
			t.Errorf("place %+v, want %q, %+v, folder %v", c.place, c.path, c.root, c.isDir)
		}
	}
}

func TestHolds(t *testing.T) {
	root := lockns.RootPlace(1)
	ten, hundred := root.Folder(10), root.Folder(100)
	for _, c := range []struct {
		name     string
		outer, o lockns.Place
		want     bool
	}{
		{"a folder holds itself", ten, ten, true},
		{"a folder holds its file", ten, ten.File(7), true},
		{"a folder holds a name in it that maps to nothing", ten, ten.Unmapped(), true},
		{"a folder holds what is levels below", root, ten.Folder(7).File(9), true},
		{"a folder does not hold its parent", ten, root, false},
		{"a folder does not hold one whose id begins like its own", ten, hundred, false},
		{"a folder does not hold one whose id its own begins with", hundred, ten, false},
		{"folder 1 does not hold folder 10", root.Folder(1), ten, false},
		{"a folder does not hold the file of its own id", root.Folder(7), root.File(7), false},
		{"a file holds itself", ten.File(7), ten.File(7), true},
		{"a file does not hold one whose id begins like its own", ten.File(7), ten.File(71), false},
		{"a file does not hold the folder of its own id", root.File(7), root.Folder(7), false},
		{"an unmapped name holds nothing", ten.Unmapped(), ten.Unmapped(), false},
		{"an unmapped name does not hold a file", ten.Unmapped(), ten.File(7), false},
		{"a workspace root does not hold another", root, lockns.RootPlace(10), false},
		{"the zero place holds nothing", lockns.Place{}, ten, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.outer.Holds(c.o); got != c.want {
				t.Errorf("%q holds %q: %v, want %v", c.outer.Ancestry, c.o.Ancestry, got, c.want)
			}
		})
	}
}

func TestCoversBetweenWorkspaces(t *testing.T) {
	lock := lockns.Lock{Place: lockns.RootPlace(1), Depth: lockns.Infinity}
	for _, c := range []struct {
		name  string
		place lockns.Place
		want  bool
	}{
		{"its own root", lockns.RootPlace(1), true},
		{"a file of its own", lockns.RootPlace(1).File(3), true},
		{"another root", lockns.RootPlace(2), false},
		{"another root whose id begins alike", lockns.RootPlace(10), false},
		{"a file elsewhere", lockns.RootPlace(2).File(3), false},
		{"no place", lockns.Place{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lock.Covers(c.place); got != c.want {
				t.Errorf("Covers = %v, want %v", got, c.want)
			}
		})
	}
}
