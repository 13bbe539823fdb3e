package rest_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/server/rest"
	"holdfast/store"
)

// in is a path of a workspace.
func in(ws lockns.Workspace, path string) store.Target {
	return store.Target{Workspace: ws, Path: store.ParsePath(path)}
}

// body is what a request says, as JSON.
type body map[string]any

func TestCreateFolder(t *testing.T) {
	w := newWorld(t, func(_ *store.Options, o *rest.Options) { o.BlockedNames = []string{".git"} })
	ada := w.user("ada")
	folders := folder(ada.root()) + "/folders"
	a := ada.do("POST", folders, body{"name": "docs"}).wants(201)
	n := ada.stat(ada.at("/docs"))
	if r := a.resource(); r.ID != n.ID() || r.Kind != "folder" || r.Path != "/docs" || r.Parent != ada.root().ID() || a.header.Get("Location") != rest.Prefix+folder(n) {
		t.Errorf("made %+v at %s", r, a.header.Get("Location"))
	}
	ada.do("POST", folders, body{"name": "docs"}).refuses(409, "name.taken")
	ada.do("POST", folders, body{"name": "a/b"}).refuses(400, "name.invalid")
	ada.do("POST", folders, body{"name": ".GIT"}).refuses(403, "name.blocked")
	ada.do("POST", folders, body{}).refuses(400, "request.invalid")
	ada.do("POST", "/folders/9999/folders", body{"name": "x"}).refuses(404, "not_found")
	ada.webdav(ada.at("/docs"), lockns.Resource)
	ada.do("POST", folder(n)+"/folders", body{"name": "x"}).refuses(423, "resource.locked")
}

func TestMove(t *testing.T) {
	w := newWorld(t)
	ada := w.user("ada")
	n := ada.put(ada.at("/f"), "one")
	d := ada.mkdir(ada.at("/d"))
	e := ada.mkdir(ada.at("/d/e"))

	if r := ada.do("PATCH", file(n), body{"name": "g"}).wants(200).resource(); r.ID != n.ID() || r.Name != "g" || r.Path != "/g" || r.ETag != n.ETag {
		t.Errorf("renamed %+v", r)
	}
	if r := ada.do("PATCH", file(n), body{"parent": e.ID()}).wants(200).resource(); r.Name != "g" || r.Path != "/d/e/g" || r.Parent != e.ID() {
		t.Errorf("moved %+v", r)
	}
	if r := ada.do("PATCH", folder(e), body{"name": "E", "parent": ada.root().ID()}).wants(200).resource(); r.Path != "/E" {
		t.Errorf("moved and renamed %+v", r)
	}
	ada.holds(ada.at("/E/g"), "one")
	// Without a change nothing happens, whatever is asked for twice.
	for range 2 {
		if r := ada.do("PATCH", file(n), body{"name": "h"}).wants(200).resource(); r.Path != "/E/h" {
			t.Errorf("renamed %+v", r)
		}
	}
	ada.do("PATCH", file(n), body{}).wants(200)

	other := ada.put(ada.at("/E/other"), "two")
	ada.do("PATCH", file(n), body{"name": "other"}).refuses(409, "name.taken")
	ada.do("PATCH", folder(d), body{"name": "h", "parent": e.ID(), "overwrite": true}).refuses(409, "name.taken") // a file for a folder
	ada.do("PATCH", file(n), body{"name": "other", "overwrite": true}).wants(200)
	ada.holds(ada.at("/E/other"), "one")
	ada.do("DELETE", file(other), nil).refuses(404, "not_found")

	ada.do("PATCH", folder(e), body{"parent": e.ID()}).refuses(409, "move.into_itself")
	ada.do("PATCH", folder(ada.root()), body{"name": "x"}).refuses(403, "resource.is_root")
	ada.do("PATCH", file(n), body{"parent": 9999}).refuses(409, "parent.missing")
	ada.do("PATCH", file(n), body{"name": "a/b"}).refuses(400, "name.invalid")
	ada.do("PATCH", file(n), body{"name": "x"}, `If-Match: "other"`).refuses(412, "precondition.failed")
	ada.do("PATCH", file(n), body{"name": "x"}, `If-Match: `+n.ETag).wants(200)
	ada.do("PATCH", "/files/9999", body{"name": "x"}).refuses(404, "not_found")
	ada.do("PATCH", fmt.Sprint("/files/", e.ID()), body{"name": "x"}).refuses(404, "not_found") // a folder is no file
}

