package litmus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// startTimeout bounds the time until the program accepts connections; the first start migrates an
	// empty database, and a build with the race detector is slow.
	startTimeout = 60 * time.Second
	// stopTimeout bounds the time from SIGTERM to the end of the process.
	stopTimeout = 60 * time.Second
	// maxLog is how much of the program's log is kept, maxQuote how much of it an error quotes, in bytes.
	maxLog   = 8 << 20
	maxQuote = 32 << 10
)

// Build compiles the program from this module into folder and returns its path. With race it is built
// with the race detector, which needs a C compiler.
func Build(ctx context.Context, folder string, race bool) (string, error) {
	path := filepath.Join(folder, "holdfast")
	args := []string{"build", "-o", path}
	if race {
		args = append(args, "-race")
	}
	out, err := exec.CommandContext(ctx, "go", append(args, "holdfast/server/holdfast")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build holdfast: %w\n%s", err, out)
	}
	return path, nil
}

// Options say how a Program is started.
type Options struct {
	Path     string   // the executable
	Data     string   // folder of its data, made if missing
	Password string   // of the administrator "admin"
	Args     []string // further flags of "serve"
	Env      []string // added to the environment, KEY=VALUE
}

// Program is a running "holdfast serve". Its methods may be called by several goroutines.
type Program struct {
	// URL is the root of the server, without a slash at its end: "http://127.0.0.1:40123".
	URL string

	process *process
	log     *logTail
}

// Start starts the program on a free port of the loopback and returns once it accepts connections. The
// process is killed when ctx ends. It sees no HOLDFAST_ variable of this process.
func Start(ctx context.Context, o Options) (*Program, error) {
	args := append([]string{"serve", "--addr", "127.0.0.1:0", "--data", o.Data}, o.Args...)
	log := newLogTail()
	cmd := exec.CommandContext(ctx, o.Path, args...)
	cmd.Env = append(environment(), "HOLDFAST_ADMIN_PASSWORD="+o.Password)
	cmd.Env = append(cmd.Env, o.Env...)
	cmd.WaitDelay = 5 * time.Second
	// Standard output holds hints for people.
	cmd.Stdout, cmd.Stderr = log, log
	process, err := launch(cmd)
	if err != nil {
		return nil, fmt.Errorf("start holdfast: %w", err)
	}
	p := &Program{process: process, log: log}
	select {
	case addr := <-p.log.listening:
		p.URL = "http://" + addr
		return p, nil
	case <-p.process.exited:
		return nil, fmt.Errorf("holdfast ended before it listened: %v\n%s", p.process.err, p.log.quote())
	case <-time.After(startTimeout):
		return nil, errors.Join(fmt.Errorf("holdfast does not listen after %v", startTimeout), p.kill())
	}
}

// environment is this process' own without the program's settings, which would change what is tested.
func environment() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "HOLDFAST_") {
			env = append(env, pair)
		}
	}
	return env
}

// Stop ends the program by SIGTERM and waits for it. It is an error if the exit status is not 0 or if
// the log shows a panic, a data race or a line of level ERROR; the error then ends with the log.
func (p *Program) Stop() error {
	if err := p.process.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop holdfast: %w", err)
	}
	select {
	case <-p.process.exited:
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("holdfast does not end %v after SIGTERM", stopTimeout), p.kill())
	}
	if p.process.err != nil {
		return fmt.Errorf("holdfast ended: %w\n%s", p.process.err, p.log.quote())
	}
	if line := p.log.fault(); line != "" {
		return fmt.Errorf("holdfast logged %q\n%s", line, p.log.quote())
	}
	return nil
}

// kill ends the process at once. Its error holds the log.
func (p *Program) kill() error {
	if err := p.process.kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill holdfast: %w", err)
	}
	<-p.process.exited
	return fmt.Errorf("killed; its log:\n%s", p.log.quote())
}

// Log returns what the program has written so far, at most its last 8 MiB.
func (p *Program) Log() string { return p.log.String() }

var (
	listeningLine = regexp.MustCompile(`\blistening\b.*\baddr="?([^ "]+)`)
	faultLine     = regexp.MustCompile(`\blevel=ERROR\b|"level":"ERROR"|^panic: |http: panic serving|WARNING: DATA RACE`)
)

// logTail takes in the program's output and looks at each line once.
type logTail struct {
	listening chan string // receives the address when it is logged

	mu      sync.Mutex
	text    []byte // guarded by mu
	pending []byte // the line that is not complete yet; guarded by mu
	bad     string // first line that shows a fault; guarded by mu
	told    bool   // the address was sent; guarded by mu
}

func newLogTail() *logTail { return &logTail{listening: make(chan string, 1)} }

// Write implements io.Writer; it never fails.
func (l *logTail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	if extra := len(l.text) - maxLog; extra > maxLog/8 {
		l.text = append([]byte(nil), l.text[extra:]...)
	}
	l.pending = append(l.pending, b...)
	for {
		line, rest, complete := bytes.Cut(l.pending, []byte("\n"))
		if !complete {
			return len(b), nil
		}
		l.look(string(line))
		l.pending = rest
	}
}

// look looks at a complete line; mu is held.
func (l *logTail) look(line string) {
	if m := listeningLine.FindStringSubmatch(line); m != nil && !l.told {
		l.told = true
		l.listening <- m[1]
	}
	if l.bad == "" && faultLine.MatchString(line) {
		l.bad = line
	}
}

// fault returns the first line that shows a fault, or "".
func (l *logTail) fault() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bad
}

// String returns what was written, at most the last maxLog bytes or an eighth more.
func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// quote returns the end of what was written, for an error.
func (l *logTail) quote() string {
	text := l.String()
	if extra := len(text) - maxQuote; extra > 0 {
		return "[...]" + text[extra:]
	}
	return text
}
