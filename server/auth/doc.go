// Package auth finds out who sends a request.
//
// # Basic
//
// The scheme is Basic (RFC 7617) with charset="UTF-8". WebDAV clients send the
// password with every request, so what costs is not the login but its
// repetition:
//
//	credentials → the user's row (always) → remembered? → brake → slot → argon2id
//
// The row is read for each request: a user who was disabled, or whose password
// or role changed, is out with the next request, whichever process changed it.
// What is remembered is the outcome for one (user id, auth version, password),
// under an HMAC with a key that lives and dies with the process; no password
// and nothing to test guesses against is kept.
//
// # What an attacker gets
//
// A hash takes some tens of milliseconds of one core and 19 MiB, which makes
// the login itself the best target for overload. Hence the gate: one hash per core at a
// time, a wait of at most two seconds, then [ErrBusy]. Equal logins that
// arrive together share one hash, so a client that opens fifty connections at
// once needs one slot. Unknown, disabled and passwordless users cost the same
// hash as a wrong password, so the time tells nothing about names.
//
// The brake counts wrong guesses by remote address and user name; guesses that
// differ, that is: a client that repeats an old password is answered from
// memory and spends nothing. A login that is remembered as right passes the
// brake, and so do requests without credentials, which most clients send
// first. Somebody who shares address and user name with an attacker may have to
// wait for a new login; nobody else does.
package auth