// TestMoveBetweenWorkspaces: by id, since no path leads from one to the other.
func TestMoveBetweenWorkspaces(t *testing.T) {
	w := newWorld(t)
	ada, bob, vera := w.user("ada"), w.user("bob"), w.user("vera")
	team := w.team("ops", ada, map[*client]store.Role{bob: store.Writer, vera: store.Viewer})
	top := ada.stat(in(team, "/"))
	n := ada.put(ada.at("/f"), "one")
	verasFile := vera.put(vera.at("/f"), "hers")

	r := ada.do("PATCH", file(n), body{"parent": top.ID(), "name": "shared"}).wants(200).resource()
	if r.ID != n.ID() || r.Workspace != fmt.Sprint("team-", team.ID) || r.Path != "/shared" || r.Parent != top.ID() {
		t.Errorf("moved %+v", r)
	}
	bob.do("PATCH", file(n), body{"name": "bobs"}).wants(200)
	vera.do("PATCH", file(n), body{"name": "veras"}).refuses(403, "forbidden")
	vera.do("PATCH", file(verasFile), body{"parent": top.ID()}).refuses(403, "forbidden")
	// What a viewer may read, they may copy to where they may write.
	vera.do("POST", file(n)+"/copy", body{"parent": vera.root().ID(), "name": "mine"}).wants(201)
	vera.holds(vera.at("/mine"), "one")
	// Another's folder is as if it were not there, for both ends.
	bob.do("PATCH", file(n), body{"parent": ada.root().ID()}).refuses(409, "parent.missing")
	bob.do("PATCH", file(verasFile), body{"parent": top.ID()}).refuses(404, "not_found")
	bob.do("POST", file(verasFile)+"/copy", body{"parent": top.ID()}).refuses(404, "not_found")
	bob.do("DELETE", file(verasFile), nil).refuses(404, "not_found")
	// A login for the team alone opens nothing of its user's own.
	scoped := bob.limited(store.NewAccount{Name: "team", Team: "ops"})
	own := bob.put(bob.at("/own"), "x")
	scoped.do("PATCH", file(own), body{"name": "x"}).refuses(404, "not_found")
	scoped.do("PATCH", file(n), body{"parent": bob.root().ID()}).refuses(409, "parent.missing")
	scoped.do("PATCH", file(n), body{"name": "scoped"}).wants(200)
}

// TestLimitedToFolder: a login that opens a folder neither sees nor reaches what is
// outside, whose ids it may know.
func TestLimitedToFolder(t *testing.T) {
	w := newWorld(t)
	ada := w.user("ada")
	base := ada.mkdir(ada.at("/d"))
	inside, outside := ada.put(ada.at("/d/f"), "in"), ada.put(ada.at("/f"), "out")
	c := ada.limited(store.NewAccount{Name: "folder", Root: store.ParsePath("/d")})
	if r := c.do("PATCH", file(inside), body{"name": "g"}).wants(200).resource(); r.Path != "/g" || r.Parent != base.ID() {
		t.Errorf("renamed %+v", r)
	}
	c.do("GET", file(outside)+"/content", nil).refuses(404, "not_found")
	c.do("PUT", file(outside)+"/content", "x").refuses(404, "not_found")
	c.do("DELETE", file(outside), nil).refuses(404, "not_found")
	c.do("POST", folder(ada.root())+"/files?name=x", "x").refuses(404, "not_found")
	c.do("PATCH", file(inside), body{"parent": ada.root().ID()}).refuses(409, "parent.missing")
	c.do("PATCH", folder(base), body{"name": "x"}).refuses(403, "resource.is_root")
	c.do("DELETE", folder(base), nil).refuses(403, "resource.is_root")
	c.do("POST", folder(base)+"/copy", body{"name": "x"}).refuses(409, "parent.missing")
	c.do("PUT", "/workspaces/personal/content?path=/new", "x").wants(201)
	ada.holds(ada.at("/d/new"), "x")
}

