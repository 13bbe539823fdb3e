package litmus

import (
	"context"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata/baseline.txt from what litmus reports, server/web/sdk from what the program serves")

// built is the path of the program under test; buildFolder holds it.
var (
	buildFolder string
	built       = sync.OnceValues(func() (string, error) {
		if path := os.Getenv("HOLDFAST_PROGRAM"); path != "" {
			return path, nil
		}
		return Build(context.Background(), buildFolder, os.Getenv("HOLDFAST_RACE") != "")
	})
)

func TestMain(m *testing.M) {
	flag.Parse()
	folder, err := os.MkdirTemp("", "holdfast-litmus-")
	if err != nil {
		panic(err)
	}
	buildFolder = folder
	status := m.Run()
	os.RemoveAll(folder)
	os.Exit(status)
}

// server is the program under test with the credentials of a test. An empty user means that the program
// runs with --anonymous and is asked without credentials.
type server struct {
	*Program
	data           string // folder of its data
	user, password string
}

const (
	testUser     = "admin"
	testPassword = "correct-horse-battery"
)

// anonymous are the flags of a server that is asked without credentials.
var anonymous = []string{"--anonymous"}

// startServer starts the program. When the test ends it is stopped, and the test fails if the program
// ends badly or logged an error.
func startServer(t *testing.T, b backing, args ...string) *server {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Path: path, Data: t.TempDir(), Password: testPassword, Args: append(args, b.args...), Env: b.env}
	p, err := Start(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &server{Program: p, data: o.Data, user: testUser, password: testPassword}
	for _, arg := range args {
		if arg == "--anonymous" {
			s.user, s.password = "", ""
		}
	}
	return s
}

// addTeam adds a team of the administrator's with the program's own command, while the server runs, and
// returns the URL of its mount.
func (s *server) addTeam(t *testing.T, name string) string {
	t.Helper()
	s.admin(t, "", "team", "add", name)
	return s.URL + "/teams/" + url.PathEscape(name) + "/"
}

// admin runs one of the program's own commands beside the running server.
func (s *server) admin(t *testing.T, input string, args ...string) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append(args, "--data", s.data)...)
	cmd.Env = environment()
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// dav returns the URL of a resource in the personal workspace, each segment percent-encoded.
func (s *server) dav(segments ...string) string { return s.URL + davPath(segments...) }

// davPath returns the path of a resource in the personal workspace, each segment percent-encoded.
func davPath(segments ...string) string {
	path := "/dav"
	for _, segment := range segments {
		path += "/" + url.PathEscape(segment)
	}
	return path
}

// credentials are the arguments that litmus takes after the URL.
func (s *server) credentials() []string {
	if s.user == "" {
		return nil
	}
	return []string{s.user, s.password}
}

// reply is what came back from the server.
type reply struct {
	status int
	header http.Header
	body   string
}

// client has no part in what the outside programs do; it also keeps enough connections for the lock bomb.
var client = &http.Client{
	Timeout:   60 * time.Second,
	Transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true},
}

// do sends a request with the header given as pairs of name and value.
func (s *server) do(t *testing.T, method, target, body string, header ...string) reply {
	t.Helper()
	r, err := s.try(method, target, body, header...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return r
}

// try is do for other goroutines than the test's own.
func (s *server) try(method, target, body string, header ...string) (reply, error) {
	r, err := http.NewRequest(method, target, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if s.user != "" {
		r.SetBasicAuth(s.user, s.password)
	}
	answer, err := client.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return reply{}, err
	}
	return reply{status: answer.StatusCode, header: answer.Header, body: string(text)}, nil
}

// put stores a file by a request of the test's own.
func (s *server) put(t *testing.T, content string, segments ...string) {
	t.Helper()
	if r := s.do(t, "PUT", s.dav(segments...), content); r.status != http.StatusCreated && r.status != http.StatusNoContent {
		t.Fatalf("PUT %s: %d %s", davPath(segments...), r.status, clip(r.body))
	}
}

// lock locks a resource that exists, and returns the value of Lock-Token.
func (s *server) lock(t *testing.T, owner string, segments ...string) string {
	t.Helper()
	r := s.do(t, "LOCK", s.dav(segments...), fmt.Sprintf(lockinfo, owner), "Depth", "0", "Content-Type", "application/xml")
	if r.status != http.StatusOK {
		t.Fatalf("LOCK %s: %d %s", davPath(segments...), r.status, clip(r.body))
	}
	return r.header.Get("Lock-Token")
}

// unlock gives a lock back.
func (s *server) unlock(t *testing.T, token string, segments ...string) {
	t.Helper()
	if r := s.do(t, "UNLOCK", s.dav(segments...), "", "Lock-Token", token); r.status != http.StatusNoContent {
		t.Errorf("UNLOCK %s: %d %s", davPath(segments...), r.status, clip(r.body))
	}
}

// asked is a request as the server's log has it. The server logs a request before the end of its answer
// leaves it, so what a client got an answer for is there.
type asked struct {
	method, path, status string
}

var requestLine = regexp.MustCompile(`\bmsg=request .*?\bmethod=(\S+) path=("[^"]*"|\S+) status=(\d+)`)

// asked returns the requests in the server's log, oldest first.
func (s *server) asked() []asked {
	var all []asked
	for _, m := range requestLine.FindAllStringSubmatch(s.Log(), -1) {
		all = append(all, asked{m[1], strings.Trim(m[2], `"`), m[3]})
	}
	return all
}

// count returns how many requests with a method the server has answered.
func (s *server) count(method string) int {
	n := 0
	for _, a := range s.asked() {
		if a.method == method {
			n++
		}
	}
	return n
}

// holds fails the test unless a GET of the resource answers 200 with the content.
func (s *server) holds(t *testing.T, content string, segments ...string) {
	t.Helper()
	r := s.do(t, "GET", s.dav(segments...), "")
	if r.status != http.StatusOK || r.body != content {
		t.Errorf("GET %s: %d with %s, want 200 with %s", davPath(segments...), r.status, clip(r.body), clip(content))
	}
}

// lacks fails the test unless a GET of the resource answers 404.
func (s *server) lacks(t *testing.T, segments ...string) {
	t.Helper()
	if r := s.do(t, "GET", s.dav(segments...), ""); r.status != http.StatusNotFound {
		t.Errorf("GET %s: %d with %s, want 404", davPath(segments...), r.status, clip(r.body))
	}
}

// hrefs returns the path of each response of a multistatus body, percent-decoded.
func hrefs(t *testing.T, body string) []string {
	t.Helper()
	var multistatus struct {
		Responses []struct {
			Href string `xml:"DAV: href"`
		} `xml:"DAV: response"`
	}
	if err := xml.Unmarshal([]byte(body), &multistatus); err != nil {
		t.Fatalf("multistatus: %v\n%s", err, body)
	}
	var paths []string
	for _, response := range multistatus.Responses {
		u, err := url.Parse(response.Href)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, u.Path)
	}
	return paths
}

// eventually waits until the condition holds, for clients that finish their work in the background.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	const patience = 10 * time.Second
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("not after %v: %s", patience, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// clip shortens a text for a message.
func clip(text string) string {
	const longest = 200
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "..."
	}
	return text
}
