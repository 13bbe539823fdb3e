package litmus

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// SuiteKey names a suite of one version of litmus.
type SuiteKey struct {
	Version string // of litmus, such as "0.17"
	Suite   string // such as "locks"
}

// Baseline holds the names of the tests that every suite must run, in order. All of them must pass, so
// no outcome is kept.
//
// As text, a line "VERSION SUITE COUNT" stands above the names of its tests, each indented by a tab.
// Lines that begin with "#" are comments.
type Baseline map[SuiteKey][]string

const baselineComment = `# The tests that litmus runs, by version and suite. Every one must pass without a warning, and none may
# be skipped; this file has no way to say otherwise. Written by: go test ./litmus -run Litmus -update
`

// Keys returns the suites of the baseline, sorted.
func (b Baseline) Keys() []SuiteKey {
	return slices.SortedFunc(maps.Keys(b), func(x, y SuiteKey) int {
		return strings.Compare(x.Version+" "+x.Suite, y.Version+" "+y.Suite)
	})
}

// Differences returns what is wrong with a suite that a version of litmus ran, a sentence each: an
// outcome other than pass, a test that the baseline does not have, one that did not run. An empty result
// means that the suite is as it should be.
func (b Baseline) Differences(version string, s Suite) []string {
	var diffs []string
	for _, t := range s.Blemishes() {
		diffs = append(diffs, fmt.Sprintf("%s: %s %s", t.Name, t.Outcome, t.Text))
	}
	want, ok := b[SuiteKey{version, s.Name}]
	if !ok {
		return append(diffs, fmt.Sprintf("suite %s of litmus %s is not in the baseline", s.Name, version))
	}
	got := s.Names()
	if len(got) != len(want) {
		diffs = append(diffs, fmt.Sprintf("%d tests ran, the baseline has %d", len(got), len(want)))
	}
	for i := range max(len(got), len(want)) {
		if g, w := at(got, i), at(want, i); g != w {
			return append(diffs, fmt.Sprintf("test %d is %q, the baseline has %q", i, g, w))
		}
	}
	return diffs
}

// at returns the i-th name, or "" beyond the end.
func at(names []string, i int) string {
	if i >= len(names) {
		return ""
	}
	return names[i]
}

// WriteTo writes the baseline in its text form.
func (b Baseline) WriteTo(w io.Writer) (int64, error) {
	var text strings.Builder
	text.WriteString(baselineComment)
	for _, key := range b.Keys() {
		fmt.Fprintf(&text, "\n%s %s %d\n", key.Version, key.Suite, len(b[key]))
		for _, name := range b[key] {
			fmt.Fprintf(&text, "\t%s\n", name)
		}
	}
	n, err := io.WriteString(w, text.String())
	return int64(n), err
}

// ReadBaseline reads the text form. A count that is not the number of names below it, a suite that
// occurs twice and a name that belongs to no suite are errors.
func ReadBaseline(r io.Reader) (Baseline, error) {
	b := Baseline{}
	counts := map[SuiteKey]int{}
	var key SuiteKey
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "\t"); ok && key != (SuiteKey{}) {
			b[key] = append(b[key], name)
			continue
		}
		var count int
		if n, err := fmt.Sscanf(line, "%s %s %d", &key.Version, &key.Suite, &count); err != nil {
			return nil, fmt.Errorf("baseline: %q: field %d: %w", line, n+1, err)
		}
		if _, twice := counts[key]; twice {
			return nil, fmt.Errorf("baseline: suite %s of litmus %s occurs twice", key.Suite, key.Version)
		}
		counts[key] = count
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	for key, count := range counts {
		if len(b[key]) != count || count == 0 {
			return nil, fmt.Errorf("baseline: suite %s of litmus %s has %d tests, not %d", key.Suite, key.Version, len(b[key]), count)
		}
	}
	return b, nil
}
