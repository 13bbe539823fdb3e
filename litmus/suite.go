package litmus

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Outcome is what litmus says about one test.
type Outcome string

// The outcomes litmus knows. A test that passes with a warning has the outcome Warning: many of the
// status codes that RFC 4918 requires are no more than warnings to litmus.
const (
	Pass    Outcome = "pass"
	Warning Outcome = "WARNING"
	Fail    Outcome = "FAIL"
	Skipped Outcome = "SKIPPED"
)

// Test is one test of a suite.
type Test struct {
	Name    string
	Outcome Outcome
	// Text is what litmus says besides: the reason of a failure or a skip, the text of each warning.
	Text string
}

// Suite is one suite as litmus reported it.
type Suite struct {
	Name string // such as "basic"
	// Tests in the order they ran. A name may occur more than once, such as propget.
	Tests []Test
}

// Names returns the names of the suite's tests in order.
func (s Suite) Names() []string {
	names := make([]string, len(s.Tests))
	for i, t := range s.Tests {
		names[i] = t.Name
	}
	return names
}

// Blemishes returns every test that did anything but pass without a word.
func (s Suite) Blemishes() []Test {
	var tests []Test
	for _, t := range s.Tests {
		if t.Outcome != Pass {
			tests = append(tests, t)
		}
	}
	return tests
}

// count returns how many tests have the outcome.
func (s Suite) count(o Outcome) int {
	n := 0
	for _, t := range s.Tests {
		if t.Outcome == o {
			n++
		}
	}
	return n
}

var (
	suiteLine   = regexp.MustCompile("^-> running `([a-z_-]+)':$")
	testLine    = regexp.MustCompile(`^ *\d+\. ([A-Za-z0-9_]+)\.* (.+)$`)
	furtherLine = regexp.MustCompile(`^ +\.{4,} (.+)$`)
	summaryLine = regexp.MustCompile("^<- summary for `([a-z_-]+)': of (\\d+) tests run: (\\d+) passed, (\\d+) failed\\.")
	skippedLine = regexp.MustCompile(`^-> (\d+) tests? (?:was|were) skipped\.`)
)

// summary is what litmus counted itself.
type summary struct {
	run, passed, failed, skipped int
}

// ParseSuite reads what one suite printed. It is an error if there is not exactly one suite, if the
// suite broke off before its summary, or if the lines and litmus' own counts differ: then something was
// printed that this parser does not understand, and it must not pass for a success.
func ParseSuite(r io.Reader) (Suite, error) {
	var (
		s     Suite
		sum   *summary
		lines = bufio.NewScanner(r)
	)
	for lines.Scan() {
		line := lastDrawn(lines.Text())
		if m := suiteLine.FindStringSubmatch(line); m != nil {
			if s.Name != "" {
				return s, fmt.Errorf("suites %s and %s in one output", s.Name, m[1])
			}
			s.Name = m[1]
			continue
		}
		if m := summaryLine.FindStringSubmatch(line); m != nil {
			sum = &summary{run: number(m[2]), passed: number(m[3]), failed: number(m[4])}
			continue
		}
		if m := skippedLine.FindStringSubmatch(line); m != nil && sum != nil {
			sum.skipped = number(m[1])
			continue
		}
		s.add(line)
	}
	if err := lines.Err(); err != nil {
		return s, fmt.Errorf("read litmus' output: %w", err)
	}
	return s, s.check(sum)
}

// add takes a line about a test. A test that warned has a further line with its final word.
func (s *Suite) add(line string) {
	if m := testLine.FindStringSubmatch(line); m != nil {
		s.Tests = append(s.Tests, Test{Name: m[1], Outcome: outcomeOf(m[2]), Text: textOf(m[2])})
		return
	}
	m := furtherLine.FindStringSubmatch(line)
	if m == nil || len(s.Tests) == 0 {
		return
	}
	last := &s.Tests[len(s.Tests)-1]
	switch o := outcomeOf(m[1]); o {
	case Pass: // "pass (with 1 warning)": the warning stands
	case Warning, last.Outcome:
		last.Text += "; " + textOf(m[1])
	default:
		last.Outcome, last.Text = o, last.Text+"; "+textOf(m[1])
	}
}

// check compares the tests with litmus' own counts.
func (s Suite) check(sum *summary) error {
	if s.Name == "" {
		return errors.New("litmus ran no suite")
	}
	if sum == nil {
		return fmt.Errorf("suite %s broke off after %d tests", s.Name, len(s.Tests))
	}
	seen := summary{
		passed:  s.count(Pass) + s.count(Warning),
		failed:  s.count(Fail),
		skipped: s.count(Skipped),
	}
	seen.run = seen.passed + seen.failed
	// A suite that gives up early counts tests as skipped without a line for each of them.
	if seen.run != sum.run || seen.passed != sum.passed || seen.failed != sum.failed || seen.skipped > sum.skipped {
		return fmt.Errorf("suite %s: lines add up to %+v, the summary says %+v", s.Name, seen, *sum)
	}
	return nil
}

// lastDrawn returns the text after the last carriage return: litmus draws a line once when the test
// starts and again when it ends.
func lastDrawn(line string) string {
	line = strings.TrimRight(line, "\r ")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

// outcomeOf reads the word that a result begins with. Words unknown here are failures.
func outcomeOf(result string) Outcome {
	for _, o := range []Outcome{Pass, Warning, Skipped} {
		if strings.HasPrefix(result, string(o)) {
			return o
		}
	}
	return Fail
}

// textOf returns what a result says after its first word.
func textOf(result string) string {
	_, text, _ := strings.Cut(result, " ")
	if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		text = text[1 : len(text)-1]
	}
	return text
}

// number reads digits that a pattern has matched already.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
