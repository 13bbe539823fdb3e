package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"holdfast/blob"
	"holdfast/lockns/cache"
	"holdfast/store"
)

// Bodies up to this size are cheaper as a row than as a file with its own
// flush; an object in S3 costs a round trip either way, but no disk here.
const inlineMaxFolder = 16 << 10

// inlineMaxMost bounds --inline-max: such a body is held in memory as a whole,
// once for each request that sends or gets one.
const inlineMaxMost Size = 1 << 20

// ErrNoData says that a command was pointed at a place without data.
var ErrNoData = errors.New("no database here")

// OpenStore opens the data for a command that works beside a server or without
// one. With create it makes what is missing and migrates; without, a missing
// database is ErrNoData, and one of another version a *store.SchemaError. The
// caller closes the store.
func (s Storage) OpenStore(ctx context.Context, create bool, log *slog.Logger) (*store.Store, error) {
	l, err := s.resolve()
	if err != nil {
		return nil, err
	}
	if !create {
		if err := l.exists(); err != nil {
			return nil, err
		}
	}
	cfg := DefaultConfig()
	st, _, err := l.open(ctx, &cfg, !create, log)
	var schema *store.SchemaError
	if errors.As(err, &schema) && schema.Version < schema.Needs {
		err = fmt.Errorf("%w: run holdfast migrate up, or start the server", err)
	}
	return st, err
}

// Database is the --db URL with its default filled in, for the migrations; it
// is ErrNoData when nothing is there.
func (s Storage) Database() (string, error) {
	l, err := s.resolve()
	if err != nil {
		return "", err
	}
	return l.db, l.exists()
}

func (l locations) exists() error {
	_, err := os.Stat(l.dbPath)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNoData, l.dbPath)
	}
	return err
}

// open makes the folders, which only this user may enter, and opens objects and
// database, which keepSchema keeps from being migrated.
func (l locations) open(ctx context.Context, cfg *Config, keepSchema bool, log *slog.Logger) (*store.Store, blob.Store, error) {
	if err := os.MkdirAll(filepath.Dir(l.dbPath), 0o700); err != nil {
		return nil, nil, fmt.Errorf("make data folder: %w", err)
	}
	objects, err := l.openBlobs(ctx, cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("open objects: %w", err)
	}
	projections, err := openCache(cfg.Cache)
	if err != nil {
		return nil, nil, fmt.Errorf("open cache: %w", err)
	}
	st, err := store.Open(ctx, store.Options{
		DB:           l.db,
		KeepSchema:   keepSchema,
		Blobs:        objects,
		Cache:        projections,
		InlineMax:    l.inlineMax(cfg),
		OwnedEmpties: cfg.EmptyObjects == "owned",
		NoSync:       cfg.Sync == "normal",
		Quota:        int64(cfg.Quota),
		Versions:     cfg.Versions,
		VersionsAge:  time.Duration(cfg.VersionsAge),
		AuditAge:     time.Duration(cfg.AuditAge),
		Trash:        time.Duration(cfg.Trash),
		LocksPerUser: cfg.LocksPerUser,
		Log:          log,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("open data: %w", err)
	}
	return st, objects, nil
}

func (l locations) openBlobs(ctx context.Context, cfg *Config) (blob.Store, error) {
	if l.s3 != nil {
		return blob.NewS3(ctx, *l.s3)
	}
	return blob.NewDir(l.dir, blob.DirOptions{Sync: cfg.Sync == "full"})
}

// openCache makes the cache of what is shown of locks. A Redis server is spoken
// to when it is first needed: the server runs without it.
func openCache(text Secret) (cache.Cache, error) {
	redis, err := parseCache(text)
	switch {
	case err != nil:
		return nil, err
	case redis == nil:
		return cache.NewMemory(), nil
	}
	return cache.NewRedis(*redis), nil
}

func (l locations) inlineMax(cfg *Config) int64 {
	switch {
	case cfg.InlineMax != nil:
		return int64(*cfg.InlineMax)
	case l.s3 != nil:
		return 0
	}
	return inlineMaxFolder
}
