package store_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"holdfast/blob/blobtest"
	"holdfast/lockns"
	"holdfast/store"
)

// pageOfEntries is how many entries a listing reads at once.
const pageOfEntries = 1000

// counted is what something costs.
type counted struct{ statements, objects int64 }

// count counts the statements and the opened objects of a run.
func (f *fixture) count(faults *blobtest.Fault, run func()) counted {
	f.t.Helper()
	var n atomic.Int64
	faults.ResetCalls()
	stopReaders := f.WatchReaders(func(string) { n.Add(1) })
	stopWriter := f.Watch(func(string, []any) { n.Add(1) })
	n.Store(0)
	run()
	statements := n.Load()
	stopWriter()
	stopReaders()
	return counted{statements, faults.Calls(blobtest.Open)}
}

// countFixture has a folder of 11 files and one of 2,501, in each of them one whose
// content is an object, with a property.
func countFixture(t *testing.T) (*fixture, *blobtest.Fault) {
	t.Helper()
	faults := &blobtest.Fault{}
	f := newFixture(t, func(o *store.Options) {
		faults.Store = o.Blobs
		o.Blobs = faults
	})
	for path, n := range map[string]int{"/small": 10, "/large": 2500} {
		f.mkdir(path)
		f.fill(path, n)
		f.put(path+"/object", "long enough for an object")
		f.setProp(path+"/object", "a", "1")
	}
	return f, faults
}

// TestCountR34: a listing with all that a PROPFIND can ask for takes statements by
// the page, not by the entry, and opens no content.
func TestCountR34(t *testing.T) {
	f, faults := countFixture(t)
	list := func(path string, want int) counted {
		f.lock(path+"/object", lockns.Resource)
		entries := 0
		c := f.count(faults, func() {
			must(t, f.Walk(t.Context(), f.at(path), store.DepthOne, store.Want{Props: true, Locks: true, Checksums: true}, 0, func(store.Entry) error {
				entries++
				return nil
			}))
		})
		wantEqual(t, "entries of "+path, entries, want)
		return c
	}
	small, large := list("/small", 12), list("/large", 2502)
	t.Logf("%d statements for a folder of 11, %d for one of 2501", small.statements, large.statements)
	if pages := int64(2501/pageOfEntries + 1); large.statements > pages*small.statements {
		t.Errorf("%d statements for %d pages, %d for one", large.statements, pages, small.statements)
	}
	if small.statements == 0 || small.statements > 20 {
		t.Errorf("%d statements for a page, want 1 to 20", small.statements)
	}
	wantEqual(t, "objects opened", small.objects+large.objects, 0)
}

// TestCountR44: that a name is missing is found out by the same few statements
// whatever else its folder holds.
func TestCountR44(t *testing.T) {
	f, faults := countFixture(t)
	var costs []counted
	for _, folder := range []string{"/small", "/large"} {
		for _, name := range []string{"._object", ".DS_Store", "Thumbs.db", "desktop.ini", ".hidden"} {
			c := f.count(faults, func() {
				if _, err := f.Stat(t.Context(), f.at(folder+"/"+name)); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%s/%s: %v", folder, name, err)
				}
			})
			costs = append(costs, c)
		}
	}
	for _, c := range costs {
		if c != costs[0] || c.objects != 0 || c.statements == 0 || c.statements > 8 {
			t.Fatalf("statements and objects of each probe: %v; want the same 1 to 8 and no object", costs)
		}
	}
}

// TestCountB49: a move is a rename in the database. What it costs depends on
// neither content nor members.
func TestCountB49(t *testing.T) {
	f, faults := countFixture(t)
	move := func(from string) counted {
		return f.count(faults, func() { f.move(from, from+"-moved") })
	}
	small, large := move("/small"), move("/large")
	if small != large || small.objects != 0 {
		t.Errorf("a folder of 11 takes %v, one of 2501 %v", small, large)
	}
	wantEqual(t, "objects written", faults.Calls(blobtest.Put), 0)
	wantEqual(t, "content", f.read("/large-moved/object"), "long enough for an object")
}
