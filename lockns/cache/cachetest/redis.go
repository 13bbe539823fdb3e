package cachetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"holdfast/lockns/cache"
)

const (
	readyTime = 10 * time.Second // from the start to the first answer
	attempts  = 3                // another process may take the port meanwhile
)

// Server is a Redis server of the test's own.
type Server struct {
	cache.RedisOptions
	cmd *exec.Cmd
}

// StartRedis starts a private Redis server on a free loopback port and stops it
// at the end of the test. Without the program the test is skipped; in CI it
// fails.
func StartRedis(t testing.TB) *Server {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	switch {
	case err == nil:
	case os.Getenv("HOLDFAST_CI") != "":
		t.Fatal("needs redis-server, which CI must have: see .ci/setup")
	default:
		t.Skip("needs redis-server: run .ci/setup as root on Debian")
	}
	for range attempts {
		var s *Server
		if s, err = start(t, binary); err == nil {
			t.Cleanup(s.Stop)
			return s
		}
	}
	t.Fatalf("start redis-server: %v", err)
	return nil
}

func start(t testing.TB, binary string) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	_, port, _ := strings.Cut(addr, ":")
	s := &Server{RedisOptions: cache.RedisOptions{Addr: addr, Password: "secret-" + port, DB: 1}}
	s.cmd = exec.Command(binary, "--bind", "127.0.0.1", "--port", port, "--requirepass", s.Password,
		"--save", "", "--appendonly", "no", "--dir", t.TempDir())
	dieWithUs(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if err := s.await(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// await waits until the server answers, in its own protocol: another process
// that took the port would not know the password.
func (s *Server) await() error {
	var err error
	for end := time.Now().Add(readyTime); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var reply string
		if reply, err = s.Do("PING"); err == nil && reply == "+PONG\r\n" {
			return nil
		}
	}
	return errors.Join(errors.New("no answer"), err)
}

// Do sends one command on a connection of its own and returns the reply as it
// came, at most 64 KiB of it.
func (s *Server) Do(args ...string) (string, error) {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	for _, command := range [][]string{{"AUTH", s.Password}, {"SELECT", fmt.Sprint(s.DB)}} {
		if reply, err := roundTrip(c, command); err != nil || reply != "+OK\r\n" {
			return "", errors.Join(fmt.Errorf("redis: %q", reply), err)
		}
	}
	return roundTrip(c, args)
}

func roundTrip(c net.Conn, args []string) (string, error) {
	request := fmt.Sprintf("*%d\r\n", len(args))
	for _, arg := range args {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := c.Write([]byte(request)); err != nil {
		return "", err
	}
	buf := make([]byte, 64<<10)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

// URL is the server's, as for --cache.
func (s *Server) URL() string {
	return fmt.Sprintf("redis://:%s@%s/%d", s.Password, s.Addr, s.DB)
}

// Stop ends the server at once. Stopping again does nothing.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}
