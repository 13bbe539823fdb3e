package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/store"
)

// TestEverythingIsAProblem: whatever is refused below the prefix is refused in one
// form, also what no operation answers.
func TestEverythingIsAProblem(t *testing.T) {
	w := newWorld(t)
	ada, nobody := w.user("ada"), &client{w: w}
	ada.do("GET", "/nothing", nil).refuses(404, "not_found")
	nobody.do("GET", "/nothing", nil).refuses(404, "not_found")
	nobody.do("GET", "", nil).refuses(404, "not_found")
	for _, path := range []string{"/me", "/workspaces", "/workspaces/personal"} {
		a := ada.do("POST", path, nil)
		a.refuses(405, "method.not_allowed")
		if got := a.header.Get("Allow"); !strings.Contains(got, "GET") || strings.Contains(got, "POST") {
			t.Errorf("%s allows %q", path, got)
		}
	}
	a := nobody.do("GET", "/me", nil)
	a.refuses(401, "login.required")
	if got := a.header.Get("WWW-Authenticate"); got != `Bearer realm="Holdfast"` {
		t.Errorf("challenge %q", got)
	}
	ada.do("GET", "/me?more=1", nil).refuses(400, "request.invalid")
	ada.do("GET", "/me", nil, "Authorization: Bearer hf-wrong").refuses(401, "login.required")
	ada.do("GET", "/me", nil).wants(http.StatusOK)
	ada.do("POST", "/me", nil, "Sec-Fetch-Site: cross-site").refuses(403, "request.cross_origin")
	ada.limited(store.NewAccount{Name: "limited", Scoped: true}).do("GET", "/me", nil).wants(http.StatusOK)
}
