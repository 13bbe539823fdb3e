package rest

import (
	"context"
	"net/http"

	"holdfast/lockns"
)

// maxLocksShown is how many locks a problem names.
const maxLocksShown = 20

// lockedProblem says which locks are in the way.
func (a *API) lockedProblem(ctx context.Context, who *Caller, locks []lockns.Lock) *Problem {
	p := problem(http.StatusLocked, "resource.locked", "a lock is in the way")
	for _, l := range locks[:min(len(locks), maxLocksShown)] {
		p.Locks = append(p.Locks, a.lockHolder(ctx, who, l))
	}
	return p
}

// lockHolder shows a lock to somebody it is in the way of.
func (a *API) lockHolder(_ context.Context, _ *Caller, l lockns.Lock) LockHolder {
	return LockHolder{
		Root: LockRoot{Kind: string(l.Place.Root.Kind), ID: l.Place.Root.ID, Path: l.Path}, Mode: string(l.Mode), Depth: string(l.Depth),
		Origin: string(l.Origin), Expires: timeOrNil(l.ExpiresAt),
	}
}
