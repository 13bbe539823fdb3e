package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/store"
)

// TestDigestOfTheRFC: the examples of RFC 7616 section 3.9.1.
func TestDigestOfTheRFC(t *testing.T) {
	want := map[string]string{
		"MD5":     "8ca523f5e9506fed4657c9700eebdbec",
		"SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
	}
	for _, a := range algorithms {
		d := digest{
			algorithm: a, nonce: "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", uri: "/dir/index.html", nc: "00000001", qop: "auth",
			cnonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", answer: want[a.name],
		}
		ha1 := a.sum("Mufasa", "http-auth@example.org", "Circle of Life")
		if !d.rightFor(ha1, http.MethodGet) || d.rightFor(ha1, http.MethodPut) {
			t.Errorf("%s is computed otherwise", a.name)
		}
	}
}

// answerer makes Digest credentials, as a client would from a challenge.
type answerer struct {
	algorithm                     int // of algorithms
	name, hashed, password        string
	nonce, uri, method, nc, extra string
	without                       string // a parameter that is left out
}

func (c answerer) header() string {
	a := algorithms[c.algorithm]
	if c.hashed == "" {
		c.hashed = c.name
	}
	answer := a.sum(a.sum(c.hashed, Realm, c.password), c.nonce, c.nc, "cnonce", "auth", a.sum(c.method, c.uri))
	params := []string{
		fmt.Sprintf(`username="%s"`, c.name), fmt.Sprintf(`realm="%s"`, Realm), fmt.Sprintf(`nonce="%s"`, c.nonce),
		fmt.Sprintf(`uri="%s"`, c.uri), "algorithm=" + a.name, `cnonce="cnonce"`, "nc=" + c.nc, "qop=auth",
		fmt.Sprintf(`response="%s"`, answer), `opaque="holdfast"`,
	}
	var sent []string
	for _, p := range params {
		if c.without == "" || !strings.HasPrefix(p, c.without+"=") {
			sent = append(sent, p)
		}
	}
	return "Digest " + strings.Join(sent, ", ") + c.extra
}

// digestFixture has a user Alice with an app password that Digest can use.
type digestFixture struct {
	*fixture
	phone string
}

