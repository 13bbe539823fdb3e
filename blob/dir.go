package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// DirOptions says how a Dir writes.
type DirOptions struct {
	// Sync makes Put flush the file, the folder that names it and the parents of
	// folders it made before it returns. Without it an acknowledged object
	// survives a crash of the process, but not one of the machine.
	Sync bool
}

// Dir keeps every object in a file of its own below one folder, which it should
// have for itself. Several processes may use one folder at the same time.
//
// A file is created under its final name and never renamed: until a transaction
// commits its key nobody can ask for it, so the moment of a rename would protect
// nothing. A crash in the middle of a Put leaves a file that List shows.
type Dir struct {
	root string
	sync bool

	mu      sync.Mutex
	folders map[string]bool // keyed by path: made, and durable if sync is set
}

var _ Store = (*Dir)(nil)

// NewDir uses the folder at path and makes it, with mode 0700, if it is missing.
func NewDir(path string, opts DirOptions) (*Dir, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolve blob folder: %w", err)
	}
	d := &Dir{root: root, sync: opts.Sync, folders: make(map[string]bool)}
	if err := d.makeRoot(root); err != nil {
		return nil, fmt.Errorf("make blob folder: %w", err)
	}
	return d, nil
}

// makeRoot makes path and its missing parents, each durable in its own parent.
func (d *Dir) makeRoot(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := d.makeRoot(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.syncFolder(parent)
}

// Put creates the object's file exclusively, so ErrExist is exact here.
func (d *Dir) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if !ValidKey(key) {
		return ErrKey
	}
	in, err := newBody(ctx, r, size)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := d.create(key)
	if errors.Is(err, fs.ErrExist) {
		return ErrExist
	}
	if err != nil {
		return fmt.Errorf("create object file: %w", err)
	}
	if err := d.write(f, in); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// write copies the body and makes file and name durable. The file is closed
// afterwards in any case. A cancellation that comes too late to stop the copying
// does not undo it.
func (d *Dir) write(f *os.File, in *body) error {
	err := in.copyTo(f)
	if err == nil && d.sync {
		err = syncFile(f)
	}
	if cerr := f.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("close object file: %w", cerr)
	}
	if err != nil {
		return err
	}
	return d.syncFolder(filepath.Dir(f.Name()))
}

func (d *Dir) create(key string) (*os.File, error) {
	name := d.path(key)
	f, err := d.createIn(filepath.Dir(name), name)
	if errors.Is(err, fs.ErrNotExist) {
		// Somebody removed the folder after it was made: make it once more.
		d.forget(filepath.Dir(name))
		return d.createIn(filepath.Dir(name), name)
	}
	return f, err
}

func (d *Dir) createIn(folder, name string) (*os.File, error) {
	if err := d.ensure(folder); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// ensure makes the folder at path, below root, and its entry in its parent
// durable. That a folder is there is not enough: another Put may have made it
// and not flushed the parent yet, or an earlier process may have died before it
// did. So each process flushes the parent once for each folder, and callers that
// need the same folder wait for it.
func (d *Dir) ensure(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ensureLocked(path)
}

func (d *Dir) ensureLocked(path string) error {
	if path == d.root || d.folders[path] {
		return nil
	}
	parent := filepath.Dir(path)
	if err := d.ensureLocked(parent); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := d.syncFolder(parent); err != nil {
		return err
	}
	d.folders[path] = true
	return nil
}

// forget drops what is known of the folder at path and of those above it.
func (d *Dir) forget(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ; path != d.root; path = filepath.Dir(path) {
		delete(d.folders, path)
	}
}

func (d *Dir) syncFolder(path string) error {
	if !d.sync {
		return nil
	}
	return syncDir(path)
}

// Open opens the object's file and moves to offset.
func (d *Dir) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := checkRange(key, offset, length); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(d.path(key))
	if err != nil {
		return nil, notExist("open object file", err)
	}
	if err := seekRegular(f, offset); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if length < 0 {
		return f, nil
	}
	return readCloser{io.LimitReader(f, length), f}, nil
}

// seekRegular moves f to offset, unless f is a folder: the shard of a key is a
// valid key, too, but no object.
func seekRegular(f *os.File, offset int64) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("stat object file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return ErrNotExist
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("seek in object file: %w", err)
	}
	return nil
}

// Stat describes the object's file.
func (d *Dir) Stat(ctx context.Context, key string) (Info, error) {
	if !ValidKey(key) {
		return Info{}, ErrKey
	}
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	info, err := os.Lstat(d.path(key))
	if err != nil {
		return Info{}, notExist("stat object file", err)
	}
	if !info.Mode().IsRegular() {
		return Info{}, ErrNotExist
	}
	return Info{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil
}

// Delete removes the object's file. The removal is not flushed: an object that a
// power cut brings back has no reference, and the orphan sweep finds it.
func (d *Dir) Delete(ctx context.Context, key string) error {
	_, err := d.Stat(ctx, key)
	if errors.Is(err, ErrNotExist) {
		return nil // also a folder, which os.Remove would take if it were empty
	}
	if err != nil {
		return err
	}
	err = os.Remove(d.path(key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove object file: %w", err)
	}
	return nil
}

// List reads the folders in pieces, so its memory does not grow with their size.
// Files whose names are not keys are somebody else's and are left out.
func (d *Dir) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		d.listFolder(ctx, "", yield)
	}
}

func (d *Dir) path(key string) string {
	return filepath.Join(d.root, filepath.FromSlash(key))
}

// notExist words a failed look-up: ErrNotExist if nothing is there (a file where
// the key wants a folder included), the failed step otherwise.
func notExist(step string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return ErrNotExist
	}
	return fmt.Errorf("%s: %w", step, err)
}

func checkRange(key string, offset, length int64) error {
	if !ValidKey(key) {
		return ErrKey
	}
	if offset < 0 || length < -1 {
		return fmt.Errorf("%w: offset %d, length %d", ErrRange, offset, length)
	}
	return nil
}

func syncFile(f *os.File) error {
	if err := f.Sync(); err != nil {
		return fmt.Errorf("flush object file: %w", err)
	}
	return nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// join appends a name to a key prefix.
func join(prefix, name string) string {
	return strings.TrimPrefix(prefix+"/"+name, "/")
}
