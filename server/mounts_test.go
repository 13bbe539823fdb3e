package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/server/auth"
	"holdfast/store"
)

// ask sends a request as the administrator.
func (s *Server) ask(t *testing.T, method, target string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	r.Host = "files.example"
	r.Header.Set("Depth", "1")
	r.SetBasicAuth("admin", "secret")
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestTeamsHaveDoors(t *testing.T) {
	s, _ := assembled(t, nil)
	if status, body := s.ask(t, "PROPFIND", "/"); status != http.StatusMultiStatus || strings.Contains(body, "teams") {
		t.Errorf("status %d, %s: without a team there is no collection of them", status, body)
	}
	if _, body := s.ask(t, "GET", "/"); strings.Contains(body, "teams") {
		t.Errorf("the page of somebody without a team: %s", body)
	}
	if _, err := s.store.AddTeam(t.Context(), store.NewTeam{Name: "R&D <b>(x)", Owner: "admin"}); err != nil {
		t.Fatal(err)
	}
	const team = "/teams/R%26D%20%3Cb%3E(x)/"
	for _, c := range []struct {
		outcome        string
		method, target string
		want           int
		text           string
	}{
		{"root", "PROPFIND", "/", 207, "<D:href>/teams/</D:href>"},
		{"collection of teams", "PROPFIND", "/teams/", 207, "<D:href>" + team + "</D:href>"},
		{"collection of teams without a slash", "PROPFIND", "/teams", 207, "<D:href>" + team + "</D:href>"},
		{"collection of teams spelled otherwise", "PROPFIND", "//%74eams/.", 207, "<D:href>" + team + "</D:href>"},
		{"team", "PROPFIND", team, 207, "<D:displayname>R&amp;D &lt;b&gt;(x)</D:displayname>"},
		{"team without a slash", "PROPFIND", strings.TrimSuffix(team, "/"), 207, ""},
		{"new file", "PUT", team + "f", 201, ""},
		{"no team", "PROPFIND", "/teams/none/", 404, ""},
		{"no file beside the teams", "PUT", "/teams/f", 404, ""},
		{"no file in place of the teams", "PUT", "/teams/", 405, ""},
		{"page", "GET", "/", 200, "net use * http://files.example/dav /user:admin"},
		{"page: the team's name is text", "GET", "/", 200, `<a href="/teams/R%26D%20%3Cb%3E%28x%29/">R&amp;D &lt;b&gt;(x)</a></h2>`},
		{"page: the team's URL is one word of a shell", "GET", "/", 200, "mount -t davfs &#39;http://files.example" + team + "&#39; /mnt/dav"},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			if status, body := s.ask(t, c.method, c.target); status != c.want || !strings.Contains(body, c.text) {
				t.Errorf("status %d, want %d with %s:\n%s", status, c.want, c.text, body)
			}
		})
	}
}

func TestTeamsNeedALogin(t *testing.T) {
	s, _ := assembled(t, func(cfg *Config) { cfg.Anonymous = true })
	for _, target := range []string{"/teams", "/teams/", "/teams/x/"} {
		r := httptest.NewRequest("OPTIONS", target, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s: status %d, want 401", target, w.Code)
		}
	}
}

// TestViewersAccount: an app password for a team's workspace may do what its
// user's role allows there, and Allow says so.
func TestViewersAccount(t *testing.T) {
	s, _ := assembled(t, nil)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"alice", "bob"} {
		_, err := s.store.AddUser(t.Context(), store.NewUser{Name: name})
		must(err)
	}
	_, err := s.store.AddTeam(t.Context(), store.NewTeam{Name: "crew", Owner: "alice"})
	must(err)
	must(s.store.SetMember(t.Context(), "crew", "bob", store.Writer, store.Actor{}))
	password := auth.NewAppPassword()
	_, err = s.store.AddAccount(t.Context(), store.NewAccount{User: "bob", Name: "phone", Team: "crew", PasswordHash: auth.HashAppPassword(password)})
	must(err)
	send := func(method string) (int, string) {
		r := httptest.NewRequest(method, "/dav/f", nil)
		r.SetBasicAuth("bob", password)
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w.Code, w.Header().Get("Allow")
	}
	wants := func(put int, writes bool) {
		t.Helper()
		if status, _ := send("PUT"); status != put {
			t.Errorf("PUT: status %d, want %d", status, put)
		}
		if _, allow := send("OPTIONS"); strings.Contains(allow, "PUT") != writes {
			t.Errorf("Allow: %s", allow)
		}
	}
	wants(http.StatusCreated, true)
	must(s.store.SetMember(t.Context(), "crew", "bob", store.Viewer, store.Actor{}))
	wants(http.StatusForbidden, false)
}

// TestRemoteMounts: the own mount's other URLs have the door of the mount, and a
// name for whoever came without one.
func TestRemoteMounts(t *testing.T) {
	s, _ := assembled(t, func(cfg *Config) { cfg.Anonymous = true })
	send := func(method, target string) int {
		r := httptest.NewRequest(method, target, strings.NewReader("f"))
		r.Host = "localhost"
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		method, target string
		want           int
	}{
		{"PUT", "/remote.php/dav/files/anonymous/f", http.StatusCreated},
		{"GET", "/dav/f", http.StatusOK},
		{"GET", "/remote.php/webdav/f", http.StatusOK},
		{"OPTIONS", "/remote.php/", http.StatusOK},
		{"GET", "/remote.php/dav/files/admin/f", http.StatusNotFound},
		{"GET", "/remote.php/none", http.StatusUnauthorized}, // no door
	} {
		if got := send(c.method, c.target); got != c.want {
			t.Errorf("%s %s: status %d, want %d", c.method, c.target, got, c.want)
		}
	}
	s, _ = assembled(t, nil)
	if got := send("GET", "/remote.php/dav/files/anonymous/f"); got != http.StatusUnauthorized {
		t.Errorf("without --anonymous: status %d", got)
	}
}
