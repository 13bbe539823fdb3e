package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// leastScale is how much of its speed a server must keep when the locks elsewhere grow from the fewest
	// to more. A cost for each lock would leave it a small fraction; the rest is what a busy machine does
	// to a ratio.
	leastScale = 0.7
	// leastBeside is how much of its speed a listing must keep while somebody locks once a second.
	leastBeside = 0.8
)

// lockFigures lists what is measured beside few and beside many locks: to acquire, to enforce, to list.
func (o *options) lockFigures(ctx context.Context) []figure {
	return []figure{
		{name: "LOCK, UNLOCK", writes: true, setup: files(ctx, small), op: lockUnlock},
		{name: "PUT 1 KiB, over", writes: true, setup: files(ctx, small), op: putOver(small)},
		listing(ctx, "allprop", allprop, o.entries[0]),
	}
}

// most is the greatest number of locks.
func (o *options) most() int { return o.locks[len(o.locks)-1] }

func lockCount(n int) string {
	if n == 1 {
		return "1 lock"
	}
	return fmt.Sprintf("%d locks", n)
}

// seedLocks takes n locks of depth 0 on new files below a folder that no figure touches.
func (t *target) seedLocks(ctx context.Context, n int) error {
	err := t.nested(ctx, mount+"locked/", n, func(c *client, path string) error {
		_, err := c.lock(path)
		return err
	})
	if err != nil {
		return fmt.Errorf("take %s: %w", lockCount(n), err)
	}
	return nil
}

// compareLocks measures Holdfast beside few locks and, in processes of their own, beside more; then the
// one with most of them without and with a client that locks once a second.
func (o *options) compareLocks(ctx context.Context) (locks, beside []row, err error) {
	var targets []*target
	defer func() {
		for _, t := range targets {
			err = errors.Join(err, t.server.stop())
		}
	}()
	for _, n := range o.locks {
		s, err := o.start(ctx, holdfast)
		if err != nil {
			return nil, nil, err
		}
		t := newTarget(o, lockCount(n), s)
		targets = append(targets, t)
		o.progress("taking %s", lockCount(n))
		if err := t.seedLocks(ctx, n); err != nil {
			return nil, nil, err
		}
	}
	locks = o.rows(ctx, o.lockFigures(ctx), targets)
	return locks, o.compareBeside(ctx, targets[len(targets)-1].server), nil
}

// compareBeside lists a folder, again and again, without and with a LOCK a second in the same workspace.
func (o *options) compareBeside(ctx context.Context, s *server) []row {
	quiet, locking := newTarget(o, "no changes", s), newTarget(o, "a LOCK a second", s)
	quiet.shared = map[string]error{folderPath(o.entries[0]): nil} // made for the figures before
	locking.shared = quiet.shared
	locking.beside = s.lockEachSecond
	longer := *o
	longer.slice = o.listing
	rows := longer.rows(ctx, []figure{listing(ctx, "allprop", allprop, o.entries[0])}, []*target{quiet, locking})
	o.serial = longer.serial
	return rows
}

// lockEachSecond takes a lock a second, at once the first, and gives all back at the end.
func (s *server) lockEachSecond(ctx context.Context) (err error) {
	c := s.client()
	defer c.close()
	var tokens []string
	path := func(i int) string { return fmt.Sprintf("%sbeside-%d", mount, i) }
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		token, err := c.lock(path(len(tokens)))
		if err != nil {
			return err
		}
		tokens = append(tokens, token)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	for i, token := range tokens {
		err = errors.Join(err, c.unlock(path(i), token))
	}
	return err
}
