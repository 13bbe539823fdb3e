package rest

import (
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// TestFarBehind: a listener that does not take what waits for it is not waited for,
// and what it missed is not kept.
func TestFarBehind(t *testing.T) {
	ws := lockns.Workspace{Kind: lockns.Team, ID: 3}
	h := newHub(nil, nil, 0, nil)
	h.tail = &tail{stop: func() {}}
	l, other := &listener{ws: ws, ready: make(chan struct{}, 1)}, &listener{ws: ws, ready: make(chan struct{}, 1)}
	h.open[ws] = map[*listener]struct{}{l: {}, other: {}}
	h.count = 2
	hand := func(from, to int64) {
		t.Helper()
		var events []event
		for i := from; i <= to; i++ {
			events = append(events, event{Event: store.Event{Workspace: ws, Position: store.EventPosition{Change: i}}})
		}
		if !h.hand(h.tail, events, store.EventPosition{Change: to}, 0) {
			t.Fatal("not handed on")
		}
	}
	take := func(l *listener, want int, wantLost bool, at int64) {
		t.Helper()
		events, lost, position := h.take(l)
		if len(events) != want || lost != wantLost || position.Change != at {
			t.Errorf("%d events, lost %v, at %d; want %d, %v, %d", len(events), lost, position.Change, want, wantLost, at)
		}
	}
	hand(1, maxQueued)
	take(other, maxQueued, false, maxQueued)
	hand(maxQueued+1, maxQueued+1)
	if len(l.queue) != 0 {
		t.Errorf("%d events are kept for nobody", len(l.queue))
	}
	take(other, 1, false, maxQueued+1)
	hand(maxQueued+2, maxQueued+2)
	take(l, 0, true, maxQueued+2)
	take(l, 0, false, maxQueued+2)
	hand(maxQueued+3, maxQueued+3)
	take(l, 1, false, maxQueued+3)
	select {
	case <-l.ready:
	case <-time.After(time.Second):
		t.Error("not told that something waits")
	}
	h.joined++
	if h.hand(h.tail, nil, store.EventPosition{Change: 999}, 0) {
		t.Error("handed on what somebody who joined meanwhile may miss")
	}
	take(l, 0, false, maxQueued+3)
}
