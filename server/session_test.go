package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"

	"holdfast/server/auth"
	"holdfast/store"
)

// api sends a request to the API without a login but what the headers say.
func (v *served) api(status int, method, path, body string, headers ...string) (*http.Response, string) {
	v.t.Helper()
	if body != "" {
		headers = append([]string{"Content-Type: application/json"}, headers...)
	}
	return v.want(status, call{method: method, target: "/api/v1" + path, body: body, headers: headers, anonymous: true})
}

const adminLogin = `{"user":"admin","password":"secret"}`

// onlyCookie is the one that an answer sets.
func onlyCookie(t *testing.T, resp *http.Response) *http.Cookie {
	t.Helper()
	all := resp.Cookies()
	if len(all) != 1 {
		t.Fatalf("cookies %v", resp.Header["Set-Cookie"])
	}
	return all[0]
}

func sends(c *http.Cookie) string { return "Cookie: " + c.Name + "=" + c.Value }

// TestSessionOfABrowser: from login to logout over TLS, seen by two servers on one
// database, and by no other door.
func TestSessionOfABrowser(t *testing.T) {
	var data string
	v := secure(t, func(c *Config) { data = c.Data })
	other := secure(t, func(c *Config) { c.Data = data })

	resp, _ := v.api(200, "POST", "/session", adminLogin, "Origin: "+v.base, "Sec-Fetch-Site: same-origin")
	cookie := onlyCookie(t, resp)
	line := resp.Header.Get("Set-Cookie")
	if cookie.Name != "__Host-holdfast_session" || cookie.Path != "/" || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Domain != "" {
		t.Errorf("cookie %s", line)
	}
	if got := resp.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control %q", got)
	}
	for _, s := range []*served{v, other} {
		if _, body := s.api(200, "GET", "/session", "", sends(cookie)); !strings.Contains(body, `"kind":"session"`) {
			t.Error(body)
		}
		for _, target := range []string{"/dav/", "/", "/principals/admin/", "/remote.php/webdav/"} {
			s.want(401, call{method: "PROPFIND", target: target, headers: []string{"Depth: 0", sends(cookie)}, anonymous: true})
		}
		s.want(401, call{method: "PUT", target: "/dav/f", body: "x", headers: []string{sends(cookie)}, anonymous: true})
	}
	v.api(401, "GET", "/session", "", "Cookie: holdfast_session="+cookie.Value)

	// Another password, set at one server, ends the session at both.
	resp, _ = other.api(200, "PATCH", "/me", `{"password":{"old":"secret","new":"an0ther"}}`, sends(cookie))
	next := onlyCookie(t, resp)
	v.api(401, "GET", "/session", "", sends(cookie))
	v.api(200, "GET", "/session", "", sends(next))
	v.want(401, call{method: "GET", target: "/dav/"}) // with the former one
	resp, _ = v.api(204, "DELETE", "/session", "", sends(next), "Sec-Fetch-Site: same-origin")
	if gone := onlyCookie(t, resp); gone.Name != cookie.Name || gone.MaxAge >= 0 || !gone.Secure || gone.Path != "/" {
		t.Errorf("cookie %s", resp.Header.Get("Set-Cookie"))
	}
	other.api(401, "GET", "/session", "", sends(next))

	logs := v.log.String() + other.log.String()
	if !strings.Contains(logs, "path=/api/v1/session status=200 user=admin") {
		t.Errorf("the log does not say who: %s", logs)
	}
	for _, secret := range []string{"secret", "an0ther", cookie.Value, next.Value} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
}

// TestSessionBehindAProxy: what a cookie is like, and whose pages may use it,
// where a proxy ends TLS.
func TestSessionBehindAProxy(t *testing.T) {
	trusting := func(urls ...string) func(*Config) {
		return func(c *Config) { c.TrustedProxy, c.PublicURL = []string{"127.0.0.1"}, urls }
	}
	named := func(c *Config) { c.PublicURL = []string{"https://dav.example"} }
	for _, c := range []struct {
		outcome, prefix string
		change          func(*Config)
		forward         func(*httputil.ProxyRequest)
		name            string
	}{
		{"it keeps Host, and the URL is named", "", named, keepHost, "__Host-holdfast_session"},
		{"it says what it forwards", "", trusting(), saysForwards, "__Host-holdfast_session"},
		{"it strips a path and says what it forwards", "/files", trusting("https://dav.example/files"), saysForwards, "__Secure-holdfast_session"},
		{"it says what it strips", "/files", trusting(), saysPrefix, "__Secure-holdfast_session"},
		{"it rewrites Host and says nothing", "", named, func(r *httputil.ProxyRequest) { r.Out.Host = "backend:8080" }, "holdfast_session"},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			v, public := behind(t, c.prefix, c.change, c.forward)
			send := func(status int, method, path, body string, headers ...string) *http.Response {
				t.Helper()
				headers = append(headers, "Content-Type: application/json")
				resp, _ := v.want(status, call{method: method, target: c.prefix + "/api/v1" + path, host: "dav.example", body: body, headers: headers, anonymous: true})
				return resp
			}
			cookie := onlyCookie(t, send(200, "POST", "/session", adminLogin, "Origin: https://dav.example"))
			if cookie.Name != c.name || cookie.Path != c.prefix+"/" || cookie.Secure != strings.HasPrefix(c.name, "__") {
				t.Errorf("cookie %s", cookie)
			}
			send(200, "GET", "/me", "", sends(cookie))
			send(200, "PATCH", "/me", `{}`, sends(cookie), "Origin: https://dav.example", "Sec-Fetch-Site: same-origin")
			send(200, "PATCH", "/me", `{}`, sends(cookie), "Origin: https://dav.example")
			for _, origin := range []string{"https://evil.example", "https://dav.example.evil.example", "null"} {
				send(403, "PATCH", "/me", `{}`, sends(cookie), "Origin: "+origin)
				send(403, "PATCH", "/me", `{}`, sends(cookie), "Origin: "+origin, "Sec-Fetch-Site: cross-site")
				send(403, "POST", "/session", adminLogin, "Origin: "+origin, "X-Forwarded-Host: evil.example")
			}
			if c.name == "holdfast_session" {
				return // the paths in answers are the server's own too
			}
			_, body := v.want(200, call{method: "GET", target: c.prefix + "/api/v1/me/mounts", host: "dav.example", headers: []string{sends(cookie)}, anonymous: true})
			if !strings.Contains(body, `"url":"`+public+`/dav/"`) || !strings.Contains(body, "davs://admin@dav.example"+c.prefix+"/dav/") {
				t.Errorf("mounts %s", body)
			}
		})
	}
}

