package litmus

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	contenders        = 20 // clients of one kind at once
	contentionSeconds = 3  // HOLDFAST_CONTENTION sets it
)

// TestContention has many clients at once on the real server, with bodies in a folder
// and in S3. What happens inside is no client's business: nothing but the statuses of
// the protocol may come.
func TestContention(t *testing.T) {
	for _, on := range []struct {
		name string
		open func(*testing.T) backing
	}{{"folder", folderBacking}, {"s3", s3Backing}} {
		t.Run(on.name, func(t *testing.T) {
			s := startServer(t, on.open(t))
			t.Run("R111 B98 PUT and PROPFIND", func(t *testing.T) { s.putAndList(t) })
			t.Run("R112 MKCOL of one path", func(t *testing.T) { s.mkcolRace(t) })
			t.Run("B99 MOVE of one source", func(t *testing.T) { s.moveRace(t) })
			t.Run("R114 refusals on connections that stay", func(t *testing.T) { s.refusals(t) })
		})
	}
}

// crowd runs fn once for each of n clients, all at once, and reports their errors.
func crowd(t *testing.T, n int, fn func(client int) error) {
	t.Helper()
	var wg sync.WaitGroup
	failures := make(chan error, n)
	for i := range n {
		wg.Go(func() {
			if err := fn(i); err != nil {
				failures <- fmt.Errorf("client %d: %w", i, err)
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
}

// wants is try with an error for any other status.
func (s *server) wants(status int, method, target, body string, header ...string) (reply, error) {
	r, err := s.try(method, target, body, header...)
	if err == nil && r.status != status {
		err = fmt.Errorf("%s %s: %d, want %d: %s", method, target, r.status, status, clip(r.body))
	}
	return r, err
}

// putAndList writes files of one folder and lists it meanwhile. Each client sees its
// own file in the next listing.
func (s *server) putAndList(t *testing.T) {
	folder := s.dav("busy") + "/"
	s.do(t, "MKCOL", folder, "")
	end := time.Now().Add(time.Duration(setting(t, "HOLDFAST_CONTENTION", contentionSeconds)) * time.Second)
	crowd(t, contenders, func(client int) error {
		for round := 0; round < 2 || time.Now().Before(end); round++ {
			name := fmt.Sprintf("%02d-%03d", client, round%50)
			if r, err := s.try("PUT", folder+name, strings.Repeat("x", 20_000)); err != nil || r.status != http.StatusCreated && r.status != http.StatusNoContent {
				return fmt.Errorf("PUT: %d %s %v", r.status, clip(r.body), err)
			}
			r, err := s.wants(http.StatusMultiStatus, "PROPFIND", folder, "", "Depth", "1")
			if err != nil {
				return err
			}
			if !strings.Contains(r.body, "/busy/"+name+"<") {
				return fmt.Errorf("the listing after PUT of %s lacks it", name)
			}
		}
		return nil
	})
}

// mkcolRace makes one collection many times at once: one client makes it.
func (s *server) mkcolRace(t *testing.T) {
	for round := range 20 {
		target := s.dav(fmt.Sprintf("race-%d", round))
		s.oneWins(t, http.StatusCreated, http.StatusMethodNotAllowed, func(int) (reply, error) { return s.try("MKCOL", target, "") })
	}
}

// oneWins has clients try the same at once. One gets the first status, all others the
// second.
func (s *server) oneWins(t *testing.T, won, lost int, try func(client int) (reply, error)) {
	t.Helper()
	var mu sync.Mutex
	winners := 0
	crowd(t, 9, func(client int) error {
		r, err := try(client)
		if err != nil || r.status != won && r.status != lost {
			return fmt.Errorf("%d %s %v", r.status, clip(r.body), err)
		}
		mu.Lock()
		defer mu.Unlock()
		if r.status == won {
			winners++
		}
		return nil
	})
	if winners != 1 {
		t.Errorf("%d clients got %d", winners, won)
	}
}

// moveRace moves one file to many names at once: it arrives at one.
func (s *server) moveRace(t *testing.T) {
	for round := range 20 {
		from := s.dav(fmt.Sprintf("moving-%d", round))
		to := func(client int) string { return s.dav(fmt.Sprintf("moved-%d-%d", round, client)) }
		if _, err := s.wants(http.StatusCreated, "PUT", from, "content"); err != nil {
			t.Fatal(err)
		}
		s.oneWins(t, http.StatusCreated, http.StatusNotFound, func(client int) (reply, error) {
			return s.try("MOVE", from, "", "Destination", to(client))
		})
		found := 0
		for client := range 9 {
			switch r := s.do(t, "GET", to(client), ""); {
			case r.status == http.StatusOK && r.body == "content":
				found++
			case r.status != http.StatusNotFound:
				t.Errorf("GET: %d %s", r.status, clip(r.body))
			}
		}
		if found != 1 {
			t.Errorf("round %d: the file is at %d places", round, found)
		}
	}
}

// refusals sends bodies that are refused before they are read. The connection goes on:
// the answer is read to its end, and the next request goes over it.
func (s *server) refusals(t *testing.T) {
	target := s.dav("refused")
	if _, err := s.wants(http.StatusCreated, "PUT", target, "kept"); err != nil {
		t.Fatal(err)
	}
	crowd(t, contenders, func(int) error {
		w := &wire{addr: strings.TrimPrefix(s.URL, "http://"), login: basic(s.user, s.password)}
		defer w.close()
		put := step{method: "PUT", target: davPath("refused"), header: []field{{"If-None-Match", "*"}}, size: 200_000, hasBody: true}
		get := step{method: "GET", target: davPath("refused")}
		for round := range 10 {
			a, err := w.exchange(context.Background(), put, nil)
			if err != nil || a.status != http.StatusPreconditionFailed || a.closed {
				return fmt.Errorf("round %d: PUT: %d, closed: %t, %v", round, a.status, a.closed, err)
			}
			if a, err = w.exchange(context.Background(), get, nil); err != nil || a.body != "kept" || a.closed {
				return fmt.Errorf("round %d: GET: %d %s, closed: %t, %v", round, a.status, clip(a.body), a.closed, err)
			}
		}
		return nil
	})
}
