package store

import "context"

// Point names a moment of a change at which a test may stop it, fail it or make
// it wait for another. In production nothing happens there.
type Point string

// The points of a change, in order. On SQLite two changes are never between
// Begun and BeforeCommit at once: barriers belong at Queued.
const (
	Admitted     Point = "admitted"      // allowed on a snapshot, nothing staged
	Located      Point = "located"       // workspace found on a snapshot
	Staged       Point = "staged"        // content staged outside the transaction
	Queued       Point = "queued"        // about to wait for the writer
	Begun        Point = "begun"         // transaction open
	Serialized   Point = "serialized"    // namespace rows locked
	Authorized   Point = "authorized"    // claim and rules allowed it, nothing written
	Written      Point = "written"       // rows written, versions not yet advanced
	BeforeCommit Point = "before-commit" // everything written
	Committed    Point = "committed"     // committed, not yet acknowledged
)

// Projecting is the one point of a read: the locks of a projection are loaded,
// and whether their generation still is the workspace's is not yet asked.
const Projecting Point = "projecting"

// at passes a point. Between Begun and BeforeCommit an error refuses the
// change; at Committed it plays a lost acknowledgement.
func (s *Store) at(ctx context.Context, p Point) error {
	if hook := s.hook.Load(); hook != nil {
		return (*hook)(ctx, p)
	}
	return nil
}

func (t *tx) at(p Point) error {
	if !t.writes {
		return nil
	}
	return t.s.at(t.ctx, p)
}
