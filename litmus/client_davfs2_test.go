package litmus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// mountTimeout bounds the life of a mount: a file operation on it cannot be interrupted, but the end of
// the sandbox ends it.
const mountTimeout = 3 * time.Minute

// davfs is a davfs2 mount in a sandbox.
type davfs struct {
	*machine
	name   string // the folder of the mount in the sandbox' /mnt, also the lock owner
	folder string // the mount as the test sees it
}

// mountDavfs mounts the server's personal workspace.
func mountDavfs(t *testing.T, m *machine, s *server, name string) davfs {
	t.Helper()
	return mountDavfsOf(t, m, s.dav()+"/", s.user, s.password, name)
}

// mountDavfsOf mounts what a user sees at a URL. davfs2 names its owner in every lock. Files are sent as
// soon as they are closed, and listings are asked again after a second.
func mountDavfsOf(t *testing.T, m *machine, target, user, password, name string) davfs {
	t.Helper()
	m.run(t, "", "install", "-d", "-m", "775", "-g", "davfs2", "/var/cache/davfs2")
	m.run(t, "", "mkdir", name)
	secrets := m.write(t, fmt.Sprintf("%s %s %s\n", target, user, password), name+".secrets")
	config := m.write(t, "secrets "+secrets+"\nask_auth 0\ndelay_upload 0\ndir_refresh 1\nfile_refresh 0\nlock_owner "+name+"\n", name+".conf")
	m.run(t, "", "mount.davfs", "-o", "conf="+config, target, m.path(name))
	stop := time.AfterFunc(mountTimeout, func() { m.init.kill() })
	t.Cleanup(func() { stop.Stop() })
	return davfs{m, name, filepath.Join(m.root, "mnt", name)}
}

// unmount waits until davfs2 has sent everything and given back its locks.
func (d davfs) unmount(t *testing.T) {
	t.Helper()
	d.run(t, "", "umount", d.path(d.name))
}

func (d davfs) file(elements ...string) string {
	return filepath.Join(append([]string{d.folder}, elements...)...)
}

// arrives waits until the server has the content: davfs2 sends it after the file was closed.
func (s *server) arrives(t *testing.T, content string, segments ...string) {
	t.Helper()
	eventually(t, davPath(segments...)+" has its content", func() bool {
		r := s.do(t, "GET", s.dav(segments...), "")
		return r.status == 200 && r.body == content
	})
}

