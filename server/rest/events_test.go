package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/server/rest"
	"holdfast/store"
)

// told is an event as a client of the format reads it.
type told struct {
	id, kind string
	data     string
}

// stream is a client that follows a workspace.
type stream struct {
	t      *testing.T
	answer *http.Response
	events chan told // closed when the stream ends
	last   string    // the id last read
	stop   context.CancelFunc
}

// follow opens a stream. What is asked for beside the workspace goes into query and
// headers.
func (c *client) follow(workspace, query string, headers ...string) *stream {
	c.w.t.Helper()
	ctx, stop := context.WithCancel(c.w.t.Context())
	c.w.t.Cleanup(stop)
	r, err := http.NewRequestWithContext(ctx, "GET", c.w.url+"/workspaces/"+workspace+"/events"+query, nil)
	must(c.w.t, err)
	c.sign(r)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	answer, err := c.w.http.Do(r)
	must(c.w.t, err)
	s := &stream{t: c.w.t, answer: answer, events: make(chan told, 10_000), stop: stop}
	if answer.StatusCode != 200 {
		answer.Body.Close()
		return s
	}
	ids := make(chan string)
	go s.read(ids)
	s.last = <-ids
	go func() {
		for range ids {
		}
	}()
	return s
}

// read takes the format apart (WHATWG HTML section 9.2.6).
func (s *stream) read(ids chan<- string) {
	defer close(s.events)
	defer close(ids)
	defer s.answer.Body.Close()
	lines := bufio.NewScanner(s.answer.Body)
	var e told
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			ids <- e.id
			if e.data != "" {
				s.events <- e
			}
			e = told{}
		}
	}
}

// eventSchema is where the document describes the data of events.
var eventSchema = pointer("paths", "/workspaces/{workspace}/events", "get", "responses", "200", "content", "text/event-stream", "schema")

// next is the next event, as "kind data" without what says the kind again, and the
// workspace.
func (s *stream) next() string {
	s.t.Helper()
	select {
	case e, ok := <-s.events:
		if !ok {
			return "end"
		}
		s.last = e.id
		var data map[string]any
		must(s.t, json.Unmarshal([]byte(e.data), &data))
		if data["event"] != e.kind {
			s.t.Errorf("event %s says it is %v", e.kind, data["event"])
		}
		for _, c := range theDocument().checkBody(eventSchema, []byte(e.data)) {
			s.t.Error(c)
		}
		delete(data, "event")
		delete(data, "workspace")
		text, err := json.Marshal(data)
		must(s.t, err)
		return e.kind + " " + string(text)
	case <-time.After(10 * time.Second):
		s.t.Fatal("no event comes")
		return ""
	}
}

func (s *stream) wants(want ...string) {
	s.t.Helper()
	for _, w := range want {
		if got := s.next(); got != w {
			s.t.Fatalf("event %s, want %s", got, w)
		}
	}
}

