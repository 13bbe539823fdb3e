package store_test

import (
	"errors"
	"os"
	"testing"

	"holdfast/blob"
	"holdfast/store"
)

// keepSchema opens the database without a migration and returns what it refused.
func (d *database) keepSchema() *store.SchemaError {
	d.t.Helper()
	blobs, err := blob.NewDir(d.t.TempDir(), blob.DirOptions{})
	must(d.t, err)
	s, err := store.Open(d.t.Context(), store.Options{DB: d.url(), Blobs: blobs, KeepSchema: true})
	if err == nil {
		must(d.t, s.Close())
		return nil
	}
	var schema *store.SchemaError
	if !errors.As(err, &schema) {
		d.t.Fatalf("error %v, want a *SchemaError", err)
	}
	return schema
}

// bytes are those of the database and of its log, "" for a file that is not.
func (d *database) bytes() [2]string {
	d.t.Helper()
	var all [2]string
	for i, name := range []string{d.name, d.name + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			d.t.Fatal(err)
		}
		all[i] = string(data)
	}
	return all
}

// TestKeepSchema: a store that is to keep the schema opens a database of its own
// version only, and leaves any other one byte for byte.
func TestKeepSchema(t *testing.T) {
	left := func(t *testing.T, d *database, version int64) {
		t.Helper()
		before := d.bytes()
		refused := d.keepSchema()
		if refused == nil {
			t.Fatal("it was opened")
		}
		wantEqual(t, "refused", *refused, store.SchemaError{Version: version, Needs: 6})
		if d.bytes() != before {
			t.Error("the database has changed")
		}
	}
	t.Run("one of this version is opened", func(t *testing.T) {
		if refused := filled(t, 6).keepSchema(); refused != nil {
			t.Error(refused)
		}
	})
	t.Run("an older one is left alone", func(t *testing.T) {
		d := filled(t, 3)
		must(t, d.db.Close())
		left(t, d, 3)
	})
	t.Run("a newer one is left alone", func(t *testing.T) {
		d := filled(t, 6)
		d.do(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (7, 1)`)
		must(t, d.db.Close())
		left(t, d, 7)
	})
	t.Run("the log that a crash left is left too", func(t *testing.T) {
		d, crashed := filled(t, 3), newDatabase(t)
		d.do(`UPDATE users SET name = 'Hopper' WHERE id = 3`)
		for i, data := range d.bytes() {
			must(t, os.WriteFile(crashed.name+[]string{"", "-wal"}[i], []byte(data), 0o600))
		}
		if crashed.bytes()[1] == "" {
			t.Fatal("there is no log")
		}
		left(t, crashed, 3)
	})
	t.Run("a file without a schema stays empty", func(t *testing.T) {
		d := newDatabase(t)
		must(t, os.WriteFile(d.name, nil, 0o600))
		left(t, d, 0)
	})
	t.Run("a missing one is not made", func(t *testing.T) {
		d := newDatabase(t)
		if _, err := store.Open(t.Context(), store.Options{DB: d.url(), KeepSchema: true}); err == nil {
			t.Error("it was opened")
		}
		if exists(d.name) {
			t.Error("it was made")
		}
	})
}
