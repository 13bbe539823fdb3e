package litmus

import (
	"slices"
	"strings"
	"testing"
)

// output builds what litmus prints for a suite from the lines of its tests, each drawn twice.
func output(summary string, tests ...string) string {
	text := "-> running `locks':\n"
	for _, line := range tests {
		drawn, _, _ := strings.Cut(line, " ") // a line is drawn without its result first
		text += "\r 0. " + drawn + " \r 0. " + line + "\n"
	}
	return text + summary
}

func TestParseSuite(t *testing.T) {
	for _, tc := range []struct {
		name string
		text string
		want []Test
	}{
		{
			"passes",
			output("<- summary for `locks': of 2 tests run: 2 passed, 0 failed. 100.0%\n", "init.......... pass", "put_get....... pass"),
			[]Test{{"init", Pass, ""}, {"put_get", Pass, ""}},
		},
		{
			"keeps the reason of a failure",
			output("<- summary for `locks': of 1 tests run: 0 passed, 1 failed. 0.0%\n", "lock_excl...... FAIL (LOCK on `/x': 500 Internal Server Error)"),
			[]Test{{"lock_excl", Fail, "LOCK on `/x': 500 Internal Server Error"}},
		},
		{
			"counts a test that passed with a warning as a warning",
			output("<- summary for `locks': of 1 tests run: 1 passed, 0 failed. 100.0%\n-> 1 warning was issued.\n",
				"cond_put_corrupt_token WARNING: PUT failed with 400 not 423\n    ...................... \r    .......... pass (with 1 warning)"),
			[]Test{{"cond_put_corrupt_token", Warning, "PUT failed with 400 not 423"}},
		},
		{
			"counts a test that warned and then failed as failed",
			output("<- summary for `locks': of 1 tests run: 0 passed, 1 failed. 0.0%\n",
				"delete........ WARNING: odd\n    ...................... FAIL (worse)"),
			[]Test{{"delete", Fail, "odd; worse"}},
		},
		{
			"keeps both of two warnings",
			output("<- summary for `locks': of 1 tests run: 1 passed, 0 failed. 100.0%\n-> 2 warnings were issued.\n",
				"delete........ WARNING: odd\n    ...................... WARNING: odder\n    ...................... pass (with 2 warnings)"),
			[]Test{{"delete", Warning, "odd; odder"}},
		},
		{
			"keeps skipped tests",
			output("<- summary for `locks': of 1 tests run: 1 passed, 0 failed. 100.0%\n-> 1 test was skipped.\n", "init......... pass", "lock......... SKIPPED (no locks here)"),
			[]Test{{"init", Pass, ""}, {"lock", Skipped, "no locks here"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := ParseSuite(strings.NewReader(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != "locks" || !slices.Equal(s.Tests, tc.want) {
				t.Errorf("got %+v, want %+v", s, tc.want)
			}
		})
	}
}

func TestParseSuiteRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                        "",
		"a suite without summary":        output("", "init..... pass"),
		"a count that the lines lack":    output("<- summary for `locks': of 2 tests run: 2 passed, 0 failed. 100.0%\n", "init..... pass"),
		"a failure without a line":       output("<- summary for `locks': of 1 tests run: 0 passed, 1 failed. 0.0%\n", "init..... pass"),
		"a word it does not know":        output("<- summary for `locks': of 1 tests run: 1 passed, 0 failed. 100.0%\n", "init..... OOPS"),
		"a skip the summary lacks":       output("<- summary for `locks': of 0 tests run: 0 passed, 0 failed. 0.0%\n", "init..... SKIPPED"),
		"two suites":                     output("", "init..... pass") + output("<- summary for `locks': of 1 tests run: 1 passed, 0 failed.\n", "init..... pass"),
		"a program that did not start":   "sh: 1: litmus: not found\n",
		"a server that does not respond": "-> running `basic':\n 0. init..... FAIL (could not connect)\n",
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := ParseSuite(strings.NewReader(text)); err == nil {
				t.Errorf("read as %+v", s)
			}
		})
	}
}
