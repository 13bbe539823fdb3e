package rest

import (
	"slices"
	"strings"

	"holdfast/store"
)

// isBlocked reports whether a name is blocked, without regard to case and normal
// form. Nothing is given such a name. What has one, from a time when it was not
// blocked, is not there, nor is anything below it.
func (a *API) isBlocked(name string) bool {
	return len(a.blocked) > 0 && a.blocked[store.CaselessKey(name)]
}

// hasBlocked reports whether a name of the path is blocked.
func (a *API) hasBlocked(p store.Path) bool { return slices.ContainsFunc(p, a.isBlocked) }

// parsePath reads a path as a client writes it: names with "/" between, one more
// before and after if they like; "/" is the root.
//
// Errors: store.ErrBadName, store.ErrTooDeep.
func parsePath(text string) (store.Path, error) {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "/"), "/")
	if text == "" {
		return nil, nil
	}
	if strings.Count(text, "/") >= store.MaxLevels {
		return nil, store.ErrTooDeep
	}
	path := store.Path(strings.Split(text, "/"))
	for _, name := range path {
		if err := store.CheckName(name); err != nil {
			return nil, err
		}
	}
	return path, nil
}
