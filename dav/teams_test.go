package dav_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Whoever is no member of a team cannot find out that there is one.
func TestUnknownTeamsLookAlike(t *testing.T) {
	r := newRow(t, newServer(t, nil))
	r.run(t, "TEAM X ;; PUT ^/teams/$X/f `f` => 201 ;; PUT /p `p` => 201 ;; MKCOL /d => 201 ;; PUT /d/p `p` => 201 ;; LOCK ^/teams/$X/f exclusive => 200 $T=Lock-Token ;; SCOPE /d ;; eve@PUT /p `p` => 201")
	r.vars["N"] = "none" + r.row
	for _, request := range []string{
		"OPTIONS ^/teams/$X/f", "GET ^/teams/$X/f", "HEAD ^/teams/$X", "PROPFIND ^/teams/$X/ {Depth: 0}", "PROPFIND ^/teams/$X/f {If: (<urn:x:y>)}",
		"PUT ^/teams/$X/f `x`", "PUT ^/teams/$X/f {Expect: 100-continue} `x`", "PUT ^/teams/$X/n `x`", "MKCOL ^/teams/$X/f", "MKCOL ^/teams/$X/n",
		"DELETE ^/teams/$X/f", "DELETE ^/teams/$X", "PROPPATCH ^/teams/$X/f set=`<x xmlns=\"u\"/>`", "LOCK ^/teams/$X/f exclusive", "LOCK ^/teams/$X/n exclusive",
		"LOCK ^/teams/$X/f {If: ($T)}", "UNLOCK ^/teams/$X/f {Lock-Token: $T}", "COPY ^/teams/$X/f {Destination: $B/q}", "MOVE ^/teams/$X/f {Destination: $B/q}",
		"POST ^/teams/$X/f", "FOO ^/teams/$X/f",
		"COPY /p {Destination: $H/teams/$X/q}", "MOVE /p {Destination: $H/teams/$X/f}", "COPY /p {Destination: $H/teams/$X}",
		"GET /p {If: </teams/$X/f> ($T)}", "GET /p {If: </teams/$X/f> (Not $T)}", "PUT /p {If: </teams/$X/f> ($T)} `x`", "DELETE /none {If: </teams/$X/f> ($T)}",
	} {
		t.Run(request, func(t *testing.T) {
			for _, who := range []string{"eve", "inner"} {
				ask := func(request string) answer {
					words, err := split(who + "@" + request)
					if err != nil {
						t.Fatal(err)
					}
					return r.do(t, r.call(t, words))
				}
				hidden, missing := ask(request), ask(strings.ReplaceAll(request, "$X", "$N"))
				for _, a := range []answer{hidden, missing} {
					delete(a.header, "Date")
				}
				if hidden.status != missing.status || hidden.interim != missing.interim || hidden.body != missing.body ||
					!maps.EqualFunc(hidden.header, missing.header, func(a, b []string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
					t.Errorf("%s: another's team\n%+v\nno team\n%+v", who, hidden, missing)
				}
			}
		})
	}
}

// An account keeps to its folder by id. Here another folder takes its place
// again and again while the account works: it must never be touched.
func TestAccountKeepsToItsFolder(t *testing.T) {
	r := newRow(t, newServer(t, nil))
	r.run(t, "MKCOL /d => 201 ;; PUT /d/x `mine` => 201 ;; SCOPE /d")
	var decoy, done atomic.Bool // decoy: the other folder is called /d
	var beside atomic.Int64     // works that began and ended then
	var wg sync.WaitGroup
	defer wg.Wait()
	defer done.Store(true)
	for worker := range 2 {
		wg.Go(func() {
			for i := 0; !done.Load(); i++ {
				before := decoy.Load()
				r.workAsInner(t, fmt.Sprintf("/w%d-%d", worker, i))
				if before && decoy.Load() {
					beside.Add(1)
				}
			}
		})
	}
	for range 20 {
		r.moveOn(t, "/d", "/e")
		r.run(t, "MKCOL /d => 201 ;; PUT /d/x `other` => 201")
		decoy.Store(true)
		for n := beside.Load(); beside.Load() < n+2 && !t.Failed(); {
			time.Sleep(time.Millisecond)
		}
		decoy.Store(false)
		// A lock in it would be in the way of DELETE.
		r.run(t, "GET /d/x => 200 `^other$` ;; PROPFIND /d {Depth: 1} => 207 !`/dav/d/[^x<]` ;; DELETE /d => 204")
		r.moveOn(t, "/e", "/d")
	}
	r.run(t, "GET /d/x => 200 `^mine$` ;; PROPFIND /d {Depth: 1} => 207 `/dav/d/w0-0<.*/dav/d/w1-0<`")
}

// moveOn moves a folder as soon as no lock is in the way.
func (r row) moveOn(t *testing.T, from, to string) {
	t.Helper()
	for {
		a := r.do(t, call{method: "MOVE", target: from, header: []string{"Destination: /dav" + to}})
		if a.status == 201 {
			return
		}
		if a.status != 423 {
			t.Fatalf("MOVE %s: status %d\n%s", from, a.status, a.body)
		}
	}
}

// workAsInner does what an account does with a file, and checks that it is in
// its own folder.
func (r row) workAsInner(t *testing.T, file string) {
	check := func(want int, body string, c call) answer {
		c.as = "inner"
		a, err := r.try(c)
		if err != nil || a.status != want || !strings.Contains(a.body, body) {
			t.Errorf("%s %s: status %d, want %d with %q (%v)\n%s", c.method, c.target, a.status, want, body, err, a.body)
		}
		return a
	}
	check(200, "mine", call{method: "GET", target: "/x"})
	check(201, "", put(file, "w"))
	check(204, "", put("/x", "mine"))
	lock := call{method: "LOCK", target: file, body: fmt.Sprintf(lockinfoFmt, "exclusive"), hasBody: true}
	token := check(200, "<D:href>/dav"+file+"<", lock).header.Get("Lock-Token")
	check(204, "", call{method: "UNLOCK", target: file, header: []string{"Lock-Token: " + token}})
	check(207, "/dav"+file+"<", call{method: "PROPFIND", target: "/", header: []string{"Depth: 1"}})
}
