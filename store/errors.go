package store

import (
	"errors"

	"holdfast/lockns"
)

// What an operation can refuse for. Each is matched with errors.Is; a refusal
// by locks is a *lockns.LockedError or a *lockns.ConflictError instead.
var (
	// ErrNotFound: the path maps to nothing.
	ErrNotFound = errors.New("store: not found")
	// ErrNoParent: a folder above the path is missing, or is a file.
	ErrNoParent = errors.New("store: parent folder missing")
	// ErrExists: the name is taken and may not be replaced.
	ErrExists = errors.New("store: already exists")
	// ErrIsFolder: the operation wants a file and the path maps to a folder.
	ErrIsFolder = errors.New("store: is a folder")
	// ErrRoot: the workspace root cannot be removed, moved or replaced.
	ErrRoot = errors.New("store: is the workspace root")
	// ErrIntoItself: a resource cannot be copied or moved onto itself, below
	// itself, or over one of its own ancestors.
	ErrIntoItself = errors.New("store: source and destination overlap")
	// ErrBadName: a name of the path is not allowed.
	ErrBadName = errors.New("store: bad name")
	// ErrTooDeep: the path would have more than MaxLevels levels.
	ErrTooDeep = errors.New("store: too many levels")
	// ErrPosition: nobody can tell what changed since a position, because it is
	// another folder's, or too old, or has never been reached.
	ErrPosition = errors.New("store: no position to tell changes from")
	// ErrTooMany: a walk or a move between workspaces exceeds its limit.
	ErrTooMany = errors.New("store: too many members")
	// ErrForbidden: the user may not do that in this workspace.
	ErrForbidden = errors.New("store: not allowed in this workspace")
	// ErrLastOwner: a team with members keeps an owner.
	ErrLastOwner = errors.New("store: the team would have no owner")
	// ErrMember: the user is a member of the team already.
	ErrMember = errors.New("store: member already")
	// ErrSelf: an administrator may not take that from themselves.
	ErrSelf = errors.New("store: not of one's own")
	// ErrTooManyNamedLocks: the workspace has as many named locks as allowed.
	ErrTooManyNamedLocks = errors.New("store: too many named locks")
	// ErrTooManyAccounts: the user has as many accounts as allowed.
	ErrTooManyAccounts = errors.New("store: too many accounts")
	// ErrPrecondition: a Claim's condition is false.
	ErrPrecondition = errors.New("store: precondition failed")
	// ErrQuota: the workspace's storage quota would be exceeded.
	ErrQuota = errors.New("store: storage quota exceeded")
	// ErrUploadLimit: the login has as many uploads under way as allowed, or the
	// upload has as many pieces.
	ErrUploadLimit = errors.New("store: too many uploads or pieces")
	// ErrUploadBusy: the upload is being put together.
	ErrUploadBusy = errors.New("store: upload is being put together")
	// ErrUploadChanged: pieces came or went while the upload was put together.
	ErrUploadChanged = errors.New("store: upload changed while it was put together")
	// ErrTooLarge: the file would have more bytes than allowed.
	ErrTooLarge = errors.New("store: file too large")
	// ErrLockQuota: the user holds as many active locks as allowed.
	ErrLockQuota = errors.New("store: lock quota exceeded")
	// ErrNoSpace: the database or the disk below it is full.
	ErrNoSpace = errors.New("store: no space left")
	// ErrBodySize: a body is longer or shorter than it was said to be.
	ErrBodySize = errors.New("store: body size differs from the size announced")
	// ErrChecksum: content is not what its checksum says.
	ErrChecksum = errors.New("store: content does not match its checksum")
	// ErrBadLock: no lock can be as it was asked for.
	ErrBadLock = errors.New("store: bad lock")
	// ErrLockTooLong: the lock would end later than allowed.
	ErrLockTooLong = errors.New("store: lock would last too long")
	// ErrNoSuchLock: no active lock of this token covers the path, or none of
	// this origin is rooted there.
	ErrNoSuchLock = errors.New("store: no such lock here")
	// ErrNotHolder: the lock is somebody else's, or the credentials do not
	// open it.
	ErrNotHolder = errors.New("store: lock held by another user")
	// ErrForeignLock: a lock that cannot leave its workspace stands in the
	// tree to be moved. It is wrapped beside a *lockns.LockedError.
	ErrForeignLock = errors.New("store: lock bound to its workspace")
	// ErrUnavailable: the body store cannot be reached; try again soon.
	ErrUnavailable = errors.New("store: body store unavailable")
	// ErrTooManyProps: a resource would have more dead properties, or more
	// bytes of them, than MaxProps and MaxPropBytes allow.
	ErrTooManyProps = errors.New("store: too many properties")
	// ErrBusy: the database is busy with another process; try again soon.
	ErrBusy = errors.New("store: database busy")
	// ErrCommitUnknown: the commit failed in a way that leaves open whether it
	// happened. Nothing staged was removed; the caller may look and try again.
	ErrCommitUnknown = errors.New("store: commit outcome unknown")
	// ErrClosed: the store is closed.
	ErrClosed = errors.New("store: closed")
)

// locked is the shape in which operations hand on a refusal by locks.
func locked(locks []lockns.Lock) error { return &lockns.LockedError{Locks: locks} }
