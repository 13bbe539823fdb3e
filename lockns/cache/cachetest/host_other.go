//go:build !linux

package cachetest

import "os/exec"

// dieWithUs does nothing: a test that times out leaves the server behind here.
func dieWithUs(*exec.Cmd) {}
