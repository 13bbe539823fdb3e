//go:build !unix

package blob

// syncDir does nothing where folders cannot be flushed; the file system orders
// its names itself there.
func syncDir(string) error { return nil }

// isNotDir is always false where fs.ErrNotExist covers the case.
func isNotDir(error) bool { return false }
