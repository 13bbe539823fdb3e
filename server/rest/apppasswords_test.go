package rest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/server/rest"
	"holdfast/store"
)

// mint makes an app password by the API.
func (c *client) mint(body map[string]any) rest.Minted {
	c.w.t.Helper()
	var m rest.Minted
	c.do("POST", "/app-passwords", body).wants(201).into(&m)
	return m
}

func TestAppPasswords(t *testing.T) {
	w := newWorld(t, func(_ *store.Options, o *rest.Options) { o.BlockedNames = []string{"secret"} })
	ada, bob := w.browser("ada", "secret"), w.browser("bob", "secret")
	ada.open("secret")
	bob.open("secret")
	team := w.team("Ops", ada, nil)
	ada.mkdir(ada.at("/d"))
	d := ada.mkdir(ada.at("/d/e")).Place.Root.ID
	ada.put(ada.at("/d/f"), "x")
	ada.mkdir(ada.at("/secret"))
	hidden := ada.mkdir(ada.at("/secret/in")).Place.Root.ID
	end := w.now().Add(time.Hour).Truncate(time.Second)
	own := fmt.Sprint("personal-", ada.user.ID)
	shared := fmt.Sprint("team-", team.ID)

	all := ada.mint(map[string]any{"name": "phone"})
	if all.Scope != "all" || all.Workspace != "" || all.ReadOnly || all.Expires != nil || all.Digest || !strings.HasPrefix(all.Password, "hf-") {
		t.Errorf("minted %+v", all)
	}
	folder := ada.mint(map[string]any{"name": "folder", "scope": "personal", "folder": d, "read_only": true, "expires": end})
	if folder.Workspace != own || folder.Folder != d || folder.Path != "/d/e" || !folder.ReadOnly || !folder.Expires.Equal(end) {
		t.Errorf("minted %+v", folder)
	}
	a := (&client{w: w, user: ada.user, token: folder.Password}).do("GET", "/session", nil).wants(200)
	var login rest.Login
	a.into(&login)
	if login.AppPassword.Folder != d || strings.Contains(a.body, "/d") {
		t.Errorf("a login that is limited to a folder sees where that is: %s", a.body)
	}
	if by := ada.mint(map[string]any{"name": "path", "scope": "personal", "path": "/d/e/"}); by.Folder != d || by.Path != "/d/e" {
		t.Errorf("minted %+v", by)
	}
	if root := ada.mint(map[string]any{"name": "root", "scope": "personal", "path": "/"}); root.Folder != 0 || root.Workspace != own || root.Scope != "personal" {
		t.Errorf("minted %+v", root)
	}
	if of := ada.mint(map[string]any{"name": "team", "scope": "team", "team": team.ID}); of.Workspace != shared || of.Scope != "team" {
		t.Errorf("minted %+v", of)
	}

	missing := ada.do("POST", "/app-passwords", map[string]any{"name": "x", "scope": "team", "team": 999})
	missing.refuses(404, "not_found")
	for outcome, c := range map[string]struct {
		who    *client
		body   map[string]any
		status int
		code   string
	}{
		"label taken":           {ada, map[string]any{"name": "phone"}, 409, "name.taken"},
		"label of two lines":    {ada, map[string]any{"name": "a\nb"}, 400, "name.invalid"},
		"past":                  {ada, map[string]any{"name": "x", "expires": w.now().Add(-time.Minute)}, 400, "expires.invalid"},
		"year 10000":            {ada, map[string]any{"name": "x", "expires": "9999-12-31T23:59:59-12:00"}, 400, "expires.invalid"},
		"team without scope":    {ada, map[string]any{"name": "x", "team": team.ID}, 400, "app_password.scope"},
		"scope without team":    {ada, map[string]any{"name": "x", "scope": "team"}, 400, "app_password.scope"},
		"folder without scope":  {ada, map[string]any{"name": "x", "folder": d}, 400, "app_password.scope"},
		"folder by id and path": {ada, map[string]any{"name": "x", "scope": "personal", "folder": d, "path": "/d"}, 400, "app_password.scope"},
		"others' team":          {bob, map[string]any{"name": "x", "scope": "team", "team": team.ID}, 404, "not_found"},
		"others' folder":        {bob, map[string]any{"name": "x", "scope": "personal", "folder": d}, 404, "not_found"},
		"no folder":             {ada, map[string]any{"name": "x", "scope": "personal", "path": "/none"}, 404, "not_found"},
		"a file":                {ada, map[string]any{"name": "x", "scope": "personal", "path": "/d/f"}, 404, "not_found"},
		"below a blocked name":  {ada, map[string]any{"name": "x", "scope": "personal", "folder": hidden}, 404, "not_found"},
		"path below one":        {ada, map[string]any{"name": "x", "scope": "personal", "path": "/SECRET/in"}, 404, "not_found"},
	} {
		t.Run(outcome, func(t *testing.T) {
			a := c.who.do("POST", "/app-passwords", c.body)
			a.refuses(c.status, c.code)
			if c.status == 404 && a.body != missing.body {
				t.Errorf("%s, unlike %s", a.body, missing.body)
			}
		})
	}

	phone := &client{w: w, user: ada.user, token: all.Password}
	phone.do("GET", "/me", nil).wants(200)
	for _, path := range []string{"/app-passwords", "/sessions"} {
		phone.do("GET", path, nil).refuses(403, "login.app_password")
	}
	phone.do("POST", "/app-passwords", map[string]any{"name": "more"}).refuses(403, "login.app_password")

	a = ada.do("GET", "/app-passwords", nil).wants(200)
	var page rest.Page[rest.AppPassword]
	a.into(&page)
	if len(page.Items) != 5 || strings.Contains(a.body, "hf-") || strings.Contains(a.body, "sha256") {
		t.Errorf("list %s", a.body)
	}
	bob.do("DELETE", fmt.Sprint("/app-passwords/", all.ID), nil).refuses(404, "not_found")
	phone.do("DELETE", fmt.Sprint("/app-passwords/", all.ID), nil).refuses(403, "login.app_password")
	ada.do("DELETE", fmt.Sprint("/app-passwords/", all.ID), nil).wants(204)
	ada.do("DELETE", fmt.Sprint("/app-passwords/", all.ID), nil).refuses(404, "not_found")
	phone.do("GET", "/me", nil).refuses(401, "login.required")
}

