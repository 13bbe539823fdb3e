// Package blobtest holds what tests of and around package blob share:
//
//   - [Suite], the conformance suite every blob.Store passes,
//   - [StartS3] and [S3Server], a private S3 engine (versitygw) on loopback,
//   - [Fault], a blob.Store that fails, blocks and counts on demand.
//
// # The S3 engine
//
// The engine is versitygw at a pinned version. It is looked for as versitygw in
// $HOLDFAST_TEST_CACHE/bin (default ~/.cache/holdfast/bin), then in PATH; if it is in
// neither, it is built into the former once, which takes some minutes. Where that
// is impossible a test is skipped, or fails if HOLDFAST_CI is 1: a suite that did
// not run must not look like one that passed. In-process imitations of S3 are no
// substitute; the one at hand stores the framing of signed chunks as content.
package blobtest