// TestMountsOfTheAPI: what a login opens, and how.
func TestMountsOfTheAPI(t *testing.T) {
	v := serve(t, nil)
	hash, err := auth.HashPassword("secret")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.store.AddUser(t.Context(), store.NewUser{Name: "bob", PasswordHash: hash}); err != nil {
		t.Fatal(err)
	}
	ops, err := v.store.AddTeam(t.Context(), store.NewTeam{Name: "Ops & Co", Owner: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.store.SetMember(t.Context(), ops.Name, "admin", store.Viewer, store.Actor{}); err != nil {
		t.Fatal(err)
	}
	admin, err := v.store.User(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	own, team := fmt.Sprint("personal-", admin.ID), fmt.Sprint("team-", ops.ID)
	for outcome, c := range map[string]struct {
		login store.NewAccount
		want  []string
	}{
		"everything":        {store.NewAccount{Name: "a"}, []string{own + " owner false /dav/", team + " viewer true /teams/Ops%20&%20Co/"}},
		"only to read":      {store.NewAccount{Name: "b", ReadOnly: true}, []string{own + " owner true /dav/", team + " viewer true /teams/Ops%20&%20Co/"}},
		"one's own":         {store.NewAccount{Name: "c", Scoped: true}, []string{own + " owner false /dav/"}},
		"team, of a viewer": {store.NewAccount{Name: "d", Team: ops.Name}, []string{team + " viewer true /dav/"}},
	} {
		t.Run(outcome, func(t *testing.T) {
			_, body := v.api(200, "GET", "/me/mounts", "", "Authorization: Bearer "+v.account(c.login))
			var page struct {
				Items []struct {
					Workspace, Role, URL string
					ReadOnly             bool `json:"read_only"`
					Clients              []struct{ Client, How string }
				}
			}
			if err := json.Unmarshal([]byte(body), &page); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range page.Items {
				path, _ := strings.CutPrefix(m.URL, v.base)
				got = append(got, fmt.Sprint(m.Workspace, " ", m.Role, " ", m.ReadOnly, " ", strings.ReplaceAll(path, "%26", "&")))
				if len(m.Clients) < 6 || !slices.ContainsFunc(m.Clients, func(h struct{ Client, How string }) bool {
					return h.Client == "Finder" && strings.HasSuffix(h.How, m.URL)
				}) {
					t.Errorf("hints %v", m.Clients)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("mounts %q, want %q", got, c.want)
			}
		})
	}
}

// TestGuessesCountAtEveryDoor: the API and WebDAV have one brake.
func TestGuessesCountAtEveryDoor(t *testing.T) {
	v := serve(t, nil)
	basic := func(password string) string {
		r := v.request(call{method: "GET", target: "/"})
		r.SetBasicAuth("admin", password)
		return "Authorization: " + r.Header.Get("Authorization")
	}
	for i := range 20 {
		switch password := fmt.Sprint("wrong ", i); i % 3 {
		case 0:
			v.api(401, "POST", "/session", `{"user":"admin","password":"`+password+`"}`)
		case 1:
			v.api(401, "GET", "/me", "", basic(password))
		default:
			v.want(401, call{method: "GET", target: "/dav/", headers: []string{basic(password)}, anonymous: true})
		}
	}
	v.api(429, "POST", "/session", `{"user":"admin","password":"one more"}`)
	v.api(429, "GET", "/me", "", basic("another"))
	v.want(429, call{method: "GET", target: "/dav/", headers: []string{basic("yet another")}, anonymous: true})
}

// TestLoginsAreInTheAuditLog: of every door, and not lost when the server stops.
func TestLoginsAreInTheAuditLog(t *testing.T) {
	s, _ := assembled(t, nil)
	data := s.cfg.Data
	for _, target := range []string{"/dav/", "/api/v1/me"} {
		s.ask(t, "GET", target)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	v := serve(t, func(c *Config) { c.Data = data })
	_, body := v.api(200, "GET", "/admin/audit?event=login", "", "Authorization: Bearer "+v.account(store.NewAccount{Name: "reads", ReadOnly: true}))
	for _, door := range []string{"WebDAV", "API"} {
		if !strings.Contains(body, `"detail":"`+door+` from 192.0.2.1"`) {
			t.Errorf("no login at %s: %s", door, body)
		}
	}
}
