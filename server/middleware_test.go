package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// logBuffer is a log that tests may read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// wire is a real HTTP server with all layers, spoken to byte by byte.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
	log  *logBuffer
}

// dial starts a server with all layers around h, on a pipe, so that the synctest
// bubble it is called in owns its clock.
func dial(t *testing.T, h http.HandlerFunc) *wire {
	t.Helper()
	log := &logBuffer{}
	s := &Server{log: slog.New(slog.NewTextHandler(log, nil))}
	here, there := net.Pipe()
	listener := &pipeListener{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
	listener.conns <- there
	server := &http.Server{Handler: s.handler(h), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		_ = here.Close()
		_ = server.Close()
		done.Wait()
		time.Sleep(time.Second) // in the bubble: net/http lingers after it closes
	})
	return &wire{conn: here, in: bufio.NewReader(here), log: log}
}

// pipeListener hands out the connections it was given.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// send writes in the background: a pipe holds nothing, and the server need not
// read all of it.
func (w *wire) send(text string) {
	go func() { _, _ = io.WriteString(w.conn, text) }()
}

func (w *wire) answer(t *testing.T) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		t.Fatalf("read answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read body: %v", err)
	}
	return resp, string(body)
}

// open reports whether the connection serves another request.
func (w *wire) open() bool {
	w.send("GET /ok HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, err := http.ReadResponse(w.in, nil)
	return err == nil && resp.StatusCode == http.StatusOK
}

// bubble is a subtest with a clock of its own.
func bubble(t *testing.T, name string, fn func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, fn) })
}

func ok(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/ok" {
		fail(w, http.StatusPreconditionFailed, "no")
	}
}

func TestEarlyErrorKeepsTheConnection(t *testing.T) {
	chunk := func(n int) string { return fmt.Sprintf("%x\r\n%s\r\n", n, strings.Repeat("x", n)) }
	for _, c := range []struct {
		outcome, request string
		open             bool
	}{
		{"small body", "Content-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000), true},
		{"largest body that is drained", fmt.Sprintf("Content-Length: %d\r\n\r\n", drainMax) + strings.Repeat("x", drainMax), true},
		{"small chunked body", "Transfer-Encoding: chunked\r\n\r\n" + chunk(1000) + "0\r\n\r\n", true},
		{"large body", fmt.Sprintf("Content-Length: %d\r\n\r\n", drainMax+1) + strings.Repeat("x", drainMax+1), false},
		{"large chunked body", "Transfer-Encoding: chunked\r\n\r\n" + chunk(drainMax+1) + "0\r\n\r\n", false},
		{"client waits for 100 Continue", "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n", false},
	} {
		bubble(t, c.outcome, func(t *testing.T) {
			w := dial(t, ok)
			w.send("PUT /f HTTP/1.1\r\nHost: x\r\n" + c.request)
			resp, _ := w.answer(t)
			if resp.StatusCode != http.StatusPreconditionFailed {
				t.Fatalf("status %d", resp.StatusCode)
			}
			if resp.Close == c.open {
				t.Errorf("Connection: close is %v", resp.Close)
			}
			if c.open && !w.open() {
				t.Error("the next request on the connection failed")
			}
		})
	}
}

// readAll answers with how a body ended.
func readAll(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		fail(w, http.StatusRequestTimeout, err.Error())
		return
	}
	fmt.Fprint(w, n)
}

func TestBodyMustMove(t *testing.T) {
	for _, c := range []struct {
		outcome string
		each    int // bytes
		every   time.Duration
		times   int
		status  int
	}{
		{"slow but honest", readStep, 55 * time.Second, 100, http.StatusOK},
		{"a byte at a time", 1, 10 * time.Second, 100, http.StatusRequestTimeout},
		{"silent after the start", readStep, 2 * readStall, 2, http.StatusRequestTimeout},
	} {
		bubble(t, c.outcome, func(t *testing.T) {
			w := dial(t, readAll)
			var sender sync.WaitGroup
			sender.Go(func() {
				fmt.Fprintf(w.conn, "PUT /f HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", c.each*c.times)
				for range c.times {
					if _, err := w.conn.Write(bytes.Repeat([]byte("x"), c.each)); err != nil {
						return
					}
					time.Sleep(c.every)
				}
			})
			if resp, body := w.answer(t); resp.StatusCode != c.status {
				t.Errorf("status %d (%s), want %d", resp.StatusCode, body, c.status)
			}
			sender.Wait()
		})
	}
}

func TestTimeInWhichTheServerDoesNotReadIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * readStall) // waits for its turn
			readAll(w, r)
		})
		w.send("PUT /f HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
		if resp, body := w.answer(t); resp.StatusCode != http.StatusOK || body != "5" {
			t.Errorf("status %d, %s", resp.StatusCode, body)
		}
	})
}

func TestUnreadBodyDoesNotEndALongAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "a")
			time.Sleep(10 * readStall)
			if err := r.Context().Err(); err != nil {
				fmt.Fprint(w, err)
			}
			fmt.Fprint(w, "b")
		})
		w.send("REPORT /f HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
		if _, body := w.answer(t); body != "ab" {
			t.Errorf("answer %q", body)
		}
	})
}

func TestClientThatStopsReadingIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		ended := make(chan error, 1)
		w := dial(t, func(w http.ResponseWriter, _ *http.Request) {
			start := time.Now()
			_, err := w.Write(make([]byte, 3*writeStep))
			took = time.Since(start)
			ended <- err
		})
		w.send("GET /f HTTP/1.1\r\nHost: x\r\n\r\n")
		if err := <-ended; err == nil || took != writeStall {
			t.Errorf("ended after %v with %v", took, err)
		}
	})
}

func TestSlowReaderIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, io.LimitReader(zeros{}, 3*writeStep))
		})
		w.send("GET /f HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		total := 0
		for buf := make([]byte, writeStep/2); ; time.Sleep(writeStall / 4) {
			n, err := io.ReadFull(w.in, buf)
			total += n
			if err != nil {
				break
			}
		}
		if total < 3*writeStep {
			t.Errorf("got %d of %d bytes", total, 3*writeStep)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestPanic(t *testing.T) {
	bubble(t, "before the answer is a 500 without text", func(t *testing.T) {
		w := dial(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/ok" {
				w.Header().Set("ETag", `"x"`)
				panic("secret of the inside")
			}
		})
		w.send("GET /f HTTP/1.1\r\nHost: x\r\n\r\n")
		resp, body := w.answer(t)
		if resp.StatusCode != http.StatusInternalServerError || body != "" || resp.Header.Get("ETag") != "" {
			t.Errorf("status %d, ETag %q, body %q", resp.StatusCode, resp.Header.Get("ETag"), body)
		}
		if !w.open() {
			t.Error("the connection is gone")
		}
		if log := w.log.String(); !strings.Contains(log, "secret of the inside") || !strings.Contains(log, "middleware_test.go") {
			t.Errorf("no stack in the log: %s", log)
		}
	})
	bubble(t, "in the answer cuts it off", func(t *testing.T) {
		w := dial(t, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("x", 8192))
			panic("late")
		})
		w.send("GET /f HTTP/1.1\r\nHost: x\r\n\r\n")
		resp, err := http.ReadResponse(w.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("the part looks like the whole")
		}
	})
}

func TestTarget(t *testing.T) {
	for target, want := range map[string]int{
		"/ok":           http.StatusOK,
		"/ok?a=b":       http.StatusOK,
		"/ok%23":        http.StatusPreconditionFailed, // reaches the handler
		"/ok#fragment":  http.StatusBadRequest,
		"/ok?a=b#c":     http.StatusBadRequest,
		"http://x/ok#c": http.StatusBadRequest,
	} {
		bubble(t, target, func(t *testing.T) {
			w := dial(t, ok)
			w.send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")
			if resp, _ := w.answer(t); resp.StatusCode != want {
				t.Errorf("status %d, want %d", resp.StatusCode, want)
			}
		})
	}
}

func TestAccessLine(t *testing.T) { synctest.Test(t, accessLine) }

func accessLine(t *testing.T) {
	w := dial(t, readAll)
	w.send("PUT /dav/a%20b?q HTTP/1.1\r\nHost: x\r\nAuthorization: Basic c2VjcmV0\r\nIf: (<urn:uuid:token>)\r\n" +
		"Content-Length: 5\r\nConnection: close\r\n\r\nhello")
	resp, _ := w.answer(t)
	_, _ = io.Copy(io.Discard, w.in) // until the server is done with it
	log := w.log.String()
	for _, part := range []string{"method=PUT", "path=/dav/a%20b", "status=200", "in=5", "out=1", "id=" + resp.Header.Get("X-Request-Id")} {
		if !strings.Contains(log, part) {
			t.Errorf("%s is missing in %s", part, log)
		}
	}
	for _, secret := range []string{"c2VjcmV0", "token", "hello"} {
		if strings.Contains(log, secret) {
			t.Errorf("%s is in %s", secret, log)
		}
	}
}

func TestLevelOfTheAccessLine(t *testing.T) {
	for status, want := range map[int]string{200: "INFO", 404: "INFO", 423: "INFO", 500: "ERROR", 501: "INFO", 502: "INFO", 503: "ERROR", 507: "INFO"} {
		bubble(t, http.StatusText(status), func(t *testing.T) {
			w := dial(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			w.send("GET /f HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			w.answer(t)
			_, _ = io.Copy(io.Discard, w.in) // until the server is done with it
			if log := w.log.String(); !strings.Contains(log, "level="+want+" msg=request") {
				t.Errorf("want %s: %s", want, log)
			}
		})
	}
}

func TestStoredContentCannotAct(t *testing.T) { synctest.Test(t, storedContent) }

func storedContent(t *testing.T) {
	w := dial(t, ok)
	w.send("GET /ok HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, _ := w.answer(t)
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if resp.Header.Get("Server") != "" {
		t.Error("names a server")
	}
}

// TestContentGoesOutInSteps: a long body goes out in writes of a step each, so
// that each has a deadline of its own, and not in net/http's small ones.
func TestContentGoesOutInSteps(t *testing.T) {
	const length = 2*writeStep + 100
	spy := &stepSpy{header: http.Header{}}
	w := &response{ResponseWriter: spy, control: http.NewResponseController(spy)}
	content := io.LimitReader(bytes.NewReader(make([]byte, 2*length)), length)
	n, err := io.Copy(w, content)
	if n != length || err != nil || w.written != length || w.status != http.StatusOK {
		t.Errorf("copied %d (%d written, status %d), %v", n, w.written, w.status, err)
	}
	if want := []int{writeStep, writeStep, 100}; !slices.Equal(spy.steps, want) {
		t.Errorf("steps %v, want %v", spy.steps, want)
	}
}

// stepSpy notes the length of each write and, as net/http does, can read from a
// reader by itself.
type stepSpy struct {
	header http.Header
	steps  []int
}

func (s *stepSpy) Header() http.Header { return s.header }
func (s *stepSpy) WriteHeader(int)     {}
func (s *stepSpy) Write(p []byte) (int, error) {
	s.steps = append(s.steps, len(p))
	return len(p), nil
}
func (s *stepSpy) ReadFrom(io.Reader) (int64, error) { return 0, io.ErrShortWrite }
