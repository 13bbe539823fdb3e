package store_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// The trash in the model, and the comparison of it.

// modelTrash is how long the trash of a program keeps something.
const modelTrash = 3 * time.Minute

// waste is what was removed and may be restored. What it took with it hangs below
// the item still.
type waste struct {
	born int // the step that removed it
	room *room
	item *item
	path store.Path // where it was, below the workspace's root
	in   []*item    // the folders it was in, the innermost first
	ends time.Time  // from here on it is lost
}

// discard takes what a spot leads to into the trash.
func (w *world) discard(s spot, born int) {
	d := &waste{born: born, room: s.item.where(), item: s.item, path: s.shown.Parent().Join(s.item.name), ends: w.now.Add(modelTrash)}
	for up := s.item.up; up != nil; up = up.up {
		d.in = append(d.in, up)
	}
	s.item.unhang()
	w.trash = append(w.trash, d)
}

// rubbish finds the waste of a step in the trash that a place stands for: that of
// its workspace, as far as it came from the folder that its paths start at.
func (w *world) rubbish(s action) *waste {
	at := w.find(s.at)
	for _, d := range w.trash {
		if d.born == s.which && !at.gone && d.room == w.rooms[s.at.room] && slices.Contains(d.in, at.from) && w.now.Before(d.ends) {
			return d
		}
	}
	return nil
}

// restore hangs what is in the trash into a folder, where nothing of its name may
// be: into the one it was in, or another that the step names.
func (w *world) restore(s action, c caller) verdict {
	d := w.rubbish(s)
	if d == nil {
		return refusedAs("not found")
	}
	folder := d.in[0]
	if s.to.path != "" {
		folder = w.find(s.to).item
	}
	if folder == nil || !folder.folder || folder.where() != d.room || !folder.in(w.find(s.at).from) {
		return refusedAs("no parent")
	}
	if o := w.permit(c, folder); !o.ok() {
		return o
	}
	name := s.name
	if name == "" {
		name = d.item.name
	}
	if folder.members[key(name)] != nil {
		return refusedAs("exists")
	}
	d.item.hang(folder, name)
	w.lose(func(o *waste) bool { return o == d })
	return verdict{class: "ok", note: note(folder != d.in[0], " somewhere else") + note(len(d.item.members) > 0, " with members")}
}

// purgeTrash ends one waste, or all that came from a folder.
func (w *world) purgeTrash(s action, c caller) verdict {
	which := func(d *waste) bool {
		return d.room == w.rooms[s.at.room] && slices.Contains(d.in, w.find(s.at).from)
	}
	if s.op == "purge trash" {
		d := w.rubbish(s)
		if d == nil {
			return refusedAs("not found")
		}
		which = func(o *waste) bool { return o == d }
	} else if w.find(s.at).gone {
		return refusedAs("not found")
	}
	if !w.may(c.user, w.rooms[s.at.room], store.Writer, store.Admin, store.Owner) {
		return refusedAs("forbidden")
	}
	w.lose(which)
	return succeeded
}

// lose ends what is in the trash.
func (w *world) lose(which func(*waste) bool) { w.trash = slices.DeleteFunc(w.trash, which) }

// trashStep is a step about the trash on the store, with the ids of before it.
func (r *run) trashStep(s action) func(store.Target, store.Claim) error {
	id, o := r.entries[s.which], store.RestoreOptions{Name: s.name}
	if s.to.path != "" {
		o.Folder = 1 << 40 // no folder's
		if to := r.w.find(s.to).item; to != nil && to.folder {
			o.Folder = to.id
		}
	}
	return func(at store.Target, c store.Claim) (err error) {
		at.Path = nil
		ctx := r.t.Context()
		switch s.op {
		case "restore":
			_, err = r.Restore(ctx, at, id, o, c)
		case "purge trash":
			err = r.PurgeTrash(ctx, at, id, c)
		case "empty trash":
			_, err = r.EmptyTrash(ctx, at, c)
		}
		return err
	}
}

// noteEntry keeps the id of the entry that a removal made.
func (r *run) noteEntry(s action) error {
	all, _, err := r.Trash(r.t.Context(), store.Target{Workspace: r.w.rooms[s.at.room].ws}, 0, 1)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%v: nothing is in the trash", s)
	}
	if err != nil {
		return err
	}
	r.entries[s.n] = all[0].ID
	return r.fresh("trash", all[0].ID)
}

// compareTrash compares the trash of a workspace: what it has, and what is said of
// each.
func (r *run) compareTrash(room int) error {
	all, next, err := r.Trash(r.t.Context(), store.Target{Workspace: r.w.rooms[room].ws}, 0, 1000)
	if err != nil || next != 0 {
		return fmt.Errorf("trash with another page before %d: %w", next, err)
	}
	var got, want []string
	for _, e := range all {
		got = append(got, trashLine(e.ID, e.Resource, e.Path, e.Folder, e.Size, e.Expires))
	}
	for _, d := range slices.Backward(r.w.trash) {
		if d.room == r.w.rooms[room] && r.w.now.Before(d.ends) {
			root := lockns.Root{Kind: lockns.FileRoot, ID: d.item.id}
			if d.item.folder {
				root.Kind = lockns.FolderRoot
			}
			want = append(want, trashLine(r.entries[d.born], root, d.path, d.in[0].id, int64(len(d.item.content)), d.ends))
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the trash has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return nil
}

func trashLine(id int64, root lockns.Root, path store.Path, folder, size int64, ends time.Time) string {
	return fmt.Sprint(id, " ", root, " ", path, " ", folder, " ", size, " ", ends)
}
