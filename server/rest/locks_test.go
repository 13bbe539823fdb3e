package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/server/rest"
	"holdfast/store"
)

// lock takes a lock straight from the store.
func (c *client) lock(at store.Target, spec store.LockSpec) lockns.Lock {
	c.w.t.Helper()
	if spec.Depth == "" {
		spec.Depth = lockns.Resource
	}
	if spec.Mode == "" {
		spec.Mode = lockns.Exclusive
	}
	if spec.Origin != lockns.WOPI {
		spec.Holder = c.user.ID
	}
	out, err := c.w.Lock(c.w.t.Context(), at, spec, store.Holder(c.user.ID))
	must(c.w.t, err)
	return out.Lock
}

// problem decodes a refusal.
func (a answer) problem(status int, code string) (p rest.Problem) {
	a.t.Helper()
	a.refuses(status, code)
	a.into(&p)
	return p
}

func TestSetLock(t *testing.T) {
	w := newWorld(t)
	ada := w.user("ada")
	_, err := w.SetUser(t.Context(), "ada", store.UserPatch{DisplayName: new("Ada L.")})
	must(t, err)
	d := ada.mkdir(ada.at("/d"))
	f := ada.put(ada.at("/d/f"), "x")
	own := id("personal", ada.user.ID)

	var first rest.Lock
	ada.do("PUT", file(f)+"/lock", body{}).wants(201).into(&first)
	want := rest.Lock{
		ID: first.ID, Workspace: own, Root: rest.LockRoot{Kind: "file", ID: f.ID(), Path: "/d/f"}, Mode: "exclusive", Depth: "resource", Origin: "product",
		Holder: &rest.Holder{ID: ada.user.ID, Name: "Ada L."}, Created: w.now(),
	}
	same(t, "lock", first, want)
	var second rest.Lock
	ada.do("PUT", file(f)+"/lock", body{"note": "busy", "timeout_seconds": 60}).wants(200).into(&second)
	want.Note, want.Expires = "busy", new(w.now().Add(time.Minute))
	same(t, "the same lock", second, want)
	second = rest.Lock{}
	until := w.now().Add(time.Hour).Truncate(time.Second)
	ada.do("PUT", file(f)+"/lock", body{"expires": until.Format(time.RFC3339)}).wants(200).into(&second)
	want.Note, want.Expires = "", &until
	same(t, "another end and no note", second, want)

	for name, c := range map[string]struct {
		body body
		code string
	}{
		"both ends":         {body{"expires": until, "timeout_seconds": 1}, "request.invalid"},
		"a past end":        {body{"expires": w.now().Add(-time.Second)}, "lock.invalid"},
		"an end too late":   {body{"timeout_seconds": 7*86400 + 1}, "lock.too_long"},
		"an end much later": {body{"expires": "9999-01-01T00:00:00Z"}, "lock.too_long"},
		"no time":           {body{"timeout_seconds": 0}, "request.invalid"},
		"no depth":          {body{"depth": "1"}, "request.invalid"},
		"a long note":       {body{"note": strings.Repeat("é", 1000)}, "lock.invalid"},
		"a zero in a note":  {body{"note": "a\x00b"}, "lock.invalid"},
		"something else":    {body{"owner": "x"}, "request.invalid"},
	} {
		t.Run(name, func(t *testing.T) { ada.do("PUT", file(f)+"/lock", c.body).refuses(400, c.code) })
	}
	ada.do("PUT", file(f)+"/lock", body{"timeout_seconds": 7 * 86400}).wants(200)

	// A folder is locked with what is in it, unless it is said otherwise.
	p := ada.do("PUT", folder(d)+"/lock", body{}).problem(423, "resource.locked")
	same(t, "in the way", p.Locks, []rest.LockHolder{{
		Root: want.Root, Mode: "exclusive", Depth: "resource", Origin: "product", Holder: "Ada L.", Expires: new(w.now().Add(7 * 24 * time.Hour)),
	}})
	ada.do("PUT", folder(d)+"/lock", body{"depth": "resource"}).wants(201)
	ada.do("PUT", folder(d)+"/lock", body{"depth": "infinity"}).refuses(423, "resource.locked")
	ada.do("DELETE", file(f)+"/lock", nil).wants(204)
	ada.do("DELETE", file(f)+"/lock", nil).refuses(404, "lock.not_found")
	ada.do("PUT", folder(d)+"/lock", body{"depth": "infinity"}).wants(200)
	ada.do("PUT", file(f)+"/lock", body{}).refuses(423, "resource.locked")

	// Other doors' locks are not ended so, nor replaced.
	ada.do("DELETE", folder(d)+"/lock", nil).wants(204)
	ada.lock(ada.at("/d/f"), store.LockSpec{Origin: lockns.WebDAV})
	ada.do("DELETE", file(f)+"/lock", nil).refuses(404, "lock.not_found")
	ada.do("PUT", file(f)+"/lock", body{}).refuses(423, "resource.locked")

	// The root of a workspace goes by its folder's id.
	root := fmt.Sprint("/folders/", w.root(ada.user.Workspace()))
	var whole rest.Lock
	ada.do("PUT", root+"/lock", body{"depth": "resource"}).wants(201).into(&whole)
	same(t, "root", whole.Root, rest.LockRoot{Kind: "workspace_root", Path: "/"})
	ada.do("DELETE", root+"/lock", nil).wants(204)
}

