package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"holdfast/server"
	"holdfast/store"
)

// asProgram makes the test binary be the program, so that signals and exit
// statuses are tested on a real process.
const asProgram = "HOLDFAST_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// invoke runs the program in this process.
func invoke(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, err strings.Builder
	status = run(args, strings.NewReader(stdin), &out, &err)
	return status, out.String(), err.String()
}

func TestExitStatus(t *testing.T) {
	data := t.TempDir()
	if status, _, stderr := invoke("secret\n", "user", "add", "alice", "--data", data); status != 0 {
		t.Fatal(stderr)
	}
	empty := t.TempDir()
	for _, c := range []struct {
		outcome, stdin, args string
		status               int
		says                 string // on either stream
	}{
		{"help", "", "--help", 0, "serve"},
		{"version", "", "version", 0, "holdfast"},
		{"unknown command", "", "fly", 2, "fly"},
		{"unknown flag", "", "serve --fly", 2, "--fly"},
		{"flag of a later version", "", "serve --tls-cert x", 2, "--tls-cert"},
		{"unknown kind of database", "", "serve --db mysql://x", 2, "--db"},
		{"unknown kind of database for a user", "", "user list --db postgres://x", 2, "--db"},
		{"unknown kind of database for migrations", "", "migrate status --db postgres://x", 2, "--db"},
		{"unknown kind of objects", "", "check --blobs ftp://x", 2, "--blobs"},
		{"unknown login", "", "serve --auth ntlm", 2, "--auth"},
		{"bad size", "", "serve --quota 1GB", 2, "--quota"},
		{"anonymous for everybody", "", "serve --anonymous --addr :0", 2, "--anonymous"},
		{"negative size", "", "serve --quota -1", 2, "--quota: needs a size"},
		{"negative size given another way", "", "serve --quota=-1", 2, `size "-1" is not`},
		{"negative size to set", "", "user set alice --quota -5", 2, "--quota: needs a size that is not negative"},
		{"negative size of a flag without a default", "", "serve --inline-max -5", 2, "--inline-max: needs a size that is not negative"},
		{"negative end", "", "locks set / --user alice --until -5h", 2, "--until: needs a time that is not negative"},
		{"endless days", "", "locks set / --user alice --until 99999d", 2, `--until: "99999d" from now is too long`},
		{"endless hours", "", "account add alice x --until 9999999h30m", 2, `--until: "9999999h30m" from now is too long`},
		{"no time", "", "account add alice x --until 5x", 2, `--until: "5x" is neither a time`},
		{"no size at all", "", "user add bob --quota", 2, "--quota: needs a size"},
		{"negative time", "", "serve --lock-max -1s", 2, "--lock-max: needs a time"},
		{"too much memory", "", "serve --inline-max 2MiB", 2, "--inline-max"},
		{"blocked path", "", "serve --blocked-names a/b", 2, "--blocked-names"},
		{"administrator of a bad name", "", "serve --admin-user a/b", 2, `--admin-user: "a/b" cannot be a user: a user name has`},
		{"no such user", "x\n", "user passwd bob --data " + data, 1, `user "bob" does not exist`},
		{"no such user to set", "", "user set bob --admin --data " + data, 1, `user "bob" does not exist`},
		{"no such user to disable", "", "user disable bob --data " + data, 1, `user "bob" does not exist`},
		{"no such user to remove", "", "user remove bob --data " + data, 1, `user "bob" does not exist`},
		{"user exists", "x\n", "user add alice --data " + data, 1, `user "alice" exists already`},
		{"user exists in another case", "x\n", "user add ALICE --data " + data, 1, `user "ALICE" exists already`},
		{"bad user name", "x\n", "user add a/b --data " + data, 1, `"a/b" cannot be a user: a user name has letters`},
		{"long user name", "x\n", "user add " + strings.Repeat("a", 65) + " --data " + data, 1, "1 to 64 characters"},
		{"reserved user name", "x\n", "user add Anonymous --data " + data, 1, "reserved"},
		{"reserved user gets no password", "x\n", "user passwd anonymous --data " + data, 1, "reserved"},
		{"reserved user gets no role", "", "user set anonymous --admin --data " + data, 1, "reserved"},
		{"no password", "", "user add bob --data " + data, 1, "bad password: it is empty"},
		{"empty password", "\n", "user add bob --data " + data, 1, "bad password: it is empty"},
		{"endless password", strings.Repeat("x", 1<<20), "user add bob --data " + data, 1, "bad password: it is longer than 1024 bytes"},
		{"nothing to set", "", "user set alice --data " + data, 2, "nothing"},
		{"no database to list", "", "user list --data " + empty, 1, "no database"},
		{"no database to check", "", "check --data " + empty, 1, "no database"},
		{"no database to migrate", "", "migrate down --data " + empty, 1, "no database"},
		{"sound data", "", "check --data " + data, 0, ""},
		{"migrations", "", "migrate status --data " + data, 0, "applied"},
		{"migrated already", "", "migrate up --data " + data, 0, "version"},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			status, stdout, stderr := invoke(c.stdin, strings.Fields(c.args)...)
			if status != c.status || !strings.Contains(stdout+stderr, c.says) {
				t.Errorf("status %d, want %d and %q\n%s%s", status, c.status, c.says, stdout, stderr)
			}
			if strings.Contains(stderr, "store: ") {
				t.Errorf("names a package: %s", stderr)
			}
		})
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("looking made something: %v, %v", left, err)
	}
}

