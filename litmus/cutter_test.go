package litmus

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// cutter is a TCP proxy on the loopback that cuts one connection off in the middle of a request, as a
// network does that goes away.
type cutter struct {
	URL string // of the server as seen through the proxy

	dial   func() (net.Conn, error) // connects to the server
	marker []byte                   // starts the requests that are counted
	after  int64                    // how much of the chosen request passes, in bytes

	left atomic.Int64 // marked requests until the one that is cut
	cuts atomic.Int64 // connections cut off so far, 1 at most

	open sync.WaitGroup // connections being relayed

	mu    sync.Mutex
	conns []net.Conn // guarded by mu
}

// startCutter relays connections to the server until the test ends. Of the requests that start with marker the
// nth, counted from 1, is cut off once.
func startCutter(t *testing.T, server, marker string, nth, after int64) *cutter {
	t.Helper()
	c := &cutter{marker: []byte(marker), after: after, dial: func() (net.Conn, error) { return dialServer(server) }}
	c.left.Store(nth)
	c.start(t)
	return c
}

// startRelay relays connections, each to the server that dial connects to, until the test ends. It cuts nothing
// off.
func startRelay(t *testing.T, dial func() (net.Conn, error)) *cutter {
	t.Helper()
	c := &cutter{dial: dial}
	c.start(t)
	return c
}

// dialServer connects to the server at a URL.
func dialServer(server string) (net.Conn, error) {
	return net.Dial("tcp", strings.TrimPrefix(server, "http://"))
}

func (c *cutter) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.URL = "http://" + listener.Addr().String()
	c.open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.open.Go(func() { c.relay(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		c.close()
		c.open.Wait()
	})
}

// keep remembers connections, so that the end of the test ends them.
func (c *cutter) keep(conns ...net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, conns...)
}

func (c *cutter) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
}

// relay copies both ways until one side ends.
func (c *cutter) relay(client net.Conn) {
	defer client.Close()
	server, err := c.dial()
	if err != nil {
		return
	}
	defer server.Close()
	c.keep(client, server)
	answers := make(chan struct{})
	go func() {
		io.Copy(client, server)
		client.Close()
		close(answers)
	}()
	c.pass(server, client)
	server.Close()
	<-answers
}

// pass copies what the client sends, and returns early when it is to be cut off.
func (c *cutter) pass(server io.Writer, client io.Reader) {
	buffer := make([]byte, 32<<10)
	var tail []byte // the end of what came before, where a marker may have begun
	for {
		n, err := client.Read(buffer)
		seen := append(tail, buffer[:n]...)
		if c.left.Load() > 0 {
			marked := int64(bytes.Count(seen, c.marker))
			if marked > 0 && c.left.Add(-marked) <= 0 {
				if written, _ := server.Write(buffer[:n]); written == n {
					io.CopyN(server, client, c.after)
				}
				c.cuts.Add(1)
				return
			}
		}
		if _, failed := server.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
		overlap := min(len(seen), max(0, len(c.marker)-1))
		tail = bytes.Clone(seen[len(seen)-overlap:])
	}
}
