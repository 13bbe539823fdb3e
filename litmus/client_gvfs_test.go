package litmus

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sessionBus configures a D-Bus session whose socket stays in the test's folder.
const sessionBus = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=SOCKET</listen>
  <standard_session_servicedirs/>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`

// sessionScript is what the first process of the session's namespace does: $1 configures the bus.
const sessionScript = `set -e
read -r pid rest </proc/self/stat
mount -t proc proc /proc
exec dbus-run-session --config-file "$1" -- sh -c 'echo "$1"; exec cat' sh "$pid"
`

// gvfs is GNOME's file system: what Files, and every program that opens dav:// addresses, sends. Its daemons
// live in a D-Bus session of the test's own, in a process namespace that ends with the test.
type gvfs struct {
	*machine
	server *server
	root   string // URI of the mount
}

// newGvfs starts a session. The daemons start when they are first asked for.
func newGvfs(t *testing.T) gvfs {
	t.Helper()
	m := thisMachine(t, "gio", "dbus-run-session", "unshare", "nsenter")
	_, err := os.Stat("/usr/share/gvfs/mounts/dav.mount")
	need(t, err == nil && os.Geteuid() == 0, "root and gvfs' backend for WebDAV")
	run := filepath.Join(m.folder, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(run, "bus")
	config := m.write(t, strings.ReplaceAll(sessionBus, "SOCKET", socket), "bus.conf")
	// Without FUSE.
	env := []string{"env", "-C", m.folder, "HOME=" + m.folder, "XDG_RUNTIME_DIR=" + run, "GIO_USE_VFS=gvfs",
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + socket, "GVFS_DISABLE_FUSE=1"}

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, "unshare", append(append([]string{"--mount", "--pid", "--fork", "--kill-child=KILL",
		"--propagation", "private"}, env...), "sh", "-c", sessionScript, "sh", config)...)
	input, err := cmd.StdinPipe() // cat ends with it, and the session with cat
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	session, err := launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		select {
		case <-session.exited:
		case <-time.After(5 * time.Second):
		}
		cancel()
		<-session.exited
	})
	pid, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("no D-Bus session: %v", err)
	}
	// Client and daemon talk to each other only within one process namespace.
	m.enter = append([]string{"nsenter", "--target", strings.TrimSpace(pid), "--mount", "--pid"}, env...)
	return gvfs{machine: m}
}

// mount mounts the personal workspace of the server's user.
func (g gvfs) mount(t *testing.T, s *server, password string) (gvfs, error) {
	t.Helper()
	g.server = s
	g.root = "dav://" + s.user + "@" + strings.TrimPrefix(s.dav(), "http://")
	log, err := g.command(t, password+"\n", "gio", "mount", g.root+"/")
	if err != nil {
		t.Logf("gio mount: %s", log)
	}
	return g, err
}

// uri is how gio names a resource of the workspace.
func (g gvfs) uri(segments ...string) string {
	return g.root + strings.TrimPrefix(davPath(segments...), davPath())
}

func (g gvfs) gio(t *testing.T, args ...string) string {
	t.Helper()
	return g.run(t, "", append([]string{"gio"}, args...)...)
}

func TestClientGvfs(t *testing.T) {
	g := newGvfs(t)
	s := startServer(t, folderBacking(t))
	if _, err := g.mount(t, s, "wrong password"); err == nil {
		t.Fatal("a wrong password mounts")
	}
	g, err := g.mount(t, s, s.password)
	if err != nil {
		t.Fatal(err)
	}
	g.gio(t, "mkdir", g.uri("gvfs"))
	g.gio(t, "mkdir", g.uri("gvfs", "sub & folder"))
	if log, err := g.command(t, "", "gio", "mkdir", g.uri("gvfs")); err == nil || !strings.Contains(log, "exists") {
		t.Errorf("gio mkdir of a folder that exists: %v, %s", err, log)
	}
	for _, name := range oddNames {
		t.Run(name, func(t *testing.T) {
			g.writeAndRead(t, name)
			g.respectsLocks(t, name)
			g.renameCopyMove(t, name)
			g.trashKeepsTheFile(t, name)
		})
	}
	t.Run("folders", func(t *testing.T) { g.folders(t) })
	g.gio(t, "mount", "--unmount", g.root)
}

// writeAndRead copies a file up, replaces it as an editor does, and reads it in every way that gio has.
func (g gvfs) writeAndRead(t *testing.T, name string) {
	g.gio(t, "copy", g.write(t, "copied: "+name, "local.txt"), g.uri("gvfs", name))
	g.server.holds(t, "copied: "+name, "gvfs", name)
	content := "saved: " + name
	g.run(t, content, "gio", "save", g.uri("gvfs", name))
	g.server.holds(t, content, "gvfs", name)
	if got := g.gio(t, "cat", g.uri("gvfs", name)); got != content {
		t.Errorf("gio cat: %s", clip(got))
	}
	g.gio(t, "copy", g.uri("gvfs", name), g.path("down.txt"))
	if got := g.read(t, "down.txt"); got != content {
		t.Errorf("gio copy brought back %s", clip(got))
	}
	if got := strings.Split(g.gio(t, "list", g.uri("gvfs")), "\n"); !slices.Contains(got, name) {
		t.Errorf("gio list lacks %q: %q", name, got)
	}
	etag := g.server.do(t, "HEAD", g.server.dav("gvfs", name), "").header.Get("ETag")
	info := g.gio(t, "info", g.uri("gvfs", name))
	for _, want := range []string{"type: regular", "etag::value: " + etag, "standard::content-type: text/plain"} {
		if !strings.Contains(info, want) {
			t.Errorf("gio info lacks %q:\n%s", want, info)
		}
	}
}

// respectsLocks shows what a person sees who saves a file that somebody else has open: an error, and the file
// as it was. gvfs locks nothing itself.
func (g gvfs) respectsLocks(t *testing.T, name string) {
	token := g.server.lock(t, "office", "gvfs", name)
	for _, args := range [][]string{{"save", g.uri("gvfs", name)}, {"remove", g.uri("gvfs", name)},
		{"rename", g.uri("gvfs", name), "stolen"}, {"move", g.uri("gvfs", name), g.uri("gvfs", "stolen")}} {
		if log, err := g.command(t, "stolen", append([]string{"gio"}, args...)...); err == nil {
			t.Errorf("gio %s of a locked file succeeds: %s", args[0], log)
		}
	}
	g.server.holds(t, "saved: "+name, "gvfs", name)
	g.server.lacks(t, "gvfs", "stolen")
	g.server.unlock(t, token, "gvfs", name)
}

// renameCopyMove moves the file about on the server. Nothing of it is sent.
func (g gvfs) renameCopyMove(t *testing.T, name string) {
	content, before := "saved: "+name, g.server.count("PUT")
	g.gio(t, "rename", g.uri("gvfs", name), "renamed "+name)
	g.server.lacks(t, "gvfs", name)
	g.server.holds(t, content, "gvfs", "renamed "+name)
	g.gio(t, "move", g.uri("gvfs", "renamed "+name), g.uri("gvfs", "sub & folder", name))
	g.server.lacks(t, "gvfs", "renamed "+name)
	g.server.holds(t, content, "gvfs", "sub & folder", name)
	g.gio(t, "copy", g.uri("gvfs", "sub & folder", name), g.uri("gvfs", "copy of "+name))
	g.server.holds(t, content, "gvfs", "sub & folder", name)
	g.server.holds(t, content, "gvfs", "copy of "+name)
	if n := g.server.count("PUT") - before; n != 0 {
		t.Errorf("%d files were sent again", n)
	}
	if log, err := g.command(t, "", "gio", "rename", g.uri("gvfs", "copy of "+name), "sub & folder"); err == nil {
		t.Errorf("a rename onto a folder succeeds: %s", log)
	}
	g.server.holds(t, content, "gvfs", "copy of "+name)
}

// trashKeepsTheFile: there is no trash on a WebDAV mount, and gvfs says so. Files then asks before it deletes.
func (g gvfs) trashKeepsTheFile(t *testing.T, name string) {
	log, err := g.command(t, "", "gio", "trash", g.uri("gvfs", "copy of "+name))
	if err == nil || !strings.Contains(log, "not supported") {
		t.Errorf("gio trash: %v, %s", err, log)
	}
	g.server.holds(t, "saved: "+name, "gvfs", "copy of "+name)
	g.gio(t, "remove", g.uri("gvfs", "copy of "+name))
	g.server.lacks(t, "gvfs", "copy of "+name)
}

// folders renames a full folder, and deletes it only when it is empty.
func (g gvfs) folders(t *testing.T) {
	g.gio(t, "rename", g.uri("gvfs", "sub & folder"), "100% full")
	if log, err := g.command(t, "", "gio", "remove", g.uri("gvfs", "100% full")); err == nil {
		t.Errorf("gio remove of a full folder succeeds: %s", log)
	}
	for _, name := range oddNames {
		g.server.holds(t, "saved: "+name, "gvfs", "100% full", name)
		g.gio(t, "remove", g.uri("gvfs", "100% full", name))
	}
	g.gio(t, "remove", g.uri("gvfs", "100% full"))
	g.server.lacks(t, "gvfs", "100% full")
	if got := g.gio(t, "list", g.uri("gvfs")); got != "" {
		t.Errorf("left over: %s", got)
	}
}
