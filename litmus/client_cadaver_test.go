package litmus

import (
	"regexp"
	"strings"
	"testing"
)

// cadaver runs a script of cadaver's commands in the server's folder "cadaver". Each command must succeed.
func cadaver(t *testing.T, m *machine, s *server, commands ...string) string {
	t.Helper()
	script := "open " + s.dav("cadaver") + "/\n" + strings.Join(commands, "\n") + "\nquit\n"
	log := m.run(t, script, "cadaver")
	if strings.Contains(log, "failed") || strings.Contains(log, "Could not") {
		t.Fatalf("a command of cadaver failed:\n%s", log)
	}
	return log
}

// quoted puts a name as cadaver's command line takes it.
func quoted(name string) string { return `"` + name + `"` }

func TestClientCadaver(t *testing.T) {
	t.Run("current", func(t *testing.T) { useCadaver(t, sandbox(t)) })
	t.Run("of the release", func(t *testing.T) { useCadaver(t, thisMachine(t, "cadaver")) })
}

func useCadaver(t *testing.T, m *machine) {
	s := startServer(t, folderBacking(t))
	m.netrc(t, s, ".netrc") // in what is the program's home
	if r := s.do(t, "MKCOL", s.dav("cadaver")+"/", ""); r.status != 201 {
		t.Fatalf("MKCOL: %d %s", r.status, r.body)
	}
	for _, name := range oddNames {
		t.Run(name, func(t *testing.T) { lockPutGet(t, m, s, name) })
	}
}

var stolenToken = regexp.MustCompile(`<(urn:uuid:[^>]+)>`)

// lockPutGet locks a name that does not exist yet, fills it under the lock, and goes away. A second
// session takes the lock over, a third gives it back.
func lockPutGet(t *testing.T, m *machine, s *server, name string) {
	first, second := "first of cadaver: "+name, "second of cadaver: "+name
	m.write(t, first, "first.txt")
	m.write(t, second, "second.txt")
	cadaver(t, m, s, "lock "+quoted(name), "put first.txt "+quoted(name))
	s.holds(t, first, "cadaver", name)
	if n := s.activeLocks(t, "cadaver", name); n != 1 {
		t.Errorf("%d locks after the session that locked, want 1", n)
	}
	if r := s.do(t, "PUT", s.dav("cadaver", name), "without the token"); r.status != 423 {
		t.Errorf("PUT without the token: %d, want 423", r.status)
	}

	log := cadaver(t, m, s, "steal "+quoted(name), "put second.txt "+quoted(name), "get "+quoted(name)+" "+quoted("down "+name), "ls")
	s.holds(t, second, "cadaver", name)
	if got := m.read(t, "down "+name); got != second {
		t.Errorf("cadaver brought back %s, want %s", clip(got), second)
	}
	if !strings.Contains(log, " "+name+" ") {
		t.Errorf("cadaver does not list %s:\n%s", name, log)
	}
	token := stolenToken.FindStringSubmatch(log)
	if token == nil {
		t.Fatalf("steal shows no lock token:\n%s", log)
	}
	// A session that did not take the lock itself asks for the token.
	log = cadaver(t, m, s, "unlock "+quoted(name), token[1])
	if n := s.activeLocks(t, "cadaver", name); n != 0 {
		t.Errorf("%d locks after unlock, want none:\n%s", n, log)
	}
	moveCopyDelete(t, m, s, name, second)
}

// moveCopyDelete locks and unlocks in one session, and then moves, copies and deletes.
func moveCopyDelete(t *testing.T, m *machine, s *server, name, content string) {
	folder := "in " + name
	moved := quoted(folder + "/" + name)
	cadaver(t, m, s, "lock "+quoted(name), "unlock "+quoted(name), "mkcol "+quoted(folder), "move "+quoted(name)+" "+moved,
		"copy "+moved+" "+quoted("copy of "+name), "delete "+moved, "rmcol "+quoted(folder))
	s.lacks(t, "cadaver", name)
	s.lacks(t, "cadaver", folder, name)
	s.holds(t, content, "cadaver", "copy of "+name)
	s.lacks(t, "cadaver", folder)
}
