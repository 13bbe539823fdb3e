package store_test

import (
	"testing"

	"holdfast/store"
)

func TestPatchProps(t *testing.T) {
	f := newFixture(t)
	f.mkdir("/d")
	f.put("/f", "x")
	set, remove := prop, func(name string) store.PropOp {
		op := prop(name, "")
		op.Remove = true
		return op
	}
	elsewhere := store.PropOp{Property: store.Property{Space: "urn:y", Local: "a", XML: "other"}}
	for _, path := range []string{"/", "/d", "/f"} {
		for _, c := range []struct {
			name string
			ops  []store.PropOp
			want []string
		}{
			{"sets", []store.PropOp{set("a", "1"), set("b", "2")}, []string{"a=1", "b=2"}},
			{"replaces", []store.PropOp{set("a", "3")}, []string{"a=3", "b=2"}},
			{"tells namespaces apart", []store.PropOp{elsewhere}, []string{"a=3", "b=2", "a=other"}},
			{"applies in order", []store.PropOp{remove("b"), set("b", "4"), set("c", "5"), remove("c")}, []string{"a=3", "a=other", "b=4"}},
			{"removes what is not there", []store.PropOp{remove("z")}, []string{"a=3", "a=other", "b=4"}},
			{"removes all", []store.PropOp{remove("a"), remove("b"), {Property: elsewhere.Property, Remove: true}}, nil},
		} {
			t.Run(c.name+" on "+path, func(t *testing.T) {
				before := f.stat(path)
				n, err := f.PatchProps(t.Context(), f.at(path), store.Patch{Props: c.ops}, f.me())
				must(t, err)
				wantSlice(t, "properties", f.props(path), c.want)
				wantEqual(t, "node", n, f.stat(path))
				wantEqual(t, "modified", n.Modified, before.Modified)
				f.clean()
			})
		}
	}
	t.Run("refuses what is not there", func(t *testing.T) {
		_, err := f.PatchProps(t.Context(), f.at("/no"), store.Patch{}, f.me())
		wantError(t, err, store.ErrNotFound)
	})
	t.Run("kept by a write, gone with the file", func(t *testing.T) {
		f.setProp("/f", "a", "1")
		f.put("/f", "y")
		wantSlice(t, "properties", f.props("/f"), []string{"a=1"})
		f.remove("/f")
		wantEqual(t, "rows", f.rows("properties"), 0)
	})
}
