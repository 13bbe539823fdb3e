package auth

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Challenge is the value of WWW-Authenticate that goes with a 401 (RFC 7617
// section 2).
const Challenge = `Basic realm="Holdfast", charset="UTF-8"`

// ErrCredentials says that a request has no credentials, wrong ones, or some of
// a scheme not served: 401, whatever the reason (an empty or unknown scheme is
// what Office probes with, and gives up on any other answer).
var ErrCredentials = errors.New("no right credentials")

// Offers reports whether the request tries to log in at all.
func Offers(r *http.Request) bool { return len(r.Header.Values("Authorization")) > 0 }

// parseBasic reads the user name and password of a request. The name of
// "DOMAIN\user" is "user": Windows puts its own domain or machine in front.
func parseBasic(h http.Header) (name, password string, ok bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.Trim(token, " "))
	if err != nil || !utf8.Valid(decoded) || strings.ContainsFunc(string(decoded), unicode.IsControl) {
		return "", "", false
	}
	name, password, ok = strings.Cut(string(decoded), ":")
	if _, user, found := strings.Cut(name, `\`); found {
		name = user
	}
	return name, password, ok && name != "" && len(password) <= MaxPasswordBytes
}
