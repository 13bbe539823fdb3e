// Package lockns holds the lock model and its rules as pure functions: no SQL,
// no HTTP, no clock. The store asks the database where locks stand relative to
// a resource; this package says what that means.
//
// # Model
//
// A lock lives in one workspace and is rooted on the workspace root, a folder
// or a file, known by id and never by path. Its depth is resource (the root
// alone) or infinity (the root and everything below it, now and later; on a
// file both cover the same). Its mode is exclusive or shared, its origin says
// which door opens it (RFC 4918 section 6, and the project's lock contract).
//
// Hierarchy is decided by the ancestry of a resource, the path of ids from the
// workspace root: a folder is "/1/5/9/", a file in it "/1/5/9/f7". A prefix of
// an ancestry is an ancestor; names never take part.
//
// # Rules
//
// A lock covers a resource when it is rooted there, or is rooted above with
// depth infinity (section 7.4).
//
// Two locks conflict when one covers the other's root and at least one of them
// is exclusive (section 6.2). Origin and holder make no difference.
//
// A change names the resources it touches, some of them deep, that is with
// everything below. For each locked resource touched, every exclusive lock
// covering it must be opened, and one of the shared locks covering it,
// whatever that one's root (section 7.5):
//
//	origin   opened by
//	product  its holder
//	webdav   its token in its holder's hands (section 6.4)
//	wopi     its internal token
//
// A lock is expired if and only if its end is before now; at its end it is
// still active. A lock without an end never expires.
//
// # Projection
//
// For show, a Projection says of every place of a workspace whether it is
// unlocked, locked itself, or locked from above: a lock on the resource counts
// before those above, the nearest root before those further up, and of several
// locks on one root the one that ends last. It holds neither tokens nor owners,
// and no rule asks it.
package lockns
