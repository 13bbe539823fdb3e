package rest

import "time"

// Pace makes streams say that they are alive, and ask whether they may go on, as
// often as a test has time for.
func (a *API) Pace(heartbeat, recheck time.Duration) { a.pace = pace{heartbeat, recheck} }

// PollEvery is how often streams look for what other processes did.
func (a *API) PollEvery(d time.Duration) { a.hub.every = d }

// Reading reports whether the logs of events are read.
func (a *API) Reading() bool {
	a.hub.mu.Lock()
	defer a.hub.mu.Unlock()
	return a.hub.tail != nil
}
