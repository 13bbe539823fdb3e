package auth

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// send authenticates a request with an Authorization header.
func (f *fixture) send(t *testing.T, header string) (Login, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/dav/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", header)
	return f.Authenticate(r, netip.Addr{})
}

// TestBearer: an app password sent as a token opens what it opens with Basic;
// nothing else does, and an empty token is no fault (R09).
func TestBearer(t *testing.T) {
	f := newFixture(t)
	f.Authenticator = New(f.store, Options{Schemes: []Scheme{Bearer, Basic}})
	f.add(t, "gone", "secret")
	f.add(t, Anonymous, "")
	phone := f.account(t, "alice", "phone", store.NewAccount{ReadOnly: true, ExpiresAt: f.time().Add(time.Hour)})
	gone, nobody := f.account(t, "gone", "x", store.NewAccount{}), f.account(t, Anonymous, "x", store.NewAccount{})
	f.set(t, "gone", store.UserPatch{Disabled: new(true)})
	for _, c := range []struct {
		outcome, header string
		in              bool
	}{
		{"right", "Bearer " + phone, true},
		{"scheme in lower case", "bearer " + phone, true},
		{"more blanks", "Bearer  " + phone + " ", true},
		{"empty", "Bearer ", false},
		{"nothing", "Bearer", false},
		{"wrong", "Bearer " + NewAppPassword(), false},
		{"the user's own password", "Bearer secret", false},
		{"in another case", "Bearer " + strings.ToUpper(phone), false},
		{"its hash", "Bearer " + HashAppPassword(phone), false},
		{"of a disabled user", "Bearer " + gone, false},
		{"of the anonymous user", "Bearer " + nobody, false},
		{"as another scheme", "Token " + phone, false},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			in, err := f.send(t, c.header)
			if !c.in {
				if !errors.Is(err, ErrCredentials) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || in.User.Name != "alice" || in.Account == nil || in.Account.Name != "phone" || !in.Account.ReadOnly {
				t.Errorf("%+v, %v", in, err)
			}
		})
	}
	f.clock.Add((2 * time.Hour).Microseconds())
	if _, err := f.send(t, "Bearer "+phone); !errors.Is(err, ErrCredentials) {
		t.Errorf("expired: %v", err)
	}
}

// TestSchemesServed: what is not served is neither taken nor offered.
func TestSchemesServed(t *testing.T) {
	f := newFixture(t)
	phone := f.account(t, "alice", "phone", store.NewAccount{})
	asBasic := basic("alice", phone).Header.Get("Authorization")
	for _, c := range []struct {
		schemes       []Scheme
		basic, bearer bool
		offered       []string
	}{
		{[]Scheme{Basic}, true, false, []string{"Basic"}},
		{[]Scheme{Bearer}, false, true, []string{"Bearer"}},
		{[]Scheme{Bearer, Basic}, true, true, []string{"Basic", "Bearer"}},
		{[]Scheme{Bearer, Basic, Digest}, true, true, []string{"Digest", "Digest", "Basic", "Bearer"}},
		{[]Scheme{Digest}, false, false, []string{"Digest", "Digest"}},
	} {
		f.Authenticator = New(f.store, Options{Schemes: c.schemes})
		_, withBasic := f.send(t, asBasic)
		_, withBearer := f.send(t, "Bearer "+phone)
		if (withBasic == nil) != c.basic || (withBearer == nil) != c.bearer {
			t.Errorf("%v: Basic %v, Bearer %v", c.schemes, withBasic, withBearer)
		}
		var offered []string
		for _, challenge := range f.Challenges(ErrCredentials) {
			scheme, _, _ := strings.Cut(challenge, " ")
			offered = append(offered, scheme)
		}
		if !slices.Equal(offered, c.offered) {
			t.Errorf("%v: offered %v", c.schemes, offered)
		}
	}
}
