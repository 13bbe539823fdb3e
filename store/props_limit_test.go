package store_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/store"
)

func setOp(name, value string) store.PropOp {
	return store.PropOp{Property: store.Property{Space: "urn:x", Local: name, XML: value}}
}

// TestPropLimits: what a resource's properties take is bounded, counted against
// the quota and given back.
func TestPropLimits(t *testing.T) {
	f := newFixture(t, func(o *store.Options) { o.Quota = 3 * store.MaxPropBytes })
	f.put("/f", "")
	patch := func(path string, ops ...store.PropOp) error {
		_, err := f.PatchProps(t.Context(), f.at(path), store.Patch{Props: ops}, f.me())
		return err
	}
	big := strings.Repeat("v", store.MaxPropBytes-100)
	t.Run("bytes of one resource", func(t *testing.T) {
		must(t, patch("/f", setOp("a", big)))
		wantError(t, patch("/f", setOp("b", big)), store.ErrTooManyProps)
		wantEqual(t, "used", f.used(f.user), int64(len(big))+6)
		must(t, patch("/f", setOp("a", "small")))
		wantEqual(t, "used", f.used(f.user), 11)
	})
	t.Run("number of one resource", func(t *testing.T) {
		f.put("/many", "")
		var ops []store.PropOp
		for i := range store.MaxProps {
			ops = append(ops, setOp(fmt.Sprint("n", i), "v"))
		}
		must(t, patch("/many", ops...))
		wantError(t, patch("/many", setOp("one-more", "v")), store.ErrTooManyProps)
		must(t, patch("/many", setOp("n0", "w")))
		f.remove("/many")
	})
	t.Run("the quota, copies too", func(t *testing.T) {
		must(t, patch("/f", setOp("a", big)))
		f.copy("/f", "/g")
		f.copy("/f", "/h")
		_, _, err := f.Copy(t.Context(), f.at("/f"), f.at("/i"), store.CopyOptions{}, f.me())
		wantError(t, err, store.ErrQuota)
		wantError(t, patch("/", setOp("a", big)), store.ErrQuota)
		f.remove("/g")
		f.remove("/h")
		wantEqual(t, "used", f.used(f.user), int64(len(big))+6)
	})
	t.Run("a new folder's", func(t *testing.T) {
		_, err := f.Mkdir(t.Context(), f.at("/d"), store.Patch{Props: []store.PropOp{setOp("a", big), setOp("b", big)}}, f.me())
		wantError(t, err, store.ErrTooManyProps)
		f.gone("/d")
	})
}

// TestWalkWants: a walk reads what is wanted of the properties, in pages that
// they do not make large.
func TestWalkWants(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	big := strings.Repeat("v", store.MaxPropBytes/2)
	const members = 100 // of 128 KiB of properties each
	for i := range members {
		path := fmt.Sprintf("/d/f%02d", i)
		f.put(path, "")
		_, err := f.PatchProps(t.Context(), f.at(path), store.Patch{Props: []store.PropOp{setOp("a", "1"), setOp("b", big)}}, f.me())
		must(t, err)
	}
	for _, c := range []struct {
		name string
		want store.Want
		xml  []string
	}{
		{"all", store.Want{Props: true}, []string{"1", big}},
		{"some by name", store.Want{Props: true, PropNames: []string{"x", "a", "y"}}, []string{"1"}},
		{"none of the names", store.Want{Props: true, PropNames: []string{"x"}}, nil},
		{"no names", store.Want{Props: true, PropNames: []string{}}, nil},
		{"names only", store.Want{Props: true, NamesOnly: true}, []string{"", ""}},
		{"none", store.Want{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := 0
			err := f.Walk(t.Context(), f.at("/d"), store.DepthOne, c.want, 0, func(e store.Entry) error {
				if e.IsFolder() {
					return nil
				}
				wantEqual(t, "member", e.Name, fmt.Sprintf("f%02d", seen))
				seen++
				var got []string
				for _, p := range e.Props {
					got = append(got, p.XML)
				}
				if strings.Join(got, "|") != strings.Join(c.xml, "|") || len(got) != len(c.xml) {
					t.Errorf("%s: %d properties, want %d", e.Name, len(got), len(c.xml))
				}
				return nil
			})
			must(t, err)
			wantEqual(t, "members", seen, members)
		})
	}
	var one []string
	must(t, f.Walk(t.Context(), f.at("/d/f00"), store.DepthZero, store.Want{Props: true, PropNames: []string{"a"}}, 0, func(e store.Entry) error {
		for _, p := range e.Props {
			one = append(one, p.Local)
		}
		return nil
	}))
	wantSlice(t, "properties of one resource by name", one, []string{"a"})
}
