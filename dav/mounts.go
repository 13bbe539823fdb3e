package dav

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"holdfast/lockns"
	"holdfast/store"
)

// Mount is a part of the URL space that shows files to a principal.
type Mount struct {
	Name string // for people
	// URL is the absolute path of its root, escaped and with a final slash.
	URL      string
	Team     bool // a team's workspace, not the principal's own mount
	ReadOnly bool // the principal may change nothing there
	// Workspace is the one it shows, or a part of.
	Workspace lockns.Workspace
	Role      store.Role // what the principal is in a team's; "" for their own mount
}

// Mounts lists what the principal of a request can mount: their own mount, then
// their teams' by name.
func (h *Handler) Mounts(r *http.Request, p Principal) ([]Mount, error) {
	q := &request{h: h, r: r, principal: p}
	teams, err := q.teamMounts()
	if err != nil {
		return nil, err
	}
	own := q.ownMount()
	all := []Mount{{Name: own.name, URL: own.href(nil, true), ReadOnly: p.ReadOnly, Workspace: own.workspace}}
	for _, m := range teams {
		all = append(all, Mount{Name: m.name, URL: m.href(nil, true), Team: true, ReadOnly: p.ReadOnly || m.readOnly, Workspace: m.workspace, Role: m.role})
	}
	return all, nil
}

// hasTeams reports whether the principal's teams have mounts for it. To others
// all teams look like none.
func (q *request) hasTeams() bool {
	return q.h.opt.TeamsPrefix != "" && !q.principal.Scoped && !q.principal.Anonymous
}

// ownMount is the mount of Options.Prefix.
func (q *request) ownMount() *mount { return q.ownMountAt(q.h.opt.Prefix) }

// ownMountAt is the principal's own mount under one of its prefixes.
func (q *request) ownMountAt(prefix string) *mount {
	if m := q.own[prefix]; m != nil {
		return m
	}
	m := q.newMount(prefix, q.principal.Name, q.principal.Workspace)
	m.base = q.principal.Base
	if q.own == nil {
		q.own = map[string]*mount{}
	}
	q.own[prefix] = m
	return m
}

// resolveOwn is resolve for the URLs of the principal's own mount; ok is false
// when the path is none of them.
func (q *request) resolveOwn(escapedPath string) (loc location, ok bool, err error) {
	for _, prefix := range q.h.own {
		if rest, ok := cutPrefix(escapedPath, prefix); ok {
			loc, err = q.ownMountAt(prefix).at(rest)
			return loc, true, err
		}
	}
	segment, rest, ok := q.cutOwn(escapedPath, q.h.opt.FilesPrefix)
	if !ok {
		return location{}, false, nil
	}
	loc, err = q.ownMountAt(q.h.opt.FilesPrefix + "/" + segment).at(rest)
	return loc, true, err
}

// cutOwn takes a prefix, and behind it the principal's own name in any letter
// case, off an escaped path. ok is false when that is not how it begins. segment
// is the name as spelled.
func (q *request) cutOwn(escapedPath, prefix string) (segment, rest string, ok bool) {
	rest, ok = cutPrefix(escapedPath, prefix)
	if !ok || prefix == "" {
		return "", "", false
	}
	segment, rest, _ = cutSegment(rest)
	name, ok := percentDecode(segment)
	if !ok || !strings.EqualFold(name, q.principal.Name) {
		return "", "", false
	}
	return spell(segment, name), rest, true
}

// teamMounts are the mounts of all teams of the principal, spelled as the teams.
func (q *request) teamMounts() ([]*mount, error) {
	if !q.hasTeams() {
		return nil, nil
	}
	all, err := q.store().Memberships(q.r.Context(), q.principal.UserID)
	if err != nil {
		return nil, fmt.Errorf("read teams: %w", err)
	}
	mounts := make([]*mount, len(all))
	for i, m := range all {
		mounts[i] = q.newTeamMount(m, Segment(m.Team.Name))
	}
	return mounts, nil
}

// teamMount is the mount of the team that a segment of a URL names, nil when the
// principal has no such team. Each name is looked up once a request.
func (q *request) teamMount(name, segment string) (*mount, error) {
	if m, ok := q.teams[name]; ok {
		return m, nil
	}
	membership, err := q.store().Membership(q.r.Context(), q.principal.UserID, name)
	var m *mount
	switch {
	case err == nil:
		m = q.newTeamMount(membership, spell(segment, name))
	case !errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("read team: %w", err)
	}
	if q.teams == nil {
		q.teams = map[string]*mount{}
	}
	q.teams[name] = m
	return m, nil
}

// newTeamMount is a team's mount, its name spelled as the segment.
func (q *request) newTeamMount(of store.Membership, segment string) *mount {
	m := q.newMount(q.h.opt.TeamsPrefix+"/"+segment, of.Team.Name, of.Team.Workspace())
	m.role, m.readOnly = of.Role, !of.Role.MayWrite()
	return m
}

func (q *request) newMount(prefix, name string, ws lockns.Workspace) *mount {
	m := &mount{prefix: q.external() + prefix, name: name, workspace: ws}
	m.place = sync.OnceValue(func() lockns.Place {
		// Where this fails, locks are shown less exactly. They are what matters.
		root, _ := q.store().Stat(q.r.Context(), location{mount: m}.target())
		return root.Place
	})
	return m
}

// resolve maps the escaped path of a URL to a location in one of the principal's
// mounts, to the zero location when it is in none. Errors are those of splitPath
// and of looking up a team.
func (q *request) resolve(escapedPath string) (location, error) {
	if loc, ok, err := q.resolveOwn(escapedPath); ok {
		return loc, err
	}
	rest, ok := q.h.cutTeams(escapedPath)
	if !ok || !q.hasTeams() {
		return location{}, nil
	}
	segment, rest, ok := cutSegment(rest)
	if !ok {
		return location{}, nil
	}
	name, err := decodeSegment(segment)
	if err != nil {
		return location{}, err
	}
	m, err := q.teamMount(name, segment)
	if m == nil || err != nil {
		return location{}, err
	}
	return m.at(rest)
}

// mountOf is the mount to show a lock in. COPY and MOVE have two; a lock is
// known by ids, and the roots of two workspaces have different ones.
func (q *request) mountOf(l lockns.Lock) *mount {
	if q.dest.mount != nil && q.dest.workspace != q.workspace && q.dest.place().Holds(l.Place) {
		return q.dest.mount
	}
	return q.mount
}

// lockRoots lists the roots of locks, each once.
func (q *request) lockRoots(locks []lockns.Lock) []string {
	var hrefs []string
	seen := map[string]bool{}
	for _, l := range locks {
		if href := q.mountOf(l).lockRoot(l); !seen[href] {
			seen[href] = true
			hrefs = append(hrefs, href)
		}
	}
	return hrefs
}
