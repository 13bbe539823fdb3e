package main

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/alecthomas/kong"

	"holdfast/server"
	"holdfast/store"
)

// commands is the command line: each command is a type with a Run method.
type commands struct {
	server.Storage

	Serve   serveCmd   `cmd:"" default:"withargs" help:"Serve files over WebDAV (the default)."`
	User    userCmd    `cmd:"" help:"Manage users."`
	Team    teamCmd    `cmd:"" help:"Manage teams and their members."`
	Account accountCmd `cmd:"" help:"Manage app passwords."`
	Locks   locksCmd   `cmd:"" help:"See, set and end locks."`
	Check   checkCmd   `cmd:"" help:"Look for faults in database and objects, a line each."`
	Migrate migrateCmd `cmd:"" help:"Change the database's schema, or show its version."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// AfterApply hands every command the storage, with what only the environment may
// say of it.
func (c *commands) AfterApply(command *kong.Context) error {
	if err := checkEmpty(command.Path); err != nil {
		return err
	}
	c.Secrets(os.Getenv)
	command.Bind(c.Storage)
	return nil
}

// checkEmpty refuses a text that was given and is empty: a script's variable that
// was never set must not stand for "any", "all" or the default. Where an empty
// one has a meaning, its field is a pointer or has the tag empty.
func checkEmpty(given []*kong.Path) error {
	for _, p := range given {
		value := p.Positional
		if p.Flag != nil {
			value = p.Flag.Value
		}
		if value == nil || value.Tag.Has("empty") {
			continue
		}
		if kind := value.Target.Kind(); (kind == reflect.String || kind == reflect.Slice) && value.Target.Len() == 0 {
			return fmt.Errorf("%s: must not be empty", value.ShortSummary())
		}
	}
	return nil
}

// streams are the standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// log is the log of commands other than serve: warnings and errors.
func (s *streams) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// withStore runs fn on the data, which may be in use by a running server.
func withStore(storage server.Storage, create bool, std *streams, fn func(context.Context, *store.Store) error) error {
	if err := storage.Check(); err != nil {
		return usageError{err}
	}
	ctx, stop := interruptible()
	defer stop()
	st, err := storage.OpenStore(ctx, create, std.log())
	if err != nil {
		return err
	}
	return errors.Join(fn(ctx, st), st.Close())
}

// interruptible is a context that the first SIGINT or SIGTERM ends. The second
// ends the process at once.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // neither is lost, however close they come
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopped := make(chan struct{})
	go func() {
		for range 2 {
			select {
			case <-signals:
				if ctx.Err() != nil {
					os.Exit(1)
				}
				cancel()
			case <-stopped:
				return
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(stopped)
		cancel()
	})
}

type serveCmd struct{ server.Config }

// gcPercent spends memory on time: little of the heap lives longer than a
// request, so that Go's default of 100 collects all the time to keep a few
// megabytes free. GOGC, where it is set, decides instead.
const gcPercent = 400

// Run serves until a signal comes.
func (c *serveCmd) Run(storage server.Storage, std *streams) error {
	cfg := c.Config
	cfg.Storage, cfg.Stdout, cfg.Stderr = storage, std.out, std.err
	cfg.Grace = server.DefaultConfig().Grace
	cfg.Secrets(os.Getenv)
	if err := cfg.Check(); err != nil {
		return usageError{err}
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := interruptible()
	defer stop()
	s, err := server.New(ctx, cfg)
	if err != nil {
		return err
	}
	return s.Serve(ctx)
}

type checkCmd struct{}

// Run prints the faults; any at all is a refusal.
func (checkCmd) Run(storage server.Storage, std *streams) error {
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		faults := 0
		var failed error
		err := st.Check(ctx, func(fault string) {
			faults++
			_, err := fmt.Fprintln(std.out, printable(fault))
			failed = errors.Join(failed, err)
		})
		if faults > 0 {
			err = errors.Join(err, fmt.Errorf("%d faults", faults))
		}
		return errors.Join(err, failed)
	})
}

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Bring the schema to the newest version."`
	Down   migrateDownCmd   `cmd:"" help:"Take back the newest step."`
	Status migrateStatusCmd `cmd:"" help:"List the steps and which are done."`
}

type migrateUpCmd struct{}

// Run migrates to the newest version.
func (migrateUpCmd) Run(storage server.Storage, std *streams) error {
	return migrate(storage, std, true)
}

type migrateDownCmd struct{}

// Run takes one step back.
func (migrateDownCmd) Run(storage server.Storage, std *streams) error {
	return migrate(storage, std, false)
}

func migrate(storage server.Storage, std *streams, up bool) error {
	return withDatabase(storage, func(ctx context.Context, db string) error {
		version, err := store.Migrate(ctx, db, up)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "version %d\n", version)
		return err
	})
}

type migrateStatusCmd struct{}

// Run lists the migrations.
func (migrateStatusCmd) Run(storage server.Storage, std *streams) error {
	return withDatabase(storage, func(ctx context.Context, db string) error {
		list, err := store.Migrations(ctx, db)
		for _, m := range list {
			state := "pending"
			if m.Applied {
				state = "applied"
			}
			_, printed := fmt.Fprintf(std.out, "%d\t%s\t%s\n", m.Version, state, m.Name)
			err = errors.Join(err, printed)
		}
		return err
	})
}

// withDatabase runs fn on a database that exists, without opening it as a store:
// that migrates too, or refuses an older one.
func withDatabase(storage server.Storage, fn func(context.Context, string) error) error {
	if err := storage.Check(); err != nil {
		return usageError{err}
	}
	db, err := storage.Database()
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	return fn(ctx, db)
}

type versionCmd struct{}

// Run prints what the build recorded.
func (versionCmd) Run(std *streams) error {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	_, err := fmt.Fprintf(std.out, "holdfast %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// Flags with a written form of their own.
var (
	sizes   = mapWritten[server.Size]("size", "5GiB")
	times   = mapWritten[server.Duration]("time", "90m or 7d")
	moments = mapWritten[moment]("time", "2027-01-31 or 7d")
)

// mapWritten reads flags of type T, and those that may be left out, as written
// does.
func mapWritten[T any](what, example string) kong.Option {
	read := written(what, example)
	return kong.OptionFunc(func(k *kong.Kong) error {
		return errors.Join(kong.TypeMapper(reflect.TypeFor[T](), read).Apply(k), kong.TypeMapper(reflect.TypeFor[*T](), read).Apply(k))
	})
}

// written reads a flag that has a written form, as its type does. kong asks for
// a "value" when there is none, and takes a negative one for a flag.
func written(what, example string) kong.MapperFunc {
	return func(flag *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := flag.Scan.PopValueInto(what, &text); err != nil {
			return fmt.Errorf("needs a %s that is not negative, such as %s", what, example)
		}
		if target.Kind() != reflect.Pointer {
			target = target.Addr()
		}
		return target.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	}
}
