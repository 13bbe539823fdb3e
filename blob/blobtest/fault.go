package blobtest

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync/atomic"

	"holdfast/blob"
)

// Method names a method of blob.Store.
type Method int

// The methods of blob.Store.
const (
	Put Method = iota
	Open
	Stat
	Delete
	List
	methods
)

func (m Method) String() string {
	return [...]string{"Put", "Open", "Stat", "Delete", "List"}[m]
}

// Call is one call of a method, as a hook of Fault sees it.
type Call struct {
	Method         Method
	Key            string // "" for List
	Size           int64  // of Put
	Offset, Length int64  // of Open
}

// Fault is a blob.Store that passes its calls on to another one, counts them, and
// lets two hooks fail or hold them. The zero hooks do nothing. The fields must not
// be changed while calls run.
type Fault struct {
	Store blob.Store

	// Before runs before the call is passed on. An error is returned instead of
	// passing it on; a hook that blocks holds the call.
	Before func(context.Context, Call) error

	// After runs when the call has succeeded. An error is returned although the
	// store has done its work, as after an answer that was lost. For List it
	// runs at the end of the sequence.
	After func(context.Context, Call) error

	counts [methods]atomic.Int64
}

var (
	_ blob.Store    = (*Fault)(nil)
	_ blob.Windowed = (*Fault)(nil)
)

// Calls returns how often m was called, calls that Before failed included.
func (f *Fault) Calls(m Method) int64 { return f.counts[m].Load() }

// ResetCalls sets all counts to zero.
func (f *Fault) ResetCalls() {
	for i := range f.counts {
		f.counts[i].Store(0)
	}
}

// do runs one call between the hooks.
func (f *Fault) do(ctx context.Context, c Call, fn func() error) error {
	f.counts[c.Method].Add(1)
	if f.Before != nil {
		if err := f.Before(ctx, c); err != nil {
			return err
		}
	}
	if err := fn(); err != nil {
		return err
	}
	if f.After != nil {
		return f.After(ctx, c)
	}
	return nil
}

// Put implements blob.Store.
func (f *Fault) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	return f.do(ctx, Call{Method: Put, Key: key, Size: size}, func() error {
		return f.Store.Put(ctx, key, r, size)
	})
}

// Open implements blob.Store.
func (f *Fault) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	var stream io.ReadCloser
	err := f.do(ctx, Call{Method: Open, Key: key, Offset: offset, Length: length}, func() error {
		var err error
		stream, err = f.Store.Open(ctx, key, offset, length)
		return err
	})
	if err != nil && stream != nil {
		return nil, errors.Join(err, stream.Close())
	}
	return stream, err
}

// Stat implements blob.Store.
func (f *Fault) Stat(ctx context.Context, key string) (blob.Info, error) {
	var info blob.Info
	err := f.do(ctx, Call{Method: Stat, Key: key}, func() error {
		var err error
		info, err = f.Store.Stat(ctx, key)
		return err
	})
	return info, err
}

// Delete implements blob.Store.
func (f *Fault) Delete(ctx context.Context, key string) error {
	return f.do(ctx, Call{Method: Delete, Key: key}, func() error {
		return f.Store.Delete(ctx, key)
	})
}

// List implements blob.Store.
func (f *Fault) List(ctx context.Context) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		stopped := false
		err := f.do(ctx, Call{Method: List}, func() error {
			for info, err := range f.Store.List(ctx) {
				if !yield(info, err) || err != nil {
					stopped = true
					break
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(blob.Info{}, err)
		}
	}
}

// Window implements blob.Windowed as the store behind does.
func (f *Fault) Window() (first, most int64) {
	if w, ok := f.Store.(blob.Windowed); ok {
		return w.Window()
	}
	return 0, 0
}
