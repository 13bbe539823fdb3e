package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
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

// sideBySide are the columns of two servers: the rates of both, the ratio of the first's to the second's,
// the medians of their times.
func (r *row) sideBySide() []string {
	a, b := &r.results[0], &r.results[1]
	return []string{r.figure, fmt.Sprint(r.clients), rate(a), rate(b), ratio(a, b), times(a) + " / " + times(b)}
}

// against are the columns of one server under several conditions: the rates, and the ratio of each to
// that of the first.
func (r *row) against() []string {
	cells := []string{r.figure, fmt.Sprint(r.clients)}
	for i := range r.results {
		cells = append(cells, rate(&r.results[i]))
	}
	for i := range r.results[1:] {
		cells = append(cells, ratio(&r.results[i+1], &r.results[0]))
	}
	return cells
}

func rate(r *outcome) string {
	if r.ok == 0 {
		return "none"
	}
	return number(median(r.rates))
}

func ratio(a, b *outcome) string {
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
	o      *options
	rows   []row
	locks  []row // a column for each number of locks
	beside []row // without and with a LOCK a second
	states []row // of a folder without and with a lock on each file
	big    []big
}

// all are the rows of every part.
func (r *report) all() []row { return slices.Concat(r.rows, r.locks, r.beside, r.states) }

// faults lists what makes the run fail: a figure of Holdfast that has failures or is missing, and speed
// that falls with the number of locks or beside changes of them. What goes wrong on the other server is its own affair; the notes
// say it.
func (r *report) faults() []string {
	var faults []string
	for _, row := range r.all() {
		for i, t := range row.targets {
			if result := &row.results[i]; t.server.name == holdfast && (result.failed() > 0 || result.skipped != "" || result.ok == 0) {
				faults = append(faults, row.note(i))
			}
		}
	}
	return slices.Concat(faults, losses(r.locks, leastScale), losses(r.beside, leastBeside), losses(r.listsOfStates(), leastStates))
}

// listsOfStates are the rows of lists that say of each entry how it is locked, and no more of its lock.
func (r *report) listsOfStates() []row {
	return slices.DeleteFunc(slices.Clone(r.states), func(row row) bool { return !strings.HasPrefix(row.figure, "API") })
}

// losses lists the rows whose later targets keep less than a share of the first one's speed.
func losses(rows []row, least float64) []string {
	var faults []string
	for _, row := range rows {
		for i := range row.results[1:] {
			if q, ok := pairedRatio(row.results[i+1].rates, row.results[0].rates); ok && q < least {
				faults = append(faults, fmt.Sprintf("%s, %d clients: %s of the speed of %s is left with %s",
					row.figure, row.clients, number(q), row.targets[0].name, row.targets[i+1].name))
			}
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
	table(w, r.rows, (*row).sideBySide, "figure", "clients", "Holdfast ops/s", "x/net ops/s", "ratio", "p50 ms, Holdfast / x/net")
	if len(r.locks) > 0 {
		fmt.Fprintf(w, "\nHoldfast with more and more active locks elsewhere in the workspace; 1 is no difference.\n")
		header := []string{"figure", "clients"}
		for _, t := range r.locks[0].targets {
			header = append(header, t.name)
		}
		for _, t := range r.locks[0].targets[1:] {
			header = append(header, "ratio, "+t.name)
		}
		table(w, r.locks, (*row).against, header...)
	}
	if len(r.beside) > 0 {
		fmt.Fprintf(w, "\nHoldfast with %s, without and with a client that locks once a second; 1 is no difference.\n", lockCount(r.o.most()))
		table(w, r.beside, (*row).against, "figure", "clients", "quiet", "locking", "ratio")
	}
	if len(r.states) > 0 {
		fmt.Fprintf(w, "\nHoldfast listing a folder without locks, and with one on each file; 1 is no difference. PROPFIND shows each lock as a whole.\n")
		header := []string{"figure", "clients"}
		for _, t := range r.states[0].targets {
			header = append(header, t.name)
		}
		table(w, r.states, (*row).against, append(header, "ratio")...)
	}
	if len(r.big) > 0 {
		fmt.Fprintf(w, "\nOne body of %d MiB, streamed:\n\n", r.o.bigBytes>>20)
		line(w, "server", "upload MiB/s", "download MiB/s", "peak RSS MiB")
		line(w, "---", "---:", "---:", "---:")
		for _, b := range r.big {
			line(w, b.Server, number(b.Upload), number(b.Download), number(float64(b.Peak)/(1<<20)))
		}
	}
	if list := notes(r.all()); len(list) > 0 {
		fmt.Fprintf(w, "\nFailures, which no figure counts:\n\n- %s\n", strings.Join(list, "\n- "))
	}
}

func table(w io.Writer, rows []row, cells func(*row) []string, header ...string) {
	fmt.Fprintln(w)
	line(w, header...)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---:"
	}
	rule[0] = "---"
	line(w, rule...)
	for _, r := range rows {
		line(w, cells(&r)...)
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
	for _, row := range r.all() {
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
