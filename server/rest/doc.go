// Package rest is the HTTP API beside WebDAV: resources by id and by path, their
// locks, and who may do what. It has no state of its own and no rules about
// locks: every change is an operation of the store, whose transaction decides, so
// that what one door locked is locked at every other.
//
// # Operations
//
// Each is registered with what it needs of the caller (see Access) and gets the
// caller as an argument; one that forgot to ask does not compile. What it takes
// and gives are Go structs, from which the OpenAPI document is made that is
// served at /openapi.json, and by which requests are checked before the operation
// runs.
//
// # Who calls
//
// A program sends an app password as a bearer token, or, where the server takes
// Basic, name and password. A browser opens a session and is known by its cookie,
// which scripts cannot read and other sites cannot send. Over HTTPS a prefix of its
// name keeps others from setting it: __Host-, or __Secure- where a proxy shows the
// server below a path, which the cookie then has. Where there is an Authorization
// header the cookie does not count. No other door takes it.
//
// Requests of pages of other origins that could change something are refused
// (http.CrossOriginProtection), whatever they carry. The origins of --public-url are
// this server's own, also where a proxy passes on another Host. Pages of
// --cors-origin are let in, and their cookies are not: they bring credentials of
// their own.
//
// What the caller may not see is not there: a resource of somebody else's
// workspace gets the same 404 as an id that nothing has.
//
// # Users and teams
//
// Administrators manage users, and all teams; owners and admins manage the members
// of their team, and only owners make, change or remove owners. The store decides it
// in the transaction of the change. Somebody becomes a member by their whole login
// name, which owners and admins learn to exist by it; nobody else can list or guess
// users, and ids of those who are no members are not found. An app password that is
// limited or only reads manages nothing, and no app password is the way to a new
// password of its own user.
//
// # Named locks
//
// Members of a workspace agree on work by locks on names, which protect no file. One
// is granted to a user and what they call their program, until its time is over; the
// number of the grant is what renews and releases it, in the same hands only. Viewers
// see who holds what. A login of one folder sees none.
//
// # Lists
//
// Lists come in pages. A cursor says where the next one starts, by the key of the
// last item and not by a number, so that a page costs what it shows and what comes
// and goes meanwhile moves nothing. It is good for the same list of the same user
// only, at every process on the same database; any other text is refused.
//
// # Content
//
// A body that is content goes to where it stays as it comes and is held nowhere. All
// that can refuse it is answered before its first byte is read, and decided again
// in the transaction: whether the name is free, whether the conditions hold, the
// locks, the quota. A body that breaks off, or has another sha-256 than its
// Content-Digest says, leaves nothing. The ETag of the answer is that of what was
// sent, also when somebody else's content has come since.
//
// Content is served with its ETag and in ranges, for saving: a browser that shows it
// nevertheless does so in a sandbox. A former content is served and restored by the
// id of its version.
//
// # Names and places
//
// A new name is meant where the resource is, and a new folder with the name it has.
// Both are what the caller saw: when the transaction finds the resource elsewhere,
// the request starts again. Whether the destination is taken comes before locks, and
// what is overwritten is of the same kind, for nothing brings it back. A folder in a
// body that the caller may not see is missing, as one is that is not there.
//
// What has a blocked name, or is below one, is not there by its id; to give such a
// name, or to change something by a path with one, is forbidden.
//
// # The document
//
// What a request and an answer may be is said once, by the structs and what is
// registered with them, and everything else is made of it: the checks before an
// operation, the document, and by the document the TypeScript client in
// server/web/sdk. The tests hold the server to it: every answer that one of them
// gets is compared with the document, requests that are made from it are to be
// granted or refused as it says, and testdata/access.txt has a line for every
// operation that says who gets what.
//
// # Locks
//
// The API sets product locks, which their holder opens by being who they are. It
// shows locks of every origin: who holds what, rooted where, until when. What opens
// a lock is shown to an administrator alone, by an operation of its own that the
// audit log notes. A change that comes through the API carries no token, so that
// any lock of WebDAV or an editor that covers what it touches refuses it, its
// holder's own too; whoever holds one ends it by its number when the program that
// took it is gone.
//
// # Events
//
// Who follows a workspace is told of changes of files and folders and of locks, made
// through any door and by any process on the database, as Server-Sent Events. One
// goroutine of the process (see hub) reads what happened, from the logs that the store
// writes in the transactions of the changes: when this process made one, and once a
// second for the others; while nobody listens, not at all. It never looks at what one
// listener alone wants to know but once when that one comes.
//
// An event says where to look. Of several changes of one resource or lock the last
// may be all that is told, and with a folder that goes, what is below goes without
// a word. A lock whose end comes has ended, without an event at that moment: its row
// is deleted, and that told, within minutes. A refresh is told with the new end. An
// event's id is a position in the logs; who comes back with one within an hour, and
// not more than 4,096 changes later, learns what came since, from any process. All
// others get a reset, and so does a listener who does not take what waits for it:
// 256 events are kept. Nothing rests on events, and ids of another database, as after
// a restore, are none.
//
// A stream ends after an hour at most, or as the client asks; when the server stops;
// when the client takes nothing for two minutes; and within seconds after its caller
// may no longer follow it, which is asked every five of them by logging in again with
// the request's credentials. To a session that is to be used. A user has 16 streams
// at most, a process 1,024. Every 20 seconds a silent stream says that it is alive,
// and how far its client knows everything.
//
// A login that is limited to a folder is told what is in it. Of locks above that reach
// into it, it learns that they are there, and not where.
//
// # Trash
//
// Where the server keeps what is removed (--trash), every door's removals can be
// restored here. A login that is limited to a folder has the trash of that folder:
// what was removed from it or from below it, whatever became of the folders since.
// A page of the trash looks at as many entries as it may have items, and leaves out
// what is not for this login, so that it costs the same however much that is.
//
// What is in a folder is listed with folders first, by name (in the order of Unicode
// code points, of normal form C), size or modification time. How each is locked is for
// show; above 4,096 locks in a workspace it is read with the entries. A search looks
// at names without regard to case, in any script, and says whether it is complete.
//
// # Failures
//
// All are problem documents (RFC 9457) with a code that programs can rely on. One
// table says which error of the store is which problem.
package rest
