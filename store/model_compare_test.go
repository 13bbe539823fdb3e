package store_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/lockns"
	"holdfast/store"
)

// walk compares a workspace's tree, and the locks covering each resource of it.
func (r *run) walk(room int) error {
	want := map[string]*item{}
	for _, i := range r.w.rooms[room].top.all() {
		want[i.names().String()] = i
	}
	target := store.Target{Workspace: r.w.rooms[room].ws}
	err := r.Walk(r.t.Context(), target, store.DepthInfinity, store.Want{Props: true, Locks: true}, 0, func(e store.Entry) error {
		path := e.Path.String()
		i := want[path]
		delete(want, path)
		if i == nil {
			return fmt.Errorf("workspace %d: %s is there, or there twice", room, path)
		}
		if err := r.compareEntry(i, e); err != nil {
			return fmt.Errorf("workspace %d: %s: %w", room, path, err)
		}
		return nil
	})
	if err == nil && len(want) > 0 {
		err = fmt.Errorf("workspace %d: %v are missing", room, slices.Sorted(maps.Keys(want)))
	}
	return err
}

// compareEntry compares one resource. What the store gave it newly is noted.
func (r *run) compareEntry(i *item, e store.Entry) error {
	if i.id == 0 {
		i.id = e.Place.Root.ID
		if err := r.fresh(string(e.Place.Root.Kind), i.id); err != nil {
			return err
		}
	}
	if !i.folder && i.etag == "" {
		i.etag = e.ETag
		if err := r.fresh("etag", i.etag); err != nil {
			return err
		}
	}
	props := map[string]string{}
	for _, p := range e.Props {
		props[p.Local] = p.XML
	}
	var covering []*grant
	for _, g := range r.w.actives() {
		if g.protects(i) {
			covering = append(covering, g)
		}
	}
	wantPlace := lockns.Place{Root: rootOf(i), Ancestry: i.ancestry()}
	switch {
	case e.Place != wantPlace:
		return fmt.Errorf("is at %v, want %v", e.Place, wantPlace)
	case e.ETag != i.etag:
		return fmt.Errorf("entity tag %s, want %s", e.ETag, i.etag)
	case e.Size != int64(len(i.content)):
		return fmt.Errorf("%d bytes, want %d", e.Size, len(i.content))
	case !maps.Equal(props, i.props):
		return fmt.Errorf("properties %v, want %v", props, i.props)
	case !slices.Equal(tokensOf(e.Locks), sortedTokens(covering)):
		return fmt.Errorf("covered by %s, want %s", r.words(verdict{locks: tokensOf(e.Locks)}), r.words(verdict{locks: sortedTokens(covering)}))
	}
	return nil
}

// rootOf is an item's identity.
func rootOf(i *item) lockns.Root {
	switch {
	case i.up == nil:
		return lockns.Root{Kind: lockns.WorkspaceRoot}
	case i.folder:
		return lockns.Root{Kind: lockns.FolderRoot, ID: i.id}
	}
	return lockns.Root{Kind: lockns.FileRoot, ID: i.id}
}

// compareLocks compares a workspace's lock rows: each active lock is there as it
// is, and beside them only expired ones whose rows may still go.
func (r *run) compareLocks(room int, rows string) error {
	want, may := map[string]bool{}, map[string]bool{}
	for _, g := range r.w.grants {
		switch {
		case g.on.where() != r.w.rooms[room]:
		case r.w.active(g):
			want[g.row()] = true
		default:
			may[g.row()] = true
		}
	}
	for row := range strings.SplitSeq(rows, "\n") {
		if row == "" || may[row] {
			continue
		}
		if !want[row] {
			return fmt.Errorf("workspace %d has the lock\n%s\nwant\n%s", room, row, strings.Join(slices.Sorted(maps.Keys(want)), "\n"))
		}
		delete(want, row)
	}
	if len(want) > 0 {
		return fmt.Errorf("workspace %d misses the locks\n%s", room, strings.Join(slices.Sorted(maps.Keys(want)), "\n"))
	}
	return nil
}

// row is a lock as its row must be.
func (g *grant) row() string {
	ends := "-"
	if !g.ends.IsZero() {
		ends = strconv.FormatInt(g.ends.UnixMicro(), 10)
	}
	root := rootOf(g.on)
	return strings.Join([]string{
		itoa(g.id), g.token, g.on.ancestry(), string(root.Kind), itoa(root.ID), string(g.depth), string(g.mode),
		string(g.origin), itoa(g.holder), g.owner, g.shown.String(), ends,
	}, "|")
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
