package dav_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/lockns"
	"holdfast/store"
)

// hold locks a path of a workspace, as row.target reads it, through another door
// than WebDAV's. It returns the token, which no client should ever see.
func (r row) hold(t *testing.T, path string, origin lockns.Origin, holder store.User) string {
	t.Helper()
	spec := store.LockSpec{
		Depth: lockns.Resource, Mode: lockns.Exclusive, Origin: origin, Holder: holder.ID, Owner: "another door", MustExist: true,
	}
	locked, err := r.store.Lock(t.Context(), r.target(t, path), spec, store.Holder(holder.ID))
	if err != nil {
		t.Fatal(err)
	}
	r.vars["TOKEN"] = locked.Lock.Token
	return locked.Lock.Token
}

// TestReferenceGaps has the rules that a server of this kind is known to have
// missed, as far as they show on the wire.
func TestReferenceGaps(t *testing.T) {
	s := newServer(t, nil)
	for _, gap := range []struct {
		name string
		test func(*testing.T, row)
	}{
		{"gap 3: a lock of another door holds a team's file in every mount", lockOfAnotherDoor},
		{"gap 5: PROPPATCH obeys locks, roles and conditions", proppatchObeys},
		{"gap 12: a collection locked without its slash guards its members", lockWithoutSlash},
		{"gap 13: a token opens nothing in another's hands", tokenOfAnother},
		{"gap 14: tokens are shown to their WebDAV holder only", tokensAreHidden},
		{"gap 17: what changes while a body is received is no failure of the server", changedMeanwhile},
	} {
		t.Run(gap.name, func(t *testing.T) { gap.test(t, newRow(t, s)) })
	}
}

func lockOfAnotherDoor(t *testing.T, r row) {
	r.run(t, "TEAM X member ;; MKCOL ^/teams/$X/d => 201 ;; PUT ^/teams/$X/d/f `f` => 201 ;; PUT ^/teams/$X/g `g` => 201 ;; PUT /p `p` => 201 ;; SCOPE X/d ;; inner@PUT /h `h` => 201")
	inTheWay := func(method, url, href string) string {
		return fmt.Sprintf("%s %s => 423 `<D:lock-token-submitted><D:href>%s</D:href>`", method, url, href)
	}
	const team, inner = "/teams/${X}/d/f", "/dav/f"
	for _, origin := range []lockns.Origin{lockns.WOPI, lockns.Product} {
		t.Run(string(origin), func(t *testing.T) {
			r.hold(t, "X/d/f", origin, r.bob)
			for _, step := range []string{
				inTheWay("PUT", "^/teams/$X/d/f `x`", team),
				inTheWay("DELETE", "^/teams/$X/d/f", team),
				inTheWay("DELETE", "^/teams/$X/d", team),
				inTheWay("MOVE", "^/teams/$X/d/f {Destination: $H/teams/$X/e}", team),
				inTheWay("MOVE", "^/teams/$X/d/f {Destination: $B/e}", team),
				inTheWay("MOVE", "^/teams/$X/d {Destination: $B/e}", team),
				inTheWay("MOVE", "^/teams/$X/g {Destination: $H/teams/$X/d/f}", team),
				inTheWay("COPY", "^/teams/$X/g {Destination: $H/teams/$X/d/f}", team),
				inTheWay("COPY", "^/teams/$X/g {Destination: $H/teams/$X/d}", team),
				inTheWay("COPY", "/p {Destination: $H/teams/$X/d/f}", team),
				inTheWay("MOVE", "/p {Destination: $H/teams/$X/d}", team),
				inTheWay("inner@PUT", "/f `x`", inner),
				inTheWay("inner@DELETE", "/f", inner),
				inTheWay("inner@MOVE", "/f {Destination: $B/e}", inner),
				inTheWay("inner@COPY", "/h {Destination: $B/f}", inner),
				inTheWay("inner@MOVE", "/h {Destination: $B/f}", inner),
				"LOCK ^/teams/$X/d/f exclusive => 423 `no-conflicting-lock`",
				"inner@LOCK / {Depth: infinity} exclusive => 207 `<D:href>/dav/f</D:href><D:status>HTTP/1.1 423 `",
				"DELETE ^/teams/$X/d/f {If: (<$TOKEN>)} => 412",
				"DELETE ^/teams/$X/d/f {If: (<$TOKEN>) (Not <$TOKEN>)} => 423",
				"bob@DELETE ^/teams/$X/d/f {If: (<$TOKEN>)} => 412",
				"GET ^/teams/$X/d/f => 200 `^f$`",
			} {
				r.step(t, step)
			}
			if origin == lockns.WOPI {
				// Not even its holder has its token here.
				r.step(t, inTheWay("bob@DELETE", "^/teams/$X/d/f", team))
				claim := holdingToken{r.bob.ID, r.vars["TOKEN"]}
				if err := r.store.Unlock(t.Context(), r.target(t, "X/d/f"), store.ByToken(r.vars["TOKEN"]), claim); err == nil {
					t.Error("a lock of another door is ended by its token")
				}
				if err := r.store.Unlock(t.Context(), r.target(t, "X/d/f"), store.ByOrigin(origin), claim); err != nil {
					t.Fatal(err)
				}
				return
			}
			r.step(t, "bob@DELETE ^/teams/$X/d/f => 204")
		})
	}
}

