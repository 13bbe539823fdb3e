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
// # App passwords
//
// An account is a further password of a user, for one program or device, that
// may open less than the user's own ([Login.Account] says what). It is sent like
// the user's own, with the user's name:
//
//	credentials → looks like an app password? → the account's row (always) → its user?
//
// The server mints it: 160 random bits, "hf-" before them. Nobody guesses those,
// so their SHA-256 is kept, under a unique index, and no slow hash, salt, memory
// or brake is needed. How long the look-up takes may tell how much of a hash is
// right, which is no help in finding a password that has it; no secret is
// compared otherwise. The hash starts with the name of its scheme, "sha256:", so
// that others can come. What fits no account is then taken for the user's own
// password, and so costs a hash and counts at the brake like any other guess.
//
// The row is read for each request: an account that was removed or has expired,
// or whose user was disabled, opens nothing from the next request on. Its last
// use is noted beside the request, once a minute at most.
//
// Sent alone as a bearer token (RFC 6750), an app password needs no name.
//
// # Sessions
//
// A browser logs in once, with the user's own password, and is known by a token
// from then on: 256 random bits, of which the SHA-256 is kept, as of an app
// password.
//
//	token → looks like one? → the session's row, its user and auth version (always)
//
// A session proves what the password proved when it was opened. A change of the
// password or the role, and disabling the user, ends it with the next request,
// whichever process made the change; so do a week without use, a month in all, and
// its user. App passwords open none: they may be limited to a folder, and a session
// would outlive them. A login never keeps the token that came with it, and ends the
// session that the browser had.
//
// A user who changes their password proves the former one, with the brake; all
// their sessions end, and the browser at work gets another one.
//
// # The audit log
//
// It is told of each login once an hour, by user, password, door and address, and
// of wrong passwords: of a hundred at once and of one a minute then, with a count
// of those that are missing. A name that nobody has is not written down, for some
// type their password there. All that happens beside the request, which neither
// waits for it nor fails with it; Flush waits.
//
// # Digest
//
// Digest (RFC 7616) is for Windows over plain HTTP, and for app passwords alone:
// the user's own is kept as argon2id, from which no digest can be computed. Of an
// app password that is made while a server with Digest is the last one started,
// the hash of name, realm and password is kept besides (HA1), with MD5 and with
// SHA-256. Whoever reads that can log in with it, so a server without Digest
// drops what there is; app passwords made before it comes back have none.
//
//	credentials → the user's accounts with an HA1 (always) → whose answer? → URL → nonce and count
//
// The name is part of the hash, as the client spells it. The user's name as it was
// created and in lower case can be compared; other letter cases cannot, nor can
// DOMAIN\user where a client hashes the domain too.
//
// Nonces are an HMAC of their time with a key of the process; none is kept before
// it is used. A client that comes with one that is too old, of another process or
// with a count that was seen is told stale=true, and tries again: several
// processes behind one address cost it that for each change between them. Counts
// may come out of order within the last 256.
//
// Two faults are overlooked, since nothing is lost by it: a count without the zeros
// before it (gowebdav), and an answer of MD5 that is called SHA-256 by a client
// that took the two challenges for one (npm's webdav).
//
// Not offered, and refused: qop auth-int and none, algorithms of the session kind,
// hashed names.
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
// wait for a new login; nobody else does. Wrong answers of Digest are counted
// apart from those, and right ones pass at any time: 160 bits are not guessed, and
// to check them costs no slow hash. Whoever listens to Digest on a plain
// connection sees files and can change requests on their way, but learns no
// password and cannot send a request again.
package auth
