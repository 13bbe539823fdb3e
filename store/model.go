package store

import (
	"io"
	"strconv"
	"strings"
	"time"

	"holdfast/lockns"
)

// MaxLevels is how many names a path may have.
const MaxLevels = 128

// MaxNameBytes is how long one name may be, as sent.
const MaxNameBytes = 255

// How many dead properties a resource may have, and how many bytes they may
// take, names and values together. The bytes count as stored content.
const (
	MaxProps     = 1024
	MaxPropBytes = 256 << 10
)

// Target is a path in a workspace. The path may map to nothing.
type Target struct {
	Workspace lockns.Workspace
	// Base is the id of the folder that Path starts at, wherever that folder
	// is by now; 0 is the workspace root. Nothing outside it can be named, and
	// it cannot be removed, moved or replaced through a Target.
	Base int64
	// Start is the resource at or below Base that Path starts at instead, known
	// by its id, wherever it is by now. The zero Root is Base itself. A workspace
	// root is known by the id of its folder too. What is not there, or not below
	// Base, is ErrNotFound, whatever the path. A destination of Copy and Move has a
	// path, with the name that the resource is to get.
	Start lockns.Root
	Path  Path
}

// ByID is the target of a resource known by id. See Store.WorkspaceOf.
func ByID(ws lockns.Workspace, id lockns.Root) Target {
	return Target{Workspace: ws, Start: id}
}

// Node is a file or folder as one transaction saw it.
type Node struct {
	// Place is the identity: root kind, id and id path.
	Place lockns.Place
	// Name is the name as first sent, "" for the workspace root.
	Name string
	// Size in bytes; 0 for folders.
	Size int64
	// ETag is a strong entity tag with its quotes, new with each content
	// write; "" for folders.
	ETag string
	// ContentType as stored with the content; "" when none was given.
	ContentType       string
	Created, Modified time.Time

	namespace int64 // id of the namespace row
	parent    int64 // id of the folder it is in; 0 for the workspace root
	blob      int64 // id of the blobs row; 0 for folders
	props     int64 // bytes of its dead properties
	versions  int64 // bytes of its versions; 0 when it has none

	lastChange int64 // id of the last change of its members; 0 for files
}

// ID is the id of the node's row: of a file, or of a folder, the workspace root's
// too.
func (n Node) ID() int64 {
	if n.Place.Root.Kind != lockns.WorkspaceRoot {
		return n.Place.Root.ID
	}
	id, _ := strconv.ParseInt(strings.Trim(n.Place.Ancestry, "/"), 10, 64) // as RootPlace made it
	return id
}

// Parent is the id of the folder that the node is in; 0 for the workspace root.
func (n Node) Parent() int64 { return n.parent }

// IsFolder reports whether the node is a folder or the workspace root.
func (n Node) IsFolder() bool { return n.Place.IsFolder() }

// Property is a dead property: its name and its whole element, with every
// namespace it uses declared inside (RFC 4918 section 4.3).
type Property struct {
	Space, Local string
	XML          string
}

// PropOp sets a dead property, or removes it when Remove is true; removing what
// is not there is no error (RFC 4918 section 14.23).
type PropOp struct {
	Property
	Remove bool
}

// Patch is a change of properties, applied whole and in order. The zero Patch
// changes nothing, and PatchProps with it is a check of all that could refuse.
type Patch struct {
	Props    []PropOp
	Modified *time.Time // a new modification time, when not nil
	// Checksums are what the content is said to have: ErrChecksum, and nothing is
	// changed, unless all are known to be right.
	Checksums []Checksum
}

// Want says what a Walk reads of each entry besides the node.
type Want struct {
	Props bool // dead properties
	// PropNames limits them to those with one of these local names, whatever
	// the namespace; nil wants all.
	PropNames []string
	// NamesOnly leaves their XML empty.
	NamesOnly bool
	Locks     bool // active locks covering it
	Checksums bool // checksums of content
	States    bool // how it is locked, for show

	projection *lockns.Projection // what States come from; nil: the locks themselves
}

// needsLocks reports whether the locks themselves are to be read.
func (w Want) needsLocks() bool { return w.Locks || w.States && w.projection == nil }

// Entry is one resource of a Walk.
type Entry struct {
	Node
	// Path is where the resource is below the Base of the walk's target, spelled
	// as stored (a start that was named by a path alone, as asked).
	Path  Path
	Props []Property
	Locks []lockns.Lock
	State lockns.State
	// Checksums of a file: SHA-256, and before it those that were verified when
	// the content came.
	Checksums []Checksum
}

// Depths of a Walk.
const (
	DepthZero     = 0
	DepthOne      = 1
	DepthInfinity = -1
)

// Usage is what a workspace stores and may store, in bytes. Quota 0 is none.
type Usage struct{ Used, Quota int64 }

// File is content to be put.
type File struct {
	// Body is read once, to its end, after everything that could refuse the
	// request has been asked on a snapshot.
	Body io.Reader
	// Size is the exact length of Body, or -1 when unknown.
	Size        int64
	ContentType string
	// Modified is the modification time to give the file; zero is now.
	Modified time.Time
	// Checksums are what the content must have. They are verified while Body is
	// read, and kept with the content. One without a value is only to be known.
	Checksums []Checksum
}

// Role is what a member may do in a team. The strings are stored.
type Role string

// The roles. Owners and admins manage members, viewers only read.
const (
	Owner  Role = "owner"
	Admin  Role = "admin"
	Writer Role = "member"
	Viewer Role = "viewer"
)

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return r == Owner || r == Admin || r == Writer || r == Viewer }

// MayWrite reports whether the role allows changes and locks.
func (r Role) MayWrite() bool { return r.Valid() && r != Viewer }

// Team is a group of users with a workspace, which has the team's id.
type Team struct {
	ID      int64
	Name    string // as in the URL of its mount
	Created time.Time
}

// Workspace is the team's workspace.
func (t Team) Workspace() lockns.Workspace { return lockns.Workspace{Kind: lockns.Team, ID: t.ID} }

// Membership is a team and what a user is in it.
type Membership struct {
	Team Team
	Role Role
}

// User is somebody who can log in. Their personal workspace has their id.
type User struct {
	ID          int64
	Name        string
	DisplayName string
	// PasswordHash is an encoded hash, "" for a user who cannot log in.
	PasswordHash string
	Admin        bool
	Disabled     bool
	// AuthVersion grows whenever what a login proves may have changed:
	// password, role, disabled.
	AuthVersion int64
	Created     time.Time
}

// Workspace is the user's personal workspace.
func (u User) Workspace() lockns.Workspace {
	return lockns.Workspace{Kind: lockns.Personal, ID: u.ID}
}

// Actor is the user as the audit log names them.
func (u User) Actor() Actor { return Actor{ID: u.ID, Name: u.Name} }
