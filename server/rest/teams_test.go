package rest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/lockns"
	"holdfast/server/rest"
	"holdfast/store"
)

func teamPath(ws lockns.Workspace) string { return fmt.Sprintf("/teams/%d", ws.ID) }

func memberPath(ws lockns.Workspace, c *client) string {
	return fmt.Sprintf("/teams/%d/members/%d", ws.ID, c.user.ID)
}

// members are those of a team, with their roles.
func members(c *client, ws lockns.Workspace) string {
	c.w.t.Helper()
	all, _ := pages[rest.Member](c, teamPath(ws)+"/members", 2)
	var text []string
	for _, m := range all {
		text = append(text, m.Name+" "+m.Role)
	}
	slices.Sort(text)
	return strings.Join(text, ", ")
}

func TestTeams(t *testing.T) {
	w := newWorld(t)
	boss, ada, bob, eve := w.admin("boss"), w.user("ada"), w.user("bob"), w.user("eve")
	var got, shown rest.Team
	boss.do("POST", "/teams", map[string]any{"name": "R & D", "owner": "ADA", "quota": 9}).wants(201).into(&got)
	want := rest.Team{ID: got.ID, Name: "R & D", Workspace: id("team", got.ID), Quota: 9, Created: w.now()}
	wantEqual(t, "added", got, want)
	wantEqual(t, "audited", w.audited(2), "boss member.set ada owner; boss team.added R & D")
	ws := lockns.Workspace{Kind: lockns.Team, ID: got.ID}
	ada.put(store.Target{Workspace: ws, Path: store.ParsePath("/f")}, "12345")
	ada.do("GET", teamPath(ws), nil).wants(200).into(&shown)
	want.Role, want.Used = "owner", 5
	wantEqual(t, "shown to the owner", shown, want)

	boss.do("PATCH", teamPath(ws), map[string]any{"quota": 77}).wants(200).into(&got)
	wantEqual(t, "quota", got.Quota, 77)
	wantEqual(t, "audited", w.audited(1), "boss team.changed R & D quota=77")
	boss.do("PATCH", teamPath(ws), map[string]any{}).wants(200).into(&got)
	wantEqual(t, "quota", got.Quota, 77)
	boss.do("PATCH", "/teams/99", map[string]any{"quota": 1}).refuses(404, "not_found")
	boss.do("PATCH", "/teams/99", map[string]any{}).refuses(404, "not_found")
	ada.do("PATCH", teamPath(ws), map[string]any{"quota": 0}).refuses(403, "forbidden")
	ada.do("PATCH", "/teams/99", map[string]any{"quota": 0}).refuses(403, "forbidden")

	for name, body := range map[string]map[string]any{
		"name.taken":      {"name": "r & d"},
		"name.invalid":    {"name": "a/b"},
		"not_found":       {"name": "x", "owner": "nobody"},
		"request.invalid": {"name": ""},
	} {
		a := boss.do("POST", "/teams", body)
		a.refuses(a.status, name)
	}
	boss.do("POST", "/teams", map[string]any{"name": "Mine"}).wants(201)
	ada.do("POST", "/teams", map[string]any{"name": "x"}).refuses(403, "forbidden")

	names := func(c *client, query string) string {
		all, _ := pages[rest.Team](c, "/teams"+query, 1)
		var text []string
		for _, team := range all {
			text = append(text, strings.TrimSpace(team.Name+" "+team.Role))
		}
		return strings.Join(text, ", ")
	}
	dev := w.team("Dev", eve, map[*client]store.Role{ada: store.Viewer})
	wantEqual(t, "ada's", names(ada, ""), "R & D owner, Dev viewer")
	wantEqual(t, "bob's", names(bob, ""), "")
	wantEqual(t, "boss's", names(boss, ""), "Mine owner")
	wantEqual(t, "all", names(boss, "?all=true"), "R & D, Mine owner, Dev")
	ada.do("GET", "/teams?all=true", nil).refuses(403, "forbidden")

	// What one may not see is like what is not there, whatever is asked of it.
	for _, path := range []string{teamPath(dev), "/teams/99"} {
		bob.do("GET", path, nil).refuses(404, "not_found")
		bob.do("DELETE", path, nil).refuses(404, "not_found")
		bob.do("GET", path+"/members", nil).refuses(404, "not_found")
		for _, user := range []*client{bob, eve, {user: store.User{ID: 99}}} {
			at := fmt.Sprintf("%s/members/%d", path, user.user.ID)
			bob.do("PUT", at, map[string]any{"role": "owner"}).refuses(404, "not_found")
			bob.do("DELETE", at, nil).refuses(404, "not_found")
		}
		for _, name := range []string{"bob", "eve", "nobody"} {
			bob.do("POST", path+"/members", map[string]any{"name": name}).refuses(404, "not_found")
		}
	}
	wantEqual(t, "members", members(boss, dev), "ada viewer, eve owner")
	ada.do("DELETE", teamPath(dev), nil).refuses(403, "forbidden")
	eve.do("DELETE", teamPath(dev), nil).wants(204)
	eve.do("GET", teamPath(dev), nil).refuses(404, "not_found")
	boss.do("DELETE", teamPath(ws), nil).wants(204)
	wantEqual(t, "audited", w.audited(1), "boss team.removed R & D")
}

