package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// target is a server that takes part in a comparison.
type target struct {
	name    string // of the column
	server  *server
	clients []*client
	shared  map[string]error // fixtures that several figures use, by path; made once
	// beside runs while a round does, until its context ends; nil is nothing.
	beside func(context.Context) error
}

// figure is one thing that is measured.
type figure struct {
	name  string
	setup func(*trial) error // not measured; once for each server and number of clients
	op    func(*trial, *client, int) error
	// most is how many operations a round has at most, for those that leave much behind; 0 is no limit.
	most int
	// writes says that an operation changes what is stored.
	writes bool
}

// trial is a figure on one server with one number of clients. While a round runs, each client works on
// names of its own, so that no operation may fail because of another.
type trial struct {
	o       *options
	t       *target
	clients int
	dir     string // a collection of its own, with a slash at its end
	next    int    // number of the next operation
	away    []bool // for each client, whether its tree is at its second name

	result outcome
}

// outcome is what the rounds of a trial gave.
type outcome struct {
	rates    []float64 // successes a second, by round
	times    []time.Duration
	ok       int
	failures map[string]int // by kind
	skipped  string         // why there is no figure, or ""
}

func (r *outcome) failed() int {
	n := 0
	for _, count := range r.failures {
		n += count
	}
	return n
}

// kinds lists the failures, each kind with its count.
func (r *outcome) kinds() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(r.failures)) {
		parts = append(parts, fmt.Sprintf("%d x %s", r.failures[kind], kind))
	}
	return strings.Join(parts, ", ")
}

func (r *outcome) fail(err error) {
	if r.failures == nil {
		r.failures = map[string]int{}
	}
	r.failures[kind(err)]++
}

var errTime = errors.New("out of time")

// A figure whose single operations are longer than a slice has fewer rounds than asked for: after
// leastRounds of them its time, for all servers together, is patience.
const (
	leastRounds = 3
	patience    = 20 * time.Second
)

// newTarget connects to a server with as many clients as any figure or setup needs.
func newTarget(o *options, name string, s *server) *target {
	t := &target{name: name, server: s, shared: map[string]error{}}
	for i := range max(seeders, slices.Max(o.clients)) {
		c := s.client()
		c.number = i
		t.clients = append(t.clients, c)
	}
	return t
}

// open makes the connections of the first n clients anew and logs them in.
func (t *target) open(n int) error {
	for _, c := range t.clients[:n] {
		c.close()
		if err := c.options(mount); err != nil {
			return fmt.Errorf("%s: connect: %w", t.name, err)
		}
	}
	return nil
}

// each calls do for 0 to n-1 from several clients, until one fails or the time is over.
func (t *target) each(ctx context.Context, clients, n int, do func(c *client, i int) error) error {
	if err := t.open(clients); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, setupTimeout, errTime)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	numbers := make(chan int)
	var working sync.WaitGroup
	for _, c := range t.clients[:clients] {
		working.Go(func() {
			for i := range numbers {
				if err := do(c, i); err != nil {
					fail(err)
				}
			}
		})
	}
	for i := range n {
		select {
		case numbers <- i:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(numbers)
	working.Wait()
	return context.Cause(ctx)
}

// compare measures a figure on all targets and returns what each gave, in the order of the targets.
func (o *options) compare(ctx context.Context, f figure, clients int, targets []*target) []outcome {
	o.serial++
	trials := make([]*trial, len(targets))
	for i, t := range targets {
		trials[i] = o.prepare(ctx, f, clients, t, i)
	}
	begun := time.Now()
	for round := range o.rounds {
		if round >= leastRounds && time.Since(begun) > patience {
			break
		}
		for _, i := range rotation(len(trials), round) {
			if x := trials[i]; x.result.skipped == "" {
				if ctx.Err() != nil {
					x.result.skipped = errTime.Error()
					continue
				}
				x.round(f)
			}
		}
	}
	results := make([]outcome, len(trials))
	for i, x := range trials {
		results[i] = x.result
	}
	return results
}

// prepare makes the trial of one of the targets, which may share a server, and what it works on.
func (o *options) prepare(ctx context.Context, f figure, clients int, t *target, number int) *trial {
	x := &trial{o: o, t: t, clients: clients, dir: fmt.Sprintf("%strial-%d-%d/", mount, o.serial, number), away: make([]bool, clients)}
	err := context.Cause(ctx)
	if err == nil {
		err = t.open(1)
	}
	if err == nil {
		err = t.server.trim()
	}
	if err == nil {
		err = t.clients[0].mkcol(x.dir)
	}
	if err == nil && f.setup != nil {
		err = f.setup(x)
	}
	if err != nil {
		x.result.skipped = err.Error()
	}
	return x
}

// round runs operations from all clients of the trial until the time of a round is over. An operation
// that has begun is waited for, and the rate is of the time that really passed.
func (x *trial) round(f figure) {
	if f.writes {
		flushDisk()
	}
	if err := x.t.open(x.clients); err != nil {
		x.result.skipped = err.Error()
		return
	}
	var mu sync.Mutex // guards the result and next
	start := time.Now()
	deadline := start.Add(x.o.slice)
	last := x.next + f.most
	ok := 0
	number := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if f.most > 0 && x.next >= last || !time.Now().Before(deadline) {
			return 0, false
		}
		x.next++
		return x.next - 1, true
	}
	calm := x.t.disturb()
	var working sync.WaitGroup
	for _, c := range x.t.clients[:x.clients] {
		working.Go(func() {
			for i, more := number(); more; i, more = number() {
				begun := time.Now()
				err := f.op(x, c, i)
				took := time.Since(begun)
				mu.Lock()
				if err != nil {
					x.result.fail(err)
				} else {
					ok++
					x.result.times = append(x.result.times, took)
				}
				mu.Unlock()
			}
		})
	}
	working.Wait()
	took := time.Since(start)
	if err := calm(); err != nil {
		x.result.fail(err)
	}
	x.result.ok += ok
	x.result.rates = append(x.result.rates, float64(ok)/took.Seconds())
}

// disturb starts what runs beside a round. The function it returns ends that and says how it went.
func (t *target) disturb() func() error {
	if t.beside == nil {
		return func() error { return nil }
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- t.beside(ctx) }()
	return func() error {
		stop()
		return <-ended
	}
}
