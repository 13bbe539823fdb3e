package dav_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-webdav"

	"holdfast/blob/blobtest"
	"holdfast/store"
)

// want fails the test unless the answer has the status.
func (sp *space) want(t *testing.T, status int, c call) answer {
	t.Helper()
	a := sp.do(t, c)
	if a.status != status {
		t.Fatalf("%s %s: status %d, want %d\n%s", c.method, c.target, a.status, status, a.body)
	}
	return a
}

// put is a PUT of the text.
func put(target, text string) call {
	return call{method: "PUT", target: target, body: text, hasBody: true}
}

// long is content that is no row of the database.
var long = strings.Repeat("holdfast ", 2000)

// R111, B98: contention inside is no client's business.
func TestParallelWritesAndListings(t *testing.T) {
	sp := newServer(t, nil).newSpace(t)
	var wg sync.WaitGroup
	answers := make([]answer, 80)
	errs := make([]error, len(answers))
	for i := range answers {
		wg.Go(func() {
			c := put(fmt.Sprintf("/p%d", i), "x")
			if i%2 == 1 {
				c = call{method: "PROPFIND", target: "/", header: []string{"Depth: 1"}}
			}
			answers[i], errs[i] = sp.try(c)
		})
	}
	wg.Wait()
	for i, a := range answers {
		if want := []int{http.StatusCreated, http.StatusMultiStatus}[i%2]; errs[i] != nil || a.status != want {
			t.Errorf("request %d: status %d, want %d (%v)", i, a.status, want, errs[i])
		}
	}
}

// race sends calls at once and returns their statuses, sorted.
func (sp *space) race(t *testing.T, calls ...call) []int {
	t.Helper()
	statuses := make([]int, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() {
			a, err := sp.try(c)
			if err != nil {
				t.Errorf("%s %s: %v", c.method, c.target, err)
			}
			statuses[i] = a.status
		})
	}
	wg.Wait()
	slices.Sort(statuses)
	return statuses
}

func TestRacesHaveOneWinner(t *testing.T) {
	sp := newServer(t, nil).newSpace(t)
	t.Run("R112 MKCOL", func(t *testing.T) {
		mkcol := call{method: "MKCOL", target: "/race"}
		got := sp.race(t, mkcol, mkcol, mkcol, mkcol)
		if want := []int{201, 405, 405, 405}; !slices.Equal(got, want) {
			t.Errorf("statuses %v, want %v", got, want)
		}
	})
	t.Run("B99 MOVE", func(t *testing.T) {
		sp.want(t, 201, put("/a", "x"))
		move := func(to string) call {
			return call{method: "MOVE", target: "/a", header: []string{"Destination: /dav" + to}}
		}
		got := sp.race(t, move("/b"), move("/c"))
		if want := []int{201, 404}; !slices.Equal(got, want) {
			t.Errorf("statuses %v, want %v", got, want)
		}
		if b, c := sp.do(t, call{method: "GET", target: "/b"}).status, sp.do(t, call{method: "GET", target: "/c"}).status; b+c != 604 {
			t.Errorf("GET of the two destinations: %d and %d, want 200 and 404", b, c)
		}
	})
	t.Run("sync token", func(t *testing.T) { // RFC 6578 section 5
		sp.want(t, 201, call{method: "MKCOL", target: "/s"})
		c := &client{space: sp, t: t, path: "/s", members: map[string]string{}}
		for range 20 {
			c.sync(0)
			add := func() call {
				return call{method: "PUT", target: fmt.Sprint("/s/", rand.Uint64()), header: []string{"If: </dav/s> (<" + c.token + ">)"}, body: "x", hasBody: true}
			}
			if got, want := sp.race(t, add(), add(), add(), add()), []int{201, 412, 412, 412}; !slices.Equal(got, want) {
				t.Fatalf("statuses %v, want %v", got, want)
			}
		}
	})
	t.Run("LOCK", func(t *testing.T) {
		lock := call{method: "LOCK", target: "/l", body: fmt.Sprintf(lockinfoFmt, "exclusive"), hasBody: true}
		got := sp.race(t, lock, lock, lock)
		if want := []int{201, 423, 423}; !slices.Equal(got, want) {
			t.Errorf("statuses %v, want %v", got, want)
		}
	})
}

