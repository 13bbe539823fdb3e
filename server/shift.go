package server

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"holdfast/store"
)

// Of several processes on one database one does upkeep at a time: the one that
// holds the named lock, which is its shift. A dead one's lapses after shiftTime.
// Who finds it taken looks again after lookAgain when called, or else at the
// job's next time.
const (
	shiftLock = "janitor"
	shiftTime = time.Minute
	lookAgain = 5 * time.Second
)

func newJanitor(log *slog.Logger, locks *store.Store, jobs []job) *janitor {
	return &janitor{log, locks, rand.Text(), jobs}
}

// work finishes a job in a shift of its own, and returns false when another
// janitor has the shift.
func (j *janitor) work(ctx context.Context, job job) bool {
	lapse := time.Now().Add(shiftTime)
	shift, err := j.locks.TryLock(ctx, shiftLock, j.name, shiftTime)
	if err != nil {
		j.failed(ctx, job, err)
		return true
	}
	if shift == nil {
		return false
	}
	ctx, end := j.keep(ctx, shift, lapse)
	defer end()
	j.finish(ctx, job)
	return true
}

// keep renews a shift until end is called, which gives it back. The context ends
// when the shift is lost, or would lapse before it is renewed.
func (j *janitor) keep(ctx context.Context, shift *store.NamedLock, lapse time.Time) (working context.Context, end func()) {
	working, stop := context.WithCancel(ctx)
	lapses := time.AfterFunc(time.Until(lapse), stop)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		j.renew(working, shift, lapses)
		stop()
	})
	return working, func() {
		stop()
		lapses.Stop()
		renewing.Wait()
		j.giveBack(ctx, shift)
	}
}

// renew renews a shift again and again and moves the time it lapses at. It
// returns when the shift is lost or ctx ended. A failure is no loss yet.
func (j *janitor) renew(ctx context.Context, shift *store.NamedLock, lapses *time.Timer) {
	tick := time.NewTicker(shiftTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		lapse := time.Now().Add(shiftTime)
		switch held, err := shift.Renew(ctx, shiftTime); {
		case err != nil && ctx.Err() == nil:
			j.log.Warn("upkeep not renewed", "err", err)
		case err == nil && !held:
			j.log.Warn("upkeep lost to another process")
			return
		case err == nil:
			lapses.Reset(time.Until(lapse))
		}
	}
}

// giveBack ends a shift, also when ctx has ended: others need not wait until it
// lapses.
func (j *janitor) giveBack(ctx context.Context, shift *store.NamedLock) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shiftTime/3)
	defer cancel()
	if _, err := shift.Release(ctx); err != nil {
		j.log.Warn("upkeep not given back", "err", err)
	}
}
