package rest_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/server/auth"
	"holdfast/server/rest"
	"holdfast/store"
)

func userPath(u store.User) string { return fmt.Sprintf("/admin/users/%d", u.ID) }

// audited are the newest entries of the audit log that are no logins, the newest
// first.
func (w *world) audited(n int) string {
	w.t.Helper()
	entries, err := w.Audit(w.t.Context(), store.AuditFilter{})
	must(w.t, err)
	var lines []string
	for _, e := range entries {
		if e.Event != "login" && len(lines) < n {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.Actor, e.Event, e.Subject, e.Detail)))
		}
	}
	return strings.Join(lines, "; ")
}

func TestUsers(t *testing.T) {
	w := newWorld(t, func(o *store.Options, _ *rest.Options) { o.Quota = 1000 })
	boss := w.admin("boss")
	var got, shown rest.User
	boss.do("POST", "/admin/users", map[string]any{"name": "Grace", "display_name": "Grace Höpper", "password": "näjve", "quota": 5}).wants(201).into(&got)
	want := rest.User{ID: got.ID, Name: "Grace", DisplayName: "Grace Höpper", HasPassword: true, Workspace: id("personal", got.ID), Quota: 5, Created: w.now()}
	wantEqual(t, "added", got, want)
	wantEqual(t, "audited", w.audited(1), "boss user.added Grace")
	grace, err := w.User(t.Context(), "grace")
	must(t, err)
	boss.do("GET", userPath(grace), nil).wants(200).into(&shown)
	wantEqual(t, "shown", shown, want)
	other := w.user("other")
	other.put(other.at("/f"), "1234567")

	change := func(body map[string]any, adjust func(u *rest.User), audited string) {
		t.Helper()
		adjust(&want)
		boss.do("PATCH", userPath(grace), body).wants(200).into(&got)
		wantEqual(t, "changed", got, want)
		wantEqual(t, "audited", w.audited(1), audited)
	}
	change(map[string]any{"display_name": ""}, func(u *rest.User) { u.DisplayName = "" }, "boss user.changed Grace display name")
	change(map[string]any{"quota": 0}, func(u *rest.User) { u.Quota = 1000 }, "boss user.changed Grace quota=0")
	change(map[string]any{"admin": true}, func(u *rest.User) { u.Admin = true }, "boss user.changed Grace admin=true")
	change(map[string]any{"admin": true, "disabled": false, "display_name": ""}, func(*rest.User) {}, "boss user.changed Grace admin=true")
	change(map[string]any{"disabled": true}, func(u *rest.User) { u.Disabled = true }, "boss user.changed Grace disabled=true")
	change(map[string]any{"password": "another"}, func(*rest.User) {}, "boss user.changed Grace password")
	change(map[string]any{}, func(*rest.User) {}, "boss user.changed Grace password")
	changed, err := w.User(t.Context(), "grace")
	must(t, err)
	wantEqual(t, "what logins prove changed", changed.AuthVersion, grace.AuthVersion+3)
	wantEqual(t, "hashed", strings.HasPrefix(changed.PasswordHash, "$argon2id$"), true)
	boss.do("GET", userPath(other.user), nil).wants(200).into(&got)
	wantEqual(t, "used", got.Used, 7)

	boss.do("DELETE", userPath(grace), nil).wants(204)
	wantEqual(t, "audited", w.audited(1), "boss user.removed Grace")
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		var body any
		if method == "PATCH" {
			body = map[string]any{"admin": true}
		}
		boss.do(method, userPath(grace), body).refuses(404, "not_found")
	}
}

func TestRefusedUsers(t *testing.T) {
	w := newWorld(t)
	boss, ada := w.admin("boss"), w.user("ada")
	none, err := w.AddUser(t.Context(), store.NewUser{Name: auth.Anonymous})
	must(t, err)
	add := func(body map[string]any, status int, code string) {
		t.Helper()
		before := w.audited(1)
		boss.do("POST", "/admin/users", body).refuses(status, code)
		wantEqual(t, "audited", w.audited(1), before)
	}
	add(map[string]any{"name": "ADA"}, 409, "name.taken")
	add(map[string]any{"name": "a b"}, 400, "name.invalid")
	add(map[string]any{"name": "x", "display_name": "a\tb"}, 400, "name.invalid")
	add(map[string]any{"name": "Anonymous"}, 409, "user.reserved")
	add(map[string]any{"name": "x", "password": "a\nb"}, 400, "password.invalid")
	add(map[string]any{"name": "x", "password": strings.Repeat("ä", 513)}, 400, "password.invalid")
	add(map[string]any{"name": "x", "display_name": strings.Repeat("ä", 129)}, 400, "request.invalid")
	add(map[string]any{"name": "x", "quota": -1}, 400, "request.invalid")
	add(map[string]any{"name": "x", "more": 1}, 400, "request.invalid")
	add(map[string]any{}, 400, "request.invalid")
	add(map[string]any{"name": "x", "password": strings.Repeat("a", 17<<10)}, 413, "request.too_large")
	set := func(u store.User, body map[string]any, status int, code string) {
		t.Helper()
		boss.do("PATCH", userPath(u), body).refuses(status, code)
	}
	set(none, map[string]any{"password": "x"}, 409, "user.reserved")
	set(none, map[string]any{"admin": true}, 409, "user.reserved")
	set(ada.user, map[string]any{"password": ""}, 400, "request.invalid")
	set(ada.user, map[string]any{"password": "\x01"}, 400, "password.invalid")
	set(ada.user, map[string]any{"display_name": "\u202e"}, 400, "name.invalid")
	// Nobody takes from themselves what makes them an administrator, nor evades the
	// question for the former password.
	for _, body := range []map[string]any{{"admin": false}, {"disabled": true}, {"password": "x"}, {"admin": false, "display_name": "x"}} {
		set(boss.user, body, 409, "user.self")
	}
	boss.do("DELETE", userPath(boss.user), nil).refuses(409, "user.self")
	boss.do("PATCH", userPath(boss.user), map[string]any{"display_name": "The Boss", "admin": true, "disabled": false, "quota": 7}).wants(200)
	boss.do("GET", userPath(boss.user), nil).wants(200)
}

