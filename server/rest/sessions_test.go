package rest_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/server/auth"
	"holdfast/server/rest"
	"holdfast/store"
)

// browser is a client that logs in by name and password.
func (w *world) browser(name, password string) *client {
	w.t.Helper()
	hash, err := auth.HashPassword(password)
	must(w.t, err)
	u, err := w.AddUser(w.t.Context(), store.NewUser{Name: name, PasswordHash: hash})
	must(w.t, err)
	return &client{w: w, user: u}
}

// opening is the body of a login.
func opening(name, password string) map[string]any {
	return map[string]any{"user": name, "password": password}
}

// cookie is the one that an answer sets.
func (a answer) cookie() *http.Cookie {
	a.t.Helper()
	all := (&http.Response{Header: a.header}).Cookies()
	if len(all) != 1 {
		a.t.Fatalf("cookies %v", a.header["Set-Cookie"])
	}
	return all[0]
}

// open logs the client in and keeps the cookie.
func (c *client) open(password string) answer {
	c.w.t.Helper()
	a := c.do("POST", "/session", opening(c.user.Name, password)).wants(200)
	c.jar = []*http.Cookie{a.cookie()}
	return a
}

// again is another browser of the same user.
func (c *client) again() *client { return &client{w: c.w, user: c.user} }

func TestSession(t *testing.T) {
	w := newWorld(t)
	ada := w.browser("ada", "secret")
	a := ada.do("POST", "/session", opening("ADA", "secret"), "User-Agent: Browser/1").wants(200)
	cookie := a.cookie()
	want := &http.Cookie{Name: "holdfast_session", Value: cookie.Value, Path: "/", MaxAge: 30 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteStrictMode, Raw: cookie.Raw}
	if cookie.String() != want.String() || len(cookie.Value) != 43 {
		t.Errorf("cookie %s, want %s", cookie, want)
	}
	var login rest.Login
	a.into(&login)
	if login.Kind != "session" || login.User.Name != "ada" || !login.Session.Current || login.Session.Agent != "Browser/1" || strings.Contains(a.body, cookie.Value) {
		t.Errorf("login %s", a.body)
	}
	ada.jar = []*http.Cookie{cookie}
	again := ada.do("GET", "/session", nil).wants(200)
	again.into(&login)
	if login.Session == nil || !login.Session.Current || strings.Contains(again.body, cookie.Value) || again.header.Get("Set-Cookie") != "" {
		t.Errorf("login %s", again.body)
	}
	var m rest.Me
	ada.do("GET", "/me", nil).wants(200).into(&m)
	if m != (rest.Me{ID: ada.user.ID, Name: "ada", Workspace: fmt.Sprint("personal-", ada.user.ID)}) {
		t.Errorf("me: %+v", m)
	}
	gone := ada.do("DELETE", "/session", nil).wants(204).cookie()
	if gone.Name != cookie.Name || gone.Path != "/" || gone.MaxAge >= 0 || gone.Value != "" {
		t.Errorf("cookie %v", gone)
	}
	ada.do("GET", "/me", nil).refuses(401, "login.required")
	ada.do("DELETE", "/session", nil).refuses(401, "login.required")
}

