package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/blob"
	"holdfast/store"
)

var here = netip.MustParseAddr("192.0.2.7")

// fixture is an Authenticator on a real store with one user, alice, that counts
// the hashes it takes.
type fixture struct {
	*Authenticator
	t      *testing.T
	store  *store.Store
	hashes atomic.Int64
	clock  atomic.Int64 // UTC microseconds, of the store and of the Authenticator
}

func (f *fixture) time() time.Time { return time.UnixMicro(f.clock.Load()).UTC() }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	objects, err := blob.NewDir(filepath.Join(dir, "blobs"), blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t}
	f.clock.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
	st, err := store.Open(t.Context(), store.Options{DB: "sqlite:" + filepath.Join(dir, "db"), Blobs: objects, NoSync: true, Now: f.time})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	f.Authenticator, f.store = New(st, Options{Schemes: []Scheme{Basic}}), st
	f.now = f.time
	inner := f.verify
	f.verify = func(hash, password string) (bool, error) {
		f.hashes.Add(1)
		return inner(hash, password)
	}
	f.add(t, "alice", "secret")
	return f
}

func (f *fixture) add(t *testing.T, name, password string) {
	t.Helper()
	hash := ""
	if password != "" {
		hash = cheapHash(password)
	}
	if _, err := f.store.AddUser(t.Context(), store.NewUser{Name: name, PasswordHash: hash}); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) set(t *testing.T, name string, p store.UserPatch) {
	t.Helper()
	if _, err := f.store.SetUser(t.Context(), name, p); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) login(name, password string) error {
	_, err := f.Authenticate(basic(name, password), here)
	return err
}

// cheapHash is a hash that takes no time under the race detector. A stored hash
// is compared by its own parameters.
func cheapHash(password string) string {
	p := params{memory: 64, time: 1, threads: 1, salt: random(saltBytes)}
	return p.encode(p.key(password, keyBytes))
}

func mustHash(t *testing.T, password string) string {
	t.Helper()
	hash, err := HashPassword(password)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func basic(name, password string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/dav/", nil)
	r.SetBasicAuth(name, password)
	return r
}

func TestAuthenticate(t *testing.T) {
	f := newFixture(t)
	f.add(t, "nologin", "")
	f.add(t, Anonymous, "secret") // however it came to have one
	f.add(t, "gone", "secret")
	yes := true
	f.set(t, "gone", store.UserPatch{Disabled: &yes})
	for _, c := range []struct {
		outcome, name, password string
		want                    error
	}{
		{"right password", "alice", "secret", nil},
		{"name in another case", "Alice", "secret", nil},
		{"Windows domain before the name", `WORK\alice`, "secret", nil},
		{"wrong password", "alice", "Secret", ErrCredentials},
		{"empty password", "alice", "", ErrCredentials},
		{"unknown user", "mallory", "secret", ErrCredentials},
		{"user without password", "nologin", "", ErrCredentials},
		{"disabled user", "gone", "secret", ErrCredentials},
		{"anonymous user", "Anonymous", "secret", ErrCredentials},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			for range 2 { // the second time from memory
				if err := f.login(c.name, c.password); !errors.Is(err, c.want) {
					t.Fatalf("got %v, want %v", err, c.want)
				}
			}
		})
	}
}

