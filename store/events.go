package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/lockns"
)

// EventsAge and EventsBehind are how far back events can be asked for: by time, and
// by how many there were since, in all workspaces.
const (
	EventsAge    = time.Hour
	EventsBehind = 4096
)

// EventPosition says how much somebody knows of what happened in all workspaces.
//
// Ids of both logs are given out by SQLite's one writer in transactions that follow
// each other, so that none becomes visible after a greater one: who has read up to
// an id has missed nothing before it. With sequences of a database that commits side
// by side that is not so, and a reader would have to stop before the oldest
// transaction that is still open.
type EventPosition struct {
	Change int64     // id of the last change of a folder's members
	Lock   int64     // id of the last event of a lock
	At     time.Time // when both were the last
}

// Event is something that happened in a workspace: a member of a folder is not what
// it was, or a lock is not. It tells where to look and not what was done: of several
// changes of the same the last may be all that is told.
type Event struct {
	// Position is that of who knows this event and all before it.
	Position  EventPosition
	Workspace lockns.Workspace
	// Place is the folder whose member it is about, or the root of the lock, and Path
	// the names that lead there from the workspace root, as they are now.
	Place lockns.Place
	Path  Path

	Member *MemberEvent // one of these is not nil
	Lock   *LockEvent
}

// MemberEvent is a member of a folder that came, went, or got another content, other
// properties or another name.
type MemberEvent struct {
	Folder   int64 // id of the folder, also of the root
	Name     string
	IsFolder bool
	ID       int64 // 0 when it is gone
}

// LockEvent is a lock that was granted, changed, moved or refreshed, or that ended.
type LockEvent struct {
	ID int64
	// Event is what the audit log calls it: "lock.ended".
	Event string
	// Deep: its depth is infinity, so that it covers what is below its root.
	Deep bool
	// Now is the lock as it is, nil when it has ended.
	Now *LockInfo
}

// EventsNow is the position of who knows everything that happened.
func (s *Store) EventsNow(ctx context.Context) (at EventPosition, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		at, err = t.eventsNow()
		return err
	})
	return at, err
}

func (t *tx) eventsNow() (at EventPosition, err error) {
	at.At = t.now
	_, err = t.row(`SELECT (SELECT coalesce(max(id), 0) FROM changes), (SELECT coalesce(max(id), 0) FROM lock_events)`, nil, &at.Change, &at.Lock)
	return at, err
}

// Remembers reports whether Events can tell everything since a position: not of one
// that is older than EventsAge, or from which more than EventsBehind events happened.
func (s *Store) Remembers(ctx context.Context, since EventPosition) (yes bool, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		now, err := t.eventsNow()
		yes = !since.At.Before(now.At.Add(-min(EventsAge, s.changesAge()/2))) &&
			now.Change-since.Change <= EventsBehind && now.Lock-since.Lock <= EventsBehind
		return err
	})
	return yes, err
}

// Events reads up to limit rows of either log after a position, and gives what they
// tell of the workspaces that are wanted, and the position reached. When that is not
// further than before, there are no more. What is about a resource that is gone by
// now, or is in another workspace, is left out: that it went is told of its folder.
func (s *Store) Events(ctx context.Context, after EventPosition, limit int, wanted func(lockns.Workspace) bool) (events []Event, reached EventPosition, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		r := eventReader{t: t, d: t.describer(0), wanted: wanted, at: after}
		r.at.At = t.now
		if err := r.members(limit); err != nil {
			return err
		}
		err := r.locks(limit)
		events, reached = r.events, r.at
		return err
	})
	return events, reached, err
}

// IsPast reports whether a position knows everything that another does.
func (p EventPosition) IsPast(other EventPosition) bool {
	return p.Change >= other.Change && p.Lock >= other.Lock
}

// EventSignal receives a value after changes that Events tells of and that this
// process made. It has one receiver.
func (s *Store) EventSignal() <-chan struct{} { return s.events }

func (s *Store) signalEvents() {
	select {
	case s.events <- struct{}{}:
	default: // it is to look anyway
	}
}

// eventReader reads a page of events.
type eventReader struct {
	t      *tx
	d      *describer // finds each folder once
	wanted func(lockns.Workspace) bool
	at     EventPosition
	events []Event
}

