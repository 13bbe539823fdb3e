package rest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

const (
	// maxListeners is how many streams of events there are at a time, and
	// maxListenersOfUser how many of one user's. A stream costs its connection and a
	// few KiB.
	maxListeners       = 1024
	maxListenersOfUser = 16
	// maxQueued is how many events wait for a listener. One that is further behind is
	// told to look at everything anew.
	maxQueued = 256
	// eventPage is how many rows of each log are read at once.
	eventPage = 500
	// pollEvery is how often the logs are read for what other processes did, and
	// pollPause how long after a reading, whatever this process does.
	pollEvery = time.Second
	pollPause = 25 * time.Millisecond
)

// hub reads what happens, once for all listeners of this process, and only while
// there are some. Its methods may be called concurrently.
type hub struct {
	store *store.Store
	log   *slog.Logger
	most  int                     // listeners
	every time.Duration           // see pollEvery
	show  func(store.Event) event // as listeners get it

	mu     sync.Mutex
	open   map[lockns.Workspace]map[*listener]struct{}
	count  int
	byUser map[int64]int
	joined int // how often somebody joined
	tail   *tail
	closed bool
	over   chan struct{} // closed with it
}

// tail is one run of the reading, from the first listener to the last.
type tail struct {
	at   store.EventPosition // everything up to here was handed on
	stop context.CancelFunc
}

// listener is one stream of a workspace's events.
type listener struct {
	user  int64
	ws    lockns.Workspace
	ready chan struct{} // there is something to take
	// These are the hub's.
	queue []event
	lost  bool // there was more than fits
}

func newHub(st *store.Store, log *slog.Logger, most int, show func(store.Event) event) *hub {
	if most == 0 {
		most = maxListeners
	}
	return &hub{
		store: st, log: log, most: most, every: pollEvery, show: show, over: make(chan struct{}),
		open: map[lockns.Workspace]map[*listener]struct{}{}, byUser: map[int64]int{},
	}
}

// join adds a listener, which gets everything that happens from now on, and maybe
// what happened just before. It must leave.
func (h *hub) join(ctx context.Context, user int64, ws lockns.Workspace) (*listener, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, store.ErrClosed
	case h.byUser[user] >= maxListenersOfUser:
		p := problem(http.StatusTooManyRequests, "events.limit", "you follow as many events at a time as allowed")
		p.headers = retryAfter(5)
		return nil, p
	case h.count >= h.most:
		p := problem(http.StatusServiceUnavailable, "server.busy", "as many follow events as this server serves")
		p.headers = retryAfter(30)
		return nil, p
	}
	if h.tail == nil {
		now, err := h.store.EventsNow(ctx)
		if err != nil {
			return nil, err
		}
		running, stop := context.WithCancel(context.Background())
		h.tail = &tail{now, stop}
		go h.run(running, h.tail)
	}
	l := &listener{user: user, ws: ws, ready: make(chan struct{}, 1)}
	if h.open[ws] == nil {
		h.open[ws] = map[*listener]struct{}{}
	}
	h.open[ws][l] = struct{}{}
	h.byUser[user]++
	h.count++
	h.joined++
	return l, nil
}

// leave ends a listener; the last one ends the reading.
func (h *hub) leave(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.open[l.ws], l); len(h.open[l.ws]) == 0 {
		delete(h.open, l.ws)
	}
	if h.byUser[l.user]--; h.byUser[l.user] == 0 {
		delete(h.byUser, l.user)
	}
	if h.count--; h.count == 0 {
		h.tail.stop()
		h.tail = nil
	}
}

// close ends all streams and refuses new ones.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		close(h.over)
	}
}

// take gives a listener what waits for it, and the position of who has that; lost
// says that there was more, which is gone.
func (h *hub) take(l *listener) (events []event, lost bool, at store.EventPosition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events, lost, at = l.queue, l.lost, h.tail.at
	l.queue, l.lost = nil, false
	return events, lost, at
}

// run reads until the tail ends: when this process changed something, and every so
// often for the others.
func (h *hub) run(ctx context.Context, t *tail) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for {
		select {
		case <-h.store.EventSignal():
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		switch err := h.poll(ctx, t); {
		case errors.Is(err, store.ErrClosed):
			h.close()
			return
		case err != nil && ctx.Err() == nil:
			h.log.Warn("events not read", "err", err)
		}
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return
		}
	}
}

// poll hands on what happened since the last time.
func (h *hub) poll(ctx context.Context, t *tail) error {
	for ctx.Err() == nil {
		at, wanted, joined := h.wants(t)
		events, reached, err := h.store.Events(ctx, at, eventPage, func(ws lockns.Workspace) bool { return wanted[ws] })
		if err != nil {
			return err
		}
		shown := make([]event, len(events))
		for i, e := range events {
			shown[i] = h.show(e)
		}
		if h.hand(t, shown, reached, joined) && at.IsPast(reached) {
			return nil
		}
	}
	return ctx.Err()
}

// wants says from where to read, for which workspaces, and how often somebody had
// joined by then.
func (h *hub) wants(t *tail) (at store.EventPosition, wanted map[lockns.Workspace]bool, joined int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wanted = make(map[lockns.Workspace]bool, len(h.open))
	for ws := range h.open {
		wanted[ws] = true
	}
	return t.at, wanted, h.joined
}

// hand gives the listeners what was read, unless somebody joined while it was: for
// them it must be read again, since it may lack what they wait for.
func (h *hub) hand(t *tail, events []event, reached store.EventPosition, joined int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.joined != joined {
		return false
	}
	t.at = reached
	for _, e := range events {
		for l := range h.open[e.Workspace] {
			l.push(e)
		}
	}
	return true
}

// push adds an event to a listener's.
func (l *listener) push(e event) {
	if l.lost {
		return
	}
	if len(l.queue) >= maxQueued {
		l.queue, l.lost = nil, true
	} else {
		l.queue = append(l.queue, e)
	}
	select {
	case l.ready <- struct{}{}:
	default:
	}
}