// same compares values by how they print in JSON.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := text(t, got), text(t, want); g != w {
		t.Errorf("%s:\n%s, want\n%s", what, g, w)
	}
}

// TestWhoMayLock: who sees a resource without the right to change it is told so, and
// who does not see it is told that it is not there, whether or not it is locked.
func TestWhoMayLock(t *testing.T) {
	w := newWorld(t)
	ada, bob, vic, eve := w.user("ada"), w.user("bob"), w.user("vic"), w.user("eve")
	ops := w.team("Ops", ada, map[*client]store.Role{bob: store.Writer, vic: store.Viewer})
	in := func(path string) store.Target { return store.Target{Workspace: ops, Path: store.ParsePath(path)} }
	d := ada.mkdir(in("/d"))
	f, g := ada.put(in("/d/f"), "x"), ada.put(in("/g"), "x")
	ada.do("PUT", file(f)+"/lock", body{"note": "mine"}).wants(201)

	bob.do("PUT", file(f)+"/lock", body{}).refuses(423, "resource.locked")
	bob.do("DELETE", file(f)+"/lock", nil).refuses(403, "lock.not_holder")
	bob.do("DELETE", file(g)+"/lock", nil).refuses(404, "lock.not_found")
	for _, path := range []string{file(f), file(g), folder(d)} {
		vic.do("PUT", path+"/lock", body{}).refuses(403, "forbidden")
		vic.do("DELETE", path+"/lock", nil).refuses(403, "forbidden")
		bob.limited(store.NewAccount{Name: "reader " + path, ReadOnly: true}).do("PUT", path+"/lock", body{}).refuses(403, "login.read_only")
	}
	deep := bob.limited(store.NewAccount{Name: "d", Team: "Ops", Root: store.ParsePath("/d")})
	missing := eve.do("DELETE", "/files/4711/lock", nil).body
	for name, a := range map[string]answer{
		"unlock of another's":           eve.do("DELETE", file(f)+"/lock", nil),
		"lock of another's locked":      eve.do("PUT", file(f)+"/lock", body{}),
		"lock of another's":             eve.do("PUT", file(g)+"/lock", body{}),
		"lock of nothing":               eve.do("PUT", "/files/4711/lock", body{}),
		"folder by a file's id":         ada.do("PUT", fmt.Sprint("/folders/", int64(1)<<40, "/lock"), body{}),
		"locks of another's":            eve.do("GET", file(f)+"/locks", nil),
		"locks of another's folder":     eve.do("GET", folder(d)+"/locks", nil),
		"outside what the login opens":  deep.do("PUT", file(g)+"/lock", body{}),
		"unlock outside":                deep.do("DELETE", file(g)+"/lock", nil),
		"locks outside":                 deep.do("GET", file(g)+"/locks", nil),
		"locks of another's workspace":  eve.do("GET", "/workspaces/"+id("team", ops.ID)+"/locks", nil),
		"locks of nobody's workspace":   eve.do("GET", "/workspaces/team-4711/locks", nil),
		"locks of a personal workspace": eve.do("GET", "/workspaces/"+id("personal", ada.user.ID)+"/locks", nil),
	} {
		t.Run(name, func(t *testing.T) {
			a.t = t
			a.refuses(404, "not_found")
			wantEqual(t, "answer", a.body, missing)
		})
	}
	t.Run("a member sees who holds it, a login for one folder from there", func(t *testing.T) {
		for c, path := range map[*client]string{bob: "/d/f", vic: "/d/f", deep: "/f"} {
			locks, _ := pages[rest.Lock](c, file(f)+"/locks", 10)
			if len(locks) != 1 || locks[0].Root.Path != path || locks[0].Holder.Name != "ada" || locks[0].Note != "mine" {
				t.Errorf("%s sees %+v", c.user.Name, locks)
			}
		}
	})
	t.Run("a root above what a login opens is of a kind and no more", func(t *testing.T) {
		ada.do("DELETE", file(f)+"/lock", nil).wants(204)
		ada.do("PUT", fmt.Sprint("/folders/", w.root(ops), "/lock"), body{}).wants(201)
		p := deep.do("PUT", file(f)+"/lock", body{}).problem(423, "resource.locked")
		same(t, "in the way", p.Locks, []rest.LockHolder{{
			Root: rest.LockRoot{Kind: "workspace_root"}, Mode: "exclusive", Depth: "infinity", Origin: "product", Holder: "ada",
		}})
		locks, _ := pages[rest.Lock](deep, file(f)+"/locks", 10)
		same(t, "locks", locks[0].Root, rest.LockRoot{Kind: "workspace_root"})
	})
}

