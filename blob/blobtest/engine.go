package blobtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	engineName   = "versitygw"
	engineModule = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
	buildTime    = 8 * time.Minute
)

// ErrNoEngine says that the S3 engine is not installed and could not be built.
var ErrNoEngine = errors.New("no S3 engine")

// engine returns the path of the engine's program, building it if need be. Test
// processes that run at the same time build it once: the first one holds a lock
// file, the others wait for it and find the program.
func engine(ctx context.Context) (string, error) {
	folder, err := cacheFolder()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoEngine, err)
	}
	if path, ok := findEngine(folder); ok {
		return path, nil
	}
	path, err := buildEngine(ctx, folder)
	if err != nil {
		return "", fmt.Errorf("%w: %s is neither in %s nor in PATH and cannot be built: %w",
			ErrNoEngine, engineName, folder, err)
	}
	return path, nil
}

func cacheFolder() (string, error) {
	if cache := os.Getenv("HOLDFAST_TEST_CACHE"); cache != "" {
		return filepath.Abs(filepath.Join(cache, "bin"))
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".cache", "holdfast", "bin"), nil
}

func findEngine(folder string) (string, bool) {
	for _, name := range []string{filepath.Join(folder, engineName), engineName} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

func buildEngine(ctx context.Context, folder string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(ctx, filepath.Join(folder, engineName+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if path, ok := findEngine(folder); ok {
		return path, nil // built while we waited
	}
	// Built aside and renamed: others look for the program without the lock and
	// must not find half of it.
	aside, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(aside)
	if err := goInstall(ctx, aside); err != nil {
		return "", err
	}
	path := filepath.Join(folder, engineName)
	return path, os.Rename(filepath.Join(aside, engineName), path)
}

func goInstall(ctx context.Context, bin string) error {
	cmd := exec.CommandContext(ctx, "go", "install", engineModule)
	cmd.Dir = bin // outside of any module of ours
	// An inherited GOFLAGS=-mod=… or target platform would break the install.
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=-trimpath", "GOOS=", "GOARCH=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go install %s: %w: %s", engineModule, err, out[max(0, len(out)-maxOutput):])
	}
	return nil
}