// R33, R34, R43: what needs no content opens none.
func TestContentIsOpenedForGetOnly(t *testing.T) {
	sp := newServer(t, nil).newSpace(t)
	etag := sp.want(t, 201, put("/f", long)).header.Get("ETag")
	sp.blobs.ResetCalls()
	sp.want(t, 207, call{method: "PROPFIND", target: "/", header: []string{"Depth: 1"}})
	sp.want(t, 200, call{method: "HEAD", target: "/f"})
	sp.want(t, 304, call{method: "GET", target: "/f", header: []string{"If-None-Match: " + etag}})
	sp.want(t, 412, call{method: "GET", target: "/f", header: []string{`If-Match: "other"`}})
	if n := sp.blobs.Calls(blobtest.Open); n != 0 {
		t.Errorf("%d objects opened, want none", n)
	}
	if a := sp.want(t, 200, call{method: "GET", target: "/f"}); a.body != long {
		t.Errorf("got %d bytes, want %d", len(a.body), len(long))
	}
	if n := sp.blobs.Calls(blobtest.Open); n == 0 {
		t.Error("no object opened by GET")
	}
}

// R33, B86: a member whose content cannot be read, and one that goes while the
// listing is on its way, do not spoil it for the others.
func TestOneBadMemberR33B86(t *testing.T) {
	s := newServer(t, nil)
	sp := s.newSpace(t)
	for _, name := range []string{"/a", "/bad", "/c"} {
		sp.want(t, 201, put(name, long+name))
	}
	s.blobs.Before = func(_ context.Context, c blobtest.Call) error {
		if c.Method == blobtest.Open {
			return fs.ErrNotExist
		}
		return nil
	}
	list := call{method: "PROPFIND", target: "/", header: []string{"Depth: 1"}}
	for _, target := range []string{"/", "/bad"} {
		a := sp.want(t, 207, call{method: "PROPFIND", target: target, header: []string{"Depth: 1"}})
		if !strings.Contains(a.body, "<D:href>/dav/bad</D:href>") {
			t.Errorf("PROPFIND %s: %s", target, a.body)
		}
	}
	if a := sp.do(t, call{method: "GET", target: "/bad"}); a.status < 500 {
		t.Errorf("GET of content that is gone: %d", a.status)
	}
	s.blobs.Before = nil
	sp.want(t, 200, call{method: "GET", target: "/c"})

	u := sp.alice
	const n = 1500 // more than one page of the store
	for i := range n {
		target := store.Target{Workspace: u.Workspace(), Path: store.Path{fmt.Sprintf("m%05d", i)}}
		if _, _, err := s.store.Put(t.Context(), target, store.File{Body: strings.NewReader("x"), Size: 1}, store.Holder(u.ID)); err != nil {
			t.Fatal(err)
		}
	}
	last := store.Target{Workspace: u.Workspace(), Path: store.Path{fmt.Sprintf("m%05d", n-1)}}
	seen := 0
	err := s.store.Walk(t.Context(), store.Target{Workspace: u.Workspace()}, store.DepthOne, store.Want{Props: true, Locks: true}, 0, func(e store.Entry) error {
		if seen++; seen == 1 {
			return s.store.Remove(t.Context(), last, store.Holder(u.ID))
		}
		return nil
	})
	if err != nil || seen < 1+3+n-1 || seen > 1+3+n {
		t.Errorf("a member that goes meanwhile: %d entries and %v, want %d with it or without", seen, err, 1+3+n)
	}
	a := sp.want(t, 207, list)
	if got := strings.Count(a.body, "<D:response>"); got != 1+3+n-1 {
		t.Errorf("%d entries, want %d", got, 1+3+n-1)
	}
}

// A resource has no room for any number of properties, and says which it has
// not taken.
func TestTooManyProperties(t *testing.T) {
	sp := newServer(t, nil).newSpace(t)
	set := func(from, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `<p%d xmlns="u"/>`, from+i)
		}
		return fmt.Sprintf(updateFmt, "set", b.String())
	}
	patch := func(body string) call { return call{method: "PROPPATCH", target: "/f", body: body, hasBody: true} }
	sp.want(t, 201, put("/f", "x"))
	if a := sp.want(t, 207, patch(set(0, store.MaxProps))); !strings.Contains(a.body, "200 OK") {
		t.Fatalf("the properties a resource may have: %s", a.body)
	}
	a := sp.want(t, 207, patch(set(store.MaxProps, 1)))
	if !strings.Contains(a.body, fmt.Sprintf(":p%d ", store.MaxProps)) || !strings.Contains(a.body, " 507 ") || strings.Contains(a.body, "200 OK") {
		t.Errorf("one more: %s", a.body)
	}
	if a := sp.want(t, 207, call{method: "PROPFIND", target: "/f", body: fmt.Sprintf(propfindFmt, fmt.Sprintf(`<p%d xmlns="u"/>`, store.MaxProps)), hasBody: true}); strings.Contains(a.body, "200 OK") {
		t.Errorf("it is there: %s", a.body)
	}
	value := strings.Repeat("x", store.MaxPropBytes)
	mkcol := `<D:mkcol xmlns:D="DAV:"><D:set><D:prop><a xmlns="u">` + value + `</a></D:prop></D:set></D:mkcol>`
	a = sp.want(t, http.StatusInsufficientStorage, call{method: "MKCOL", target: "/c", body: mkcol, hasBody: true})
	if !strings.Contains(a.body, "mkcol-response") || strings.Contains(a.body, "xxx") {
		t.Errorf("MKCOL: %.300s", a.body)
	}
	sp.want(t, 404, call{method: "PROPFIND", target: "/c"})
}

