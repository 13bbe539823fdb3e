package litmus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	chaosClients = 6
	chaosRounds  = 10
	chaosMembers = 14 // of a client's folder, above which it rather deletes
)

// TestKill kills the program with SIGKILL at a random moment while clients write,
// starts it again on the same data, and compares what is there with what was
// promised: every request that was answered has happened, the one that was not has
// happened wholly or not at all, and "holdfast check" finds nothing.
//
// HOLDFAST_CHAOS_ROUNDS sets how often, HOLDFAST_CHAOS_SEED repeats the requests
// and the moments of an earlier run; what was under way at a kill still differs.
func TestKill(t *testing.T) {
	rounds := int(setting(t, "HOLDFAST_CHAOS_ROUNDS", chaosRounds))
	if testing.Short() {
		rounds = min(rounds, 2)
	}
	seed := setting(t, "HOLDFAST_CHAOS_SEED", rand.Uint64N(1<<31))
	t.Logf("%d rounds, HOLDFAST_CHAOS_SEED=%d", rounds, seed)
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	c := &chaos{path: path, data: t.TempDir(), random: rand.New(rand.NewPCG(seed, 0))}
	for i := range chaosClients {
		c.clients = append(c.clients, &chaosClient{
			name: fmt.Sprintf("client%d", i), tree: chaosTree{}, random: rand.New(rand.NewPCG(seed, uint64(i+1))),
		})
	}
	for round := range rounds {
		c.round(t, round)
	}
	c.start(t, 0)
	c.verify(t, "at the end")
	if err := c.server.Stop(); err != nil {
		t.Error(err)
	}
	for kind, n := range c.kinds() {
		t.Logf("%s: %d answered, %d found done without an answer, %d not done", kind, n[0], n[1], n[2])
	}
}

// setting is a number from the environment.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// chaos is the program between its deaths.
type chaos struct {
	path, data string
	random     *rand.Rand
	clients    []*chaosClient
	server     *server
}

// start starts the program on the data there is. Half of the rounds run without
// flushing each commit, which must survive the death of the process as well, and
// half of them keep versions. Some have a trash.
func (c *chaos) start(t *testing.T, round int) {
	t.Helper()
	args := append([]string{"--sync", []string{"full", "normal"}[round%2], "--versions", []string{"0", "3"}[round/2%2], "--trash", []string{"0", "1d"}[(round+1)/2%2]}, anonymous...)
	p, err := Start(context.WithoutCancel(t.Context()), Options{Path: c.path, Data: c.data, Password: testPassword, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.process.kill() })
	c.server = &server{Program: p}
}

func (c *chaos) round(t *testing.T, round int) {
	t.Helper()
	c.start(t, round)
	c.verify(t, fmt.Sprintf("before round %d", round))
	var killed atomic.Bool
	var clients sync.WaitGroup
	for _, client := range c.clients {
		clients.Go(func() { client.err = client.run(c.server, &killed) })
	}
	time.Sleep(time.Duration(20+c.random.IntN(400)) * time.Millisecond)
	killed.Store(true)
	if err := c.server.process.kill(); err != nil {
		t.Errorf("kill: %v", err)
	}
	<-c.server.process.exited
	clients.Wait()
	for _, client := range c.clients {
		if client.err != nil {
			t.Fatalf("round %d, %s: %v\n%s", round, client.name, client.err, c.server.log.quote())
		}
	}
	if line := c.server.log.fault(); line != "" {
		t.Fatalf("round %d: the program logged %q", round, line)
	}
}

