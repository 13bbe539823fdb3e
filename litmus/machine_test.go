package litmus

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clientTimeout bounds one run of an outside program.
const clientTimeout = time.Minute

// machine is where outside programs run: this machine itself or a sandbox in the root folder of Debian
// unstable. Both see the folder of the test.
type machine struct {
	name   string
	folder string   // of the test, as the test sees it
	inside string   // the same folder as the programs see it
	enter  []string // put before a command to run it there
	init   *process // the sandbox' first process; nil on this machine
	root   string   // the sandbox' root as the test sees it, mounts included
}

// release names the machine whose programs are those of its own release.
const release = "release"

// thisMachine has the programs of this machine's own release. The test is skipped, or fails in CI, if
// one of them is missing.
func thisMachine(t *testing.T, programs ...string) *machine {
	t.Helper()
	needPrograms(t, programs...)
	folder := t.TempDir()
	return &machine{name: release, folder: folder, inside: folder}
}

// sandboxScript is what the first process of a sandbox does: $1 is the root folder, $2 the test's
// folder. It has a mount and a process namespace of its own. When it ends, the kernel kills every
// process of the namespace, and with the last of them the mounts are gone: there is nothing to clean up.
// What a program writes outside the test's folder is kept in memory, so that the root folder stays as it
// is for all sandboxes at once.
const sandboxScript = `set -e
read -r pid rest </proc/self/stat
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
for folder in tmp run root var/cache; do mount -t tmpfs tmpfs "$1/$folder"; done
mount --bind "$2" "$1/mnt"
# The process is to be entered only once its root has changed, so it names itself last. Ignored, SIGCHLD
# makes the kernel reap the orphans of the namespace, which umount.davfs waits for.
exec chroot "$1" sh -c 'echo "$1"; exec env --ignore-signal=CHLD cat' sh "$pid"
`

// sandbox has the programs of Debian unstable.
func sandbox(t *testing.T) *machine {
	t.Helper()
	needPrograms(t, "unshare", "nsenter", "chroot")
	_, err := os.Stat(filepath.Join(unstable(), ".holdfast"))
	need(t, err == nil && os.Geteuid() == 0, "root and the root folder of Debian unstable")
	m := &machine{name: "unstable", folder: t.TempDir(), inside: "/mnt"}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL",
		"--propagation", "private", "sh", "-c", sandboxScript, "sh", unstable(), m.folder)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	input, err := cmd.StdinPipe() // cat ends with it
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if m.init, err = launch(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		cancel()
		<-m.init.exited
	})
	pid, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		cancel()
		<-m.init.exited
		t.Fatalf("sandbox: %v\n%s", err, complaint.String())
	}
	pid = strings.TrimSpace(pid)
	m.root = "/proc/" + pid + "/root"
	m.enter = []string{"nsenter", "--target", pid, "--mount", "--pid", "--root", "env", "-C", "/mnt"}
	return m
}

// path returns how programs of the machine name a file of the test's folder.
func (m *machine) path(elements ...string) string {
	return filepath.Join(append([]string{m.inside}, elements...)...)
}

// write makes a file in the test's folder, readable by its owner alone since some hold passwords, and
// returns how programs of the machine name it.
func (m *machine) write(t *testing.T, content string, elements ...string) string {
	t.Helper()
	file := filepath.Join(append([]string{m.folder}, elements...)...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return m.path(elements...)
}

// command runs a program in the test's folder with input as its standard input, and returns what it
// printed, both streams together. Time is bounded, and the program's process group dies with it.
func (m *machine) command(t *testing.T, input string, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
	defer cancel()
	argv = append(append([]string{}, m.enter...), argv...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var output bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &output, &output
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C.UTF-8", "HOME=" + m.inside}
	cmd.Dir = "/" // which every mount namespace has
	if len(m.enter) == 0 {
		cmd.Dir = m.folder
	}
	p, err := launch(cmd)
	if err != nil {
		return "", err
	}
	<-p.exited
	if ctx.Err() != nil {
		return output.String(), ctx.Err()
	}
	return output.String(), p.err
}

// run is command for a program that must succeed.
func (m *machine) run(t *testing.T, input string, argv ...string) string {
	t.Helper()
	output, err := m.command(t, input, argv...)
	if err != nil {
		t.Fatalf("%s: %q: %v\n%s", m.name, argv, err, output)
	}
	return output
}

// read returns the content of a file in the test's folder.
func (m *machine) read(t *testing.T, elements ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{m.folder}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