const secret = "bucket credentials expired"

func TestFailingStorage(t *testing.T) {
	s := newServer(t, nil)
	sp := s.newSpace(t)
	sp.want(t, 201, put("/f", long))
	broken := false
	s.blobs.Before = func(context.Context, blobtest.Call) error {
		if broken {
			return errors.New(secret)
		}
		return nil
	}
	broken = true
	get := func(ranges string) call {
		return call{method: "GET", target: "/f", header: []string{"Range: " + ranges}}
	}
	for _, c := range []call{put("/g", long), put("/f", long), {method: "GET", target: "/f"}, get("bytes=5-"), get("bytes=0-1,5-6")} {
		t.Run(strings.Join(append(c.header, c.method, c.target, "is 503"), " "), func(t *testing.T) {
			a := sp.want(t, http.StatusServiceUnavailable, c)
			if after := a.header.Get("Retry-After"); after != "1" {
				t.Errorf("Retry-After %q, want 1", after)
			}
			if strings.Contains(a.body, secret) {
				t.Errorf("the answer tells internals: %s", a.body)
			}
			if ct := a.header.Get("Content-Type"); !strings.HasPrefix(ct, "application/xml") {
				t.Errorf("Content-Type %q", ct)
			}
			for _, name := range []string{"ETag", "Last-Modified", "Content-Range"} {
				if v := a.header.Get(name); v != "" {
					t.Errorf("%s: %s in an answer without the content", name, v)
				}
			}
		})
	}
	if !strings.Contains(s.log.String(), secret) {
		t.Error("the cause is not in the log")
	}
	t.Run("listing goes on", func(t *testing.T) {
		sp.want(t, 207, call{method: "PROPFIND", target: "/", header: []string{"Depth: 1"}})
	})
	broken = false
	sp.want(t, 200, call{method: "GET", target: "/f"})
	sp.want(t, 404, call{method: "GET", target: "/g"})
}

// R113: trouble that passes is 503, and says when to come back.
func TestClosedStoreIs503(t *testing.T) {
	s := newServer(t, nil)
	sp := s.newSpace(t)
	closed := newServer(t, nil)
	if err := closed.store.Close(); err != nil {
		t.Fatal(err)
	}
	a := serveAs(t, closed.handler, sp.alice, "MKCOL", "/dav/x", nil)
	if a.Code != http.StatusServiceUnavailable || a.Header().Get("Retry-After") != "1" {
		t.Errorf("status %d, Retry-After %q; want 503 and 1", a.Code, a.Header().Get("Retry-After"))
	}
	closed.open(t) // for the clean-up
}

// R35: Windows takes no more than a million bytes for one collection.
func TestWindowsListsAThousandEntries(t *testing.T) {
	s := newServer(t, nil)
	sp := s.newSpace(t)
	u := sp.alice
	const n = 1000
	for i := range n {
		target := store.Target{Workspace: u.Workspace(), Path: store.Path{fmt.Sprintf("Quarterly report %04d.docx", i)}}
		f := store.File{Body: strings.NewReader("x"), Size: 1}
		if _, _, err := s.store.Put(t.Context(), target, f, store.Holder(u.ID)); err != nil {
			t.Fatal(err)
		}
	}
	a := sp.want(t, 207, call{method: "PROPFIND", target: "/", header: []string{"Depth: 1", "User-Agent: Microsoft-WebDAV-MiniRedir/10.0.19045"}})
	if got := strings.Count(a.body, "<D:response>"); got != n+1 {
		t.Errorf("%d entries, want %d", got, n+1)
	}
	if len(a.body) >= 1_000_000 {
		t.Errorf("%d bytes, want less than a million", len(a.body))
	}
}