func TestUserLife(t *testing.T) {
	data := t.TempDir()
	step := func(stdin, want string, args ...string) {
		t.Helper()
		status, _, stderr := invoke(stdin, append(args, "--data", data)...)
		if status != 0 {
			t.Fatalf("%v: %s", args, stderr)
		}
		_, list, _ := invoke("", "user", "list", "--data", data)
		got := strings.Join(strings.Fields(list[strings.Index(list, "\n"):]), " ")
		if got != want {
			t.Errorf("after %v:\n%s\nwant %s", args, got, want)
		}
	}
	step("secret\r\n", "bob admin active 0 5MiB", "user", "add", "bob", "--admin", "--quota", "5MiB")
	step("", "bob user active 0 1KiB Bob B.", "user", "set", "bob", "--admin=false", "--force", "--quota", "1024", "--name", "Bob B.")
	step("", "bob user disabled 0 1KiB Bob B.", "user", "disable", "bob")
	step("", "bob user active 0 1KiB Bob B.", "user", "disable", "bob", "--undo")
	step("other", "bob user active 0 1KiB Bob B.", "user", "passwd", "bob")
	step("", "", "user", "remove", "bob")
}

func TestTheLastAdministratorStays(t *testing.T) {
	data := t.TempDir()
	step := func(want int, args ...string) {
		t.Helper()
		status, _, stderr := invoke("x\n", append(append([]string{"user"}, args...), "--data", data)...)
		if status != want || want == 1 && !strings.Contains(stderr, "last administrator") {
			t.Errorf("%v: status %d, want %d: %s", args, status, want, stderr)
		}
	}
	step(0, "add", "root", "--admin")
	step(0, "add", "other", "--admin")
	step(0, "add", "bob")
	step(0, "disable", "other") // root is left
	for _, name := range []string{"root", "ROOT"} {
		step(1, "remove", name)
		step(1, "disable", name)
		step(1, "set", name, "--admin=false")
	}
	step(0, "set", "root", "--admin", "--quota", "5MiB")
	step(0, "remove", "bob")
	step(0, "set", "other", "--admin=false") // is none who could log in
	step(0, "disable", "other", "--undo")
	step(1, "disable", "root")
	step(0, "disable", "root", "--force")
	step(0, "disable", "root", "--undo")
	step(0, "set", "root", "--admin=false", "--force")
	step(0, "remove", "root")
}

func TestPlain(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("open data: %w", store.ErrBusy), "open data: database busy"},
		{errors.Join(store.ErrNoSpace, store.ErrUnavailable), "no space left\nbody store unavailable"},
		{errors.New("open store: /srv/store: x"), "open store: /srv/store: x"},
	} {
		if got := plain(c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestFlagsAndDefaultConfigAgree: the defaults stand in two places, for programs
// and in the tags for people.
func TestFlagsAndDefaultConfigAgree(t *testing.T) {
	for _, name := range os.Environ() {
		if key, _, _ := strings.Cut(name, "="); strings.HasPrefix(key, "HOLDFAST_") {
			t.Setenv(key, "") // restored at the end
			os.Unsetenv(key)
		}
	}
	var c commands
	parser, err := kong.New(&c, kong.Exit(func(int) { t.Error("exit") }), sizes, times, moments)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"serve"}); err != nil {
		t.Fatal(err)
	}
	got, want := c.Serve.Config, server.DefaultConfig()
	got.Storage, got.Grace = c.Storage, want.Grace
	if !reflect.DeepEqual(got, want) {
		t.Errorf("flags give\n%+v\nDefaultConfig is\n%+v", got, want)
	}
}

