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

// NameError says why a name is not allowed. It is an ErrBadName.
type NameError struct {
	// Reason completes the sentence "a name ...".
	Reason string
}

func (e *NameError) Error() string { return "store: a name " + e.Reason }

// Unwrap makes errors.Is find ErrBadName.
func (e *NameError) Unwrap() error { return ErrBadName }

// CheckName refuses a name that no resource may have, with a *NameError.
func CheckName(name string) error {
	switch {
	case name == "":
		return &NameError{"is empty"}
	case name == "." || name == "..":
		return &NameError{"is a dot segment"}
	case len(name) > MaxNameBytes:
		return &NameError{fmt.Sprintf("is longer than %d bytes", MaxNameBytes)}
	case !utf8.ValidString(name):
		return &NameError{"is not valid UTF-8"}
	}
	for _, r := range name {
		if r < 0x20 || r == 0x7f || r == '/' || r == 0xfffe || r == 0xffff {
			return &NameError{fmt.Sprintf("contains the character %U", r)}
		}
	}
	return nil
}

// CaselessKey is NameKey without regard to case, as blocked names are compared.
func CaselessKey(name string) string { return strings.ToLower(NameKey(name)) }

// NameKey is what names are looked up by: the NFC form, so that a name finds its
// resource whichever normal form a client sends.
func NameKey(name string) string { return norm.NFC.String(name) }
