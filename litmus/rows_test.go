package litmus

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// requirements and reports are how many ids of a kind there are: R01 to R114 are what
// clients require, B01 to B101 reports about servers that failed one.
const (
	requirements = 114
	reports      = 101
)

// TestRows holds testdata/clients.txt to its own rules: every id has a line, each test
// that a line names is there, and one of them carries the id in its name.
func TestRows(t *testing.T) {
	text, err := os.ReadFile("testdata/clients.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, err := readProofs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range known.faults(string(text)) {
		t.Error(fault)
	}
}

// proofs are the tests of the module that a line may name.
type proofs struct {
	tests       map[string]string // the text of each test function, by "package.TestName"
	table       map[string]bool   // ids in the names of the rows of dav/testdata/table.txt
	transcripts []string          // names of the scenarios
}

// testFunction is a test function with its text.
var testFunction = regexp.MustCompile(`(?ms)^func (Test\w+)\(.*?^}$`)

// readProofs reads what the folder of the module holds.
func readProofs(root string) (proofs, error) {
	p := proofs{tests: map[string]string{}, table: map[string]bool{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		for _, m := range testFunction.FindAllStringSubmatch(string(text), -1) {
			p.tests[filepath.ToSlash(folder)+"."+m[1]] = m[0]
		}
		return err
	})
	if err != nil {
		return p, err
	}
	text, err := os.ReadFile(filepath.Join(root, "dav/testdata/table.txt"))
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(line, ": "); ok && line[0] != '#' {
			for _, id := range ids.FindAllString(name, -1) {
				p.table[id] = true
			}
		}
	}
	all, err := readTranscripts(transcriptFolder)
	for _, t := range all {
		p.transcripts = append(p.transcripts, t.name)
	}
	return p, err
}

var (
	rowLine   = regexp.MustCompile(`^([RB]\d{2,3}) ([^|]+) \| (.+)$`)
	ids       = regexp.MustCompile(`\b[RB]\d{2,3}\b`)
	departure = regexp.MustCompile(`^departs: (RFC \d+ \d[\d.]*|measure): .{20,}$`)
)

// faults says what is wrong with the list, a sentence each.
func (p proofs) faults(text string) (faults []string) {
	want := allIDs()
	named := map[string]bool{} // proofs that some line names
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		m := rowLine.FindStringSubmatch(line)
		if m == nil {
			faults = append(faults, fmt.Sprintf("line %d is not of the form: ID words | proof; proof", i+1))
			continue
		}
		if len(want) == 0 || want[0] != m[1] {
			return append(faults, fmt.Sprintf("line %d is of %s, want %s", i+1, m[1], strings.Join(want[:min(1, len(want))], "")))
		}
		want = want[1:]
		for _, fault := range p.unproven(m[1], m[3], named) {
			faults = append(faults, fmt.Sprintf("%s: %s", m[1], fault))
		}
	}
	if len(want) > 0 {
		faults = append(faults, fmt.Sprintf("%s has no line", want[0]))
	}
	return append(faults, p.unnamed(named)...)
}

// allIDs are the ids in the order of the list.
func allIDs() (ids []string) {
	for i := range requirements {
		ids = append(ids, fmt.Sprintf("R%02d", i+1))
	}
	for i := range reports {
		ids = append(ids, fmt.Sprintf("B%02d", i+1))
	}
	return ids
}

// unproven says what is wrong with the right side of a line, and notes what it names.
func (p proofs) unproven(id, list string, named map[string]bool) (faults []string) {
	tests, carried := 0, false
	for proof := range strings.SplitSeq(list, "; ") {
		kind, name, _ := strings.Cut(proof, ": ")
		known := true
		switch kind {
		case "departs":
			if !departure.MatchString(proof) {
				faults = append(faults, fmt.Sprintf("%q is not of the form: departs: RFC NUMBER SECTION: why", proof))
			}
			continue
		case "table":
			known = p.table[id] && name == ""
		case "transcript":
			known = slices.Contains(p.transcripts, name)
		default:
			known = p.hasTest(proof)
		}
		if !known {
			faults = append(faults, fmt.Sprintf("there is no test %q of it", proof))
		}
		tests++
		named[proof] = true
		carried = carried || kind == "table" || carries(proof, id)
	}
	switch {
	case tests == 0:
		faults = append(faults, "no test is named")
	case !carried:
		faults = append(faults, "no test carries the id in its name")
	}
	return faults
}