// TestWhoMayChangeMembers tries every change of every member by everybody.
func TestWhoMayChangeMembers(t *testing.T) {
	const forbidden, last = "403 forbidden", "409 team.last_owner"
	roles := []store.Role{store.Owner, store.Admin, store.Writer, store.Viewer}
	// may is what somebody of a role may make of a member of a role; "" is no member.
	may := func(mine, before, after store.Role) bool {
		switch mine {
		case "boss", store.Owner:
			return true
		case store.Admin:
			return before != store.Owner && after != store.Owner
		}
		return false
	}
	w := newWorld(t)
	who := map[store.Role]*client{"boss": w.admin("boss"), "": w.user("new")}
	second := w.user("second")
	for _, r := range roles {
		who[r] = w.user("the-" + string(r))
	}
	subjects := map[store.Role]*client{}
	for _, r := range roles {
		subjects[r] = w.user("some-" + string(r))
	}
	ops := w.team("Ops", who[store.Owner], nil)
	restore := func() {
		t.Helper()
		for _, r := range roles {
			must(t, w.SetMember(t.Context(), "Ops", who[r].user.Name, r, store.Actor{}))
			must(t, w.SetMember(t.Context(), "Ops", subjects[r].user.Name, r, store.Actor{}))
		}
		_ = w.RemoveMember(t.Context(), "Ops", "new", store.Actor{})
		_ = w.RemoveMember(t.Context(), "Ops", second.user.Name, store.Actor{})
	}
	check := func(what string, a answer, allowed bool, good int) {
		t.Helper()
		got, want := fmt.Sprint(a.status), fmt.Sprint(good)
		if a.status >= 400 {
			got += " " + a.code()
		}
		if !allowed {
			want = forbidden
		}
		wantEqual(t, what, got, want)
	}
	restore()
	for _, mine := range []store.Role{"boss", store.Owner, store.Admin, store.Writer, store.Viewer} {
		c := who[mine]
		for _, after := range roles {
			check(fmt.Sprintf("%s adds %s", mine, after), c.do("POST", teamPath(ops)+"/members", map[string]any{"name": "NEW", "role": after}), may(mine, "", after), 201)
			restore()
			for before, subject := range subjects {
				check(fmt.Sprintf("%s makes %s %s", mine, before, after), c.do("PUT", memberPath(ops, subject), map[string]any{"role": after}), may(mine, before, after), 200)
				restore()
			}
			if mine == "boss" {
				continue
			}
			a := c.do("PUT", memberPath(ops, c), map[string]any{"role": after})
			check(fmt.Sprintf("%s makes themselves %s", mine, after), a, may(mine, mine, after), 200)
			restore()
		}
		for before, subject := range subjects {
			check(fmt.Sprintf("%s removes %s", mine, before), c.do("DELETE", memberPath(ops, subject), nil), may(mine, before, ""), 204)
			restore()
		}
		if mine != "boss" {
			check(fmt.Sprintf("%s leaves", mine), c.do("DELETE", memberPath(ops, c), nil), true, 204)
			restore()
		}
		// Names and ids of who is no member tell nothing to those who manage nobody.
		none := "404 not_found"
		if !may(mine, "", "") {
			none = forbidden
		}
		check(fmt.Sprintf("%s adds a user", mine), c.do("POST", teamPath(ops)+"/members", map[string]any{"name": "second"}), may(mine, "", store.Writer), 201)
		restore()
		a := c.do("POST", teamPath(ops)+"/members", map[string]any{"name": "nobody"})
		wantEqual(t, fmt.Sprintf("%s adds nobody", mine), fmt.Sprint(a.status, " ", a.code()), none)
		for _, subject := range []*client{second, {user: store.User{ID: 99}}} {
			for _, method := range []string{"PUT", "DELETE"} {
				var body any
				if method == "PUT" {
					body = map[string]any{"role": "member"}
				}
				a := c.do(method, memberPath(ops, subject), body)
				wantEqual(t, fmt.Sprintf("%s %s of no member", mine, method), fmt.Sprint(a.status, " ", a.code()), none)
			}
		}
	}

	// The last owner stays one while there are members.
	must(t, w.RemoveMember(t.Context(), "Ops", subjects[store.Owner].user.Name, store.Actor{}))
	owner := who[store.Owner]
	for _, c := range []*client{owner, who["boss"]} {
		for _, a := range []answer{c.do("PUT", memberPath(ops, owner), map[string]any{"role": "member"}), c.do("DELETE", memberPath(ops, owner), nil)} {
			wantEqual(t, "the last owner", fmt.Sprint(a.status, " ", a.code()), last)
		}
	}
	owner.do("POST", teamPath(ops)+"/members", map[string]any{"name": owner.user.Name}).refuses(409, "member.exists")
	owner.do("PUT", memberPath(ops, who[store.Viewer]), map[string]any{"role": "boss"}).refuses(400, "request.invalid")
}

