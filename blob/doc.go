// Package blob keeps the bodies of files: immutable byte strings under opaque
// keys, on a local disk ([Dir]) or in an S3 bucket ([S3]).
//
// # What a store is
//
// A [Store] knows no names, owners, versions or references. It stores what it is
// given under a key nobody has used before and gives it back, whole or in ranges.
// An object is never changed after Put returned: a new content is a new key. That
// one rule makes the rest cheap. There is no rename, no copy, no conditional
// write and no cache to invalidate, and a reader that opened an object keeps
// reading the same bytes whatever the tree above it does meanwhile.
//
// # Who decides what lives
//
// The database does. An object is written first, outside any transaction, and is
// garbage until a transaction commits a reference to it:
//
//	write:  Write(body) → commit a row that names the key
//	remove: commit the row's removal → wait → Delete(key)
//
// A crash between the steps leaves an object without a reference, never a
// reference without an object. [Store.List] exists so that a sweep can find such
// orphans, which is why it also reports objects that a crash left half-written.
//
// # Keys
//
// [NewKey] mints random keys with a two-digit shard in front, so that no folder
// of a local disk grows without bound. The one key that is not random is
// [EmptyKey], the content-addressed empty object all lock-null resources may
// share; see [EnsureEmpty].
//
// # Durability
//
// When Put returns nil, the object survives a power cut: a Dir made with
// [DirOptions].Sync has flushed the file, the folder that names it and any folder
// it had to make; an S3 engine promises the same with its answer. A Dir without
// Sync survives a crash of the process only.
//
// # Memory
//
// No body is ever held in memory. A Dir copies through a pooled buffer of
// 256 KiB; an S3 upload holds at most one part of 16 MiB.
package blob