func newDigestFixture(t *testing.T) *digestFixture {
	t.Helper()
	f := &digestFixture{fixture: newFixture(t)}
	if err := f.store.KeepHA1(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	f.add(t, "Ada", "secret")
	f.phone = f.digestAccount(t, "Ada", "phone", store.NewAccount{})
	f.serve(func(*http.Request) string { return "" })
	return f
}

// serve makes the Authenticator anew.
func (f *digestFixture) serve(external func(*http.Request) string) {
	f.Authenticator = New(f.store, Options{Schemes: []Scheme{Digest, Basic}, External: external})
	f.nonces = newNonces(f.time)
	f.brake.now = f.time
}

func (f *digestFixture) digestAccount(t *testing.T, user, name string, n store.NewAccount) string {
	t.Helper()
	password := NewAppPassword()
	n.User, n.Name, n.PasswordHash = user, name, HashAppPassword(password)
	n.HA1 = func(user string) store.HA1 { return NewHA1(user, password) }
	if _, err := f.store.AddAccount(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return password
}

// try sends credentials with a PUT of a URL.
func (f *digestFixture) try(t *testing.T, target, header string) (Login, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, target, nil)
	r.Header.Set("Authorization", header)
	return f.Authenticate(r, netip.MustParseAddr("192.0.2.1"))
}

// right is credentials for /dav/f that are right, with a nonce of their own.
func (f *digestFixture) right() answerer {
	return answerer{name: "Ada", password: f.phone, nonce: f.nonces.issue(), uri: "/dav/f", method: "PUT", nc: "00000001"}
}

func TestDigest(t *testing.T) {
	f := newDigestFixture(t)
	f.add(t, "gone", "secret")
	gone := f.digestAccount(t, "gone", "x", store.NewAccount{})
	f.set(t, "gone", store.UserPatch{Disabled: new(true)})
	f.add(t, Anonymous, "")
	nobody := f.digestAccount(t, Anonymous, "x", store.NewAccount{})
	plain := f.account(t, "Ada", "without", store.NewAccount{})
	for range 5 { // other accounts are in the way of none
		f.digestAccount(t, "Ada", NewAppPassword(), store.NewAccount{})
	}
	for _, c := range []struct {
		outcome string
		change  func(*answerer)
		want    error
	}{
		{"MD5", func(*answerer) {}, nil},
		{"SHA-256", func(a *answerer) { a.algorithm = 1 }, nil},
		{"MD5 when none is named", func(a *answerer) { a.without = "algorithm" }, nil},
		{"SHA-256 that is not named", func(a *answerer) { a.algorithm, a.without = 1, "algorithm" }, ErrCredentials},
		{"the name in lower case", func(a *answerer) { a.name = "ada" }, nil},
		{"the name in another case cannot be compared", func(a *answerer) { a.name = "ADA" }, ErrCredentials},
		{"another case shown than hashed", func(a *answerer) { a.name, a.hashed = "ADA", "Ada" }, nil},
		{"a domain shown and not hashed", func(a *answerer) { a.name, a.hashed = `WORK\Ada`, "Ada" }, nil},
		{"a domain shown and not hashed, escaped", func(a *answerer) { a.name, a.hashed = `WORK\\Ada`, "Ada" }, nil},
		{"a domain hashed cannot be compared", func(a *answerer) { a.name, a.hashed = `WORK\Ada`, `WORK\Ada` }, ErrCredentials},
		{"extended name", func(a *answerer) { a.without, a.extra = "username", `, username*=UTF-8''%41da` }, nil},
		{"two names", func(a *answerer) { a.extra = `, username*=UTF-8''Ada` }, ErrCredentials},
		{"extended name in another charset", func(a *answerer) { a.without, a.extra = "username", `, username*=ISO-8859-1''Ada` }, ErrCredentials},
		{"no name", func(a *answerer) { a.without = "username" }, ErrCredentials},
		{"wrong password", func(a *answerer) { a.password = NewAppPassword() }, ErrCredentials},
		{"the user's own password", func(a *answerer) { a.password = "secret" }, ErrCredentials},
		{"an app password without an HA1", func(a *answerer) { a.password = plain }, ErrCredentials},
		{"another user's name", func(a *answerer) { a.name = "alice" }, ErrCredentials},
		{"no user", func(a *answerer) { a.name = "mallory" }, ErrCredentials},
		{"disabled user", func(a *answerer) { a.name, a.password = "gone", gone }, ErrCredentials},
		{"anonymous user", func(a *answerer) { a.name, a.password = Anonymous, nobody }, ErrCredentials},
		{"another method", func(a *answerer) { a.method = "GET" }, ErrCredentials},
		{"another URL", func(a *answerer) { a.uri = "/dav/g" }, ErrTarget},
		{"another query", func(a *answerer) { a.uri = "/dav/f?x" }, ErrTarget},
		{"the URL as a whole", func(a *answerer) { a.uri = "http://files.example/dav/f" }, nil},
		{"the URL in another spelling", func(a *answerer) { a.uri = "/dav/%66" }, nil},
		{"a slash that is none", func(a *answerer) { a.uri = "/dav%2Ff" }, ErrTarget},
		{"no qop", func(a *answerer) { a.without = "qop" }, ErrCredentials},
		{"no nc", func(a *answerer) { a.without = "nc" }, ErrCredentials},
		{"no cnonce", func(a *answerer) { a.without = "cnonce" }, ErrCredentials},
		{"no nonce", func(a *answerer) { a.without = "nonce" }, ErrCredentials},
		{"no uri", func(a *answerer) { a.without = "uri" }, ErrCredentials},
		{"no answer", func(a *answerer) { a.without = "response" }, ErrCredentials},
		{"another realm", func(a *answerer) { a.without, a.extra = "realm", `, realm="Other"` }, ErrCredentials},
		{"no opaque", func(a *answerer) { a.without = "opaque" }, nil},
		{"parameter not known", func(a *answerer) { a.extra = `, auth-param="a \" , b=c"` }, nil},
		{"parameter twice", func(a *answerer) { a.extra = `, nc=00000002` }, ErrCredentials},
		{"hashed name", func(a *answerer) { a.extra = `, userhash=true` }, ErrCredentials},
		{"name not hashed", func(a *answerer) { a.extra = `, userhash=false` }, nil},
		{"a quote without end", func(a *answerer) { a.extra = `, x="y` }, ErrCredentials},
		{"empty elements", func(a *answerer) { a.extra = `,, ,` }, nil},
		{"a session's algorithm", func(a *answerer) { a.without, a.extra = "algorithm", `, algorithm=MD5-sess` }, ErrCredentials},
		{"MD5 that is called SHA-256", func(a *answerer) { a.without, a.extra = "algorithm", `, algorithm=SHA-256` }, nil},
		{"SHA-256 that is called MD5", func(a *answerer) { a.algorithm, a.without, a.extra = 1, "algorithm", `, algorithm=MD5` }, ErrCredentials},
		{"a nonce of nobody", func(a *answerer) { a.nonce = "bm9uY2U" }, errStale},
		{"a nonce of another process", func(a *answerer) { a.nonce = newNonces(f.time).issue() }, errStale},
		{"a nonce that is changed", func(a *answerer) { a.nonce = "BBBB" + a.nonce[4:] }, errStale},
		{"the first count is 1", func(a *answerer) { a.nc = "00000000" }, errStale},
		{"highest count", func(a *answerer) { a.nc = "ffffffff" }, nil},
		{"a count without zeros", func(a *answerer) { a.nc = "1" }, nil},
		{"an empty count", func(a *answerer) { a.nc = "" }, ErrCredentials},
		{"a count too long", func(a *answerer) { a.nc = "000000001" }, ErrCredentials},
		{"a count that is none", func(a *answerer) { a.nc = "0000000g" }, ErrCredentials},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			a := f.right()
			c.change(&a)
			in, err := f.try(t, "/dav/f", a.header())
			if !errors.Is(err, c.want) || (err != nil && c.want == nil) || errors.Is(err, errStale) != (c.want == errStale) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if c.want == nil && (in.User.Name != "Ada" || in.Account == nil || in.Account.Name != "phone") {
				t.Errorf("%+v", in)
			}
			f.brake.succeed("digest 192.0.2.1 " + strings.ToLower(a.name))
		})
	}
	for _, header := range []string{"Digest", "Digest ", "Digest x", "Digest =", `Digest username="`, "Digest " + strings.Repeat(",", 1000), `Digest a=b c=d`, `Digest username=`} {
		if _, err := f.try(t, "/dav/f", header); !errors.Is(err, ErrCredentials) {
			t.Errorf("%s: %v", header, err)
		}
	}
}

