// Package server assembles Holdfast: configuration, the login, the other doors
// beside WebDAV, upkeep. It is importable, so that tests start the real thing
// on port 0:
//
//	s, err := server.New(ctx, cfg) // opens the store, listens
//	go s.Serve(ctx)                // until ctx ends, then graceful
//	defer s.Close()                // at once, and always safe
//
// # The way of a request
//
// [Server.handler] is the one place that orders the layers, outermost first:
//
//	observe      id, access line, panics; wraps the ResponseWriter once
//	pace         a body and an answer must move, however long they take
//	harden       headers that keep stored content from acting in a browser
//	crossOrigin  headers that let pages of --cors-origin read the answer
//	target       what net/http lets through and nobody may send
//	guard        who may reach an anonymous server at all
//	preflight    a browser's question, answered without a login
//	router       path to door; gorilla/mux without cleaning or redirects
//	login        the door's own: who is this, and may they pass
//
// Identity is an argument of the door that is called and never a context value:
// code that forgot to ask for it does not compile.
//
// # What is refused before anybody asks
//
// Header blocks over 64 KiB; headers that take longer than 10 s; a body that
// delivers less than 4 KiB a minute; a raw '#' in the request target. A body
// that nobody wants is read to its end when at most 256 KiB are left and they
// come within seconds, and the connection lives on; beyond that it is closed after
// the answer.
//
// # Pages of other origins
//
// A page may read answers, and send more than a form can, when its origin stands
// in --cors-origin: each by name, there is no wildcard. A preflight is answered
// without a login to any origin, and tells one that is not named nothing; OPTIONS
// otherwise needs a login, for Windows asks for none later.
//
// Credentials that a browser keeps are never allowed to such a page: its script
// brings its own. All other pages can make a browser that remembers a Basic or
// Digest login send it with what needs no preflight: GET, HEAD, and POST of the
// forms' types. GET and HEAD change no file, and no resource has POST. The API has
// it, takes a cookie, and has a guard of its own (see package rest).
// Cross-Origin-Resource-Policy keeps the pages of every other origin from
// embedding content; it says nothing about what they fetch.
//
// An anonymous server has no named origins: their pages would need no login.
//
// # Compression
//
// XML answers from 1 KiB on are compressed with gzip for who takes it, on their
// way and unlike content: a listing goes out in a twentieth of its size. Who sees
// how long compressed answers are and chooses part of them can find out the rest.
// What is secret in them are lock tokens, and a token is of use to its holder only;
// no page of another origin can make a browser ask for a listing without a
// preflight. Of the API only lists of files and searches are compressed: they have
// no such secret, and a browser sends its session with no request of another site.
//
// # TLS
//
// --tls-cert and --tls-key serve HTTPS with TLS 1.2 and newer, and HTTP/2 to those
// who want it. The files are looked at once a second at most, when a connection
// begins, and read again when they changed; until both fit, the former ones stay.
// On a connection of HTTP/2 an answer that comes before the end of a body ends that
// request alone.
//
// # Streams of events
//
// An answer of the API that tells what happens has no end of its own. Shutdown ends
// it at once, and waits for all others as before. Between events it moves every 20
// seconds, so that the pace of answers holds for it too.
//
// # Upkeep
//
// The janitor does it in shifts, one job after another. A shift is a named lock
// of the store, so of several processes on one database one works at a time.
// Two at work after all (one slept through the end of its shift) do no harm:
// every round decides anew, in transactions, what there is to do.
//
// Entries of the audit log go after --audit-age: a year, since intrusions come to
// light months after they happened, and no longer, since the entries say who was
// where when.
//
// What --trash keeps is purged by the same round as removed folders are: at once
// when somebody purges it, and within ten minutes of its time.
//
// # Behind a proxy
//
// X-Forwarded-Proto, -Host, -Prefix and -For are believed from the addresses in
// --trusted-proxy and from nobody else. Origins in Destination and in tagged
// lists of If are this server's when they name the request's own Host with its
// scheme, an origin of --public-url, or what a trusted proxy forwarded.
//
// The path of a --public-url is what the proxy strips. It comes back before the
// paths in answers to requests that name the URL's host, in Host or as a trusted
// proxy forwarded it; X-Forwarded-Prefix of a trusted proxy stands in its stead.
// Who reaches the server itself sees its own paths. In Destination and If the
// prefix may be there or not, for some proxies strip it there too.
package server
