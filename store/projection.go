package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/lockns"
	"holdfast/lockns/cache"
)

const (
	// maxProjected is the most active locks that a workspace's projection is
	// made of. With more of them states come from the indexed queries.
	maxProjected = 4096
	// maxProjectionAge is how long a projection is kept at most.
	maxProjectionAge = 5 * time.Minute
	// faultEvery is how often a fault of the cache is logged at most.
	faultEvery = time.Minute
)

// projector is what a Store finds lock projections with. Only what shows locks
// goes through it; no step of a transaction can.
type projector struct {
	cache    cache.Cache
	instance string       // names this database in a cache that several share
	max      int          // maxProjected, but for tests
	told     atomic.Int64 // when a fault was last logged, UTC microseconds
	// crowded has the generation at which a workspace had more than max locks, so
	// that they are not counted again for every page of a list. Those that expire
	// move no generation; the indexed queries answer as well.
	crowded sync.Map // lockns.Workspace to int64
}

func newProjector(c cache.Cache) projector {
	if c == nil {
		c = cache.NewMemory()
	}
	return projector{cache: c, max: maxProjected}
}

// findInstance reads what the database is called in a shared cache.
func (s *Store) findInstance(ctx context.Context) error {
	return s.snapshot(ctx, func(t *tx) error {
		ok, err := t.row(`SELECT uuid FROM instance WHERE id = 1`, nil, &s.projections.instance)
		if err == nil && !ok {
			err = errors.New("store: the database has no instance id")
		}
		return err
	})
}

// LockState says for display how the resource at a path is locked: ErrNotFound
// when there is none.
func (s *Store) LockState(ctx context.Context, target Target) (lockns.State, error) {
	states, err := s.LockStates(ctx, target.Workspace, []Target{target})
	if err != nil {
		return lockns.State{}, err
	}
	if states[0] == (lockns.State{}) {
		return lockns.State{}, ErrNotFound
	}
	return states[0], nil
}

// LockStates is LockState for many resources of one workspace, all of one
// snapshot, in their order. A path that maps to nothing has the zero State.
func (s *Store) LockStates(ctx context.Context, ws lockns.Workspace, targets []Target) (states []lockns.State, err error) {
	for _, target := range targets {
		if target.Workspace != ws {
			return nil, fmt.Errorf("store: lock states of %s: a target in %s", ws, target.Workspace)
		}
		if err := target.Path.check(); err != nil {
			return nil, err
		}
	}
	p, err := s.projection(ctx, ws)
	if err != nil {
		return nil, err
	}
	err = s.snapshot(ctx, func(t *tx) error {
		states = make([]lockns.State, len(targets))
		for i, target := range targets {
			sp, err := t.mapped(target)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if states[i], err = t.state(sp, p); err != nil {
				return err
			}
		}
		return nil
	})
	return states, err
}

// state is how a resource is locked: by the projection, or without one by the
// locks that cover it.
func (t *tx) state(sp *spot, p *lockns.Projection) (lockns.State, error) {
	place := sp.node.Place
	if p == nil {
		locks, err := t.covering(sp.space, place)
		if err != nil {
			return lockns.State{}, err
		}
		p = projectionOf(locks)
	}
	return p.State(place, t.now), nil
}

// projectionOf are a few locks in the form that answers for states.
func projectionOf(locks []lockns.Lock) *lockns.Projection {
	return lockns.NewProjection(0, projected(locks))
}

func projected(locks []lockns.Lock) []lockns.ProjectedRoot {
	roots := make([]lockns.ProjectedRoot, len(locks))
	for i, l := range locks {
		roots[i] = l.Projected()
	}
	return roots
}

// fillStates says of a page of members, of one kind, how each is locked: by the
// projection, or without one by the locks above and those rooted on them, which is
// one query for each.
func (t *tx) fillStates(sp *space, folder *Node, page []Entry, from cursor, to string, p *lockns.Projection) error {
	if p == nil {
		roots, err := t.memberRoots(sp, folder, from, to)
		if err != nil {
			return err
		}
		p = lockns.NewProjection(0, roots)
	}
	for i := range page {
		page[i].State = p.State(page[i].Place, t.now)
	}
	return nil
}