// TestDigestBehindAProxy: the client makes its credentials for the URL it sees.
func TestDigestBehindAProxy(t *testing.T) {
	f := newDigestFixture(t)
	f.serve(func(*http.Request) string { return "/my%20files" })
	for uri, want := range map[string]error{
		"/my%20files/dav/f": nil, "/dav/f": nil, "https://dav.example/my%20files/dav/f": nil, "/other/dav/f": ErrTarget, "/my%20files": ErrTarget, "https://dav.example": ErrTarget,
	} {
		a := f.right()
		a.uri = uri
		if _, err := f.try(t, "/dav/f", a.header()); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", uri, err, want)
		}
	}
}

// TestDigestReplay: a request counts once, in whichever order those of parallel
// connections come.
func TestDigestReplay(t *testing.T) {
	f := newDigestFixture(t)
	a := f.right()
	send := func(nc int, want error) {
		t.Helper()
		a.nc = fmt.Sprintf("%08x", nc)
		if _, err := f.try(t, "/dav/f", a.header()); !errors.Is(err, want) || (err != nil) != (want != nil) {
			t.Errorf("count %d: %v, want %v", nc, err, want)
		}
	}
	for _, nc := range []int{1, 3, 2, 40, 4, 39} {
		send(nc, nil)
		send(nc, errStale)
	}
	send(300, nil)
	send(300-ncWindow, errStale) // too far behind to know
	send(300-ncWindow+1, nil)
	send(40, errStale)
	send(299, nil)
	send(10_000, nil)
	send(300, errStale)
	send(9_999, nil)
	send(10_000, errStale)
}

// TestDigestInParallel: of many equal requests at once one is served.
func TestDigestInParallel(t *testing.T) {
	f := newDigestFixture(t)
	header := f.right().header()
	var wg sync.WaitGroup
	var mu sync.Mutex
	served := 0
	for range 20 {
		wg.Go(func() {
			if _, err := f.try(t, "/dav/f", header); err == nil {
				mu.Lock()
				defer mu.Unlock()
				served++
			}
		})
	}
	wg.Wait()
	if served != 1 {
		t.Errorf("%d served", served)
	}
}

func TestNonceAges(t *testing.T) {
	f := newDigestFixture(t)
	a := f.right()
	f.clock.Add(nonceLife.Microseconds())
	if _, err := f.try(t, "/dav/f", a.header()); err != nil {
		t.Errorf("at its end: %v", err)
	}
	f.clock.Add(time.Millisecond.Microseconds())
	a.nc = "00000002"
	_, err := f.try(t, "/dav/f", a.header())
	if !errors.Is(err, errStale) {
		t.Errorf("after its end: %v", err)
	}
	if got := f.Challenges(err)[0]; !strings.HasSuffix(got, ", stale=true") {
		t.Errorf("challenge %s", got)
	}
	a.password = NewAppPassword()
	_, err = f.try(t, "/dav/f", a.header())
	if got := f.Challenges(err)[0]; err == nil || strings.Contains(got, "stale") {
		t.Errorf("a wrong password is answered %s", got)
	}
}

