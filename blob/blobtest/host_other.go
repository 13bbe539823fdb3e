//go:build !linux

package blobtest

import (
	"context"
	"errors"
	"os/exec"
)

// lockFile refuses: without it two processes could build the engine at once, so
// it has to be installed by hand on this platform.
func lockFile(context.Context, string) (func(), error) {
	return nil, errors.New("building the S3 engine needs Linux")
}

// hasXattrs answers for the platforms whose attributes the engine was not tried
// with.
func hasXattrs(string) bool { return false }

// dieWithUs does nothing: a test that times out leaves the engine behind here.
func dieWithUs(*exec.Cmd) {}
