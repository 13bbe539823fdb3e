package litmus

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// transcript is one scenario of one client: what it sends, in the order and the
// spelling it sends it in, and what it needs to come back.
type transcript struct {
	path    string   // of the file
	name    string   // the file's name without .txt
	title   string   // what the user does
	client  string   // program and version
	sources []string // where the requests were taken from
	flags   []string // further flags of "serve"; the scenario then has a server of its own
	team    bool     // the folder is a team's, which alice and bob are members of
	steps   []step
}

// step is a request and what must come back, or a pause.
type step struct {
	line    int           // of the file, counted from 1
	pause   time.Duration // a pause if above 0
	user    string        // who asks: alice, bob, nobody
	method  string
	target  string
	header  []field
	body    []string // its lines; of a chunked body, its chunks
	size    int64    // length of a body that is not spelled out, in bytes
	hasBody bool
	want    []string // statuses, one of which must come
	interim bool     // 100 must come first
	lost    bool     // the client closes the connection where an answer would be read
	closes  bool     // the server closes the connection after the answer
	checks  []check
}

// field is a line of a header, in the client's spelling.
type field struct{ name, value string }

// check is one line of what must come back.
type check struct {
	line int
	text string
	test func(answer, variables) error
}

// readTranscripts reads every scenario of a folder.
func readTranscripts(folder string) ([]transcript, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []transcript
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		t, err := parseTranscript(path, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// parseTranscript reads a scenario as testdata/transcripts/README.md describes it.
// Whatever it does not know is an error that begins with path and line.
func parseTranscript(path, text string) (transcript, error) {
	p := transcriptParser{transcript: transcript{path: path, name: strings.TrimSuffix(filepath.Base(path), ".txt")}}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		p.line = i + 1
		if err := p.take(line); err != nil {
			return transcript{}, fmt.Errorf("%s:%d: %w", path, p.line, err)
		}
	}
	if err := p.complete(); err != nil {
		return transcript{}, fmt.Errorf("%s: %w", path, err)
	}
	return p.transcript, nil
}

// transcriptParser is a scenario being read.
type transcriptParser struct {
	transcript
	line    int
	inBody  bool // an empty "> " line ended the header
	answers bool // a "<" line of the present step was read
}

// take reads one line.
func (p *transcriptParser) take(line string) error {
	mark, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "" || mark == "#":
		return nil
	case mark == ">" && p.sending():
		return p.send(rest)
	case mark == ">":
		return p.begin(rest)
	case mark == "<" && len(p.steps) > 0:
		return p.expect(rest)
	case mark == "pause":
		return p.wait(rest)
	case len(p.steps) == 0:
		return p.head(line)
	}
	return fmt.Errorf("%q begins with none of > < # pause", line)
}

// sending reports whether a ">" line goes on with the present request.
func (p *transcriptParser) sending() bool {
	return len(p.steps) > 0 && !p.answers && p.steps[len(p.steps)-1].pause == 0
}

// head reads a line above the first request.
func (p *transcriptParser) head(line string) error {
	key, value, ok := strings.Cut(line, ":")
	if value = strings.TrimSpace(value); !ok || value == "" {
		return fmt.Errorf("%q is not of the form KEY: VALUE", line)
	}
	switch key {
	case "title":
		p.title = value
	case "client":
		p.client = value
	case "source":
		p.sources = append(p.sources, value)
	case "flags":
		p.flags = strings.Fields(value)
	case "folder":
		p.team = value == "team"
		if !p.team {
			return fmt.Errorf("the folder %q is not \"team\"", value)
		}
	default:
		return fmt.Errorf("%q is none of title, client, source, flags, folder", key)
	}
	return nil
}

// firstLine is a request's first line: maybe a user, method, target.
var firstLine = regexp.MustCompile(`^(?:as (alice|bob|nobody): )?([A-Z]+) (\S+)$`)

