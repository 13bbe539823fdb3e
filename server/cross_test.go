package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/server/auth"
	"holdfast/server/rest"
	"holdfast/store"
)

// crossing is a server with files that are reached in several ways, and a second
// store on its database, by which an editor's locks are made.
type crossing struct {
	*running
	store     *store.Store
	users     map[string]store.User
	passwords map[string]string // by user and app password
}

func newCrossing(t *testing.T) *crossing {
	t.Helper()
	cfg := config(t)
	x := &crossing{running: start(t, cfg), users: map[string]store.User{}, passwords: map[string]string{}}
	var err error
	if x.store, err = cfg.Storage.OpenStore(t.Context(), false, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, x.store.Close()) })
	for _, name := range []string{"ada", "bob"} {
		x.users[name], err = x.store.AddUser(t.Context(), store.NewUser{Name: name, PasswordHash: "x"})
		must(t, err)
		x.account(name, "all", store.NewAccount{})
	}
	_, err = x.store.AddTeam(t.Context(), store.NewTeam{Name: "Crew", Owner: "ada"})
	must(t, err)
	must(t, x.store.SetMember(t.Context(), "Crew", "bob", store.Writer, store.Actor{}))
	for _, mount := range []string{"/dav", "/teams/Crew"} {
		x.wants(201, "MKCOL", mount+"/d", "ada all", nil, "")
		x.wants(201, "PUT", mount+"/d/f", "ada all", nil, "x")
	}
	for _, name := range []string{"ada", "bob"} {
		x.account(name, "team", store.NewAccount{Team: "Crew", Root: store.ParsePath("/d")})
	}
	x.account("ada", "own", store.NewAccount{Scoped: true, Root: store.ParsePath("/d")})
	return x
}

