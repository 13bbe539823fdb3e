package main

import (
	"context"
	"errors"
	"fmt"
)

// leastScale is how much of its speed a server may at least keep when the locks elsewhere grow from few
// to many. A cost for each lock would leave it a small fraction; the rest is what a busy machine does to
// a ratio.
const leastScale = 0.5

// lockFigures lists what is measured beside few and beside many locks.
func (o *options) lockFigures(ctx context.Context) []figure {
	return []figure{
		{name: "LOCK, UNLOCK", writes: true, setup: files(ctx, small), op: lockUnlock},
		{name: "PUT 1 KiB, over", writes: true, setup: files(ctx, small), op: putOver(small)},
		listing(ctx, "allprop", allprop, o.entries[0]),
	}
}

// seedLocks takes n locks of depth 0 on new files below a folder that no figure touches.
func (t *target) seedLocks(ctx context.Context, n int) error {
	err := t.nested(ctx, mount+"locked/", n, func(c *client, path string) error {
		_, err := c.lock(path)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: take %d locks: %w", t.name, n, err)
	}
	return nil
}

// compareLocks measures each server beside few locks and, in a process of its own, beside many.
func (o *options) compareLocks(ctx context.Context) (_ []row, err error) {
	var targets []*target
	defer func() {
		for _, t := range targets {
			err = errors.Join(err, t.server.stop())
		}
	}()
	for _, name := range []string{holdfast, xnet} {
		for _, n := range []int{o.fewLocks, o.manyLocks} {
			s, err := o.start(ctx, name)
			if err != nil {
				return nil, err
			}
			t := newTarget(o, fmt.Sprintf("%s, %d locks", name, n), s)
			targets = append(targets, t)
			o.progress("taking %d locks on %s", n, name)
			if err := t.seedLocks(ctx, n); err != nil {
				return nil, err
			}
		}
	}
	return o.rows(ctx, o.lockFigures(ctx), targets), nil
}
