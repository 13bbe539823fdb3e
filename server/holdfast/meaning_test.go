package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdfast/server"
	"holdfast/store"
)

// TestEmptyNamesNothing: a script's variable that was never set does not widen
// what a command does.
func TestEmptyNamesNothing(t *testing.T) {
	b := newBench(t)
	b.ok("", "team", "add", "crew", "--owner", "alice")
	for _, c := range []string{
		"account add alice k --team=", "account add alice k --root=", "account add alice @", "account add @ k", "account list @",
		"account remove alice @", "locks set @ --user alice", "locks set / --user=", "locks set / --user alice --team=",
		"locks list --user=", "locks list --of=", "locks list --team=", "locks list --origin=", "locks release @ --user alice",
		"locks release / --user=", "locks release / --user alice --team=", "team add @", "team add x --owner=", "team list @",
		"team member @ bob", "team member crew @", "team member crew bob --role=", "team remove @", "user add @", "user passwd @",
		"user set @ --admin", "user disable @", "user remove @", "user list --db=", "user list --blobs=", "serve --addr x --db=",
		"serve --addr x --admin-user=", "serve --addr x --cache=", "serve --addr x --blocked-names=", "serve --addr x --public-url=",
	} {
		args := strings.Fields(c)
		for i, arg := range args {
			if arg == "@" {
				args[i] = ""
			}
		}
		t.Run(c, func(t *testing.T) { (&bench{t, b.data}).refused(2, ": must not be empty", args...) })
		if name, given := strings.CutSuffix(args[len(args)-1], "="); given {
			apart := append(args[:len(args)-1:len(args)-1], name, "")
			t.Run(c+" apart", func(t *testing.T) { (&bench{t, b.data}).refused(2, name+": must not be empty", apart...) })
		}
	}
	b.wants("accounts", table(b.ok("", "account", "list")), "")
	b.wants("locks", table(b.ok("", "locks", "list")), "")

	b.ok("", "locks", "set", "/", "--user", "alice", "--note", "")
	b.ok("", "user", "set", "alice", "--name", "Alice L.")
	b.ok("", "user", "set", "alice", "--name", "")
	b.wants("names", strings.Fields(b.ok("", "user", "list"))[7], "alice")
	b.ok("", "account", "add", "alice", "k", "--root", "/")
	b.wants("the root by its name", table(b.ok("", "account", "list"))[:14], "alice k alice:")
}

func TestArgumentsAreUTF8(t *testing.T) {
	b := newBench(t)
	b.refused(2, "argument 3 is not UTF-8", "locks", "set", "caf\xe9", "--user", "alice")
	b.refused(2, "argument 4 is not UTF-8", "locks", "list", "--user", "\xff")
	b.refused(2, "argument 3 is not UTF-8", "locks", "list", "--user=\xed\xa0\x80")
	if status, stdout, stderr := invoke("", "user", "list", "\x9b2J"); status != 2 || strings.Contains(stdout+stderr, "\x9b") {
		t.Errorf("status %d: %q", status, stdout+stderr)
	}
}

// older takes the data some migrations back.
func (b *bench) older(to int64) {
	b.t.Helper()
	for {
		if b.ok("", "migrate", "down") == fmt.Sprintf("version %d\n", to) {
			return
		}
	}
}

// file is the database's.
func (b *bench) file() string { return filepath.Join(b.data, "holdfast.db") }

func (b *bench) database() []byte {
	b.t.Helper()
	data, err := os.ReadFile(b.file())
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

// sql changes the database behind the commands' back; ?1 is hostile.
func (b *bench) sql(statements ...string) {
	b.t.Helper()
	db, err := sql.Open("sqlite", b.file())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.ExecContext(b.t.Context(), s, hostile); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.t.Fatal(err)
	}
}

