package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// row is a figure with one number of clients, on all targets.
type row struct {
	figure  string
	clients int
	targets []*target
	results []outcome
}

// rows measures figures on all targets with each number of clients.
func (o *options) rows(ctx context.Context, figures []figure, targets []*target) []row {
	var rows []row
	for _, f := range figures {
		for _, clients := range o.clients {
			r := row{f.name, clients, targets, o.compare(ctx, f, clients, targets)}
			o.progress("%s, %d clients: %s", f.name, clients, r.brief())
			rows = append(rows, r)
		}
	}
	return rows
}

// brief is what progress shows of a row.
func (r *row) brief() string {
	var parts []string
	for i := range r.results {
		parts = append(parts, r.targets[i].name+" "+rate(&r.results[i])+"/s")
	}
	return strings.Join(parts, ", ")
}

// cells are the columns of the targets in pairs: the rates of both, the ratio of their rates, the medians
// of their times. The ratio is above 1 if the first is faster; with reverse, if the second is.
func (r *row) cells(reverse bool) []string {
	cells := []string{r.figure, fmt.Sprint(r.clients)}
	for i := 0; i+1 < len(r.results); i += 2 {
		a, b := &r.results[i], &r.results[i+1]
		cells = append(cells, rate(a), rate(b), ratio(a, b, reverse), times(a)+" / "+times(b))
	}
	return cells
}

func rate(r *outcome) string {
	if r.ok == 0 {
		return "none"
	}
	return number(median(r.rates))
}

func ratio(a, b *outcome, reverse bool) string {
	if reverse {
		a, b = b, a
	}
	q, ok := pairedRatio(a.rates, b.rates)
	if !ok {
		return "-"
	}
	return number(q)
}

func times(r *outcome) string {
	if r.ok == 0 {
		return "-"
	}
	return number(float64(medianTime(r.times)) / float64(time.Millisecond))
}

// number writes a value with three digits, or as an integer if it has more.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

// report is all that a run gave.
type report struct {
	o     *options
	rows  []row
	locks []row
	big   []big
}

// faults lists what makes the run fail: a figure of Holdfast that has failures or is missing, and speed
// that falls with the number of locks. What goes wrong on the other server is its own affair; the notes
// say it.
func (r *report) faults() []string {
	var faults []string
	for _, row := range append(r.rows[:len(r.rows):len(r.rows)], r.locks...) {
		for i, t := range row.targets {
			if result := &row.results[i]; t.server.name == holdfast && (result.failed() > 0 || result.skipped != "" || result.ok == 0) {
				faults = append(faults, row.note(i))
			}
		}
	}
	for _, row := range r.locks {
		few, many := &row.results[0], &row.results[1]
		if q, ok := pairedRatio(many.rates, few.rates); ok && q < leastScale {
			faults = append(faults, fmt.Sprintf("%s, %d clients: %s of the speed is left with %d locks in place of %d",
				row.figure, row.clients, number(q), r.o.manyLocks, r.o.fewLocks))
		}
	}
	return faults
}

// note says what went wrong on a target, or "".
func (r *row) note(i int) string {
	result := &r.results[i]
	head := fmt.Sprintf("%s, %d clients, %s: ", r.figure, r.clients, r.targets[i].name)
	switch {
	case result.skipped != "":
		return head + "skipped: " + result.skipped
	case result.failed() > 0:
		return fmt.Sprintf("%s%d of %d failed: %s", head, result.failed(), result.failed()+result.ok, result.kinds())
	case result.ok == 0:
		return head + "nothing was measured"
	}
	return ""
}

