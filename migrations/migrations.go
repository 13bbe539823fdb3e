// Package migrations embeds the SQL that builds the database, one folder a
// dialect, and the golden schema that the whole of it must arrive at.
//
// A migration is a program in package store: it checks all data first and says
// which row fails and why, then runs the files of the steps folder, which are
// named by the migration's number, and fills in what SQL cannot compute.
package migrations

import "embed"

// SQLite holds the folder "sqlite".
//
//go:embed sqlite
var SQLite embed.FS
