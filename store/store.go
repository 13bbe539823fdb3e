package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/blob"
	"holdfast/lockns/cache"
)

// Options configure a Store.
type Options struct {
	// DB is "sqlite:PATH". The file is made when missing.
	DB string
	// KeepSchema refuses a database of another version with a *SchemaError and
	// leaves it as it is, instead of bringing it to the newest. A missing one is
	// an error then.
	KeepSchema bool
	// Blobs is where bodies above InlineMax and the empties of lock-null
	// resources live.
	Blobs blob.Store
	// InlineMax is the size in bytes up to which bodies live in the database.
	InlineMax int64
	// OwnedEmpties stages a fresh empty object for each lock-null resource
	// instead of referring to the one shared by all.
	OwnedEmpties bool
	// NoSync: an acknowledged change survives a crash of the process, but not
	// a power cut.
	NoSync bool
	// Quota in bytes for workspaces without one of their own; 0 is none.
	Quota int64
	// Versions is how many former contents of a file are kept when it gets
	// another. With 0 no new ones are; those there stay until their file goes or
	// VersionsAge ends them, so that opening a store once without this destroys
	// no history. They count as stored content.
	Versions int
	// VersionsAge is how long after its replacement a version is offered; 0 is
	// without end. PruneVersions removes those that are older.
	VersionsAge time.Duration
	// Trash is how long what Remove takes away can be restored; with 0 it cannot.
	// What is in the trash already stays for the time that held when it came.
	Trash time.Duration
	// UploadLapse is how long an upload is kept after its last piece; 0 is a day.
	// PruneUploads ends it then.
	UploadLapse time.Duration
	// ChangesAge is how long changes of a folder's members are told of; 0 is 30
	// days. PruneChanges forgets those that are older.
	ChangesAge time.Duration
	// AuditAge is how long entries of the audit log are kept; 0 is for ever.
	// PruneAudit removes those that are older.
	AuditAge time.Duration
	// LocksPerUser is how many active locks a user may hold; 0 is no limit.
	LocksPerUser int
	// Cache keeps lock projections, for what shows locks; in memory when nil.
	// It is closed with the store.
	Cache cache.Cache
	// Now is the clock, time.Now when nil. It is read once a transaction.
	Now func() time.Time
	// Log, slog.Default when nil.
	Log *slog.Logger
}

// Store keeps workspaces, their trees, properties and locks. All methods may be
// called concurrently, and from several processes on one database.
type Store struct {
	o       Options
	log     *slog.Logger
	now     func() time.Time
	db      []*sql.DB
	writer  *writer
	readers *readers
	purge   chan struct{}
	events  chan struct{}
	// assembling holds the UploadID of every upload that is being put together
	// by this process. Between processes the transaction decides.
	assembling sync.Map
	hashing    hashing
	closing    sync.Once
	closed     error // what closing gave
	hook       atomic.Pointer[func(context.Context, Point) error]

	projections projector
}

// Open opens the database, migrates it to the newest version (see KeepSchema),
// and makes sure that the shared empty object exists.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{o: o, log: o.Log, now: o.Now, purge: make(chan struct{}, 1), events: make(chan struct{}, 1), projections: newProjector(o.Cache), hashing: newHashing()}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.settleSchema(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.findInstance(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !o.OwnedEmpties {
		if _, err := blob.EnsureEmpty(ctx, o.Blobs); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// settleSchema makes sure that the database is of the newest version.
func (s *Store) settleSchema(ctx context.Context) error {
	if s.o.KeepSchema {
		return checkSchema(ctx, s.o.DB)
	}
	_, err := Migrate(ctx, s.o.DB, true)
	return err
}

// connect opens the writer's connection and the readers'.
func (s *Store) connect(ctx context.Context) error {
	path, err := sqlitePath(s.o.DB)
	if err != nil {
		return err
	}
	sync := "synchronous(FULL)"
	if s.o.NoSync {
		sync = "synchronous(NORMAL)"
	}
	wdb, err := openSQLite(path, sync, "foreign_keys(1)")
	if err != nil {
		return err
	}
	s.db = append(s.db, wdb)
	s.writer, err = newWriter(func() (*conn, error) { return newConn(context.Background(), wdb) }, s.log)
	if err != nil {
		return err
	}
	rdb, err := openSQLite(path, "query_only(1)")
	if err != nil {
		return err
	}
	s.db = append(s.db, rdb)
	s.readers, err = newReaders(ctx, rdb, max(4, 2*runtime.GOMAXPROCS(0)))
	return err
}

// Close lets the changes at work finish, refuses all others with ErrClosed and
// closes the database. Closing again does nothing.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	if s.writer != nil {
		s.writer.close()
	}
	if s.readers != nil {
		s.readers.close()
	}
	errs := []error{s.projections.cache.Close()}
	for _, db := range s.db {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

// Ping reports whether the database takes changes, by making one that changes
// nothing, and whether the body store answers.
func (s *Store) Ping(ctx context.Context) error {
	if _, err := s.o.Blobs.Stat(ctx, blob.EmptyKey); err != nil && !errors.Is(err, blob.ErrNotExist) {
		return unreachable(err)
	}
	return s.update(ctx, nil, func(t *tx) error {
		_, err := t.exec(`UPDATE instance SET uuid = uuid`)
		return err
	})
}
