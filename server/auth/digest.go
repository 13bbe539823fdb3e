package auth

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdfast/store"
)

var (
	// errStale says that credentials are right but for a nonce that is used up,
	// too old or of another process. It is an ErrCredentials.
	errStale = fmt.Errorf("%w: the nonce is stale", ErrCredentials)
	// ErrTarget says that right Digest credentials were made for another URL: 400
	// (RFC 7616 section 3.4.6).
	ErrTarget = errors.New("the credentials are for another URL")
)

// algorithm is a hash of RFC 7616 section 3.3. None of the session kind is
// offered: they would need a state for each session.
type algorithm struct {
	name string
	hash func() hash.Hash
	of   func(store.HA1) []string
}

// algorithms are those offered, in this order. Clients that know one challenge
// only take the first, and what most of these know is MD5, Windows above all.
// What it lost by the years, collisions, is no help in finding 160 random bits.
var algorithms = []algorithm{
	{"MD5", md5.New, func(h store.HA1) []string { return h.MD5 }},
	{"SHA-256", sha256.New, func(h store.HA1) []string { return h.SHA256 }},
}

// sum is the algorithm's hash of the parts with colons between, in hex.
func (a algorithm) sum(parts ...string) string {
	h := a.hash()
	h.Write([]byte(strings.Join(parts, ":")))
	return hex.EncodeToString(h.Sum(nil))
}

// NewHA1 is what a Digest login by the user's name with an app password is
// compared with. The name is hashed as a client spells it: as the user is called,
// or in lower case.
func NewHA1(user, password string) store.HA1 {
	spellings := []string{user}
	if lower := strings.ToLower(user); lower != user {
		spellings = append(spellings, lower)
	}
	var all [2][]string
	for i, a := range algorithms {
		for _, name := range spellings {
			all[i] = append(all[i], a.sum(name, Realm, password))
		}
	}
	return store.HA1{MD5: all[0], SHA256: all[1]}
}

// challengesDigest asks for Digest (RFC 7616 section 3.3), once an algorithm, with
// one nonce: some clients mix the challenges up.
func (a *Authenticator) challengesDigest(stale bool) []string {
	end := ""
	if stale {
		end = ", stale=true"
	}
	nonce := a.nonces.issue()
	var all []string
	for _, alg := range algorithms {
		all = append(all, fmt.Sprintf(`Digest realm="%s", qop="auth", algorithm=%s, nonce="%s", opaque="holdfast", charset=UTF-8%s`, Realm, alg.name, nonce, end))
	}
	return all
}

// digest are Digest credentials (RFC 7616 section 3.4).
type digest struct {
	algorithm                           algorithm
	name                                string // without a Windows domain
	nonce, uri, cnonce, nc, qop, answer string
	count                               uint32 // nc
}

// byDigest logs in whom one of the user's app passwords opens. What is right
// passes whatever was guessed before: there is nothing to guess. What is wrong
// counts, so that a client that repeats an old password is told to wait.
func (a *Authenticator) byDigest(r *http.Request, rest string, at visit) (Login, error) {
	d, ok := parseDigest(rest)
	if !ok || strings.EqualFold(d.name, Anonymous) {
		return Login{}, ErrCredentials
	}
	user, account, err := a.answered(r.Context(), d, r.Method)
	if err != nil {
		return Login{}, fmt.Errorf("look up accounts: %w", err)
	}
	if account == nil || user.Disabled {
		key := "digest " + attempt{name: d.name, visit: at}.brakeKey()
		if wait := a.brake.take(key); wait > 0 {
			return Login{}, &BrakeError{Wait: wait}
		}
		a.noteRefused(at, user)
		return Login{}, ErrCredentials
	}
	if !a.sameTarget(d.uri, r) {
		return Login{}, ErrTarget
	}
	if !a.nonces.use(d.nonce, d.count) {
		return Login{}, errStale
	}
	a.noteUse(r.Context(), *account)
	return Login{User: user, Account: account}, nil
}

// answered finds the account whose password makes the credentials' answer, nil
// when there is none. All of the user's are tried, and at least one hash is made.
func (a *Authenticator) answered(ctx context.Context, d digest, method string) (user store.User, found *store.Account, err error) {
	user, logins, err := a.users.DigestLogins(ctx, d.name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.User{}, nil, err
	}
	if len(logins) == 0 {
		_ = d.rightFor("", method)
	}
	for _, l := range logins {
		for _, ha1 := range d.algorithm.of(l.HA1) {
			if d.rightFor(ha1, method) && found == nil {
				found = &l.Account
			}
		}
	}
	return user, found, nil
}

// rightFor reports whether the answer is that of an HA1 (RFC 7616 section 3.4.1).
func (d digest) rightFor(ha1, method string) bool {
	want := d.algorithm.sum(ha1, d.nonce, d.nc, d.cnonce, d.qop, d.algorithm.sum(method, d.uri))
	return subtle.ConstantTimeCompare([]byte(want), []byte(d.answer)) == 1
}