func TestCopy(t *testing.T) {
	w := newWorld(t)
	ada := w.user("ada")
	n := ada.put(ada.at("/f"), "one")
	d := ada.mkdir(ada.at("/d"))
	ada.put(ada.at("/d/g"), "two")

	a := ada.do("POST", file(n)+"/copy", body{"name": "g"}).wants(201)
	r, made := a.resource(), ada.stat(ada.at("/g"))
	if r.ID != made.ID() || r.ETag != made.ETag || r.ETag == n.ETag || r.Path != "/g" || r.Size != 3 || a.header.Get("Location") != rest.Prefix+file(made) {
		t.Errorf("copied %+v at %s", r, a.header.Get("Location"))
	}
	ada.do("POST", file(n)+"/copy", body{"parent": d.ID(), "name": "g"}).refuses(409, "name.taken")
	r = ada.do("POST", file(n)+"/copy", body{"parent": d.ID(), "name": "g", "overwrite": true}).wants(200).resource()
	if r.Path != "/d/g" {
		t.Errorf("copied %+v", r)
	}
	ada.holds(ada.at("/d/g"), "one")
	ada.do("POST", folder(d)+"/copy", body{"name": "e"}).wants(201)
	ada.holds(ada.at("/e/g"), "one")
	ada.do("POST", folder(d)+"/copy", body{"name": "f", "overwrite": true}).refuses(409, "name.taken")
	ada.do("POST", folder(d)+"/copy", body{"parent": d.ID()}).refuses(409, "move.into_itself")
	ada.do("POST", file(n)+"/copy", body{}).refuses(409, "move.into_itself")
	ada.webdav(ada.at("/e"), lockns.Resource)
	ada.do("POST", file(n)+"/copy", body{"parent": ada.stat(ada.at("/e")).ID()}).refuses(423, "resource.locked")
	ada.do("POST", file(n)+"/copy", body{"parent": ada.stat(ada.at("/e")).ID(), "name": "g"}).refuses(409, "name.taken") // before locks
}

func TestRemove(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.user("ada"), w.user("bob")
	d := ada.mkdir(ada.at("/d"))
	n, g := ada.put(ada.at("/d/f"), "one"), ada.put(ada.at("/g"), "two")
	ada.webdav(ada.at("/d/f"), lockns.Resource)
	ada.do("DELETE", folder(d), nil).refuses(423, "resource.locked")
	ada.do("DELETE", file(g), nil, `If-Match: "other"`).refuses(412, "precondition.failed")
	bob.do("DELETE", file(g), nil).refuses(404, "not_found")
	ada.do("DELETE", file(g), nil, "If-Match: "+g.ETag).wants(204)
	ada.do("DELETE", file(g), nil).refuses(404, "not_found")
	ada.do("DELETE", folder(ada.root()), nil).refuses(403, "resource.is_root")
	locks, err := w.Locks(t.Context(), store.LockFilter{})
	must(t, err)
	_, err = w.ForceUnlock(t.Context(), locks[0].ID, store.Actor{})
	must(t, err)
	ada.do("DELETE", folder(d), nil).wants(204)
	ada.do("GET", file(n)+"/content", nil).refuses(404, "not_found")
}

// TestBlockedNames: nothing gets such a name, and what has one is not there.
func TestBlockedNames(t *testing.T) {
	w := newWorld(t, func(_ *store.Options, o *rest.Options) { o.BlockedNames = []string{".git", "Größe"} })
	ada := w.user("ada")
	git := ada.mkdir(ada.at("/.GIT"))
	n, g := ada.put(ada.at("/.GIT/config"), "x"), ada.put(ada.at("/g"), "x")
	root, byPath := folder(ada.root()), "/workspaces/personal/content?path="
	for _, url := range []string{file(n) + "/content", file(n) + "/versions", byPath + "/.git/config"} {
		ada.do("GET", url, nil).refuses(404, "not_found")
	}
	ada.do("DELETE", folder(git), nil).refuses(404, "not_found")
	ada.do("PUT", file(n)+"/content", "y").refuses(404, "not_found")
	ada.do("POST", file(n)+"/copy", body{"parent": ada.root().ID(), "name": "free"}).refuses(404, "not_found")
	ada.do("PATCH", file(g), body{"parent": git.ID()}).refuses(409, "parent.missing")
	ada.do("PATCH", file(g), body{"name": "GRO\u0308ßE"}).refuses(403, "name.blocked")
	ada.do("POST", root+"/files?name=.Git", "x").refuses(403, "name.blocked")
	ada.do("PUT", byPath+"/.git/new", "x").refuses(403, "name.blocked")
	ada.do("POST", file(g)+"/copy", body{"name": ".git"}).refuses(403, "name.blocked")
}