// holdingToken is the claim of an editor that knows the token of its lock.
type holdingToken struct {
	user  int64
	token string
}

func (h holdingToken) Prove(store.View) (lockns.Credentials, error) {
	return lockns.Credentials{User: h.user, Tokens: []lockns.Token{{Value: h.token, Origin: lockns.WOPI}}}, nil
}

func (holdingToken) Precondition(store.View) error { return nil }

func proppatchObeys(t *testing.T, r row) {
	const set, failed = "set=`<x:a xmlns:x=\"urn:x\">1</x:a>`", "423 `lock-token-submitted`"
	r.run(t, "TEAM X member ;; MKCOL ^/teams/$X/d => 201 ;; PUT ^/teams/$X/d/f `f` => 201 ;; LOCK ^/teams/$X/d/ {Depth: infinity} exclusive => 200 $T=Lock-Token")
	r.run(t, "PROPPATCH ^/teams/$X/d/f "+set+" => "+failed+" ;; PROPPATCH ^/teams/$X/d "+set+" => "+failed)
	r.run(t, "bob@PROPPATCH ^/teams/$X/d/f "+set+" {If: ($T)} => "+failed)
	r.run(t, "PROPPATCH ^/teams/$X/d/f "+set+" {If: </teams/$X/d/f> (Not $T)} => 412 ;; PROPPATCH ^/teams/$X/d/f "+set+" {If: ($T)} {If-Match: \"no\"} => 412")
	r.run(t, "PROPFIND ^/teams/$X/d/f prop=`<x:a xmlns:x=\"urn:x\"/>` => 207 ` 404 ` !`200 OK` ;; PROPPATCH ^/teams/$X/d/f "+set+" {If: ($T)} => 207 `200 OK` ;; UNLOCK ^/teams/$X/d {Lock-Token: $T} => 204")
	r.hold(t, "X/d/f", lockns.Product, r.bob)
	r.run(t, "PROPPATCH ^/teams/$X/d/f "+set+" => "+failed+" ;; PROPPATCH ^/teams/$X/d "+set+" => 207 ;; bob@PROPPATCH ^/teams/$X/d/f "+set+" => 207 `200 OK`")
	r.run(t, "ROLE X viewer ;; bob@PROPPATCH ^/teams/$X/d/f "+set+" => 403 ;; PROPPATCH ^/teams/$X/d/f "+set+" => 207")
}

