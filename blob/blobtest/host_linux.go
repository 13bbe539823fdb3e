package blobtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// lockFile takes an exclusive lock on the file at path, which ends with the
// process at the latest, and returns what gives it back.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // closing unlocks
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for lock %s: %w", path, ctx.Err()), f.Close())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// hasXattrs reports whether files in folder take extended attributes.
func hasXattrs(folder string) bool {
	return syscall.Setxattr(folder, "user.holdfast-probe", []byte("1"), 0) == nil
}

// dieWithUs makes the kernel end the process when the thread that starts it ends:
// a test that times out runs no cleanup.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
