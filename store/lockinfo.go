package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/lockns"
)

// LockInfo is a lock with what people want to know of it beside.
type LockInfo struct {
	lockns.Lock
	Workspace     lockns.Workspace
	HolderName    string // user name; "" when nobody holds it
	HolderDisplay string // the holder's display name, else HolderName
	// At is where the lock's root is now, spelled as stored, from the base of what
	// was asked, else from the workspace root. It is "" when the root is not below
	// that base, or is not there.
	At string
}

// DescribeLocks says of locks, of any workspaces, what people want to know. base
// is the id of the folder that At is told from, 0 for the workspace root. Locks
// that ended meanwhile are told of as they were.
func (s *Store) DescribeLocks(ctx context.Context, base int64, locks []lockns.Lock) (infos []LockInfo, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		infos = make([]LockInfo, len(locks))
		d := t.describer(base)
		for i, l := range locks {
			infos[i] = LockInfo{Lock: l}
			for _, find := range []func(*LockInfo) error{d.findWorkspace, d.findHolder, d.findRoot} {
				if err := find(&infos[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return infos, err
}

// LocksCovering lists the active locks that cover a resource, by id: those rooted
// on it, and those above it that reach down to it. after is the id of the last lock
// of the page before, 0 for the first page; limit is as for LockFilter. Where the
// roots are is told from the target's base.
//
// Errors: ErrNotFound.
func (s *Store) LocksCovering(ctx context.Context, target Target, after int64, limit int) (list []LockInfo, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		sp, err := t.mapped(target)
		if err != nil {
			return err
		}
		ids, args := coveringIDs(sp, t.now)
		list, err = t.lockInfos(`SELECT `+infoColumns+` FROM (`+ids+`) c CROSS JOIN resource_locks l ON l.id = c.id`+infoTables+
			` WHERE c.id > ? ORDER BY c.id LIMIT ?`, append(args, after, lockPage(limit)), target.Base)
		return err
	})
	return list, err
}

// coveringIDs selects the ids of the active locks that cover what a spot maps to.
// It is tx.covering without those that do no harm, which may be many.
func coveringIDs(sp *spot, now time.Time) (query string, args []any) {
	const selectID = `SELECT l.id FROM resource_locks l WHERE l.namespace_id = ? AND `
	var parts []string
	add := func(where string, with ...any) {
		parts = append(parts, selectID+where+activeLocks)
		args = append(append(append(args, sp.id), with...), micros(now))
	}
	p := sp.node.Place
	on, id := rootedOn(p.Root)
	add(on, id...)
	if p.Root.Kind == lockns.WorkspaceRoot {
		return parts[0], args
	}
	add(`root_kind = 'workspace_root' AND depth = 'infinity'`)
	above := folderIDs(p.Ancestry)[1:]
	if p.Root.Kind == lockns.FolderRoot {
		above = above[:len(above)-1]
	}
	if len(above) > 0 {
		add(`root_kind = 'folder' AND root_folder_id IN (?`+strings.Repeat(",?", len(above)-1)+`) AND depth = 'infinity'`, above...)
	}
	return strings.Join(parts, ` UNION ALL `), args
}

// describer finds out what people want to know of locks. It asks for each
// workspace, user and folder once.
type describer struct {
	t          *tx
	base       int64
	workspaces map[int64]lockns.Workspace // by the id of the root folder
	holders    map[int64][2]string        // name and display name
	folders    map[int64]folder           // without a place when it is not there
}

func (t *tx) describer(base int64) *describer {
	return &describer{t: t, base: base, workspaces: map[int64]lockns.Workspace{}, holders: map[int64][2]string{}, folders: map[int64]folder{}}
}

// findWorkspace tells the workspace by the folder that the lock's ancestry begins
// with.
func (d *describer) findWorkspace(i *LockInfo) error {
	ids := folderIDs(i.Place.Ancestry)
	if len(ids) == 0 {
		return ErrNotFound
	}
	root := ids[0].(int64)
	ws, known := d.workspaces[root]
	if !known {
		_, err := d.t.row(`SELECT n.workspace_type, n.workspace_id FROM folders f CROSS JOIN resource_lock_namespaces n ON n.id = f.namespace_id WHERE f.id = ?`,
			[]any{root}, (*string)(&ws.Kind), &ws.ID)
		if err != nil {
			return err
		}
		d.workspaces[root] = ws
	}
	i.Workspace = ws
	return nil
}

const displayName = `coalesce(nullif(u.display_name, ''), u.name, '')`

func (d *describer) findHolder(i *LockInfo) error {
	if i.Holder == 0 {
		return nil
	}
	names, known := d.holders[i.Holder]
	if !known {
		_, err := d.t.row(`SELECT u.name, `+displayName+` FROM users u WHERE u.id = ?`, []any{i.Holder}, &names[0], &names[1])
		if err != nil {
			return err
		}
		d.holders[i.Holder] = names
	}
	i.HolderName, i.HolderDisplay = names[0], names[1]
	return nil
}

// findRoot tells where the root is by its id, since names above it may be others
// than those it was locked by.
func (d *describer) findRoot(i *LockInfo) error {
	sp, err := d.t.space(i.Workspace)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	base := d.base
	if base == 0 {
		base = sp.root
	}
	from, err := d.folder(sp, base)
	if err != nil {
		return err
	}
	place, path, err := d.locate(sp, i.Place.Root)
	if err == nil && place != (lockns.Place{}) && from.place != (lockns.Place{}) && from.place.Holds(place) {
		i.At = path[len(from.path):].String()
	}
	return err
}

// locate finds the root of a lock, with no place when it is not there.
func (d *describer) locate(sp *space, root lockns.Root) (place lockns.Place, path Path, err error) {
	switch root.Kind {
	case lockns.FolderRoot:
		f, err := d.folder(sp, root.ID)
		return f.place, f.path, err
	case lockns.FileRoot:
		var in int64
		var name string
		ok, err := d.t.row(`SELECT folder_id, name FROM files WHERE id = ?`, []any{root.ID}, &in, &name)
		if err != nil || !ok {
			return place, nil, err
		}
		f, err := d.folder(sp, in)
		if err == nil && f.place != (lockns.Place{}) {
			place, path = f.place.File(root.ID), f.path.Join(name)
		}
		return place, path, err
	}
	return sp.rootPlace(), nil, nil
}

// folder is tx.folder, without a place where that is ErrNotFound.
func (d *describer) folder(sp *space, id int64) (folder, error) {
	f, known := d.folders[id]
	if known {
		return f, nil
	}
	f, err := d.t.folder(sp, id)
	if errors.Is(err, ErrNotFound) {
		f, err = folder{}, nil
	}
	if err == nil {
		d.folders[id] = f
	}
	return f, err
}
