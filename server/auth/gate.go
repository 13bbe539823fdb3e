package auth

import (
	"errors"
	"runtime"
	"time"
)

// ErrBusy says that no core was free for a password hash in time: 503 and
// Retry-After.
var ErrBusy = errors.New("too many logins at once")

// maxWait is how long a login waits for a core.
const maxWait = 2 * time.Second

// gate lets as many password hashes run at once as there are cores.
type gate struct {
	slots chan struct{}
	wait  time.Duration
}

func newGate() *gate {
	return &gate{slots: make(chan struct{}, runtime.GOMAXPROCS(0)), wait: maxWait}
}

// run calls fn when a slot is free, or gives up with ErrBusy.
func (g *gate) run(fn func()) error {
	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	select {
	case g.slots <- struct{}{}:
	case <-timer.C:
		return ErrBusy
	}
	defer func() { <-g.slots }()
	fn()
	return nil
}
