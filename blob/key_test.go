package blob_test

import (
	"regexp"
	"testing"

	"holdfast/blob"
)

func TestNewKey(t *testing.T) {
	// A version 4 UUID has its version in the 13th digit, its variant in the 17th.
	form := regexp.MustCompile(`^([0-9a-f]{2})/([0-9a-f]{2})[0-9a-f]{10}4[0-9a-f]{3}[89ab][0-9a-f]{15}$`)
	seen := make(map[string]bool)
	for range 1000 {
		key := blob.NewKey()
		m := form.FindStringSubmatch(key)
		if m == nil || m[1] != m[2] {
			t.Fatalf("NewKey = %q", key)
		}
		if !blob.ValidKey(key) || seen[key] {
			t.Fatalf("NewKey = %q: invalid or seen before", key)
		}
		seen[key] = true
	}
	if !blob.ValidKey(blob.EmptyKey) {
		t.Error("EmptyKey is not valid")
	}
}

func FuzzValidKey(f *testing.F) {
	for _, key := range []string{blob.EmptyKey, "a", "", "/a", "a/", "a//b", "../a", "a/..", "A", "a.b", "ä"} {
		f.Add(key)
	}
	form := regexp.MustCompile(`^[0-9a-z-]+(/[0-9a-z-]+)*$`)
	f.Fuzz(func(t *testing.T, key string) {
		want := form.MatchString(key) && len(key) <= 128
		if got := blob.ValidKey(key); got != want {
			t.Errorf("ValidKey(%q) = %v, want %v", key, got, want)
		}
	})
}
