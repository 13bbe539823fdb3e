package dav

import (
	"slices"
	"testing"

	"holdfast/lockns"
	"holdfast/store"
)

func TestMountResolves(t *testing.T) {
	plain := mount{prefix: "/dav"}
	scoped := mount{prefix: "/dav", root: store.Path{"shared", "a b"}}
	team := mount{prefix: "/teams/r%26d"}
	for _, c := range []struct {
		name   string
		m      mount
		url    string
		want   store.Path
		slash  bool
		inside bool
	}{
		{"the mount itself", plain, "/dav", nil, false, true},
		{"the mount with a slash", plain, "/dav/", nil, true, true},
		{"a member", plain, "/dav/x/y%2Bz/", store.Path{"x", "y+z"}, true, true},
		{"a prefix spelled otherwise", plain, "/%64av/x", store.Path{"x"}, false, true},
		{"empty and dot segments", plain, "//./dav//x/./y", store.Path{"x", "y"}, false, true},
		{"a longer name", plain, "/davx/y", nil, false, false},
		{"above", plain, "/", nil, false, false},
		{"an encoded slash in the prefix", plain, "/dav%2Fx", nil, false, false},
		{"below a folder", scoped, "/dav/x", store.Path{"shared", "a b", "x"}, false, true},
		{"an escaped prefix", team, "/teams/r%26d/x", store.Path{"x"}, false, true},
		{"an escaped prefix in plain", team, "/teams/r&d", nil, false, true},
		{"part of the prefix", team, "/teams", nil, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			loc, inside, err := c.m.resolve(c.url)
			if err != nil || inside != c.inside || loc.slash != c.slash || !slices.Equal(loc.path, c.want) {
				t.Errorf("resolve(%q) = %q, slash %t, inside %t, %v", c.url, loc.path, loc.slash, inside, err)
			}
		})
	}
	if _, inside, err := plain.resolve("/dav/../x"); !inside || err == nil {
		t.Errorf("a dot-dot segment: inside %t, error %v", inside, err)
	}
}

func TestMountShowsLockRoots(t *testing.T) {
	folder, file := lockns.RootPlace(1).Folder(2), lockns.RootPlace(1).Folder(2).File(3)
	scoped := mount{prefix: "/dav", root: store.Path{"shared"}}
	for _, c := range []struct {
		name string
		m    mount
		lock lockns.Lock
		want string
	}{
		{"a folder", mount{prefix: "/dav"}, lockns.Lock{Path: "/a b", Place: folder}, "/dav/a%20b/"},
		{"a file", mount{prefix: "/dav"}, lockns.Lock{Path: "/a/f", Place: file}, "/dav/a/f"},
		{"the workspace root", mount{prefix: "/dav"}, lockns.Lock{Path: "/", Place: lockns.RootPlace(1)}, "/dav/"},
		{"inside a scope", scoped, lockns.Lock{Path: "/shared/f", Place: file}, "/dav/f"},
		{"the scope itself", scoped, lockns.Lock{Path: "/shared", Place: folder}, "/dav/"},
		{"outside the scope", scoped, lockns.Lock{Path: "/secret", Place: folder}, "/dav/"},
		{"above the scope", scoped, lockns.Lock{Path: "/", Place: lockns.RootPlace(1)}, "/dav/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.m.lockRoot(c.lock); got != c.want {
				t.Errorf("lockRoot(%q) = %q, want %q", c.lock.Path, got, c.want)
			}
		})
	}
	twice := []lockns.Lock{{Path: "/shared/f", Place: file}, {Path: "/shared/f", Place: file}, {Path: "/shared/g", Place: file}}
	if got, want := scoped.lockRoots(twice), []string{"/dav/f", "/dav/g"}; !slices.Equal(got, want) {
		t.Errorf("lockRoots = %q, want %q", got, want)
	}
}

func TestMountSpellsAsAsked(t *testing.T) {
	m := mount{prefix: "/dav"}
	loc, _, err := m.resolve("/dav/a+b//x+y/")
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
			if got, _ := m.href(c.path, false); got != c.want {
				t.Errorf("href %q, want %q", got, c.want)
			}
		})
	}
}
