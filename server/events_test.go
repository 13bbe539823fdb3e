package server

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// events follows the administrator's workspace until the answer ends. The channel
// has the type and data of each event, and is closed with the stream.
func (v *served) events(headers ...string) (*http.Response, <-chan string) {
	v.t.Helper()
	resp, err := v.client.RoundTrip(v.request(call{method: "GET", target: "/api/v1/workspaces/personal/events", headers: headers}))
	if err != nil {
		v.t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		v.t.Fatalf("events: status %d", resp.StatusCode)
	}
	events := make(chan string, 100)
	go func() {
		defer resp.Body.Close()
		defer close(events)
		kind := ""
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if rest, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				kind = rest
			}
			if rest, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				events <- kind + " " + rest
			}
		}
	}()
	return resp, events
}

// TestEventsOfWebDAV: what a WebDAV client does is told at once, on either version
// of HTTP and through all layers, though the stream never ends.
func TestEventsOfWebDAV(t *testing.T) {
	for version, v := range map[int]*served{1: serve(t, nil), 2: secure(t, nil)} {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			v.t = t
			resp, events := v.events("Accept-Encoding: gzip")
			if resp.ProtoMajor != version || resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%s, header %v", resp.Proto, resp.Header)
			}
			next := func(want string) {
				t.Helper()
				select {
				case got := <-events:
					if !strings.HasPrefix(got, want) {
						t.Errorf("event %s, want %s", got, want)
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("no event, want %s", want)
				}
			}
			v.want(201, call{method: "PUT", target: "/dav/f", body: "x"})
			next("resource.changed ")
			lock, _ := v.want(200, call{method: "LOCK", target: "/dav/f", body: lockinfo})
			next("lock.changed ")
			token := lock.Header.Get("Lock-Token")
			v.want(200, call{method: "LOCK", target: "/dav/f", headers: []string{"If: (" + token + ")", "Timeout: Second-99"}})
			next("lock.changed ")
			v.want(204, call{method: "UNLOCK", target: "/dav/f", headers: []string{"Lock-Token: " + token}})
			next("lock.ended ")
			v.want(204, call{method: "DELETE", target: "/dav/f"})
			next("resource.removed ")
			_, body := v.want(200, call{method: "GET", target: "/api/v1/admin/audit?event=lock.released"})
			if !strings.Contains(body, `"lock.released"`) || !strings.Contains(body, `"admin"`) || strings.Contains(body, strings.Trim(token, "<>")) {
				t.Errorf("audit log: %s", body)
			}
		})
	}
}

// TestShutdownEndsEvents: a server that stops does not wait for those who only
// listen.
func TestShutdownEndsEvents(t *testing.T) {
	for version, start := range map[int]func(*testing.T, func(*Config)) *served{1: serve, 2: secure} {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			v := start(t, nil)
			_, events := v.events()
			v.stop()
			for range events {
			}
			for begun := time.Now(); !strings.Contains(v.log.String(), "msg=stopped"); time.Sleep(5 * time.Millisecond) {
				if time.Since(begun) > 5*time.Second {
					t.Fatal("still waiting for who only listens")
				}
			}
			if strings.Contains(v.log.String(), "cut off") {
				t.Error("requests were cut off")
			}
		})
	}
}
