package litmus

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// need is the one place that decides what happens to a test whose outside program is missing: it is
// skipped on a laptop and fails in CI. Under -short, tests that drive outside programs are skipped.
func need(t *testing.T, have bool, what string) {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("drives outside programs, not under -short")
	case have:
	case os.Getenv("HOLDFAST_CI") != "":
		t.Fatalf("needs %s, which CI must have: see .ci/setup", what)
	default:
		t.Skipf("needs %s: run .ci/setup as root on Debian", what)
	}
}

// needPrograms asks for programs of this machine.
func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	need(t, true, "") // -short also skips where everything is there
	for _, name := range names {
		_, err := exec.LookPath(name)
		need(t, err == nil, name)
	}
}

// unstable is the root folder of Debian unstable that .ci/setup makes.
func unstable() string { return filepath.Join(cache(), "sid") }

// cache is the folder of what .ci/setup brings.
func cache() string {
	if folder := os.Getenv("HOLDFAST_TEST_CACHE"); folder != "" {
		return folder
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "holdfast")
}
