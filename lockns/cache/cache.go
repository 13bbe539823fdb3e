package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/lockns"
)

// Cache keeps projections for a while. Methods may be called concurrently. An
// error says that the cache is at fault; callers then do without.
type Cache interface {
	// Get returns what was put under the key, nil when that is not there or
	// not any more.
	Get(ctx context.Context, key Key) (*lockns.Projection, error)
	// Put keeps a projection under the key for at most ttl. With a ttl that is
	// not positive nothing is kept.
	Put(ctx context.Context, key Key, p *lockns.Projection, ttl time.Duration) error
	// Close gives back what the cache holds outside this process.
	Close() error
}

// ErrBadValue says that what a cache holds under a key is no projection.
var ErrBadValue = errors.New("cache: value is no lock projection")

// Key is what a projection is kept under.
type Key struct {
	Instance   string // names the database
	Workspace  lockns.Workspace
	Generation int64
}

// String is the key within its instance.
func (k Key) String() string { return fmt.Sprintf("%s%d", k.workspace(), k.Generation) }

// workspace is what the keys of all generations begin with.
func (k Key) workspace() string {
	return fmt.Sprintf("resource_lock_projection:v1:%s:%d:g:", k.Workspace.Kind, k.Workspace.ID)
}

// scope stands before the keys of one instance.
func (k Key) scope() string { return "holdfast:" + k.Instance + ":" }
