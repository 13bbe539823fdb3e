package store

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestReadersKeepTheirPlaces: a connection that cannot be replaced does not make
// the pool smaller, or the last one would leave readers waiting for ever.
func TestReadersKeepTheirPlaces(t *testing.T) {
	db, err := openSQLite(filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := newReaders(ctx, db, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	c, err := r.take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r.replace(c)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.take(ctx); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("took from a closed database: %v", err)
		}
	}
}
