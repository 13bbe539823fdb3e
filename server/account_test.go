package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
		{"an account without a limit does", &store.Account{ID: 5, UserID: 7, Scope: store.ScopeAll}, dav.Principal{Account: 5, Workspace: own}},
		{"one that only reads", &store.Account{ID: 5, UserID: 7, Scope: store.ScopeAll, ReadOnly: true}, dav.Principal{Account: 5, Workspace: own, ReadOnly: true}},
		{"one for the user's own workspace", &store.Account{ID: 5, UserID: 7, Scope: store.ScopePersonal}, dav.Principal{Account: 5, Workspace: own, Scoped: true}},
		{"one for a folder of it", &store.Account{ID: 5, UserID: 7, Scope: store.ScopePersonal, Root: 12}, dav.Principal{Account: 5, Workspace: own, Base: 12, Scoped: true}},
		{"one for a team's", &store.Account{ID: 5, UserID: 7, Scope: store.ScopeTeam, TeamID: 3}, dav.Principal{Account: 5, Workspace: team, Scoped: true}},
		{"one for a folder of that", &store.Account{ID: 5, UserID: 7, Scope: store.ScopeTeam, TeamID: 3, Root: 12, ReadOnly: true},
			dav.Principal{Account: 5, Workspace: team, Base: 12, Scoped: true, ReadOnly: true}},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			c.want.UserID, c.want.Name = 7, "ada"
			if got := principal(auth.Login{User: user, Account: c.account}); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestAccountEndsDuringUpload: the body of a PUT that an app password began comes
// after that was removed.
func TestAccountEndsDuringUpload(t *testing.T) {
	s, _ := assembled(t, nil)
	web := httptest.NewServer(s.http.Handler)
	defer web.Close()
	// A client that waits for 100 Continue reads the body once the server asks.
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	defer client.CloseIdleConnections()
	passwords := map[string]string{}
	for _, name := range []string{"phone", "laptop"} {
		passwords[name] = auth.NewAppPassword()
		n := store.NewAccount{User: "admin", Name: name, PasswordHash: auth.HashAppPassword(passwords[name])}
		if _, err := s.store.AddAccount(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	put := func(account, remove string) int {
		t.Helper()
		var asked atomic.Bool
		body := &onRead{Reader: strings.NewReader("x"), do: func() error {
			asked.Store(true)
			return s.store.RemoveAccount(t.Context(), "admin", remove, store.Actor{})
		}}
		r, err := http.NewRequestWithContext(t.Context(), "PUT", web.URL+"/dav/"+account, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Expect", "100-continue")
		r.SetBasicAuth("admin", passwords[account])
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if !asked.Load() {
			t.Error("refused before the body was asked for")
		}
		return resp.StatusCode
	}
	if status := put("phone", "phone"); status != http.StatusForbidden {
		t.Errorf("its own account removed: status %d, want 403", status)
	}
	if status, body := s.ask(t, "GET", "/dav/phone"); status != http.StatusNotFound {
		t.Errorf("status %d, %s: it was stored", status, body)
	}
	again := store.NewAccount{User: "admin", Name: "phone", PasswordHash: auth.HashAppPassword(passwords["phone"])}
	if _, err := s.store.AddAccount(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if status := put("laptop", "phone"); status != http.StatusCreated {
		t.Errorf("another account removed: status %d, want 201", status)
	}
}

// onRead does something before the first byte is read.
type onRead struct {
	io.Reader
	once sync.Once
	do   func() error
}

func (r *onRead) Read(p []byte) (n int, err error) {
	r.once.Do(func() { err = r.do() })
	if err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
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