// members reads the log of the folders.
func (r *eventReader) members(limit int) error {
	type row struct {
		id int64
		ws lockns.Workspace
		MemberEvent
	}
	var page []row
	// Outer joins: a row that has lost its folder moves the position too.
	err := r.t.rows(`SELECT c.id, c.folder_id, c.name, c.is_folder, coalesce(n.workspace_type, ''), coalesce(n.workspace_id, 0) FROM changes c
LEFT JOIN folders f ON f.id = c.folder_id LEFT JOIN resource_lock_namespaces n ON n.id = f.namespace_id
WHERE c.id > ? ORDER BY c.id LIMIT ?`, []any{r.at.Change, limit}, func(scan func(...any) error) error {
		var m row
		err := scan(&m.id, &m.Folder, &m.Name, &m.IsFolder, (*string)(&m.ws.Kind), &m.ws.ID)
		page = append(page, m)
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range page {
		r.at.Change = m.id
		if m.ws == (lockns.Workspace{}) || !r.wanted(m.ws) {
			continue
		}
		if err := r.member(m.ws, m.MemberEvent); err != nil {
			return err
		}
	}
	return nil
}

// member adds what happened to a member of a folder.
func (r *eventReader) member(ws lockns.Workspace, m MemberEvent) error {
	sp, err := r.t.space(ws)
	if err != nil {
		return err
	}
	f, err := r.d.folder(sp, m.Folder)
	if err != nil || f.place == (lockns.Place{}) {
		return err
	}
	query := `SELECT id FROM files WHERE folder_id = ? AND name_key = ? AND name = ?`
	if m.IsFolder {
		query = `SELECT id FROM folders WHERE parent_id = ? AND name_key = ? AND name = ?`
	}
	if _, err := r.t.row(query, []any{m.Folder, NameKey(m.Name), m.Name}, &m.ID); err != nil {
		return err
	}
	r.events = append(r.events, Event{Position: r.at, Workspace: ws, Place: f.place, Path: f.path, Member: &m})
	return nil
}

// locks reads what happened to locks.
func (r *eventReader) locks(limit int) error {
	type row struct {
		id   int64
		ws   lockns.Workspace
		root lockns.Root
		LockEvent
	}
	var page []row
	last := map[int64]int64{} // the last event of each lock
	err := r.t.rows(`SELECT id, workspace_type, workspace_id, resource_kind, coalesce(resource_id, 0), lock_id, event, detail FROM lock_events
WHERE id > ? ORDER BY id LIMIT ?`, []any{r.at.Lock, limit}, func(scan func(...any) error) error {
		var l row
		var detail string
		err := scan(&l.id, (*string)(&l.ws.Kind), &l.ws.ID, (*string)(&l.root.Kind), &l.root.ID, &l.ID, &l.Event, &detail)
		l.Deep = strings.Contains(detail, " "+string(lockns.Infinity)+", holder ") // see describe
		last[l.ID] = l.id
		page = append(page, l)
		return err
	})
	if err != nil {
		return err
	}
	for _, l := range page {
		r.at.Lock = l.id
		if last[l.ID] != l.id || !r.wanted(l.ws) {
			continue
		}
		if err := r.lock(l.ws, l.root, l.LockEvent); err != nil {
			return err
		}
	}
	return nil
}

// lock adds what happened to a lock.
func (r *eventReader) lock(ws lockns.Workspace, root lockns.Root, l LockEvent) error {
	sp, err := r.t.space(ws)
	if errors.Is(err, ErrNotFound) {
		return nil // it ended since
	}
	if err != nil {
		return err
	}
	e := Event{Position: r.at, Workspace: ws}
	if e.Place, e.Path, err = r.d.locate(sp, root); err != nil || e.Place == (lockns.Place{}) {
		return err
	}
	switch l.Event {
	case lockReleased, lockForced, lockEnded, lockExpired:
	default:
		l.Now, err = r.current(sp, l.ID)
		if err != nil || l.Now == nil || l.Now.Place.Root != root {
			return err // what happened to it since is told next
		}
		l.Deep = l.Now.Depth == lockns.Infinity
	}
	e.Lock = &l
	r.events = append(r.events, e)
	return nil
}

// current is a lock of a workspace as it is; nil when it is there no more.
func (r *eventReader) current(sp *space, id int64) (info *LockInfo, err error) {
	err = r.t.rows(selectLock+`WHERE l.id = ?`, []any{id}, func(scan func(...any) error) error {
		l, ns, err := scanLock(scan)
		if err == nil && ns == sp.id {
			info = &LockInfo{Lock: l, Workspace: sp.ws}
		}
		return err
	})
	if err != nil || info == nil {
		return nil, err
	}
	return info, r.d.findHolder(info)
}
