package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// tinyRun are options under which every figure runs and none takes time.
func tinyRun(t *testing.T) *options {
	o := defaults()
	o.rounds, o.slice, o.listing, o.limit = 2, 20*time.Millisecond, 50*time.Millisecond, 5*time.Minute
	o.clients, o.entries, o.tree = []int{1, 2}, []int{10}, 5
	o.locks, o.bigBytes = []int{1, 5, 20}, 3<<20+1
	o.log = t.Output()
	return o
}

// TestRun runs every figure on the real servers. What the figures are is not its affair: it fails if a
// request does.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the servers, not under -short")
	}
	o := tinyRun(t)
	r, err := o.run(t.Context())
	if r == nil {
		t.Fatal(err)
	}
	for _, fault := range r.faults() {
		// On a busy machine two rounds of 20 ms may say anything about speed.
		if !strings.Contains(fault, "of the speed") {
			t.Error(fault)
		}
	}
	for _, row := range r.rows {
		for i, result := range row.results {
			if len(result.rates) != o.rounds {
				t.Errorf("%s on %s: %d rounds", row.figure, row.targets[i].name, len(result.rates))
			}
			if len(result.times) != result.ok {
				t.Errorf("%s on %s: %d times of %d successes", row.figure, row.targets[i].name, len(result.times), result.ok)
			}
		}
	}
	figures, locks := len(o.figures(t.Context()))*len(o.clients), len(o.lockFigures(t.Context()))*len(o.clients)
	if len(r.rows) != figures || len(r.locks) != locks || len(r.beside) != len(o.clients) || len(r.states) != 2*len(o.clients) || len(r.big) != 2 {
		t.Errorf("%d rows, %d with locks, %d beside changes, %d of states, %d large bodies; want %d, %d, %d, %d, 2",
			len(r.rows), len(r.locks), len(r.beside), len(r.states), len(r.big), figures, locks, len(o.clients), 2*len(o.clients))
	}
	checkReport(t, r)
}

// checkReport looks at the report in both forms.
func checkReport(t *testing.T, r *report) {
	t.Helper()
	var text bytes.Buffer
	r.markdown(&text)
	for row := range strings.Lines(text.String()) {
		if cells := strings.Count(row, "|") - 1; strings.HasPrefix(row, "|") && cells != 6 && cells != 7 && cells != 5 && cells != 4 {
			t.Errorf("%d cells: %s", cells, row)
		}
	}
	text.Reset()
	if err := r.json(&text); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(text.String()) {
		if lines++; !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if want := 1 + 2*len(r.rows) + 3*len(r.locks) + 2*len(r.beside) + 2*len(r.states) + len(r.big); lines != want {
		t.Errorf("%d lines, want %d", lines, want)
	}
}

// sampleRow is a row of results on servers with these names.
func sampleRow(servers []string, results ...outcome) row {
	r := row{figure: "GET", clients: 8, results: results}
	for _, name := range servers {
		r.targets = append(r.targets, &target{name: name, server: &server{name: name}})
	}
	return r
}

func TestFaults(t *testing.T) {
	good := outcome{ok: 3, rates: []float64{100, 100, 100}}
	slow := outcome{ok: 3, rates: []float64{40, 40, 40}}
	failing := outcome{ok: 3, rates: good.rates, failures: map[string]int{"GET 500": 2, "GET 423": 1}}
	pair, three := []string{holdfast, xnet}, []string{holdfast, holdfast, holdfast}
	for _, test := range []struct {
		name string
		r    report
		want string // of the one fault; "" is none
	}{
		{"all is well", report{rows: []row{sampleRow(pair, good, good)}}, ""},
		{"a failure of Holdfast", report{rows: []row{sampleRow(pair, failing, good)}}, "GET, 8 clients, holdfast: 3 of 6 failed: 1 x GET 423, 2 x GET 500"},
		{"a failure of the other server", report{rows: []row{sampleRow(pair, good, failing)}}, ""},
		{"a figure that Holdfast lacks", report{rows: []row{sampleRow(pair, outcome{skipped: "out of time"}, good)}}, "GET, 8 clients, holdfast: skipped: out of time"},
		{"nothing measured", report{rows: []row{sampleRow(pair, outcome{}, good)}}, "GET, 8 clients, holdfast: nothing was measured"},
		{"as fast beside many locks", report{locks: []row{sampleRow(three, good, good, good)}}, ""},
		{"slow beside many locks", report{locks: []row{sampleRow(three, good, good, slow)}}, "GET, 8 clients: 0.400 of the speed of holdfast is left with holdfast"},
		{"slow beside changes", report{beside: []row{sampleRow(pair, good, slow)}}, "GET, 8 clients: 0.400 of the speed of holdfast is left with x/net"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.r.o = defaults()
			if got := strings.Join(test.r.faults(), "\n"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestCells(t *testing.T) {
	fast := outcome{ok: 2, rates: []float64{2000, 3000}, times: []time.Duration{time.Millisecond}}
	slow := outcome{ok: 2, rates: []float64{1000, 1500}, times: []time.Duration{2500 * time.Microsecond}}
	r := sampleRow([]string{holdfast, xnet}, fast, slow)
	if got := strings.Join(r.sideBySide(), " | "); got != "GET | 8 | 2500 | 1250 | 2.00 | 1.00 / 2.50" {
		t.Error(got)
	}
	if got := strings.Join(r.against(), " | "); got != "GET | 8 | 2500 | 1250 | 0.500" {
		t.Error(got)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{12345.6: "12346", 99.96: "100.0", 12.34: "12.3", 1.234: "1.23", 0.0456: "0.046"} {
		if got := number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func TestSetClients(t *testing.T) {
	o := defaults()
	if err := o.setClients("1, 4,64"); err != nil || len(o.clients) != 3 || o.clients[2] != 64 {
		t.Error(o.clients, err)
	}
	for _, list := range []string{"", "0", "65", "1,x", "-1"} {
		if err := o.setClients(list); err == nil {
			t.Errorf("%q was taken", list)
		}
	}
}
