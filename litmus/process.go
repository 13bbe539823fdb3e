package litmus

import (
	"os/exec"
	"runtime"
)

// process is a started command. It is the leader of a process group of its own, so that what it starts
// can be ended with it, and the kernel kills it when this process dies, where the kernel can.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the command has ended
	err    error         // of Wait; read it after exited is closed
}

// launch starts cmd. The end of the context it was made with kills its process group.
func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{})}
	lead(cmd)
	cmd.Cancel = p.kill
	started := make(chan error)
	go func() {
		// Linux kills the child when the thread that started it ends, so this one stays until the
		// child is gone.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}
