package cache

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"holdfast/lockns"
)

const (
	redisWait = 200 * time.Millisecond // for one answer, connecting included
	redisRest = 5 * time.Second        // after a fault
)

// RedisOptions say where a Redis server is.
type RedisOptions struct {
	Addr     string // HOST:PORT
	Password string // "" for none
	DB       int
}

// ParseRedisURL reads redis://[:PASS@]HOST[:PORT][/DB]. Its errors repeat
// nothing of the text, which may hold a password.
func ParseRedisURL(text string) (o RedisOptions, err error) {
	bad := errors.New("of the form redis://[:PASS@]HOST:PORT/DB")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "redis" || u.Hostname() == "" || u.User.Username() != "" || u.RawQuery != "" || u.Fragment != "" {
		return o, bad
	}
	o.Password, _ = u.User.Password()
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return o, bad
	}
	o.Addr = net.JoinHostPort(u.Hostname(), port)
	if db := strings.TrimPrefix(u.Path, "/"); db != "" {
		if o.DB, err = strconv.Atoi(db); err != nil || o.DB < 0 {
			return o, bad
		}
	}
	return o, nil
}

// Redis is a cache that several processes share. After a fault it answers as if
// it were empty for some seconds, then lets one caller try again.
type Redis struct {
	client *redis.Client
	begun  time.Time
	// restsUntil is when a caller may try again, in nanoseconds since begun; 0
	// means that the last answer was no fault.
	restsUntil atomic.Int64
}

// NewRedis makes a cache without connecting to it yet.
func NewRedis(o RedisOptions) *Redis {
	// The library logs each lost connection by itself; the fault is told to
	// the caller, who decides how often to say so.
	logging.Disable()
	return &Redis{begun: time.Now(), client: redis.NewClient(&redis.Options{
		Addr: o.Addr, Password: o.Password, DB: o.DB,
		ContextTimeoutEnabled: true, // do bounds all of a command
		DialTimeout:           redisWait,
		MaxRetries:            -1, // none
		DialerRetries:         1,
		PipelinePoolSize:      -1, // none
		// Nothing is asked of a server beyond GET and SET.
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})}
}

// Get implements Cache.
func (r *Redis) Get(ctx context.Context, key Key) (*lockns.Projection, error) {
	var value []byte
	err := r.do(ctx, "get", func(ctx context.Context) (err error) {
		value, err = r.client.Get(ctx, key.scope()+key.String()).Bytes()
		if errors.Is(err, redis.Nil) {
			value, err = nil, nil
		}
		return err
	})
	if err != nil || value == nil {
		return nil, err
	}
	return decode(value)
}

// Put implements Cache.
func (r *Redis) Put(ctx context.Context, key Key, p *lockns.Projection, ttl time.Duration) error {
	if ttl < time.Millisecond { // the least that Redis knows
		return nil
	}
	return r.do(ctx, "set", func(ctx context.Context) error {
		return r.client.Set(ctx, key.scope()+key.String(), encode(p), ttl).Err()
	})
}

// do runs one command within its time. While the server rests it does nothing,
// without an error: the fault has been told.
func (r *Redis) do(ctx context.Context, name string, command func(context.Context) error) error {
	if !r.ready() {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, redisWait)
	defer cancel()
	err := command(bounded)
	switch {
	case err == nil:
		r.restsUntil.Store(0)
		return nil
	case ctx.Err() != nil:
		return nil // the caller went away, which says nothing of the server
	}
	r.restsUntil.Store(int64(time.Since(r.begun) + redisRest))
	return fmt.Errorf("redis %s: %w", name, err)
}

// ready reports whether a command may be sent. When the rest is over, the first
// who asks may; the others wait for what comes of it.
func (r *Redis) ready() bool {
	until := r.restsUntil.Load()
	if until == 0 {
		return true
	}
	now := int64(time.Since(r.begun))
	return now >= until && r.restsUntil.CompareAndSwap(until, now+int64(redisRest))
}

// Close implements Cache.
func (r *Redis) Close() error { return r.client.Close() }