// TestMembers: what is told of a member, who it was done by, and which logins may.
func TestMembers(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.user("ada"), w.user("bob")
	ops := w.team("Ops", ada, nil)
	var m rest.Member
	ada.do("POST", teamPath(ops)+"/members", map[string]any{"name": "BoB"}).wants(201).into(&m)
	wantEqual(t, "added", m, rest.Member{ID: bob.user.ID, Name: "bob", Role: "member", Since: w.now()})
	wantEqual(t, "audited", w.audited(1), "ada member.set bob member")
	ada.do("PUT", memberPath(ops, bob), map[string]any{"role": "admin"}).wants(200).into(&m)
	wantEqual(t, "changed", m.Role, "admin")
	wantEqual(t, "audited", w.audited(1), "ada member.set bob admin")
	wantEqual(t, "listed", members(bob, ops), "ada owner, bob admin")
	// A login that opens less than its user may manages nobody.
	for name, n := range map[string]store.NewAccount{
		"login.limited":   {Name: "team", Team: "Ops"},
		"login.read_only": {Name: "reads", ReadOnly: true},
	} {
		c := ada.limited(n)
		c.do("POST", teamPath(ops)+"/members", map[string]any{"name": "nobody"}).refuses(403, name)
		c.do("PUT", memberPath(ops, bob), map[string]any{"role": "owner"}).refuses(403, name)
		c.do("DELETE", memberPath(ops, bob), nil).refuses(403, name)
		c.do("DELETE", teamPath(ops), nil).refuses(403, name)
	}
	ada.limited(store.NewAccount{Name: "home", Scoped: true}).do("GET", "/teams", nil).refuses(403, "login.limited")
	bob.do("DELETE", memberPath(ops, bob), nil).wants(204)
	wantEqual(t, "audited", w.audited(1), "bob member.removed bob")
	bob.do("GET", teamPath(ops)+"/members", nil).refuses(404, "not_found")
}