// leave ends the stream, and waits until the server knows.
func (s *stream) leave(w *world) {
	s.t.Helper()
	s.stop()
	for range 500 {
		if !w.api.Reading() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Error("the logs are read for nobody")
}

// ends fails the test unless the stream ends soon, without another event.
func (s *stream) ends() {
	s.t.Helper()
	s.wants("end")
}

// sameDatabase is a second process: another store on the database of a world.
func sameDatabase(so *store.Options, t *testing.T) *store.Store {
	t.Helper()
	second := *so
	second.Cache = nil
	other, err := store.Open(t.Context(), second)
	must(t, err)
	t.Cleanup(func() { must(t, other.Close()) })
	return other
}

func said(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// TestEvents: what happens through every door, by this process and by another, is
// told to who follows the workspace, and nothing of other workspaces.
func TestEvents(t *testing.T) {
	var so *store.Options
	w := newWorld(t, func(s *store.Options, _ *rest.Options) { so = s })
	ada, bob := w.user("ada"), w.user("bob")
	ops := w.team("Ops", ada, map[*client]store.Role{bob: store.Viewer})
	name := fmt.Sprintf("team-%d", ops.ID)
	at := func(path string) store.Target { return store.Target{Workspace: ops, Path: store.ParsePath(path)} }
	root, err := w.Stat(t.Context(), at("/"))
	must(t, err)
	for process, by := range map[string]*store.Store{"this process": w.Store, "another process": sameDatabase(so, t)} {
		t.Run(process, func(t *testing.T) {
			ctx, me := t.Context(), store.Holder(ada.user.ID)
			w.api.PollEvery(50 * time.Millisecond)
			s := bob.follow(name, "")
			s.t = t
			defer s.leave(w)
			put := func(content string) store.Node {
				n, _, err := by.Put(ctx, at("/a"), store.File{Body: strings.NewReader(content), Size: int64(len(content))}, me)
				must(t, err)
				return n
			}
			_, _, err := by.Put(ctx, ada.at("/elsewhere"), store.File{Body: strings.NewReader("x"), Size: 1}, me)
			must(t, err)
			n := put("x")
			changed := said(`resource.changed {"folder":%d,"id":%d,"kind":"file","name":"a"}`, root.ID(), n.ID())
			s.wants(changed)
			put("y")
			s.wants(changed)

			for _, origin := range []lockns.Origin{lockns.WebDAV, lockns.Product, lockns.WOPI} {
				spec := store.LockSpec{Depth: lockns.Resource, Mode: lockns.Exclusive, Origin: origin, Holder: ada.user.ID, Owner: "secret", Timeout: time.Hour}
				out, err := by.Lock(ctx, at("/a"), spec, me)
				must(t, err)
				lock := func(l lockns.Lock) string {
					return said(`lock.changed {"depth":"resource","expires":"%s","holder":"ada","id":%d,"mode":"exclusive","origin":"%s","root":{"id":%d,"kind":"file"}}`,
						l.ExpiresAt.Format(time.RFC3339Nano), l.ID, origin, n.ID())
				}
				s.wants(lock(out.Lock))
				which := store.ByOrigin(origin)
				if origin == lockns.WebDAV {
					which = store.ByToken(out.Lock.Token)
				}
				claim := tokenOf{me, lockns.Token{Value: out.Lock.Token, Origin: origin}}
				out, err = by.RefreshLock(ctx, at("/a"), which, 2*time.Hour, claim)
				must(t, err)
				s.wants(lock(out.Lock))
				must(t, by.Unlock(ctx, at("/a"), which, claim))
				s.wants(said(`lock.ended {"id":%d,"root":{"id":%d,"kind":"file"}}`, out.Lock.ID, n.ID()))
			}
			_, err = by.Move(ctx, at("/a"), at("/b"), store.MoveOptions{}, me)
			must(t, err)
			s.wants(said(`resource.removed {"folder":%d,"kind":"file","name":"a"}`, root.ID()),
				said(`resource.changed {"folder":%d,"id":%d,"kind":"file","name":"b"}`, root.ID(), n.ID()))
			must(t, by.Remove(ctx, at("/b"), me))
			s.wants(said(`resource.removed {"folder":%d,"kind":"file","name":"b"}`, root.ID()))
		})
	}
}

// tokenOf is a claim with a token.
type tokenOf struct {
	store.Holder
	token lockns.Token
}

func (c tokenOf) Prove(store.View) (lockns.Credentials, error) {
	return lockns.Credentials{User: int64(c.Holder), Tokens: []lockns.Token{c.token}}, nil
}

// TestEventsHead: the headers that keep what is between from collecting, and what a
// stream begins with.
func TestEventsHead(t *testing.T) {
	w := newWorld(t)
	ada := w.user("ada")
	a := ada.do("GET", "/workspaces/personal/events?seconds=0", nil).wants(200)
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/workspaces/personal/events?seconds=0", nil)
	must(t, err)
	ada.sign(r)
	answer, err := w.http.Do(r)
	must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	if !regexp.MustCompile(`^retry: [23][0-9]{3}\n:\nid: [0-9a-f]{8}-0-0-[0-9]+\n\n$`).Match(body) {
		t.Errorf("an empty stream is %q", body)
	}
	ada.do("GET", "/workspaces/team-99/events", nil).refuses(404, "not_found")
	ada.do("GET", "/workspaces/personal/events?seconds=3601", nil).refuses(400, "request.invalid")
}

// TestEventsResume: who comes back with the id of the last event learns what came
// after it, whatever ended the stream; who cannot is told to look at everything.
func TestEventsResume(t *testing.T) {
	w := newWorld(t)
	ada := w.user("ada")
	w.api.Pace(20*time.Millisecond, time.Hour)
	s := ada.follow("personal", "")
	root, err := w.Stat(t.Context(), ada.at("/"))
	must(t, err)
	changed := func(n store.Node) string {
		return said(`resource.changed {"folder":%d,"id":%d,"kind":"file","name":"%s"}`, root.ID(), n.ID(), n.Name)
	}
	first := ada.put(ada.at("/1"), "x")
	s.wants(changed(first))
	known := s.last
	s.stop()
	second, third := ada.put(ada.at("/2"), "x"), ada.put(ada.at("/3"), "x")
	t.Run("goes on", func(t *testing.T) {
		s := ada.follow("personal", "", "Last-Event-ID: "+known)
		s.t = t
		s.wants(changed(second), changed(third))
		fourth := ada.put(ada.at("/4"), "x")
		s.wants(changed(fourth))
		must(t, w.Remove(t.Context(), ada.at("/4"), store.Holder(ada.user.ID)))
		s.wants(said(`resource.removed {"folder":%d,"kind":"file","name":"4"}`, root.ID()))
	})
	t.Run("tells of each once", func(t *testing.T) {
		ada.put(ada.at("/2"), "y")
		s := ada.follow("personal", "?seconds=0", "Last-Event-ID: "+known)
		s.t = t
		s.wants(changed(third), said(`resource.removed {"folder":%d,"kind":"file","name":"4"}`, root.ID()), changed(second), "end")
		again := ada.follow("personal", "?seconds=0", "Last-Event-ID: "+s.last)
		again.t = t
		again.ends()
	})
	t.Run("or begins anew", func(t *testing.T) {
		parts := strings.Split(known, "-")
		for _, id := range []string{"x", "1-2-3", "ffffffff-" + strings.Join(parts[1:], "-"), parts[0] + "-1-2-x", parts[0] + "--1-2-3", parts[0] + "-0-0-0"} {
			s := ada.follow("personal", "?seconds=0", "Last-Event-ID: "+id)
			s.t = t
			s.wants("reset {}", "end")
		}
		w.clock.Add(2 * time.Hour.Microseconds())
		s := ada.follow("personal", "", "Last-Event-ID: "+known)
		s.t = t
		s.wants("reset {}")
		s.wants(changed(ada.put(ada.at("/1"), "z")))
	})
}

// TestEventsHeartbeat: a silent stream says that it is alive, and moves the id, so
// that it can be resumed however long nothing happened.
func TestEventsHeartbeat(t *testing.T) {
	w := newWorld(t)
	ada, bob := w.user("ada"), w.user("bob")
	w.api.Pace(20*time.Millisecond, time.Hour)
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/workspaces/personal/events", nil)
	must(t, err)
	ada.sign(r)
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	defer answer.Body.Close()
	bob.put(bob.at("/x"), "x")
	ids := map[string]bool{}
	comments := 0
	for lines := bufio.NewScanner(answer.Body); comments < 60 && len(ids) < 3 && lines.Scan(); {
		switch line := lines.Text(); {
		case line == ":":
			comments++
			w.clock.Add(time.Second.Microseconds())
		case strings.HasPrefix(line, "id: "):
			ids[line] = true
		case strings.HasPrefix(line, "data"):
			t.Errorf("told of another workspace: %s", line)
		}
	}
	if len(ids) < 3 {
		t.Errorf("%d comments, ids %v", comments, ids)
	}
}

// TestEventsEnd: a stream ends when its caller may no longer follow it.
func TestEventsEnd(t *testing.T) {
	w := newWorld(t)
	w.api.Pace(time.Hour, 30*time.Millisecond)
	ada, bob := w.user("ada"), w.user("bob")
	ops := w.team("Ops", ada, map[*client]store.Role{bob: store.Writer})
	name := fmt.Sprintf("team-%d", ops.ID)
	ctx := t.Context()
	for _, c := range []struct {
		name string
		end  func()
		mend func()
	}{
		{"the membership ended", func() { must(t, w.RemoveMember(ctx, "Ops", "bob", store.Actor{})) },
			func() { must(t, w.SetMember(ctx, "Ops", "bob", store.Writer, store.Actor{})) }},
		{"the app password was removed", func() { must(t, w.RemoveAccount(ctx, "bob", "tests", store.Actor{})) },
			func() { bob.token = bob.limited(store.NewAccount{Name: "tests"}).token }},
		{"the user was disabled", func() { disable(t, w, "bob", true) }, func() { disable(t, w, "bob", false) }},
		{"the team was removed", func() { must(t, w.RemoveTeam(ctx, "Ops", store.Actor{})) }, func() {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := bob.follow(name, "")
			s.t = t
			select {
			case <-s.events:
				t.Fatal("ended before")
			case <-time.After(200 * time.Millisecond):
			}
			c.end()
			s.ends()
			c.mend()
		})
	}
	t.Run("the session ended", func(t *testing.T) {
		browser := w.add(store.NewUser{Name: "eve", PasswordHash: sceneHash()})
		browser.token = ""
		a := browser.do("POST", "/session", map[string]string{"user": "eve", "password": scenePassword}).wants(200)
		browser.jar = (&http.Response{Header: a.header}).Cookies()
		s := browser.follow("personal", "")
		s.t = t
		browser.do("DELETE", "/session", nil).wants(204)
		s.ends()
	})
	t.Run("the server stops", func(t *testing.T) {
		s := ada.follow("personal", "")
		s.t = t
		w.api.EndStreams()
		s.ends()
		ada.do("GET", "/workspaces/personal/events", nil).refuses(503, "server.closing")
	})
}

func disable(t *testing.T, w *world, name string, yes bool) {
	t.Helper()
	_, err := w.SetUser(t.Context(), name, store.UserPatch{Disabled: &yes})
	must(t, err)
}

// TestEventsLimits: of a user, and of all.
func TestEventsLimits(t *testing.T) {
	w := newWorld(t, func(_ *store.Options, ro *rest.Options) { ro.Listeners = 20 })
	ada, bob := w.user("ada"), w.user("bob")
	var streams []*stream
	for range 16 {
		streams = append(streams, ada.follow("personal", ""))
	}
	a := ada.do("GET", "/workspaces/personal/events", nil)
	a.refuses(429, "events.limit")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	for range 4 {
		streams = append(streams, bob.follow("personal", ""))
	}
	bob.do("GET", "/workspaces/personal/events", nil).refuses(503, "server.busy")
	for _, s := range streams {
		s.stop()
	}
	for range 500 {
		if a := ada.do("GET", "/workspaces/personal/events?seconds=0", nil); a.status == 200 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("streams that ended still count")
}

// TestEventsOfAFolder: a login that is limited to a folder is told what is in it, by
// ids and not by names, and of locks that reach into it; and nothing of the rest.
func TestEventsOfAFolder(t *testing.T) {
	w := newWorld(t, func(_ *store.Options, ro *rest.Options) { ro.BlockedNames = []string{".DS_Store"} })
	ada := w.user("ada")
	ada.mkdir(ada.at("/out"))
	ada.mkdir(ada.at("/out/deep"))
	in := ada.mkdir(ada.at("/in"))
	sub := ada.mkdir(ada.at("/in/sub"))
	limited := ada.limited(store.NewAccount{Name: "in", Root: store.ParsePath("/in")})
	s, all := limited.follow("personal", ""), ada.follow("personal", "")
	lock := func(path string, depth lockns.Depth) lockns.Lock {
		t.Helper()
		spec := store.LockSpec{Depth: depth, Mode: lockns.Shared, Origin: lockns.WebDAV, Holder: ada.user.ID, Timeout: time.Hour}
		out, err := w.Lock(t.Context(), ada.at(path), spec, store.Holder(ada.user.ID))
		must(t, err)
		return out.Lock
	}
	unlock := func(path string, l lockns.Lock) {
		t.Helper()
		must(t, w.Unlock(t.Context(), ada.at(path), store.ByToken(l.Token), store.Holder(ada.user.ID)))
	}
	// What it is not told of.
	ada.put(ada.at("/out/f"), "x")
	ada.put(ada.at("/f"), "x")
	unlock("/out/deep", lock("/out/deep", lockns.Infinity))
	unlock("/", lock("/", lockns.Resource))
	ada.put(ada.at("/in/.ds_store"), "x")
	ada.mkdir(ada.at("/in/.DS_Store2"))
	s.wants(said(`resource.changed {"folder":%d,"id":%d,"kind":"folder","name":".DS_Store2"}`, in.ID(), sub.ID()+1))
	// What it is.
	n := ada.put(ada.at("/in/sub/g"), "x")
	s.wants(said(`resource.changed {"folder":%d,"id":%d,"kind":"file","name":"g"}`, sub.ID(), n.ID()))
	l := lock("/in/sub", lockns.Infinity)
	if got, want := s.next(), said(`"id":%d,"mode":"shared","origin":"webdav","root":{"id":%d,"kind":"folder"}}`, l.ID, sub.ID()); !strings.HasSuffix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	unlock("/in/sub", l)
	s.wants(said(`lock.ended {"id":%d,"root":{"id":%d,"kind":"folder"}}`, l.ID, sub.ID()))
	l = lock("/", lockns.Infinity)
	if got := s.next(); !strings.HasPrefix(got, `lock.changed {"depth":"infinity"`) || !strings.HasSuffix(got, `"root":{"kind":"workspace_root"}}`) || strings.Contains(got, `"id"`) {
		t.Errorf("a lock above: %s", got)
	}
	unlock("/", l)
	s.wants(`lock.ended {"root":{"kind":"workspace_root"}}`)
	must(t, w.Remove(t.Context(), ada.at("/in"), store.Holder(ada.user.ID)))

	for range 30 {
		got := all.next()
		if strings.Contains(strings.ToLower(got), `".ds_store"`) {
			t.Errorf("told of a blocked name: %s", got)
		}
		if strings.Contains(got, `"name":"in"`) && strings.HasPrefix(got, "resource.removed") {
			return
		}
	}
	t.Error("not told of the end")
}
