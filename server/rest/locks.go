package rest

import (
	"context"
	"net/http"

	"holdfast/lockns"
	"holdfast/store"
)

// maxLocksShown is how many locks a problem names.
const maxLocksShown = 20

// lockedProblem says which locks are in the way.
func (a *API) lockedProblem(ctx context.Context, who *Caller, locks []lockns.Lock) *Problem {
	p := problem(http.StatusLocked, "resource.locked", "a lock is in the way")
	locks = locks[:min(len(locks), maxLocksShown)]
	infos, err := a.o.Store.DescribeLocks(ctx, who.base(), locks)
	if err != nil {
		// The locks are what matters, even where nobody can tell more of them.
		a.log.WarnContext(ctx, "locks in the way not described", "err", err)
		for _, l := range locks {
			infos = append(infos, store.LockInfo{Lock: l})
		}
	}
	for _, i := range infos {
		p.Locks = append(p.Locks, lockHolder(i))
	}
	return p
}

// lockHolder shows a lock to somebody it is in the way of.
func lockHolder(i store.LockInfo) LockHolder {
	return LockHolder{
		Root: lockRoot(i), Mode: string(i.Mode), Depth: string(i.Depth), Origin: string(i.Origin),
		Holder: i.HolderDisplay, Expires: timeOrNil(i.ExpiresAt),
	}
}

// lockRoot shows where a lock is rooted. What the login cannot open is of a kind
// and no more.
func lockRoot(i store.LockInfo) LockRoot {
	root := LockRoot{Kind: string(i.Place.Root.Kind)}
	if i.At != "" {
		root.ID, root.Path = i.Place.Root.ID, i.At
	}
	return root
}
