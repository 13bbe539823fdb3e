// Package dav serves RFC 4918 on the wire: the grammar of headers and XML, the
// plan of each method, and every answer. What a request may change and what it
// changes is the store's business; this package owns no transaction.
//
// # A request
//
// [Handler.Serve] makes a request value of the *http.Request and its principal.
// locate finds the mount that its URL is in and the path below it; admit parses
// what the headers say and refuses what the rest relies on not to see, and
// whatever would change what the principal may only read. The method's handler
// then calls one operation of the store and hands it the request as its
// store.Claim: the If header and the preconditions of RFC 9110 are decided
// inside the store's transaction, by Prove and Precondition. Identity,
// workspace and path are fields of the request. Nothing travels through a
// context.
//
// Handlers return errors. failureOf is the one table from errors to statuses,
// writeFailure the one writer of them: a DAV:error document with the
// precondition code of section 16, the roots of the locks in the way, and a
// text for people. Texts of errors from below go to the log, never to the
// client.
//
// # Mounts
//
// Options.Prefix is the principal's own mount: their workspace, or the folder of
// one that their login is limited to. Below Options.TeamsPrefix each of their
// teams has a mount of its name, in any letter case or normal form. The
// principal's own mount has more URLs: by their name below Options.FilesPrefix, and
// Options.LegacyPrefix, where clients of ownCloud and Nextcloud look for it. The
// collections above those only list.
//
// Below Options.UploadsPrefix, behind their name, the principal sends files in
// pieces, as Nextcloud's protocol has it: MKCOL of an upload, PUT of its pieces,
// MOVE of ".file" in it to where the file shall be. Uploads are no files. They have
// no locks, properties or entity-tags, and no other methods but PROPFIND and DELETE.
// The MOVE is a PUT of its Destination: If, the conditions and the locks are about
// that.
//
// Paths start at the mount's root and reach the store so, with the id of the folder
// they start at: nothing above it can be named, and wherever it is moved, it is
// meant.
//
// Options.External is what a proxy strips of the client's URLs: it is put before
// every path in an answer, and cut off Destination and the tags of If where it
// stands.
//
// A resource may be seen through several mounts, as a member of a team or from a
// folder on. Locks are of the resource and hold in all of them; each mount shows
// them in its own URLs. Destination and If name resources in every mount of the
// principal.
//
// # What go-webdav serves
//
// GET and HEAD of files, PUT, DELETE, MKCOL without a body, COPY and MOVE go
// through github.com/emersion/go-webdav: session is its FileSystem for exactly
// one request, content.Answer the ResponseWriter it gets. Package content reads
// the headers about content for this door and for others. The library's faults on
// the wire, and what stands in front of them:
//
//	fault                                            guard
//	GET with a false If-Match: 412 that announces    content.Answer has every status
//	  the length of the file                           from 400 on written anew
//	COPY, MOVE: bad Depth or Overwrite is 500        admit parses both
//	Destination on another host is taken as here     admit: 502
//	MKCOL ignores a body without Content-Type        served here
//	PUT with Content-Range replaces the file         put: 400
//	DELETE ignores Depth                             remove: 400 on a collection
//	If-Match is one tag                              session ignores the options,
//	                                                   Precondition reads the list
//	Stat, then Open may see two versions             get reads node and content at once
//	5xx carry the error's text                       content.Answer
//	paths are decoded, %2F is a slash                session ignores them
//	headers in other spellings are not understood    delegate passes a normal form
//
// http.ServeContent, which the library uses, answers a malformed Range with
// 416, knows "bytes" in lower case only, ranges a HEAD and reads the first line
// of If-Match: contentConditions hands it what it reads rightly. Everything else
// is served here: OPTIONS, PROPFIND, PROPPATCH, SEARCH, REPORT, LOCK, UNLOCK, GET and HEAD
// of collections, MKCOL with a body.
//
// # Decisions
//
// Sections without a name are those of RFC 4918.
//
//   - A collection may be named with or without its final slash (5.2), and
//     nothing redirects: several clients lose the method or the login on the
//     way. Only LOCK of an unmapped URL with a slash is 404, since it would
//     create a file, and PUT to one is 405.
//   - An href, and a lock root, is spelled as the client spelled it as far as it
//     is the Request-URI's: one URL has many spellings (RFC 3986 section 6), and
//     neon knows its own lock by the letters it sent itself.
//   - If tags are compared by path, for every origin Options.Origin knows
//     (8.3, 10.4.3). Others name no resource of this server and have no state;
//     nor have those outside the principal's mounts.
//   - A team that the principal is no member of is answered for like one that
//     does not exist: 404, for OPTIONS the methods of a collection that only
//     lists, as a Destination 403.
//   - Where the principal may only read, whatever would change or lock something
//     is 403, mapped or not and before its body is read, and Allow leaves it
//     out: clients decide by it whether they may write. COPY is one of the
//     methods of a resource that can only be read unless the principal may write
//     nowhere.
//   - "/" and the collection of the teams' mounts answer OPTIONS and PROPFIND
//     with Depth 0 and 1, and have no other method.
//   - The root of a lock outside a mount is shown as the mount's own URL.
//   - An untagged list is about the Request-URI. For DELETE, MOVE and COPY a
//     token of the user's own lock at or below source or destination is true
//     of it too, as in the example of 9.9.6.
//   - If is decided before the locks, for it carries their tokens; If-Match and
//     its kin after them (RFC 9110 13.2.1); a missing resource before both.
//     PROPFIND obeys If alone: some HTTP stacks add the other conditions by
//     themselves.
//   - A LOCK with a body is a request for a new lock, whatever If says (9.10.1),
//     because the tokens in If then open the collection. A client that sends the
//     body with its refreshes too gets 423, and should not (9.10.2).
//   - PUT over HTTP/1.0 without Content-Length is 411. Other methods take such a
//     body for none, since proxies send them so without one: LOCK then refreshes
//     the lock whose token it carries or is 400.
//   - The token of a lock is shown to its holder only (20.4).
//   - DAV:displayname can be set (15.2) and is the resource's name until then.
//     The other live properties are protected but for lastmodified and
//     checksums, below; getcontenttype is what PUT said.
//   - Properties for which the resource or the quota has no room are 507 inside
//     PROPPATCH's 207, where 9.2.1 puts it, and removals beside them 424. So it
//     is in the mkcol-response of an extended MKCOL. A server without space
//     answers 507 to the request as a whole.
//   - quota-available-bytes, quota-used-bytes and current-user-principal are
//     left out of allprop (RFC 4331 section 2), quotas given on collections;
//     propname lists them. So it is with what later RFCs define. principal-URL is
//     the one property of RFC 3744, on a user, since RFC 5397 section 3 wants it.
//   - Win32LastModifiedTime sets the modification time besides being stored, so
//     that copies made by Windows keep their dates. Once a later change has given
//     the resource another time, it is shown with that one. Windows' other
//     properties are only stored: creationdate stays when the resource was made
//     here (15.1), and Explorer reads Win32CreationTime.
//   - X-OC-Mtime gives what PUT, COPY, MOVE and MKCOL without a body make a
//     modification time, in whole seconds, and is answered with "accepted". A
//     value that is no decimal number, or no time of the years 1601 to 9999, is
//     passed over without that word: a wrong date must not cost the content, and
//     clients that miss the word set the time by PROPPATCH. Times up to 1970 and
//     before are times.
//   - DAV:lastmodified is the modification time in seconds since 1970, given when
//     named. PROPPATCH sets it, also on collections; what is no time is 409.
//   - OC-Checksum, and the SHA-256 of Content-Digest and Repr-Digest (RFC 9530),
//     are verified while PUT reads the body: 400 when they differ, and nothing is
//     stored. Algorithms other than MD5, SHA1, SHA256 and ADLER32 are passed over.
//     With any OC-Checksum both SHA1 and MD5 are computed: rclone names the one
//     and compares by the other.
//   - oc:checksums shows, when named, SHA-256 and what was computed, never what
//     was only said. Setting it asks whether the content has that checksum, which
//     is computed when it is not known yet: 200 if so and 409 if not, or if the
//     algorithm is unknown. A PATCH without a body and with X-Recalculate-Hash asks
//     for a checksum by name, as clients of Nextcloud do after they set a time: 204
//     with OC-Checksum, under the conditions of the request. Any other PATCH is 405. oc:permissions says, when named, what the principal's
//     role allows; locks are no part of it.
//   - A piece of an upload is called by its first and its last byte or by a number
//     from 1 to 10,000, and by nothing else: names that only sort would not tell
//     that one is missing. Pieces that are not whole are 409, with the first byte
//     or number that is missing in the text; nothing is changed, and MOVE works
//     once it has come. While an upload is put together another MOVE of it is 423,
//     after that 404, which rclone takes for success. Putting it together goes on
//     when the client leaves.
//   - OC-Total-Length is refused early by quota (507) and by the largest file (413),
//     and compared when the file is put together. The Destination that MKCOL and
//     PUT come with in Nextcloud's second protocol is not looked at; where the file
//     goes, MOVE says. Pieces may have any size.
//   - A Destination of this server outside the principal's mounts is 403, another
//     server's 502 (9.8.5).
//   - XML bodies without Content-Type, or with that of HTML forms or plain text,
//     which is what curl and fetch() send, are read as XML; others are 415. MKCOL
//     wants XML named as such (9.3).
//   - A listing that fails after its first bytes breaks the connection: a client
//     must not take part of a collection for the whole of it.
//   - SEARCH knows DAV:basicsearch (RFC 5323) without its optional contains,
//     language-defined, language-matches and typed-literal, and without a score:
//     these are 422, what the grammar has not is 400. Other grammars, the discovery
//     of schemas and include-versions always fail, and are 403 with the condition
//     that section 2.2.2 has for them (RFC 3253 section 1.6).
//   - In a SEARCH a property has the value that PROPFIND shows, a dead one its text;
//     whatever is said of one that the resource has not got, or that holds elements
//     or more than 1,024 bytes, is unknown, as section 5.11.1 and appendix A of RFC
//     5323 have it: that such a value is less than others, as section 5.5.3 says, is
//     true of orders alone. Lengths and dates compare as such, dates to the second,
//     and like takes neither; the rest are texts, compared in normal form C by code
//     points. caseless, "no" unless it is said, is Unicode's canonical caseless
//     matching. An order looks at the first 256 bytes of its texts. What allprop
//     leaves out cannot be searched for, but for lastmodified: 422.
//   - A scope outside the principal's mounts, on another server, below a blocked
//     name or unmapped is 409 search-scope-valid, all the same. Blocked names and
//     what is below them are found nowhere.
//   - A SEARCH looks at as many resources as a PROPFIND may list (100,000 where
//     that has no limit), as often again at those that scopes have in common, and
//     sorts up to store.MaxSorted results. When there may be more, the last response
//     is a 507 of the Request-URI (RFC 5323 section 2.3.1). A limit that the client
//     set is none of these.
//   - REPORT knows sync-collection (RFC 6578), on collections; any other is 403
//     supported-report (RFC 3253 section 3.6). OPTIONS shows it in Allow alone,
//     since RFC 6578 registers no token for DAV, and a client that asks by property
//     finds supported-report-set and supported-method-set. expand-property, which
//     RFC 3253 section 3.8 would have beside every report, has nothing to expand:
//     no property here leads to resources but the one that names the user. Nothing
//     else of RFC 3253 is here.
//   - A sync token is a data: URI of the database, the folder and its last change.
//     It stays good while nothing in the collection changes, however long, and
//     through moves of it; else it is 403 valid-sync-token: when the database was
//     restored, when another folder is there, when what came after it was forgotten.
//     It is no secret: whoever has it learns nothing that PROPFIND, or a token of
//     the last 30 days, would not tell, except that changes are numbered through the
//     whole database: two tokens tell how much was changed in between, not where.
//   - A member is told of when it came, went, or got another content, other
//     properties or another spelling of its name. What happens below a member
//     collection, and locks, are none of the member. In order: a name that a file
//     had and a collection has now is first gone, then there, for these are two
//     URLs, with and without the final slash (RFC 6578 section 3.5).
//   - sync-level infinite lists members as 1 does, and answers 403
//     sync-traversal-supported for those that are collections, each time they
//     changed: a client has to ask them one by one. RFC 6578 section 3.3 wants that
//     told once, but a token is the same for both levels and does not say who was.
//   - An answer to sync-collection has at most as many members as a PROPFIND may
//     list, or as the client's limit says. More are said by a 507 of the
//     Request-URI, and the token goes on from there, in a first listing too. A
//     limit of 0 can hold no change and is 507 itself (section 3.7).
//   - A sync token in an If header is true of a collection in which nothing changed
//     since (section 5), decided in the transaction of the change.
//   - Prefer (RFC 7240): return=minimal leaves out of PROPFIND, REPORT and SEARCH
//     what a resource has not got, and makes a PROPPATCH without failures 204;
//     depth-noroot leaves out the resource of the Request-URI (RFC 8144). What was
//     followed is in Preference-Applied; such answers are no-store, so that they
//     need no Vary. return=representation (RFC 8144 section 3) is not followed:
//     nothing but GET sends content, and what is stored is what was sent.
//     Brief, Microsoft's older form, is ignored.
//   - Content is served with a sandboxing Content-Security-Policy and without
//     type guessing. A page that somebody stored cannot act as this site.
package dav