func TestAuthenticateGivesTheRowAsItIsNow(t *testing.T) {
	f := newFixture(t)
	if err := f.login("alice", "secret"); err != nil {
		t.Fatal(err)
	}
	yes, no := true, false

	t.Run("new role", func(t *testing.T) {
		f.set(t, "alice", store.UserPatch{Admin: &yes})
		in, err := f.Authenticate(basic("alice", "secret"), here)
		if err != nil || !in.User.Admin {
			t.Fatalf("admin %v, %v", in.User.Admin, err)
		}
	})
	t.Run("disabled", func(t *testing.T) {
		f.set(t, "alice", store.UserPatch{Disabled: &yes})
		if err := f.login("alice", "secret"); !errors.Is(err, ErrCredentials) {
			t.Fatal(err)
		}
		f.set(t, "alice", store.UserPatch{Disabled: &no})
		if err := f.login("alice", "secret"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("new password", func(t *testing.T) {
		hash := cheapHash("other")
		f.set(t, "alice", store.UserPatch{PasswordHash: &hash})
		if err := f.login("alice", "secret"); !errors.Is(err, ErrCredentials) {
			t.Fatalf("old password: %v", err)
		}
		if err := f.login("alice", "other"); err != nil {
			t.Fatalf("new password: %v", err)
		}
	})
	t.Run("removed", func(t *testing.T) {
		if err := f.store.RemoveUser(t.Context(), "alice", store.Actor{}); err != nil {
			t.Fatal(err)
		}
		if err := f.login("alice", "other"); !errors.Is(err, ErrCredentials) {
			t.Fatal(err)
		}
	})
}

func TestHashesTaken(t *testing.T) {
	for _, c := range []struct {
		outcome, name, password string
	}{
		{"right password once", "alice", "secret"},
		{"same wrong password once", "alice", "nope"},
		{"unknown user costs one too", "mallory", "secret"},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			f := newFixture(t)
			for range 5 {
				_ = f.login(c.name, c.password) // the outcome is TestAuthenticate's
			}
			if n := f.hashes.Load(); n != 1 {
				t.Errorf("%d hashes for 5 logins", n)
			}
		})
	}
}

func TestStormOfFirstLoginsTakesOneHash(t *testing.T) {
	f := newFixture(t)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			if err := f.login("alice", "secret"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := f.hashes.Load(); n != 1 {
		t.Errorf("%d hashes for 64 equal logins", n)
	}
}

func TestImpatientClientLeavesItsOutcomeBehind(t *testing.T) {
	f := newFixture(t)
	release := make(chan struct{})
	inner := f.verify
	f.verify = func(hash, password string) (bool, error) {
		<-release
		return inner(hash, password)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := f.Authenticate(basic("alice", "secret").WithContext(ctx), here); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("first: %v", err)
	}
	close(release)
	if err := f.login("alice", "secret"); err != nil {
		t.Fatal(err)
	}
	if n := f.hashes.Load(); n != 1 {
		t.Errorf("%d hashes", n)
	}
}

func TestSaturation(t *testing.T) {
	f := newFixture(t)
	f.add(t, "bob", "secret")
	if err := f.login("bob", "secret"); err != nil {
		t.Fatal(err)
	}
	f.gate.wait = 10 * time.Millisecond
	for range cap(f.gate.slots) {
		f.gate.slots <- struct{}{}
	}
	if err := f.login("alice", "secret"); !errors.Is(err, ErrBusy) {
		t.Errorf("new login: %v, want ErrBusy", err)
	}
	if err := f.login("bob", "secret"); err != nil {
		t.Errorf("remembered login: %v", err)
	}
	<-f.gate.slots
	if err := f.login("alice", "secret"); err != nil {
		t.Errorf("with a free slot: %v", err)
	}
}

func TestHashesRunAtOncePerCore(t *testing.T) {
	g := newGate()
	var now, most atomic.Int64
	var all sync.WaitGroup
	for range 4 * cap(g.slots) {
		all.Go(func() {
			err := g.run(func() {
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Millisecond)
				now.Add(-1)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := most.Load(); n > int64(cap(g.slots)) {
		t.Errorf("%d at once on %d cores", n, cap(g.slots))
	}
}

func TestBrake(t *testing.T) {
	f := newFixture(t)
	f.verify = func(_, password string) (bool, error) { return password == "secret", nil }
	if err := f.login("alice", "secret"); err != nil {
		t.Fatal(err)
	}
	for i := range brakeBurst {
		if err := f.login("alice", fmt.Sprint("guess ", i)); !errors.Is(err, ErrCredentials) {
			t.Fatalf("guess %d: %v", i, err)
		}
	}
	var braked *BrakeError
	if err := f.login("alice", "one more"); !errors.As(err, &braked) || braked.Wait <= 0 || braked.Wait > brakeRefill {
		t.Fatalf("guess after the burst: %v", err)
	}
	if err := f.login("alice", "guess 0"); !errors.Is(err, ErrCredentials) {
		t.Errorf("old wrong password: %v, want it answered from memory", err)
	}
	if err := f.login("alice", "secret"); err != nil {
		t.Errorf("remembered login: %v", err)
	}
	if err := f.login("bob", "guess"); !errors.Is(err, ErrCredentials) {
		t.Errorf("another name: %v", err)
	}
	if _, err := f.Authenticate(basic("alice", "elsewhere"), netip.MustParseAddr("192.0.2.8")); !errors.Is(err, ErrCredentials) {
		t.Errorf("another address: %v", err)
	}
}

func TestBrakeHoldsParallelGuesses(t *testing.T) {
	f := newFixture(t)
	var guesses atomic.Int64
	f.verify = func(string, string) (bool, error) {
		guesses.Add(1)
		return false, nil
	}
	var all sync.WaitGroup
	for i := range 4 * brakeBurst {
		all.Go(func() { _ = f.login("alice", fmt.Sprint(i)) })
	}
	all.Wait()
	if n := guesses.Load(); n != brakeBurst {
		t.Errorf("%d guesses got through, want %d", n, brakeBurst)
	}
}

func TestDamagedHashIsAnError(t *testing.T) {
	f := newFixture(t)
	damaged := "$argon2id$v=19$m=999999999,t=2,p=1$c2FsdHNhbHQ$a2V5a2V5a2V5a2V5a2V5aw"
	f.set(t, "alice", store.UserPatch{PasswordHash: &damaged})
	if err := f.login("alice", "secret"); err == nil || errors.Is(err, ErrCredentials) {
		t.Errorf("got %v, want an error of its own", err)
	}
}

func TestParseBasic(t *testing.T) {
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, c := range []struct {
		outcome, header string
		name, password  string
		ok              bool
	}{
		{"name and password", "Basic " + encode("alice:secret"), "alice", "secret", true},
		{"scheme in another case", "bAsIc " + encode("alice:secret"), "alice", "secret", true},
		{"colons belong to the password", "Basic " + encode("alice:a:b"), "alice", "a:b", true},
		{"UTF-8", "Basic " + encode("alice:pässwörd"), "alice", "pässwörd", true},
		{"domain goes", "Basic " + encode(`DOM\alice:x`), "alice", "x", true},
		{"backslash in the password stays", "Basic " + encode(`alice:a\b`), "alice", `a\b`, true},
		{"no colon", "Basic " + encode("alice"), "", "", false},
		{"no name", "Basic " + encode(":secret"), "", "", false},
		{"Latin-1", "Basic " + encode("alice:p\xe4ss"), "", "", false},
		{"control character", "Basic " + encode("alice:a\x00b"), "", "", false},
		{"not base64", "Basic !!!", "", "", false},
		{"scheme only", "Basic", "", "", false},
		{"empty bearer", "Bearer ", "", "", false},
		{"unknown scheme", "Negotiate TlRMTVNTUAAB", "", "", false},
		{"empty", "", "", "", false},
		{"password too long", "Basic " + encode("a:"+string(make([]byte, MaxPasswordBytes+1))), "", "", false},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			name, password, ok := basicOf(http.Header{"Authorization": {c.header}})
			if ok != c.ok || ok && (name != c.name || password != c.password) {
				t.Errorf("got %q %q %v", name, password, ok)
			}
		})
	}
	t.Run("two headers", func(t *testing.T) {
		h := http.Header{"Authorization": {"Basic " + encode("a:b"), "Basic " + encode("c:d")}}
		if _, _, ok := basicOf(h); ok {
			t.Error("took one of them")
		}
	})
}

// basicOf reads a request's Basic credentials.
func basicOf(h http.Header) (name, password string, ok bool) {
	scheme, rest := credentials(h)
	name, password, ok = parseBasic(rest)
	return name, password, ok && scheme == "basic"
}
