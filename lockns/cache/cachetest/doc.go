// Package cachetest holds what tests of and around package cache share: [Run],
// the suite that every cache.Cache passes, and [StartRedis], a private Redis
// server on loopback. Where redis-server is missing a test is skipped, or fails
// in CI (HOLDFAST_CI): a suite that did not run must not look like one that
// passed.
package cachetest