func lockWithoutSlash(t *testing.T, r row) {
	r.run(t, "MKCOL /d => 201 ;; PUT /d/f `f` => 201 ;; MKCOL /d/e => 201 ;; PUT /d/e/f `f` => 201")
	for _, locked := range []string{"/d", "/d/"} {
		for _, tag := range []string{"", "</dav/d> ", "</dav/d/> ", "<$B/d> "} {
			r.run(t, "LOCK "+locked+" {Depth: infinity} exclusive => 200 $T=Lock-Token `<D:lockroot><D:href>/dav/d/</D:href>`")
			for _, request := range []string{"PUT /d/n", "PUT /d/f", "MKCOL /d/m", "PUT /d/e/f", "PROPPATCH /d/f set=`<x xmlns=\"u\"/>`"} {
				r.run(t, request+" => 423 `<D:lock-token-submitted><D:href>/dav/d/</D:href>` ;; "+request+" {If: "+tag+"($T)} => 201|204|207")
			}
			if tag == "" {
				r.run(t, "MOVE /d/n {If: ($T)} {Destination: $B/d/o} => 201|204 ;; COPY /d/f {If: </dav/d/x> ($T)} {Destination: $B/d/n} => 201")
			}
			r.run(t, "DELETE /d/n => 423 ;; DELETE /d/n {If: "+tag+"($T)} => 204 ;; DELETE /d/m {If: "+tag+"($T)} => 204 ;; UNLOCK /d {Lock-Token: $T} => 204")
		}
		r.run(t, "LOCK "+locked+" {Depth: 0} exclusive => 200 $T=Lock-Token ;; PUT /d/n `n` => 423 `<D:href>/dav/d/</D:href>` ;; PUT /d/f `f` => 204 ;;"+
			" PUT /d/n {If: </dav/d> ($T)} `n` => 201 ;; DELETE /d/n {If: </dav/d/> ($T)} => 204 ;; UNLOCK /d/ {Lock-Token: $T} => 204")
	}
}

func tokenOfAnother(t *testing.T, r row) {
	r.run(t, "TEAM X member ;; PUT ^/teams/$X/f `f` => 201 ;; PUT ^/teams/$X/g `g` => 201 ;; LOCK ^/teams/$X/f exclusive => 200 $T=Lock-Token")
	for _, request := range []string{
		"PUT ^/teams/$X/f `x`", "DELETE ^/teams/$X/f", "MOVE ^/teams/$X/f {Destination: $H/teams/$X/h}", "MOVE ^/teams/$X/f {Destination: $B/h}",
		"COPY ^/teams/$X/g {Destination: $H/teams/$X/f}", "MOVE ^/teams/$X/g {Destination: $H/teams/$X/f}", "PROPPATCH ^/teams/$X/f set=`<x xmlns=\"u\"/>`",
	} {
		r.step(t, "bob@"+request+" {If: </teams/$X/f> ($T)} => 423 `<D:href>/teams/${X}/f</D:href>` !`${TRAW}`")
	}
	// A token is searched for where it belongs, not by how its root is called.
	r.run(t, "bob@LOCK ^/teams/$X/f {If: ($T)} => 403 ;; bob@UNLOCK ^/teams/$X/f {Lock-Token: $T} => 403 ;; PUT /f `f` => 201 ;; UNLOCK /f {Lock-Token: $T} => 409 ;; LOCK /f {If: ($T)} => 412 ;; PUT /f {If: ($T)} `x` => 412")
	r.run(t, "bob@PUT ^/teams/$X/f `x` => 423 ;; PUT ^/teams/$X/f {If: ($T)} `x` => 204 ;; UNLOCK ^/teams/$X/f {Lock-Token: $T} => 204")
}

func tokensAreHidden(t *testing.T, r row) {
	const discovery = "prop=`<D:lockdiscovery/>` => 207 "
	r.run(t, "TEAM X member ;; PUT ^/teams/$X/f `f` => 201 ;; PUT ^/teams/$X/g `g` => 201 ;; PUT ^/teams/$X/h `h` => 201 ;; LOCK ^/teams/$X/f exclusive => 200 $T=Lock-Token")
	r.run(t, "PROPFIND ^/teams/$X/f "+discovery+"`<D:locktoken><D:href>${TRAW}</D:href></D:locktoken>` ;; bob@PROPFIND ^/teams/$X/f "+discovery+"`<D:activelock>` !`${TRAW}` !`locktoken`")
	r.run(t, "SCOPE X/ ;; inner@PROPFIND /f "+discovery+"`${TRAW}`")
	tokens := map[lockns.Origin]string{
		lockns.Product: r.hold(t, "X/g", lockns.Product, r.alice),
		lockns.WOPI:    r.hold(t, "X/h", lockns.WOPI, r.alice),
	}
	for _, who := range []string{"", "bob", "inner"} {
		c := call{as: who, method: "PROPFIND", target: "^" + r.expand("/teams/$X"), header: []string{"Depth: 1"}}
		if who == "inner" {
			c.target = "/"
		}
		a := r.want(t, 207, c)
		if n := strings.Count(a.body, "<D:activelock>"); n != 3 {
			t.Errorf("%q sees %d locks, want 3", who, n)
		}
		for origin, token := range tokens {
			if strings.Contains(a.body, token) {
				t.Errorf("%q sees the token of the %s lock", who, origin)
			}
		}
	}
	for _, f := range []string{"f", "g", "h"} {
		if a := r.want(t, 423, call{as: "bob", method: "DELETE", target: "^" + r.expand("/teams/$X/"+f)}); strings.Contains(a.body, "urn:uuid:") {
			t.Errorf("a refusal shows a token: %s", a.body)
		}
	}
}

