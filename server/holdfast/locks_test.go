package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// bench is a folder of data on which commands are run.
type bench struct {
	t    *testing.T
	data string
}

// newBench has the users root (an administrator), alice and bob.
func newBench(t *testing.T) *bench {
	b := &bench{t, t.TempDir()}
	b.ok("secret\n", "user", "add", "root", "--admin")
	b.ok("secret\n", "user", "add", "alice")
	b.ok("secret\n", "user", "add", "bob")
	return b
}

// ok runs a command that must succeed and returns what it printed.
func (b *bench) ok(stdin string, args ...string) string {
	b.t.Helper()
	status, stdout, stderr := invoke(stdin, append(args, "--data", b.data)...)
	if status != 0 {
		b.t.Fatalf("%v: status %d\n%s", args, status, stderr)
	}
	return stdout
}

// refused runs a command that must fail with a status and say why.
func (b *bench) refused(status int, says string, args ...string) {
	b.t.Helper()
	got, stdout, stderr := invoke("", append(args, "--data", b.data)...)
	if got != status || !strings.Contains(stderr, says) {
		b.t.Errorf("%v: status %d, want %d and %q\n%s%s", args, got, status, says, stdout, stderr)
	}
	if strings.Contains(stderr, "store: ") {
		b.t.Errorf("%v names a package: %s", args, stderr)
	}
}

