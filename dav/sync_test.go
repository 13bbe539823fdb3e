package dav_test

import (
	"database/sql"
	"encoding/xml"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/dav"
	"holdfast/store"
)

// synced is what a client reads of a multistatus.
type synced struct {
	Responses []struct {
		Href     string `xml:"href"`
		Status   string `xml:"status"`
		Propstat []struct {
			ETag string `xml:"prop>getetag"`
			Type struct {
				Collection *struct{} `xml:"collection"`
			} `xml:"prop>resourcetype"`
			Status string `xml:"status"`
		} `xml:"propstat"`
	} `xml:"response"`
	Token string `xml:"sync-token"`
}

// client keeps a copy of a collection, its members by href.
type client struct {
	*space
	t       *testing.T
	path    string
	token   string
	members map[string]string
}

// ask sends a request and reads its answer.
func (c *client) ask(method, body string, header ...string) (m synced) {
	c.t.Helper()
	a := c.do(c.t, call{method: method, target: c.path, header: header, body: body, hasBody: true})
	if a.status != 207 {
		c.t.Fatalf("%s: %d %s", method, a.status, a.body)
	}
	if err := xml.Unmarshal([]byte(a.body), &m); err != nil {
		c.t.Fatal(err)
	}
	return m
}

// sync asks once and applies the answer. It says how many members were in it, and
// whether it was cut short.
func (c *client) sync(limit int) (n int, more bool) {
	c.t.Helper()
	body := fmt.Sprintf(syncFmt, `<D:sync-token>`+c.token+`</D:sync-token><D:sync-level>1</D:sync-level><D:prop><D:getetag/><D:resourcetype/></D:prop>`)
	if limit > 0 {
		body = strings.Replace(body, `<D:prop>`, fmt.Sprintf(`<D:limit><D:nresults>%d</D:nresults></D:limit><D:prop>`, limit), 1)
	}
	m := c.ask("REPORT", body)
	for _, r := range m.Responses {
		switch {
		case strings.Contains(r.Status, " 507 "):
			more = true
		case strings.Contains(r.Status, " 404 "):
			n++
			delete(c.members, r.Href)
		default:
			n++
			c.members[r.Href] = r.Propstat[0].ETag
		}
	}
	c.token = m.Token
	return n, more
}

// listing is what the collection has.
func (c *client) listing() map[string]string {
	c.t.Helper()
	all := map[string]string{}
	for _, r := range c.ask("PROPFIND", fmt.Sprintf(propfindFmt, `<D:getetag/>`), "Depth: 1", "Prefer: depth-noroot").Responses {
		all[r.Href] = ""
		if strings.Contains(r.Propstat[0].Status, " 200 ") {
			all[r.Href] = r.Propstat[0].ETag
		}
	}
	return all
}