func changedMeanwhile(t *testing.T, r row) {
	r.run(t, "TEAM X member")
	for _, c := range []struct {
		name      string
		before    string // $E is an entity-tag, $T a token
		put       string // the URL and headers of bob's PUT
		meanwhile string
		want      int
		after     string
	}{
		{"written, with If-Match", "PUT ^/teams/$X/f `old` => 201|204 $E=ETag", "^/teams/$X/f {If-Match: $E}", "PUT ^/teams/$X/f `new` => 204", 412, "GET ^/teams/$X/f => 200 `^new$`"},
		{"written, with If", "PUT ^/teams/$X/f `old` => 201|204 $E=ETag", "^/teams/$X/f {If: ([$E])}", "PUT ^/teams/$X/f `new` => 204", 412, "GET ^/teams/$X/f => 200 `^new$`"},
		{"written, unconditionally", "PUT ^/teams/$X/f `old` => 201|204", "^/teams/$X/f", "PUT ^/teams/$X/f `new` => 204", 204, "GET ^/teams/$X/f => 200 `^body$`"},
		{"created, with If-None-Match", "MKCOL ^/teams/$X/c => 201", "^/teams/$X/c/f {If-None-Match: *}", "PUT ^/teams/$X/c/f `new` => 201", 412, "GET ^/teams/$X/c/f => 200 `^new$`"},
		{"removed, with If-Match", "PUT ^/teams/$X/f `old` => 201|204", "^/teams/$X/f {If-Match: *}", "DELETE ^/teams/$X/f => 204", 412, "GET ^/teams/$X/f => 404"},
		{"its folder removed", "MKCOL ^/teams/$X/d => 201", "^/teams/$X/d/f", "DELETE ^/teams/$X/d => 204", 409, "GET ^/teams/$X/d => 404"},
		{"a folder made in its place", "MKCOL ^/teams/$X/e => 201", "^/teams/$X/e/f", "MKCOL ^/teams/$X/e/f => 201", 405, "GET ^/teams/$X/e/f => 200"},
		{"locked", "PUT ^/teams/$X/l `old` => 201", "^/teams/$X/l", "LOCK ^/teams/$X/l exclusive => 200", 423, "GET ^/teams/$X/l => 200 `^old$`"},
		{"its lock ended", "PUT ^/teams/$X/u `old` => 201 ;; bob@LOCK ^/teams/$X/u exclusive => 200 $T=Lock-Token", "^/teams/$X/u {If: ($T)}", "bob@UNLOCK ^/teams/$X/u {Lock-Token: $T} => 204", 412, "GET ^/teams/$X/u => 200 `^old$`"},
		{"its user made a viewer", "PUT ^/teams/$X/v `old` => 201", "^/teams/$X/v", "ROLE X viewer", 403, "GET ^/teams/$X/v => 200 `^old$` ;; ROLE X member"},
		{"its user made no member", "PUT ^/teams/$X/w `old` => 201", "^/teams/$X/w", "ROLE X none", 403, "GET ^/teams/$X/w => 200 `^old$` ;; ROLE X member"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.run(t, c.before)
			words, err := split("bob@PUT " + c.put + " {Expect: 100-continue} `body`")
			if err != nil {
				t.Fatal(err)
			}
			put := r.call(t, words)
			put.meanwhile = func() { r.run(t, c.meanwhile) }
			a := r.do(t, put)
			if !a.interim || a.status != c.want {
				t.Errorf("asked for the body %t, status %d; want %d\n%s", a.interim, a.status, c.want, a.body)
			}
			r.run(t, c.after)
		})
	}
}
