package cachetest

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel end the process when the thread that starts it
// ends: a test that times out runs no cleanup.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
