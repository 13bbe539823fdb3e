package litmus

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// example is a command of the README and what it prints: nothing is said of it when says is empty.
type example struct{ command, says string }

// apiExamples are those of the README's section about the API, in order. A command is one or more lines, up to
// the line "#=> " with the output, in which "…" stands for anything; other comments are for people.
func apiExamples(t *testing.T) (all []example) {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## API\n")
	_, block, _ := strings.Cut(section, "```sh\n")
	block, _, found := strings.Cut(block, "```\n")
	if !found {
		t.Fatal("the README has no examples of the API")
	}
	var command []string
	for line := range strings.Lines(block) {
		says, isOutput := strings.CutPrefix(line, "#=> ")
		switch {
		case isOutput:
			all = append(all, example{strings.Join(command, ""), strings.TrimSpace(says)})
			command = nil
		case !strings.HasPrefix(line, "#"):
			command = append(command, line)
		}
	}
	return append(all, example{command: strings.Join(command, "")})
}

// TestClientReadme: the README's examples of the API do what it says, typed into one shell.
func TestClientReadme(t *testing.T) {
	m := thisMachine(t, "bash", "curl", "grep")
	s := startServer(t, folderBacking(t))
	const end = "-- end of an example --"
	var script bytes.Buffer
	all := apiExamples(t)
	for _, e := range all {
		script.WriteString(e.command + "\necho; echo '" + end + "'\n")
	}
	typed := strings.ReplaceAll(script.String(), "http://127.0.0.1:8080", s.URL)
	m.write(t, typed, "examples.sh")
	out := m.run(t, "", "env", "PASSWORD="+s.password, "bash", "-eu", "-c", "cd '"+m.inside+"' && . ./examples.sh")
	printed := strings.Split(out, end)
	if len(all) < 10 || len(printed) != len(all)+1 {
		t.Fatalf("%d examples, %d outputs:\n%s", len(all), len(printed)-1, out)
	}
	for i, e := range all {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(e.says), "…", "(?s:.*)")
		if !regexp.MustCompile(pattern).MatchString(strings.TrimSpace(printed[i])) {
			t.Errorf("%s\nprints\n%s\nand should\n%s", e.command, printed[i], e.says)
		}
	}
}
