package auth

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// open opens a session by name and password.
func (f *fixture) open(name, password string) (string, error) {
	_, token, err := f.OpenSession(f.t.Context(), Credentials{Name: name, Password: password, From: here, Agent: "Browser/1"})
	return token, err
}

func (f *fixture) mustOpen(name, password string) string {
	f.t.Helper()
	token, err := f.open(name, password)
	if err != nil {
		f.t.Fatal(err)
	}
	return token
}

// audit are the entries of the audit log whose event begins so, oldest first:
// "actor event subject: detail" each.
func (f *fixture) audit(start string) (all []string) {
	f.t.Helper()
	f.Flush()
	entries, err := f.store.Audit(f.t.Context(), store.AuditFilter{})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Event, start) {
			all = append([]string{fmt.Sprintf("%s %s %s: %s", e.Actor, e.Event, e.Subject, e.Detail)}, all...)
		}
	}
	return all
}

func (f *fixture) wantAudit(start string, want ...string) {
	f.t.Helper()
	if got := f.audit(start); strings.Join(got, "\n") != strings.Join(want, "\n") {
		f.t.Errorf("audit log of %s:\n%s\nwant:\n%s", start, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOpenSession(t *testing.T) {
	f := newFixture(t)
	f.add(t, "nologin", "")
	f.add(t, Anonymous, "secret")
	f.add(t, "gone", "secret")
	yes := true
	f.set(t, "gone", store.UserPatch{Disabled: &yes})
	phone := f.account(t, "alice", "phone", store.NewAccount{})
	for _, c := range []struct {
		outcome, name, password string
		hashes                  int64
		want                    error
	}{
		{"right password", "alice", "secret", 1, nil},
		{"name in another case", "ALICE", "secret", 0, nil}, // remembered: the name has no case
		{"wrong password", "alice", "Secret", 1, ErrCredentials},
		{"unknown user", "mallory", "secret", 1, ErrCredentials},
		{"user without password", "nologin", "secret", 1, ErrCredentials},
		{"disabled user", "gone", "secret", 1, ErrCredentials},
		{"app password", "alice", phone, 1, ErrCredentials},
		{"anonymous user", "Anonymous", "secret", 0, ErrCredentials},
		{"no name", "", "secret", 0, ErrCredentials},
		{"password of any length", "alice", strings.Repeat("x", 1025), 0, ErrCredentials},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			before := f.hashes.Load()
			token, err := f.open(c.name, c.password)
			if !errors.Is(err, c.want) || (token != "") != (err == nil) {
				t.Fatalf("got %q, %v, want %v", token, err, c.want)
			}
			// Who can be guessed at costs a hash, whether there is such a user or not.
			if got := f.hashes.Load() - before; got != c.hashes {
				t.Errorf("%d hashes, want %d", got, c.hashes)
			}
		})
	}
}

func TestBySession(t *testing.T) {
	f := newFixture(t)
	token := f.mustOpen("alice", "secret")
	if !sessionToken.MatchString(token) || token == f.mustOpen("alice", "secret") {
		t.Fatalf("token %q", token)
	}
	in, err := f.BySession(t.Context(), token)
	if err != nil || in.User.Name != "alice" || in.Account != nil || in.Session.Agent != "Browser/1" || in.Session.Address != here.String() {
		t.Fatalf("%+v, %v", in, err)
	}
	for _, other := range []string{"", token[1:], token + "x", strings.ToLower(token), "sha256:" + token, hashToken(token), newSessionToken()} {
		if _, err := f.BySession(t.Context(), other); !errors.Is(err, ErrCredentials) {
			t.Errorf("by %q: %v", other, err)
		}
	}
	t.Run("its use is noted and moves its end", func(t *testing.T) {
		f.clock.Add((6 * 24 * time.Hour).Microseconds())
		if _, err := f.BySession(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		until(t, func() bool {
			all, err := f.store.Sessions(t.Context(), in.User.ID)
			return err == nil && len(all) == 2 && all[1].LastUsed.Equal(f.time()) && all[1].Expires.Equal(f.time().Add(store.SessionIdle))
		})
		f.clock.Add((6 * 24 * time.Hour).Microseconds())
		if _, err := f.BySession(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a change of the password ends it", func(t *testing.T) {
		hash := cheapHash("other")
		f.set(t, "alice", store.UserPatch{PasswordHash: &hash})
		if _, err := f.BySession(t.Context(), token); !errors.Is(err, ErrCredentials) {
			t.Fatal(err)
		}
	})
}

// until waits for what happens beside a request.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for range 200 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("it did not happen")
}

// TestSessionsShareTheBrake: guesses count wherever they are made.
func TestSessionsShareTheBrake(t *testing.T) {
	f := newFixture(t)
	for i := range brakeBurst {
		if i%2 == 0 {
			_, err := f.open("alice", fmt.Sprint("wrong ", i))
			if !errors.Is(err, ErrCredentials) {
				t.Fatal(err)
			}
		} else if err := f.login("alice", fmt.Sprint("wrong ", i)); !errors.Is(err, ErrCredentials) {
			t.Fatal(err)
		}
	}
	var braked *BrakeError
	if _, err := f.open("alice", "one more"); !errors.As(err, &braked) {
		t.Errorf("session: %v", err)
	}
	if err := f.login("alice", "another"); !errors.As(err, &braked) {
		t.Errorf("WebDAV: %v", err)
	}
	_, _, err := f.ChangeProfile(t.Context(), Change{Login: Login{User: store.User{Name: "alice"}}, Old: "yet another", New: "new", From: here})
	if !errors.As(err, &braked) {
		t.Errorf("change of the password: %v", err)
	}
}

func TestChangeProfile(t *testing.T) {
	f := newFixture(t)
	token := f.mustOpen("alice", "secret")
	in, err := f.BySession(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	for outcome, c := range map[string]struct {
		old, new string
		want     error
	}{
		"wrong password": {"Secret", "new", ErrWrongPassword},
		"bad password":   {"secret", "a\nb", ErrBadPassword},
		"app password":   {f.account(t, "alice", "phone", store.NewAccount{}), "new", ErrWrongPassword},
	} {
		if _, token, err := f.ChangeProfile(t.Context(), Change{Login: in, Old: c.old, New: c.new, From: here}); !errors.Is(err, c.want) || token != "" {
			t.Errorf("%s: %q, %v, want %v", outcome, token, err, c.want)
		}
	}
	if _, err := f.BySession(t.Context(), token); err != nil {
		t.Fatalf("after refusals: %v", err)
	}
	changed, next, err := f.ChangeProfile(t.Context(), Change{Login: in, Old: "secret", New: "new", From: here})
	if err != nil || next == "" || next == token || changed.User.AuthVersion == in.User.AuthVersion {
		t.Fatalf("%+v, %q, %v", changed, next, err)
	}
	if _, err := f.BySession(t.Context(), token); !errors.Is(err, ErrCredentials) {
		t.Errorf("the former session: %v", err)
	}
	if now, err := f.BySession(t.Context(), next); err != nil || now.Session.ID != changed.Session.ID {
		t.Errorf("the new session: %+v, %v", now, err)
	}
	if err := f.login("alice", "secret"); !errors.Is(err, ErrCredentials) {
		t.Errorf("the former password: %v", err)
	}
	if err := f.login("alice", "new"); err != nil {
		t.Errorf("the new password: %v", err)
	}
	if _, token, err := f.ChangeProfile(t.Context(), Change{Login: Login{User: changed.User}, Old: "new", New: "newer", From: here}); err != nil || token != "" {
		t.Errorf("without a session: %q, %v", token, err)
	}
}

func TestAgentIsShown(t *testing.T) {
	for in, want := range map[string]string{
		"Browser/1 (X; é)":             "Browser/1 (X; é)",
		"a\x00b\tc\u202ed\xff":         "abcd",
		strings.Repeat("x", 300):       strings.Repeat("x", 256),
		"x" + strings.Repeat("é", 300): "x" + strings.Repeat("é", 127),
	} {
		if got := shown(in); got != want {
			t.Errorf("%q is shown as %q", in, got)
		}
	}
}

// TestLoginsAreAudited: each login once an hour, by user, password, door and
// address; refused ones without the name that was sent where nobody has it.
func TestLoginsAreAudited(t *testing.T) {
	f := newFixture(t)
	phone := f.account(t, "alice", "phone", store.NewAccount{})
	there := netip.MustParseAddr("2001:db8::1")
	for range 3 {
		for _, password := range []string{"secret", phone} {
			if _, err := f.Authenticate(basic("Alice", password), here); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.AuthenticateAPI(basic("alice", "secret"), here); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Authenticate(basic("alice", "secret"), there); err != nil {
			t.Fatal(err)
		}
		_ = f.login("alice", "wrong")
		_ = f.login("hunter2", "alice")
		_, _ = f.open("alice", "worse")
		f.Flush() // in this order
	}
	f.mustOpen("alice", "secret")
	want := map[string]bool{
		"alice login alice: WebDAV from 192.0.2.7": true, "alice login alice: WebDAV from 192.0.2.7, app password phone": true,
		"alice login alice: API from 192.0.2.7": true, "alice login alice: WebDAV from 2001:db8::1": true,
		" login.refused alice: WebDAV from 192.0.2.7": true, " login.refused : WebDAV from 192.0.2.7": true,
	}
	got := f.audit("login")
	for _, line := range got {
		if !want[line] {
			t.Errorf("%q", line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d entries: %q", len(got), got)
	}
	f.wantAudit("session", " session.refused alice: browser from 192.0.2.7", "alice session.opened alice: 192.0.2.7")
	f.clock.Add(time.Hour.Microseconds())
	if err := f.login("alice", "secret"); err != nil {
		t.Fatal(err)
	}
	if n := len(f.audit("login")); n != len(want)+1 {
		t.Errorf("%d entries an hour later", n)
	}
}

// TestRefusalsDoNotFillTheLog: what is not noted is counted.
func TestRefusalsDoNotFillTheLog(t *testing.T) {
	f := newFixture(t)
	for i := range 150 {
		f.noteRefused(visit{WebDAV, here}, store.User{Name: fmt.Sprint(i)})
	}
	if n := len(f.audit("login.refused")); n != refusedBurst {
		t.Fatalf("%d entries", n)
	}
	f.clock.Add(refusedRefill.Microseconds())
	f.noteRefused(visit{WebDAV, here}, store.User{Name: "next"})
	f.noteRefused(visit{WebDAV, here}, store.User{Name: "last"})
	all := f.audit("login.refused")
	if got := all[len(all)-1]; len(all) != refusedBurst+1 || got != " login.refused next: WebDAV from 192.0.2.7; 50 more before it" {
		t.Errorf("%d entries, the last %q", len(all), got)
	}
}

func TestNotebookIsBounded(t *testing.T) {
	var b notebook
	for i := range notedMax + 10 {
		b.first(noted{user: int64(i)}, time.Unix(0, 0))
	}
	if n := len(b.seen); n != 10 {
		t.Errorf("%d logins are remembered", n)
	}
}

// TestDigestLoginsAreAudited: right answers and wrong ones.
func TestDigestLoginsAreAudited(t *testing.T) {
	f := newDigestFixture(t)
	right, wrong := f.right(), f.right()
	wrong.password = NewAppPassword()
	for _, c := range []answerer{right, wrong} {
		_, err := f.try(t, "/dav/f", c.header())
		if (err == nil) != (c.password == f.phone) {
			t.Fatal(err)
		}
		f.Flush()
	}
	f.wantAudit("login", "Ada login Ada: WebDAV from 192.0.2.1, app password phone", " login.refused Ada: WebDAV from 192.0.2.1")
}
