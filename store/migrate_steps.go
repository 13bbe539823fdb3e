package store

import (
	"fmt"

	"github.com/google/uuid"

	"holdfast/lockns"
)

// steps are the migrations, that of version 1 first.
var steps = []struct {
	name     string
	up, down step
}{
	{"v0 model", step{nothing, upModel}, step{checkModelDown, downModel}},
	{"lock namespaces", step{checkNamespaces, upNamespaces}, step{checkNamespacesDown, downNamespaces}},
	{"content, properties, accounts", step{checkContent, upContent}, step{checkContentDown, downContent}},
	{"teams, app passwords, versions, named locks, audit", step{checkTeams, upTeams}, step{checkTeamsDown, downTeams}},
	{"changes, checksums, digest, uploads", step{nothing, upClients}, step{checkClientsDown, downClients}},
	{"sessions, trash, orders of lists", step{nothing, upSidecar}, step{checkSidecarDown, downSidecar}},
}

func nothing(*migration) error { return nil }

func upModel(m *migration) error   { return m.run("up") }
func downModel(m *migration) error { return m.run("down") }

// upNamespaces converts the v0 model to the contract's.
func upNamespaces(m *migration) error {
	if err := m.run("1_tables"); err != nil {
		return err
	}
	for _, q := range []string{
		`INSERT INTO resource_lock_namespaces (workspace_type, workspace_id, created_at, updated_at) SELECT 'personal', id, ?1, ?1 FROM users ORDER BY id`,
		`INSERT INTO resource_lock_namespaces (workspace_type, workspace_id, created_at, updated_at) SELECT 'team', id, ?1, ?1 FROM teams ORDER BY id`,
	} {
		if err := m.exec(q, m.now); err != nil {
			return err
		}
	}
	if err := m.run("2_rows"); err != nil {
		return err
	}
	for _, table := range []string{"folders_new", "files_new"} {
		if err := m.fillKeys(table, NameKey); err != nil {
			return err
		}
	}
	if err := m.fillAncestries(); err != nil {
		return err
	}
	return m.run("3_swap")
}

func downNamespaces(m *migration) error { return m.run("down") }

func upContent(m *migration) error {
	if err := m.run("up"); err != nil {
		return err
	}
	if err := m.fillKeys("users", userKey); err != nil {
		return err
	}
	return m.run("users_key")
}

func downContent(m *migration) error { return m.run("down") }

func upTeams(m *migration) error {
	if err := m.run("up"); err != nil {
		return err
	}
	if err := m.fillKeys("teams", teamKey); err != nil {
		return err
	}
	if err := m.exec(`INSERT INTO instance (id, uuid) VALUES (1, ?)`, uuid.NewString()); err != nil {
		return err
	}
	return m.run("teams_key")
}

func downTeams(m *migration) error { return m.run("down") }

func upClients(m *migration) error   { return m.run("up") }
func downClients(m *migration) error { return m.run("down") }

func upSidecar(m *migration) error   { return m.run("up") }
func downSidecar(m *migration) error { return m.run("down") }

// fillKeys fills in name_key, which SQL cannot compute. Rows are read in pages:
// they are changed between them.
func (m *migration) fillKeys(table string, key func(string) string) error {
	for after := int64(0); ; {
		keys := map[int64]string{}
		query := fmt.Sprintf(`SELECT id, name FROM %s WHERE id > %d ORDER BY id LIMIT %d`, table, after, pageRows)
		err := m.rows(query, func(scan func(...any) error) error {
			var name string
			err := scan(&after, &name)
			keys[after] = key(name)
			return err
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		for id, key := range keys {
			if err := m.exec(`UPDATE `+table+` SET name_key = ? WHERE id = ?`, key, id); err != nil {
				return err
			}
		}
	}
}

// fillAncestries fills in the id paths of the lock roots, from each up to the top.
func (m *migration) fillAncestries() error {
	for kind, start := range map[lockns.RootKind]string{
		lockns.WorkspaceRoot: `SELECT id, '/' FROM folders_new WHERE namespace_id = l.namespace_id AND parent_id IS NULL AND name = ''`,
		lockns.FolderRoot:    `SELECT l.root_folder_id, '/'`,
		lockns.FileRoot:      `SELECT folder_id, '/f' || id FROM files_new WHERE id = l.root_file_id`,
	} {
		err := m.exec(`UPDATE resource_locks_new AS l SET ancestry = (WITH RECURSIVE up (folder, path) AS (`+start+`
UNION ALL SELECT f.parent_id, '/' || f.id || up.path FROM up JOIN folders_new f ON f.id = up.folder)
SELECT path FROM up WHERE folder IS NULL) WHERE root_kind = ?`, string(kind))
		if err != nil {
			return fmt.Errorf("id paths: %w", err)
		}
	}
	return nil
}