// parseDigest reads Digest credentials. Those without qop, as RFC 2069 had them,
// with integrity, a session's algorithm or a hashed name are not offered and not
// taken.
func parseDigest(text string) (d digest, ok bool) {
	params, ok := parseParams(text)
	if !ok || params["realm"].value != Realm || strings.EqualFold(params["userhash"].value, "true") {
		return d, false
	}
	d = digest{
		nonce: params["nonce"].value, uri: params["uri"].value, cnonce: params["cnonce"].value, nc: params["nc"].value,
		qop: params["qop"].value, answer: strings.ToLower(params["response"].value),
	}
	name := params["algorithm"].value
	if name == "" {
		name = "MD5"
	}
	for _, a := range algorithms {
		if strings.EqualFold(a.name, name) {
			d.algorithm = a
		}
	}
	// A client that reads several challenges as one names the last algorithm and
	// uses the one it knows. The answer's length tells which.
	if d.algorithm.name == "SHA-256" && len(d.answer) == hex.EncodedLen(md5.Size) {
		d.algorithm = algorithms[0]
	}
	// nc should have eight digits; some clients leave out zeros before it.
	if d.algorithm.hash == nil || d.qop != "auth" || d.nonce == "" || d.uri == "" || d.cnonce == "" || len(d.nc) > 8 {
		return d, false
	}
	count, err := strconv.ParseUint(d.nc, 16, 32)
	d.count = uint32(count)
	if d.name, ok = digestName(params); !ok || err != nil {
		return d, false
	}
	return d, true
}

// digestName is the name in the credentials. Windows writes the backslash of
// DOMAIN\user as it is into a quoted string, where it should be two; neither is
// part of a name.
func digestName(params map[string]param) (name string, ok bool) {
	plain, isPlain := params["username"]
	extended, isExtended := params["username*"]
	switch {
	case isPlain == isExtended:
		return "", false
	case isPlain:
		name = plain.raw
	default: // RFC 8187 section 3.2.1
		charset, rest, _ := strings.Cut(extended.value, "'")
		_, encoded, two := strings.Cut(rest, "'")
		decoded, err := url.PathUnescape(encoded)
		if !two || err != nil || !strings.EqualFold(charset, "UTF-8") {
			return "", false
		}
		name = decoded
	}
	name = name[strings.LastIndexByte(name, '\\')+1:]
	return name, name != ""
}

// param is the value of an auth-param; raw has the backslashes of a quoted string.
type param struct{ value, raw string }

// parseParams reads a list of auth-params (RFC 9110 section 11.2) by their names in
// lower case. One that is repeated spoils it.
func parseParams(text string) (map[string]param, bool) {
	params := map[string]param{}
	for text = trimList(text); text != ""; text = trimList(text) {
		name, rest, ok := strings.Cut(text, "=")
		name = strings.ToLower(strings.TrimRight(name, " \t"))
		if _, repeated := params[name]; !ok || repeated || name == "" || strings.ContainsAny(name, " \t\",") {
			return nil, false
		}
		var p param
		if p, text, ok = parseValue(strings.TrimLeft(rest, " \t")); !ok {
			return nil, false
		}
		params[name] = p
		if text = strings.TrimLeft(text, " \t"); text != "" && text[0] != ',' {
			return nil, false
		}
	}
	return params, true
}

// trimList drops the blanks and commas before the next element of a list.
func trimList(text string) string { return strings.TrimLeft(text, " \t,") }

// parseValue reads a token or a quoted string.
func parseValue(text string) (p param, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, ", \t")
		if end < 0 {
			end = len(text)
		}
		return param{text[:end], text[:end]}, text[end:], end > 0
	}
	var value strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return param{value.String(), text[1:i]}, text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			value.WriteByte(text[i])
		default:
			value.WriteByte(c)
		}
	}
	return p, "", false
}

// sameTarget reports whether the URL in the credentials is the request's. Proxies
// spell paths anew and strip some of them, and a client may name the whole URL, so
// paths are compared decoded, segment by segment, with and without what a proxy
// strips.
func (a *Authenticator) sameTarget(uri string, r *http.Request) bool {
	if uri == r.RequestURI {
		return true
	}
	if _, rest, absolute := strings.Cut(uri, "://"); absolute && uri[0] != '/' {
		slash := strings.IndexByte(rest, '/')
		if slash < 0 {
			return r.URL.Path == "/"
		}
		uri = rest[slash:]
	}
	path, query, _ := strings.Cut(uri, "?")
	asked := r.URL.EscapedPath()
	return query == r.URL.RawQuery && (samePath(path, asked) || samePath(path, a.external(r)+asked))
}

// samePath compares two escaped paths.
func samePath(a, b string) bool {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		x, errX := url.PathUnescape(as[i])
		y, errY := url.PathUnescape(bs[i])
		if errX != nil || errY != nil || x != y {
			return false
		}
	}
	return true
}
