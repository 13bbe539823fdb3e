package litmus

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestBaselineDifferences(t *testing.T) {
	b := Baseline{{"1", "locks"}: {"init", "lock", "unlock"}}
	pass := func(names ...string) Suite {
		s := Suite{Name: "locks"}
		for _, name := range names {
			s.Tests = append(s.Tests, Test{Name: name, Outcome: Pass})
		}
		return s
	}
	with := func(o Outcome) Suite {
		s := pass("init", "lock", "unlock")
		s.Tests[1] = Test{"lock", o, "why"}
		return s
	}
	for _, tc := range []struct {
		name    string
		version string
		suite   Suite
		want    []string
	}{
		{"accepts what it names", "1", pass("init", "lock", "unlock"), nil},
		{"refuses a failure", "1", with(Fail), []string{"lock: FAIL why"}},
		{"refuses a warning", "1", with(Warning), []string{"lock: WARNING why"}},
		{"refuses a skip", "1", with(Skipped), []string{"lock: SKIPPED why"}},
		{"refuses a missing test", "1", pass("init", "lock"), []string{"2 tests ran, the baseline has 3", `test 2 is "", the baseline has "unlock"`}},
		{"refuses a further test", "1", pass("init", "lock", "unlock", "bomb"), []string{"4 tests ran, the baseline has 3", `test 3 is "bomb", the baseline has ""`}},
		{"refuses another test", "1", pass("init", "locks", "unlock"), []string{`test 1 is "locks", the baseline has "lock"`}},
		{"refuses another version", "2", pass("init", "lock", "unlock"), []string{"suite locks of litmus 2 is not in the baseline"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := b.Differences(tc.version, tc.suite); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestBaselineText(t *testing.T) {
	t.Run("survives writing and reading", func(t *testing.T) {
		b := Baseline{{"0.17", "http"}: {"init", "put", "put"}, {"0.13", "basic"}: {"init"}}
		var text strings.Builder
		if _, err := b.WriteTo(&text); err != nil {
			t.Fatal(err)
		}
		got, err := ReadBaseline(strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(got, b, slices.Equal) {
			t.Errorf("got %v, want %v", got, b)
		}
	})
	for name, text := range map[string]string{
		"refuses a wrong count":          "0.17 http 2\n\tinit\n",
		"refuses a suite without tests":  "0.17 http 0\n",
		"refuses a suite that repeats":   "0.17 http 1\n\tinit\n0.17 http 1\n\tinit\n",
		"refuses a name without a suite": "\tinit\n",
		"refuses a waiver":               "0.17 http 1\n\tinit\nallow init WARNING\n",
	} {
		t.Run(name, func(t *testing.T) {
			if b, err := ReadBaseline(strings.NewReader(text)); err == nil {
				t.Errorf("read as %v", b)
			}
		})
	}
}