// carries reports whether a name has the id in it, and not one that begins like it.
func carries(name, id string) bool {
	_, rest, found := strings.Cut(name, id)
	return found && (rest == "" || rest[0] < '0' || rest[0] > '9' || carries(rest, id))
}

// hasTest reports whether there is a test, or the test and in it the name of a subtest.
func (p proofs) hasTest(proof string) bool {
	dot := strings.LastIndex(strings.SplitN(proof, ".Test", 2)[0], "/") + 1
	slash := strings.Index(proof[dot:], "/")
	if slash < 0 {
		return p.tests[proof] != ""
	}
	test, sub := proof[:dot+slash], proof[dot+slash+1:]
	return p.tests[test] != "" && (strings.Contains(p.tests[test], `"`+sub+`"`) || strings.Contains(p.tests[test], "`"+sub+"`"))
}

// unnamed says which scenarios no line names.
func (p proofs) unnamed(named map[string]bool) (faults []string) {
	for _, scenario := range p.transcripts {
		if !named["transcript: "+scenario] {
			faults = append(faults, fmt.Sprintf("nothing names the scenario %q", scenario))
		}
	}
	return faults
}

// TestRowsFaults shows that the list's own test can fail.
func TestRowsFaults(t *testing.T) {
	p := proofs{
		tests:       map[string]string{"store.TestX": `{"a part"}`, "store.TestXR03": "{}", "store.TestXR030": "{}"},
		table:       map[string]bool{"R01": true, "R02": true},
		transcripts: []string{"mount"},
	}
	var rest strings.Builder
	for _, id := range allIDs()[3:] {
		p.table[id] = true
		rest.WriteString(id + " words | table\n")
	}
	const r1, r2, r3 = "R01 words | table; transcript: mount\n", "R02 words | table; store.TestX/a part\n",
		"R03 words | departs: RFC 4918 9.1: a reason that says something; store.TestXR03\n"
	for _, row := range []struct{ head, want string }{
		{"# a remark\n\n" + r1 + r2 + r3, ""},
		{r1 + r3 + r2, "line 2 is of R03, want R02"},
		{r1 + r2, "line 3 is of R04, want R03"},
		{r1 + r2 + "R03 words\n" + r3, "line 3 is not of the form"},
		{r1 + r2 + "R03 words | departs: RFC 4918 9.1: a reason that says something\n", "R03: no test is named"},
		{r1 + r2 + "R03 words | store.TestX; store.TestXR030\n", "R03: no test carries the id in its name"},
		{r1 + r2 + "R03 words | departs: because; store.TestXR03\n", "is not of the form: departs"},
		{r1 + r2 + "R03 words | store.TestW\n", `R03: there is no test "store.TestW" of it`},
		{r1 + r2 + "R03 words | store.TestX/another part\n", `R03: there is no test`},
		{r1 + r2 + "R03 words | table\n", `R03: there is no test`},
		{"R01 words | table: R01; transcript: mount\n" + r2 + r3, `R01: there is no test "table: R01" of it`},
		{r1 + r2 + "R03 words | transcript: unmount\n", `R03: there is no test`},
		{"R01 words | table\n" + r2 + r3, `nothing names the scenario "mount"`},
	} {
		faults := strings.Join(p.faults(row.head+rest.String()), "\n")
		if row.want == "" && faults != "" || !strings.Contains(faults, row.want) {
			t.Errorf("%s\nhas the faults %q, want %q", row.head, faults, row.want)
		}
	}
	last := strings.TrimSuffix(rest.String(), "B101 words | table\n")
	if faults := p.faults(r1 + r2 + r3 + last); !slices.Contains(faults, "B101 has no line") {
		t.Errorf("a list that was cut has the faults %q", faults)
	}
}