// TestLocksAreShown: a lock of any origin is shown to those who may see what it
// covers, by its root as it is called now, and never by what opens it.
func TestLocksAreShown(t *testing.T) {
	w := newWorld(t, func(_ *store.Options, o *rest.Options) { o.BlockedNames = []string{"Hidden"} })
	ada, bob := w.user("ada"), w.user("bob")
	ada.mkdir(ada.at("/a"))
	d := ada.mkdir(ada.at("/a/d"))
	f := ada.put(ada.at("/a/d/f"), "x")
	hidden := ada.mkdir(ada.at("/hidden"))
	ada.put(ada.at("/hidden/f"), "x")
	locks := []lockns.Lock{
		ada.lock(ada.at("/"), store.LockSpec{Origin: lockns.WebDAV, Mode: lockns.Shared, Depth: lockns.Infinity, Owner: "<D:href>secret-owner</D:href>", Timeout: time.Hour}),
		ada.lock(ada.at("/a/d/f"), store.LockSpec{Origin: lockns.WebDAV, Mode: lockns.Shared}),
		ada.lock(ada.at("/a/d"), store.LockSpec{Origin: lockns.WOPI, Mode: lockns.Shared, Owner: "secret-value"}),
		ada.lock(ada.at("/hidden/f"), store.LockSpec{Origin: lockns.WebDAV, Mode: lockns.Shared}),
	}
	_, err := w.Move(t.Context(), ada.at("/a/d/f"), ada.at("/a/d/g"), store.MoveOptions{}, store.Holder(0))
	if err == nil {
		t.Fatal("locked files are moved")
	}
	list := func(c *client, path string) string {
		var lines []string
		all, _ := pages[rest.Lock](c, path, 1)
		for _, l := range all {
			name := "-"
			if l.Holder != nil {
				name = l.Holder.Name
			}
			lines = append(lines, fmt.Sprintf("%s %s %d %q %s", l.Origin, l.Root.Kind, l.Root.ID, l.Root.Path, name))
		}
		return strings.Join(lines, "\n")
	}
	const root = `webdav workspace_root 0 "/" ada`
	onFile := fmt.Sprintf(`webdav file %d "/a/d/f" ada`, f.ID())
	onFolder := fmt.Sprintf(`wopi folder %d "/a/d" -`, d.ID())
	const onHidden = `webdav file 0 "" ada`
	wantEqual(t, "on the file", list(ada, file(f)+"/locks"), root+"\n"+onFile)
	wantEqual(t, "on the folder", list(ada, folder(d)+"/locks"), root+"\n"+onFolder)
	wantEqual(t, "of the workspace", list(ada, "/workspaces/personal/locks"), strings.Join([]string{root, onFile, onFolder, onHidden}, "\n"))
	wantEqual(t, "of the caller", list(ada, "/locks"), strings.Join([]string{root, onFile, onHidden}, "\n"))
	wantEqual(t, "of another", list(bob, "/locks"), "")
	ada.do("GET", folder(hidden)+"/locks", nil).refuses(404, "not_found")
	ada.do("PUT", folder(hidden)+"/lock", body{}).refuses(404, "not_found")
	inD := ada.limited(store.NewAccount{Name: "in d", Scoped: true, Root: store.ParsePath("/a/d")})
	wantEqual(t, "of a login for a folder", list(inD, "/locks"), fmt.Sprintf(`webdav file %d "/f" ada`, f.ID()))
	wantEqual(t, "of the workspace for that login", list(inD, "/workspaces/personal/locks"), fmt.Sprintf("webdav file %d \"/f\" ada\nwopi folder %d \"/\" -", f.ID(), d.ID()))
	wantEqual(t, "of a login for a team", list(ada.limited(store.NewAccount{Name: "scoped", Scoped: true, ReadOnly: true}), "/locks"), strings.Join([]string{root, onFile, onHidden}, "\n"))

	for _, path := range []string{file(f) + "/locks", folder(d) + "/locks", "/locks", "/workspaces/personal/locks"} {
		body := ada.do("GET", path, nil).wants(200).body
		for _, l := range locks {
			if strings.Contains(body, l.Token) || strings.Contains(body, "secret") {
				t.Errorf("%s tells what opens a lock, or what a client said: %s", path, body)
			}
		}
		for _, key := range []string{"entity_type", "shared\":", "deep", "is" + "_locked", "token"} {
			if strings.Contains(body, key) {
				t.Errorf("%s has %s: %s", path, key, body)
			}
		}
	}
	w.clock.Add(time.Hour.Microseconds() + 1)
	wantEqual(t, "once one expired", list(ada, "/locks"), strings.Join([]string{onFile, onHidden}, "\n"))
}

