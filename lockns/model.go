package lockns

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// WorkspaceKind tells whose workspace it is. The strings are stored.
type WorkspaceKind string

// The kinds of workspace.
const (
	Personal WorkspaceKind = "personal"
	Team     WorkspaceKind = "team"
)

// Workspace names a workspace by its owner: a user's or a team's id.
type Workspace struct {
	Kind WorkspaceKind
	ID   int64
}

// Compare orders workspaces by key, the order in which a transaction locks
// their namespace rows.
func (w Workspace) Compare(o Workspace) int {
	if c := cmp.Compare(w.Kind, o.Kind); c != 0 {
		return c
	}
	return cmp.Compare(w.ID, o.ID)
}

// String is "personal:7", for logs.
func (w Workspace) String() string { return fmt.Sprintf("%s:%d", w.Kind, w.ID) }

// RootKind is the kind of resource a lock is rooted on. The strings are stored.
type RootKind string

// The kinds of lock root.
const (
	WorkspaceRoot RootKind = "workspace_root"
	FolderRoot    RootKind = "folder"
	FileRoot      RootKind = "file"
)

// Root identifies a resource inside its workspace. ID is 0 for the workspace
// root, whose identity is the workspace's. The zero Root is no resource.
type Root struct {
	Kind RootKind
	ID   int64
}

// Valid reports whether kind and id fit together, as the table's CHECK does.
func (r Root) Valid() bool {
	switch r.Kind {
	case WorkspaceRoot:
		return r.ID == 0
	case FolderRoot, FileRoot:
		return r.ID > 0
	}
	return false
}

// Depth is how far below its root a lock reaches. The strings are stored.
type Depth string

// The depths of a lock.
const (
	Resource Depth = "resource"
	Infinity Depth = "infinity"
)

// Mode is the scope of a lock (RFC 4918 section 14.13). The strings are stored.
type Mode string

// The modes of a lock.
const (
	Exclusive Mode = "exclusive"
	Shared    Mode = "shared"
)

// Origin is the door a lock came through, and the only one that opens it. The
// strings are stored.
type Origin string

// The origins of a lock.
const (
	Product Origin = "product"
	WebDAV  Origin = "webdav"
	WOPI    Origin = "wopi"
)

// Place is where a resource stands: its identity and its ancestry. A URL that
// maps to no resource has a place too, with the zero Root: locks above cover it.
type Place struct {
	Root     Root
	Ancestry string
}

// RootPlace is the place of a workspace root whose folder row has this id.
func RootPlace(folderID int64) Place {
	return Place{Root{Kind: WorkspaceRoot}, "/" + strconv.FormatInt(folderID, 10) + "/"}
}

// Folder is the place of a folder directly inside p.
func (p Place) Folder(id int64) Place {
	return Place{Root{FolderRoot, id}, p.Ancestry + strconv.FormatInt(id, 10) + "/"}
}

// File is the place of a file directly inside p.
func (p Place) File(id int64) Place {
	return Place{Root{FileRoot, id}, p.Ancestry + "f" + strconv.FormatInt(id, 10)}
}

// Unmapped is the place of a name inside p that maps to nothing yet.
func (p Place) Unmapped() Place { return Place{Ancestry: p.Ancestry + "?"} }

// IsFolder reports whether p can have members.
func (p Place) IsFolder() bool {
	return p.Root.Kind == FolderRoot || p.Root.Kind == WorkspaceRoot
}

// Holds reports whether o is p or below it.
func (p Place) Holds(o Place) bool {
	if p.IsFolder() {
		return strings.HasPrefix(o.Ancestry, p.Ancestry)
	}
	return p.Root != Root{} && p.Root == o.Root
}

// Lock is one lock. The zero ExpiresAt means no end; Holder 0 means nobody.
type Lock struct {
	ID     int64
	Token  string
	Place  Place // the lock root
	Depth  Depth
	Mode   Mode
	Origin Origin
	Holder int64 // user id
	// Owner is what the client said: for WebDAV the inner XML of DAV:owner, for
	// a product lock a note. It is shown, never compared. For WOPI it is the
	// opaque value, which clients compare their own with and which is not shown.
	Owner string
	// Path is the lock root as it was called when locked, below the
	// workspace root and unescaped. It is shown, never compared.
	Path      string
	ExpiresAt time.Time
	CreatedAt time.Time
}

// ActiveAt reports whether the lock counts at now. It is the only place that
// knows the boundary: a lock is expired if and only if its end is before now.
func (l Lock) ActiveAt(now time.Time) bool {
	return l.ExpiresAt.IsZero() || !l.ExpiresAt.Before(now)
}

// Covers reports whether the lock protects the resource at p: rooted there, or
// above with depth infinity (RFC 4918 section 7.4).
func (l Lock) Covers(p Place) bool {
	if l.Place.Root == p.Root {
		// Workspace roots of two workspaces differ by ancestry alone.
		return p.Root.Kind != WorkspaceRoot || l.Place.Ancestry == p.Ancestry
	}
	return l.deep() && l.Place.Holds(p)
}

// deep reports whether the lock reaches members of its root.
func (l Lock) deep() bool { return l.Depth == Infinity && l.Place.IsFolder() }

// ClampTimeout is the time granted for a lock (RFC 4918 section 10.7): what was
// asked when it was usable, the default otherwise, never more than longest.
func ClampTimeout(asked time.Duration, infinite, usable bool, byDefault, longest time.Duration) time.Duration {
	switch {
	case !usable:
		return min(byDefault, longest)
	case infinite:
		return longest
	}
	return min(asked, longest)
}