func TestClientDavfs2(t *testing.T) {
	m := sandbox(t)
	_, err := os.Stat("/dev/fuse")
	need(t, err == nil, "/dev/fuse")
	s := startServer(t, folderBacking(t))
	d := mountDavfs(t, m, s, "mount")
	if err := os.Mkdir(d.file("a & b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range oddNames {
		t.Run(name, func(t *testing.T) { editFile(t, d, s, name) })
	}
	t.Run("lists what is there", func(t *testing.T) {
		var want []string
		for _, name := range oddNames {
			want = append(want, "renamed "+name)
		}
		entries, err := os.ReadDir(d.file("a & b"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, entry := range entries {
			got = append(got, entry.Name())
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("deletes", func(t *testing.T) {
		if err := os.RemoveAll(d.file("a & b")); err != nil {
			t.Fatal(err)
		}
		s.lacks(t, "a & b")
	})
	d.unmount(t)
	if n := s.activeLocks(t); n != 0 {
		t.Errorf("%d locks are left after the mount", n)
	}
}

// editFile creates a file, changes it in place, and renames it at once, as editors do.
func editFile(t *testing.T, d davfs, s *server, name string) {
	content := "written through FUSE: " + name
	if err := os.WriteFile(d.file("a & b", name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	s.arrives(t, content, "a & b", name)

	file, err := os.OpenFile(d.file("a & b", name), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt([]byte("WRITTEN"), 0)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.file("a & b", name), d.file("a & b", "renamed "+name)); err != nil {
		t.Fatalf("rename of a freshly written file: %v", err)
	}
	s.arrives(t, "WRITTEN"+content[len("written"):], "a & b", "renamed "+name)
	s.lacks(t, "a & b", name)
	got, err := os.ReadFile(d.file("a & b", "renamed "+name))
	if err != nil || string(got) != "WRITTEN"+content[len("written"):] {
		t.Errorf("read back %s, %v", clip(string(got)), err)
	}
}

// TestClientDavfs2TakesItsLockBack writes to files that davfs2 holds the lock of without knowing, as after
// a crash: it looks for its own name among the owners and takes that lock's token, so both must come back
// as they were sent. It also uses the token only if the lock's root is, to the letter, the URI that it
// would send itself.
func TestClientDavfs2TakesItsLockBack(t *testing.T) {
	m := sandbox(t)
	s := startServer(t, folderBacking(t))
	d := mountDavfs(t, m, s, "mount")
	for _, name := range oddNames {
		t.Run(name, func(t *testing.T) { takeLockBack(t, d, s, name) })
	}
	d.unmount(t)
}

func takeLockBack(t *testing.T, d davfs, s *server, name string) {
	if err := os.WriteFile(d.file(name), []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.arrives(t, "before", name)
	eventually(t, "the first lock is given back", func() bool { return s.activeLocks(t, name) == 0 })
	r := s.do(t, "LOCK", s.dav(name), fmt.Sprintf(lockinfo, d.name), "Depth", "0", "Content-Type", "application/xml")
	if r.status != 200 {
		t.Fatalf("LOCK: %d %s", r.status, r.body)
	}
	// So that a failure here does not stop the unmount.
	defer s.do(t, "UNLOCK", s.dav(name), "", "Lock-Token", r.header.Get("Lock-Token"))
	content := "after the crash: " + name
	if err := os.WriteFile(d.file(name), []byte(content), 0); err != nil {
		t.Fatal(err)
	}
	s.arrives(t, content, name)
	eventually(t, "the lock is given back", func() bool { return s.activeLocks(t, name) == 0 })
}

// TestClientDavfs2TwoMounts mounts the workspace of one user twice, as on a laptop and a desktop: while
// one has a file open for writing, the other is refused, although both have the same login.
func TestClientDavfs2TwoMounts(t *testing.T) {
	m := sandbox(t)
	s := startServer(t, folderBacking(t))
	s.put(t, "before", "shared.txt")
	takeTurns(t, s, s.dav("shared.txt"), mountDavfs(t, m, s, "laptop"), mountDavfs(t, m, s, "desktop"))
}

// TestClientDavfs2TwoUsers is TestClientDavfs2TwoMounts with the workspace of a team, mounted by two of its
// members.
func TestClientDavfs2TwoUsers(t *testing.T) {
	m := sandbox(t)
	s := startServer(t, folderBacking(t))
	mount := s.addTeam(t, "both")
	const password = "staple-of-another-horse"
	s.admin(t, password+"\n", "user", "add", "grace")
	s.admin(t, "", "team", "member", "both", "grace", "--role", "member")
	if r := s.do(t, "PUT", mount+"shared.txt", "before"); r.status != 201 {
		t.Fatalf("PUT: %d %s", r.status, r.body)
	}
	takeTurns(t, s, mount+"shared.txt", mountDavfsOf(t, m, mount, s.user, s.password, "laptop"),
		mountDavfsOf(t, m, mount, "grace", password, "desktop"))
}

// takeTurns opens the file shared.txt in one mount and is refused in the other, until it is closed; then the
// other writes it. target is its URL.
func takeTurns(t *testing.T, s *server, target string, laptop, desktop davfs) {
	file, err := os.OpenFile(laptop.file("shared.txt"), os.O_RDWR|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if n := s.locksOf(t, target); n != 1 {
		t.Errorf("%d locks while a file is open, want 1", n)
	}
	if other, err := os.OpenFile(desktop.file("shared.txt"), os.O_RDWR, 0); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the other mount opens the file: %v", err)
		other.Close()
	}
	if r := s.do(t, "PUT", target, "stolen"); r.status != 423 {
		t.Errorf("PUT without the token: %d, want 423", r.status)
	}
	_, err = file.WriteString("from the laptop")
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	holds := func(content string) bool {
		r := s.do(t, "GET", target, "")
		return r.status == 200 && r.body == content
	}
	eventually(t, "the laptop's content arrives", func() bool { return holds("from the laptop") })
	eventually(t, "the lock is given back", func() bool { return s.locksOf(t, target) == 0 })
	eventually(t, "the other mount writes the file", func() bool {
		return os.WriteFile(desktop.file("shared.txt"), []byte("from the desktop"), 0) == nil
	})
	eventually(t, "the desktop's content arrives", func() bool { return holds("from the desktop") })
	laptop.unmount(t)
	desktop.unmount(t)
	if !holds("from the desktop") {
		t.Error("the content does not survive the mounts")
	}
	if n := s.locksOf(t, target); n != 0 {
		t.Errorf("%d locks are left after the mounts", n)
	}
}