// memberRoots are the active lock roots that decide how the members of a page are
// locked.
func (t *tx) memberRoots(sp *space, folder *Node, from cursor, to string) ([]lockns.ProjectedRoot, error) {
	above, err := t.covering(sp, folder.Place)
	if err != nil {
		return nil, err
	}
	roots := projected(above)
	members, err := t.anyBelow(sp, folder.Place)
	if err != nil || !members {
		return roots, err
	}
	const columns = `SELECT f.id, l.depth, l.mode, l.timeout_at FROM `
	query, place := columns+`files f CROSS JOIN resource_locks l
ON l.namespace_id = ? AND l.root_kind = 'file' AND l.root_file_id = f.id WHERE f.folder_id = ?`, folder.Place.File
	if from.folders {
		query, place = columns+`folders f CROSS JOIN resource_locks l
ON l.namespace_id = ? AND l.root_kind = 'folder' AND l.root_folder_id = f.id WHERE f.parent_id = ?`, folder.Place.Folder
	}
	args := []any{sp.id, sp.folderID(folder), from.after, to, micros(t.now)}
	err = t.rows(query+` AND f.name_key > ? AND f.name_key <= ?`+activeLocks, args, func(scan func(...any) error) error {
		var id int64
		var r lockns.ProjectedRoot
		var end sql.NullInt64
		err := scan(&id, (*string)(&r.Depth), (*string)(&r.Mode), &end)
		r.Place, r.ExpiresAt = place(id), fromNull(end)
		roots = append(roots, r)
		return err
	})
	return roots, err
}

// anyBelow reports whether locks, be they over or not, are rooted below a folder: one
// look into the index.
func (t *tx) anyBelow(sp *space, p lockns.Place) (found bool, err error) {
	_, err = t.row(`SELECT EXISTS (SELECT 1 FROM resource_locks WHERE namespace_id = ? AND ancestry > ? AND ancestry < ?)`,
		[]any{sp.id, p.Ancestry, rangeEnd(p.Ancestry)}, &found)
	return found, err
}

// projection is how a workspace is locked, from the cache or else from the
// database: nil when it has too many locks, ErrNotFound when there is none.
//
// What was read between two equal generations is of that generation and is kept
// under it. When the generation moved meanwhile it is read once more; when it
// moved again the answer is as good as any, and is not kept.
func (s *Store) projection(ctx context.Context, ws lockns.Workspace) (*lockns.Projection, error) {
	key, _, err := s.projectionKey(ctx, ws)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		if at, known := s.projections.crowded.Load(ws); known && at == key.Generation {
			return nil, nil
		}
		if p := s.cached(ctx, key); p != nil {
			return p, nil
		}
		p, err := s.loadProjection(ctx, key)
		if err != nil {
			return nil, err
		}
		if p == nil {
			s.projections.crowded.Store(ws, key.Generation)
			return nil, nil
		}
		s.projections.crowded.Delete(ws)
		if err := s.at(ctx, Projecting); err != nil {
			return nil, err
		}
		again, now, err := s.projectionKey(ctx, ws)
		switch {
		case err != nil:
			return nil, err
		case again == key:
			s.keep(ctx, key, p, now)
			return p, nil
		case try == 2:
			return p, nil
		}
		key = again
	}
}

// projectionKey reads the generation that a workspace is at, and when.
func (s *Store) projectionKey(ctx context.Context, ws lockns.Workspace) (key cache.Key, now time.Time, err error) {
	key = cache.Key{Instance: s.projections.instance, Workspace: ws}
	err = s.snapshot(ctx, func(t *tx) error {
		now = t.now
		ok, err := t.row(`SELECT generation FROM resource_lock_namespaces WHERE workspace_type = ? AND workspace_id = ?`,
			[]any{string(ws.Kind), ws.ID}, &key.Generation)
		if err == nil && !ok {
			err = fmt.Errorf("workspace %s: %w", ws, ErrNotFound)
		}
		return err
	})
	return key, now, err
}

