package lockns_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// laterDoors are the parts of the product that are not built yet and that the
// table may give a line to.
var laterDoors = []string{"the REST sidecar", "WOPI", "PostgreSQL and MySQL", "the web page"}

// TestContract holds contract.txt to its own rules: each line of the lock
// contract names tests that are there, or the door that will bring them, or
// both.
func TestContract(t *testing.T) {
	text, err := os.ReadFile("contract.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := allTests(t)
	lines := 0
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		lines++
		rule, proofs, found := strings.Cut(line, "|")
		if !found || strings.TrimSpace(rule) == "" {
			t.Errorf("line %d is not of the form: rule | tests", i+1)
			continue
		}
		for _, fault := range unproven(proofs, known) {
			t.Errorf("line %d, %q: %s", i+1, strings.TrimSpace(rule), fault)
		}
	}
	if lines < 200 {
		t.Errorf("%d lines: the table was cut", lines)
	}
}

// unproven says what is wrong with the right side of a line: tests, or
// "later: DOOR", separated by semicolons.
func unproven(proofs string, known map[string]bool) (faults []string) {
	for proof := range strings.SplitSeq(proofs, ";") {
		proof = strings.TrimSpace(proof)
		door, later := strings.CutPrefix(proof, "later: ")
		switch {
		case proof == "":
			faults = append(faults, "has neither a test nor a door")
		case later && !slices.Contains(laterDoors, door):
			faults = append(faults, "names the unknown door "+door)
		case !later && !known[proof]:
			faults = append(faults, "names the test "+proof+", which there is not")
		}
	}
	return faults
}

// TestContractFaults shows that the table's own test can fail.
func TestContractFaults(t *testing.T) {
	known := map[string]bool{"store.TestX": true, "store.TestX/a rule": true}
	for proofs, want := range map[string]int{
		"store.TestX": 0, "store.TestX/a rule; later: WOPI": 0, "": 1, "store.TestY": 1, "store.TestX/another rule": 1,
		"later: never": 1, "store.TestX;": 1,
	} {
		if got := unproven(proofs, known); len(got) != want {
			t.Errorf("%q has the faults %q, want %d", proofs, got, want)
		}
	}
}

// allTests are the tests of the module: "store.TestX" for each test function,
// and "store.TestX/NAME" for each string written in it, whichever of them become
// names of subtests.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != ".." {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			return testsOf(path, known)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}

func testsOf(path string, known map[string]bool) error {
	tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir, err := filepath.Rel("..", filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
			continue
		}
		name := filepath.ToSlash(dir) + "." + f.Name.Name
		known[name] = true
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					known[name+"/"+text] = true
				}
			}
			return true
		})
	}
	return nil
}
