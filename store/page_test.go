package store

import "testing"

// TestLight: a page ends with the entry that makes its properties too much to
// hold, and only if they are wanted.
func TestLight(t *testing.T) {
	page := make([]Entry, 40)
	for i := range page {
		page[i].props = MaxPropBytes
	}
	const fits = pageBytes/MaxPropBytes + 1
	for _, c := range []struct {
		name string
		want Want
		n    int
	}{
		{"properties wanted", Want{Props: true}, fits},
		{"some of them wanted", Want{Props: true, PropNames: []string{"a"}}, fits},
		{"none of them wanted", Want{Props: true, PropNames: []string{}}, len(page)},
		{"no properties wanted", Want{Locks: true}, len(page)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n := light(page, c.want); n != c.n {
				t.Errorf("%d entries kept, want %d", n, c.n)
			}
		})
	}
}
