// Package store keeps workspaces: their trees, content, dead properties, locks
// and users. It owns every transaction and all SQL, and exports operations
// only: no caller can open a transaction, hold one, or skip a lock.
//
// # One way to change anything
//
// Every change is a function run by Store.update inside the writer's
// transaction, in one order:
//
//	namespace rows of the workspaces, in key order
//	ancestors root-first, then the resource; storage usage where content comes
//	the caller's Claim
//	the user, the app password, the role in the team
//	lock rows, the lock rules, the claim's other preconditions
//	the writes
//	generation + 1 if lock rows changed, tree_version + 1 if the tree did
//	commit, then what may fail without harm
//
// SQLite has one writer, so that beyond the namespaces the order of what is read
// decides nothing. An engine that locks rows as they are read must take those of
// the user and the usage before the path, and lock rows before the claim is asked.
//
// The clock is read once a transaction; SQL never asks it. The functions may
// run more than once, so they set their results anew each time.
//
// A Claim is how a caller proves what it may do: it is asked inside the
// transaction and answers with credentials, which package lockns judges. There
// is no way to hand in a verdict.
//
// # The writer
//
// SQLite has one writer. Requests that wait while it commits are committed
// together (see writer). An answer, a refusal too, is given only after the
// commit that it rests on. Readers have connections of their own, see the last
// commit, and never wait; no read transaction is open while a caller's function
// runs, so a slow client cannot hold the log of the database.
//
// When the outcome of a commit is unknown (ErrCommitUnknown), whatever the
// request staged stays: rows may refer to it. The sweep decides by reference.
//
// # Content
//
// Content is immutable. Small bodies live in the database, others are objects
// of a blob.Store, staged and durable before the transaction begins; files
// refer to them and COPY shares them. With its last reference an object becomes
// garbage, in the same transaction, and is removed 15 minutes later; objects
// that no row knows are removed after a day. Where versions are kept, what a file
// held before a write becomes one of its versions, in the same transaction, and
// a file that replaces another takes over its versions.
//
// Checksums that a client names are computed while the body passes, and content
// that has others is not stored. What was verified is kept with the content, so
// that copies and versions have it too and a change of names, properties or times
// does not lose it. What is asked for later is computed for one request of a
// workspace at a time, and by as many workspaces at a time as there are cores, since
// a request without a body can ask it of any file.
//
// # Uploads
//
// An upload is a file that comes in pieces. A piece is content like a file's, and
// counts as stored in the workspace of the user who sends it until the upload ends:
// by FinishUpload in the transaction that writes the file, by RemoveUpload, or when
// no piece has come for a day. Ending it is one row; Purge deletes what is left.
// Pieces that make no whole file change nothing and stay. An upload belongs to the
// login that began it, and no other of the same user sees or finishes it.
//
// # Trees
//
// A resource is known by id; a path is only how it is found. Names are kept as
// sent and looked up by their NFC form. Removing a folder detaches it, one row,
// and Purge deletes what hangs below in small steps. Moving changes one row.
//
// With Options.Trash what Remove takes away, a file too, hangs below a detached
// folder of its own until its time, and Restore hangs it back: one row again, so
// that ids, properties, versions, checksums and the changes of its folders are what
// they were. Its locks ended. Whatever finds a resource starts at the root of a
// workspace or ends there, so that nothing in the trash is found, by path or by id;
// its bytes count until Purge has deleted them, which ends the entry of the trash
// before the first row goes. What MOVE and COPY replace is not in the trash.
//
// List reads a page of a folder's members by name, size or time, from where the page
// before ended, out of an index in that order: folders first. What a page costs does
// not depend on how many members or locks there are. Names are in the order of the
// bytes of their NFC form.
//
// A Search is a Walk that hands on what its caller's function takes. No part of
// what is looked for reaches SQL, so that a query means the same on every engine,
// letters beyond ASCII included, costs a look at each resource and no more, and
// ends with its request. Without an order nothing is kept; with one, the first
// MaxSorted results are, without what is to be shown of them.
//
// # Changes
//
// Each folder has a log of its members: those that came, went, or got another
// content, other properties or another name, each once, by the id of its last
// change (see changed). It is written in the transaction of the change, so that
// who applies what Changes tells, in its order, has what the folder has. What
// happens below a member is no change of it, and locks are none. PruneChanges
// forgets what is older than 30 days; a folder remembers what it no longer knows.
//
// # Events
//
// Events tells what happened in workspaces since a position, to those who follow
// them: by two logs that are written in the transactions of the changes, in the order
// of their ids, the members of folders as above and lock_events. With one writer ids
// become visible in their order (see EventPosition). Neither log forgets what somebody
// can still ask for, see Remembers.
//
// # Users and teams
//
// A workspace is a user's or a team's and begins and ends with it. Whose personal
// workspace a request may see is decided at its door; whether the user is still
// enabled, and what they are in the team, is asked in the transaction, for both
// may change while a body is received. Who may no longer write loses their locks
// in the transaction that says so. The audit log is written in the transaction of
// the change: neither is ever there without the other. Of resources it has those
// that were removed, replaced by another, restored, and purged from the trash.
//
// A session is the login of a browser and proves what its user's password did when
// it was opened: it is found only while the user has that auth_version and is not
// disabled, and so ends in the transaction that changes either, for every process.
// It ends a week after its last use and a month after it was opened; PruneSessions
// removes what is left. Of its token the hash is kept. PruneAudit ends the entries
// of the audit log by their age.
//
// A Manager changes users and teams in somebody's name, and asks in the transaction
// what they may. Two administrators who take the role from each other at once do not
// both succeed, so that one always remains.
//
// # Locks
//
// A lock is refreshed, replaced or ended through its own door: as the WebDAV
// lock of a token, or as the lock of an origin that the claim's credentials
// open. What is given no workspace, a forced release or the cleanup, finds it on
// a snapshot; the transaction compares with what is there, and when that differs
// everything starts again from a fresh snapshot.
//
// Two do without the door: EndLock ends a lock by its number for whoever holds it,
// and SetLock changes what its holder may change of a product lock.
//
// Locks are found by id: those covering a resource by its ancestors' ids, those
// below a folder by one range of id paths. Neither depends on how many locks
// the workspace has, nor on names.
//
// What happens to a lock is noted in lock_events, in the transaction that makes it
// happen, with who did it: that it is created, refreshed, moved, released, ended by
// something else, expired. That table has no index but its ids, so that a LOCK and
// an UNLOCK cost little more for it; AuditLocks copies it to the audit log, which has
// four, many rows at a time, and so does Audit before it reads. Refreshes are not
// copied: they would bury the rest. With a workspace its locks are noted as one
// number.
//
// # What is shown of locks
//
// Locks, LocksCovering and DescribeLocks read the lock table itself. They tell where
// the root of a lock is now, by its id; the path that a lock keeps is how it was
// called when it was locked, by which a list may be sorted.
//
// LockState, LockStates and the States of a Walk or a List come from a projection of all
// active locks of a workspace, kept under its generation in a cache (see package
// lockns/cache). It is for eyes only: no change, no View and no Want.Locks reads
// it. Above 4,096 active locks there is no projection, and the indexed queries
// answer; List has the locks on members come with them, from the index alone.
//
// # Named locks
//
// TryLock grants locks on names, for jobs of several processes. They protect no
// resource and end without a word; whoever must not be overtaken compares their
// fencing numbers.
//
// TryNamed does so for the users of a workspace. What is stored begins with the
// workspace, which no name can leave, and with the user, so that nobody holds, renews
// or releases another's. There are 256 at most in a workspace, and they end with it.
//
// # Migrations
//
// A migration looks at all data first, while the database refuses writes, names
// the rows that it cannot carry over, and is one transaction: cut short anywhere
// it never was. Going back is refused while anything would be lost.
package store