// TestSyncByHref: a client that applies the answers to sync-collection has what a
// PROPFIND lists, wherever they are cut and however names are spelled.
func TestSyncByHref(t *testing.T) {
	sp := newServer(t, nil).newSpace(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []string{"/d", "/e"} {
		sp.do(t, call{method: "MKCOL", target: d})
	}
	c := &client{space: sp, t: t, path: "/d", members: map[string]string{}}
	names := []string{"a", "b%25%20c", "%C3%A9", "e%CC%81"}
	path := func() string { return []string{"/d/", "/d/", "/e/"}[r.IntN(3)] + names[r.IntN(len(names))] }
	for round := range 120 {
		for range r.IntN(4) {
			from, to := path(), path()
			do := []call{
				{method: "PUT", target: from, body: fmt.Sprint(round), hasBody: true},
				{method: "MKCOL", target: from},
				{method: "DELETE", target: from},
				{method: "MOVE", target: from, header: []string{"Destination: " + sp.base() + to}},
				{method: "COPY", target: from, header: []string{"Destination: " + sp.base() + to}},
			}[r.IntN(5)]
			if a := sp.do(t, do); a.status >= 500 || a.status == 400 {
				t.Fatalf("%s %s: %d %s", do.method, do.target, a.status, a.body)
			}
		}
		limit := r.IntN(3)
		for more := true; more; {
			var n int
			if n, more = c.sync(limit); limit > 0 && n > limit {
				t.Fatalf("%d members with limit %d", n, limit)
			}
		}
		if listed := c.listing(); !maps.Equal(c.members, listed) {
			t.Fatalf("round %d: the copy has\n%v\nthe collection\n%v", round, c.members, listed)
		}
	}
}

// TestSyncLongNames: a listing goes on after a name whose normal form is as long as
// one can be.
func TestSyncLongNames(t *testing.T) {
	sp := newServer(t, nil).newSpace(t)
	for _, method := range []string{"PUT", "MKCOL"} {
		for _, last := range []string{"1", "2", "3"} {
			target := "/" + method[:1] + strings.Repeat("%F0%9D%85%A0", 63) + last
			if a := sp.do(t, call{method: method, target: target, hasBody: method == "PUT"}); a.status != 201 {
				t.Fatalf("%s: %d %s", method, a.status, a.body)
			}
		}
	}
	c := &client{space: sp, t: t, path: "/", members: map[string]string{}}
	for more := true; more; {
		_, more = c.sync(1)
	}
	if len(c.members) != 6 {
		t.Errorf("%d members, want 6", len(c.members))
	}
}

// TestSyncServerLimit: an answer never has more members than a PROPFIND may list,
// and what is left comes with the next.
func TestSyncServerLimit(t *testing.T) {
	sp := newServer(t, func(o *dav.Options) { o.PropfindMax = 7 }).newSpace(t)
	put := func(n int) {
		sp.do(t, call{method: "PUT", target: fmt.Sprintf("/f%02d", n), body: "x", hasBody: true})
	}
	c := &client{space: sp, t: t, path: "/", members: map[string]string{}}
	for n := range 20 {
		put(n)
	}
	for _, want := range []struct {
		n    int
		more bool
	}{{7, true}, {7, true}, {6, false}, {0, false}} {
		if n, more := c.sync(100); n != want.n || more != want.more {
			t.Errorf("%d members, cut %v, want %v", n, more, want)
		}
	}
	for n := range 14 {
		put(n)
	}
	for _, want := range []bool{true, false, false} {
		if _, more := c.sync(0); more != want {
			t.Errorf("cut %v, want %v", more, want)
		}
	}
}

// TestSyncTokensOfOtherTimes: a token is of no use in a database that was
// restored, nor before what it says has happened.
func TestSyncTokensOfOtherTimes(t *testing.T) {
	s := newServer(t, nil)
	sp := s.newSpace(t)
	c := &client{space: sp, t: t, path: "/", members: map[string]string{}}
	c.sync(0)
	if u, err := url.Parse(c.token); err != nil || u.Scheme != "data" {
		t.Errorf("token %q: scheme %q, %v", c.token, u.Scheme, err)
	}
	refused := func(what, token string) {
		t.Helper()
		body := fmt.Sprintf(syncFmt, fmt.Sprintf(syncClauses, token))
		a := sp.do(t, call{method: "REPORT", target: "/", body: body, hasBody: true})
		if a.status != 403 || !strings.Contains(a.body, "<D:valid-sync-token/>") {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	refused("a token of the future", c.token+"1")
	refused("another way to write a number", strings.TrimSuffix(c.token, "/0")+"/00")
	refused("no folder", "data:,sync/"+s.store.Instance()+"/0/0")
	refused("a change before the first", "data:,sync/"+s.store.Instance()+"/0/-1")
	refused("a number that is too large", strings.TrimSuffix(c.token, "/0")+"/9223372036854775808")
	refused("the largest number", strings.TrimSuffix(c.token, "/0")+"/9223372036854775807")
	for _, name := range []string{"%00", "a%00", "%FF", "%ED%A0%80", strings.Repeat("a", 800)} {
		refused("a listing that goes on after no name", c.token+"/f/"+name)
		refused("a listing that goes on after no name", c.token+"/d/"+name)
	}
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(s.folder, "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`UPDATE instance SET uuid = 'another'`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s.open(t)
	refused("a token of another database", c.token)
}

// TestSyncBlockedNames: what is there under a blocked name from other times is in
// no answer.
func TestSyncBlockedNames(t *testing.T) {
	sp := newServer(t, nil).newSpace(t)
	c := &client{space: sp, t: t, path: "/", members: map[string]string{}}
	c.sync(0)
	before := c.token
	for _, name := range []string{".dav", "f"} {
		target := store.Target{Workspace: sp.alice.Workspace(), Path: store.Path{name}}
		if _, err := sp.store.Mkdir(t.Context(), target, store.Patch{}, store.Holder(sp.alice.ID)); err != nil {
			t.Fatal(err)
		}
	}
	for _, token := range []string{"", before} {
		c.token, c.members = token, map[string]string{}
		if c.sync(0); len(c.members) != 1 {
			t.Errorf("since %q: %v, want the one that is not blocked", token, c.members)
		}
	}
}