// begin reads the first line of a request.
func (p *transcriptParser) begin(rest string) error {
	m := firstLine.FindStringSubmatch(rest)
	if m == nil {
		return fmt.Errorf("%q is not of the form METHOD TARGET", rest)
	}
	if err := p.answered(); err != nil {
		return err
	}
	s := step{line: p.line, user: m[1], method: m[2], target: m[3]}
	if s.user == "" {
		s.user = "alice"
	}
	p.steps = append(p.steps, s)
	p.inBody, p.answers = false, false
	return nil
}

// answered makes sure that the step before says what must come back.
func (p *transcriptParser) answered() error {
	if n := len(p.steps); n > 0 && p.steps[n-1].pause == 0 && !p.answers {
		return fmt.Errorf("the request of line %d has no status", p.steps[n-1].line)
	}
	return nil
}

// wait reads a pause.
func (p *transcriptParser) wait(rest string) error {
	if err := p.answered(); err != nil {
		return err
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d <= 0 || d > 10*time.Second {
		return fmt.Errorf("%q is no pause of at most 10s", rest)
	}
	p.steps = append(p.steps, step{line: p.line, pause: d})
	p.inBody, p.answers = false, false
	return nil
}

var (
	headerLine = regexp.MustCompile(`^([!#$%&'*+.^_|~0-9A-Za-z-]+): ?(.*)$`)
	sizeLine   = regexp.MustCompile(`^\((\d+) bytes\)$`)
)

// send reads a line of a header or a body.
func (p *transcriptParser) send(rest string) error {
	s := &p.steps[len(p.steps)-1]
	line, spelled := strings.CutPrefix(rest, "|")
	size := sizeLine.FindStringSubmatch(rest)
	switch {
	case rest == "" && !p.inBody:
		p.inBody = true
	case !p.inBody:
		m := headerLine.FindStringSubmatch(rest)
		if m == nil {
			return fmt.Errorf("%q is no header", rest)
		}
		s.header = append(s.header, field{m[1], m[2]})
	case spelled && s.size == 0:
		s.body, s.hasBody = append(s.body, line), true
	case size != nil && !s.hasBody:
		n, err := strconv.ParseInt(size[1], 10, 64)
		if err != nil {
			return err
		}
		s.size, s.hasBody = n, true
	default:
		return fmt.Errorf("%q is neither |TEXT nor (N bytes)", rest)
	}
	return nil
}

// statusLine is the first line of what must come back.
var statusLine = regexp.MustCompile(`^(100 )?(\d{3}(?:\|\d{3})*)$|^connection closed by the client$`)

// expect reads a line of what must come back.
func (p *transcriptParser) expect(rest string) error {
	s := &p.steps[len(p.steps)-1]
	if s.pause > 0 {
		return fmt.Errorf("a pause has no answer")
	}
	if !p.answers {
		m := statusLine.FindStringSubmatch(rest)
		if m == nil {
			return fmt.Errorf("%q is no status", rest)
		}
		p.answers = true
		s.interim, s.lost = m[1] != "", m[2] == ""
		s.want = strings.Split(m[2], "|")
		return nil
	}
	switch {
	case strings.HasPrefix(rest, "# "):
		return nil
	case rest == "closes":
		s.closes = true
		return nil
	}
	test, err := parseCheck(rest)
	if err != nil {
		return err
	}
	s.checks = append(s.checks, check{line: p.line, text: rest, test: test})
	return nil
}

// complete makes sure that nothing is missing at the end.
func (p *transcriptParser) complete() error {
	if err := p.answered(); err != nil {
		return err
	}
	switch {
	case p.title == "" || p.client == "" || len(p.sources) == 0:
		return fmt.Errorf("the head lacks one of title, client, source")
	case len(p.steps) == 0:
		return fmt.Errorf("there is no request")
	case p.steps[len(p.steps)-1].pause > 0:
		return fmt.Errorf("a pause is the last step")
	}
	return nil
}

// has returns the value of a header of the request, in any letter case.
func (s *step) has(name string) (string, bool) {
	i := slices.IndexFunc(s.header, func(f field) bool { return strings.EqualFold(f.name, name) })
	if i < 0 {
		return "", false
	}
	return s.header[i].value, true
}