func TestEveryServeFlagHasItsVariable(t *testing.T) {
	var c commands
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	for _, node := range parser.Model.Children {
		if node.Name != "serve" {
			continue
		}
		for _, group := range node.AllFlags(true) {
			for _, flag := range group {
				if flag.Name == "help" {
					continue
				}
				flags++
				want := "HOLDFAST_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
				if len(flag.Envs) != 1 || flag.Envs[0] != want {
					t.Errorf("--%s: variables %v, want %s", flag.Name, flag.Envs, want)
				}
			}
		}
	}
	if flags < 20 {
		t.Errorf("saw only %d flags", flags)
	}
}

func TestVariablesOfServeDoNotReachUsers(t *testing.T) {
	data := t.TempDir()
	t.Setenv("HOLDFAST_DATA", data)
	t.Setenv("HOLDFAST_QUOTA", "1GiB")
	t.Setenv("HOLDFAST_ADMIN", "true")
	if status, _, stderr := invoke("x\n", "user", "add", "bob", "--quota", "1KiB"); status != 0 {
		t.Fatal(stderr)
	}
	if status, _, stderr := invoke("", "user", "set", "bob", "--name", "Bob"); status != 0 {
		t.Fatal(stderr)
	}
	_, list, _ := invoke("", "user", "list")
	if !regexp.MustCompile(`bob +user +active +0 +1KiB`).MatchString(list) {
		t.Error(list)
	}
}

// process is the program as a process of its own.
type process struct {
	*exec.Cmd
	url string
	out *bufio.Reader
	log chan string
}

func launch(t *testing.T, data string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), self, "serve", "--data", data, "--addr", "127.0.0.1:0", "--sync", "normal")}
	p.Env = append(os.Environ(), asProgram+"=1", "HOLDFAST_ADMIN_PASSWORD=secret")
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // it has ended unless the test failed
	p.out, p.log = bufio.NewReader(stdout), make(chan string, 100)
	go func() {
		defer close(p.log)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.log <- lines.Text()
		}
	}()
	address := regexp.MustCompile(`listening addr=(\S+)`)
	for line := range p.log {
		if found := address.FindStringSubmatch(line); found != nil {
			p.url = "http://" + found[1]
			return p
		}
	}
	t.Fatal("never listened")
	return nil
}

// until reads the log to the line that contains text.
func (p *process) until(t *testing.T, text string) {
	t.Helper()
	for line := range p.log {
		if strings.Contains(line, text) {
			return
		}
	}
	t.Fatalf("the log ended without %q", text)
}

// upload begins a PUT that ends when the pipe is closed, and returns when the
// server reads it.
func (p *process) upload(t *testing.T) (*io.PipeWriter, <-chan string) {
	t.Helper()
	body, pipe := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, p.url+"/dav/f", body)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("admin", "secret")
	req.Header.Set("Expect", "100-continue")
	outcome := make(chan string, 1)
	go func() {
		resp, err := (&http.Transport{ExpectContinueTimeout: time.Minute}).RoundTrip(req)
		if err != nil {
			outcome <- err.Error()
			return
		}
		resp.Body.Close()
		outcome <- resp.Status
	}()
	if _, err := io.WriteString(pipe, "half"); err != nil {
		t.Fatal(err)
	}
	return pipe, outcome
}

func TestSignals(t *testing.T) {
	t.Run("the first lets requests finish and users be managed beside", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "data")
		p := launch(t, data)
		if status, _, stderr := invoke("pw\n", "user", "add", "bob", "--data", data); status != 0 {
			t.Errorf("beside the server: %s", stderr)
		}
		if status, _, stderr := invoke("", "check", "--data", data); status != 0 {
			t.Errorf("beside the server: %s", stderr)
		}
		pipe, outcome := p.upload(t)
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.until(t, "stopping")
		if err := pipe.Close(); err != nil {
			t.Fatal(err)
		}
		if got := <-outcome; got != "201 Created" {
			t.Errorf("upload: %s", got)
		}
		p.until(t, "stopped")
		if err := p.Wait(); err != nil {
			t.Errorf("exit: %v", err)
		}
	})
	t.Run("the second ends at once", func(t *testing.T) {
		p := launch(t, t.TempDir())
		pipe, _ := p.upload(t)
		defer pipe.Close()
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		p.until(t, "stopping")
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("exit: %v", err)
		}
	})
}

func TestHints(t *testing.T) {
	p := launch(t, t.TempDir())
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(p.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{p.url + "/dav/", "Finder", "Windows Explorer", "rclone", "davfs2"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is missing in %s", part, text)
		}
	}
	p.until(t, "stopped")
	if err := p.Wait(); err != nil {
		t.Error(fmt.Errorf("exit: %w", err))
	}
}
