package litmus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The vendors are what rclone calls the dialects of WebDAV that it speaks. "other" knows neither times nor
// checksums; the others set and ask for both in the way of the server they are named after.
const (
	vendorOther     = "other"
	vendorOwnCloud  = "owncloud"
	vendorNextcloud = "nextcloud"
)

// rclone is the WebDAV backend of rclone on a server, called "holdfast:".
type rclone struct {
	*machine
	server    *server
	vendor    string
	setsTimes bool     // of files that are there, which old versions can only send again
	argv      []string // without retries: a second try would hide what went wrong in the first
}

// rcloneProgram is one version of rclone and where it runs.
type rcloneProgram struct {
	name      string
	machine   func(*testing.T) *machine
	path      string
	setsTimes bool
}

// rclones has every version that .ci/setup brings: what stable distributions ship, what unstable ones do,
// and the newest.
func rclones() []rcloneProgram {
	built := filepath.Join(cache(), "bin", "rclone")
	return []rcloneProgram{
		{"of the release", func(t *testing.T) *machine { return thisMachine(t, "rclone") }, "rclone", false},
		{"of unstable", sandbox, "rclone", true},
		{"current", func(t *testing.T) *machine {
			_, err := os.Stat(built)
			need(t, err == nil, built)
			return thisMachine(t)
		}, built, true},
	}
}

// eachRclone runs a test with every version in the vendors' dialects.
func eachRclone(t *testing.T, test func(*testing.T, rclone), vendors ...string) {
	for _, program := range rclones() {
		for _, vendor := range vendors {
			t.Run(program.name+"/"+vendor, func(t *testing.T) {
				s := startServer(t, folderBacking(t))
				test(t, newRclone(t, program, s, s.rcloneURL(vendor), vendor))
			})
		}
	}
}

// rcloneURL is where a vendor's users find their files. Nextcloud has them below a path that rclone looks
// for before it uploads in chunks.
func (s *server) rcloneURL(vendor string) string {
	if vendor == vendorNextcloud {
		return s.URL + "/remote.php/dav/files/" + s.user
	}
	return s.dav() + "/"
}

func newRclone(t *testing.T, program rcloneProgram, s *server, target, vendor string) rclone {
	t.Helper()
	m := program.machine(t)
	secret := strings.TrimSpace(m.run(t, s.password, program.path, "obscure", "-"))
	config := m.write(t, "[holdfast]\ntype = webdav\nvendor = "+vendor+"\nurl = "+target+"\nuser = "+s.user+"\npass = "+secret+"\n", "rclone.conf")
	return rclone{m, s, vendor, program.setsTimes, []string{program.path, "--config", config, "--retries", "1", "--low-level-retries", "1"}}
}

// try runs a command and returns its log.
func (r rclone) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return r.command(t, "", slices.Concat(r.argv, []string{"--verbose"}, args)...)
}

// do is try for a command that must succeed.
func (r rclone) do(t *testing.T, args ...string) string {
	t.Helper()
	return r.run(t, "", slices.Concat(r.argv, []string{"--verbose"}, args)...)
}

// ask decodes what a command prints as JSON.
func (r rclone) ask(t *testing.T, into any, args ...string) {
	t.Helper()
	answer := r.run(t, "", slices.Concat(r.argv, []string{"--quiet"}, args)...)
	if err := json.Unmarshal([]byte(answer), into); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
}

func TestClientRclone(t *testing.T) {
	eachRclone(t, useRclone, vendorOther, vendorOwnCloud, vendorNextcloud)
}

// useRclone copies a folder of odd names up, brings it up to date, moves it, and takes it back.
func useRclone(t *testing.T, r rclone) {
	r.copyAndSync(t)
	r.move(t)
	r.takeBackAndDelete(t)
}

// later is the content of a file after the change that sync has to carry over. Without modification
// times, rclone sees a change by the size alone.
func later(name string) string { return "other and longer content of " + name }

// copyAndSync brings the local folder "up" to "copied". At the end the first of the names is gone.
func (r rclone) copyAndSync(t *testing.T) {
	for _, name := range oddNames {
		r.write(t, "content of "+name, "up", "sub & folder", name)
	}
	r.write(t, "", "up", "empty")
	r.do(t, "copy", r.path("up"), "holdfast:copied")
	for _, name := range oddNames {
		r.server.holds(t, "content of "+name, "copied", "sub & folder", name)
	}
	r.server.holds(t, "", "copied", "empty")

	if err := os.Remove(filepath.Join(r.folder, "up", "sub & folder", oddNames[0])); err != nil {
		t.Fatal(err)
	}
	for _, name := range oddNames[1:] {
		r.write(t, later(name), "up", "sub & folder", name)
	}
	r.do(t, "sync", r.path("up"), "holdfast:copied")
	r.do(t, "check", "--download", r.path("up"), "holdfast:copied")
	r.server.lacks(t, "copied", "sub & folder", oddNames[0])
}

// move moves the folder on the server, copies one of its files there, and moves a local file up.
func (r rclone) move(t *testing.T) {
	r.do(t, "moveto", "holdfast:copied/sub & folder", "holdfast:moved #1/of 100%")
	r.server.lacks(t, "copied", "sub & folder")
	r.do(t, "copyto", "holdfast:moved #1/of 100%/"+oddNames[1], "holdfast:moved #1/"+oddNames[0])
	r.server.holds(t, later(oddNames[1]), "moved #1", oddNames[0])
	r.do(t, "move", r.path("up", "empty"), "holdfast:moved #1")
	r.server.holds(t, "", "moved #1", "empty")
	if _, err := os.Stat(filepath.Join(r.folder, "up", "empty")); !os.IsNotExist(err) {
		t.Errorf("rclone move left its source: %v", err)
	}
}

// takeBackAndDelete compares every byte and leaves nothing.
func (r rclone) takeBackAndDelete(t *testing.T) {
	r.do(t, "copy", "holdfast:moved #1/of 100%", r.path("down"))
	for _, name := range oddNames[1:] {
		r.server.holds(t, later(name), "moved #1", "of 100%", name)
		if got := r.read(t, "down", name); got != later(name) {
			t.Errorf("rclone brought back %s as %s, want %s", name, clip(got), later(name))
		}
	}
	r.do(t, "deletefile", "holdfast:moved #1/"+oddNames[0])
	r.server.lacks(t, "moved #1", oddNames[0])
	r.do(t, "delete", "holdfast:moved #1/of 100%")
	for _, name := range oddNames[1:] {
		r.server.lacks(t, "moved #1", "of 100%", name)
	}
	r.do(t, "purge", "holdfast:moved #1")
	r.server.lacks(t, "moved #1")
}
