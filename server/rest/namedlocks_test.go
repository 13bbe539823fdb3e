package rest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/server/rest"
	"holdfast/store"
)

// named asks for something about named locks.
func (c *client) named(ws lockns.Workspace, verb string, body map[string]any) answer {
	return c.do("POST", fmt.Sprintf("/workspaces/%s-%d/named-locks/%s", ws.Kind, ws.ID, verb), body)
}

// try tries to get a lock for a minute: its number, 0 when another holds it.
func (c *client) try(ws lockns.Workspace, name, owner string) int64 {
	c.w.t.Helper()
	var g rest.Grant
	c.named(ws, "try", map[string]any{"name": name, "owner": owner, "ttl_seconds": 60}).wants(200).into(&g)
	if g.Granted != (g.Fence != 0) || g.Granted != (g.Expires != nil) {
		c.w.t.Fatalf("grant %+v", g)
	}
	return g.Fence
}

// hold renews or releases a grant, and says whether it was there.
func (c *client) hold(ws lockns.Workspace, verb, name, owner string, fence int64) bool {
	c.w.t.Helper()
	body := map[string]any{"name": name, "owner": owner, "fence": fence}
	if verb == "renew" {
		body["ttl_seconds"] = 60
	}
	var h rest.Hold
	c.named(ws, verb, body).wants(200).into(&h)
	if want := c.w.now().Add(time.Minute); verb == "renew" && h.Held && !h.Expires.Equal(want) {
		c.w.t.Fatalf("renewed until %v, want %v", h.Expires, want)
	}
	return h.Held
}

func (w *world) advance(d time.Duration) { w.clock.Add(d.Microseconds()) }

func TestNamedLocks(t *testing.T) {
	w := newWorld(t)
	ada, bob, eve := w.user("ada"), w.user("bob"), w.user("eve")
	ops := w.team("Ops", ada, map[*client]store.Role{bob: store.Writer, eve: store.Viewer})
	name := "Bob Berg"
	_, err := w.SetUser(t.Context(), "bob", store.UserPatch{DisplayName: &name})
	must(t, err)
	first := bob.try(ops, "build", "one")
	wantEqual(t, "granted", first > 0, true)
	wantEqual(t, "another user's", ada.try(ops, "build", "one"), 0)
	wantEqual(t, "another program's", bob.try(ops, "build", "two"), 0)
	w.advance(10 * time.Second)
	wantEqual(t, "again", bob.try(ops, "build", "one"), first)
	list := func(c *client, query string) string {
		all, _ := pages[rest.NamedLock](c, fmt.Sprintf("/workspaces/team-%d/named-locks%s", ops.ID, query), 1)
		var text []string
		for _, l := range all {
			text = append(text, fmt.Sprintf("%s %s %s %d %v", l.Name, l.Holder, l.Owner, l.Fence, l.Expires.Sub(w.now())))
		}
		return strings.Join(text, ", ")
	}
	build := fmt.Sprintf("build Bob Berg one %d 50s", first)
	wantEqual(t, "shown to a viewer", list(eve, ""), build)
	deploy := ada.try(ops, "deploy", "")
	wantEqual(t, "a later grant is higher", deploy > first, true)
	wantEqual(t, "pages", list(eve, ""), fmt.Sprintf("%s, deploy ada  %d 1m0s", build, deploy))
	wantEqual(t, "one", list(eve, "?name=build"), build)
	wantEqual(t, "none", list(eve, "?name=buil"), "")

	for what, held := range map[string]bool{
		"another user renews":      ada.hold(ops, "renew", "build", "one", first),
		"another user releases":    ada.hold(ops, "release", "build", "one", first),
		"another program renews":   bob.hold(ops, "renew", "build", "two", first),
		"another program releases": bob.hold(ops, "release", "build", "two", first),
		"another name":             bob.hold(ops, "release", "deploy", "one", first),
		"another number":           bob.hold(ops, "release", "build", "one", deploy),
		"another workspace":        bob.hold(bob.user.Workspace(), "release", "build", "one", first),
	} {
		wantEqual(t, what, held, false)
	}
	wantEqual(t, "renewed", bob.hold(ops, "renew", "build", "one", first), true)
	w.advance(time.Minute)
	wantEqual(t, "held in its last moment", ada.try(ops, "build", ""), 0)
	w.advance(time.Microsecond)
	wantEqual(t, "lapsed", list(eve, ""), "")
	wantEqual(t, "renewed when lapsed", bob.hold(ops, "renew", "build", "one", first), false)
	second := ada.try(ops, "build", "")
	wantEqual(t, "followed", second > first, true)
	wantEqual(t, "released by the former", bob.hold(ops, "release", "build", "one", first), false)
	wantEqual(t, "released", ada.hold(ops, "release", "build", "", second), true)
	wantEqual(t, "released again", ada.hold(ops, "release", "build", "", second), false)
	lapsed := ada.try(ops, "build", "")
	w.advance(2 * time.Minute)
	wantEqual(t, "released when lapsed", ada.hold(ops, "release", "build", "", lapsed), false)
}

