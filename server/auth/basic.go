package auth

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// challengeBasic asks for Basic (RFC 7617 section 2).
const challengeBasic = `Basic realm="` + Realm + `", charset="UTF-8"`

// ErrCredentials says that a request has no credentials, wrong ones, or some of
// a scheme not served: 401, whatever the reason (an empty or unknown scheme is
// what Office probes with, and gives up on any other answer).
var ErrCredentials = errors.New("no right credentials")

// credentials takes the Authorization header apart (RFC 9110 section 11.4): its
// scheme in lower case and what follows, both empty unless there is exactly one.
func credentials(h http.Header) (scheme, rest string) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", ""
	}
	scheme, rest, _ = strings.Cut(values[0], " ")
	return strings.ToLower(scheme), strings.Trim(rest, " ")
}

// Offers reports whether the request tries to log in at all.
func Offers(r *http.Request) bool { return len(r.Header.Values("Authorization")) > 0 }

// parseBasic reads the user name and password of Basic credentials. The name of
// "DOMAIN\user" is "user": Windows puts its own domain or machine in front.
func parseBasic(token string) (name, password string, ok bool) {
	decoded, err := base64.StdEncoding.DecodeString(token)
	if err != nil || !utf8.Valid(decoded) || strings.ContainsFunc(string(decoded), unicode.IsControl) {
		return "", "", false
	}
	name, password, ok = strings.Cut(string(decoded), ":")
	if _, user, found := strings.Cut(name, `\`); found {
		name = user
	}
	return name, password, ok && name != "" && len(password) <= MaxPasswordBytes
}
