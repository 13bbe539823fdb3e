package store_test

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/store"
)

// markWriter leaves a mark that ends with the writer's connection.
func (f *fixture) markWriter() {
	f.t.Helper()
	must(f.t, f.OnWriter(f.t.Context(), func(exec func(context.Context, string, ...any) error) error {
		return exec(context.Background(), `CREATE TEMP TABLE mark (x)`)
	}))
}

// marked reports whether the writer still has the connection that was marked.
func (f *fixture) marked() bool {
	return f.OnWriter(f.t.Context(), func(exec func(context.Context, string, ...any) error) error {
		return exec(context.Background(), `SELECT * FROM mark`)
	}) == nil
}

// TestCommitFailsToWrite lets the kernel refuse the write of a COMMIT: files may
// not grow beyond what the log of the database has by then. SQLite cannot tell
// how much of it arrived, so no request of the batch may be told yes or no.
func TestCommitFailsToWrite(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var whole syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &whole))
	lift := func() { must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &whole)) }
	defer lift()
	f := newFixture(t)
	wal := strings.TrimPrefix(f.o.DB, "sqlite:") + "-wal"
	forbid := func() error {
		info, err := os.Stat(wal)
		if err != nil {
			return err
		}
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(info.Size()), Max: whole.Max})
	}
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		name     string
		requests []func() error
		last     string
	}{
		{"of one request", []func() error{f.putter("/1", long)}, "/1"},
		{"of a batch", []func() error{f.putter("/2", "2"), f.putter("/3", long), f.putter("/4", "4")}, "/4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.markWriter()
			before, objects := f.list("/"), f.objects()
			f.SetHook(onPath(c.last, store.BeforeCommit, forbid))
			errs := f.inOneBatch(c.requests...)
			lift()
			f.SetHook(nil)
			for i, err := range errs {
				if !errors.Is(err, store.ErrCommitUnknown) {
					t.Errorf("request %d of the batch was answered %v", i, err)
				}
			}
			wantEqual(t, "objects kept", f.objects(), objects+1)
			wantEqual(t, "still has the old connection", f.marked(), false)
			wantEqual(t, "connections of the writer", f.WriterConnections(), 1)
			f.put("/after", "x")
			f.remove("/after")
			wantEqual(t, "tree", f.list("/"), before) // here it did not arrive
			f.clean()
		})
	}
	f.reopen()
	wantEqual(t, "tree", f.list("/"), "/")
	f.sweep()
	wantEqual(t, "objects after the sweep", f.objects(), 0)
}

// TestCommitFindsNoSpace puts the database on a disk of its own and fills it
// between the last write of a batch and its COMMIT. SQLite says that nothing was
// committed: every request runs again alone.
func TestCommitFindsNoSpace(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("needs the right to mount a disk of its own: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	f := newFixture(t, func(o *store.Options) { o.DB = "sqlite:" + filepath.Join(disk, "db") })
	filler := filepath.Join(disk, "filler")
	fill := func() error {
		// Down to the last page, for a frame of the log is a little more.
		for size := 1 << 20; size >= 1; size /= 2 {
			file, err := os.OpenFile(filler, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			for err == nil {
				_, err = file.Write(make([]byte, size))
			}
			file.Close()
			if !errors.Is(err, syscall.ENOSPC) {
				return err
			}
		}
		return nil
	}
	runs := map[string]int{}
	f.SetHook(func(ctx context.Context, p store.Point) error {
		path, _ := ctx.Value(pathKey{}).(string)
		switch {
		case p == store.Begun:
			runs[path]++
		case p == store.BeforeCommit && path == "/3" && runs[path] == 1:
			return fill()
		case p == store.BeforeCommit && path == "/2" && runs[path] == 2:
			return os.Remove(filler) // only the first of those run alone stays out
		}
		return nil
	})
	f.markWriter()
	errs := f.inOneBatch(f.putter("/1", "1"), f.putter("/2", "2"), f.putter("/3", "3"))
	f.SetHook(nil)
	wantError(t, errs[0], store.ErrNoSpace)
	must(t, errors.Join(errs[1], errs[2]))
	for path, n := range runs {
		wantEqual(t, "runs of "+path, n, 2)
	}
	wantEqual(t, "tree", f.list("/"), "/\n/2\n/3")
	wantEqual(t, "still has its connection", f.marked(), true)
	f.reopen()
	wantEqual(t, "tree", f.list("/"), "/\n/2\n/3")
}
