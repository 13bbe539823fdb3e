//go:build unix

package blob

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// syncDir makes the names in the folder at path durable: on POSIX systems fsync
// of a file says nothing about the folder entry that leads to it.
func syncDir(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open folder to flush: %w", err)
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("flush folder: %w", err)
	}
	return nil
}

// isNotDir reports that a file stands where a folder was wanted.
func isNotDir(err error) bool {
	return errors.Is(err, syscall.ENOTDIR)
}
