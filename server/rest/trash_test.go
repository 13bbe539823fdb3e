package rest_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/server/rest"
	"holdfast/store"
)

// trashing adds a trash that keeps everything for a day.
func trashing(so *store.Options, _ *rest.Options) { so.Trash = 24 * time.Hour }

// remove removes a path as any door does.
func (c *client) remove(at store.Target) {
	c.w.t.Helper()
	must(c.w.t, c.w.Remove(c.w.t.Context(), at, store.Holder(c.user.ID)))
}

// trash lists the client's own trash.
func (c *client) trash() []rest.Trashed {
	c.w.t.Helper()
	all, _ := pages[rest.Trashed](c, "/workspaces/personal/trash", 100)
	return all
}

// restorePath is where the entry that came last into the client's own trash is
// restored.
func (c *client) restorePath() string {
	c.w.t.Helper()
	return fmt.Sprintf("/workspaces/personal/trash/%d/restore", c.trash()[0].ID)
}

func TestTrash(t *testing.T) {
	w := newWorld(t, trashing)
	ada := w.user("ada")
	folder := ada.mkdir(ada.at("/d"))
	file := ada.put(ada.at("/d/f"), "12345")
	ada.remove(ada.at("/d/f"))
	at := w.now()
	wantEqual(t, "entry", ada.trash()[0], rest.Trashed{
		ID: 1, Kind: "file", Resource: file.ID(), Name: "f", Parent: folder.ID(), Path: "/d/f", Size: 5,
		RemovedBy: "ada", Removed: at, Expires: at.Add(24 * time.Hour),
	})
	var r rest.Resource
	ada.do("POST", ada.restorePath(), rawJSON("{}")).wants(200).into(&r)
	wantEqual(t, "restored", fmt.Sprint(r.ID, r.Path, r.ETag, r.Parent), fmt.Sprint(file.ID(), "/d/f", file.ETag, folder.ID()))
	wantEqual(t, "entries", len(ada.trash()), 0)

	ada.remove(ada.at("/d/f"))
	ada.remove(ada.at("/d"))
	wantEqual(t, "kind", ada.trash()[0].Kind, "folder")
	old := fmt.Sprintf("/workspaces/personal/trash/%d/restore", ada.trash()[1].ID)
	ada.do("POST", old, rawJSON("{}")).refuses(409, "parent.missing")
	ada.do("POST", old, map[string]any{"parent": w.root(ada.user.Workspace()), "name": "g"}).wants(200).into(&r)
	wantEqual(t, "restored", r.Path, "/g")
	ada.put(ada.at("/d"), "in the way")
	ada.do("POST", ada.restorePath(), rawJSON("{}")).refuses(409, "name.taken")
	ada.do("POST", ada.restorePath(), rawJSON(`{"parent":`+missing+`}`)).refuses(409, "parent.missing")
	ada.do("POST", ada.restorePath(), map[string]any{"name": "a/b"}).refuses(400, "name.invalid")
	ada.do("POST", ada.restorePath(), map[string]any{"name": "e"}).wants(200)

	ada.remove(ada.at("/e"))
	ada.remove(ada.at("/g"))
	entry := fmt.Sprintf("/workspaces/personal/trash/%d", ada.trash()[0].ID)
	ada.do("DELETE", entry, nil).wants(204)
	ada.do("DELETE", entry, nil).refuses(404, "not_found")
	ada.do("POST", entry+"/restore", rawJSON("{}")).refuses(404, "not_found")
	var done rest.Emptied
	ada.do("DELETE", "/workspaces/personal/trash", nil).wants(200).into(&done)
	wantEqual(t, "purged", done.Purged, 1)
	wantEqual(t, "entries", len(ada.trash()), 0)

	ada.remove(ada.at("/d"))
	w.clock.Add((24 * time.Hour).Microseconds())
	wantEqual(t, "entries when their time has come", len(ada.trash()), 0)
}

// TestRestoreIsRefusedByLocks: of any door, where the file is to come.
func TestRestoreIsRefusedByLocks(t *testing.T) {
	w := newWorld(t, trashing)
	ada := w.user("ada")
	ada.mkdir(ada.at("/d"))
	ada.put(ada.at("/d/f"), "x")
	ada.remove(ada.at("/d/f"))
	for _, origin := range []lockns.Origin{lockns.WebDAV, lockns.WOPI} {
		l, err := w.Lock(t.Context(), ada.at("/d"), store.LockSpec{
			Depth: lockns.Resource, Mode: lockns.Exclusive, Origin: origin, Holder: ada.user.ID, Timeout: time.Hour,
		}, store.Holder(ada.user.ID))
		must(t, err)
		ada.do("POST", ada.restorePath(), rawJSON("{}")).refuses(423, "resource.locked")
		_, err = w.ForceUnlock(t.Context(), l.Lock.ID, store.Actor{})
		must(t, err)
	}
	_, err := w.Lock(t.Context(), ada.at("/d"), store.LockSpec{
		Depth: lockns.Infinity, Mode: lockns.Exclusive, Origin: lockns.Product, Holder: ada.user.ID,
	}, store.Holder(ada.user.ID))
	must(t, err)
	var r rest.Resource
	ada.do("POST", ada.restorePath(), rawJSON("{}")).wants(200).into(&r)
	wantEqual(t, "state", r.LockState.State, "inherited")
}

