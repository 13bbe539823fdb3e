package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/lockns"
	"holdfast/server/auth"
	"holdfast/store"
)

const (
	// heartbeat is how often a stream says that it is alive: proxies cut off what is
	// silent for a minute.
	heartbeat = 20 * time.Second
	// recheck is how often a stream asks whether its caller may still follow it, and
	// recheckMax how often in a row it goes on when nobody can tell.
	recheck    = 5 * time.Second
	recheckMax = 12
	// reconnect is how long a client waits before it comes back, at least; as much
	// again is drawn for each, so that they do not all come at once.
	reconnect = 2 * time.Second
)

// The types of events.
const (
	eventChanged     = "resource.changed"
	eventRemoved     = "resource.removed"
	eventLockChanged = "lock.changed"
	eventLockEnded   = "lock.ended"
	eventReset       = "reset"
)

// ResourceEvent says that a member of a folder came, or got another content, other
// properties or another name, or that it went.
type ResourceEvent struct {
	Event     string `json:"event" enum:"resource.changed,resource.removed" doc:"The type again, for clients that see only the data."`
	Workspace string `json:"workspace" example:"team-3"`
	Folder    int64  `json:"folder" doc:"The id of the folder it is, or was, in."`
	Kind      string `json:"kind" enum:"file,folder"`
	ID        int64  `json:"id,omitempty" doc:"Absent when it is gone."`
	Name      string `json:"name"`
}

// LockEvent says that a lock was granted, changed, moved or refreshed, or that it
// ended.
type LockEvent struct {
	Event     string   `json:"event" enum:"lock.changed,lock.ended"`
	Workspace string   `json:"workspace" example:"team-3"`
	ID        int64    `json:"id,omitempty" doc:"The lock's; absent where its root is not what this login opens."`
	Root      LockRoot `json:"root"`
	Mode      string   `json:"mode,omitempty" enum:"exclusive,shared" doc:"Absent when it ended, as is what follows."`
	Depth     string   `json:"depth,omitempty" enum:"resource,infinity"`
	Origin    string   `json:"origin,omitempty" enum:"product,webdav,wopi"`
	Holder    string   `json:"holder,omitempty" doc:"The holder's display name."`
	Expires   *Time    `json:"expires,omitempty" doc:"The last moment of the lock; absent when it has no end. It may end then without an event."`
}

// ResetEvent says that there was more than can be told: everything is to be looked
// at anew.
type ResetEvent struct {
	Event     string `json:"event" enum:"reset"`
	Workspace string `json:"workspace" example:"team-3"`
}

// event is a store.Event as listeners get it.
type event struct {
	store.Event
	text    []byte // type and data, for whom everything of it is
	blocked int    // of the names that lead there, how many end with a blocked one
}

// show prepares an event for all listeners.
func (a *API) show(e store.Event) event {
	out := event{Event: e}
	for i, name := range e.Path {
		if a.isBlocked(name) {
			out.blocked = i + 1
		}
	}
	if m := e.Member; m != nil {
		if a.isBlocked(m.Name) {
			out.blocked = len(e.Path) + 1
		}
		out.text = resourceText(e)
	} else {
		out.text = lockText(e, true)
	}
	return out
}

func resourceText(e store.Event) []byte {
	out := ResourceEvent{Event: eventChanged, Workspace: workspaceID(e.Workspace), Folder: e.Member.Folder, Kind: "file", ID: e.Member.ID, Name: e.Member.Name}
	if e.Member.IsFolder {
		out.Kind = "folder"
	}
	if out.ID == 0 {
		out.Event = eventRemoved
	}
	return eventText(out.Event, out)
}

// lockText shows an event of a lock; whole says that its root is the listener's to
// see.
func lockText(e store.Event, whole bool) []byte {
	out := LockEvent{Event: eventLockEnded, Workspace: workspaceID(e.Workspace), Root: LockRoot{Kind: string(e.Place.Root.Kind)}}
	if whole {
		out.ID, out.Root.ID = e.Lock.ID, e.Place.Root.ID
	}
	if now := e.Lock.Now; now != nil {
		out.Event = eventLockChanged
		out.Mode, out.Depth, out.Origin = string(now.Mode), string(now.Depth), string(now.Origin)
		out.Holder, out.Expires = now.HolderDisplay, timeOrNil(now.ExpiresAt)
	}
	return eventText(out.Event, out)
}

// eventText is type and data. JSON has no line breaks, which would end the data.
func eventText(kind string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // of strings and numbers
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n", kind, text)
}

// follower is a caller who follows a workspace.
type follower struct {
	a      *API
	who    *Caller
	below  raw
	name   string // of the workspace, as the URL has it
	ws     lockns.Workspace
	base   lockns.Place        // the topmost folder that the login opens
	known  store.EventPosition // everything up to here was told
	unsure int                 // how often in a row nobody could tell whether the caller may go on
}

