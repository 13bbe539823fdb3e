package dav

import (
	"slices"
	"testing"

	"holdfast/lockns"
	"holdfast/store"
)

func TestResolve(t *testing.T) {
	q := newRequest("GET")
	q.h.opt.TeamsPrefix = "/teams"
	team := &mount{prefix: "/teams/r&d"}
	q.teams = map[string]*mount{"r&d": team, "R&D": team, "none": nil}
	for _, c := range []struct {
		name   string
		url    string
		prefix string // of the mount, "" for none
		want   store.Path
		slash  bool
	}{
		{"the mount itself", "/dav", "/dav", nil, false},
		{"the mount with a slash", "/dav/", "/dav", nil, true},
		{"a member", "/dav/x/y%2Bz/", "/dav", store.Path{"x", "y+z"}, true},
		{"a prefix spelled otherwise", "/%64av/x", "/dav", store.Path{"x"}, false},
		{"empty and dot segments", "//./dav//x/./y", "/dav", store.Path{"x", "y"}, false},
		{"a longer name", "/davx/y", "", nil, false},
		{"above", "/", "", nil, false},
		{"an encoded slash in the prefix", "/dav%2Fx", "", nil, false},
		{"a broken segment in the prefix", "/%zz/dav/x", "", nil, false},
		{"a team", "/teams/r&d", "/teams/r&d", nil, false},
		{"a team spelled otherwise", "//teams/./R%26D/x/", "/teams/r&d", store.Path{"x"}, true},
		{"a team the user has not got", "/teams/none/x", "", nil, false},
		{"the collection of teams", "/teams", "", nil, false},
		{"the collection of teams with dot segments", "/teams//.", "", nil, false},
		{"beside the collection of teams", "/teamsx/r&d", "", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			loc, err := q.resolve(c.url)
			prefix := ""
			if loc.mount != nil {
				prefix = loc.prefix
			}
			if err != nil || prefix != c.prefix || loc.slash != c.slash || !slices.Equal(loc.path, c.want) {
				t.Errorf("resolve(%q) = %q in %q, slash %t, %v", c.url, loc.path, prefix, loc.slash, err)
			}
		})
	}
	for _, url := range []string{"/dav/../x", "/teams/r&d/../x", "/teams/../dav", "/teams/%2e%2e/dav", "/teams/a%2Fb", "/teams/%zz"} {
		t.Run(url+" is malformed", func(t *testing.T) {
			if loc, err := q.resolve(url); err == nil {
				t.Errorf("resolve = %q", loc.path)
			}
		})
	}
	for name, p := range map[string]Principal{"scoped": {Scoped: true}, "anonymous": {Anonymous: true}} {
		t.Run("a team for a "+name+" principal", func(t *testing.T) {
			q := *q
			q.principal = p
			if loc, err := q.resolve("/teams/r&d"); loc.mount != nil || err != nil {
				t.Errorf("resolve = %+v, %v", loc, err)
			}
		})
	}
}

// at is a mount of the folder with this place.
func at(place lockns.Place) *mount {
	return &mount{prefix: "/dav", base: place.Root.ID, place: func() lockns.Place { return place }}
}

func TestMountShowsLockRoots(t *testing.T) {
	root := lockns.RootPlace(1)
	folder := root.Folder(2).Folder(3)
	file := folder.File(4)
	whole, scoped := &mount{prefix: "/dav"}, at(folder)
	for _, c := range []struct {
		name string
		m    *mount
		lock lockns.Lock
		want string
	}{
		{"a folder", whole, lockns.Lock{Path: "/a b", Place: root.Folder(2)}, "/dav/a%20b/"},
		{"a file", whole, lockns.Lock{Path: "/a/b/f", Place: file}, "/dav/a/b/f"},
		{"the workspace root", whole, lockns.Lock{Path: "/", Place: root}, "/dav/"},
		{"inside a scope", scoped, lockns.Lock{Path: "/a/b/f", Place: file}, "/dav/f"},
		{"deep inside a scope", scoped, lockns.Lock{Path: "/a/b/c/d", Place: folder.Folder(5).Folder(6)}, "/dav/c/d/"},
		{"inside a scope that was called otherwise", scoped, lockns.Lock{Path: "/x/y/f", Place: file}, "/dav/f"},
		{"the scope itself", scoped, lockns.Lock{Path: "/a/b", Place: folder}, "/dav/"},
		{"beside the scope, with its name", scoped, lockns.Lock{Path: "/a/b/f", Place: root.Folder(7).Folder(8).File(9)}, "/dav/"},
		{"beside the scope, far down", scoped, lockns.Lock{Path: "/a/b/c/d/e/f", Place: root.Folder(7).File(9)}, "/dav/"},
		{"above the scope", scoped, lockns.Lock{Path: "/a", Place: root.Folder(2)}, "/dav/"},
		{"at the root above the scope", scoped, lockns.Lock{Path: "/", Place: root}, "/dav/"},
		{"with a scope that is gone", at(lockns.Place{Root: lockns.Root{ID: 3}}), lockns.Lock{Path: "/a/b/f", Place: file}, "/dav/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.m.lockRoot(c.lock); got != c.want {
				t.Errorf("lockRoot(%q) = %q, want %q", c.lock.Path, got, c.want)
			}
		})
	}
	twice := []lockns.Lock{{Path: "/a/b/f", Place: file}, {Path: "/a/b/f", Place: file}, {Path: "/a/b/g", Place: folder.File(5)}}
	q := newRequest("GET")
	q.mount = scoped
	if got, want := q.lockRoots(twice), []string{"/dav/f", "/dav/g"}; !slices.Equal(got, want) {
		t.Errorf("lockRoots = %q, want %q", got, want)
	}
}

// A COPY or MOVE between mounts names each lock in the mount it stands in.
func TestLocksOfTwoMounts(t *testing.T) {
	here, there := lockns.RootPlace(1), lockns.RootPlace(2)
	q := newRequest("MOVE")
	q.workspace = lockns.Workspace{Kind: lockns.Personal, ID: 1}
	q.dest = location{mount: &mount{prefix: "/teams/T", workspace: lockns.Workspace{Kind: lockns.Team, ID: 1}, place: func() lockns.Place { return there }}}
	locks := []lockns.Lock{{Path: "/a", Place: here.File(3)}, {Path: "/a", Place: there.File(4)}, {Path: "/", Place: there}}
	if got, want := q.lockRoots(locks), []string{"/dav/a", "/teams/T/a", "/teams/T/"}; !slices.Equal(got, want) {
		t.Errorf("lockRoots = %q, want %q", got, want)
	}
}

func TestMountSpellsAsAsked(t *testing.T) {
	m := &mount{prefix: "/dav"}
	loc, err := m.at("/a+b//x+y/")
	if err != nil {
		t.Fatal(err)
	}
	m.asked = loc
	for _, c := range []struct {
		name string
		path store.Path
		want string
	}{
		{"what was asked for", store.Path{"a+b", "x+y"}, "/dav/a+b/x+y"},
		{"above it", store.Path{"a+b"}, "/dav/a+b"},
		{"below it", store.Path{"a+b", "x+y", "z+"}, "/dav/a+b/x+y/z%2B"},
		{"beside it", store.Path{"a+b", "x+z"}, "/dav/a+b/x%2Bz"},
		{"of the same name elsewhere", store.Path{"c+d", "x+y"}, "/dav/c%2Bd/x%2By"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := m.href(c.path, false); got != c.want {
				t.Errorf("href %q, want %q", got, c.want)
			}
		})
	}
}