// table is the printed table without its head, blanks as one.
func table(text string) string {
	_, rows, _ := strings.Cut(text, "\n")
	var lines []string
	for line := range strings.Lines(rows) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func (b *bench) wants(what, got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

func TestTeamLife(t *testing.T) {
	b := newBench(t)
	b.wants("added", b.ok("", "team", "add", "Crew One"), "team Crew One, owned by root: /teams/Crew%20One/\n")
	b.ok("", "team", "add", "crew", "--owner", "alice", "--quota", "1MiB")
	b.refused(1, `team "CREW" exists already`, "team", "add", "CREW")
	b.refused(1, `user "eve" does not exist`, "team", "add", "x", "--owner", "eve")
	b.refused(1, "a name", "team", "add", "a/b")
	b.wants("teams", table(b.ok("", "team", "list")), "crew 1 0 1MiB /teams/crew/\nCrew One 1 0 - /teams/Crew%20One/")

	b.ok("", "team", "member", "crew", "bob")
	today := time.Now().Format(time.DateOnly)
	b.wants("members", table(b.ok("", "team", "list", "crew")), "alice owner active "+today+"\nbob member active "+today)
	b.refused(1, "is member of team", "team", "member", "crew", "BOB")
	b.ok("", "team", "member", "crew", "bob", "--role", "owner")
	b.ok("", "team", "member", "crew", "alice", "--role", "viewer")
	b.refused(1, "only owner", "team", "member", "crew", "bob", "--role", "admin")
	b.refused(1, "only owner", "team", "member", "crew", "bob", "--remove")
	b.refused(2, "exclude each other", "team", "member", "crew", "bob", "--remove", "--role", "admin")
	b.refused(2, "--role", "team", "member", "crew", "bob", "--role", "king")
	b.refused(1, "does not exist", "team", "member", "crew", "eve")
	b.ok("", "team", "member", "crew", "alice", "--remove")
	b.wants("members", table(b.ok("", "team", "list", "crew")), "bob owner active "+today)

	b.ok("", "team", "remove", "crew")
	b.refused(1, `team "crew" does not exist`, "team", "remove", "crew")
	b.refused(1, `team "crew" does not exist`, "team", "list", "crew")
	b.wants("check", b.ok("", "check"), "")
}

func TestTeamNeedsAnOwner(t *testing.T) {
	b := &bench{t, t.TempDir()}
	b.ok("secret\n", "user", "add", "alice")
	b.refused(1, "--owner", "team", "add", "crew")
}

func TestAccountLife(t *testing.T) {
	b := newBench(t)
	b.ok("", "team", "add", "crew")
	password := regexp.MustCompile(`^hf-[a-z2-7]{32}\n`)
	first := b.ok("", "account", "add", "alice", "phone", "--until", "2999-01-31T18:00")
	second := b.ok("", "account", "add", "root", "desk", "--team", "crew", "--read-only")
	if !password.MatchString(first) || !password.MatchString(second) || first[:35] == second[:35] {
		t.Errorf("app passwords %q and %q", first, second)
	}
	b.refused(1, `app password "phone" of user "alice" exists already`, "account", "add", "alice", "phone")
	b.refused(1, "not a member", "account", "add", "alice", "x", "--team", "crew")
	b.refused(1, "does not exist", "account", "add", "alice", "x", "--root", "/nowhere")
	b.refused(1, "reserved", "account", "add", "anonymous", "x")
	b.refused(2, "--until", "account", "add", "alice", "x", "--until", "soon")
	b.refused(1, "ended before it began", "account", "add", "alice", "x", "--until", "2001-01-31")
	want := "alice phone everything write no - 2999-01-31 18:00\nroot desk team crew:/ read no - -"
	list := b.ok("", "account", "list")
	b.wants("accounts", table(list), want)
	b.wants("accounts of one", table(b.ok("", "account", "list", "root")), "root desk team crew:/ read no - -")
	if strings.Contains(list, "hf-") {
		t.Error("the list shows a password")
	}
	b.ok("", "account", "remove", "alice", "phone")
	b.refused(1, `app password "phone" of user "alice" does not exist`, "account", "remove", "alice", "phone")
	b.refused(1, `user "eve" does not exist`, "account", "list", "eve")
}

func TestLocksLife(t *testing.T) {
	b := newBench(t)
	b.ok("", "team", "add", "crew", "--owner", "alice")
	b.ok("", "team", "member", "crew", "bob")
	b.ok("", "locks", "set", "/", "--user", "alice", "--team", "crew", "--depth", "infinity", "--note", "audit\nuntil \x1b[1m", "--until", "2999-01-31")
	b.ok("", "locks", "set", "/", "--user", "bob")
	b.refused(1, "is locked already", "locks", "set", "/", "--user", "bob", "--team", "crew")
	b.refused(1, "does not exist", "locks", "set", "/nowhere", "--user", "bob")
	b.refused(1, "past", "locks", "set", "/", "--user", "root", "--until", "2001-01-31")
	b.refused(1, `user "eve" does not exist`, "locks", "set", "/", "--user", "eve")
	b.refused(1, `team "navy" does not exist`, "locks", "set", "/", "--user", "bob", "--team", "navy")
	b.refused(2, "--user is missing", "locks", "set", "/")

	crew := `1 product exclusive infinity alice 2999-01-31 00:00 team crew:/ "audit\nuntil \x1b[1m"`
	b.wants("all", table(b.ok("", "locks", "list")), crew+"\n2 product exclusive resource bob - bob:/")
	b.wants("the team's", table(b.ok("", "locks", "list", "--team", "crew")), crew)
	b.wants("bob's workspace", table(b.ok("", "locks", "list", "--of", "bob")), "2 product exclusive resource bob - bob:/")
	b.wants("alice's", table(b.ok("", "locks", "list", "--user", "alice", "--origin", "product")), crew)
	b.wants("from WebDAV", table(b.ok("", "locks", "list", "--origin", "webdav")), "")
	b.wants("expired", table(b.ok("", "locks", "list", "--expired")), "")
	b.refused(2, "--origin", "locks", "list", "--origin", "ftp")
	b.refused(2, "exclude each other", "locks", "list", "--of", "bob", "--team", "crew")

	b.refused(1, "somebody else", "locks", "release", "/", "--user", "bob", "--team", "crew")
	b.ok("", "locks", "release", "/", "--user", "bob")
	b.refused(1, "nobody set a lock", "locks", "release", "/", "--user", "bob")
	b.wants("forced", b.ok("", "locks", "release", "--id", "1"), "lock 1 on / ended\n")
	b.refused(1, "lock 1 does not exist", "locks", "release", "--id", "1")
	for _, args := range [][]string{{}, {"/"}, {"/", "--id", "1", "--user", "bob"}, {"--id", "1", "--user", "bob"}} {
		b.refused(2, "give PATH with --user, or --id", append([]string{"locks", "release"}, args...)...)
	}
}

// TestLocksExpire: the count is that of the rows that went.
func TestLocksExpire(t *testing.T) {
	b := newBench(t)
	b.wants("none", b.ok("", "locks", "expire"), "0 removed\n")
	b.ok("", "locks", "set", "/", "--user", "bob", "--until", "3s")
	b.ok("", "locks", "set", "/", "--user", "alice")
	time.Sleep(3100 * time.Millisecond)
	b.wants("listed", table(b.ok("", "locks", "list", "--expired"))[:2], "1 ")
	b.wants("one", b.ok("", "locks", "expire"), "1 removed\n")
	b.wants("left", table(b.ok("", "locks", "list")), "2 product exclusive resource alice - alice:/")
}
