package litmus

import (
	"crypto/sha1"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rcloneEntry is what `rclone lsjson --hash` tells of a file.
type rcloneEntry struct {
	Path    string
	Size    int64
	ModTime time.Time
	Hashes  map[string]string
}

// sha1 is the file's SHA-1 in hexadecimal, "" if rclone learns none.
func (e rcloneEntry) sha1() string {
	if sum, ok := e.Hashes["SHA-1"]; ok { // as older versions spell it
		return sum
	}
	return e.Hashes["sha1"]
}

// stat asks rclone for one file.
func (r rclone) stat(t *testing.T, remote string) rcloneEntry {
	t.Helper()
	var e rcloneEntry
	r.ask(t, &e, "lsjson", "--hash", "--stat", "holdfast:"+remote)
	return e
}

// looksLike fails the test unless rclone and the server both tell of a file with the content and time.
func (r rclone) looksLike(t *testing.T, content string, modified time.Time, segments ...string) {
	t.Helper()
	r.server.holds(t, content, segments...)
	e := r.stat(t, strings.Join(segments, "/"))
	if e.Size != int64(len(content)) || !e.ModTime.Equal(modified) {
		t.Errorf("%s: %d bytes of %v, want %d of %v", e.Path, e.Size, e.ModTime, len(content), modified)
	}
	sum := sha1.Sum([]byte(content))
	if e.sha1() != hex.EncodeToString(sum[:]) {
		t.Errorf("%s: hashes %v, want SHA-1 %x", e.Path, e.Hashes, sum)
	}
	if got := r.server.do(t, "HEAD", r.server.dav(segments...), "").header.Get("Last-Modified"); got != modified.UTC().Format(http.TimeFormat) {
		t.Errorf("%s: Last-Modified: %s, want %v", e.Path, got, modified)
	}
}

// writeAt makes a file of the test's folder with a modification time.
func (m *machine) writeAt(t *testing.T, modified time.Time, content string, elements ...string) {
	t.Helper()
	m.write(t, content, elements...)
	if err := os.Chtimes(filepath.Join(append([]string{m.folder}, elements...)...), modified, modified); err != nil {
		t.Fatal(err)
	}
}

// TestClientRcloneTimes: for the vendors that have them, files keep their times and checksums on the way up, in
// copies and moves, and when only the time changes.
func TestClientRcloneTimes(t *testing.T) {
	eachRclone(t, keepTimes, vendorOwnCloud, vendorNextcloud)
}

func keepTimes(t *testing.T, r rclone) {
	long := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	for i, name := range oddNames {
		r.writeAt(t, long.AddDate(i, 0, 0), "content of "+name, "up", name)
	}
	r.do(t, "sync", r.path("up"), "holdfast:times")
	for i, name := range oddNames {
		r.looksLike(t, "content of "+name, long.AddDate(i, 0, 0), "times", name)
	}
	r.isUpToDate(t, "up", "times")

	name, at := oddNames[1], long.AddDate(1, 0, 0)
	r.do(t, "copyto", "holdfast:times/"+name, "holdfast:elsewhere/copy of "+name)
	r.looksLike(t, "content of "+name, at, "elsewhere", "copy of "+name)
	r.do(t, "moveto", "holdfast:elsewhere/copy of "+name, "holdfast:elsewhere/moved "+name)
	r.looksLike(t, "content of "+name, at, "elsewhere", "moved "+name)
	if r.setsTimes {
		r.do(t, "touch", "--timestamp", "2010-11-12T13:14:15", "holdfast:elsewhere/moved "+name)
		r.looksLike(t, "content of "+name, time.Date(2010, 11, 12, 13, 14, 15, 0, time.UTC), "elsewhere", "moved "+name)
	}

	// Same size, same time, other content: only checksums tell.
	r.writeAt(t, long, strings.ToUpper("content of "+oddNames[0]), "up", oddNames[0])
	if log, err := r.try(t, "check", r.path("up"), "holdfast:times"); err == nil {
		t.Errorf("check takes other content for the same:\n%s", log)
	}
	r.do(t, "sync", "--checksum", r.path("up"), "holdfast:times")
	r.looksLike(t, strings.ToUpper("content of "+oddNames[0]), long, "times", oddNames[0])

	// Only the time changes: rclone sets it and sends nothing, if its version can.
	before := r.server.count("PUT")
	r.writeAt(t, long.AddDate(0, 1, 0), "content of "+oddNames[2], "up", oddNames[2])
	r.do(t, "sync", r.path("up"), "holdfast:times")
	r.looksLike(t, "content of "+oddNames[2], long.AddDate(0, 1, 0), "times", oddNames[2])
	if n := r.server.count("PUT") - before; r.setsTimes && n != 0 {
		t.Errorf("%d files were sent for a time that changed", n)
	}

	r.do(t, "copy", "holdfast:times", r.path("down"))
	for _, name := range oddNames {
		up, down := modified(t, r.machine, "up", name), modified(t, r.machine, "down", name)
		if !up.Equal(down) {
			t.Errorf("%s came back with the time %v, want %v", name, down, up)
		}
	}
}

// isUpToDate: sync finds nothing to do, and check compares every file by its checksum.
func (r rclone) isUpToDate(t *testing.T, local, remote string) {
	t.Helper()
	before := r.server.count("PUT")
	r.do(t, "sync", r.path(local), "holdfast:"+remote)
	if n := r.server.count("PUT") - before; n != 0 {
		t.Errorf("%d files were sent again", n)
	}
	log := r.do(t, "check", r.path(local), "holdfast:"+remote)
	if !strings.Contains(log, "0 differences found") || strings.Contains(log, "could not be checked") {
		t.Errorf("check does not use checksums:\n%s", log)
	}
}

func modified(t *testing.T, m *machine, elements ...string) time.Time {
	t.Helper()
	info, err := os.Stat(filepath.Join(append([]string{m.folder}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

// TestClientRcloneAbout asks how full the workspace is.
func TestClientRcloneAbout(t *testing.T) {
	eachRclone(t, func(t *testing.T, r rclone) {
		r.server.admin(t, "", "user", "set", r.server.user, "--quota", "1MiB")
		r.server.put(t, strings.Repeat("x", 1000), "thousand")
		var about struct{ Total, Used, Free int64 }
		r.ask(t, &about, "about", "--json", "holdfast:")
		if about.Used < 1000 || about.Used+about.Free != 1<<20 {
			t.Errorf("about: %+v, want 1000 bytes of 1 MiB used", about)
		}
	}, vendorOther, vendorOwnCloud, vendorNextcloud)
}
