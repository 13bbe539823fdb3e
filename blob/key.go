package blob

import (
	"encoding/hex"
	"strings"

	"github.com/google/uuid"
)

// EmptyKey names the one empty object that lock-null resources may share. It is
// content-addressed (the SHA-256 of no bytes), so whoever creates it creates the
// same object, and no request or sweep deletes it. See [EnsureEmpty].
const EmptyKey = "empty/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// maxKey bounds a key, in bytes, far below what file systems and S3 engines take.
const maxKey = 128

// NewKey mints a random key: a version 4 UUID in hex behind its own first two
// digits, such as 3f/3f9a5c….
func NewKey() string {
	id := uuid.New()
	digits := hex.EncodeToString(id[:])
	return digits[:2] + "/" + digits
}

// ValidKey reports whether key may name an object: one or more parts of
// [0-9a-z-] joined by single slashes, at most 128 bytes in all. Such a key is
// its own file name and its own URL path on every platform; it cannot leave its
// root, since no dot is allowed.
func ValidKey(key string) bool {
	if key == "" || len(key) > maxKey {
		return false
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || strings.ContainsFunc(part, notKeyRune) {
			return false
		}
	}
	return true
}

func notKeyRune(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && r != '-'
}
