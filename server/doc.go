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
//	observe   id, access line, panics; wraps the ResponseWriter once
//	pace      a body and an answer must move, however long they take
//	harden    headers that keep stored content from acting in a browser
//	target    what net/http lets through and nobody may send
//	guard     who may reach an anonymous server at all
//	router    path to door; gorilla/mux without cleaning or redirects
//	login     the door's own: who is this, and may they pass
//
// Identity is an argument of the door that is called and never a context value:
// code that forgot to ask for it does not compile.
//
// # What is refused before anybody asks
//
// Header blocks over 64 KiB; headers that take longer than 10 s; a body that
// delivers less than 4 KiB a minute; a raw '#' in the request target. A body
// that nobody wants is read to its end when at most 256 KiB are left, and the
// connection lives on; beyond that it is closed after the answer.
//
// # Upkeep
//
// The janitor does it in shifts, one job after another. A shift is a named lock
// of the store, so of several processes on one database one works at a time.
// Two at work after all (one slept through the end of its shift) do no harm:
// every round decides anew, in transactions, what there is to do.
//
// # Behind a proxy
//
// X-Forwarded-Proto, -Host and -For are believed from the addresses in
// --trusted-proxy and from nobody else. Origins in Destination and in tagged
// lists of If are this server's when they name the request's own Host with its
// scheme, an origin of --public-url, or what a trusted proxy forwarded.
package server
