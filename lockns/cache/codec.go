package cache

import (
	"encoding/binary"
	"fmt"
	"time"

	"holdfast/lockns"
)

// The form of a value, all numbers as varints:
//
//	version (1 byte), generation, number of roots, then for each root
//	flags (1 byte), id, length of the id path, id path, end in UTC microseconds if it has one
const version = 1

// The flags of a root. The two lowest bits are the kind.
const (
	kindFile     = 1
	kindFolder   = 2
	kindRoot     = 3
	kindMask     = 3
	flagInfinity = 1 << 2
	flagShared   = 1 << 3
	flagEnds     = 1 << 4
	flagsKnown   = kindMask | flagInfinity | flagShared | flagEnds
)

var kinds = [...]lockns.RootKind{kindFile: lockns.FileRoot, kindFolder: lockns.FolderRoot, kindRoot: lockns.WorkspaceRoot}

// encode is the value that a projection is kept as.
func encode(p *lockns.Projection) []byte {
	roots := p.Roots()
	b := make([]byte, 0, 16+32*len(roots))
	b = append(b, version)
	b = binary.AppendVarint(b, p.Generation())
	b = binary.AppendUvarint(b, uint64(len(roots)))
	for i := range roots {
		b = appendRoot(b, &roots[i])
	}
	return b
}

func appendRoot(b []byte, r *lockns.ProjectedRoot) []byte {
	var flags byte
	switch r.Place.Root.Kind {
	case lockns.FileRoot:
		flags = kindFile
	case lockns.FolderRoot:
		flags = kindFolder
	case lockns.WorkspaceRoot:
		flags = kindRoot
	}
	if r.Depth == lockns.Infinity {
		flags |= flagInfinity
	}
	if r.Mode == lockns.Shared {
		flags |= flagShared
	}
	if !r.ExpiresAt.IsZero() {
		flags |= flagEnds
	}
	b = append(b, flags)
	b = binary.AppendVarint(b, r.Place.Root.ID)
	b = binary.AppendUvarint(b, uint64(len(r.Place.Ancestry)))
	b = append(b, r.Place.Ancestry...)
	if flags&flagEnds != 0 {
		b = binary.AppendVarint(b, r.ExpiresAt.UnixMicro())
	}
	return b
}

// decode reads a value: ErrBadValue when it is of another version, cut short, or
// anything else that encode does not make.
func decode(b []byte) (*lockns.Projection, error) {
	r := reader{b: b}
	if v := r.byte(); v != version {
		return nil, fmt.Errorf("%w: version %d", ErrBadValue, v)
	}
	generation := r.varint()
	n := r.uvarint()
	// A root takes three bytes at least, so the memory is never more than the
	// value is worth.
	if n > uint64(len(r.b)/3) {
		return nil, ErrBadValue
	}
	roots := make([]lockns.ProjectedRoot, n)
	for i := range roots {
		roots[i] = r.root()
	}
	if r.bad || len(r.b) > 0 {
		return nil, ErrBadValue
	}
	return lockns.NewProjection(generation, roots), nil
}

// reader takes a value apart. Once something is wrong it stays bad and gives
// zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) root() (root lockns.ProjectedRoot) {
	flags := r.byte()
	root.Place.Root = lockns.Root{Kind: kinds[flags&kindMask], ID: r.varint()}
	root.Place.Ancestry = r.string()
	root.Depth, root.Mode = lockns.Resource, lockns.Exclusive
	if flags&flagInfinity != 0 {
		root.Depth = lockns.Infinity
	}
	if flags&flagShared != 0 {
		root.Mode = lockns.Shared
	}
	if flags&flagEnds != 0 {
		root.ExpiresAt = time.UnixMicro(r.varint()).UTC()
	}
	if flags&^flagsKnown != 0 || !root.Place.Root.Valid() {
		r.bad = true
	}
	return root
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n)
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

// skip passes a number of n bytes; none or fewer is how package binary says that
// there is no number.
func (r *reader) skip(n int) {
	if n <= 0 {
		r.bad, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}

func (r *reader) string() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