// notes lists what went wrong in rows, on either server.
func notes(rows []row) []string {
	var notes []string
	for _, r := range rows {
		for i := range r.results {
			if note := r.note(i); note != "" {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// markdown writes the report as tables ready for a page.
func (r *report) markdown(w io.Writer) {
	fmt.Fprintln(w, r.o.conditions())
	table(w, r.rows, false, "figure", "clients", "Holdfast ops/s", "x/net ops/s", "ratio", "p50 ms, Holdfast / x/net")
	if len(r.locks) > 0 {
		few, many := r.o.fewLocks, r.o.manyLocks
		fmt.Fprintf(w, "\nWith %d and with %d active locks elsewhere in the workspace; the ratio is %d to %d, 1 is no difference.\n",
			few, many, many, few)
		table(w, r.locks, true, "figure", "clients",
			fmt.Sprintf("Holdfast, %d", few), fmt.Sprintf("%d", many), "ratio", "p50 ms",
			fmt.Sprintf("x/net, %d", few), fmt.Sprintf("%d", many), "ratio", "p50 ms")
	}
	if len(r.big) > 0 {
		fmt.Fprintf(w, "\nOne body of %d MiB, streamed:\n\n", r.o.bigBytes>>20)
		line(w, "server", "upload MiB/s", "download MiB/s", "peak RSS MiB")
		line(w, "---", "---:", "---:", "---:")
		for _, b := range r.big {
			line(w, b.Server, number(b.Upload), number(b.Download), number(float64(b.Peak)/(1<<20)))
		}
	}
	if list := notes(append(r.rows[:len(r.rows):len(r.rows)], r.locks...)); len(list) > 0 {
		fmt.Fprintf(w, "\nFailures, which no figure counts:\n\n- %s\n", strings.Join(list, "\n- "))
	}
}

func table(w io.Writer, rows []row, reverse bool, header ...string) {
	fmt.Fprintln(w)
	line(w, header...)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---:"
	}
	rule[0] = "---"
	line(w, rule...)
	for _, r := range rows {
		line(w, r.cells(reverse)...)
	}
}

func line(w io.Writer, cells ...string) {
	fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |")
}

// conditions says what the figures depend on.
func (o *options) conditions() string {
	login := "Basic login, cached after the first request"
	if o.anonymous {
		login = "--anonymous"
	}
	inline := o.inlineMax
	if inline == "" {
		inline = "16KiB (default)"
	}
	return fmt.Sprintf("%s/%s, %d processors shared by client and servers, %s. Medians of %d rounds of %v, interleaved; "+
		"ratio: median of the rounds' ratios, above 1 Holdfast is faster.\n\n"+
		"- Holdfast: --sync %s, --inline-max %s, SQLite, objects in a folder; %s; locks survive a restart.\n"+
		"- golang.org/x/net/webdav: Dir and MemLS; never calls fsync, no login, locks are gone with the process.",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), o.rounds, o.slice, o.sync, inline, login)
}

// jsonLine is a figure on one target.
type jsonLine struct {
	Figure   string         `json:"figure"`
	Clients  int            `json:"clients"`
	Server   string         `json:"server"`
	OpsS     float64        `json:"ops_s"`
	Rounds   []float64      `json:"rounds_ops_s"`
	P50      float64        `json:"p50_ms"`
	OK       int            `json:"ok"`
	Failures map[string]int `json:"failures,omitempty"`
	Skipped  string         `json:"skipped,omitempty"`
	Ratio    *float64       `json:"ratio,omitempty"` // of the first target's rate to this one's
}

// json writes the report as one line for the conditions, one for each figure and target, and one for
// each large transfer.
func (r *report) json(w io.Writer) error {
	encoder := json.NewEncoder(w)
	if err := encoder.Encode(map[string]string{"conditions": r.o.conditions()}); err != nil {
		return err
	}
	for _, row := range append(r.rows[:len(r.rows):len(r.rows)], r.locks...) {
		for i := range row.results {
			if err := encoder.Encode(row.jsonLine(i)); err != nil {
				return err
			}
		}
	}
	for _, b := range r.big {
		if err := encoder.Encode(b); err != nil {
			return err
		}
	}
	return nil
}

func (r *row) jsonLine(i int) jsonLine {
	result := &r.results[i]
	l := jsonLine{
		Figure: r.figure, Clients: r.clients, Server: r.targets[i].name,
		OpsS: median(result.rates), Rounds: result.rates,
		P50: float64(medianTime(result.times)) / float64(time.Millisecond),
		OK:  result.ok, Failures: result.failures, Skipped: result.skipped,
	}
	if q, ok := pairedRatio(r.results[0].rates, result.rates); ok && i > 0 {
		l.Ratio = &q
	}
	return l
}