// racing is a world in which something else happens while a request is served.
type racing struct {
	*world
	meanwhile atomic.Pointer[func()]
}

func newRacing(t *testing.T) *racing {
	r := &racing{}
	r.world = newWorld(t, func(o *store.Options, _ *rest.Options) {
		now := o.Now
		o.Now = func() time.Time {
			if run := r.meanwhile.Load(); run != nil {
				(*run)()
			}
			return now()
		}
	})
	return r
}

// moments is more often than the store asks the time for one request: as it begins
// to read, and to write.
const moments = 14

// race runs a request, and the other change at one of the moments of it, or after
// it. It returns the other's error.
func (r *racing) race(moment int, request func(), other func() error) error {
	done := make(chan error, 1)
	var asked atomic.Int64
	run := func() {
		if asked.Add(1) != int64(moment)+1 {
			return
		}
		go func() { done <- other() }()
		// In the writer's transaction the other has to wait; anywhere else it is done
		// by now.
		for range 50 {
			if time.Sleep(2 * time.Millisecond); len(done) > 0 {
				return
			}
		}
	}
	r.meanwhile.Store(&run)
	request()
	r.meanwhile.Store(nil)
	if asked.Load() <= int64(moment) {
		return other()
	}
	return <-done
}

// TestMoveRace: a move without a name keeps the one the resource has when it is
// done. Who renames it in between is not undone.
func TestMoveRace(t *testing.T) {
	w := newRacing(t)
	ada := w.user("ada")
	d := ada.mkdir(ada.at("/d"))
	inTime := 0
	for moment := range moments {
		n := ada.put(ada.at("/f"), "one")
		var got rest.Resource
		err := w.race(moment, func() {
			got = ada.do("PATCH", file(n), body{"parent": d.ID()}).wants(200).resource()
		}, func() error {
			_, err := w.Move(context.Background(), ada.at("/f"), ada.at("/g"), store.MoveOptions{}, store.Holder(ada.user.ID))
			return err
		})
		want := "/d/f" // the other came too late
		if err == nil {
			want, inTime = "/d/g", inTime+1
		}
		if got.Path != want {
			t.Errorf("at %d moved to %s, want %s", moment, got.Path, want)
		}
		ada.do("DELETE", file(n), nil).wants(204)
	}
	if inTime == 0 || inTime == moments {
		t.Errorf("the other came in time %d times", inTime)
	}
}

// TestUploadRace: the entity-tag of an answer is that of the content that was sent,
// also when there is another already.
func TestUploadRace(t *testing.T) {
	w := newRacing(t)
	ada := w.user("ada")
	n := ada.put(ada.at("/f"), "one")
	for moment := range moments {
		var got rest.Resource
		must(t, w.race(moment, func() {
			got = ada.do("PUT", file(n)+"/content", "mine").wants(200).resource()
		}, func() error {
			_, _, err := w.Put(context.Background(), ada.at("/f"), store.File{Body: strings.NewReader("other's"), Size: 7}, store.Holder(ada.user.ID))
			return err
		}))
		now := ada.stat(ada.at("/f"))
		if mine := now.Size == 4; got.Size != 4 || (got.ETag == now.ETag) != mine {
			t.Errorf("at %d answered %s, %d bytes; now %s, %d bytes", moment, got.ETag, got.Size, now.ETag, now.Size)
		}
	}
}
