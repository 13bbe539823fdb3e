package store_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"holdfast/store"
)

// TestDatabaseStaysLocked: as long as a store is open, its process has SQLite's
// shared lock on the database file, by which other programs know that it is in
// use. Without it one that only looks would delete the log when it leaves, and
// take with it whatever is written from then on.
func TestDatabaseStaysLocked(t *testing.T) {
	f := newFixture(t)
	path := strings.TrimPrefix(f.o.DB, "sqlite:")
	locked := func(when string) {
		t.Helper()
		if !sharedLock(t, path) {
			t.Errorf("%s the database is not locked", when)
		}
	}
	locked("after Open")
	f.put("/f", "x")
	f.read("/f")
	locked("after a change")
	_, err := store.Migrate(t.Context(), f.o.DB, true)
	must(t, err)
	_, err = store.Migrations(t.Context(), f.o.DB)
	must(t, err)
	locked("after a look at the migrations")
	second, err := store.Open(t.Context(), f.o)
	must(t, err)
	locked("beside a second store")
	must(t, second.Close())
	locked("after a second store")
	f.clean()
	locked("after a check")
}

// sharedLock reports whether this process has SQLite's shared lock on a file: a
// read lock of 510 bytes behind the first GiB.
func sharedLock(t *testing.T, path string) bool {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	all, err := os.ReadFile("/proc/locks")
	must(t, err)
	inode := fmt.Sprintf(":%d", info.Sys().(*syscall.Stat_t).Ino)
	for line := range strings.Lines(string(all)) {
		// 1: POSIX ADVISORY READ PID MAJOR:MINOR:INODE START END
		fields := strings.Fields(line)
		if len(fields) == 8 && fields[3] == "READ" && fields[4] == fmt.Sprint(os.Getpid()) &&
			strings.HasSuffix(fields[5], inode) && fields[6] == "1073741826" && fields[7] == "1073742335" {
			return true
		}
	}
	return false
}
