package store

import (
	"holdfast/lockns"
)

// A Claim is a caller's case for a change. The store asks it inside the writer
// transaction, after the workspace and the named resources are resolved and
// before anything is written; first on a snapshot too where refusing early
// saves work. It may be asked more than once, so it must not have effects.
type Claim interface {
	// Prove gives the credentials, or an error that refuses the change
	// (ErrPrecondition when the condition that carries them is false).
	Prove(View) (lockns.Credentials, error)
	// Precondition is asked after the lock rules allowed the change (RFC 9110
	// section 13.2.1); an error refuses it.
	Precondition(View) error
}

// View is what a Claim may look at: the state that the transaction will change.
// A failing database makes everything look absent here, and the operation fails.
type View interface {
	// Resource is what a path maps to.
	Resource(Target) Resource
	// Lock finds the active lock with this token, in any workspace and of any
	// origin.
	Lock(token string) (lockns.Lock, lockns.Workspace, bool)
	// Rooted are the active locks rooted exactly on what a path maps to, of
	// every origin, by id. A WOPI claim compares the opaque value it was sent
	// with Lock.Owner here, and proves with the token of the lock that has it.
	Rooted(Target) []lockns.Lock
}

// Resource is what a Claim sees of a path. When it does not exist but its
// parent does, Place still tells which locks cover it; when the parent is
// missing too, Place is zero.
type Resource struct {
	Exists bool
	Node   Node
	Place  lockns.Place
}

// Holder is the claim of a plain user, without tokens or preconditions.
type Holder int64

// Prove implements Claim.
func (h Holder) Prove(View) (lockns.Credentials, error) {
	return lockns.Credentials{User: int64(h)}, nil
}

// Precondition implements Claim.
func (Holder) Precondition(View) error { return nil }
