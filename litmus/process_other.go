//go:build !unix

package litmus

import "os/exec"

// lead does nothing: there are no process groups here.
func lead(*exec.Cmd) {}

// kill ends the process at once; os.ErrProcessDone says that it had ended.
func (p *process) kill() error { return p.cmd.Process.Kill() }
