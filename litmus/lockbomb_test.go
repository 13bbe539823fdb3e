package litmus

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const (
	bombClients = 20 // as many as litmus' own lockbomb has
	bombShared  = 4  // of them that lock one and the same file
	bombRounds  = 200
)

// lockinfo asks for an exclusive write lock (RFC 4918 14.11).
const lockinfo = `<?xml version="1.0" encoding="utf-8"?>
<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>%s</D:owner></D:lockinfo>`

const askLocks = `<?xml version="1.0" encoding="utf-8"?>
<D:propfind xmlns:D="DAV:"><D:prop><D:lockdiscovery/></D:prop></D:propfind>`

// TestLockbombR105B31 locks and unlocks files of one folder from many clients at once. No request may fail, and
// none of the locks may be left.
func TestLockbombR105B31(t *testing.T) {
	rounds := bombRounds
	if n := os.Getenv("HOLDFAST_LOCKBOMB"); n != "" {
		var err error
		if rounds, err = strconv.Atoi(n); err != nil {
			t.Fatalf("HOLDFAST_LOCKBOMB: %v", err)
		}
	} else if testing.Short() {
		rounds = 10
	}
	s := startServer(t, folderBacking(t))
	if r := s.do(t, "MKCOL", s.dav("bomb")+"/", ""); r.status != http.StatusCreated {
		t.Fatalf("MKCOL: %d %s", r.status, r.body)
	}
	failures := make(chan error)
	for i := range bombClients {
		bomber := bomber{server: s, owner: fmt.Sprintf("client %d", i), target: s.dav("bomb", fmt.Sprintf("file %d", i))}
		if i < bombShared {
			bomber.target, bomber.shared = s.dav("bomb", "shared"), true
		}
		go func() { failures <- bomber.lockAndUnlock(rounds) }()
	}
	for range bombClients {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	if n := s.activeLocks(t, "bomb"); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}

// bomber is one client of the lock bomb.
type bomber struct {
	*server
	owner, target string
	shared        bool // others lock the target too
	got           int  // locks that this client was granted
}

// lockAndUnlock takes and gives back the lock of the target. On a target of its own every request must
// succeed; on a shared one a LOCK may also find the lock of another.
func (b *bomber) lockAndUnlock(rounds int) error {
	for round := range rounds {
		if err := b.round(); err != nil {
			return fmt.Errorf("%s, round %d: %w", b.owner, round, err)
		}
	}
	if b.got == 0 {
		return fmt.Errorf("%s was granted no lock in %d rounds", b.owner, rounds)
	}
	return nil
}

func (b *bomber) round() error {
	r, err := b.try("LOCK", b.target, fmt.Sprintf(lockinfo, b.owner), "Depth", "0", "Timeout", "Second-600")
	if err != nil {
		return err
	}
	if b.shared && r.status == http.StatusLocked {
		return nil
	}
	if r.status != http.StatusOK && r.status != http.StatusCreated {
		return fmt.Errorf("LOCK %s: %d %s", b.target, r.status, clip(r.body))
	}
	b.got++
	token := r.header.Get("Lock-Token")
	if bare := strings.Trim(token, "<>"); len(bare) != len(token)-2 || !strings.Contains(r.body, bare) {
		return fmt.Errorf("LOCK %s: Lock-Token %q is not in the body %s", b.target, token, r.body)
	}
	if r, err = b.try("UNLOCK", b.target, "", "Lock-Token", token); err != nil {
		return err
	}
	if r.status != http.StatusNoContent {
		return fmt.Errorf("UNLOCK %s: %d %s", b.target, r.status, clip(r.body))
	}
	return nil
}

var activeLock = regexp.MustCompile(`<(?:[A-Za-z0-9]+:)?activelock[ >]`)

// activeLocks returns how many locks lockdiscovery shows for a resource and its members.
func (s *server) activeLocks(t *testing.T, segments ...string) int {
	t.Helper()
	return s.locksOf(t, s.dav(segments...))
}

// locksOf is activeLocks for a URL.
func (s *server) locksOf(t *testing.T, target string) int {
	t.Helper()
	r := s.do(t, "PROPFIND", target, askLocks, "Depth", "1", "Content-Type", "application/xml")
	if r.status != http.StatusMultiStatus || !strings.Contains(r.body, "lockdiscovery") {
		t.Fatalf("PROPFIND: %d %s", r.status, clip(r.body))
	}
	return len(activeLock.FindAllString(r.body, -1))
}

// TestLockbombSeesLocks makes sure that the lock bomb would see a lock that is left.
func TestLockbombSeesLocks(t *testing.T) {
	s := startServer(t, folderBacking(t))
	if r := s.do(t, "MKCOL", s.dav("bomb")+"/", ""); r.status != http.StatusCreated {
		t.Fatalf("MKCOL: %d %s", r.status, r.body)
	}
	left := &bomber{server: s, owner: "a", target: s.dav("bomb", "left")}
	r := s.do(t, "LOCK", left.target, fmt.Sprintf(lockinfo, left.owner), "Depth", "0")
	if n := s.activeLocks(t, "bomb"); n != 1 {
		t.Errorf("%d locks are seen, want the one of %s", n, r.header.Get("Lock-Token"))
	}
	if err := left.round(); err == nil {
		t.Error("a second LOCK of a locked file passed for a success")
	}
	left.shared = true
	if err := left.round(); err != nil || left.got != 0 {
		t.Errorf("a refusal on a shared file: %v, %d granted", err, left.got)
	}
	s.do(t, "UNLOCK", left.target, "", "Lock-Token", r.header.Get("Lock-Token"))
}
