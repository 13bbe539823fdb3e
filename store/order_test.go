package store_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/lockns"
	"holdfast/store"
)

// step is a kind of statement in the order of a transaction.
type step int

const (
	begin step = iota
	namespace
	read // of users, usage, the tree, locks
	claim
	write
	version // generation and tree_version
	end
)

var steps = []struct {
	step step
	form *regexp.Regexp
}{
	{begin, regexp.MustCompile(`^(BEGIN|SAVEPOINT)`)},
	{end, regexp.MustCompile(`^(COMMIT|RELEASE)`)},
	{version, regexp.MustCompile(`^UPDATE resource_lock_namespaces\s+SET generation`)},
	{namespace, regexp.MustCompile(`^SELECT n\.id, f\.id FROM resource_lock_namespaces`)},
	{write, regexp.MustCompile(`^(INSERT|UPDATE|DELETE)`)},
	{read, regexp.MustCompile(`^(SELECT|WITH)`)},
}

// stepOf is the kind of a statement.
func stepOf(query string) step {
	for _, s := range steps {
		if s.form.MatchString(query) {
			return s.step
		}
	}
	panic("a statement of no known kind: " + query)
}

// witness is a claim that notes when it is asked.
type witness struct {
	store.Claim
	asked func()
}

func (w witness) Prove(v store.View) (lockns.Credentials, error) {
	w.asked()
	return w.Claim.Prove(v)
}

// TestTransactionOrder watches the statements of every change: the namespace
// rows first, in key order whichever end of a transfer is the source; then what
// is read, lock rows among it; the claim; then what is written; the versions
// last.
func TestTransactionOrder(t *testing.T) {
	f := newFixture(t)
	bob := f.addUser("bob")
	f.mkdir("/d")
	for _, name := range []string{"put", "props", "removed", "copied", "moved", "locked", "free"} {
		f.put("/d/"+name, name)
	}
	token := f.lock("/d/locked", lockns.Resource).Lock.Token
	for name, change := range map[string]func(store.Claim) error{
		"put": func(c store.Claim) error {
			_, _, err := f.Put(t.Context(), f.at("/d/put"), file("again"), c)
			return err
		},
		"put something new": func(c store.Claim) error {
			_, _, err := f.Put(t.Context(), f.at("/d/new"), file("new"), c)
			return err
		},
		"mkdir": func(c store.Claim) error {
			_, err := f.Mkdir(t.Context(), f.at("/d/e"), store.Patch{}, c)
			return err
		},
		"properties": func(c store.Claim) error {
			op := store.PropOp{Property: store.Property{Space: "urn:x", Local: "a", XML: "1"}}
			_, err := f.PatchProps(t.Context(), f.at("/d/props"), store.Patch{Props: []store.PropOp{op}}, c)
			return err
		},
		"remove": func(c store.Claim) error { return f.Remove(t.Context(), f.at("/d/removed"), c) },
		"copy to another workspace": func(c store.Claim) error {
			_, _, err := f.Copy(t.Context(), f.at("/d/copied"), at(bob, "/copied"), store.CopyOptions{}, c)
			return err
		},
		"move to another workspace": func(c store.Claim) error {
			_, err := f.Move(t.Context(), f.at("/d/moved"), at(bob, "/moved"), store.MoveOptions{}, c)
			return err
		},
		"copy from another workspace": func(c store.Claim) error {
			_, _, err := f.Copy(t.Context(), at(bob, "/"), f.at("/d/bobs"), store.CopyOptions{}, c)
			return err
		},
		"lock": func(c store.Claim) error {
			_, err := f.Lock(t.Context(), f.at("/d/free"), f.spec(lockns.Resource), c)
			return err
		},
		"lock nothing": func(c store.Claim) error {
			_, err := f.Lock(t.Context(), f.at("/d/null"), f.spec(lockns.Resource), c)
			return err
		},
		"refresh": func(c store.Claim) error {
			_, err := f.RefreshLock(t.Context(), f.at("/d/locked"), store.ByToken(token), 5, c)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			var order []step
			var keys []int64
			note := func(s step, text string) {
				order = append(order, s)
				seen = append(seen, text)
			}
			stop := f.Watch(func(query string, args []any) {
				s := stepOf(query)
				if s == namespace {
					keys = append(keys, args[1].(int64))
				}
				note(s, fmt.Sprintf("%s %v", query, args))
			})
			inside := witness{f.me(), func() {
				if slices.Contains(order, namespace) { // not on a snapshot, before the transaction
					note(claim, "the claim")
				}
			}}
			err := change(inside)
			stop()
			must(t, err)
			first := slices.Index(order, namespace)
			last := slices.Index(order, version)
			if !slices.Contains(order, claim) || first < 0 || last < 0 {
				t.Fatalf("no namespace, claim or version in\n%s", strings.Join(seen, "\n"))
			}
			fault := func(what string) { t.Errorf("%s:\n%s", what, strings.Join(seen[first-1:last+2], "\n")) }
			if order[first-1] != begin {
				fault("something comes before the namespaces")
			}
			if !slices.IsSorted(keys) {
				fault("the namespaces are not in key order")
			}
			asked := slices.Index(order, claim)
			if slices.Contains(order[first:asked], write) {
				fault("something is written before the claim is asked")
			}
			if slices.Contains(order[asked:], namespace) {
				fault("a namespace is taken after the claim was asked")
			}
			if next := order[last+1]; next != end && next != version {
				fault("something comes after the versions")
			}
		})
	}
}
