package server_test

import (
	"log/slog"
	"strings"
	"testing"

	"holdfast/server"
	"holdfast/store"
)

// known is a user whom a test adds.
type known struct {
	store.NewUser
	disabled bool
}

// populate makes the database before any server does.
func populate(t *testing.T, cfg server.Config, users []known) {
	t.Helper()
	st, err := cfg.OpenStore(t.Context(), true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range users {
		_, err := st.AddUser(t.Context(), u.NewUser)
		if err == nil && u.disabled {
			_, err = st.SetUser(t.Context(), u.Name, store.UserPatch{Disabled: &u.disabled})
		}
		if err != nil {
			t.Error(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestStartWithUsers(t *testing.T) {
	const (
		warning = "level=WARN msg=\"no administrator can log in"
		ignored = "HOLDFAST_ADMIN_PASSWORD are ignored"
	)
	alice := known{NewUser: store.NewUser{Name: "alice", PasswordHash: "x"}}
	bob := known{NewUser: store.NewUser{Name: "bob", PasswordHash: "x"}}
	root := known{NewUser: store.NewUser{Name: "root", PasswordHash: "x", Admin: true}}
	gone := known{NewUser: store.NewUser{Name: "admin", PasswordHash: "x", Admin: true}, disabled: true}
	mute := known{NewUser: store.NewUser{Name: "adam"}}
	for _, c := range []struct {
		outcome  string
		users    []known
		password server.Secret
		hint     string // whom the hints name
		warned   bool
		told     bool // that the password is ignored
	}{
		{"first start makes an administrator", nil, "secret", "admin", false, false},
		{"the administrator is named", []known{alice, root}, "", "root", false, false},
		{"a password for later is ignored", []known{root}, "secret", "root", false, true},
		{"without administrator, the first user", []known{bob, alice, mute}, "secret", "alice", true, true},
		{"a disabled administrator is none", []known{gone, bob}, "", "bob", true, false},
		{"nobody can log in", []known{gone, mute}, "", "NAME", true, false},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			cfg := config(t)
			cfg.AdminPassword = c.password
			if c.users != nil {
				populate(t, cfg, c.users)
			}
			s := start(t, cfg)
			s.do(request{method: "GET", target: "/healthz"})
			s.wait()
			if out := s.stdout.String(); !strings.Contains(out, "/user:"+c.hint+"\n") || strings.Contains(out, "shown this once") {
				t.Errorf("want hints for %s: %s", c.hint, out)
			}
			log := s.stderr.String()
			if strings.Contains(log, warning) != c.warned {
				t.Errorf("want a warning: %v; %s", c.warned, log)
			}
			if strings.Contains(log, ignored) != c.told {
				t.Errorf("want a word about the password: %v; %s", c.told, log)
			}
		})
	}
}
