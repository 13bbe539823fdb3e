package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/blob"
)

const (
	readyTime = 20 * time.Second // from the start to the first answer
	stopTime  = 5 * time.Second  // from SIGTERM to SIGKILL
	attempts  = 3                // another process may take the port meanwhile
	maxOutput = 16 << 10         // bytes of the engine's output kept for an error
)

// StartS3 starts a private S3 engine for the test and stops it at its end. The
// bucket it names does not exist yet; tests share one engine by giving each store
// a Prefix or Bucket of its own. See the package comment for when it skips.
func StartS3(t testing.TB) blob.S3Options {
	t.Helper()
	opts, stop, err := S3Server(context.Background(), t.TempDir())
	if errors.Is(err, ErrNoEngine) && os.Getenv("HOLDFAST_CI") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return opts
}

// S3Server starts a private S3 engine that keeps its data below dir, on a free
// port of loopback and with random credentials, and waits until it answers. ctx
// bounds the start and the build of a missing engine, not the engine's life: stop
// ends that. ErrNoEngine says that there is no engine to start.
func S3Server(ctx context.Context, dir string) (opts blob.S3Options, stop func(), err error) {
	binary, err := engine(ctx)
	if err != nil {
		return blob.S3Options{}, nil, err
	}
	for range attempts {
		opts, stop, err = startEngine(ctx, binary, dir)
		if err == nil || ctx.Err() != nil {
			return opts, stop, err
		}
	}
	return opts, stop, err
}

func startEngine(ctx context.Context, binary, dir string) (blob.S3Options, func(), error) {
	opts := blob.S3Options{
		Bucket:    "holdfast",
		Region:    "us-east-1",
		AccessKey: uuid.NewString(),
		SecretKey: uuid.NewString(),
		Insecure:  true,
	}
	var err error
	if opts.Endpoint, err = freeAddress(ctx); err != nil {
		return blob.S3Options{}, nil, err
	}
	args, err := engineArgs(opts.Endpoint, dir)
	if err != nil {
		return blob.S3Options{}, nil, err
	}
	p := &process{cmd: exec.Command(binary, args...), exited: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+opts.AccessKey, "ROOT_SECRET_KEY="+opts.SecretKey)
	if err := p.start(); err != nil {
		return blob.S3Options{}, nil, fmt.Errorf("start S3 engine: %w", err)
	}
	if err := p.awaitReady(ctx, "http://"+opts.Endpoint+"/"); err != nil {
		p.stop()
		return blob.S3Options{}, nil, fmt.Errorf("start S3 engine: %w: %s", err, p.output.String())
	}
	return opts, p.stop, nil
}

// engineArgs makes the folders below dir. Object metadata goes into a folder of
// its own where the file system has no extended attributes.
func engineArgs(address, dir string) ([]string, error) {
	data, meta := filepath.Join(dir, "data"), filepath.Join(dir, "meta")
	for _, folder := range []string{data, meta} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("make folder of S3 engine: %w", err)
		}
	}
	args := []string{"-q", "--port", address, "posix"}
	if !hasXattrs(data) {
		args = append(args, "--sidecar", meta)
	}
	return append(args, data), nil
}

func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// process is a running engine.
type process struct {
	cmd    *exec.Cmd
	output head
	exited chan struct{}
}

func (p *process) start() error {
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	dieWithUs(p.cmd)
	started := make(chan error)
	go func() {
		defer close(p.exited)
		// For the kernel the parent is this thread, so it has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			// How it ended does not matter: a start that failed is seen by its
			// silence, and afterwards only stop ends it.
			_ = p.cmd.Wait()
		}
	}()
	return <-started
}

// stop ends the process and waits for its end. It may be called twice.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if it has ended
	select {
	case <-p.exited:
	case <-time.After(stopTime):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// awaitReady waits for any HTTP answer; without credentials it is a refusal.
func (p *process) awaitReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		err := ask(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return errors.New("it ended before it was ready")
		case <-ctx.Done():
			return err
		case <-poll.C:
		}
	}
}

func ask(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxOutput))
	return errors.Join(err, resp.Body.Close())
}

// head keeps the first output of a process, which holds the reason of a failed
// start, and drops the rest.
type head struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *head) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p[:min(len(p), maxOutput-o.buf.Len())])
	return len(p), nil
}

func (o *head) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
