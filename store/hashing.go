package store

import (
	"context"
	"io"
	"runtime"
	"sync"

	"holdfast/lockns"
)

// hashing bounds what computing checksums on demand costs: a request without a
// body can ask for that of any file, however large. Each workspace has one turn at
// a time, so that who asks for what is being computed finds it known, and who asks
// for much waits for themselves. All workspaces together compute as much at a time as
// there are cores, two at least.
type hashing struct {
	cores chan struct{}
	mu    sync.Mutex
	turns map[lockns.Workspace]*turn
}

// turn is the right of a workspace to compute.
type turn struct {
	taken chan struct{} // has room for one
	users int           // who has it or waits for it
}

func newHashing() hashing {
	return hashing{cores: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))), turns: map[lockns.Workspace]*turn{}}
}

// begin waits for the turn of a workspace, and for a core. end gives both back.
func (h *hashing) begin(ctx context.Context, ws lockns.Workspace) (end func(), err error) {
	own := h.join(ws)
	if err := enter(ctx, own.taken); err != nil {
		h.leave(ws, own)
		return nil, err
	}
	if err := enter(ctx, h.cores); err != nil {
		<-own.taken
		h.leave(ws, own)
		return nil, err
	}
	return func() {
		<-h.cores
		<-own.taken
		h.leave(ws, own)
	}, nil
}

func (h *hashing) join(ws lockns.Workspace) *turn {
	h.mu.Lock()
	defer h.mu.Unlock()
	own := h.turns[ws]
	if own == nil {
		own = &turn{taken: make(chan struct{}, 1)}
		h.turns[ws] = own
	}
	own.users++
	return own
}

func (h *hashing) leave(ws lockns.Workspace, own *turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(h.turns, ws)
	}
}

// enter takes a place as soon as there is one.
func enter(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// contextReader ends with its context: who left needs no more of it.
type contextReader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
