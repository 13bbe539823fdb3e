package store_test

import (
	"path/filepath"
	"testing"

	"holdfast/store"
)

func TestCloseTwice(t *testing.T) {
	f := newFixture(t)
	o := f.o
	o.DB = "sqlite:" + filepath.Join(t.TempDir(), "other.db")
	s, err := store.Open(t.Context(), o)
	must(t, err)
	must(t, s.Close())
	must(t, s.Close())
	_, err = s.User(t.Context(), "ada")
	wantError(t, err, store.ErrClosed)
	wantError(t, s.RemoveUser(t.Context(), "ada", store.Actor{}), store.ErrClosed)
}
