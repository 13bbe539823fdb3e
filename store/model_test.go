package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// TestModel runs random programs of operations on a store and on the model, and
// compares after every step. HOLDFAST_MODEL_STEPS makes the programs longer,
// HOLDFAST_MODEL_SEED runs the one of that seed alone. A program that fails is
// shortened as long as it fails, and printed.
func TestModel(t *testing.T) {
	seeds, steps := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 2000
	if v := os.Getenv("HOLDFAST_MODEL_STEPS"); v != "" {
		n, err := strconv.Atoi(v)
		must(t, err)
		steps = n
	}
	seed := os.Getenv("HOLDFAST_MODEL_SEED")
	if seed != "" {
		n, err := strconv.ParseUint(seed, 10, 64)
		must(t, err)
		seeds = []uint64{n}
	}
	var mu sync.Mutex
	seen := map[string]int{}
	t.Run("programs", func(t *testing.T) {
		for _, seed := range seeds {
			t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
				t.Parallel()
				counts := runProgram(t, seed, steps)
				mu.Lock()
				defer mu.Unlock()
				for what, n := range counts {
					seen[what] += n
				}
			})
		}
	})
	if steps >= 2000 && seed == "" && !t.Failed() {
		reachedAll(t, seen)
	}
}

// The users' ids, in the order in which every run adds them.
const adaID, bobID = 1, 2

func userID(user int) int64 { return int64(user) }

// runProgram writes a program while it runs, and says how often each operation
// ended in each way.
func runProgram(t *testing.T, seed uint64, steps int) map[string]int {
	r := newRun(t)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 4918)), w: r.w}
	seen := map[string]int{}
	var program []action
	for range steps {
		s := g.next()
		program = append(program, s)
		o, err := r.step(s)
		if o.class != "known" {
			seen[s.op+": "+o.class+o.note]++
		}
		if s.op == "remove" && o.ok() {
			g.removed = append(g.removed, s.n)
		}
		if s.op == "lock" && o.ok() {
			g.spent = append(g.spent, s.n)
		}
		if err == nil && s.n%250 == 0 {
			err = r.check()
		}
		if err != nil {
			t.Errorf("seed %d: step %v\n%v\nlast steps:\n%s", seed, s, err, listing(program[max(0, len(program)-20):]))
			shortest := shrink(t, program)
			t.Fatalf("it takes %d steps, in the end these:\n%s\n%v", len(shortest), listing(shortest[max(0, len(shortest)-40):]), newRun(t).all(shortest))
		}
	}
	return seen
}

func listing(program []action) string {
	var b strings.Builder
	for _, s := range program {
		fmt.Fprintf(&b, "  %v\n", s)
	}
	return b.String()
}

// shrink takes steps out of a program as long as the rest still fails, big pieces
// first, then the tokens that the rest needs not, for at most a minute.
func shrink(t *testing.T, program []action) []action {
	deadline := time.Now().Add(time.Minute)
	keep := func(shorter []action) {
		if time.Now().Before(deadline) && newRun(t).all(shorter) != nil {
			program = shorter
		}
	}
	for size := len(program) / 2; size > 0; size /= 2 {
		for at := len(program) - size; at >= 0; at -= size {
			if at+size <= len(program) {
				keep(slices.Delete(slices.Clone(program), at, at+size))
			}
		}
	}
	for i := range program {
		plain := slices.Clone(program)
		plain[i].passes = nil
		keep(plain)
	}
	return program
}

// run is a store and the model of it.
type run struct {
	*fixture
	w       *world
	tokens  map[int]string  // of every lock, by the step that acquired it
	entries map[int]int64   // of the trash, by the step that removed something
	given   map[string]bool // ids and entity tags that the store has given
	seen    seenState
	query   *sql.Stmt // roomRows
	version *sql.Stmt
}

func newRun(t *testing.T) *run {
	f := newFixture(t, func(o *store.Options) { o.LocksPerUser, o.Trash = 6, modelTrash })
	bob := f.addUser("bob")
	team, err := f.AddTeam(t.Context(), store.NewTeam{Name: "crew", Owner: "ada"})
	must(t, err)
	must(t, f.SetMember(t.Context(), "crew", "bob", store.Writer, store.Actor{}))
	r := &run{fixture: f, tokens: map[int]string{}, entries: map[int]int64{}, given: map[string]bool{}}
	r.query, err = f.database().Prepare(roomRows)
	must(t, err)
	r.version, err = f.database().Prepare(`PRAGMA data_version`)
	must(t, err)
	r.w = &world{now: f.now(), roles: map[int64]store.Role{adaID: store.Owner, bobID: store.Writer}, limit: 6}
	for _, ws := range []lockns.Workspace{f.user.Workspace(), bob.Workspace(), team.Workspace()} {
		r.w.rooms = append(r.w.rooms, newRoom(ws, f.rootID(ws)))
	}
	r.w.team = r.w.rooms[2]
	wantEqual(t, "ids", [2]int64{f.user.ID, bob.ID}, [2]int64{adaID, bobID})
	r.seen.rooms, err = r.rowsNow()
	must(t, err)
	must(t, r.compare(true))
	return r
}

