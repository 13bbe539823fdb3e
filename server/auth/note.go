package auth

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"holdfast/store"
)

// Door is where somebody logs in, as the audit log names it.
type Door string

// The doors.
const (
	WebDAV  Door = "WebDAV"
	API     Door = "API"
	Browser Door = "browser" // where sessions are opened
)

const (
	// noteEvery is how often the same login is noted.
	noteEvery = time.Hour
	// notedMax is how many logins are remembered as noted.
	notedMax = 10_000
	// Of refused logins refusedBurst are noted at once, then one each
	// refusedRefill: guessing must not fill the log.
	refusedBurst  = 100
	refusedRefill = time.Minute
)

// visit is where a login comes from, and to.
type visit struct {
	door Door
	from netip.Addr
}

// noted is a login that is noted once in noteEvery.
type noted struct {
	user, account int64
	visit
}

// notebook decides which logins the audit log is told of.
type notebook struct {
	mu     sync.Mutex
	turned time.Time // when seen was last emptied
	seen   map[noted]bool
	full   time.Time // when refusedBurst refusals are noted at once again
	missed int       // refusals that were not noted since the last that was
}

// first reports whether a login is to be noted: it was not, for noteEvery at most.
func (b *notebook) first(n noted, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil || now.Sub(b.turned) >= noteEvery || len(b.seen) >= notedMax {
		b.seen, b.turned = map[noted]bool{}, now
	}
	if b.seen[n] {
		return false
	}
	b.seen[n] = true
	return true
}

// refused reports whether a refusal is to be noted, and how many before it were
// not.
func (b *notebook) refused(now time.Time) (missed int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full.Before(now) {
		b.full = now
	}
	if b.full.Sub(now) > (refusedBurst-1)*refusedRefill {
		b.missed++
		return 0, false
	}
	b.full = b.full.Add(refusedRefill)
	missed, b.missed = b.missed, 0
	return missed, true
}

// noteLogin tells the audit log of a login. Every request comes by here.
func (a *Authenticator) noteLogin(at visit, in Login) {
	n, label := noted{user: in.User.ID, visit: at}, ""
	if in.Account != nil {
		n.account, label = in.Account.ID, in.Account.Name
	}
	if a.notebook.first(n, a.now()) {
		a.write(store.LoginNote{Event: "login", User: in.User, Account: label, Door: string(at.door), Address: at.from.String()})
	}
}

// noteRefused tells the audit log of a wrong password or digest. user is the zero
// User when there is none of that name.
func (a *Authenticator) noteRefused(at visit, user store.User) {
	missed, ok := a.notebook.refused(a.now())
	if !ok {
		return
	}
	event := "login.refused"
	if at.door == Browser {
		event = "session.refused"
	}
	a.write(store.LoginNote{Event: event, User: user, Door: string(at.door), Address: at.from.String(), Missed: missed})
}

// write writes into the audit log without the request waiting for it: how long
// that takes must tell nothing, and who may only read may read while nothing can be
// written.
func (a *Authenticator) write(n store.LoginNote) {
	a.writing.RLock()
	go func() {
		defer a.writing.RUnlock()
		if err := a.users.NoteLogin(context.Background(), n); err != nil {
			a.log.Warn("login missing in the audit log", "event", n.Event, "user", n.User.Name, "err", err)
		}
	}()
}

// Flush waits until the audit log has all logins so far.
func (a *Authenticator) Flush() {
	a.writing.Lock()
	defer a.writing.Unlock()
}

func logger(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.Default()
	}
	return log
}