// verify compares the tree of every client with what it was promised, and runs
// the program's own check.
func (c *chaos) verify(t *testing.T, when string) {
	t.Helper()
	for _, client := range c.clients {
		if err := client.verify(c.server); err != nil {
			t.Fatalf("%s, %s: %v", when, client.name, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
	defer cancel()
	if out, err := exec.CommandContext(ctx, c.path, "check", "--data", c.data).CombinedOutput(); err != nil {
		t.Fatalf("%s, holdfast check: %v\n%s", when, err, out)
	}
}

// kinds counts the requests of all clients by kind.
func (c *chaos) kinds() map[string][3]int {
	all := map[string][3]int{}
	for _, client := range c.clients {
		for kind, n := range client.count {
			sum := all[kind]
			for i := range n {
				sum[i] += n[i]
			}
			all[kind] = sum
		}
	}
	return all
}

// chaosRequest is a change and what it makes of the tree.
type chaosRequest struct {
	kind, method, path string
	body               string
	header             []string
	after              chaosTree
	at                 string         // the path of the URL it goes to; "" is that of path
	before             []chaosRequest // sent first, and no change of the tree
	upload             string         // the path of the upload that it makes a file of, if any
}

// chaosClient sends one request after the other in a folder of its own.
type chaosClient struct {
	name    string
	random  *rand.Rand
	tree    chaosTree
	made    bool          // its folder
	pending *chaosRequest // sent and not answered when the program died
	upload  string        // the path of an upload that may be there, or ""
	err     error
	count   map[string][3]int // by kind: answered, found done, found not done
}

// run sends requests until the program is gone.
func (c *chaosClient) run(s *server, killed *atomic.Bool) error {
	// No connection of an earlier life, and no other client's.
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: clientTimeout}
	for {
		r := c.next(s)
		c.upload = r.upload
		for _, first := range r.before {
			if _, done, err := c.answered(client, s, first, killed); !done {
				return err
			}
		}
		c.pending = &r
		token, done, err := c.answered(client, s, r, killed)
		if !done {
			return err
		}
		if r.kind == "LOCK" {
			r.after[r.path] = chaosNode{sum: sumOf(""), token: token}
		}
		c.tree, c.pending, c.made, c.upload = r.after, nil, true, ""
		c.add(r.kind, 0)
	}
}

// answered sends a request and reports whether it is done. It is not when the
// program died meanwhile, or says itself that it does not know; anything else but
// success is an error.
func (c *chaosClient) answered(client *http.Client, s *server, r chaosRequest, killed *atomic.Bool) (token string, done bool, err error) {
	status, token, err := c.send(client, s, r)
	switch {
	case err != nil && killed.Load(), status == http.StatusServiceUnavailable:
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	case status != http.StatusCreated && status != http.StatusNoContent:
		return "", false, fmt.Errorf("%s %s (%s): status %d", r.method, r.path, r.kind, status)
	}
	return token, true, nil
}

func (c *chaosClient) add(kind string, outcome int) {
	if c.count == nil {
		c.count = map[string][3]int{}
	}
	n := c.count[kind]
	n[outcome]++
	c.count[kind] = n
}

// send is an acknowledged request once its status came, whatever became of the
// connection afterwards.
func (c *chaosClient) send(client *http.Client, s *server, r chaosRequest) (status int, token string, err error) {
	url := s.URL + r.at
	if r.at == "" {
		url = c.url(s, r.path)
	}
	request, err := http.NewRequest(r.method, url, strings.NewReader(r.body))
	if err != nil {
		return 0, "", err
	}
	for i := 0; i < len(r.header); i += 2 {
		request.Header.Set(r.header[i], r.header[i+1])
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode, strings.Trim(answer.Header.Get("Lock-Token"), "<>"), nil
}

func (c *chaosClient) url(s *server, path string) string {
	if path == "" {
		return s.dav(c.name)
	}
	return s.dav(append([]string{c.name}, strings.Split(path, "/")...)...)
}

// next makes up a request that must succeed on the tree as it is.
func (c *chaosClient) next(s *server) chaosRequest {
	if !c.made {
		return chaosRequest{kind: "MKCOL", method: "MKCOL", after: chaosTree{}}
	}
	kinds := []string{"PUT", "PUT", "overwrite", "overwrite", "pieces", "LOCK", "UNLOCK", "MOVE", "MOVE", "MOVE over", "DELETE", "MKCOL"}
	if len(c.tree) > chaosMembers {
		kinds = []string{"DELETE", "DELETE", "UNLOCK", "MOVE over"}
	}
	for {
		if r, ok := c.make(s, kinds[c.random.IntN(len(kinds))]); ok {
			return r
		}
	}
}

// make makes up a request of one kind, if the tree has what it needs.
func (c *chaosClient) make(s *server, kind string) (chaosRequest, bool) {
	r := chaosRequest{kind: kind, method: kind, after: maps.Clone(c.tree)}
	switch kind {
	case "PUT":
		r.path, r.body = c.free(), c.content()
		r.after[r.path] = chaosNode{sum: sumOf(r.body)}
	case "overwrite":
		r.method, r.path, r.body = "PUT", c.pick(func(_ string, n chaosNode) bool { return !n.folder }), c.content()
		r.after[r.path] = chaosNode{sum: sumOf(r.body), token: c.tree[r.path].token}
		r.submit(c.tree[r.path].token)
	case "pieces":
		return c.pieces(s, r)
	case "LOCK":
		r.path, r.body = c.free(), fmt.Sprintf(lockinfo, c.name)
		r.header = []string{"Depth", "0", "Content-Type", "application/xml"}
		r.after[r.path] = chaosNode{sum: sumOf(""), token: anyToken}
	case "UNLOCK":
		r.path = c.pick(func(_ string, n chaosNode) bool { return n.token != "" })
		r.header = []string{"Lock-Token", "<" + c.tree[r.path].token + ">"}
		r.after[r.path] = chaosNode{sum: c.tree[r.path].sum}
	case "MOVE", "MOVE over":
		return c.move(s, r)
	case "DELETE":
		r.path = c.pick(func(path string, n chaosNode) bool { return !n.folder || !c.tree.locked(path) })
		r.submit(c.tree[r.path].token)
		for _, path := range c.tree.under(r.path) {
			delete(r.after, path)
		}
	case "MKCOL":
		r.path = "d" + strconv.Itoa(c.random.IntN(4))
		if _, taken := c.tree[r.path]; taken {
			return r, false
		}
		r.after[r.path] = chaosNode{folder: true}
	}
	return r, r.path != ""
}

// pieces makes or overwrites a file by three pieces, each on either side of what is
// kept in the database.
func (c *chaosClient) pieces(s *server, r chaosRequest) (chaosRequest, bool) {
	r.path = c.free()
	if c.random.IntN(2) == 0 {
		r.path = c.pick(func(_ string, n chaosNode) bool { return !n.folder })
	}
	token := c.tree[r.path].token
	r.upload = fmt.Sprintf("/remote.php/dav/uploads/anonymous/%s-%016x", c.name, c.random.Uint64())
	r.before = []chaosRequest{{kind: r.kind, method: "MKCOL", at: r.upload}}
	content := ""
	for i := range 3 {
		piece := c.content()
		r.before = append(r.before, chaosRequest{kind: r.kind, method: "PUT", at: fmt.Sprintf("%s/%d", r.upload, i+1), body: piece})
		content += piece
	}
	r.method, r.at, r.header = "MOVE", r.upload+"/.file", []string{"Destination", c.url(s, r.path)}
	r.after[r.path] = chaosNode{sum: sumOf(content), token: token}
	r.submit(token)
	return r, r.path != ""
}

// submit sends a lock's token, if there is one.
func (r *chaosRequest) submit(token string) {
	if token != "" {
		r.header = append(r.header, "If", "(<"+token+">)")
	}
}

// move moves a file or folder to a free name, or a file over another one.
func (c *chaosClient) move(s *server, r chaosRequest) (chaosRequest, bool) {
	over := r.kind == "MOVE over"
	r.method = "MOVE"
	r.path = c.pick(func(path string, n chaosNode) bool { return !c.tree.locked(path) && !(over && n.folder) })
	to := c.free()
	if over {
		to = c.pick(func(path string, n chaosNode) bool { return !n.folder && n.token == "" && path != r.path })
	}
	if r.path == "" || to == "" || strings.HasPrefix(to, r.path+"/") {
		return r, false
	}
	r.header = []string{"Destination", c.url(s, to)}
	for _, path := range c.tree.under(r.path) {
		delete(r.after, path)
	}
	for _, path := range c.tree.under(r.path) {
		r.after[to+strings.TrimPrefix(path, r.path)] = c.tree[path]
	}
	return r, true
}

// pick is a path that fits, or "".
func (c *chaosClient) pick(fits func(string, chaosNode) bool) string {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(c.tree)) {
		if fits(path, c.tree[path]) {
			paths = append(paths, path)
		}
	}
	if paths == nil {
		return ""
	}
	return paths[c.random.IntN(len(paths))]
}

// free is a name that maps to nothing, also one that did before, or "".
func (c *chaosClient) free() string {
	name := "f" + strconv.Itoa(c.random.IntN(30))
	folder := c.pick(func(path string, n chaosNode) bool { return n.folder && strings.Count(path, "/") < 2 })
	if folder != "" && c.random.IntN(2) == 0 {
		name = folder + "/" + name
	}
	if _, taken := c.tree[name]; taken {
		return ""
	}
	return name
}

// content is kept in the database or, of 64 KiB, as an object; no two are equal.
func (c *chaosClient) content() string {
	size := 1 + c.random.IntN(4096)
	if c.random.IntN(2) == 0 {
		size = 64 << 10
	}
	unit := fmt.Sprintf("%s %016x\n", c.name, c.random.Uint64())
	return strings.Repeat(unit, size/len(unit)+1)
}

// verify compares the client's folder with its promises and goes on from there.
func (c *chaosClient) verify(s *server) error {
	pending := c.pending
	made, err := c.compare(s)
	if err != nil {
		return err
	}
	return c.giveUp(s, pending, made)
}

// giveUp removes the upload that was under way. It must be there if its MOVE did
// not happen, and be gone if it did.
func (c *chaosClient) giveUp(s *server, pending *chaosRequest, made bool) error {
	if c.upload == "" {
		return nil
	}
	r, err := s.try("DELETE", s.URL+c.upload, "")
	c.upload = ""
	if err != nil {
		return err
	}
	moved := pending != nil && pending.upload != ""
	if moved && made != (r.status == http.StatusNotFound) || r.status != http.StatusNotFound && r.status != http.StatusNoContent {
		return fmt.Errorf("its upload is answered with %d; the MOVE of it happened: %v", r.status, made)
	}
	return nil
}

// compare is verify without uploads. It reports whether the request that was not
// answered has happened.
func (c *chaosClient) compare(s *server) (made bool, err error) {
	got, err := c.look(s)
	if err != nil {
		return false, err
	}
	if got == nil { // not even the folder is there
		if c.made {
			return false, errors.New("the folder is gone")
		}
		c.pending = nil
		return false, nil
	}
	before := c.tree.differs(got)
	switch {
	case c.pending == nil && before == "":
		return false, nil
	case c.pending == nil:
		return false, errors.New(before)
	}
	r := c.pending
	c.pending = nil
	after := r.after.differs(got)
	if before != "" && after != "" {
		return false, fmt.Errorf("%s of %s happened neither wholly nor not at all: without it %s, with it %s", r.kind, r.path, before, after)
	}
	outcome := 2
	if after == "" {
		outcome = 1
	}
	c.add(r.kind, outcome)
	c.tree, c.made = got, true
	return after == "", nil
}
