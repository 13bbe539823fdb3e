package auth

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/store"
)

// account adds an account and gives its password.
func (f *fixture) account(t *testing.T, user, name string, n store.NewAccount) string {
	t.Helper()
	password := NewAppPassword()
	n.User, n.Name, n.PasswordHash = user, name, HashAppPassword(password)
	if _, err := f.store.AddAccount(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return password
}

// uses replaces the Authenticator's users by those whose UsedAccount is do.
type uses struct {
	Users
	do func(ctx context.Context, id int64) error
}

func (u uses) UsedAccount(ctx context.Context, id int64) error { return u.do(ctx, id) }

func TestNewAppPassword(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		password := NewAppPassword()
		// 32 characters of 32: 160 bits.
		if !regexp.MustCompile(`^hf-[a-z2-7]{32}$`).MatchString(password) || seen[password] {
			t.Fatalf("bad or repeated: %q", password)
		}
		seen[password] = true
	}
	const want = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-2, B.1
	if got := HashAppPassword("abc"); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestAppPassword(t *testing.T) {
	f := newFixture(t)
	f.add(t, "bob", "secret")
	f.add(t, "gone", "secret")
	f.add(t, "nologin", "")
	f.add(t, Anonymous, "")
	end := f.time().Add(time.Hour)
	phone := f.account(t, "alice", "phone", store.NewAccount{ExpiresAt: end, ReadOnly: true})
	gone, only, nobody := f.account(t, "gone", "x", store.NewAccount{}), f.account(t, "nologin", "x", store.NewAccount{}), f.account(t, Anonymous, "x", store.NewAccount{})
	yes := true
	f.set(t, "gone", store.UserPatch{Disabled: &yes})
	for _, c := range []struct {
		outcome, name, password string
		want                    error
	}{
		{"right", "alice", phone, nil},
		{"name in another case", "ALICE", phone, nil},
		{"Windows domain before the name", `WORK\alice`, phone, nil},
		{"a user without a password of their own", "nologin", only, nil},
		{"another user's", "bob", phone, ErrCredentials},
		{"of a missing user", "mallory", phone, ErrCredentials},
		{"of a disabled user", "gone", gone, ErrCredentials},
		{"of the anonymous user", Anonymous, nobody, ErrCredentials},
		{"in another case", "alice", strings.ToUpper(phone), ErrCredentials},
		{"with more after it", "alice", phone + "a", ErrCredentials},
		{"with a blank after it", "alice", phone + " ", ErrCredentials},
		{"its hash instead", "alice", HashAppPassword(phone), ErrCredentials},
		{"one never minted", "alice", NewAppPassword(), ErrCredentials},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			for range 2 { // the second time may be from memory
				in, err := f.Authenticate(basic(c.name, c.password), here)
				if !errors.Is(err, c.want) {
					t.Fatalf("got %v, want %v", err, c.want)
				}
				if err == nil && (in.Account == nil || in.Account.UserID != in.User.ID) || err != nil && in != (Login{}) {
					t.Errorf("login %+v", in)
				}
			}
		})
	}
	t.Run("the user's own password is no account", func(t *testing.T) {
		if in, err := f.Authenticate(basic("alice", "secret"), here); err != nil || in.Account != nil || in.User.Name != "alice" {
			t.Errorf("%+v, %v", in, err)
		}
	})
	t.Run("an own password that looks like one", func(t *testing.T) {
		own := NewAppPassword()
		f.add(t, "odd", own)
		if in, err := f.Authenticate(basic("odd", own), here); err != nil || in.Account != nil {
			t.Errorf("%+v, %v", in, err)
		}
	})
	t.Run("it opens to its very end and not beyond", func(t *testing.T) {
		f.clock.Store(end.UnixMicro())
		if in, err := f.Authenticate(basic("alice", phone), here); err != nil || !in.Account.ReadOnly {
			t.Fatalf("at the end: %+v, %v", in, err)
		}
		f.clock.Add(1)
		if err := f.login("alice", phone); !errors.Is(err, ErrCredentials) {
			t.Fatalf("a microsecond later: %v", err)
		}
	})
}

