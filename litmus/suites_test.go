package litmus

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/blob/blobtest"
)

// suites are litmus' standard ones, in its own order.
var suites = []string{"basic", "copymove", "props", "locks", "http"}

// installation is one version of litmus.
type installation struct {
	version string
	machine func(*testing.T) *machine
}

// installations has every version that .ci/setup brings. The older one sends XML bodies without a
// Content-Type and is what distributions still ship; the newer one checks more.
var installations = []installation{
	{"0.13", func(t *testing.T) *machine { return thisMachine(t, "litmus") }},
	{"0.17", sandbox},
}

// backing says where a server keeps its bodies.
type backing struct {
	name      string
	args, env []string
}

// folderBacking is the default: SQLite and a folder.
func folderBacking(*testing.T) backing { return backing{name: "folder"} }

// s3Backing starts an S3 engine that ends with the test.
func s3Backing(t *testing.T) backing {
	t.Helper()
	need(t, true, "") // under -short no engine is started or built
	o := blobtest.StartS3(t)
	return backing{
		name: "s3",
		args: []string{"--blobs", "s3://" + o.Endpoint + "/" + o.Bucket + "?insecure=true&region=us-east-1"},
		env:  []string{"HOLDFAST_S3_ACCESS_KEY=" + o.AccessKey, "HOLDFAST_S3_SECRET_KEY=" + o.SecretKey},
	}
}

func TestLitmus(t *testing.T) {
	baseline := readBaseline(t)
	seen := Baseline{}
	for _, on := range []struct {
		name    string
		backing func(*testing.T) backing
	}{{"folder", folderBacking}, {"s3", s3Backing}} {
		for _, as := range []struct {
			name string
			args []string
		}{{"login", nil}, {"anonymous", anonymous}} {
			t.Run(on.name+"/"+as.name, func(t *testing.T) {
				s := startServer(t, on.backing(t), as.args...)
				for _, litmus := range installations {
					t.Run(litmus.version, func(t *testing.T) {
						runSuites(t, s, s.dav()+"/", litmus, baseline, seen)
					})
				}
			})
		}
	}
	if *update && !t.Failed() {
		writeBaseline(t, baseline, seen)
	}
}

// TestLitmusOnATeam runs the suites on the workspace of a team, whose name has letters that its URL
// escapes.
func TestLitmusOnATeam(t *testing.T) {
	baseline := readBaseline(t)
	s := startServer(t, folderBacking(t))
	mount := s.addTeam(t, "R&D Köln (test)")
	for _, litmus := range installations {
		t.Run(litmus.version, func(t *testing.T) {
			runSuites(t, s, mount, litmus, baseline, Baseline{})
		})
	}
}

// runSuites runs every suite of one version on a mount, each by itself: a suite that fails does not hide
// the next.
func runSuites(t *testing.T, s *server, mount string, litmus installation, baseline, seen Baseline) {
	m := litmus.machine(t)
	if out := strings.TrimSpace(m.run(t, "", "litmus", "--version")); out != "litmus "+litmus.version {
		t.Fatalf("this is %q, want litmus %s", out, litmus.version)
	}
	for _, name := range suites {
		t.Run(name, func(t *testing.T) {
			suite := runSuite(t, m, s, mount, name)
			seen[SuiteKey{litmus.version, name}] = suite.Names()
			compare := baseline
			if *update {
				compare = seen // so that only outcomes can differ
			}
			for _, diff := range compare.Differences(litmus.version, suite) {
				t.Error(diff)
			}
			for _, test := range suite.Blemishes() {
				t.Logf("from litmus' debug.log:\n%s", trace(m, test.Name))
			}
		})
	}
}

// runSuite runs one suite and reads what it printed. litmus exits with 1 when a test fails, which its
// lines tell better.
func runSuite(t *testing.T, m *machine, s *server, mount, name string) Suite {
	t.Helper()
	argv := append([]string{"env", "TESTS=" + name, "litmus", mount}, s.credentials()...)
	output, err := m.command(t, "", argv...)
	suite, bad := ParseSuite(strings.NewReader(output))
	if bad != nil {
		t.Fatalf("%v (%v); its output:\n%s\ndebug.log ends:\n%s", bad, err, output, trace(m, ""))
	}
	if suite.Name != name {
		t.Fatalf("ran suite %q, want %q", suite.Name, name)
	}
	if err != nil && len(suite.Blemishes()) == 0 {
		t.Errorf("every test passes, yet litmus ends with %v:\n%s", err, output)
	}
	return suite
}

// trace returns what debug.log, which litmus leaves in the folder it runs in, says about a test; the end
// of the log if it does not name the test.
func trace(m *machine, test string) string {
	const most = 8 << 10
	bytes, err := os.ReadFile(filepath.Join(m.folder, "debug.log"))
	if err != nil {
		return err.Error()
	}
	log := string(bytes)
	if _, after, found := strings.Cut(log, ": "+test+" *****"); found {
		log, _, _ = strings.Cut(after, "***** Running test ")
	}
	return log[max(0, len(log)-most):]
}

const baselineFile = "testdata/baseline.txt"

// readBaseline reads the baseline. It must name the suites that TestLitmus runs, no more and no less.
func readBaseline(t *testing.T) Baseline {
	t.Helper()
	file, err := os.Open(baselineFile)
	if err != nil {
		if *update && os.IsNotExist(err) {
			return Baseline{}
		}
		t.Fatal(err)
	}
	defer file.Close()
	b, err := ReadBaseline(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// writeBaseline takes over the suites that ran and keeps the others.
func writeBaseline(t *testing.T, b, seen Baseline) {
	t.Helper()
	for key, names := range seen {
		b[key] = names
	}
	var text bytes.Buffer
	if _, err := b.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(baselineFile, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestBaselineHasEverySuite(t *testing.T) {
	var want []SuiteKey
	for _, litmus := range installations {
		for _, name := range suites {
			want = append(want, SuiteKey{litmus.version, name})
		}
	}
	got := readBaseline(t).Keys()
	for _, key := range want {
		if !slices.Contains(got, key) {
			t.Errorf("the baseline lacks %v", key)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the baseline has %d suites, want %d", len(got), len(want))
	}
}