// TestNamedLocksStayInTheirWorkspace: no name reaches another workspace's locks, nor
// the server's.
func TestNamedLocksStayInTheirWorkspace(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.user("ada"), w.user("bob")
	ops, dev := w.team("Ops", ada, map[*client]store.Role{bob: store.Writer}), w.team("Dev", ada, nil)
	server, err := w.TryLock(t.Context(), "janitor", "x", time.Hour)
	must(t, err)
	here := ada.try(ops, "janitor", "")
	wantEqual(t, "the same name elsewhere", ada.try(dev, "janitor", "") > here && ada.try(ada.user.Workspace(), "janitor", "") > here, true)
	wantEqual(t, "a name like another's", bob.try(ops, fmt.Sprintf("team-%d:janitor", dev.ID), "") > 0, true)
	wantEqual(t, "the server's", bob.hold(ops, "release", "janitor", "", server.Fence()), false)
	held, err := server.Renew(t.Context(), time.Hour)
	must(t, err)
	wantEqual(t, "the server's is held", held, true)
	must(t, w.RemoveTeam(t.Context(), "Ops", store.Actor{}))
	all, err := w.NamedLocks(t.Context(), ops, "", "", 10)
	must(t, err)
	wantEqual(t, "of a removed team", len(all), 0)
	wantEqual(t, "the others' stay", ada.hold(dev, "release", "janitor", "", here+1), true)
	held, err = server.Release(t.Context())
	must(t, err)
	wantEqual(t, "the server's is held", held, true)
}

func TestLimitsOfNamedLocks(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.user("ada"), w.user("bob")
	ops := w.team("Ops", ada, map[*client]store.Role{bob: store.Writer})
	own := ada.user.Workspace()
	for _, body := range []map[string]any{
		{"name": "", "ttl_seconds": 1}, {"name": "a b", "ttl_seconds": 1}, {"name": "ä", "ttl_seconds": 1}, {"name": strings.Repeat("a", 97), "ttl_seconds": 1},
		{"name": "a", "ttl_seconds": 0}, {"name": "a", "ttl_seconds": -1}, {"name": "a", "ttl_seconds": 86401}, {"name": "a"},
		{"name": "a", "owner": strings.Repeat("a", 201), "ttl_seconds": 1},
	} {
		ada.named(own, "try", body).refuses(400, "request.invalid")
	}
	ada.named(own, "try", map[string]any{"name": "a", "owner": strings.Repeat("ä", 101), "ttl_seconds": 1}).refuses(400, "name.invalid")
	at := store.NamedAt{Workspace: own, By: lockns.Credentials{User: ada.user.ID}}
	for i := range store.MaxNamedLocks {
		at.Name = fmt.Sprint("n", i)
		_, granted, err := w.TryNamed(t.Context(), at, time.Minute)
		must(t, err)
		wantEqual(t, at.Name, granted, true)
	}
	ada.named(own, "try", map[string]any{"name": "more", "ttl_seconds": 1}).refuses(507, "named_lock.limit")
	wantEqual(t, "what is held is granted again", ada.try(own, "n0", "") > 0, true)
	wantEqual(t, "another workspace has room", ada.try(ops, "more", "") > 0, true)
	w.advance(time.Minute + time.Microsecond)
	wantEqual(t, "what lapsed takes no room", ada.try(own, "more", "") > 0, true)

	// Who is no member any more renews nothing.
	fence := bob.try(ops, "build", "")
	must(t, w.SetMember(t.Context(), "Ops", "bob", store.Viewer, store.Actor{}))
	bob.named(ops, "renew", map[string]any{"name": "build", "fence": fence, "ttl_seconds": 60}).refuses(403, "forbidden")
	must(t, w.RemoveMember(t.Context(), "Ops", "bob", store.Actor{}))
	bob.named(ops, "release", map[string]any{"name": "build", "fence": fence}).refuses(404, "not_found")
}
