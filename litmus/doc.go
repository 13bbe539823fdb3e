// Package litmus runs the real program against the clients that the world has.
//
// The other packages test themselves with requests of their own making. Here bin/holdfast is built,
// started on a free port of the loopback, and driven by programs that know nothing of it:
//
//   - litmus, the WebDAV test suite, in two versions, with and without a login, on every kind of blob
//     store, and on a team's workspace. Its lines are parsed (ParseSuite) and compared with
//     testdata/baseline.txt in both directions (Baseline). The baseline names tests; it has no way to say
//     that one may fail, warn or be skipped.
//   - a lock bomb: twenty clients that lock and unlock side by side, as litmus' own does it, but with a
//     login and with a look at what is left.
//   - kill -9 under parallel writes, again and again: after each start everything that was answered is
//     there, and the rest wholly or not at all.
//   - transcripts: what Finder, Explorer, Office and other clients send, byte by byte, and what they need
//     to come back (testdata/transcripts, whose README describes the form). Each names where its requests
//     were taken from. testdata/clients.txt lists what clients require and what was reported about servers,
//     with the tests that hold each line; TestRows checks the list.
//   - contention: twenty clients at once that write, list, race for one name and are refused.
//   - files larger than 32-bit sizes (make large), up and down.
//   - rclone, davfs2, cadaver, curl, GNOME's gvfs, npm's webdav (npm/webdav.mjs) and two clients in Go,
//     each on names that break careless servers: spaces, "#", "%", "+", "&", characters beyond the basic
//     plane, composed and decomposed accents. What a client did is checked by a GET that it has no part
//     in. rclone comes in three versions and speaks the dialects of plain WebDAV, ownCloud and Nextcloud;
//     it also uploads through a proxy that cuts the connection (cutter).
//   - the TypeScript client of the API (server/web/sdk): it is what its generator makes of the document that the
//     program serves, it passes the type checker, and a program that uses it gets what it asks for.
//
// # Where the programs come from
//
// .ci/setup brings them: the releases of the machine's own Debian, a root folder of Debian unstable with
// current ones, the newest rclone, built from its module, and what package-lock.json names in npm and in
// server/web/sdk. A program
// of that root folder runs in a mount and process namespace of its own that ends with the test, so
// neither a FUSE mount nor a process can outlive it, even if the test is killed; so do gvfs' daemons.
//
// A program that is missing is a skip on a laptop and a failure in CI (HOLDFAST_CI set); need, in the
// tests, is the only place that decides it.
//
// # Settings
//
//	HOLDFAST_CI        set: a missing program is a failure
//	HOLDFAST_TEST_CACHE  folder of the root folder and of built programs, ~/.cache/holdfast
//	HOLDFAST_PROGRAM   path of a program to test in place of the one built from this module
//	HOLDFAST_RACE      set: build the program with the race detector
//	HOLDFAST_LOCKBOMB  rounds of each client of the lock bomb, 200
//	HOLDFAST_CONTENTION  seconds of parallel writes and listings, 3
//	HOLDFAST_LARGE     size in MiB of the files of TestLargeR57B74, 64
//	HOLDFAST_CHAOS_ROUNDS, HOLDFAST_CHAOS_SEED  how often TestKill kills, 10, and what it repeats
//
// The flag -update writes the baseline anew from what litmus reports, and server/web/sdk from what the program
// serves.
//
// The server never learns who is asking: no request may be recognised by litmus' X-Litmus header.
package litmus
