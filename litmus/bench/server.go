package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 60 * time.Second
	stopTimeout  = 60 * time.Second
	// quoted is how much of a server's log an error shows, in bytes.
	quoted = 4 << 10
)

// The names of the servers, in the order of the columns.
const (
	holdfast = "holdfast"
	xnet     = "x/net"
)

const (
	user     = "admin"
	password = "correct-horse-battery"
)

// programs are the paths of the executables.
type programs struct{ holdfast, xnet string }

// build compiles both servers into folder. HOLDFAST_PROGRAM names a Holdfast that is taken as it is.
func build(ctx context.Context, folder string) (programs, error) {
	p := programs{filepath.Join(folder, "holdfast"), filepath.Join(folder, "xnet")}
	packages := []string{"holdfast/litmus/bench/xnet"}
	if ready := os.Getenv("HOLDFAST_PROGRAM"); ready != "" {
		p.holdfast = ready
	} else {
		packages = append(packages, "holdfast/server/holdfast")
	}
	args := append([]string{"build", "-o", folder + string(filepath.Separator)}, packages...)
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return programs{}, fmt.Errorf("build the servers: %w\n%s", err, out)
	}
	return p, nil
}

// server is a running process of the benchmark's own, on a free port of the loopback and with a folder
// of its own.
type server struct {
	name   string
	addr   string
	folder string
	log    string // path of the file that its output goes to
	auth   bool   // asks for a login
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
}

// start starts a server by its name below the folder.
func (o *options) start(ctx context.Context, name string) (*server, error) {
	folder, err := os.MkdirTemp(o.folder, "server-")
	if err != nil {
		return nil, err
	}
	s := &server{name: name, folder: folder, log: filepath.Join(folder, "log"), exited: make(chan struct{})}
	data := filepath.Join(folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	switch name {
	case holdfast:
		args := []string{"serve", "--addr", "127.0.0.1:0", "--data", data, "--sync", o.sync, "--locks-per-user", "0"}
		if o.inlineMax != "" {
			args = append(args, "--inline-max", o.inlineMax)
		}
		if o.anonymous {
			args = append(args, "--anonymous")
		}
		s.auth = !o.anonymous
		s.cmd = exec.Command(o.programs.holdfast, args...)
	case xnet:
		s.cmd = exec.Command(o.programs.xnet, "-data", data)
	}
	if err := s.launch(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return s, nil
}

// launch starts the process and waits until it listens.
func (s *server) launch(ctx context.Context) error {
	// Appending, so that trim can make the file short under the process.
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.Env = environment()
	dieWithUs(s.cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // see dieWithUs
		err := s.cmd.Start()
		started <- err
		if err == nil {
			s.cmd.Wait()
			close(s.exited)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		return errors.Join(err, s.stop())
	}
	return nil
}

// environment is this process' own without settings of Holdfast, which would change what is measured.
func environment() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "HOLDFAST_") {
			env = append(env, pair)
		}
	}
	return append(env, "HOLDFAST_ADMIN_PASSWORD="+password)
}

var listening = regexp.MustCompile(`\blistening\b.*\baddr="?([^ "\n]+)`)

// await waits until the log says where the server listens.
func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(s.log)
		if err != nil {
			return err
		}
		if m := listening.FindSubmatch(text); m != nil {
			s.addr = string(m[1])
			_, _, err := net.SplitHostPort(s.addr)
			return err
		}
		select {
		case <-tick.C:
		case <-s.exited:
			return fmt.Errorf("ended before it listened\n%s", s.tail())
		case <-ctx.Done():
			return fmt.Errorf("does not listen: %w\n%s", ctx.Err(), s.tail())
		}
	}
}

// tail returns the end of what the server has written.
func (s *server) tail() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-quoted):])
}

// trim empties the log, to which Holdfast writes a line for each request.
func (s *server) trim() error { return os.Truncate(s.log, 0) }

// stop ends the process by its id and removes its folder.
func (s *server) stop() error {
	err := s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
		err = nil
	case <-time.After(stopTimeout):
		err = errors.Join(err, fmt.Errorf("%s does not end on SIGTERM", s.name), s.cmd.Process.Kill())
		<-s.exited
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// peak is the most memory the server has used so far, in bytes.
func (s *server) peak() (int64, error) { return peakMemory(s.cmd.Process.Pid) }

// client returns a client with the server's login.
func (s *server) client() *client {
	if s.auth {
		return newClient(s.addr, user, password)
	}
	return newClient(s.addr, "", "")
}