// textFor is what a follower gets of an event; nil is nothing.
func (f *follower) textFor(e event) []byte {
	levels := strings.Count(f.base.Ancestry, "/") - 2 // of the base, below the workspace root
	switch {
	case f.base.Holds(e.Place):
		if e.blocked > levels {
			return nil
		}
		return e.text
	case e.Lock != nil && e.Lock.Deep && e.Place.Holds(f.base):
		return lockText(e.Event, false)
	}
	return nil
}

type eventsInput struct {
	Workspace   string `path:"workspace" maxLength:"64" example:"team-3" doc:"Or personal, for your own."`
	LastEventID string `header:"Last-Event-ID" maxLength:"128" doc:"The id of the last event that the client knows: the stream goes on after it, or begins with reset."`
	Seconds     int    `query:"seconds" minimum:"0" maximum:"3600" default:"3600" doc:"After how long the server ends the stream. With 0 it tells what there is to tell and ends."`
}

func (a *API) registerEvents() {
	registerRaw(a, Files, huma.Operation{
		OperationID: "events", Method: http.MethodGet, Path: "/workspaces/{workspace}/events", Tags: []string{"Events"},
		Summary: "What happens in a workspace, as it happens",
		Description: "Server-Sent Events of changes through every door and every process. An event says where to look; of several changes of one resource the last may be all that is told. " +
			"Nothing depends on them: who follows none and asks when needed sees the same.",
		Errors:    []int{http.StatusNotFound},
		Responses: map[string]*huma.Response{"200": {Description: "The stream, from when the status is sent.", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: a.eventSchema()}}}},
	}, a.follow)
}

// eventSchema describes the data of an event, as makers of clients expect it of a
// stream: OpenAPI 3.1 has no words for its form.
func (a *API) eventSchema() *huma.Schema {
	schemas := a.huma.OpenAPI().Components.Schemas
	one := &huma.Schema{Description: "The data of each event. Its id is for Last-Event-ID."}
	for _, data := range []any{ResourceEvent{}, LockEvent{}, ResetEvent{}} {
		one.OneOf = append(one.OneOf, schemas.Schema(reflect.TypeOf(data), true, ""))
	}
	return one
}

// follow answers with a stream.
func (a *API) follow(ctx context.Context, who *Caller, below raw, in *eventsInput) (*huma.StreamResponse, error) {
	f := &follower{a: a, who: who, below: below, name: in.Workspace}
	if err := f.locate(ctx, who); err != nil {
		return nil, err
	}
	out := newEventWriter(below.w, a.o.Store.Instance())
	since, remembered := out.parse(in.LastEventID)
	if remembered {
		var err error
		if remembered, err = a.o.Store.Remembers(ctx, since); err != nil {
			return nil, err
		}
	}
	l, err := a.hub.join(ctx, who.User.ID, f.ws)
	if err != nil {
		return nil, err
	}
	// Only now: what happens from here on is the listener's.
	if f.known, err = a.o.Store.EventsNow(ctx); err != nil {
		a.hub.leave(l)
		return nil, err
	}
	return &huma.StreamResponse{Body: func(huma.Context) {
		defer a.hub.leave(l)
		err := out.begin()
		switch {
		case err != nil:
		case remembered:
			err = f.catchUp(ctx, out, since)
		case in.LastEventID == "":
			err = out.mark(f.known)
		default:
			err = out.send(f.reset(), f.known)
		}
		if err = errors.Join(err, out.flush()); err == nil {
			err = f.stream(ctx, out, l, time.Duration(in.Seconds)*time.Second)
		}
		if err != nil {
			a.log.DebugContext(ctx, "events end", "err", err)
		}
	}}, nil
}

// locate finds the topmost folder that the login opens, where it is now.
func (f *follower) locate(ctx context.Context, who *Caller) error {
	t, err := f.a.place(ctx, who, f.name, "/")
	if err != nil {
		return err
	}
	e, err := f.a.look(ctx, t, store.Want{})
	f.ws, f.base = t.Workspace, e.Place
	return err
}

// catchUp tells what happened since a position, up to now.
func (f *follower) catchUp(ctx context.Context, out *eventWriter, since store.EventPosition) error {
	f.known = since
	for {
		events, reached, err := f.a.o.Store.Events(ctx, f.known, eventPage, func(ws lockns.Workspace) bool { return ws == f.ws })
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := out.send(f.textFor(f.a.show(e)), e.Position); err != nil {
				return err
			}
		}
		if f.known.IsPast(reached) {
			return out.mark(reached)
		}
		f.known = reached
	}
}

func (f *follower) reset() []byte {
	return eventText(eventReset, ResetEvent{eventReset, workspaceID(f.ws)})
}