// account signs the requests of an independent client.
type account struct{ sp *space }

func (a account) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Test-Principal", a.sp.key(""))
	return http.DefaultClient.Do(r)
}

// TestIndependentClient drives the server with go-webdav's client, which shares
// no code with the server's XML.
func TestIndependentClient(t *testing.T) {
	sp := newServer(t, nil).newSpace(t)
	c, err := webdav.NewClient(account{sp}, sp.base()+"/")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	check := func(step string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	check("Mkdir", c.Mkdir(ctx, "d ä"))
	w, err := c.Create(ctx, "d ä/f+g.txt")
	check("Create", err)
	_, err = io.WriteString(w, long)
	check("Write", err)
	check("Close", w.Close())
	check("Copy", c.Copy(ctx, "d ä/f+g.txt", "d ä/copy", nil))
	check("Move", c.Move(ctx, "d ä/copy", "moved", nil))

	infos, err := c.ReadDir(ctx, "", true)
	check("ReadDir", err)
	var paths []string
	for _, info := range infos {
		paths = append(paths, info.Path)
	}
	slices.Sort(paths)
	if want := []string{"/dav/", "/dav/d ä/", "/dav/d ä/f+g.txt", "/dav/moved"}; !slices.Equal(paths, want) {
		t.Errorf("paths %q, want %q", paths, want)
	}
	info, err := c.Stat(ctx, "moved")
	check("Stat", err)
	if info.Size != int64(len(long)) || info.IsDir || info.ETag == "" || info.ModTime.IsZero() {
		t.Errorf("Stat: %+v", info)
	}
	r, err := c.Open(ctx, "moved")
	check("Open", err)
	b, err := io.ReadAll(r)
	check("Read", err)
	if string(b) != long {
		t.Errorf("got %d bytes, want %d", len(b), len(long))
	}
	check("RemoveAll", c.RemoveAll(ctx, "d ä"))
	principal, err := c.FindCurrentUserPrincipal(ctx)
	check("FindCurrentUserPrincipal", err)
	if want := "/principals/" + sp.alice.Name + "/"; principal != want {
		t.Errorf("principal %q, want %q", principal, want)
	}
}

func TestPrincipal(t *testing.T) {
	sp := newServer(t, nil).newSpace(t)
	own := "^/principals/" + sp.alice.Name + "/"
	a := sp.want(t, 207, call{method: "PROPFIND", target: own, header: []string{"Depth: 0"}})
	for _, want := range []string{"<D:principal/>", "<D:displayname>" + sp.alice.Name + "<", "<D:href>/principals/" + sp.alice.Name + "/<"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %s in %s", want, a.body)
		}
	}
	sp.want(t, 200, call{method: "OPTIONS", target: own})
	sp.want(t, 405, call{method: "GET", target: own})
	sp.want(t, 404, call{method: "PROPFIND", target: "^/principals/" + sp.bob.Name + "/", header: []string{"Depth: 0"}})
	sp.want(t, 404, call{method: "PROPFIND", target: own + "x", header: []string{"Depth: 0"}})
}

// A download that cannot go on must not look finished.
func TestContentBreaksOff(t *testing.T) {
	s := newServer(t, nil)
	sp := s.newSpace(t)
	content := strings.Repeat("x", 1<<20)
	sp.want(t, 201, put("/f", content))
	err := filepath.WalkDir(filepath.Join(s.folder, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() != int64(len(content)) {
			return err
		}
		return os.Truncate(path, int64(len(content)/2))
	})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := sp.try(call{method: "GET", target: "/f"}); err == nil {
		t.Errorf("status %d with %d bytes, want a broken connection", a.status, len(a.body))
	}
	if !strings.Contains(s.log.String(), "broken off") {
		t.Error("nothing in the log")
	}
}

// R114: after an early refusal the client can read the answer and go on.
func TestEarlyAnswersAreRead(t *testing.T) {
	sp := newServer(t, nil).newSpace(t)
	sp.want(t, 201, put("/f", "x"))
	for range 3 {
		r, err := http.NewRequest("PUT", sp.base()+"/f", strings.NewReader(strings.Repeat("x", 200_000)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("If-None-Match", "*")
		res, err := account{sp}.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusPreconditionFailed {
			t.Errorf("status %d, want 412", res.StatusCode)
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
