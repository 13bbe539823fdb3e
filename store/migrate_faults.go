package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkNamespaces finds what migration 2 could not convert, or only by dropping
// a lock.
func checkNamespaces(m *migration) error {
	if err := m.refuse(slices.Concat(modelValues, modelFaults)...); err != nil {
		return err
	}
	return errors.Join(m.sameUsers(), m.sameTeams(), m.sameMembers(modelMembers))
}

// checkNamespacesDown finds what the v0 model has no place for. Locks of
// workspace roots, shared ones and those without a path have one.
func checkNamespacesDown(m *migration) error {
	return m.refuse(slices.Concat([]string{
		`SELECT 'lock ' || id || ' is of origin ' || origin FROM resource_locks WHERE origin <> 'webdav'`,
	}, treeFaults)...)
}

// checkModelDown: before the v0 model there is nothing.
func checkModelDown(m *migration) error {
	return m.refuse(
		`SELECT 'user ' || id || ' would be lost' FROM users`,
		`SELECT 'team ' || id || ' would be lost' FROM teams`,
		`SELECT 'folder ' || id || ' would be lost' FROM folders`,
		`SELECT 'file ' || id || ' would be lost' FROM files`,
		`SELECT 'lock ' || id || ' would be lost' FROM resource_locks`,
	)
}

func checkContent(m *migration) error {
	if err := m.refuse(treeFaults...); err != nil {
		return err
	}
	return errors.Join(m.sameUsers(), m.sameMembers(treeMembers))
}

// checkContentDown forgets nothing that migration 3 and its program made.
func checkContentDown(m *migration) error {
	return m.refuse(slices.Concat([]string{
		`SELECT 'file ' || id || ' has content' FROM files WHERE size > 0`,
		`SELECT 'file ' || id || ' has a type, times or an entity tag' FROM files
WHERE content_type IS NOT NULL OR created_at <> 0 OR modified_at <> 0 OR version <> 'v0-' || id`,
		`SELECT 'folder ' || id || ' has times' FROM folders WHERE created_at <> 0 OR modified_at <> 0`,
		`SELECT 'property ' || id || ' would be lost' FROM properties`,
		`SELECT 'user ' || name || ' has a password or role' FROM users WHERE password_hash IS NOT NULL OR is_admin = 1 OR disabled = 1`,
		`SELECT 'user ' || name || ' has a name to show or times' FROM users WHERE display_name <> '' OR created_at <> 0 OR updated_at <> 0`,
		`SELECT 'namespace ' || namespace_id || ' has a quota' FROM storage_usage WHERE quota IS NOT NULL`,
		`SELECT 'folder ' || id || ' is not purged yet' FROM folders WHERE detached_at IS NOT NULL`,
		`SELECT 'object ' || object_key || ' is not collected yet' FROM garbage`,
	}, treeFaults)...)
}

func checkTeams(m *migration) error {
	if err := m.refuse(ownerFaults...); err != nil {
		return err
	}
	return m.sameTeams()
}

// checkTeamsDown refuses while there is anything that migration 3 has no place
// for. A named lock that lapsed is held by nobody.
func checkTeamsDown(m *migration) error {
	return m.refuse(
		`SELECT 'team ' || team_id || ' has the member ' || user_id FROM team_members`,
		`SELECT 'team ' || name || ' has a time' FROM teams WHERE created_at <> 0`,
		`SELECT 'account ' || id || ' of user ' || user_id || ' would be lost' FROM accounts`,
		`SELECT 'file ' || file_id || ' has the version ' || id FROM file_versions`,
		fmt.Sprintf(`SELECT 'the named lock ' || name || ' is held' FROM named_locks WHERE expires_at >= %d`, m.now),
		`SELECT 'the entry ' || id || ' of the audit log would be lost' FROM audit_log`,
	)
}