// TestOnlyServersMigrate: a command beside an older server does not shut it out.
func TestOnlyServersMigrate(t *testing.T) {
	b := &bench{t, t.TempDir()}
	if _, err := store.Migrate(t.Context(), "sqlite:"+b.file(), true); err != nil {
		t.Fatal(err)
	}
	b.older(3)
	before := b.database()
	const says = "the database is of version 3, this program needs 6: run holdfast migrate up, or start the server"
	for _, c := range []string{
		"user list", "user set alice --name x", "user disable alice", "user remove alice", "team list", "team add crew",
		"account list", "account add alice k", "locks list", "locks set / --user alice", "locks expire", "check",
	} {
		b.refused(1, says, strings.Fields(c)...)
		if !bytes.Equal(b.database(), before) {
			t.Fatalf("%s changed the database", c)
		}
	}
	if status, _, stderr := invoke("secret\n", "user", "passwd", "alice", "--data", b.data); status != 1 || !strings.Contains(stderr, says) {
		t.Errorf("user passwd: status %d\n%s", status, stderr)
	}
	b.ok("secret\n", "user", "add", "alice")
	b.wants("locks", table(b.ok("", "locks", "list")), "")

	b.sql(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (7, 1)`)
	b.refused(1, "the database is of version 7, this program needs 6\n", "user", "list")
}

// hostile turns text around and has the control character that begins commands
// to a terminal, in a form that names of files may have.
const hostile = "\u202e\u009b2m"

// TestLinesStayLines: what somebody chose reaches the terminal as text only.
func TestLinesStayLines(t *testing.T) {
	b := newBench(t)
	b.ok("", "team", "add", "crew", "--owner", "alice")
	b.ok("", "account", "add", "alice", "k")
	st, err := server.Storage{Data: b.data}.OpenStore(t.Context(), false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	user, err := st.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	path := "/d" + hostile
	if _, err := st.Mkdir(t.Context(), store.Target{Workspace: user.Workspace(), Path: store.ParsePath(path)}, store.Patch{}, store.Holder(user.ID)); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	b.ok("", "account", "add", "alice", "j", "--root", path)
	// As a release that allowed such names left them.
	b.sql("UPDATE users SET name = name || ?1, name_key = name_key || ?1, display_name = 'D' || ?1 WHERE name != 'bob'",
		"UPDATE teams SET name = name || ?1, name_key = name_key || ?1", "UPDATE accounts SET name = name || ?1")
	alice, root, crew := "alice"+hostile, "root"+hostile, "crew"+hostile
	for _, c := range []struct {
		status int
		quoted string // what is quoted, "" for nothing
		args   []string
	}{
		{0, alice, []string{"user", "list"}},
		{0, "D" + hostile, []string{"user", "list"}},
		{0, crew, []string{"team", "list"}},
		{0, alice, []string{"team", "list", crew}},
		{0, root, []string{"team", "add", "other"}},
		{1, root, []string{"team", "member", "other", root}},
		{0, "k" + hostile, []string{"account", "list", alice}},
		{0, alice, []string{"account", "list"}},
		{1, "j" + hostile, []string{"account", "add", "bob", "j" + hostile}},
		{0, alice + ":" + path, []string{"account", "list"}},
		{0, path, []string{"locks", "set", path, "--user", alice}},
		{1, path, []string{"locks", "set", path, "--user", alice}},
		{0, "", []string{"locks", "set", "/", "--user", alice, "--team", crew, "--note", "n" + hostile}},
		{0, alice, []string{"locks", "list"}},
		{0, alice + ":" + path, []string{"locks", "list"}},
		{0, "team " + crew + ":/", []string{"locks", "list"}},
		{0, "n" + hostile, []string{"locks", "list"}},
		{1, path, []string{"locks", "release", path, "--user", alice, "--team", crew}},
		{0, path, []string{"locks", "release", "--id", "1"}},
		{1, path, []string{"locks", "release", path, "--user", alice}},
		{1, "E" + hostile, []string{"user", "set", alice, "--name", "E" + hostile}},
		{1, "", []string{"team", "add", "x" + hostile}},
		{2, "", []string{"user", "list", "x" + hostile}},
	} {
		status, stdout, stderr := invoke("", append(c.args, "--data", b.data)...)
		text := stdout + stderr
		if status != c.status {
			t.Errorf("%q: status %d, want %d\n%s", c.args, status, c.status, stderr)
		}
		for line := range strings.Lines(text) {
			if !prints(strings.TrimSuffix(line, "\n")) {
				t.Errorf("%q prints %q", c.args, line)
			}
		}
		if quoted := strconv.Quote(c.quoted); c.quoted != "" && !strings.Contains(text, quoted) {
			t.Errorf("%q prints\n%swithout %s", c.args, text, quoted)
		}
	}
	b.wants("name to show", strings.Fields(table(b.ok("", "user", "list")))[5], strconv.Quote("D"+hostile))
}

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"letters of any script", "Å 日本 עברית", "Å 日本 עברית"},
		{"quotes", `say "hi"`, `say "hi"`},
		{"nothing", "", ""},
		{"an escape", "\x1b[2J", `"\x1b[2J"`},
		{"a line end", "a\nb", `"a\nb"`},
		{"a control character of Latin-1", "\u009b", `"\u009b"`},
		{"a byte that is not UTF-8", "\x9b2J", `"\x9b2J"`},
		{"a turn", "a\u202eb", `"a\u202eb"`},
		{"no width", "a\u200bb", `"a\u200bb"`},
		{"a line end of Unicode", "a\u2028b", `"a\u2028b"`},
		{"the wrong character for bytes", "\ufffd", "\ufffd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := printable(c.text); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
