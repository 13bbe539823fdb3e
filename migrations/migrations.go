// Package migrations embeds the SQL that builds the database, one folder a
// dialect, and the golden schema that the whole of it must arrive at.
//
// Files at the top of a folder are plain goose migrations. What needs a
// program between its statements (checks that say which row fails and why, keys
// that SQL cannot compute) is a Go migration in package store, which runs the
// files of the steps folder; they are named by the migration's number.
package migrations

import "embed"

// SQLite holds the folder "sqlite".
//
//go:embed sqlite
var SQLite embed.FS