// TestRefusedLoginsLookAlike: whoever guesses learns nothing about names.
func TestRefusedLoginsLookAlike(t *testing.T) {
	w := newWorld(t)
	ada := w.browser("ada", "secret")
	gone := w.browser("gone", "secret")
	yes := true
	_, err := w.SetUser(t.Context(), "gone", store.UserPatch{Disabled: &yes})
	must(t, err)
	_, err = w.AddUser(t.Context(), store.NewUser{Name: auth.Anonymous, PasswordHash: gone.user.PasswordHash})
	must(t, err)
	phone := ada.limited(store.NewAccount{Name: "phone"}).token
	first := ada.do("POST", "/session", opening("ada", "wrong"))
	first.refuses(401, "login.required")
	for _, c := range [][2]string{{"nobody", "secret"}, {"gone", "secret"}, {"ada", phone}, {auth.Anonymous, "secret"}, {`X\ada`, "secret"}} {
		a := ada.do("POST", "/session", opening(c[0], c[1]))
		if a.status != first.status || a.body != first.body || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %s", c[0], a.status, a.body)
		}
	}
	a := ada.do("POST", "/session", map[string]any{"user": "ada", "password": strings.Repeat("s3cret", 300)})
	a.refuses(400, "request.invalid")
	if strings.Contains(a.body, "s3cret") {
		t.Errorf("the answer shows the password: %s", a.body)
	}
	for i := range 20 {
		ada.do("POST", "/session", opening("ada", fmt.Sprint("wrong ", i)))
	}
	a = ada.do("POST", "/session", opening("ada", "secret"))
	a.refuses(429, "login.braked")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// TestCookieOverHTTPS: prefix and attributes, and that a cookie of another name
// does not count.
func TestCookieOverHTTPS(t *testing.T) {
	for _, c := range []struct{ external, name string }{{"", "__Host-holdfast_session"}, {"/files", "__Secure-holdfast_session"}} {
		w := newWorld(t, func(_ *store.Options, o *rest.Options) { o.External = func(*http.Request) string { return c.external } })
		server := httptest.NewTLSServer(w.api)
		t.Cleanup(server.Close)
		w.url = server.URL + rest.Prefix
		w.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		ada := w.browser("ada", "secret")
		cookie := ada.open("secret").cookie()
		if cookie.Name != c.name || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != c.external+"/" || cookie.Domain != "" {
			t.Errorf("cookie %s", cookie)
		}
		ada.do("GET", "/me", nil).wants(200)
		plain := *cookie
		plain.Name = "holdfast_session"
		ada.jar = []*http.Cookie{&plain}
		ada.do("GET", "/me", nil).refuses(401, "login.required")
		ada.jar = []*http.Cookie{cookie, cookie}
		ada.do("GET", "/me", nil).refuses(401, "login.required")
	}
}

// TestAuthorizationCounts: an Authorization header is what counts, right or wrong,
// whatever cookie is beside it.
func TestAuthorizationCounts(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.browser("ada", "secret"), w.user("bob")
	ada.open("secret")
	bob.jar = ada.jar
	var login rest.Login
	bob.do("GET", "/session", nil).wants(200).into(&login)
	if login.User.Name != "bob" || login.Kind != "app_password" || login.Session != nil || login.AppPassword.Name != "tests" {
		t.Errorf("login %+v", login)
	}
	ada.do("GET", "/session", nil, "Authorization: Bearer hf-wrong").refuses(401, "login.required")
	bob.do("DELETE", "/session", nil).refuses(403, "login.app_password")
	ada.do("DELETE", "/session", nil, basicOf("ada", "secret")).refuses(404, "session.none")
	ada.do("GET", "/session", nil).wants(200)
	ada.do("GET", "/session", nil, basicOf("ada", "secret")).wants(200).into(&login)
	if login.Kind != "password" {
		t.Errorf("login %+v", login)
	}
}

func basicOf(name, password string) string {
	r := httptest.NewRequest("GET", "/", nil)
	r.SetBasicAuth(name, password)
	return "Authorization: " + r.Header.Get("Authorization")
}

// TestNoSessionFixation: each login has a new token, whatever cookie came with it,
// and the session that the browser had ends.
func TestNoSessionFixation(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.browser("ada", "secret"), w.browser("bob", "secret")
	before := bob.open("secret").cookie()
	ada.jar = []*http.Cookie{before} // as planted by bob
	after := ada.open("secret").cookie()
	if after.Value == before.Value {
		t.Fatal("the token stayed")
	}
	bob.do("GET", "/me", nil).refuses(401, "login.required")
	made := &http.Cookie{Name: before.Name, Value: strings.Repeat("A", 43)}
	ada.jar = []*http.Cookie{made}
	if ada.open("secret").cookie().Value == made.Value {
		t.Fatal("a token of the client's choice")
	}
}

