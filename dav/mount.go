package dav

import (
	"slices"
	"strings"

	"holdfast/lockns"
	"holdfast/store"
)

// mount is a part of the URL space that shows a workspace, or a folder of it.
// It is the one place where URLs, paths of the store and hrefs meet. All paths
// it takes and gives are those of the workspace, its root included.
type mount struct {
	prefix    string // as escaped in URLs, without a final slash
	workspace lockns.Workspace
	root      store.Path // the folder the prefix stands for; empty: the workspace root
	// asked is the location of the Request-URI. Hrefs spell what they have in
	// common with it as the client did: many spell one URL differently (RFC
	// 3986 section 6), yet know a resource, or the root of their lock, only by
	// the letters that they sent themselves.
	asked location
}

// location is what a URL below a mount names.
type location struct {
	path  store.Path
	slash bool // the URL ends in a slash, as a collection's does
	// spelled holds the escaped segments of the URL, one for each name below
	// the mount's root.
	spelled []string
}

// resolve maps the escaped path of a URL. inside is false when the URL is not
// below the mount; errors are those of splitPath.
func (m mount) resolve(escapedPath string) (loc location, inside bool, err error) {
	rest, ok := cutPrefix(escapedPath, m.prefix)
	if !ok {
		return location{}, false, nil
	}
	names, slash, err := splitPath(rest)
	if err != nil {
		return location{}, true, err
	}
	path := append(slices.Clone(m.root), names...)
	return location{path: path, slash: slash, spelled: spelledSegments(rest, names)}, true, nil
}

// target is a path of the mount's workspace as the store wants it.
func (m mount) target(p store.Path) store.Target {
	return store.Target{Workspace: m.workspace, Path: p}
}

// isRoot reports whether the mount's own URL maps to the path. It can't be
// removed, moved or replaced, even where it is an ordinary folder of its
// workspace.
func (m mount) isRoot(p store.Path) bool { return len(p) == len(m.root) }

// href is the reference of a resource (RFC 4918 section 8.3): an absolute path,
// with a final slash for a collection. ok is false outside the mount.
func (m mount) href(p store.Path, collection bool) (href string, ok bool) {
	if len(p) < len(m.root) || !slices.Equal(p[:len(m.root)], m.root) {
		return "", false
	}
	b, same := []byte(m.prefix), true
	for i, name := range p[len(m.root):] {
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
	return string(b), true
}

// isAsked reports whether the Request-URI has this name at this level.
func (m mount) isAsked(level int, name string) bool {
	if level >= len(m.asked.spelled) {
		return false
	}
	asked := m.asked.path[len(m.root)+level]
	return asked == name || store.NameKey(asked) == store.NameKey(name)
}

// spelledSegments are the segments of an escaped path that hold its names. One
// with a character that a path has not got (RFC 3986 section 3.3), as raw
// brackets, is spelled anew.
func spelledSegments(escapedPath string, names []string) []string {
	spelled := make([]string, 0, len(names))
	for segment := range strings.SplitSeq(escapedPath, "/") {
		if name, _ := percentDecode(segment); name == "" || name == "." {
			continue // splitPath drops these
		}
		if strings.ContainsFunc(segment, func(r rune) bool { return !isPathChar(r) }) {
			segment = string(appendSegment(nil, names[len(spelled)]))
		}
		spelled = append(spelled, segment)
	}
	return spelled
}

// isPathChar reports whether a segment of a URL may hold the character, as part
// of a percent-encoding too.
func isPathChar(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("-._~!$&'()*+,;=:@%", r)
}

// lockRoot is the href of a lock's root, as it was called when locked. For a
// root outside the mount, whose name its users can't know, the mount's own URL
// stands in.
func (m mount) lockRoot(l lockns.Lock) string {
	if href, ok := m.href(store.ParsePath(l.Path), l.Place.IsFolder()); ok {
		return href
	}
	return string(appendHref(nil, m.prefix, nil, true))
}

// lockRoots lists the roots of locks, each once.
func (m mount) lockRoots(locks []lockns.Lock) []string {
	var hrefs []string
	seen := map[string]bool{}
	for _, l := range locks {
		if href := m.lockRoot(l); !seen[href] {
			seen[href] = true
			hrefs = append(hrefs, href)
		}
	}
	return hrefs
}

// cutPrefix takes the segments of prefix off an escaped path. Segments are
// compared decoded, since "%64av" and "dav" are one name (RFC 3986 section
// 6.2.2.2), and empty or "." ones between them are passed over as in splitPath.
func cutPrefix(escapedPath, prefix string) (rest string, ok bool) {
	rest = escapedPath
	for _, want := range strings.FieldsFunc(prefix, func(r rune) bool { return r == '/' }) {
		segment := ""
		for segment == "" || segment == "." {
			if rest == "" {
				return "", false
			}
			end := strings.IndexByte(rest[1:], '/') + 1
			if end == 0 {
				end = len(rest)
			}
			segment, rest = rest[1:end], rest[end:]
		}
		got, okGot := percentDecode(segment)
		name, okWant := percentDecode(want)
		if !okGot || !okWant || got != name {
			return "", false
		}
	}
	return rest, true
}