// TestNoncesKnownAreBounded: what was used is forgotten, and never counts again.
func TestNoncesKnownAreBounded(t *testing.T) {
	clock := time.Now()
	n := newNonces(func() time.Time { return clock })
	first, unused := n.issue(), n.issue()
	if !n.use(first, 1) {
		t.Fatal("refused")
	}
	busy := n.issue()
	for i := range 3 * noncesMax {
		clock = clock.Add(time.Millisecond)
		if !n.use(n.issue(), 1) {
			t.Fatalf("nonce %d is refused", i)
		}
		if i%1000 == 0 && !n.use(busy, uint32(i+1)) {
			t.Fatalf("a nonce in use is forgotten at %d", i)
		}
	}
	if got := len(n.young) + len(n.old); got > 2*noncesMax+2 {
		t.Errorf("%d are known", got)
	}
	if n.use(first, 1) || n.use(first, 2) || n.use(unused, 1) {
		t.Error("one that may have been used is taken")
	}
	if !n.use(busy, 1<<20) || n.use(busy, 1<<20) {
		t.Error("a nonce in use is refused, or counts twice")
	}
}

// TestDigestEnds: an account opens nothing from the moment it is gone, has
// expired, or Digest is served no more.
func TestDigestEnds(t *testing.T) {
	f := newDigestFixture(t)
	end := f.time().Add(time.Hour)
	short := f.digestAccount(t, "Ada", "short", store.NewAccount{ExpiresAt: end})
	opens := func(password string) bool {
		t.Helper()
		a := f.right()
		a.password = password
		_, err := f.try(t, "/dav/f", a.header())
		if err != nil && !errors.Is(err, ErrCredentials) {
			t.Fatal(err)
		}
		return err == nil
	}
	if !opens(short) || !opens(f.phone) {
		t.Fatal("refused")
	}
	f.clock.Add(2 * time.Hour.Microseconds())
	if opens(short) {
		t.Error("expired, and opens")
	}
	other := f.digestAccount(t, "Ada", "other", store.NewAccount{})
	if err := f.store.RemoveAccount(t.Context(), "Ada", "phone", store.Actor{}); err != nil {
		t.Fatal(err)
	}
	if opens(f.phone) || !opens(other) {
		t.Error("removed, and opens; or not, and does not")
	}
	if err := f.store.KeepHA1(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if opens(other) {
		t.Error("opens without an HA1")
	}
}

// TestDigestBrake: wrong answers are told to wait, right ones never are, and a
// login with Basic is none of theirs.
func TestDigestBrake(t *testing.T) {
	f := newDigestFixture(t)
	wrong := f.right()
	wrong.password = "hf-old"
	var braked *BrakeError
	for i := range brakeBurst + 1 {
		_, err := f.try(t, "/dav/f", wrong.header())
		if errors.As(err, &braked) != (i == brakeBurst) {
			t.Fatalf("guess %d: %v", i, err)
		}
	}
	if _, err := f.try(t, "/dav/f", f.right().header()); err != nil {
		t.Errorf("right: %v", err)
	}
	r := basic("Ada", "secret")
	if _, err := f.Authenticate(r, netip.MustParseAddr("192.0.2.1")); err != nil {
		t.Errorf("Basic: %v", err)
	}
}

func TestDigestChallenges(t *testing.T) {
	f := newDigestFixture(t)
	all := f.Challenges(ErrCredentials)
	form := regexp.MustCompile(`^Digest realm="Holdfast", qop="auth", algorithm=(MD5|SHA-256), nonce="([A-Za-z0-9_-]{43})", opaque="holdfast", charset=UTF-8$`)
	first, second := form.FindStringSubmatch(all[0]), form.FindStringSubmatch(all[1])
	if first == nil || second == nil || first[1] != "MD5" || second[1] != "SHA-256" || first[2] != second[2] || all[2] != challengeBasic {
		t.Errorf("%q", all)
	}
	if again := f.Challenges(ErrCredentials); again[0] == all[0] {
		t.Error("a nonce for two")
	}
}

func TestSamePath(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"/a/b", "/a/b", true}, {"/a%20b", "/a b", true}, {"/%61", "/a", true}, {"/a", "/a/", false}, {"/a%2Fb", "/a/b", false}, {"/%zz", "/%zz", false}, {"/ü", "/%C3%BC", true},
	} {
		if got := samePath(c.a, c.b); got != c.want {
			t.Errorf("%s, %s: %v", c.a, c.b, got)
		}
	}
}

// FuzzDigest: whatever the credentials, they are read without a fault, and what
// was not computed with a password opens nothing.
func FuzzDigest(f *testing.F) {
	f.Add(answerer{name: "Ada", password: "x", nonce: "n", uri: "/", method: "GET", nc: "00000001"}.header()[len("Digest "):])
	f.Add(`username*=UTF-8''a, x="\"\\`)
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := parseDigest(text)
		if ok && (d.name == "" || d.algorithm.hash == nil || d.rightFor(NewHA1(d.name, "hf-not-this").MD5[0], "GET")) {
			t.Errorf("%+v", d)
		}
		_ = (&Authenticator{external: func(*http.Request) string { return "" }}).sameTarget("x"+d.uri, &http.Request{URL: &url.URL{Path: "/"}})
	})
}