// TestAppPasswordForDigest: where Digest is served, the API's have what it
// compares.
func TestAppPasswordForDigest(t *testing.T) {
	w := newWorld(t)
	must(t, w.KeepHA1(t.Context(), true))
	ada := w.browser("ada", "secret")
	ada.open("secret")
	if m := ada.mint(map[string]any{"name": "phone"}); !m.Digest {
		t.Errorf("minted %+v", m)
	}
}

func TestAuditLog(t *testing.T) {
	w := newWorld(t)
	root, ada := w.admin("root"), w.browser("ada", "secret")
	ada.open("secret")
	team := w.team("Ops", ada, nil)
	ada.do("POST", "/session", opening("ada", "wrong"))
	m := ada.mint(map[string]any{"name": "phone"})
	ada.do("DELETE", fmt.Sprint("/app-passwords/", m.ID), nil).wants(204)
	ada.do("DELETE", "/session", nil).wants(204)
	read := func(query string) (page rest.Page[rest.AuditEntry]) {
		t.Helper()
		a := root.do("GET", "/admin/audit"+query, nil).wants(200)
		if strings.Contains(a.body, m.Password) || strings.Contains(a.body, "secret") {
			t.Errorf("the log holds a secret: %s", a.body)
		}
		a.into(&page)
		return page
	}
	for event, want := range map[string]int{"session.opened": 1, "session.ended": 1, "account.added": 2, "account.removed": 1, "team.added": 1} {
		page := read("?event=" + event)
		if len(page.Items) != want || page.Items[0].Event != event || page.Next != "" {
			t.Errorf("%s: %+v", event, page)
		}
	}
	deadline := time.Now().Add(5 * time.Second) // it is written beside the request
	for len(read("?event=session.refused").Items) == 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if page := read("?event=session.refused"); len(page.Items) != 1 || page.Items[0].Actor != "" || page.Items[0].Subject != "ada" || page.Items[0].Detail != "browser from 127.0.0.1" {
		t.Errorf("refused: %+v", page)
	}
	if page := read(fmt.Sprint("?workspace=team-", team.ID, "&event=team.added")); len(page.Items) != 1 || page.Items[0].Workspace != fmt.Sprint("team-", team.ID) {
		t.Errorf("of the team: %+v", page)
	}
	if page := read("?actor=ada&event=session.opened"); len(page.Items) != 1 || page.Items[0].ActorID != ada.user.ID {
		t.Errorf("of ada: %+v", page)
	}
	if page := read("?since=" + w.now().Add(time.Hour).Format(time.RFC3339)); len(page.Items) != 0 {
		t.Errorf("of the future: %+v", page)
	}
	if page := read("?before=" + w.now().Add(-time.Hour).Format(time.RFC3339)); len(page.Items) != 0 {
		t.Errorf("of the past: %+v", page)
	}
	var ids []int64
	pages := 0
	for cursor := ""; ; pages++ {
		page := read("?actor=ada&limit=2" + cursor)
		for _, e := range page.Items {
			ids = append(ids, e.ID)
		}
		if page.Next == "" {
			break
		}
		cursor = "&cursor=" + page.Next
	}
	if whole := read("?actor=ada&limit=1000"); len(whole.Items) != len(ids) || pages < 1 {
		t.Errorf("%d in pages, %d at once", len(ids), len(whole.Items))
	}
	root.do("GET", "/admin/audit?cursor=AAAA", nil).refuses(400, "cursor.invalid")
	root.do("GET", "/admin/audit?workspace=teams", nil).refuses(400, "request.invalid")
	root.do("GET", "/admin/audit?limit=1001", nil).refuses(400, "request.invalid")
	w.user("bob").do("GET", "/admin/audit", nil).refuses(403, "forbidden")
}
