package blob

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Errors of every Store; test for them with errors.Is.
var (
	// ErrNotExist says that no object has the key.
	ErrNotExist = errors.New("blob: object does not exist")
	// ErrExist says that the key of a Put is taken.
	ErrExist = errors.New("blob: object exists")
	// ErrSize says that a body was shorter or longer than announced.
	ErrSize = errors.New("blob: body does not have the announced size")
	// ErrKey says that a key is not one [ValidKey] allows.
	ErrKey = errors.New("blob: invalid key")
	// ErrRange says that an offset or length is negative (a length of -1 is
	// allowed: to the end).
	ErrRange = errors.New("blob: invalid range")
)

// Info is what List and Stat say of one object.
type Info struct {
	Key      string
	Size     int64     // bytes
	Modified time.Time // when the store took the object, by the store's clock
}

// A Store keeps immutable objects. All methods may be called concurrently, and
// all but List answer ErrKey for a key that is not valid.
type Store interface {
	// Put writes all of r under key; the object is durable when Put returns nil.
	// size is the exact length of r in bytes, or -1 when it is unknown.
	//
	// The key must be new: ErrExist otherwise, found by a best effort only on
	// stores that cannot create exclusively (keys are random). A body that is
	// shorter or longer than size is ErrSize. After any error, a canceled ctx
	// included, nothing stays behind under key as far as the store can be
	// reached; what cannot be removed then is left to the orphan sweep.
	//
	// A canceled ctx is noticed between two reads of r: who needs a blocked read
	// to end must end it.
	Put(ctx context.Context, key string, r io.Reader, size int64) error

	// Open streams length bytes from offset; length -1 means to the end. A range
	// that reaches past the end is cut there, one that starts at or after it is
	// empty. ErrNotExist is reported by Open, never by the first Read. ctx bounds
	// the reading too. The caller closes what it gets.
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)

	// Stat describes one object, or answers ErrNotExist.
	Stat(ctx context.Context, key string) (Info, error)

	// Delete removes an object. Deleting what is not there is no error.
	Delete(ctx context.Context, key string) error

	// List streams every object, in any order. What a crash left half-written is
	// listed too, where the store holds it under its key. An error ends the
	// sequence. Objects put or deleted meanwhile may or may not appear.
	List(ctx context.Context) iter.Seq2[Info, error]
}

// Windowed is an optional ability of a Store: a store on which it costs transfer
// to open a long range and read only its beginning implements it, and [NewReader]
// then asks for windows of first bytes, doubling up to most.
type Windowed interface {
	Window() (first, most int64)
}
