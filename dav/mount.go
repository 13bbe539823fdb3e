package dav

import (
	"strings"

	"holdfast/lockns"
	"holdfast/store"
)

// mount is a part of the URL space that shows a workspace, or a folder of it.
// It is the one place where URLs, paths of the store and hrefs meet. All paths
// it takes and gives start at the mount's root.
type mount struct {
	prefix    string // as escaped in URLs of the client, without a final slash
	name      string // the display name of a root that has no name of its own
	workspace lockns.Workspace
	base      int64      // id of the folder the prefix stands for; 0: the workspace root
	readOnly  bool       // the principal may change nothing here
	role      store.Role // of the principal in a team's; "" for their own
	// place says where the mount's root is by now, the zero Place when it is
	// nowhere. It is asked only when a lock of a request has to be shown.
	place func() lockns.Place
	// asked is the location of the Request-URI. Hrefs spell what they have in
	// common with it as the client did: many spell one URL differently (RFC
	// 3986 section 6), yet know a resource, or the root of their lock, only by
	// the letters that they sent themselves.
	asked location
}

// location is what a URL below a mount names. The zero location is no resource.
type location struct {
	*mount
	path  store.Path
	slash bool // the URL ends in a slash, as a collection's does
	// spelled holds the escaped segments of the URL, one for each name below
	// the mount's root.
	spelled []string
}

// at maps what follows the mount's prefix in an escaped URL. Errors are those
// of splitPath.
func (m *mount) at(rest string) (location, error) {
	names, slash, err := splitPath(rest)
	if err != nil {
		return location{}, err
	}
	return location{mount: m, path: names, slash: slash, spelled: spelledSegments(rest, names)}, nil
}

// target is the location as the store wants it.
func (l location) target() store.Target {
	return store.Target{Workspace: l.workspace, Base: l.base, Path: l.path}
}

// href is the reference of a resource (RFC 4918 section 8.3): an absolute path,
// with a final slash for a collection.
func (m *mount) href(p store.Path, collection bool) string {
	b, same := []byte(m.prefix), true
	for i, name := range p {
		b = append(b, '/')
		if same = same && m.isAsked(i, name); same {
			b = append(b, m.asked.spelled[i]...)
		} else {
			b = appendSegment(b, name)
		}
	}
	if collection || len(b) == 0 {
		b = append(b, '/')
	}
	return string(b)
}

// isAsked reports whether the Request-URI has this name at this level.
func (m *mount) isAsked(level int, name string) bool {
	if level >= len(m.asked.spelled) {
		return false
	}
	asked := m.asked.path[level]
	return asked == name || store.NameKey(asked) == store.NameKey(name)
}

// spelledSegments are the segments of an escaped path that hold its names.
func spelledSegments(escapedPath string, names []string) []string {
	spelled := make([]string, 0, len(names))
	for segment := range strings.SplitSeq(escapedPath, "/") {
		if name, _ := percentDecode(segment); name == "" || name == "." {
			continue // splitPath drops these
		}
		spelled = append(spelled, spell(segment, names[len(spelled)]))
	}
	return spelled
}

// spell is a segment as the client spelled the name. One with a character that a
// path has not got (RFC 3986 section 3.3), as raw brackets, is spelled anew.
func spell(segment, name string) string {
	if strings.ContainsFunc(segment, func(r rune) bool { return !isPathChar(r) }) {
		return string(appendSegment(nil, name))
	}
	return segment
}

// isPathChar reports whether a segment of a URL may hold the character, as part
// of a percent-encoding too.
func isPathChar(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("-._~!$&'()*+,;=:@%", r)
}

// lockRoot is the href of a lock's root, as it was called when locked. For a
// root outside the mount, whose name its users can't know, the mount's own URL
// stands in.
func (m *mount) lockRoot(l lockns.Lock) string {
	path, ok := m.pathOf(l)
	return m.href(path, !ok || l.Place.IsFolder())
}

// pathOf is where a lock's root is below the mount's. A lock keeps the names
// that led to it from the workspace root; how many of them lie below the mount
// is told by ids, since the names above may be spelled otherwise by now.
func (m *mount) pathOf(l lockns.Lock) (path store.Path, inside bool) {
	path = store.ParsePath(l.Path)
	if m.base == 0 {
		return path, true
	}
	root := m.place()
	levels := len(store.ParsePath(strings.TrimPrefix(l.Place.Ancestry, root.Ancestry)))
	if !root.Holds(l.Place) || levels > len(path) {
		return nil, false
	}
	return path[len(path)-levels:], true
}

// cutPrefix takes the segments of prefix off an escaped path. Segments are
// compared decoded, since "%64av" and "dav" are one name (RFC 3986 section
// 6.2.2.2).
func cutPrefix(escapedPath, prefix string) (rest string, ok bool) {
	rest = escapedPath
	for _, want := range strings.FieldsFunc(prefix, func(r rune) bool { return r == '/' }) {
		segment, after, ok := cutSegment(rest)
		if !ok {
			return "", false
		}
		got, okGot := percentDecode(segment)
		name, okWant := percentDecode(want)
		if !okGot || !okWant || got != name {
			return "", false
		}
		rest = after
	}
	return rest, true
}

// cutSegment takes the first segment off an escaped path that is empty or begins
// with a slash. Empty and "." segments are passed over, as in splitPath; ok is
// false when there are no others.
func cutSegment(escapedPath string) (segment, rest string, ok bool) {
	for rest = escapedPath; rest != ""; {
		end := strings.IndexByte(rest[1:], '/') + 1
		if end == 0 {
			end = len(rest)
		}
		segment, rest = rest[1:end], rest[end:]
		if name, ok := percentDecode(segment); !ok || name != "" && name != "." {
			return segment, rest, true
		}
	}
	return "", "", false
}
