package rest_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"holdfast/lockns"
	"holdfast/server/auth"
	"holdfast/server/rest"
	"holdfast/store"
)

// callers are the columns of testdata/access.txt: who they are to the team whose
// things a request names. The last three are app passwords of the team's owner: one
// that only reads, one limited to the folder that these things are in, and one
// limited to another.
var callers = []string{"anonymous", "other", "viewer", "member", "admin", "owner", "administrator", "readonly", "limited", "outside"}

// scene is a world with somebody for each caller.
type scene struct {
	*world
	people map[string]*client // by their own passwords
	stages int
	// passwords are the names of the app passwords that callers use, oldest first.
	passwords []string
	from      atomic.Uint32 // the last address that a request came from
}

// scenePassword is that of everybody in a scene, and sceneHash a hash of it that is
// quickly computed: a stored hash carries its cost.
const scenePassword = "correct-horse"

var sceneHash = sync.OnceValue(func() string {
	salt := []byte("sixteen bytes...")
	key := argon2.IDKey([]byte(scenePassword), salt, 1, 8, 1, 32)
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=8,t=1,p=1$%s$%s", argon2.Version, text(salt), text(key))
})

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{people: map[string]*client{}}
	s.world = newWorld(t, func(so *store.Options, ro *rest.Options) {
		so.Versions, so.Trash = 3, time.Hour
		// The brake is for those who guess: here each request comes from somewhere else.
		ro.Address = func(*http.Request) netip.Addr {
			n := s.from.Add(1)
			return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
		}
		ro.Mounts = func(_ *http.Request, in auth.Login) ([]rest.Mounted, error) {
			return []rest.Mounted{{Name: in.User.Name, Workspace: in.User.Workspace(), Role: store.Owner, URL: "https://dav.example/dav/", Hints: []rest.Hint{}}}, nil
		}
	})
	s.people["anonymous"] = &client{w: s.world}
	for _, name := range []string{"other", "viewer", "member", "admin", "owner", "administrator"} {
		s.people[name] = s.person(name, name == "administrator")
	}
	return s
}

// person adds a user who logs in by their own password.
func (s *scene) person(name string, admin bool) *client {
	s.t.Helper()
	u, err := s.AddUser(s.t.Context(), store.NewUser{Name: name, PasswordHash: sceneHash(), Admin: admin})
	must(s.t, err)
	return &client{w: s.world, user: u, password: scenePassword}
}

// stage is a team of a scene's people and what a request names there, made when it
// is first asked for. All of it belongs to the owner.
type stage struct {
	*scene
	owner  *client
	team   lockns.Workspace
	name   string
	number int
	made   map[string]string  // by name
	logins map[string]*client // app passwords, by caller
}

// newStage makes a team of the owner's with the other people in their roles.
func (s *scene) newStage() *stage {
	return s.stageOf(s.people["owner"], map[*client]store.Role{
		s.people["viewer"]: store.Viewer, s.people["member"]: store.Writer, s.people["admin"]: store.Admin,
	})
}

func (s *scene) stageOf(owner *client, members map[*client]store.Role) *stage {
	s.t.Helper()
	s.stages++
	st := &stage{scene: s, owner: owner, number: s.stages, name: fmt.Sprint("Stage ", s.stages), made: map[string]string{}, logins: map[string]*client{}}
	st.team = s.world.team(st.name, owner, members)
	return st
}

// caller is a client for one of the callers.
func (s *stage) caller(name string) *client {
	if c := s.logins[name]; c != nil {
		return c
	}
	n := store.NewAccount{Name: name + fmt.Sprint(s.number), Team: s.name}
	switch name {
	case "readonly":
		n.ReadOnly, n.Team = true, ""
	case "limited":
		s.value("folder")
		n.Root = store.ParsePath("/in")
	case "outside":
		s.owner.mkdir(s.in("/out"))
		n.Root = store.ParsePath("/out")
	default:
		return s.people[name]
	}
	s.logins[name] = s.owner.limited(n)
	// A user has so many app passwords at most. Those of stages long past go.
	if s.passwords = append(s.passwords, n.Name); len(s.passwords) > 40 {
		err := s.RemoveAccount(s.t.Context(), s.owner.user.Name, s.passwords[0], store.Actor{})
		if !errors.Is(err, store.ErrNotFound) { // a generated request may have been quicker
			must(s.t, err)
		}
		s.passwords = s.passwords[1:]
	}
	return s.logins[name]
}

// in is a path of the stage's workspace.
func (s *stage) in(path string) store.Target {
	return store.Target{Workspace: s.team, Path: store.ParsePath(path)}
}

// makers make what a request names by {NAME}.
var makers map[string]func(*stage) any

