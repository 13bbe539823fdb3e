package cache

import "time"

// Fault makes the cache rest as after a fault; EndRest lets that time pass.
func (r *Redis) Fault()   { r.restsUntil.Store(int64(time.Since(r.begun) + redisRest)) }
func (r *Redis) EndRest() { r.restsUntil.Store(int64(time.Since(r.begun))) }

// Ready asks as a command does whether it may be sent.
func (r *Redis) Ready() bool { return r.ready() }
