package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// maxBatch is how many requests one COMMIT serves.
const maxBatch = 64

// writer is the one goroutine that changes the database. Requests that wait
// while it commits are committed together next: one outer transaction, a
// savepoint for each request, every answer held back until the COMMIT.
//
// A savepoint protects its neighbours only as long as the outer transaction
// lives. SQLite ends it by itself on a full disk, an I/O error, an interrupt or
// out of memory, and later statements would then commit one by one. So when
// going back to a savepoint or releasing it fails, nothing of the batch counts:
// it is rolled back and every request runs again alone.
type writer struct {
	connect  func() (*conn, error)
	conn     *conn // nil after a failed reconnect
	jobs     chan *job
	quit     chan struct{}
	finished chan struct{}
	log      *slog.Logger
}

// job is one request to the writer. run may be called more than once; done
// receives exactly one outcome.
type job struct {
	ctx  context.Context
	run  func(*conn) error
	done chan error
}

func newWriter(connect func() (*conn, error), log *slog.Logger) (*writer, error) {
	c, err := connect()
	if err != nil {
		return nil, err
	}
	w := &writer{
		connect: connect, conn: c, log: log,
		jobs: make(chan *job), quit: make(chan struct{}), finished: make(chan struct{}),
	}
	go w.loop()
	return w, nil
}

// do runs a job and returns its outcome. A job whose ctx ends before its turn
// is dropped; once taken it runs to its end, whatever ctx does.
func (w *writer) do(ctx context.Context, run func(*conn) error) error {
	j := &job{ctx, run, make(chan error, 1)}
	select {
	case w.jobs <- j:
		return <-j.done
	case <-ctx.Done():
		return ctx.Err()
	case <-w.quit:
		return ErrClosed
	}
}

// close lets the batch at work finish and refuses all others.
func (w *writer) close() {
	close(w.quit)
	<-w.finished
	if w.conn != nil {
		w.conn.close()
	}
}

func (w *writer) loop() {
	defer close(w.finished)
	for {
		select {
		case <-w.quit:
			return
		case j := <-w.jobs:
			w.serve(w.drain(j))
		}
	}
}

// drain takes what waits right now, without waiting for more.
func (w *writer) drain(first *job) []*job {
	batch := []*job{first}
	for len(batch) < maxBatch {
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// serve runs a batch and answers each of its jobs.
func (w *writer) serve(batch []*job) {
	live := batch[:0]
	for _, j := range batch {
		if err := j.ctx.Err(); err != nil {
			j.done <- err
			continue
		}
		live = append(live, j)
	}
	outcomes := make([]error, len(live))
	if len(live) == 1 || !w.together(live, outcomes) {
		for i, j := range live {
			outcomes[i] = w.alone(j)
		}
	}
	for i, j := range live {
		j.done <- outcomes[i]
	}
}

// together runs the batch in one transaction. It returns false when nothing of
// it was committed and each job has to run alone.
func (w *writer) together(batch []*job, outcomes []error) bool {
	if err := w.begin(); err != nil {
		fill(outcomes, err)
		return true
	}
	for i, j := range batch {
		if err := w.inSavepoint(j, &outcomes[i]); err != nil {
			w.log.Warn("batch rolled back, running its requests alone", "requests", len(batch), "error", err)
			w.rollback()
			return false
		}
	}
	switch err := w.conn.control("COMMIT"); {
	case err == nil:
		return true
	case notCommitted(err):
		w.log.Warn("commit of a batch refused, running its requests alone", "requests", len(batch), "error", err)
		w.rollback()
		return false
	default:
		fill(outcomes, w.unknown(err))
		return true
	}
}

// inSavepoint runs one job of a batch. Its own failure is its outcome; the
// error returned says that the batch as a whole is lost.
func (w *writer) inSavepoint(j *job, outcome *error) error {
	if err := w.conn.control("SAVEPOINT request"); err != nil {
		return err
	}
	if *outcome = w.call(j); *outcome != nil {
		if err := w.conn.control("ROLLBACK TO request"); err != nil {
			return errors.Join(*outcome, err)
		}
	}
	return w.conn.control("RELEASE request")
}

// alone runs one job in a transaction of its own.
func (w *writer) alone(j *job) error {
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.call(j); err != nil {
		w.rollback()
		return err
	}
	switch err := w.conn.control("COMMIT"); {
	case err == nil:
		return nil
	case notCommitted(err):
		w.rollback()
		return meaning(err)
	default:
		return w.unknown(err)
	}
}

// call runs the job's function. A panic is that job's failure and nobody
// else's.
func (w *writer) call(j *job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("store: panic in a change: %v\n%s", p, debug.Stack())
		}
	}()
	return meaning(j.run(w.conn))
}

func (w *writer) begin() error {
	if w.conn == nil {
		c, err := w.connect()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBusy, err)
		}
		w.conn = c
	}
	err := w.conn.control("BEGIN IMMEDIATE")
	if err != nil && code(err) == 0 {
		// Not SQLite's own refusal: the connection is unusable.
		w.drop()
	}
	if err != nil {
		return fmt.Errorf("begin: %w", meaning(err))
	}
	return nil
}

// rollback ends the transaction if SQLite has not ended it already.
func (w *writer) rollback() {
	if err := w.conn.control("ROLLBACK"); err != nil && code(err) != 1 {
		w.log.Error("rollback failed, reconnecting", "error", err)
		w.drop()
	}
}

// unknown is the outcome of a COMMIT that failed on the way to the disk. What
// the connection holds in memory may differ from the file, so it goes.
func (w *writer) unknown(err error) error {
	w.log.Error("commit outcome unknown, reconnecting", "error", err)
	w.drop()
	return fmt.Errorf("%w: %w", ErrCommitUnknown, err)
}

func (w *writer) drop() {
	if w.conn != nil {
		w.conn.discard()
		w.conn = nil
	}
}

func fill(outcomes []error, err error) {
	for i := range outcomes {
		outcomes[i] = err
	}
}
