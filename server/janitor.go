package server

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"holdfast/blob"
	"holdfast/store"
)

// jobTimeout bounds one round of upkeep.
const jobTimeout = 10 * time.Minute

// staleUpload is how old an unfinished upload to S3 must be to be given up.
const staleUpload = day

// job is upkeep that is done in rounds until nothing is left, every so often,
// and at once when its signal comes.
type job struct {
	name   string
	every  time.Duration
	first  bool // also at start: what a crash left half-done
	signal <-chan struct{}
	round  func(context.Context) (done int, err error)
}

// jobs is the upkeep of a store, as it is configured, and its objects.
func jobs(st *store.Store, objects blob.Store, cfg *Config) []job {
	list := []job{
		{name: "purge", every: 10 * time.Minute, first: true, signal: st.PurgeSignal(), round: st.Purge},
		{name: "expire locks", every: time.Minute, first: true, round: st.ExpireLocks},
		{name: "collect garbage", every: 5 * time.Minute, first: true, round: st.CollectGarbage},
		{name: "prune uploads", every: time.Hour, first: true, round: st.PruneUploads},
		{name: "remove orphans", every: 6 * time.Hour, round: st.RemoveOrphans},
		{name: "audit locks", every: time.Minute, first: true, round: st.AuditLocks},
		{name: "prune lock events", every: 10 * time.Minute, round: st.PruneLockEvents},
		{name: "prune changes", every: time.Hour, round: st.PruneChanges},
		{name: "prune sessions", every: time.Hour, first: true, round: st.PruneSessions},
	}
	if cfg.AuditAge > 0 {
		list = append(list, job{name: "prune audit log", every: time.Hour, first: true, round: st.PruneAudit})
	}
	if cfg.VersionsAge > 0 {
		list = append(list, job{name: "prune versions", every: time.Hour, first: true, round: st.PruneVersions})
	}
	if s3, ok := objects.(interface {
		AbortIncomplete(context.Context, time.Time) error
	}); ok {
		list = append(list, job{name: "abort uploads", every: 6 * time.Hour, round: func(ctx context.Context) (int, error) {
			return 0, s3.AbortIncomplete(ctx, time.Now().Add(-staleUpload))
		}})
	}
	return list
}

// janitor runs jobs in one goroutine, one after another: upkeep must not crowd
// out those it is for. Each is done in a shift.
type janitor struct {
	log   *slog.Logger
	locks *store.Store
	name  string // this janitor among those of all processes
	jobs  []job
}

// run works until ctx ends, and returns when the round it was in has ended too.
func (j *janitor) run(ctx context.Context) {
	due := make([]time.Time, len(j.jobs))
	for i, job := range j.jobs {
		if due[i] = time.Now(); !job.first {
			due[i] = due[i].Add(jitter(job.every))
		}
	}
	for ctx.Err() == nil {
		i := earliest(due)
		if !j.wait(ctx, due, i) {
			continue // a signal moved something forward, or ctx ended
		}
		again := j.jobs[i].every
		if !j.work(ctx, j.jobs[i]) && j.jobs[i].signal != nil {
			again = lookAgain
		}
		due[i] = time.Now().Add(jitter(again))
	}
}

// wait waits until job i is due. It returns false earlier when a signal made
// another job due now, or ctx ended.
func (j *janitor) wait(ctx context.Context, due []time.Time, i int) bool {
	timer := time.NewTimer(time.Until(due[i]))
	defer timer.Stop()
	signaled, signal := j.signal()
	select {
	case <-ctx.Done():
		return false
	case <-signal:
		due[signaled] = time.Now()
		return false
	case <-timer.C:
		return true
	}
}

// signal is the one job that can be called for, if any; nil blocks for ever.
func (j *janitor) signal() (int, <-chan struct{}) {
	for i, job := range j.jobs {
		if job.signal != nil {
			return i, job.signal
		}
	}
	return 0, nil
}

func (j *janitor) failed(ctx context.Context, job job, err error) {
	if ctx.Err() == nil {
		j.log.Error("upkeep failed", "job", job.name, "err", err)
	}
}

// finish does rounds of a job until nothing is left, one fails, or ctx ends. A
// failure waits for the job's next time: it is likely to last.
func (j *janitor) finish(ctx context.Context, job job) {
	total := 0
	for ctx.Err() == nil {
		done, err := runRound(ctx, job)
		total += done
		if err != nil {
			j.failed(ctx, job, err)
			break
		}
		if done == 0 {
			break
		}
	}
	if total > 0 {
		j.log.Info("upkeep", "job", job.name, "done", total)
	}
}

func runRound(ctx context.Context, job job) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	return job.round(ctx)
}

// jitter is within a tenth of d, so that servers started together do not work
// in step.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5)
}

func earliest(due []time.Time) int {
	first := 0
	for i := range due {
		if due[i].Before(due[first]) {
			first = i
		}
	}
	return first
}
