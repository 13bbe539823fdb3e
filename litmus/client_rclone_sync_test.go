package litmus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// rename renames a file of the test's folder, below one of its own.
func (m *machine) rename(t *testing.T, folder, from, to string) {
	t.Helper()
	target := filepath.Join(m.folder, folder, to)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(m.folder, folder, from), target); err != nil {
		t.Fatal(err)
	}
}

// remove deletes a file of the test's folder.
func (m *machine) remove(t *testing.T, elements ...string) {
	t.Helper()
	if err := os.Remove(filepath.Join(append([]string{m.folder}, elements...)...)); err != nil {
		t.Fatal(err)
	}
}

// TestClientRcloneTracksRenames: files that were renamed where they come from are renamed on the server and not
// sent again. Without checksums rclone takes files of one name and size for the same.
func TestClientRcloneTracksRenames(t *testing.T) {
	eachRclone(t, trackRenames, vendorOther, vendorOwnCloud, vendorNextcloud)
}

func trackRenames(t *testing.T, r rclone) {
	for i, name := range oddNames {
		r.write(t, "content that makes the size its own"[:10+i], "up", name)
	}
	r.do(t, "sync", r.path("up"), "holdfast:tracked")
	strategy := "leaf"
	if r.vendor != vendorOther {
		strategy = "hash"
	}
	for _, name := range oddNames {
		to := "moved & kept/" + name
		if strategy == "hash" {
			to = "moved & kept/new " + name
		}
		r.rename(t, "up", name, to)
	}
	before := r.server.count("PUT")
	r.do(t, "sync", "--track-renames", "--track-renames-strategy", strategy, r.path("up"), "holdfast:tracked")
	if n := r.server.count("PUT") - before; n != 0 {
		t.Errorf("%d files were sent again", n)
	}
	if n := r.server.count("MOVE"); n != len(oddNames) {
		t.Errorf("%d files were moved on the server, want %d", n, len(oddNames))
	}
	r.do(t, "check", "--download", r.path("up"), "holdfast:tracked")
}

// TestClientRcloneBisync changes both sides between two runs: after the second they are alike, and a file that
// both changed is there in both its forms.
func TestClientRcloneBisync(t *testing.T) {
	eachRclone(t, bisync, vendorOther, vendorOwnCloud, vendorNextcloud)
}

// bisyncTakesSizes reports whether this rclone can do without times in bisync; it learned that in 1.66.
func (r rclone) bisyncTakesSizes(t *testing.T) bool {
	t.Helper()
	_, err := r.command(t, "", r.argv[0], "bisync", "--compare", "size", "--help")
	return err == nil
}

func bisync(t *testing.T, r rclone) {
	var how []string
	if r.vendor == vendorOther {
		if !r.bisyncTakesSizes(t) {
			r.refusesBisync(t)
			return
		}
		how = []string{"--compare", "size"}
	}
	args := slices.Concat([]string{"bisync", r.path("here"), "holdfast:there"}, how)
	r.do(t, "mkdir", "holdfast:there")
	for _, name := range oddNames {
		r.write(t, "first content of "+name, "here", "sub", name)
	}
	r.write(t, "stays", "here", "stays.txt")
	r.do(t, append(args, "--resync")...)
	for _, name := range oddNames {
		r.server.holds(t, "first content of "+name, "there", "sub", name)
	}

	r.write(t, later(oddNames[0]), "here", "sub", oddNames[0])
	r.server.put(t, later(oddNames[1]), "there", "sub", oddNames[1])
	// Times have whole seconds, and old versions look at nothing else.
	tomorrow := fmt.Sprintf(`<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><D:lastmodified>%d</D:lastmodified></D:prop></D:set></D:propertyupdate>`, time.Now().Add(24*time.Hour).Unix())
	if got := r.server.do(t, "PROPPATCH", r.server.dav("there", "sub", oddNames[1]), tomorrow, "Content-Type", "application/xml"); got.status != 207 {
		t.Fatalf("PROPPATCH: %d", got.status)
	}
	r.write(t, "from here", "here", "new from here.txt")
	r.server.put(t, "from there", "there", "new from there.txt")
	r.remove(t, "here", "sub", oddNames[2])
	if got := r.server.do(t, "DELETE", r.server.dav("there", "sub", oddNames[3]), ""); got.status != 204 {
		t.Fatalf("DELETE: %d", got.status)
	}
	r.do(t, args...)
	r.do(t, "check", "--download", r.path("here"), "holdfast:there")
	r.server.holds(t, later(oddNames[0]), "there", "sub", oddNames[0])
	r.server.holds(t, "from here", "there", "new from here.txt")
	r.server.lacks(t, "there", "sub", oddNames[2])
	if got := r.read(t, "here", "sub", oddNames[1]); got != later(oddNames[1]) {
		t.Errorf("%s came back as %s", oddNames[1], clip(got))
	}
	if got := r.read(t, "here", "new from there.txt"); got != "from there" {
		t.Errorf("the new file came back as %s", clip(got))
	}
	if _, err := os.Stat(filepath.Join(r.folder, "here", "sub", oddNames[3])); !os.IsNotExist(err) {
		t.Errorf("the file that the server lost is still here: %v", err)
	}
}

// refusesBisync shows that an rclone that needs times does not go to work without them.
func (r rclone) refusesBisync(t *testing.T) {
	t.Helper()
	r.write(t, "stays", "here", "stays.txt")
	r.do(t, "mkdir", "holdfast:there")
	if log, err := r.try(t, "bisync", r.path("here"), "holdfast:there", "--resync"); err == nil {
		t.Errorf("bisync without times succeeds:\n%s", log)
	}
}