// rootID is the id of a workspace's root folder.
func (f *fixture) rootID(ws lockns.Workspace) int64 {
	f.t.Helper()
	return f.number(`SELECT f.id FROM folders f JOIN resource_lock_namespaces n ON n.id = f.namespace_id
WHERE f.parent_id IS NULL AND f.detached_at IS NULL AND n.workspace_type = ? AND n.workspace_id = ?`, string(ws.Kind), ws.ID)
}

// all runs a program.
func (r *run) all(program []action) error {
	for _, s := range program {
		if _, err := r.step(s); err != nil {
			return fmt.Errorf("step %v\n%w", s, err)
		}
	}
	return r.check()
}

// check is the operator's check of the database.
func (r *run) check() error {
	var faults []error
	err := r.Check(r.t.Context(), func(fault string) { faults = append(faults, errors.New("check: "+fault)) })
	return errors.Join(append(faults, err)...)
}

// step does one step on both sides and compares.
func (r *run) step(s action) (verdict, error) {
	if r.known(s) {
		return verdict{class: "known"}, nil
	}
	do := r.operation(s)
	want, granted := r.w.apply(s, r.caller(s))
	got, lock, err := do()
	if err != nil {
		return want, err
	}
	if !got.equal(want) {
		return want, fmt.Errorf("it ended %v, want %v", r.words(got), r.words(want))
	}
	if granted != nil {
		granted.id, granted.token = lock.ID, lock.Token
		r.tokens[s.n] = lock.Token
		if err := r.fresh("lock", lock.ID); err != nil {
			return want, err
		}
	}
	if s.op == "remove" && want.ok() {
		if err := r.noteEntry(s); err != nil {
			return want, err
		}
	}
	return want, r.compare(want.ok())
}

// words says a verdict with the steps that acquired the locks.
func (r *run) words(o verdict) string {
	by := func(tokens []string) []string {
		var all []string
		for n, token := range r.tokens {
			if slices.Contains(tokens, token) {
				all = append(all, fmt.Sprintf("#%d", n))
			}
		}
		slices.Sort(all)
		return all
	}
	return fmt.Sprintf("%q by %v, below %v, created %v", o.class, by(o.locks), by(o.below), o.created)
}

// fresh refuses an identity that was given before.
func (r *run) fresh(kind string, id any) error {
	k := fmt.Sprint(kind, " ", id)
	if r.given[k] {
		return fmt.Errorf("%s was given before", k)
	}
	r.given[k] = true
	return nil
}

// endings are how each operation must have ended, with what is special about it,
// for the programs to prove something.
var endings = map[string][]string{
	"put":    {"ok", "is folder", "no parent", "not found", "forbidden", "locked"},
	"mkdir":  {"ok", "exists", "no parent", "not found", "forbidden", "locked"},
	"patch":  {"ok", "not found", "forbidden", "locked"},
	"remove": {"ok", "not found", "root", "forbidden", "locked"},
	"copy": {
		"ok", "ok and inherits locks", "not found", "root", "no parent", "into itself", "forbidden", "locked", "exists",
	},
	"move": {
		"ok", "ok to another workspace", "ok and inherits locks", "ok and inherits locks to another workspace",
		"ok and takes locks along", "ok and takes locks along to another workspace", "not found", "root", "no parent",
		"into itself", "forbidden", "locked", "locked in two workspaces", "locked where it comes to", "foreign lock",
		"foreign lock of several locks", "exists",
	},
	"lock":    {"ok", "bad lock", "not found", "no parent", "forbidden", "locked", "conflict", "lock quota"},
	"relock":  {"ok", "bad lock", "not found", "forbidden", "no such lock", "no such lock" + aboveTheMount, "not holder", "conflict"},
	"refresh": {"ok", "not found", "forbidden", "no such lock", "no such lock" + aboveTheMount, "not holder"},
	"unlock":  {"ok", "not found", "forbidden", "no such lock", "no such lock" + aboveTheMount, "not holder"},
	"force":   {"ok", "not found"},
	"advance": {"ok", "ok to the end of a lock", "ok just past the end of a lock"},
	"expire":  {"ok"},
	"purge":   {"ok"},
	"restore": {
		"ok", "ok with members", "ok somewhere else", "ok somewhere else with members", "not found", "no parent", "forbidden", "locked", "exists",
	},
	"purge trash": {"ok", "not found", "forbidden"},
	"empty trash": {"ok", "not found", "forbidden"},
	"member":      {"ok"},
	"unmember":    {"ok", "not found"},
}

// rare are endings that are right too, and that a run may not reach: a WOPI lock
// replaced by one of a user who has as many as allowed.
var rare = map[string][]string{"relock": {"lock quota"}}

// reachedAll makes sure that the programs reached every case: an operation that
// always succeeds, or a refusal that never happens, proves nothing.
func reachedAll(t *testing.T, seen map[string]int) {
	t.Helper()
	for op, ways := range endings {
		for _, way := range ways {
			if n := seen[op+": "+way]; n < 3 {
				t.Errorf("%s ended %q only %d times", op, way, n)
			}
			delete(seen, op+": "+way)
		}
	}
	for _, ending := range slices.Sorted(maps.Keys(seen)) {
		op, way, _ := strings.Cut(ending, ": ")
		if slices.Contains(rare[op], way) {
			continue
		}
		if !slices.ContainsFunc(endings[op], func(known string) bool { return strings.HasPrefix(way, known) }) {
			t.Errorf("%s ended %q, which it must not", op, way)
		}
	}
}