// TestReleaseOwnLock: the holder ends any lock of theirs by its number, and nobody
// else can tell that it is there.
func TestReleaseOwnLock(t *testing.T) {
	w := newWorld(t)
	ada, bob, boss := w.user("ada"), w.user("bob"), w.admin("boss")
	ada.mkdir(ada.at("/d"))
	for _, path := range []string{"/d/a", "/d/b", "/d/c", "/e"} {
		ada.put(ada.at(path), "x")
	}
	number := func(l lockns.Lock) string { return fmt.Sprint("/locks/", l.ID) }
	dav := ada.lock(ada.at("/d/a"), store.LockSpec{Origin: lockns.WebDAV})
	product := ada.lock(ada.at("/d/b"), store.LockSpec{Origin: lockns.Product})
	editors := ada.lock(ada.at("/d/c"), store.LockSpec{Origin: lockns.WOPI, Owner: "v"})
	outside := ada.lock(ada.at("/e"), store.LockSpec{Origin: lockns.WebDAV})
	missing := ada.do("DELETE", "/locks/4711", nil)
	missing.refuses(404, "lock.not_found")
	for name, a := range map[string]answer{
		"another's":          bob.do("DELETE", number(dav), nil),
		"an administrator's": boss.do("DELETE", number(dav), nil),
		"nobody's":           ada.do("DELETE", number(editors), nil),
		"outside":            ada.limited(store.NewAccount{Name: "d", Scoped: true, Root: store.ParsePath("/d")}).do("DELETE", number(outside), nil),
	} {
		a.refuses(404, "lock.not_found")
		wantEqual(t, name, a.body, missing.body)
	}
	ada.limited(store.NewAccount{Name: "reader", ReadOnly: true}).do("DELETE", number(dav), nil).refuses(403, "login.read_only")
	ada.limited(store.NewAccount{Name: "d too", Scoped: true, Root: store.ParsePath("/d")}).do("DELETE", number(dav), nil).wants(204)
	ada.do("DELETE", number(dav), nil).refuses(404, "lock.not_found")
	ada.do("DELETE", number(product), nil).wants(204)
	ada.do("DELETE", number(outside), nil).wants(204)
	wantEqual(t, "left", len(all(t, w, store.LockFilter{})), 1)
	if _, _, err := w.Put(t.Context(), ada.at("/d/a"), store.File{Body: strings.NewReader("y"), Size: 1}, store.Holder(ada.user.ID)); err != nil {
		t.Errorf("the file is still locked: %v", err)
	}
}

func all(t *testing.T, w *world, filter store.LockFilter) []store.LockInfo {
	t.Helper()
	list, err := w.Locks(t.Context(), filter)
	must(t, err)
	return list
}