// TestTrashOfALimitedLogin: it has the trash of its folder, with paths from there.
func TestTrashOfALimitedLogin(t *testing.T) {
	w := newWorld(t, trashing)
	ada := w.user("ada")
	for _, path := range []string{"/a", "/a/b"} {
		ada.mkdir(ada.at(path))
	}
	for _, path := range []string{"/a/b/f", "/a/f"} {
		ada.put(ada.at(path), "x")
		ada.remove(ada.at(path))
	}
	outer := ada.mkdir(ada.at("/out"))
	inner := ada.limited(store.NewAccount{Name: "inner", Root: store.Path{"a", "b"}})
	all := inner.trash()
	wantEqual(t, "entries", len(all), 1)
	wantEqual(t, "path", all[0].Path, "/f")
	outside := fmt.Sprintf("/workspaces/personal/trash/%d", ada.trash()[0].ID)
	inner.do("DELETE", outside, nil).refuses(404, "not_found")
	inner.do("POST", outside+"/restore", rawJSON("{}")).refuses(404, "not_found")
	inner.do("POST", inner.restorePath(), map[string]any{"parent": outer.ID()}).refuses(409, "parent.missing")
	reading := ada.limited(store.NewAccount{Name: "reading", Root: store.Path{"a", "b"}, ReadOnly: true})
	wantEqual(t, "entries for who only reads", len(reading.trash()), 1)
	reading.do("POST", inner.restorePath(), rawJSON("{}")).refuses(403, "login.read_only")
	inner.do("POST", inner.restorePath(), rawJSON("{}")).wants(200)
	var done rest.Emptied
	inner.do("DELETE", "/workspaces/personal/trash", nil).wants(200).into(&done)
	wantEqual(t, "purged", done.Purged, 0)
	wantEqual(t, "left", len(ada.trash()), 1)
}

// TestTrashAndBlockedNames: what has a blocked name is not there, also when it was
// given it before it was blocked, and nothing comes back to where it would not be.
func TestTrashAndBlockedNames(t *testing.T) {
	w := newWorld(t, trashing, func(_ *store.Options, ro *rest.Options) { ro.BlockedNames = []string{"Hidden"} })
	ada := w.user("ada")
	hidden := ada.mkdir(ada.at("/hidden"))
	ada.put(ada.at("/hidden/f"), "x")
	ada.remove(ada.at("/hidden/f"))
	ada.put(ada.at("/f"), "x")
	ada.remove(ada.at("/f"))
	wantEqual(t, "entries", len(ada.trash()), 1)
	ada.do("DELETE", "/workspaces/personal/trash/1", nil).refuses(404, "not_found")
	ada.do("POST", "/workspaces/personal/trash/1/restore", map[string]any{"name": "x"}).refuses(404, "not_found")
	ada.do("POST", ada.restorePath(), map[string]any{"name": "HIDDEN"}).refuses(403, "name.blocked")
	ada.do("POST", ada.restorePath(), map[string]any{"parent": hidden.ID()}).refuses(409, "parent.missing")
	ada.do("POST", ada.restorePath(), rawJSON("{}")).wants(200)
}

// TestTrashPages: each page looks at as many entries as it may have items.
func TestTrashPages(t *testing.T) {
	w := newWorld(t, trashing)
	ada := w.user("ada")
	ada.mkdir(ada.at("/d"))
	for i := range 7 {
		at := ada.at(fmt.Sprintf("/d/%d", i))
		if i%3 == 0 {
			at = ada.at(fmt.Sprint("/", i))
		}
		ada.put(at, "x")
		ada.remove(at)
	}
	limited := ada.limited(store.NewAccount{Name: "limited", Root: store.Path{"d"}})
	for _, c := range []struct {
		who          *client
		limit        int
		items, calls int
	}{{ada, 2, 7, 4}, {ada, 7, 7, 2}, {ada, 8, 7, 1}, {limited, 1, 4, 8}, {limited, 1000, 4, 1}} {
		all, calls := pages[rest.Trashed](c.who, "/workspaces/personal/trash", c.limit)
		wantEqual(t, "items and calls", fmt.Sprint(len(all), calls), fmt.Sprint(c.items, c.calls))
		for i := 1; i < len(all); i++ {
			if all[i].ID >= all[i-1].ID {
				t.Errorf("entry %d after %d", all[i].ID, all[i-1].ID)
			}
		}
	}
	var p page[rest.Trashed]
	ada.do("GET", "/workspaces/personal/trash?limit=2", nil).wants(200).into(&p)
	limited.do("GET", "/workspaces/personal/trash?cursor="+url.QueryEscape(p.Next), nil).refuses(400, "cursor.invalid")
}
