package store

import "time"

// Session is the login of a browser.
type Session struct {
	ID, UserID int64
	// Agent and Address are those of the browser that opened it.
	Agent, Address string
	Created        time.Time
	LastUsed       time.Time // exact to UsedEvery
	// Expires is the last moment at which it is good for anything.
	Expires time.Time
}