func TestAdminLocks(t *testing.T) {
	w := newWorld(t)
	ada, bob, boss := w.user("ada"), w.user("bob"), w.admin("boss")
	ops := w.team("Ops", ada, map[*client]store.Role{bob: store.Writer})
	team := func(path string) store.Target { return store.Target{Workspace: ops, Path: store.ParsePath(path)} }
	ada.mkdir(ada.at("/d"))
	ada.put(ada.at("/d/c"), "x")
	ada.put(ada.at("/b"), "x")
	bob.put(team("/a"), "x")
	spec := func(o lockns.Origin, d time.Duration) store.LockSpec { return store.LockSpec{Origin: o, Timeout: d} }
	ada.lock(ada.at("/d/c"), spec(lockns.WebDAV, 2*time.Hour))
	ada.lock(ada.at("/b"), spec(lockns.Product, 0))
	bob.lock(team("/a"), spec(lockns.WebDAV, 3*time.Hour))
	ada.lock(ada.at("/d"), spec(lockns.WOPI, time.Hour))
	over := bob.lock(bob.at("/o"), spec(lockns.WebDAV, time.Minute))
	w.clock.Add(time.Minute.Microseconds() + 1)

	const path = "/admin/locks"
	own, inOps := id("personal", ada.user.ID), id("team", ops.ID)
	for query, want := range map[string]string{
		"":                                      "/d/c /b /a /d",
		"order=desc":                            "/d /a /b /d/c",
		"sort=expires":                          "/d /d/c /a /b",
		"sort=expires&order=desc":               "/b /a /d/c /d",
		"sort=path&workspace=" + own:            "/b /d /d/c",
		"sort=path&order=desc&workspace=" + own: "/d/c /d /b",
		"workspace=" + inOps:                    "/a",
		"workspace=personal":                    "",
		"origin=product":                        "/b",
		"origin=wopi":                           "/d",
		"origin=webdav&sort=expires":            "/d/c /a",
		fmt.Sprint("user=", ada.user.ID):        "/d/c /b",
		"user=4711":                             "",
		fmt.Sprint("user=", ada.user.ID, "&workspace=", own, "&sort=path"): "/b /d/c",
		"path=/d&workspace=" + own:  "/d/c /d",
		"path=d/c&workspace=" + own: "/d/c",
		"expired=true":              "/o",
		"expired=true&origin=wopi":  "",
		"expired=true&sort=expires&workspace=" + id("personal", bob.user.ID): "/o",
	} {
		for _, limit := range []int{1, 3, 1000} {
			locks, _ := pages[rest.Lock](boss, path+"?"+query, limit)
			var got []string
			for _, l := range locks {
				got = append(got, l.Root.Path)
				wantEqual(t, query+" expired", l.Expired, strings.Contains(query, "expired"))
			}
			wantEqual(t, query, strings.Join(got, " "), want)
		}
	}
	for query, c := range map[string]struct {
		status int
		code   string
	}{
		"sort=path":                   {400, "request.invalid"},
		"path=/d":                     {400, "request.invalid"},
		"sort=token":                  {400, "request.invalid"},
		"origin=none":                 {400, "request.invalid"},
		"user=0":                      {400, "request.invalid"},
		"limit=1001":                  {400, "request.invalid"},
		"cursor=x":                    {400, "cursor.invalid"},
		"workspace=none":              {404, "not_found"},
		"workspace=team-4711":         {404, "not_found"},
		"path=/none&workspace=" + own: {404, "not_found"},
		"path=a//b&workspace=" + own:  {400, "name.invalid"},
	} {
		boss.do("GET", path+"?"+query, nil).refuses(c.status, c.code)
	}
	t.Run("of administrators only, by logins that open everything", func(t *testing.T) {
		for _, op := range []struct {
			method, path string
			body         any
		}{
			{"GET", path, nil}, {"DELETE", path + "/1", nil}, {"POST", path + "/release", body{"ids": []int64{1}}},
			{"POST", path + "/expire", nil}, {"POST", path + "/1/token", nil},
		} {
			ada.do(op.method, op.path, op.body).refuses(403, "forbidden")
			(&client{w: w}).do(op.method, op.path, op.body).refuses(401, "login.required")
			boss.limited(store.NewAccount{Name: "own " + op.path, Scoped: true}).do(op.method, op.path, op.body).refuses(403, "login.limited")
		}
		wantEqual(t, "locks", len(all(t, w, store.LockFilter{})), 4)
	})
	t.Run("a page of a list goes on in that list only", func(t *testing.T) {
		var p page[rest.Lock]
		boss.do("GET", path+"?limit=1&sort=expires", nil).wants(200).into(&p)
		boss.do("GET", path+"?limit=1&sort=expires&cursor="+p.Next, nil).wants(200)
		boss.do("GET", path+"?limit=1&cursor="+p.Next, nil).refuses(400, "cursor.invalid")
		boss.do("GET", path+"?limit=1&sort=expires&order=desc&cursor="+p.Next, nil).refuses(400, "cursor.invalid")
	})
	t.Run("tokens are shown on request, and that is audited", func(t *testing.T) {
		l := all(t, w, store.LockFilter{})[0]
		if body := boss.do("GET", path, nil).wants(200).body; strings.Contains(body, "urn:") || strings.Contains(body, "token") {
			t.Errorf("the list has tokens: %s", body)
		}
		wantEqual(t, "audited before", len(audited(t, w, "lock.token_shown")), 0)
		var got rest.Token
		boss.do("POST", fmt.Sprint(path, "/", l.ID, "/token"), nil).wants(200).into(&got)
		wantEqual(t, "token", got.Token, l.Token)
		boss.do("POST", path+"/4711/token", nil).refuses(404, "lock.not_found")
		boss.do("POST", fmt.Sprint(path, "/", over.ID, "/token"), nil).refuses(404, "lock.not_found")
		entries := audited(t, w, "lock.token_shown")
		if len(entries) != 1 || entries[0].Actor != "boss" || entries[0].Subject != "/d/c" || strings.Contains(entries[0].Detail, l.Token) {
			t.Errorf("audited: %+v", entries)
		}
	})
	t.Run("one is released", func(t *testing.T) {
		l := all(t, w, store.LockFilter{Origin: lockns.WOPI})[0]
		boss.do("DELETE", fmt.Sprint(path, "/", l.ID), nil).wants(http.StatusNoContent)
		boss.do("DELETE", fmt.Sprint(path, "/", l.ID), nil).refuses(404, "lock.not_found")
		entries := audited(t, w, "lock.force_released")
		if len(entries) != 1 || entries[0].Actor != "boss" || entries[0].ActorID != boss.user.ID || entries[0].Subject != "/d" {
			t.Errorf("audited: %+v", entries)
		}
	})
	t.Run("several are released, each by itself", func(t *testing.T) {
		locks := all(t, w, store.LockFilter{})
		ids := []int64{locks[0].ID, 4711, over.ID, locks[1].ID, locks[0].ID}
		var got struct{ Items []rest.Released }
		boss.do("POST", path+"/release", body{"ids": ids}).wants(200).into(&got)
		same(t, "released", got.Items, []rest.Released{
			{ID: ids[0], Released: true}, {ID: 4711, Code: "lock.not_found"}, {ID: over.ID, Code: "lock.not_found"},
			{ID: ids[3], Released: true}, {ID: ids[0], Code: "lock.not_found"},
		})
		wantEqual(t, "audited", len(audited(t, w, "lock.force_released")), 3)
		wantEqual(t, "left", len(all(t, w, store.LockFilter{})), 1)
		for name, bad := range map[string]any{"none": body{"ids": []int64{}}, "no list": body{}, "too many": body{"ids": make([]int64, 101)}, "null": body{"ids": nil}} {
			if a := boss.do("POST", path+"/release", bad); a.status != 400 {
				t.Errorf("%s: status %d", name, a.status)
			}
		}
	})
	t.Run("rows of expired locks go, and are counted", func(t *testing.T) {
		for _, want := range []int{1, 0} {
			var got rest.Removed
			boss.do("POST", path+"/expire", nil).wants(200).into(&got)
			wantEqual(t, "removed", got.Removed, want)
		}
		wantEqual(t, "left", len(all(t, w, store.LockFilter{})), 1)
		entries := audited(t, w, "lock.expired_cleaned")
		if len(entries) != 1 || entries[0].Actor != "boss" || entries[0].Detail != "1" {
			t.Errorf("audited: %+v", entries)
		}
	})
}

func audited(t *testing.T, w *world, event string) []store.AuditEntry {
	t.Helper()
	entries, err := w.Audit(t.Context(), store.AuditFilter{Event: event})
	must(t, err)
	return entries
}

// TestProblemsNameFewLocks: however many locks are in the way.
func TestProblemsNameFewLocks(t *testing.T) {
	w := newWorld(t)
	ada := w.user("ada")
	ada.mkdir(ada.at("/d"))
	for i := range 25 {
		ada.lock(ada.at(fmt.Sprint("/d/", i)), store.LockSpec{Origin: lockns.WebDAV})
	}
	d, err := w.Stat(t.Context(), ada.at("/d"))
	must(t, err)
	p := ada.do("PUT", folder(d)+"/lock", body{}).problem(423, "resource.locked")
	wantEqual(t, "locks", len(p.Locks), 20)
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return string(data)
}
