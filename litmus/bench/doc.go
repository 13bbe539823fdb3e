// Command bench compares Holdfast with golang.org/x/net/webdav, the WebDAV server that most Go programs
// embed, on the machine it runs on.
//
//	go run ./litmus/bench            every figure; under 15 minutes
//	go run ./litmus/bench -quick     the same in small, to see that it works; under 2 minutes
//	go run ./litmus/bench -only GET  figures that match; neither locks nor the large body
//
// It builds both servers, starts them on free ports of the loopback with folders of their own, and ends
// them by their process ids. Standard output gets tables ready for a page, or JSON lines with -json;
// progress goes to standard error. HOLDFAST_BENCH_BIG=0 leaves the body of 4 GiB out,
// HOLDFAST_PROGRAM names a Holdfast that is taken in place of one built from this module.
//
// # What is compared
//
// Both servers get the same requests from the same clients. They do not promise the same: Holdfast
// answers a write when it would survive a power cut (--sync full) and checks a login with each request,
// while x/net answers when the kernel has the bytes, keeps its locks in memory and knows no users. The
// conditions above the tables say so. -sync normal leaves the first of these differences out.
//
// A second part starts Holdfast beside 1, 1,000 and 100,000 active locks and shows what locks elsewhere in
// the workspace cost a LOCK, a PUT and a listing; then it lists a folder beside the most of them while
// another client locks once a second. Then it lists a folder without locks and one whose files are all
// locked, over the API in pages and by PROPFIND. A last one streams one large body through
// each server and reads the peak of the process' memory.
//
// # Method
//
// A busy machine makes a benchmark lie, so only figures taken side by side are ever compared. Each figure
// is cut into rounds. A round gives each server a slice of time, and the order rotates from round to
// round. A figure's rate is the median over its rounds, and its ratio is the median of the ratios within
// the rounds, not the ratio of two medians. Before each slice that writes, everything that is not on the
// disk yet is flushed, since an fsync would otherwise wait for bytes that the other server left in the
// kernel's hands. Nothing is deleted between figures: a server that deletes in the background would do it
// in the time of the next one.
//
// Only a success counts: the right status, and with GET the right bytes, with PROPFIND the right number
// of responses. Every failure is counted by its kind and shown below the tables; a failure of Holdfast
// fails the run. So do a loss of more than 0.3 of the speed beside many locks or of 0.2 beside one LOCK a second, a list
// of the API that takes more than 1.3 times as long when each file is locked, and more than 200 MiB of
// memory for the large body.
//
// The clients speak HTTP on the bare socket, over connections that are kept, because net/http's own client
// would take as much of the two servers' processors as a small request does.
package main