func init() { // which refers to itself
	makers = map[string]func(*stage) any{
		"workspace": func(s *stage) any { return fmt.Sprint("team-", s.team.ID) },
		"team":      func(s *stage) any { return s.team.ID },
		"in":        func(s *stage) any { return s.owner.mkdir(s.in("/in")).ID() },
		"folder": func(s *stage) any {
			s.value("in")
			return s.owner.mkdir(s.in("/in/folder")).ID()
		},
		"file": func(s *stage) any {
			s.value("in")
			s.owner.put(s.in("/in/file"), "before")
			return s.owner.put(s.in("/in/file"), "now").ID()
		},
		"version": func(s *stage) any {
			s.value("file")
			all, err := s.Versions(s.t.Context(), s.in("/in/file"), 0, 1)
			must(s.t, err)
			return all[0].ID
		},
		"locked": func(s *stage) any { // the file, with the lock
			s.value("lock")
			return s.value("file")
		},
		"locked_folder": func(s *stage) any {
			folder := s.value("folder")
			s.owner.lock(s.in("/in/folder"), store.LockSpec{Origin: lockns.Product})
			return folder
		},
		"trash": func(s *stage) any {
			s.value("in")
			s.owner.put(s.in("/in/removed"), "x")
			s.owner.remove(s.in("/in/removed"))
			all, _, err := s.Trash(s.t.Context(), s.in("/"), 0, 1)
			must(s.t, err)
			return all[0].ID
		},
		"lock": func(s *stage) any {
			s.value("file")
			l, err := s.Lock(s.t.Context(), s.in("/in/file"), store.LockSpec{
				Depth: lockns.Resource, Mode: lockns.Exclusive, Origin: lockns.Product, Holder: s.owner.user.ID,
			}, store.Holder(s.owner.user.ID))
			must(s.t, err)
			return l.Lock.ID
		},
		"user":   func(s *stage) any { return s.extra().user.ID },
		"guest":  func(s *stage) any { return s.extra().user.Name },
		"unused": func(s *stage) any { return fmt.Sprint("unused", s.number) },
		"member": func(s *stage) any {
			c := s.extra()
			must(s.t, s.SetMember(s.t.Context(), s.name, c.user.Name, store.Writer, store.Actor{}))
			return c.user.ID
		},
		"session": func(s *stage) any {
			opened, err := s.OpenSession(s.t.Context(), store.NewSession{User: s.owner.user, TokenHash: fmt.Sprint("hash of stage ", s.number)})
			must(s.t, err)
			return opened.ID
		},
		"password": func(s *stage) any {
			a, err := s.AddAccount(s.t.Context(), store.NewAccount{
				User: s.owner.user.Name, Name: fmt.Sprint("of stage ", s.number), PasswordHash: fmt.Sprint("hash of stage ", s.number),
			})
			must(s.t, err)
			return a.ID
		},
		"owner":    func(s *stage) any { return s.owner.user.Name },
		"owner_id": func(s *stage) any { return s.owner.user.ID },
	}
}

// extra is somebody who is nobody else.
func (s *stage) extra() *client {
	s.t.Helper()
	u, err := s.AddUser(s.t.Context(), store.NewUser{Name: fmt.Sprint("extra", s.number), PasswordHash: "x"})
	must(s.t, err)
	return &client{w: s.world, user: u}
}

// value is what {NAME} stands for.
func (s *stage) value(name string) string {
	s.t.Helper()
	if v, ok := s.made[name]; ok {
		return v
	}
	made, ok := makers[name]
	if !ok {
		s.t.Fatalf("nothing makes {%s}: add it to makers", name)
	}
	v := fmt.Sprint(made(s))
	s.made[name] = v
	return v
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// fill puts values in a text of testdata/access.txt. {at} is the folder that all is
// in, as the caller names it in paths.
func (s *stage) fill(text, caller string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		if name == "{at}" {
			s.value("file")
			if caller == "limited" {
				return ""
			}
			return "/in"
		}
		return s.value(strings.Trim(name, "{}"))
	})
}

// accessRow is a line of testdata/access.txt.
type accessRow struct {
	op       *operation
	statuses []string // by callers
	path     string   // with its query
	body     any      // nil, JSON as a RawMessage, or a string
}

const accessFile = "testdata/access.txt"

// accessRows reads the table: each operation has one row.
func accessRows(t *testing.T) (rows []*accessRow) {
	t.Helper()
	text, err := os.ReadFile(accessFile)
	must(t, err)
	byID := map[string]*operation{}
	for _, op := range theDocument().operations {
		byID[op.id] = op
	}
	for n, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) < len(callers)+2 || byID[fields[0]] == nil {
			t.Fatalf("%s:%d: no row of an operation: %s", accessFile, n+1, line)
		}
		row := &accessRow{op: byID[fields[0]], statuses: fields[1 : len(callers)+1], path: fields[len(callers)+1]}
		delete(byID, row.op.id)
		if path, _, _ := strings.Cut(row.path, "?"); matches(row.op.path, path) < 0 {
			t.Fatalf("%s:%d: %s is no path of %v", accessFile, n+1, path, row.op)
		}
		if _, body, ok := strings.Cut(line, row.path+" "); ok {
			row.body = strings.TrimSpace(body)
		}
		rows = append(rows, row)
	}
	for _, op := range byID {
		t.Errorf("%s says nothing of %v: add a row", accessFile, op)
	}
	return rows
}

// request fills a row in for a caller.
func (row *accessRow) request(s *stage, caller string) (path string, body any) {
	path = s.fill(row.path, caller)
	text, ok := row.body.(string)
	if !ok {
		return path, nil
	}
	text = s.fill(text, caller)
	if row.op.takesJSON() {
		return path, rawJSON(text)
	}
	return path, text
}

// takesJSON reports whether the operation's body is JSON.
func (op *operation) takesJSON() bool {
	body, _ := op.spec["requestBody"].(object)
	content, _ := body["content"].(object)
	return content["application/json"] != nil
}
