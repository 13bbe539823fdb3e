package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options say how a run is made.
type options struct {
	rounds    int
	slice     time.Duration // of one round of one figure on one server
	listing   time.Duration // of a round of listing beside a LOCK a second, or what is locked
	limit     time.Duration // of the whole run
	clients   []int
	entries   []int          // sizes of the folders that are listed; the first is listed beside the locks too
	tree      int            // files of the tree that is copied and moved
	locks     []int          // how many active locks a server has elsewhere, one server each; fewest first
	bigBytes  int64          // of the large body; 0 leaves it out
	only      *regexp.Regexp // of figures; nil is all
	sync      string         // of Holdfast, as is
	inlineMax string         // of Holdfast, as is; "" is its default
	anonymous bool

	folder   string // of everything the run makes
	programs programs
	serial   int // of the last trial, which names its collection
	log      io.Writer
}

// defaults are the options of a full run, which takes under a quarter of an hour.
func defaults() *options {
	return &options{
		rounds: 5, slice: 800 * time.Millisecond, listing: 4 * time.Second, limit: 14 * time.Minute,
		clients: []int{1, 8}, entries: []int{1_000, 10_000}, tree: 1_000,
		locks: []int{1, 1_000, 100_000}, bigBytes: 4 << 30,
		sync: "full", log: os.Stderr,
	}
}

// quick makes the run short. Its figures are good for seeing that everything works.
func (o *options) quick() {
	o.rounds, o.slice, o.listing, o.limit = 3, 100*time.Millisecond, 1200*time.Millisecond, 110*time.Second
	o.entries, o.locks, o.bigBytes = []int{300}, []int{1, 100, 2_000}, 128<<20
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := defaults()
	asJSON := o.flags()
	r, err := o.run(ctx)
	if r != nil {
		if asJSON {
			err = errors.Join(err, r.json(os.Stdout))
		} else {
			r.markdown(os.Stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// flags reads the command line and reports whether JSON is asked for.
func (o *options) flags() bool {
	quick := flag.Bool("quick", false, "a short run that shows that everything works")
	asJSON := flag.Bool("json", false, "write JSON lines in place of the tables")
	only := flag.String("only", "", "measure only figures that match this regular `expression`, and neither locks nor the large body")
	flag.StringVar(&o.sync, "sync", o.sync, "Holdfast's --sync: full or normal")
	flag.StringVar(&o.inlineMax, "inline-max", o.inlineMax, "Holdfast's --inline-max; empty is its default")
	flag.BoolVar(&o.anonymous, "anonymous", false, "start Holdfast with --anonymous; otherwise each request has a Basic login")
	flag.Func("clients", "numbers of clients side by side, by commas (default 1,8)", o.setClients)
	rounds := flag.Int("rounds", 0, "rounds of each figure; 0 is the default")
	slice := flag.Duration("slice", 0, "time of one round on one server; 0 is the default")
	flag.Parse()
	if *quick {
		o.quick()
	}
	if *rounds > 0 {
		o.rounds = *rounds
	}
	if *slice > 0 {
		o.slice = *slice
	}
	if os.Getenv("HOLDFAST_BENCH_BIG") == "0" {
		o.bigBytes = 0
	}
	if *only != "" {
		expression, err := regexp.Compile(*only)
		if err != nil || flag.NArg() > 0 {
			flag.Usage()
			os.Exit(2)
		}
		o.only = expression
	}
	return *asJSON
}

// mostClients bounds the clients of one figure.
const mostClients = 64

// setClients reads a list of numbers of clients.
func (o *options) setClients(list string) error {
	o.clients = nil
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > mostClients {
			return fmt.Errorf("%q is not a number from 1 to %d", word, mostClients)
		}
		o.clients = append(o.clients, n)
	}
	return nil
}

// run builds the servers and measures. The report is not nil if there is anything to show, even with an
// error.
func (o *options) run(ctx context.Context) (_ *report, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.limit, errTime)
	defer cancel()
	if o.folder, err = os.MkdirTemp("", "holdfast-bench-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.folder)) }()
	o.progress("building")
	if o.programs, err = build(ctx, o.folder); err != nil {
		return nil, err
	}
	r := &report{o: o}
	if r.rows, err = o.compareServers(ctx); err != nil {
		return r, err
	}
	if o.only == nil {
		if r.locks, r.beside, err = o.compareLocks(ctx); err != nil {
			return r, err
		}
		if r.states, err = o.compareStates(ctx); err != nil {
			return r, err
		}
		if o.bigBytes > 0 {
			if r.big, err = o.compareBig(ctx); err != nil {
				return r, err
			}
		}
	}
	if faults := r.faults(); len(faults) > 0 {
		return r, errors.New(strings.Join(faults, "\n"))
	}
	return r, nil
}

// compareServers measures Holdfast and x/net side by side.
func (o *options) compareServers(ctx context.Context) (_ []row, err error) {
	var targets []*target
	defer func() {
		for _, t := range targets {
			err = errors.Join(err, t.server.stop())
		}
	}()
	for _, name := range []string{holdfast, xnet} {
		s, err := o.start(ctx, name)
		if err != nil {
			return nil, err
		}
		targets = append(targets, newTarget(o, name, s))
	}
	var figures []figure
	for _, f := range o.figures(ctx) {
		if o.only == nil || o.only.MatchString(f.name) {
			figures = append(figures, f)
		}
	}
	return o.rows(ctx, figures, targets), nil
}

// progress tells a person who waits where the run is.
func (o *options) progress(format string, values ...any) {
	fmt.Fprintf(o.log, "bench: "+format+"\n", values...)
}
