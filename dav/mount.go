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
}

// location is what a URL below a mount names.
type location struct {
	path  store.Path
	slash bool // the URL ends in a slash, as a collection's does
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
	return location{path: path, slash: slash}, true, nil
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
	return string(appendHref(nil, m.prefix, p[len(m.root):], collection)), true
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
