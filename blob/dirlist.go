package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// listPiece is how many names are read at once.
const listPiece = 512

// listFolder yields what is below the folder of prefix; false means stop.
func (d *Dir) listFolder(ctx context.Context, prefix string, yield func(Info, error) bool) bool {
	folder, err := os.Open(d.path(prefix))
	if errors.Is(err, fs.ErrNotExist) && prefix != "" {
		return true // removed since its parent was read
	}
	if err != nil {
		yield(Info{}, fmt.Errorf("list blob folder: %w", err))
		return false
	}
	defer folder.Close()
	for {
		if err := ctx.Err(); err != nil {
			yield(Info{}, err)
			return false
		}
		entries, err := folder.ReadDir(listPiece)
		for _, e := range entries {
			if !d.listEntry(ctx, join(prefix, e.Name()), e, yield) {
				return false
			}
		}
		if err == io.EOF {
			return true
		}
		if err != nil {
			yield(Info{}, fmt.Errorf("list blob folder: %w", err))
			return false
		}
	}
}

func (d *Dir) listEntry(ctx context.Context, key string, e fs.DirEntry, yield func(Info, error) bool) bool {
	if !ValidKey(key) {
		return true
	}
	if e.IsDir() {
		return d.listFolder(ctx, key, yield)
	}
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		yield(Info{}, fmt.Errorf("stat object file: %w", err))
		return false
	}
	if !info.Mode().IsRegular() {
		return true
	}
	return yield(Info{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil)
}