func TestSessions(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.browser("ada", "secret"), w.browser("bob", "secret")
	other := ada.again()
	ada.open("secret")
	other.open("secret")
	bob.open("secret")
	var page rest.Page[rest.Session]
	ada.do("GET", "/sessions", nil).wants(200).into(&page)
	if len(page.Items) != 2 || page.Items[0].Current || !page.Items[1].Current || page.Items[0].Address != "127.0.0.1" {
		t.Fatalf("sessions %+v", page)
	}
	id := page.Items[0].ID
	missing := ada.do("DELETE", "/sessions/999", nil)
	missing.refuses(404, "not_found")
	if a := bob.do("DELETE", fmt.Sprint("/sessions/", id), nil); a.status != 404 || a.body != missing.body {
		t.Errorf("%d %s", a.status, a.body)
	}
	other.do("GET", "/me", nil).wants(200)
	ada.do("DELETE", fmt.Sprint("/sessions/", id), nil).wants(204)
	other.do("GET", "/me", nil).refuses(401, "login.required")
	ada.do("GET", "/me", nil).wants(200)
	ada.do("GET", "/sessions", nil, basicOf("ada", "secret")).wants(200)
	ada.limited(store.NewAccount{Name: "phone"}).do("GET", "/sessions", nil).refuses(403, "login.app_password")

	w.clock.Add((7*24*time.Hour + time.Second).Microseconds())
	ada.do("GET", "/me", nil).refuses(401, "login.required")
}

// TestSessionEndsWithItsUser: at once, whoever changed the user.
func TestSessionEndsWithItsUser(t *testing.T) {
	w := newWorld(t)
	ada := w.browser("ada", "secret")
	for outcome, p := range map[string]store.UserPatch{"password": {PasswordHash: &ada.user.PasswordHash}, "role": {Admin: new(bool)}} {
		ada.jar = nil
		ada.open("secret")
		ada.do("GET", "/me", nil).wants(200)
		_, err := w.SetUser(t.Context(), "ada", p)
		must(t, err)
		if a := ada.do("GET", "/me", nil); a.status != 401 {
			t.Errorf("%s: status %d", outcome, a.status)
		}
	}
}

func TestChangeMe(t *testing.T) {
	w := newWorld(t)
	ada := w.browser("ada", "secret")
	other, phone := ada.again(), ada.limited(store.NewAccount{Name: "phone"})
	ada.open("secret")
	other.open("secret")
	var m rest.Me
	ada.do("PATCH", "/me", map[string]any{"display_name": "Ada L."}).wants(200).into(&m)
	if m.DisplayName != "Ada L." || m.Name != "ada" {
		t.Errorf("me %+v", m)
	}
	ada.do("PATCH", "/me", map[string]any{"display_name": "a\nb"}).refuses(400, "name.invalid")
	ada.do("PATCH", "/me", map[string]any{"admin": true}).refuses(400, "request.invalid")
	change := func(old, new string) map[string]any {
		return map[string]any{"password": map[string]any{"old": old, "new": new}}
	}
	phone.do("PATCH", "/me", map[string]any{"display_name": "A."}).wants(200)
	phone.do("PATCH", "/me", change("secret", "n3wer")).refuses(403, "login.app_password")
	ada.limited(store.NewAccount{Name: "reads", ReadOnly: true}).do("PATCH", "/me", map[string]any{}).refuses(403, "login.read_only")
	ada.limited(store.NewAccount{Name: "limited", Scoped: true}).do("PATCH", "/me", map[string]any{}).refuses(403, "login.limited")
	ada.do("PATCH", "/me", change("wrong", "n3wer")).refuses(403, "password.wrong")
	ada.do("PATCH", "/me", change("secret", "a\x00b")).refuses(400, "password.invalid")
	other.do("GET", "/me", nil).wants(200)
	before := ada.jar[0].Value
	a := ada.do("PATCH", "/me", change("secret", "n3wer")).wants(200)
	if strings.Contains(a.body, "n3wer") {
		t.Errorf("the answer shows the password: %s", a.body)
	}
	ada.do("GET", "/me", nil).refuses(401, "login.required")
	other.do("GET", "/me", nil).refuses(401, "login.required")
	ada.jar = []*http.Cookie{a.cookie()}
	if ada.jar[0].Value == before {
		t.Error("the token stayed")
	}
	ada.do("GET", "/me", nil).wants(200)
	phone.do("GET", "/me", nil).wants(200)
	other.do("POST", "/session", opening("ada", "secret")).refuses(401, "login.required")
	other.do("POST", "/session", opening("ada", "n3wer")).wants(200)
}

