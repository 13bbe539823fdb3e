package dav

import (
	"net/http"
	"slices"
	"strings"
)

// above is the URL path, without a final slash, of a read-only collection above
// what Options.FilesPrefix, LegacyPrefix and UploadsPrefix say. Clients ask such collections
// before they mount, so they must answer. "/" is served by ServeRoot and lists
// none of them: whoever looks around from there would find the same files twice.
type above string

// findAbove makes the collections that lead to the prefixes in use.
func (h *Handler) findAbove() {
	for _, prefix := range []string{h.opt.FilesPrefix + "/NAME", h.opt.LegacyPrefix, h.opt.UploadsPrefix + "/NAME"} {
		for a := above(prefix).parent(); a != ""; a = a.parent() {
			if !slices.Contains(h.above, a) {
				h.above = append(h.above, a)
			}
		}
	}
}

// parent is one level up, "" for the root.
func (a above) parent() above { return a[:max(0, strings.LastIndexByte(string(a), '/'))] }

// aboveAt is the collection that an escaped path names, if it names one.
func (h *Handler) aboveAt(escapedPath string) (a above, ok bool) {
	for _, a := range h.above {
		if rest, ok := cutPrefix(escapedPath, string(a)); ok {
			if _, _, more := cutSegment(rest); !more {
				return a, true
			}
		}
	}
	return "", false
}

// list writes the collection and, with Depth 1, what is in it.
func (a above) list(q *request, w http.ResponseWriter) error {
	return q.listMounts(w, string(a)+"/", a.name(), func(pw *propWriter) error {
		for _, b := range q.h.above {
			if b.parent() != a {
				continue
			}
			if err := pw.madeUp(mountList, string(b)+"/", b.name()); err != nil {
				return err
			}
		}
		for _, prefix := range []string{q.h.opt.LegacyPrefix, q.h.opt.FilesPrefix + "/" + Segment(q.principal.Name)} {
			if above(prefix).parent() != a {
				continue
			}
			if err := pw.mount(q.ownMountAt(prefix)); err != nil {
				return err
			}
		}
		if a != "" && string(a) == q.h.opt.UploadsPrefix {
			return pw.madeUp(mountList, string(a)+"/"+Segment(q.principal.Name)+"/", "uploads")
		}
		return nil
	})
}

// name is the last segment.
func (a above) name() string { return string(a[len(a.parent()):])[1:] }
