package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/dav"
	"holdfast/lockns"
	"holdfast/server/auth"
	"holdfast/store"
)

func TestPrincipal(t *testing.T) {
	user := store.User{ID: 7, Name: "ada"}
	own, team := lockns.Workspace{Kind: lockns.Personal, ID: 7}, lockns.Workspace{Kind: lockns.Team, ID: 3}
	for _, c := range []struct {
		outcome string
		account *store.Account
		want    dav.Principal
	}{
		{"the user's own password opens all", nil, dav.Principal{Workspace: own}},
		{"an account without a limit does", &store.Account{UserID: 7, Scope: store.ScopeAll}, dav.Principal{Workspace: own}},
		{"one that only reads", &store.Account{UserID: 7, Scope: store.ScopeAll, ReadOnly: true}, dav.Principal{Workspace: own, ReadOnly: true}},
		{"one for the user's own workspace", &store.Account{UserID: 7, Scope: store.ScopePersonal}, dav.Principal{Workspace: own, Scoped: true}},
		{"one for a folder of it", &store.Account{UserID: 7, Scope: store.ScopePersonal, Root: 12}, dav.Principal{Workspace: own, Base: 12, Scoped: true}},
		{"one for a team's", &store.Account{UserID: 7, Scope: store.ScopeTeam, TeamID: 3}, dav.Principal{Workspace: team, Scoped: true}},
		{"one for a folder of that", &store.Account{UserID: 7, Scope: store.ScopeTeam, TeamID: 3, Root: 12, ReadOnly: true},
			dav.Principal{Workspace: team, Base: 12, Scoped: true, ReadOnly: true}},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			c.want.UserID, c.want.Name = 7, "ada"
			if got := principal(auth.Login{User: user, Account: c.account}); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestLogTellsNoPassword: whatever becomes of a login, its password and what is
// kept of it are not logged.
func TestLogTellsNoPassword(t *testing.T) {
	s, log := assembled(t, nil)
	right, wrong := auth.NewAppPassword(), auth.NewAppPassword()
	n := store.NewAccount{User: "admin", Name: "phone", PasswordHash: auth.HashAppPassword(right)}
	if _, err := s.store.AddAccount(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	send := func(password string, want int) {
		t.Helper()
		r := httptest.NewRequest("PROPFIND", "/dav/", nil)
		r.Header.Set("Depth", "0")
		r.SetBasicAuth("admin", password)
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("status %d, want %d", w.Code, want)
		}
	}
	send(right, http.StatusMultiStatus)
	send(wrong, http.StatusUnauthorized)
	send("secret", http.StatusMultiStatus)
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	send(right, http.StatusServiceUnavailable)
	if n := strings.Count(log.String(), "msg=request"); n != 4 {
		t.Errorf("%d requests logged:\n%s", n, log)
	}
	for _, password := range []string{right, wrong} {
		for _, secret := range []string{password, strings.TrimPrefix(auth.HashAppPassword(password), "sha256:"), basicToken(password)} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("%q is in the log:\n%s", secret, log)
			}
		}
	}
}

// basicToken is what Basic sends of the administrator's login.
func basicToken(password string) string {
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth("admin", password)
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
}
