package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"holdfast/lockns"
)

// sample are locks with everything that must not get into a value.
func sample() []lockns.Lock {
	root := lockns.RootPlace(1)
	end := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
	all := []lockns.Lock{
		{Place: root, Depth: lockns.Infinity, Mode: lockns.Shared, Origin: lockns.WebDAV, ExpiresAt: end},
		{Place: root.Folder(5), Depth: lockns.Resource, Mode: lockns.Exclusive, Origin: lockns.Product},
		{Place: root.Folder(5).File(1 << 50), Depth: lockns.Infinity, Mode: lockns.Exclusive, Origin: lockns.WOPI, ExpiresAt: end.Add(time.Hour)},
	}
	for i := range all {
		all[i].ID, all[i].Holder = 7_700_000_001+int64(i), 990_000_000_017
		all[i].Token = fmt.Sprintf("urn:uuid:9f1c-secret-token-%d", i)
		all[i].Owner = "<D:href>mailto:owner@example</D:href>"
		all[i].Path = "/private name/file"
		all[i].CreatedAt = end.Add(-12345 * time.Second)
	}
	return all
}

func project(generation int64, locks []lockns.Lock) *lockns.Projection {
	var roots []lockns.ProjectedRoot
	for _, l := range locks {
		roots = append(roots, l.Projected())
	}
	return lockns.NewProjection(generation, roots)
}

func TestValueIsReadAsWritten(t *testing.T) {
	for _, p := range []*lockns.Projection{
		project(0, nil), project(1<<62, sample()), project(3, sample()[1:]),
	} {
		got, err := decode(encode(p))
		if err != nil {
			t.Fatal(err)
		}
		if got.Generation() != p.Generation() || len(got.Roots()) != len(p.Roots()) {
			t.Fatalf("generation %d with %d roots", got.Generation(), len(got.Roots()))
		}
		if len(p.Roots()) > 0 && !reflect.DeepEqual(got.Roots(), p.Roots()) {
			t.Errorf("read %v, written %v", got.Roots(), p.Roots())
		}
	}
}

// TestValueHoldsNoSecrets: no token, owner, holder, path, origin, id or time of
// creation of a lock is in a value, nor any part of them.
func TestValueHoldsNoSecrets(t *testing.T) {
	value := encode(project(3, sample()))
	for _, secret := range []string{
		"urn:uuid:", "9f1c", "secret", "token", "href", "mailto", "owner", "example", "private", "name", "webdav", "product", "wopi", "990000000017",
	} {
		if bytes.Contains(value, []byte(secret)) {
			t.Errorf("the value holds %q", secret)
		}
	}
	for _, n := range []int64{990_000_000_017, 7_700_000_001, 7_700_000_002, sample()[0].CreatedAt.UnixMicro()} {
		if bytes.Contains(value, binary.AppendVarint(nil, n)) || bytes.Contains(value, binary.AppendUvarint(nil, uint64(n))) {
			t.Errorf("the value holds the number %d", n)
		}
	}
	// All that it holds: these bytes are accounted for to the last.
	size := 1 + 1 + 1
	for _, l := range sample() {
		size += 1 + len(binary.AppendVarint(nil, l.Place.Root.ID)) + 1 + len(l.Place.Ancestry)
		if !l.ExpiresAt.IsZero() {
			size += len(binary.AppendVarint(nil, l.ExpiresAt.UnixMicro()))
		}
	}
	if len(value) != size {
		t.Errorf("the value has %d bytes, %d of them known", len(value), size)
	}
}

func TestBadValueIsRefused(t *testing.T) {
	good := encode(project(3, sample()))
	bad := map[string][]byte{
		"nothing":           {},
		"another version":   append([]byte{version + 1}, good[1:]...),
		"something after":   append(bytes.Clone(good), 0),
		"a flag unknown":    change(good, 3, good[3]|1<<7),
		"no kind":           change(good, 3, good[3]&^kindMask),
		"a root with an id": change(good, 4, 2),
		"more roots":        change(good, 2, 4),
		"fewer roots":       change(good, 2, 2),
		"roots without end": append([]byte{version, 6}, bytes.Repeat([]byte{0xff}, 20)...),
		"a path without end": append(append([]byte{version, 6, 1, kindFolder, 2}, binary.AppendUvarint(nil, 1<<40)...),
			"/1/"...),
	}
	for n := range good {
		bad[fmt.Sprintf("only %d bytes", n)] = good[:n]
	}
	for name, value := range bad {
		if _, err := decode(value); !errors.Is(err, ErrBadValue) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// change is a value with one byte changed.
func change(value []byte, at int, b byte) []byte {
	value = bytes.Clone(value)
	value[at] = b
	return value
}

// FuzzDecode: no value makes the reader fail otherwise than with an error, and
// what it accepts it reads again as the same.
func FuzzDecode(f *testing.F) {
	f.Add(encode(project(0, nil)))
	f.Add(encode(project(3, sample())))
	f.Fuzz(func(t *testing.T, value []byte) {
		p, err := decode(value)
		if err != nil {
			return
		}
		again, err := decode(encode(p))
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%v was read again as %v, error %v", p, again, err)
		}
	})
}
