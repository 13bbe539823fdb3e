package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// migrateVariable makes the test program a process that migrates: its value is a
// database, "up" or "down", and the file of a migration to stop after.
const migrateVariable = "HOLDFAST_TEST_MIGRATE"

func TestMain(m *testing.M) {
	if order := strings.Fields(os.Getenv(migrateVariable)); len(order) == 3 {
		migrateAsOrdered(order[0], order[1] == "up", order[2])
		return
	}
	os.Exit(m.Run())
}

// migrateAsOrdered says "here" when it has come to the file to stop after, with
// the transaction open, and goes on when it is told so by a line.
func migrateAsOrdered(db string, up bool, stop string) {
	store.SetStepDone(func(_ context.Context, file string) error {
		if file != stop {
			return nil
		}
		fmt.Println("here")
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		return err
	})
	if _, err := store.Migrate(context.Background(), db, up); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process is another process that migrates.
type process struct {
	*exec.Cmd
	t      *testing.T
	orders io.Writer
	errors *strings.Builder
}

// migrating starts a process and waits until it is in the middle of a migration:
// after a file, before its commit.
func (d *database) migrating(direction, stop string) *process {
	d.t.Helper()
	self, err := os.Executable()
	must(d.t, err)
	p := &process{exec.CommandContext(d.t.Context(), self), d.t, nil, &strings.Builder{}}
	p.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s", migrateVariable, d.url(), direction, stop))
	p.Stderr = p.errors
	p.orders, err = p.StdinPipe()
	must(d.t, err)
	out, err := p.StdoutPipe()
	must(d.t, err)
	must(d.t, p.Start())
	d.t.Cleanup(func() { _ = p.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "here\n" {
		d.t.Fatalf("said %q (%v) instead of stopping after %s: %s", line, err, stop, p.errors)
	}
	return p
}

func (p *process) kill() {
	p.t.Helper()
	must(p.t, p.Process.Kill())
	if err := p.Wait(); err == nil {
		p.t.Error("ended before it was killed")
	}
}

func (p *process) goOn() {
	p.t.Helper()
	_, err := io.WriteString(p.orders, "\n")
	must(p.t, err)
	if err := p.Wait(); err != nil {
		p.t.Errorf("%v: %s", err, p.errors)
	}
}

// middles are the moments of all migrations at which something is changed and
// not yet committed, with the version before.
var middles = []struct {
	from            int64
	direction, file string
}{
	{1, "up", "00002_1_tables"}, {1, "up", "00002_2_rows"}, {1, "up", "00002_3_swap"},
	{2, "up", "00003_up"}, {2, "up", "00003_users_key"},
	{3, "up", "00004_up"}, {3, "up", "00004_teams_key"},
	{4, "down", "00004_down"}, {3, "down", "00003_down"}, {2, "down", "00002_down"},
}

// TestKilledMigration: a migration whose process dies in the middle never was.
func TestKilledMigration(t *testing.T) {
	t.Parallel()
	for _, c := range middles {
		t.Run("after "+c.file, func(t *testing.T) {
			d := filled(t, c.from)
			before := d.dump()
			d.migrating(c.direction, c.file).kill()
			wantEqual(t, "database", d.dump(), before)
			d.up()
		})
	}
}

// TestInterruptedMigration: neither was one that was called off or failed there.
func TestInterruptedMigration(t *testing.T) {
	failed := errors.New("failed there")
	for _, c := range middles {
		t.Run("after "+c.file, func(t *testing.T) {
			d := filled(t, c.from)
			before := d.dump()
			for _, want := range []error{context.Canceled, failed} {
				ctx, cancel := context.WithCancel(t.Context())
				store.SetStepDone(func(_ context.Context, file string) error {
					if file != c.file {
						return nil
					}
					if want == failed {
						return failed
					}
					cancel()
					return nil
				})
				_, err := store.Migrate(ctx, d.url(), c.direction == "up")
				cancel()
				store.SetStepDone(nil)
				wantError(t, err, want)
				wantEqual(t, "database", d.dump(), before)
			}
		})
	}
}

// waitsForMigration waits until a goroutine of this process stands before the
// migration of another.
func waitsForMigration(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if strings.Contains(string(buf[:runtime.Stack(buf, true)]), "store.(*migration).serialize(") {
			return
		}
	}
	t.Fatal("nobody waits for the migration")
}

// TestTwoProcessesMigrate: who comes while another process migrates waits, and
// does what is left, if anything.
func TestTwoProcessesMigrate(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*process)
	}{
		{"one that ends well", (*process).goOn},
		{"one that dies", (*process).kill},
	} {
		t.Run("waits for "+c.name, func(t *testing.T) {
			d := filled(t, 1)
			first := d.migrating("up", "00002_2_rows")
			second := make(chan error)
			go func() {
				_, err := store.Migrate(context.WithoutCancel(t.Context()), d.url(), true)
				second <- err
			}()
			waitsForMigration(t)
			c.end(first)
			must(t, <-second)
			wantEqual(t, "versions", strings.Join(d.do(`SELECT version_id FROM goose_db_version ORDER BY id`), " "), "0 1 2 3 4 5 6")
			wantSlice(t, "locks", d.do(`SELECT count(*) FROM resource_locks`), []string{"8"})
		})
	}
	t.Run("going back is not done twice", func(t *testing.T) {
		d := filled(t, 4)
		first := d.migrating("down", "00004_down")
		second := make(chan error)
		go func() {
			_, err := store.Migrate(context.WithoutCancel(t.Context()), d.url(), false)
			second <- err
		}()
		waitsForMigration(t)
		first.goOn()
		if err := <-second; err == nil || !strings.Contains(err.Error(), "another process is migrating: version 3, expected 4") {
			t.Errorf("error %v", err)
		}
		wantSlice(t, "version", d.do(`SELECT max(version_id) FROM goose_db_version`), []string{"3"})
	})
	t.Run("a new database is made by one of many", func(t *testing.T) {
		t.Parallel()
		d := newDatabase(t)
		const many = 4
		results := make(chan error, many)
		for range many {
			go func() {
				_, err := store.Migrate(context.WithoutCancel(t.Context()), d.url(), true)
				results <- err
			}()
		}
		for range many {
			must(t, <-results)
		}
		wantEqual(t, "versions", strings.Join(d.do(`SELECT version_id FROM goose_db_version ORDER BY id`), " "), "0 1 2 3 4 5 6")
	})
}
