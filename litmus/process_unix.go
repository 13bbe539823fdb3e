//go:build unix && !linux

package litmus

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// lead makes cmd the leader of a process group.
func lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill ends the process group at once; os.ErrProcessDone says that none was left.
func (p *process) kill() error {
	err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