func (x *crossing) account(user, name string, n store.NewAccount) {
	x.t.Helper()
	password := auth.NewAppPassword()
	n.User, n.Name, n.PasswordHash = user, name, auth.HashAppPassword(password)
	_, err := x.store.AddAccount(x.t.Context(), n)
	must(x.t, err)
	x.passwords[user+" "+name] = password
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask sends a request by an app password, "ada all".
func (x *crossing) ask(method, target, as string, header http.Header, body string) (int, http.Header, string) {
	x.t.Helper()
	user, _, _ := strings.Cut(as, " ")
	resp, text := x.do(request{method: method, target: target, user: user, password: x.passwords[as], header: header, body: strings.NewReader(body)})
	return resp.StatusCode, resp.Header, text
}

// wants fails the test unless the answer has this status.
func (x *crossing) wants(status int, method, target, as string, header http.Header, body string) (http.Header, string) {
	x.t.Helper()
	got, h, text := x.ask(method, target, as, header, body)
	if got != status {
		x.t.Fatalf("%s %s as %s: status %d, want %d: %s", method, target, as, got, status, text)
	}
	return h, text
}

// spot is a file, and the folders above it, of one workspace.
type spot struct {
	workspace          lockns.Workspace
	file, folder, root int64
	ways               []way
}

// way is how somebody reaches the file, by WebDAV and by its id.
type way struct {
	as    string // user and app password
	mount string // of the workspace, "" when only the folder is mounted
	dir   string // the folder's URL
}

// url is where the way finds a resource: "file", "folder", "workspace".
func (w way) url(what string) string {
	return map[string]string{"file": w.dir + "/f", "folder": w.dir + "/", "workspace": w.mount}[what]
}

// id is the path of a resource in the API.
func (s spot) id(what string) string {
	switch what {
	case "file":
		return fmt.Sprint(rest.Prefix, "/files/", s.file)
	case "folder":
		return fmt.Sprint(rest.Prefix, "/folders/", s.folder)
	}
	return fmt.Sprint(rest.Prefix, "/folders/", s.root)
}

// spots are the file in a personal and in a team's workspace.
func (x *crossing) spots() map[string]spot {
	x.t.Helper()
	teams, err := x.store.Memberships(x.t.Context(), x.users["ada"].ID)
	must(x.t, err)
	all := map[string]spot{
		"personal": {workspace: x.users["ada"].Workspace(), ways: []way{
			{"ada all", "/dav/", "/dav/d"}, {"ada all", "/remote.php/dav/files/ada/", "/remote.php/dav/files/ada/d"}, {"ada own", "", "/dav"},
		}},
		"team": {workspace: teams[0].Team.Workspace(), ways: []way{
			{"ada all", "/teams/Crew/", "/teams/Crew/d"}, {"ada team", "", "/dav"}, {"bob all", "/teams/Crew/", "/teams/Crew/d"}, {"bob team", "", "/dav"},
		}},
	}
	for name, s := range all {
		for path, id := range map[string]*int64{"/d/f": &s.file, "/d": &s.folder, "/": &s.root} {
			n, err := x.store.Stat(x.t.Context(), s.at(path))
			must(x.t, err)
			if *id = n.Place.Root.ID; path == "/" {
				_, err := fmt.Sscanf(n.Place.Ancestry, "/%d/", id)
				must(x.t, err)
			}
		}
		all[name] = s
	}
	return all
}

func (s spot) at(path string) store.Target {
	return store.Target{Workspace: s.workspace, Path: store.ParsePath(path)}
}

// editor is the claim of an editor, for a user, with the tokens it holds.
type editor struct {
	user   int64
	tokens []string
}

func (e editor) Prove(store.View) (lockns.Credentials, error) {
	c := lockns.Credentials{User: e.user}
	for _, token := range e.tokens {
		c.Tokens = append(c.Tokens, lockns.Token{Value: token, Origin: lockns.WOPI})
	}
	return c, nil
}

func (editor) Precondition(store.View) error { return nil }

// held is a lock that was taken through a door.
type held struct {
	origin lockns.Origin
	on     string // "file", "folder", "workspace"
	as     string // who took it
	token  string // "" for a product lock
	end    func() // through the same door
}

const lockinfo = `<?xml version="1.0"?><lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>`

// take locks a resource by a door and a way, with all below it.
func (x *crossing) take(origin lockns.Origin, s spot, w way, on string) held {
	x.t.Helper()
	h := held{origin: origin, on: on, as: w.as}
	switch origin {
	case lockns.Product:
		x.wants(201, "PUT", s.id(on)+"/lock", w.as, jsonType(), `{"depth": "infinity", "note": "busy"}`)
		h.end = func() { x.wants(204, "DELETE", s.id(on)+"/lock", w.as, nil, "") }
	case lockns.WebDAV:
		answer, _ := x.wants(200, "LOCK", w.url(on), w.as, http.Header{"Depth": {"infinity"}}, lockinfo)
		h.token = strings.Trim(answer.Get("Lock-Token"), "<>")
		h.end = func() {
			x.wants(204, "UNLOCK", w.url(on), w.as, http.Header{"Lock-Token": {"<" + h.token + ">"}}, "")
		}
	case lockns.WOPI:
		path := map[string]string{"file": "/d/f", "folder": "/d", "workspace": "/"}[on]
		out, err := x.store.Lock(x.t.Context(), s.at(path), editorsLock(), editor{user: x.users["ada"].ID})
		must(x.t, err)
		h.token = out.Lock.Token
		h.end = func() {
			must(x.t, x.store.Unlock(x.t.Context(), s.at(path), store.ByOrigin(lockns.WOPI), editor{x.users["ada"].ID, []string{h.token}}))
		}
	}
	return h
}

func editorsLock() store.LockSpec {
	return store.LockSpec{Depth: lockns.Infinity, Mode: lockns.Exclusive, Origin: lockns.WOPI, Owner: "opaque value", Timeout: 30 * time.Minute}
}

func jsonType() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// TestDoorsSeeEachOthersLocks: a lock that came through one door holds at each, on
// the file reached by its id, by every mount and by a login for its folder alone.
// Only what opens it lets a change through, and no other lock is granted beside it.
func TestDoorsSeeEachOthersLocks(t *testing.T) {
	x := newCrossing(t)
	for where, s := range x.spots() {
		for _, origin := range []lockns.Origin{lockns.Product, lockns.WebDAV, lockns.WOPI} {
			for _, w := range s.ways {
				if strings.HasPrefix(w.as, "bob") || origin == lockns.WOPI && w != s.ways[0] {
					continue // the locks are ada's; an editor knows files by their ids alone
				}
				for _, on := range []string{"file", "folder", "workspace"} {
					if on == "workspace" && w.mount == "" {
						continue
					}
					t.Run(fmt.Sprintf("%s %s lock on the %s, by %s at %s", where, origin, on, w.as, w.dir), func(t *testing.T) {
						x.t = t
						h := x.take(origin, s, w, on)
						for _, by := range s.ways {
							x.acts(s, by, h)
						}
						x.edits(s, h)
						h.end()
						for _, by := range s.ways {
							x.wants(204, "PUT", by.url("file"), by.as, nil, "free")
							x.wants(200, "PUT", s.id("file")+"/content", by.as, nil, "free")
							_, text := x.wants(200, "GET", s.id("file")+"/locks", by.as, nil, "")
							if text != `{"items":[]}` && !strings.Contains(text, `"items":[]`) {
								t.Errorf("locks when all have ended: %s", text)
							}
						}
					})
				}
			}
		}
	}
}

// acts writes to the file, and locks it, by one way, through the API and through
// WebDAV.
func (x *crossing) acts(s spot, by way, h held) {
	x.t.Helper()
	owns := strings.HasPrefix(by.as, "ada") && h.origin != lockns.WOPI
	// What an ordinary change of the API may do, an untold WebDAV one may.
	opens := h.origin == lockns.Product && owns
	status := map[bool]int{true: 200, false: 423}[opens]
	_, text := x.wants(status, "PUT", s.id("file")+"/content", by.as, nil, "by the API")
	if !opens {
		x.tells(text, s, by, h)
	}
	plain := map[bool]int{true: 204, false: 423}[opens]
	x.wants(plain, "PUT", by.url("file"), by.as, nil, "by WebDAV")
	if h.token != "" {
		// The token opens a lock of WebDAV in its holder's hands. In others' the
		// condition is true and the lock is in the way; that of an editor's lock is
		// none that WebDAV knows.
		status := map[bool]int{true: 204, false: 423}[owns]
		if h.origin == lockns.WOPI {
			status = 412
		}
		x.wants(status, "PUT", by.url("file"), by.as, http.Header{"If": {"(<" + h.token + ">)"}}, "with the token")
	}
	status = 423
	if opens && h.on == "file" {
		status = 200 // the same lock
	}
	_, text = x.wants(status, "PUT", s.id("file")+"/lock", by.as, jsonType(), `{"depth": "infinity", "note": "busy"}`)
	if status == 423 {
		x.tells(text, s, by, h)
	}
	x.wants(423, "LOCK", by.url("file"), by.as, nil, lockinfo)
	x.shows(s, by, h)
}

// tells checks a refusal: it has the lock's root where the login sees it, its
// holder and nothing that opens it.
func (x *crossing) tells(text string, s spot, by way, h held) {
	x.t.Helper()
	var p rest.Problem
	must(x.t, json.Unmarshal([]byte(text), &p))
	if p.Code != "resource.locked" || len(p.Locks) != 1 {
		x.t.Fatalf("refused with %s", text)
	}
	l := p.Locks[0]
	holder := map[bool]string{true: "", false: "ada"}[h.origin == lockns.WOPI]
	if want := s.rootFor(by, h); l.Root != want || l.Origin != string(h.origin) || l.Holder != holder || (l.Expires == nil) != (h.origin == lockns.Product) {
		x.t.Errorf("tells %s, want the root %+v", text, want)
	}
	x.hides(text, h)
}

func (x *crossing) hides(text string, h held) {
	x.t.Helper()
	if h.token != "" && strings.Contains(text, h.token) || strings.Contains(text, "opaque value") {
		x.t.Errorf("what opens the lock is told: %s", text)
	}
}

// rootFor is a lock's root as a way sees it.
func (s spot) rootFor(by way, h held) rest.LockRoot {
	paths := map[string]string{"file": "/d/f", "folder": "/d", "workspace": "/"}
	if by.mount == "" {
		paths = map[string]string{"file": "/f", "folder": "/"}
	}
	root := rest.LockRoot{Kind: map[string]string{"file": "file", "folder": "folder", "workspace": "workspace_root"}[h.on], Path: paths[h.on]}
	if root.Path != "" {
		root.ID = map[string]int64{"file": s.file, "folder": s.folder}[h.on]
	}
	return root
}

// shows looks at the lock by one way: in the API's lists and states and in
// WebDAV's lockdiscovery.
func (x *crossing) shows(s spot, by way, h held) {
	x.t.Helper()
	for _, list := range []string{s.id("file") + "/locks", rest.Prefix + "/workspaces/" + string(s.workspace.Kind) + fmt.Sprint("-", s.workspace.ID) + "/locks"} {
		_, text := x.wants(200, "GET", list, by.as, nil, "")
		var page rest.Page[rest.Lock]
		must(x.t, json.Unmarshal([]byte(text), &page))
		if by.mount == "" && h.on == "workspace" && !strings.Contains(list, "/files/") {
			if len(page.Items) != 0 {
				x.t.Errorf("%s shows what is outside: %s", list, text)
			}
			continue
		}
		if len(page.Items) != 1 || page.Items[0].Root != s.rootFor(by, h) || page.Items[0].Origin != string(h.origin) {
			x.t.Errorf("%s: %s", list, text)
		}
		x.hides(text, h)
	}
	_, text := x.wants(207, "PROPFIND", by.url("file"), by.as, http.Header{"Depth": {"0"}}, `<propfind xmlns="DAV:"><prop><lockdiscovery/></prop></propfind>`)
	if strings.Count(text, "<D:activelock>") != 1 {
		x.t.Errorf("lockdiscovery: %s", text)
	}
	mine := h.origin == lockns.WebDAV && strings.HasPrefix(by.as, "ada")
	if h.token != "" && strings.Contains(text, h.token) != mine {
		x.t.Errorf("the token is shown: %v: %s", !mine, text)
	}
}

// edits does what acts does as an editor, for each user.
func (x *crossing) edits(s spot, h held) {
	x.t.Helper()
	put := func(e editor) error {
		_, _, err := x.store.Put(x.t.Context(), s.at("/d/f"), store.File{Body: strings.NewReader("edited"), Size: 6}, e)
		return err
	}
	var locked *lockns.LockedError
	var conflict *lockns.ConflictError
	for name, user := range x.users {
		if s.workspace.Kind == lockns.Personal && name != "ada" {
			continue
		}
		opens := h.origin == lockns.Product && name == "ada"
		if err := put(editor{user: user.ID}); opens && err != nil || !opens && !errors.As(err, &locked) {
			x.t.Errorf("an editor without the lock, for %s: %v", name, err)
		}
		opens = opens || h.origin == lockns.WOPI
		if err := put(editor{user.ID, []string{h.token}}); opens && err != nil || !opens && !errors.As(err, &locked) {
			x.t.Errorf("an editor with the lock's token, for %s: %v", name, err)
		}
		if _, err := x.store.Lock(x.t.Context(), s.at("/d/f"), editorsLock(), editor{user: user.ID}); !errors.As(err, &conflict) {
			x.t.Errorf("an editor's lock for %s: %v", name, err)
		}
	}
}

// TestEndingAProductLockEndsNoOther: what the API's DELETE of a lock may end.
func TestEndingAProductLockEndsNoOther(t *testing.T) {
	x := newCrossing(t)
	for where, s := range x.spots() {
		for _, origin := range []lockns.Origin{lockns.WebDAV, lockns.WOPI} {
			t.Run(where+" "+string(origin), func(t *testing.T) {
				x.t = t
				w := s.ways[0]
				h := x.take(origin, s, w, "file")
				x.wants(404, "DELETE", s.id("file")+"/lock", w.as, nil, "")
				x.wants(201, "PUT", s.id("folder")+"/lock", w.as, jsonType(), `{"depth": "resource"}`)
				x.wants(204, "DELETE", s.id("folder")+"/lock", w.as, nil, "")
				x.wants(423, "PUT", s.id("file")+"/content", w.as, nil, "x")
				h.end()
			})
		}
	}
}

// TestOwnLockEndsByItsNumber: a lock whose program is gone, with its token, is ended
// by its holder, and is then gone at every door.
func TestOwnLockEndsByItsNumber(t *testing.T) {
	x := newCrossing(t)
	for where, s := range x.spots() {
		t.Run(where, func(t *testing.T) {
			x.t = t
			w := s.ways[0]
			h := x.take(lockns.WebDAV, s, w, "file")
			_, text := x.wants(200, "GET", rest.Prefix+"/locks", w.as, nil, "")
			var page rest.Page[rest.Lock]
			must(t, json.Unmarshal([]byte(text), &page))
			if len(page.Items) != 1 {
				t.Fatalf("own locks: %s", text)
			}
			number := fmt.Sprint(rest.Prefix, "/locks/", page.Items[0].ID)
			x.wants(404, "DELETE", number, "bob all", nil, "")
			x.wants(204, "DELETE", number, w.as, nil, "")
			x.wants(412, "PUT", w.url("file"), w.as, http.Header{"If": {"(<" + h.token + ">)"}}, "x")
			x.wants(409, "UNLOCK", w.url("file"), w.as, http.Header{"Lock-Token": {"<" + h.token + ">"}}, "")
			x.wants(204, "PUT", w.url("file"), w.as, nil, "x")
		})
	}
}

// TestForcedReleaseIsForAdministrators: whichever door a lock came through.
func TestForcedReleaseIsForAdministrators(t *testing.T) {
	x := newCrossing(t)
	x.passwords["admin"] = "secret"
	s := x.spots()["team"]
	w := s.ways[0]
	for _, origin := range []lockns.Origin{lockns.Product, lockns.WebDAV, lockns.WOPI} {
		t.Run(string(origin), func(t *testing.T) {
			x.t = t
			x.take(origin, s, w, "file")
			_, text := x.wants(200, "GET", rest.Prefix+"/admin/locks?origin="+string(origin), "admin", nil, "")
			var page rest.Page[rest.Lock]
			must(t, json.Unmarshal([]byte(text), &page))
			if len(page.Items) != 1 {
				t.Fatalf("locks: %s", text)
			}
			path := fmt.Sprint(rest.Prefix, "/admin/locks/", page.Items[0].ID)
			for _, as := range []string{"ada all", "bob all", "bob team"} {
				x.wants(403, "DELETE", path, as, nil, "")
				x.wants(403, "POST", path+"/token", as, nil, "")
			}
			x.wants(204, "DELETE", path, "admin", nil, "")
			x.wants(204, "PUT", w.url("file"), "bob all", nil, "x")
			entries, err := x.store.Audit(t.Context(), store.AuditFilter{Event: "lock.force_released", Limit: 1})
			must(t, err)
			if len(entries) != 1 || entries[0].Actor != "admin" || entries[0].Subject != "/d/f" || !strings.Contains(entries[0].Detail, string(origin)) {
				t.Errorf("audited: %+v", entries)
			}
		})
	}
}
