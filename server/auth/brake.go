package auth

import (
	"sync"
	"time"
)

// How wrong guesses are slowed down: burst of them at once, then one each
// refill.
const (
	brakeBurst  = 20
	brakeRefill = 10 * time.Second
	brakeMax    = 10_000 // buckets kept
)

// brake is a token bucket for each address and user name that guesses wrong.
// A name nobody guesses at has no bucket. Every guess is taken before it is
// known to be wrong, so that many at once cannot pass together; a right one
// gives all back.
type brake struct {
	mu      sync.Mutex
	buckets map[string]bucket
	now     func() time.Time
}

// bucket is when it will be full again; each guess moves that by one refill. One
// value says both how full it is and whether it can be forgotten.
type bucket time.Time

func newBrake() *brake { return &brake{buckets: map[string]bucket{}, now: time.Now} }

// take allows the key one guess and counts it, or says how long to wait for it.
// With too many buckets it allows without counting: the gate still bounds what
// guessing costs, and memory has an end.
func (b *brake) take(key string) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	full := time.Time(b.buckets[key])
	if full.Before(now) {
		full = now
	}
	if wait := full.Sub(now) - (brakeBurst-1)*brakeRefill; wait > 0 {
		return wait
	}
	if b.roomLocked(key, now) {
		b.buckets[key] = bucket(full.Add(brakeRefill))
	}
	return 0
}

// succeed forgets the key's guesses: the last one was right.
func (b *brake) succeed(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.buckets, key)
}

// roomLocked reports whether there is a bucket for the key, or place for one
// once those that are full again are forgotten.
func (b *brake) roomLocked(key string, now time.Time) bool {
	if _, known := b.buckets[key]; known || len(b.buckets) < brakeMax {
		return true
	}
	for key, full := range b.buckets {
		if !time.Time(full).After(now) {
			delete(b.buckets, key)
		}
	}
	return len(b.buckets) < brakeMax
}
