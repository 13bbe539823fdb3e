// Package cache keeps lock projections for those who only look: listings and
// details that show how a resource is locked. It is never asked by a change, by
// an If header or by lock discovery; those read the locks themselves. A cache
// that fails, forgets or lies costs time or shows a wrong icon, no more.
//
// # Keys
//
// A projection is kept under its workspace and generation:
//
//	resource_lock_projection:v1:personal:<user_id>:g:<generation>
//	resource_lock_projection:v1:team:<team_id>:g:<generation>
//
// The generation moves in the transaction that changes a lock, so nothing has
// to be invalidated: whoever comes later looks under another key, and what a
// slow reader still writes goes under the old one. In Redis the keys stand
// behind "holdfast:<instance id>:", since several databases may share it.
//
// # Values
//
// A value holds the generation and for each active lock its root's identity and
// id path, depth, mode and end: no token, no owner, no holder, no name. It is
// kept at most until the first of those locks ends; whoever reads it still asks
// of each lock whether it is active by then.
//
// # Backends
//
// Memory serves one process and keeps the newest generation of each workspace.
// Redis serves several. It waits at most a moment for an answer, and after a
// fault is left alone for some seconds, so that listings do not slow down with
// it. One suite, cachetest.Run, holds both to the same behaviour.
package cache
