package store

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Path is a path below the workspace root, one name a level, as sent. The empty
// Path is the root.
type Path []string

// String is the path as shown: "/a/b", "/" for the root.
func (p Path) String() string { return "/" + strings.Join(p, "/") }

// IsRoot reports whether p is the workspace root.
func (p Path) IsRoot() bool { return len(p) == 0 }

// Parent is the path one level up; the root is its own parent.
func (p Path) Parent() Path {
	if p.IsRoot() {
		return p
	}
	return p[: len(p)-1 : len(p)-1]
}

// Base is the last name, "" for the root.
func (p Path) Base() string {
	if p.IsRoot() {
		return ""
	}
	return p[len(p)-1]
}

// Join is the path one level down.
func (p Path) Join(name string) Path {
	return append(p[:len(p):len(p)], name)
}

// ParsePath is the inverse of String.
func ParsePath(s string) Path {
	s = strings.Trim(s, "/")
	if s == "" {
		return nil
	}
	return strings.Split(s, "/")
}

// check refuses a path that no resource may have.
func (p Path) check() error {
	if len(p) > MaxLevels {
		return ErrTooDeep
	}
	for _, name := range p {
		if err := CheckName(name); err != nil {
			return err
		}
	}
	return nil
}

// CheckName refuses a name that no resource may have, with an error that wraps
// ErrBadName and says why.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: empty", ErrBadName)
	case name == "." || name == "..":
		return fmt.Errorf("%w: dot segment", ErrBadName)
	case len(name) > MaxNameBytes:
		return fmt.Errorf("%w: over %d bytes", ErrBadName, MaxNameBytes)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: not UTF-8", ErrBadName)
	}
	for _, r := range name {
		if r < 0x20 || r == 0x7f || r == '/' || r == 0xfffe || r == 0xffff {
			return fmt.Errorf("%w: character %U", ErrBadName, r)
		}
	}
	return nil
}

// nameKey is what names are looked up by: the NFC form, so that a name finds
// its resource whichever normal form a client sends.
func nameKey(name string) string { return norm.NFC.String(name) }