// TestWhoMayManageUsers: administrators, with a login that opens everything.
func TestWhoMayManageUsers(t *testing.T) {
	w := newWorld(t)
	boss, ada := w.admin("boss"), w.user("ada")
	w.team("Ops", boss, map[*client]store.Role{ada: store.Owner})
	readOnly := boss.limited(store.NewAccount{Name: "reads", ReadOnly: true})
	for name, c := range map[string]struct {
		*client
		read, change int
		code         string
	}{
		"nobody":                {&client{w: w}, 401, 401, "login.required"},
		"a user":                {ada, 403, 403, "forbidden"},
		"an admin in one team":  {boss.limited(store.NewAccount{Name: "team", Team: "Ops"}), 403, 403, "login.limited"},
		"an admin at home":      {boss.limited(store.NewAccount{Name: "own", Scoped: true}), 403, 403, "login.limited"},
		"an admin who reads":    {readOnly, 200, 403, "login.read_only"},
		"another administrator": {w.admin("other"), 200, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/admin/users", userPath(ada.user), userPath(store.User{ID: 99})} {
				a := c.do("GET", path, nil)
				if c.read == 200 {
					if a.status != 200 && a.status != 404 {
						t.Errorf("%s: %d", path, a.status)
					}
					continue
				}
				a.refuses(c.read, c.code)
			}
			if c.change == 0 {
				return
			}
			c.do("POST", "/admin/users", map[string]any{"name": "x"}).refuses(c.change, c.code)
			for _, u := range []store.User{ada.user, {ID: 99}} {
				c.do("PATCH", userPath(u), map[string]any{"admin": true}).refuses(c.change, c.code)
				c.do("DELETE", userPath(u), nil).refuses(c.change, c.code)
			}
		})
	}
}

// TestListUsers: pages in the order of names, of all users or of those that begin
// with a text.
func TestListUsers(t *testing.T) {
	w := newWorld(t)
	boss := w.admin("boss")
	for _, name := range []string{"Zoe", "abe", "Abel", "ab", "b", "abz", "ab-1", "ab_z"} {
		w.user(name)
	}
	for query, want := range map[string]string{
		"":           "[ab ab-1 ab_z abe Abel abz b boss Zoe]",
		"?name=AB":   "[ab ab-1 ab_z abe Abel abz]",
		"?name=abe":  "[abe Abel]",
		"?name=zz":   "[]",
		"?name=%25":  "[]",
		"?name=%C3":  "[]",
		"?name=ab_":  "[ab_z]",
		"?name=abel": "[Abel]",
	} {
		for _, limit := range []int{1, 3, 100} {
			all, calls := pages[rest.User](boss, "/admin/users"+query, limit)
			names := []string{}
			for _, u := range all {
				names = append(names, u.Name)
			}
			wantEqual(t, query, fmt.Sprint(names), want)
			wantEqual(t, "calls", calls, max(1, (len(names)+limit-1)/limit))
		}
	}
	var p page[rest.User]
	boss.do("GET", "/admin/users?limit=1&name=ab", nil).wants(200).into(&p)
	boss.do("GET", "/admin/users?cursor="+p.Next, nil).refuses(400, "cursor.invalid")
}

// TestAppPasswordsOfUsers: an administrator sees what logs in for a user, and ends
// it.
func TestAppPasswordsOfUsers(t *testing.T) {
	w := newWorld(t)
	boss, ada, bob := w.admin("boss"), w.user("ada"), w.user("bob")
	ada.limited(store.NewAccount{Name: "phone", ReadOnly: true})
	var p page[rest.AppPassword]
	boss.do("GET", userPath(ada.user)+"/app-passwords", nil).wants(200).into(&p)
	wantEqual(t, "listed", len(p.Items), 2)
	wantEqual(t, "name", p.Items[0].Name+" "+p.Items[1].Name, "phone tests")
	at := fmt.Sprintf("/app-passwords/%d", p.Items[1].ID)
	boss.do("DELETE", userPath(bob.user)+at, nil).refuses(404, "not_found")
	boss.do("GET", userPath(store.User{ID: 99})+"/app-passwords", nil).refuses(404, "not_found")
	ada.do("GET", "/me", nil).wants(200)
	boss.do("DELETE", userPath(ada.user)+at, nil).wants(204)
	wantEqual(t, "audited", w.audited(1), "boss account.removed ada tests")
	ada.do("GET", "/me", nil).refuses(401, "login.required")
	boss.do("DELETE", userPath(ada.user)+at, nil).refuses(404, "not_found")
}