// TestPagesOfOtherOrigins: what could change something must come from a page of
// this server, under one of its names, or from no page.
func TestPagesOfOtherOrigins(t *testing.T) {
	w := newWorld(t, func(_ *store.Options, o *rest.Options) {
		o.Origins, o.Public = []string{"https://app.example"}, []string{"https://dav.example"}
		o.Known = func(r *http.Request, scheme, host string) bool {
			return scheme+"://"+host == "https://dav.example" || host == r.Host
		}
	})
	ada := w.browser("ada", "secret")
	ada.open("secret")
	host := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), rest.Prefix)
	for _, c := range []struct {
		outcome string
		headers []string
		allowed bool
	}{
		{"no page", nil, true},
		{"own page", []string{"Sec-Fetch-Site: same-origin", "Origin: https://dav.example"}, true},
		{"typed by a user", []string{"Sec-Fetch-Site: none"}, true},
		{"page of another site", []string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"}, false},
		{"page of a sibling", []string{"Sec-Fetch-Site: same-site", "Origin: https://evil.dav.example"}, false},
		{"page that hides its origin", []string{"Sec-Fetch-Site: cross-site", "Origin: null"}, false},
		{"page of this host over plain HTTP", []string{"Sec-Fetch-Site: cross-site", "Origin: http://" + host}, false},
		{"page under another public name", []string{"Sec-Fetch-Site: cross-site", "Origin: https://dav.example"}, true},
		{"old browser, own page", []string{"Origin: http://" + host}, true},
		{"old browser, own page behind a proxy that names another host", []string{"Origin: https://dav.example"}, true},
		{"old browser, page of another site", []string{"Origin: https://evil.example"}, false},
		{"old browser, page that hides its origin", []string{"Origin: null"}, false},
		{"old browser, public host over plain HTTP", []string{"Origin: http://dav.example"}, false},
	} {
		a := ada.do("PATCH", "/me", map[string]any{}, c.headers...)
		if !c.allowed {
			if a.status != 403 || a.code() != "request.cross_origin" {
				t.Errorf("%s: %d %s", c.outcome, a.status, a.body)
			}
		} else if a.status != 200 {
			t.Errorf("%s: %d %s", c.outcome, a.status, a.body)
		}
		if a := ada.do("POST", "/session", opening("ada", "secret"), c.headers...); (a.status == 200) != c.allowed {
			t.Errorf("%s: login %d %s", c.outcome, a.status, a.body)
		} else if c.allowed {
			ada.jar = []*http.Cookie{a.cookie()}
		}
	}
	t.Run("pages of --cors-origin bring their own credentials", func(t *testing.T) {
		named := []string{"Sec-Fetch-Site: same-site", "Origin: https://app.example"}
		ada.do("PATCH", "/me", map[string]any{}, named...).refuses(401, "login.required")
		ada.do("PATCH", "/me", map[string]any{}, append(slices.Clone(named), basicOf("ada", "secret"))...).wants(200)
	})
	t.Run("forms are no logins", func(t *testing.T) {
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
			ada.do("POST", "/session", `{"user":"ada","password":"secret"}`, "Content-Type: "+kind).refuses(415, "request.media_type")
		}
	})
}