// stream hands on events until the client leaves, loses access or is too slow, its
// time is over, or the server ends.
func (f *follower) stream(ctx context.Context, out *eventWriter, l *listener, most time.Duration) error {
	beat, check, end := time.NewTicker(f.a.pace.heartbeat), time.NewTicker(f.a.pace.recheck), time.NewTimer(most)
	defer beat.Stop()
	defer check.Stop()
	defer end.Stop()
	for {
		var err error
		select {
		case <-l.ready:
			_, err = f.tell(out, l)
		case <-beat.C:
			var at store.EventPosition
			if at, err = f.tell(out, l); err == nil {
				err = errors.Join(out.mark(at), out.flush())
			}
		case <-check.C:
			if !f.allowed(ctx) {
				return errLogin
			}
		case <-end.C:
			return nil
		case <-f.a.hub.over:
			return nil
		case <-ctx.Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// tell sends what waits for a listener, and gives the position up to which that is
// everything.
func (f *follower) tell(out *eventWriter, l *listener) (at store.EventPosition, err error) {
	events, lost, at := f.a.hub.take(l)
	if lost {
		return at, errors.Join(out.send(f.reset(), at), out.flush())
	}
	for _, e := range events {
		if f.known.IsPast(e.Position) {
			continue
		}
		if err := out.send(f.textFor(e), e.Position); err != nil {
			return at, err
		}
	}
	return at, out.flush()
}

// allowed asks whether the caller may still follow: whether the login is good, of
// the same user, and opens the workspace. Failures to find out are no answer, for a
// while.
func (f *follower) allowed(ctx context.Context) bool {
	now, err := f.a.login(f.below.r)
	if err == nil {
		err = now.check(Files, false)
	}
	if err == nil && now.User.ID != f.who.User.ID {
		return false
	}
	if err == nil {
		err = f.locate(ctx, &now)
	}
	var braked *auth.BrakeError
	switch {
	case err == nil:
		f.unsure = 0
		return true
	case errors.As(err, &braked), errors.Is(err, auth.ErrBusy), errors.Is(err, store.ErrBusy):
		f.unsure++
		return f.unsure < recheckMax
	}
	return false
}

// eventWriter writes the event stream format.
type eventWriter struct {
	w        io.Writer
	head     http.Header
	status   func(int)
	control  *http.ResponseController
	instance string // names the database in ids, which mean something there only
}

func newEventWriter(w http.ResponseWriter, instance string) *eventWriter {
	return &eventWriter{w, w.Header(), w.WriteHeader, http.NewResponseController(w), instance[:min(len(instance), 8)]}
}

// begin sends the header.
func (o *eventWriter) begin() error {
	o.head.Set("Content-Type", "text/event-stream")
	o.head.Set("Cache-Control", "no-store, no-transform") // a proxy that compresses collects
	o.head.Set("X-Accel-Buffering", "no")
	o.status(http.StatusOK)
	wait := reconnect + rand.N(reconnect)
	_, err := fmt.Fprintf(o.w, "retry: %d\n", wait.Milliseconds())
	return err
}

// send writes an event; nil is none.
func (o *eventWriter) send(text []byte, at store.EventPosition) error {
	if text == nil {
		return nil
	}
	_, err := fmt.Fprintf(o.w, "%sid: %s\n\n", text, o.id(at))
	return err
}

// mark tells the client how far it knows everything, without an event. It is the
// heartbeat too.
func (o *eventWriter) mark(at store.EventPosition) error {
	_, err := fmt.Fprintf(o.w, ":\nid: %s\n\n", o.id(at))
	return err
}

func (o *eventWriter) flush() error { return o.control.Flush() }

// id names a position for Last-Event-ID.
func (o *eventWriter) id(at store.EventPosition) string {
	return fmt.Sprintf("%s-%d-%d-%d", o.instance, at.Change, at.Lock, at.At.Unix())
}

// parse is the inverse of id: false for what this database did not give out.
func (o *eventWriter) parse(id string) (at store.EventPosition, ok bool) {
	parts := strings.Split(id, "-")
	if len(parts) != 4 || parts[0] != o.instance {
		return at, false
	}
	var numbers [3]int64
	for i := range numbers {
		n, err := strconv.ParseInt(parts[i+1], 10, 64)
		if err != nil || n < 0 {
			return at, false
		}
		numbers[i] = n
	}
	return store.EventPosition{Change: numbers[0], Lock: numbers[1], At: time.Unix(numbers[2], 0).UTC()}, true
}

// pace is how often streams do what nothing calls for.
type pace struct{ heartbeat, recheck time.Duration }

// EndStreams ends all streams of events, and refuses new ones: a server that shuts
// down would wait for them.
func (a *API) EndStreams() { a.hub.close() }