// loadProjection makes the projection from the database: nil when there are too
// many active locks.
func (s *Store) loadProjection(ctx context.Context, key cache.Key) (p *lockns.Projection, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		p = nil
		sp, err := t.space(key.Workspace)
		if err != nil {
			return err
		}
		n, err := t.countRoots(sp, s.projections.max+1)
		if err != nil || n > s.projections.max {
			return err
		}
		roots, err := t.roots(sp, n)
		p = lockns.NewProjection(key.Generation, roots)
		return err
	})
	return p, err
}

// The locks without an end are a part of their own: with an OR between the two
// SQLite would look at the expired ones too.
const (
	ending  = ` FROM resource_locks WHERE namespace_id = ? AND timeout_at >= ?`
	endless = ` FROM resource_locks WHERE namespace_id = ? AND timeout_at IS NULL`
)

// countRoots counts the active locks of a workspace up to a limit, in the index
// alone. Reading as many, only to find that they are too many, takes far longer.
func (t *tx) countRoots(sp *space, limit int) (n int, err error) {
	_, err = t.row(`SELECT count(*) FROM (SELECT 1`+ending+` UNION ALL SELECT 1`+endless+` LIMIT ?)`,
		[]any{sp.id, micros(t.now), sp.id, limit}, &n)
	return n, err
}

// roots are the n active lock roots of a workspace, and of each no more than may
// be shown.
func (t *tx) roots(sp *space, n int) ([]lockns.ProjectedRoot, error) {
	const columns = `SELECT root_kind, coalesce(root_folder_id, root_file_id, 0), ancestry, depth, mode, timeout_at`
	roots := make([]lockns.ProjectedRoot, 0, n)
	err := t.rows(columns+ending+` UNION ALL `+columns+endless, []any{sp.id, micros(t.now), sp.id}, func(scan func(...any) error) error {
		var r lockns.ProjectedRoot
		var end sql.NullInt64
		root := &r.Place.Root
		err := scan((*string)(&root.Kind), &root.ID, &r.Place.Ancestry, (*string)(&r.Depth), (*string)(&r.Mode), &end)
		r.ExpiresAt = fromNull(end)
		roots = append(roots, r)
		return err
	})
	return roots, err
}

// cached asks the cache; whatever goes wrong there, the answer is nil.
func (s *Store) cached(ctx context.Context, key cache.Key) *lockns.Projection {
	p, err := s.projections.cache.Get(ctx, key)
	if err == nil && p != nil && p.Generation() != key.Generation {
		err = fmt.Errorf("%w of generation %d, but of %d", cache.ErrBadValue, key.Generation, p.Generation())
	}
	if err != nil {
		s.cacheFault("read", err)
		return nil
	}
	return p
}

// keep puts a projection into the cache, until the first of its locks ends at
// the latest.
func (s *Store) keep(ctx context.Context, key cache.Key, p *lockns.Projection, now time.Time) {
	ttl := maxProjectionAge
	if end := p.FirstEnd(); !end.IsZero() {
		ttl = min(ttl, end.Sub(now))
	}
	if ttl <= 0 {
		return
	}
	if err := s.projections.cache.Put(ctx, key, p, ttl); err != nil {
		s.cacheFault("write", err)
	}
}

// cacheFault logs a fault of the cache, but not each: a cache that is away fails
// for every listing.
func (s *Store) cacheFault(op string, err error) {
	now, last := micros(s.now()), s.projections.told.Load()
	if last != 0 && now-last < faultEvery.Microseconds() || !s.projections.told.CompareAndSwap(last, now) {
		return
	}
	s.log.Warn("lock projection cache is at fault; the database answers", "op", op, "error", err)
}