// checkClientsDown refuses while there is what clients gave and migration 4 has
// no place for. The changes only tell what sync tokens mean, and clients list
// anew without them.
func checkClientsDown(m *migration) error {
	return m.refuse(
		`SELECT 'blob ' || id || ' has checksums' FROM blobs WHERE checksums IS NOT NULL`,
		`SELECT 'account ' || id || ' of user ' || user_id || ' has a digest' FROM accounts WHERE ha1_md5 IS NOT NULL OR ha1_sha256 IS NOT NULL`,
		`SELECT 'upload ' || name || ' of user ' || coalesce(user_id, 'none') || ' would be lost' FROM uploads`,
	)
}

// maxFaults is how many faults an error names at most.
const maxFaults = 100

// faults collects what is wrong with the data.
type faults []string

func (f *faults) add(format string, args ...any) {
	if len(*f) < maxFaults {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

func (f faults) err() error {
	if f == nil {
		return nil
	}
	return errors.New(strings.Join(f, "; "))
}

// refuse fails with the texts that the queries select.
func (m *migration) refuse(queries ...string) error {
	var found faults
	for _, query := range queries {
		err := m.rows(fmt.Sprintf("%s LIMIT %d", query, maxFaults), func(scan func(...any) error) error {
			var text string
			err := scan(&text)
			found.add("%s", text)
			return err
		})
		if err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	return found.err()
}

// modelValues select values of the v0 model that are of no use, whatever let
// them in: its tables have no CHECKs.
var modelValues = slices.Concat(
	badNumbers("user", "users", "id"),
	badNumbers("team", "teams", "id"),
	badNumbers("folder", "folders", "id", "parent_id", "user_id", "team_id"),
	badNumbers("file", "files", "id", "folder_id", "user_id", "team_id"),
	badNumbers("lock", "resource_locks", "id", "entity_id", "owner_id", "timeout_at", "created_at"),
	badTexts("user", "users", "name"),
	badTexts("team", "teams", "name"),
	badTexts("folder", "folders", "name"),
	badTexts("file", "files", "name"),
	badTexts("lock", "resource_locks", "token", "entity_type", "path", "owner_info"),
	[]string{
		`SELECT 'lock ' || id || ' has no token' FROM resource_locks WHERE token = ''`,
		`SELECT 'lock ' || id || ' is on a ' || entity_type FROM resource_locks WHERE entity_type NOT IN ('file', 'folder', 'personal_root', 'team_root')`,
		`SELECT 'lock ' || id || ' is neither shared nor exclusive' FROM resource_locks WHERE shared NOT IN (0, 1)`,
		`SELECT 'lock ' || id || ' is neither deep nor shallow' FROM resource_locks WHERE deep NOT IN (0, 1)`,
	},
)

// badNumbers select rows with numbers that are none, or less than they may be:
// ids begin with 1, times with 0.
func badNumbers(kind, table string, columns ...string) (queries []string) {
	for _, column := range columns {
		least := 1
		if strings.HasSuffix(column, "_at") {
			least = 0
		}
		queries = append(queries, fmt.Sprintf(`SELECT '%[1]s ' || id || ' has the %[3]s ' || quote(%[3]s) FROM %[2]s
WHERE %[3]s IS NOT NULL AND (typeof(%[3]s) <> 'integer' OR %[3]s < %[4]d)`, kind, table, column, least))
	}
	return queries
}

func badTexts(kind, table string, columns ...string) (queries []string) {
	for _, column := range columns {
		queries = append(queries, fmt.Sprintf(`SELECT '%[1]s ' || id || ' has the %[3]s ' || quote(%[3]s) FROM %[2]s
WHERE typeof(%[3]s) NOT IN ('text', 'null')`, kind, table, column))
	}
	return queries
}

// modelFaults select rows of the v0 model that do not fit together.
var modelFaults = []string{
	`SELECT 'folder ' || id || ' belongs to no one workspace' FROM folders f WHERE (user_id IS NULL) = (team_id IS NULL)
OR user_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM users WHERE id = f.user_id)
OR team_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM teams WHERE id = f.team_id)`,
	`SELECT 'file ' || id || ' belongs to no one workspace' FROM files f WHERE (user_id IS NULL) = (team_id IS NULL)
OR user_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM users WHERE id = f.user_id)
OR team_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM teams WHERE id = f.team_id)`,
	`SELECT 'folder ' || f.id || ' has no parent in its workspace' FROM folders f WHERE f.parent_id IS NOT NULL AND NOT EXISTS
(SELECT 1 FROM folders p WHERE p.id = f.parent_id AND p.user_id IS f.user_id AND p.team_id IS f.team_id)`,
	`SELECT 'file ' || f.id || ' has no folder in its workspace' FROM files f WHERE f.folder_id IS NOT NULL AND NOT EXISTS
(SELECT 1 FROM folders p WHERE p.id = f.folder_id AND p.user_id IS f.user_id AND p.team_id IS f.team_id)`,
	insideItself,
	`SELECT 'lock ' || id || ' has no target' FROM resource_locks l WHERE CASE entity_type
WHEN 'file' THEN NOT EXISTS (SELECT 1 FROM files WHERE id = l.entity_id)
WHEN 'folder' THEN NOT EXISTS (SELECT 1 FROM folders WHERE id = l.entity_id)
WHEN 'personal_root' THEN NOT EXISTS (SELECT 1 FROM users WHERE id = l.entity_id)
WHEN 'team_root' THEN NOT EXISTS (SELECT 1 FROM teams WHERE id = l.entity_id) END`,
	`SELECT 'lock ' || id || ' belongs to a missing user' FROM resource_locks l WHERE owner_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM users WHERE id = l.owner_id)`,
	`SELECT 'locks share a token: ' || group_concat(id) FROM resource_locks GROUP BY token HAVING count(*) > 1`,
}

// insideItself selects folders that are below no top.
const insideItself = `SELECT 'folder ' || id || ' is inside itself' FROM folders WHERE id NOT IN (
WITH RECURSIVE tree (id) AS (SELECT id FROM folders WHERE parent_id IS NULL
UNION ALL SELECT f.id FROM tree CROSS JOIN folders f ON f.parent_id = tree.id) SELECT id FROM tree)
AND parent_id IN (SELECT id FROM folders)`

// ownerFaults select workspaces of nobody and users and teams without one.
var ownerFaults = []string{
	`SELECT 'workspace ' || workspace_type || ':' || workspace_id || ' has no owner' FROM resource_lock_namespaces n WHERE
CASE workspace_type WHEN 'personal' THEN NOT EXISTS (SELECT 1 FROM users WHERE id = n.workspace_id)
ELSE NOT EXISTS (SELECT 1 FROM teams WHERE id = n.workspace_id) END`,
	`SELECT 'user ' || id || ' has no workspace' FROM users u WHERE NOT EXISTS
(SELECT 1 FROM resource_lock_namespaces WHERE workspace_type = 'personal' AND workspace_id = u.id)`,
	`SELECT 'team ' || id || ' has no workspace' FROM teams t WHERE NOT EXISTS
(SELECT 1 FROM resource_lock_namespaces WHERE workspace_type = 'team' AND workspace_id = t.id)`,
}

// treeFaults select rows of migrations 2 and 3 that do not fit together: each
// way over them would lose or bend something.
var treeFaults = append([]string{
	`SELECT 'workspace ' || workspace_type || ':' || workspace_id || ' has ' || count(f.id) || ' root folders' FROM resource_lock_namespaces n
LEFT JOIN folders f ON f.namespace_id = n.id AND f.parent_id IS NULL GROUP BY n.id HAVING count(f.id) <> 1`,
	`SELECT 'folder ' || id || ' is in no workspace' FROM folders f WHERE NOT EXISTS (SELECT 1 FROM resource_lock_namespaces WHERE id = f.namespace_id)`,
	`SELECT 'folder ' || f.id || ' has no parent in its workspace' FROM folders f WHERE f.parent_id IS NOT NULL AND NOT EXISTS
(SELECT 1 FROM folders p WHERE p.id = f.parent_id AND p.namespace_id = f.namespace_id)`,
	`SELECT 'file ' || f.id || ' has no folder in its workspace' FROM files f WHERE NOT EXISTS
(SELECT 1 FROM folders p WHERE p.id = f.folder_id AND p.namespace_id = f.namespace_id)`,
	insideItself,
	`SELECT 'lock ' || l.id || ' has no root in its workspace' FROM resource_locks l WHERE CASE root_kind
WHEN 'folder' THEN NOT EXISTS (SELECT 1 FROM folders WHERE id = l.root_folder_id AND namespace_id = l.namespace_id)
WHEN 'file' THEN NOT EXISTS (SELECT 1 FROM files WHERE id = l.root_file_id AND namespace_id = l.namespace_id) END`,
	`SELECT 'lock ' || id || ' belongs to a missing user' FROM resource_locks l WHERE holder_user_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM users WHERE id = l.holder_user_id)`,
}, ownerFaults...)

// modelMembers and treeMembers select what has a name, one folder's members
// together.
const (
	modelMembers = `SELECT 'folder', id, name, coalesce('/' || parent_id, 'user ' || user_id, 'team ' || team_id) AS folder FROM folders
UNION ALL SELECT 'file', id, name, coalesce('/' || folder_id, 'user ' || user_id, 'team ' || team_id) FROM files ORDER BY 4, 1, 2`
	treeMembers = `SELECT 'folder', id, name, parent_id FROM folders WHERE parent_id IS NOT NULL
UNION ALL SELECT 'file', id, name, folder_id FROM files ORDER BY 4, 1, 2`
)

// sameMembers refuses members of one folder whose names are one to a look-up, and
// names that no path can have.
func (m *migration) sameMembers(query string) error {
	type member struct {
		kind string
		id   int64
	}
	var found faults
	var folder string
	var keys map[string]member
	err := m.rows(query, func(scan func(...any) error) error {
		var name, parent string
		var this member
		if err := scan(&this.kind, &this.id, &name, &parent); err != nil {
			return err
		}
		if err := CheckName(name); err != nil {
			found.add("%s %d: %s", this.kind, this.id, strings.TrimPrefix(err.Error(), "store: "))
		}
		if parent != folder {
			folder, keys = parent, map[string]member{}
		}
		key := NameKey(name)
		switch other, taken := keys[key]; {
		case !taken:
			keys[key] = this
		case other.kind == this.kind:
			found.add("%ss %d and %d have one name", this.kind, other.id, this.id)
		default:
			found.add("%s %d and %s %d have one name", other.kind, other.id, this.kind, this.id)
		}
		return nil
	})
	return errors.Join(err, found.err())
}

func (m *migration) sameUsers() error { return m.sameNames("user", userKey) }
func (m *migration) sameTeams() error { return m.sameNames("team", teamKey) }

// sameNames refuses users, or teams, whose names are one to a look-up, and such
// as could be no segment of a URL.
func (m *migration) sameNames(kind string, key func(string) string) error {
	var found faults
	keys := map[string]int64{}
	err := m.rows(`SELECT id, name FROM `+kind+`s ORDER BY id`, func(scan func(...any) error) error {
		var id int64
		var name string
		if err := scan(&id, &name); err != nil {
			return err
		}
		if err := CheckName(name); err != nil {
			found.add("%s %d: %s", kind, id, strings.TrimPrefix(err.Error(), "store: "))
		}
		if other, taken := keys[key(name)]; taken {
			found.add("%ss %d and %d have one name", kind, other, id)
		}
		keys[key(name)] = id
		return nil
	})
	return errors.Join(err, found.err())
}

// checkSidecarDown refuses while there is what can be restored. Sessions only end.
func checkSidecarDown(m *migration) error {
	return m.refuse(`SELECT 'trash ' || id || ' (' || from_path || ') could no longer be restored' FROM trash`)
}
