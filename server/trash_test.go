package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/server"
	"holdfast/server/rest"
)

// TestTrash: what a client of WebDAV deletes comes back as it was, also after the
// server was started again, without --trash.
func TestTrash(t *testing.T) {
	cfg := config(t)
	cfg.Trash, cfg.Versions = server.Duration(24*time.Hour), 3
	s := start(t, cfg)
	as := func(method, target, body string) (*http.Response, string) {
		t.Helper()
		resp, text := s.do(request{method: method, target: target, user: "admin", password: "secret", body: strings.NewReader(body),
			header: http.Header{"Content-Type": {"application/json"}}})
		if resp.StatusCode >= 300 && method != "GET" {
			t.Fatalf("%s %s: %d %s", method, target, resp.StatusCode, text)
		}
		return resp, text
	}
	as("MKCOL", "/dav/d", "")
	as("PUT", "/dav/d/f", "former")
	as("PUT", "/dav/d/f", "content")
	before, _ := as("GET", "/dav/d/f", "")
	as("DELETE", "/dav/d", "")
	s.wait()
	cfg.Trash = 0
	s = start(t, cfg)
	if resp, _ := as("GET", "/dav/d/f", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("it is there: %d", resp.StatusCode)
	}
	_, text := as("GET", "/api/v1/workspaces/personal/trash", "")
	var all rest.Page[rest.Trashed]
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all.Items) != 1 || all.Items[0].Path != "/d" {
		t.Fatalf("trash %s: %v", text, err)
	}
	as("POST", fmt.Sprintf("/api/v1/workspaces/personal/trash/%d/restore", all.Items[0].ID), "{}")
	after, content := as("GET", "/dav/d/f", "")
	if content != "content" || after.Header.Get("ETag") != before.Header.Get("ETag") {
		t.Errorf("restored %q as %s, was %s", content, after.Header.Get("ETag"), before.Header.Get("ETag"))
	}
	as("DELETE", "/dav/d", "")
	if _, text := as("GET", "/api/v1/workspaces/personal/trash", ""); !strings.Contains(text, `"items":[]`) {
		t.Errorf("without --trash something is in the trash: %s", text)
	}
}