// TestAppPasswordEnds: an outcome is never remembered; whatever ends an account
// ends it with the next request.
func TestAppPasswordEnds(t *testing.T) {
	f := newFixture(t)
	yes, hash := true, cheapHash("other")
	for user, c := range map[string]struct {
		outcome string
		change  func(ctx context.Context, user string) error
		want    error
	}{
		"bob": {"revoked", func(ctx context.Context, user string) error {
			return f.store.RemoveAccount(ctx, user, "phone", store.Actor{})
		}, ErrCredentials},
		"carl": {"the user is disabled", func(ctx context.Context, user string) error {
			_, err := f.store.SetUser(ctx, user, store.UserPatch{Disabled: &yes})
			return err
		}, ErrCredentials},
		"dora": {"the user is removed", func(ctx context.Context, user string) error {
			return f.store.RemoveUser(ctx, user, store.Actor{})
		}, ErrCredentials},
		"eve": {"the user leaves the team", func(ctx context.Context, user string) error {
			return f.store.RemoveMember(ctx, "of "+user, user, store.Actor{})
		}, ErrCredentials},
		"fay": {"the team is removed", func(ctx context.Context, user string) error {
			return f.store.RemoveTeam(ctx, "of "+user, store.Actor{})
		}, ErrCredentials},
		"gil": {"a new password of the user ends none", func(ctx context.Context, user string) error {
			_, err := f.store.SetUser(ctx, user, store.UserPatch{PasswordHash: &hash})
			return err
		}, nil},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			f.add(t, user, "secret")
			if _, err := f.store.AddTeam(t.Context(), store.NewTeam{Name: "of " + user, Owner: user}); err != nil {
				t.Fatal(err)
			}
			phone := f.account(t, user, "phone", store.NewAccount{Team: "of " + user})
			if err := f.login(user, phone); err != nil {
				t.Fatal(err)
			}
			if err := c.change(t.Context(), user); err != nil {
				t.Fatal(err)
			}
			if err := f.login(user, phone); !errors.Is(err, c.want) {
				t.Fatalf("afterwards: %v", err)
			}
		})
	}
	t.Run("one refused before it was added", func(t *testing.T) {
		password := NewAppPassword()
		if err := f.login("alice", password); !errors.Is(err, ErrCredentials) {
			t.Fatal(err)
		}
		n := store.NewAccount{User: "alice", Name: "phone", PasswordHash: HashAppPassword(password)}
		if _, err := f.store.AddAccount(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		if err := f.login("alice", password); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestAppPasswordTakesNoHash(t *testing.T) {
	f := newFixture(t)
	phone := f.account(t, "alice", "phone", store.NewAccount{})
	for range 5 {
		if err := f.login("alice", phone); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.hashes.Load(); n != 0 {
		t.Errorf("%d hashes", n)
	}
}

// TestWrongAppPasswordsAreBraked: to the brake they are passwords like any other.
func TestWrongAppPasswordsAreBraked(t *testing.T) {
	f := newFixture(t)
	f.verify = func(string, string) (bool, error) { return false, nil }
	phone := f.account(t, "alice", "phone", store.NewAccount{})
	f.add(t, "bob", "secret")
	bobs := f.account(t, "bob", "phone", store.NewAccount{})
	guesses := []string{bobs, "hf-x"} // right elsewhere, and of no form
	for len(guesses) < brakeBurst {
		guesses = append(guesses, NewAppPassword())
	}
	for i, guess := range guesses {
		if err := f.login("alice", guess); !errors.Is(err, ErrCredentials) {
			t.Fatalf("guess %d: %v", i, err)
		}
	}
	var braked *BrakeError
	for _, guess := range []string{NewAppPassword(), "a password of their own"} {
		if err := f.login("alice", guess); !errors.As(err, &braked) {
			t.Errorf("guess after the burst: %v", err)
		}
	}
	if err := f.login("alice", phone); err != nil {
		t.Errorf("the right one: %v", err)
	}
	if err := f.login("alice", NewAppPassword()); !errors.As(err, &braked) {
		t.Errorf("a guess after the right one: %v", err)
	}
}

func TestUseIsNotedOnceAMinute(t *testing.T) {
	f := newFixture(t)
	notes := make(chan error, 10)
	f.users = uses{f.store, func(ctx context.Context, id int64) error {
		err := f.store.UsedAccount(ctx, id)
		notes <- err
		return err
	}}
	phone := f.account(t, "alice", "phone", store.NewAccount{})
	start := f.time()
	for _, c := range []struct {
		outcome string
		at      time.Duration
		noted   bool
		want    time.Duration
	}{
		{"the first use", 0, true, 0},
		{"a use just before a minute is over", time.Minute - time.Microsecond, false, 0},
		{"a use a minute later", time.Minute, true, time.Minute},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			f.clock.Store(start.Add(c.at).UnixMicro())
			ctx, cancel := context.WithCancel(t.Context())
			if _, err := f.Authenticate(basic("alice", phone).WithContext(ctx), here); err != nil {
				t.Fatal(err)
			}
			cancel() // the request is over, its note is not
			if c.noted {
				if err := <-notes; err != nil {
					t.Fatal(err)
				}
			}
			all, err := f.store.Accounts(t.Context(), "alice")
			if err != nil || !all[0].LastUsed.Equal(start.Add(c.want)) {
				t.Errorf("last use %v, %v", all[0].LastUsed, err)
			}
		})
	}
	time.Sleep(10 * time.Millisecond) // for a note too many
	if n := len(notes); n > 0 {
		t.Errorf("%d notes too many", n)
	}
}

func TestNotingAUseDelaysAndFailsNothing(t *testing.T) {
	f := newFixture(t)
	var started atomic.Int64
	release := make(chan struct{})
	done := make(chan struct{})
	f.users = uses{f.store, func(context.Context, int64) error {
		started.Add(1)
		<-release
		defer close(done)
		return errors.New("no note can be kept")
	}}
	phone := f.account(t, "alice", "phone", store.NewAccount{})
	for i := range 5 {
		if err := f.login("alice", phone); err != nil {
			t.Fatalf("login %d: %v", i, err)
		}
	}
	close(release)
	<-done
	if n := started.Load(); n != 1 {
		t.Errorf("%d notes of one account at once", n)
	}
}

// TestErrorsTellNoSecret: what is logged of a failed login names neither the
// password nor its hash.
func TestErrorsTellNoSecret(t *testing.T) {
	f := newFixture(t)
	phone := f.account(t, "alice", "phone", store.NewAccount{})
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	err := f.login("alice", phone)
	if err == nil || errors.Is(err, ErrCredentials) {
		t.Fatalf("got %v, want the store's error", err)
	}
	for _, secret := range []string{phone, HashAppPassword(phone)[len("sha256:"):]} {
		if text := fmt.Sprintf("%+v", err); strings.Contains(text, secret) {
			t.Error(text)
		}
	}
}

// noAccounts fails whatever is looked up as an app password.
type noAccounts struct{ Users }

func (noAccounts) AccountByHash(context.Context, string) (store.User, store.Account, error) {
	return store.User{}, store.Account{}, errors.New("looked up")
}

func TestOnlyAppPasswordsAreLookedUpAsSuch(t *testing.T) {
	f := newFixture(t)
	f.users = noAccounts{f.store}
	if err := f.login("alice", "secret"); err != nil {
		t.Error(err)
	}
	if err := f.login("alice", "hf-"+strings.Repeat("a", 32)); err == nil || errors.Is(err, ErrCredentials) {
		t.Errorf("one of the form: %v, want the look-up's error", err)
	}
}
