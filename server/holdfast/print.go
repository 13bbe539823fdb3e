package main

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// printable is a text that somebody chose, a name or a path, as a terminal may
// see it: quoted when a character of it would move the cursor, turn the text
// around, or not be seen.
func printable(text string) string {
	if prints(text) {
		return text
	}
	return strconv.Quote(text)
}

// prints reports whether all of a text is seen on a terminal, on one line. Bytes
// that are not UTF-8 do not: a terminal may take them for control characters.
func prints(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// minute is a time for a table, local and to the minute.
func minute(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// day is a date for a table.
func day(t time.Time) string { return t.Local().Format(time.DateOnly) }

// plain is the text of an error without the name of the package at its head:
// people who run commands know none.
func plain(err error) string {
	return strings.TrimPrefix(strings.NewReplacer(": store: ", ": ", "\nstore: ", "\n").Replace(err.Error()), "store: ")
}
