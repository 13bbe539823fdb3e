package store_test

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// background are statements that may read more than they return, each with its
// reason. A text is matched by its beginning. Check is not among them: it looks
// at everything, and runs only after the statements were collected.
var background = map[string]string{
	`SELECT u.id, u.name, u.display_name, coalesce(u.password_hash, ''), u.is_admin, u.disabled, u.auth_version, u.created_at FROM users u ORDER BY u.name_key`: "the list of all users",
	`SELECT t.id, t.name, t.created_at FROM teams t ORDER BY t.name_key`:                                                                                        "the list of all teams",
	`SELECT n.workspace_type, n.workspace_id FROM resource_lock_namespaces n
WHERE EXISTS`: "expiry looks for a workspace that has expired locks, one look-up each",
	`UPDATE accounts SET ha1_md5 = NULL, ha1_sha256 = NULL WHERE`: "once, when Digest is served no more",
	`DELETE FROM resource_locks WHERE namespace_id = ? AND true`:  "all locks of a workspace end with it",
}

// everything runs all operations of the store, on each kind of resource, so that
// each of their statements is prepared.
func everything(t *testing.T, f *fixture) {
	ctx := t.Context()
	bob := f.addUser("bob")
	f.mkdir("/d")
	f.mkdir("/d/e")
	f.put("/d/f", "long enough for an object")
	f.put("/d/f", "short")
	f.put("/d/f", "shorter")
	for _, path := range []string{"/", "/d", "/d/f"} {
		f.setProp(path, "a", "1")
		remove := prop("b", "")
		remove.Remove = true
		_, err := f.PatchProps(ctx, f.at(path), store.Patch{Props: []store.PropOp{remove}, Modified: new(f.now())}, f.me())
		must(t, err)
		l := f.lock(path, lockns.Resource)
		_, err = f.RefreshLock(ctx, f.at(path), store.ByToken(l.Lock.Token), time.Minute, f.me())
		must(t, err)
		for _, depth := range []int{store.DepthZero, store.DepthOne, store.DepthInfinity} {
			must(t, f.Walk(ctx, f.at(path), depth, store.Want{Props: true, Locks: true, Checksums: true}, 1000, func(store.Entry) error { return nil }))
			scopes := []store.SearchScope{{Target: f.at(path), Depth: depth}, {Target: f.at("/"), Depth: depth}}
			_, err = f.Search(ctx, scopes, store.Query{Keys: byName, Descending: []bool{true}}, store.Want{Props: true, Locks: true}, func(int, store.Entry) error { return nil })
			must(t, err)
		}
		must(t, f.Unlock(ctx, f.at(path), store.ByToken(l.Lock.Token), f.me()))
	}
	f.read("/d/f")
	_, err := f.Checksums(ctx, f.at("/d/f"), "SHA1")
	must(t, err)
	f.everyVersion()
	f.everyUpload()
	for _, at := range []store.Position{{}, {Folder: f.stat("/d").Position().Folder, Change: 1}} {
		_, _, err := f.Changes(ctx, f.at("/d"), at, store.Want{Props: true, Locks: true}, 1, func(store.Change) error { return nil })
		must(t, err)
	}
	f.everyEvent()
	for n := range 18 {
		_, err := f.Stat(ctx, f.at(deepPath(n+1).String())) // as many levels as one statement takes, and more
		wantError(t, err, store.ErrNotFound)
	}
	null := f.lock("/null", lockns.Resource).Lock
	_, _, err = f.Put(ctx, f.at("/null"), file("x"), looking{with{f.user.ID, []string{null.Token}}, func(v store.View) { v.Lock(null.Token) }})
	must(t, err)
	f.copy("/d", "/copy")
	f.copy("/d", "/copy")
	f.copy("/d/f", "/copied")
	f.move("/copy", "/moved")
	f.mkdir("/moved/deep")
	f.move("/copied", "/moved/copied")
	f.mkdir("/small")
	f.move("/small", "/moved/deep/small")
	for _, op := range []string{"copy", "move"} {
		_, err := f.transferAs(op, f.at("/moved"), at(bob, "/"+op), false, f.me())
		must(t, err)
	}
	f.remove("/d/f")
	f.remove("/d")
	f.everyTrash()
	f.lockAllWays()
	f.lockNames()
	withOthers(t, f, bob)
	_, err = f.SetUser(ctx, "bob", store.UserPatch{DisplayName: &bob.Name, PasswordHash: &bob.Name, Admin: new(bool), Disabled: new(true), Quota: new(int64)})
	must(t, err)
	_, err = f.Users(ctx)
	must(t, err)
	must(t, f.RemoveUser(ctx, "bob", store.Actor{}))
	f.advance(40 * 24 * time.Hour)
	for _, run := range []func(context.Context) (int, error){f.ExpireLocks, f.Purge, f.PruneVersions, f.PruneUploads, f.PruneChanges, f.PruneSessions, f.AuditLocks, f.PruneLockEvents, f.PruneAudit, f.Purge, f.CollectGarbage, f.RemoveOrphans} {
		for n := 1; n > 0; {
			n, err = run(ctx)
			must(t, err)
		}
	}
}

// withOthers runs the operations on teams, accounts and the audit log.
func withOthers(t *testing.T, f *fixture, bob store.User) {
	ctx := t.Context()
	team := f.addTeam("Ops")
	_, _, err := f.Put(ctx, inTeam(team, "/f"), file("x"), f.me())
	must(t, err)
	for _, role := range []store.Role{store.Writer, store.Viewer} {
		f.setMember(team, bob, role)
	}
	a := f.account("phone", store.NewAccount{Team: "Ops"})
	f.account("laptop", store.NewAccount{})
	_, _, err = f.AccountByHash(ctx, "hash of phone")
	must(t, err)
	for _, keep := range []bool{true, false} {
		must(t, f.KeepHA1(ctx, keep))
		_, _, err = f.DigestLogins(ctx, "ada")
		must(t, err)
		f.account("digest "+strconv.FormatBool(keep), store.NewAccount{HA1: ha1})
	}
	must(t, f.UsedAccount(ctx, a.ID))
	_, _, err = f.Put(ctx, inTeam(team, "/f"), file("y"), byAccount{f.user.ID, a.ID})
	must(t, err)
	must(t, f.RemoveAccount(ctx, "ada", "laptop", boss))
	_, err = f.Accounts(ctx, "ada")
	must(t, err)
	f.everySession(a)
	_, err = f.Teams(ctx)
	must(t, err)
	wantSlice(t, "members", f.members(team), []string{"ada owner", "bob viewer"})
	_, err = f.Membership(ctx, bob.ID, "Ops")
	must(t, err)
	_, err = f.Memberships(ctx, bob.ID)
	must(t, err)
	_, err = f.Workspaces(ctx, bob.ID, lockns.Workspace{}, 10)
	must(t, err)
	listPeople(t, f, team, bob)
	for _, filter := range []store.AuditFilter{
		{}, {After: 1}, {Event: "x"}, {Event: "x", After: 1}, {Actor: "x", After: 1}, {Workspace: team.Workspace(), After: 1},
		{Event: "x", Actor: "x", Workspace: team.Workspace(), Since: f.now(), Before: f.now(), After: 1},
	} {
		_, err = f.Audit(ctx, filter)
		must(t, err)
	}
	must(t, f.RemoveMember(ctx, "Ops", "bob", boss))
	must(t, f.RemoveTeam(ctx, "Ops", boss))
}

// listPeople runs the lists of users and teams, and what is known of one.
func listPeople(t *testing.T, f *fixture, team store.Team, bob store.User) {
	ctx := t.Context()
	for _, after := range []string{"", "a"} {
		_, err := f.UsersByName(ctx, "b", after, 10)
		must(t, err)
	}
	for _, list := range []func(context.Context, int64, int64, int) ([]store.TeamInfo, error){f.TeamsByID, f.TeamsOf} {
		_, err := list(ctx, bob.ID, 0, 10)
		must(t, err)
	}
	_, err := f.MembersByID(ctx, team.ID, 0, 10)
	must(t, err)
	_, err = f.MemberByID(ctx, team.ID, bob.ID)
	must(t, err)
	_, err = f.TeamByID(ctx, bob.ID, team.ID)
	must(t, err)
	_, err = f.UserByID(ctx, bob.ID)
	must(t, err)
	_, err = f.SetUser(ctx, "ada", store.UserPatch{Admin: new(true)})
	must(t, err)
	m := f.Manage(store.Actor{ID: f.user.ID, Name: f.user.Name})
	named := store.NamedAt{Workspace: team.Workspace(), Name: "build", By: lockns.Credentials{User: f.user.ID}}
	g, _, err := f.TryNamed(ctx, named, time.Minute)
	must(t, err)
	_, _, err = f.RenewNamed(ctx, named, g.Fence, time.Minute)
	must(t, err)
	for _, only := range []string{"", "build"} {
		_, err = f.NamedLocks(ctx, team.Workspace(), only, "", 10)
		must(t, err)
	}
	_, err = f.ReleaseNamed(ctx, named, g.Fence)
	must(t, err)
	must(t, m.SetTeamQuota(ctx, team.ID, 1<<30))
	must(t, m.SetMember(ctx, team.ID, bob.ID, store.Admin))
	must(t, m.SetMember(ctx, team.ID, bob.ID, store.Viewer))
}

// allLimits sets what makes the store ask for more.
func allLimits(o *store.Options) {
	o.LocksPerUser, o.Quota, o.Versions, o.VersionsAge, o.AuditAge = 1000, 1<<40, 2, time.Hour, time.Hour
	o.Trash = trashTime
}

// TestNoStatementScans: what a request costs does not grow with what others
// store. Every step of every statement must be a look-up in an index.
func TestNoStatementScans(t *testing.T) {
	f := newFixture(t, allLimits)
	everything(t, f)
	f.showStates()
	f.projectAtMost(0)
	f.everyList("/shown")
	f.SetMaxProjected(4096)
	f.bigTree("/big")
	f.copy("/big", "/bigger")
	used := map[string]bool{}
	statements := f.Statements()
	for _, statement := range statements {
		if control.MatchString(statement) {
			continue
		}
		scans := f.scans(statement)
		if len(scans) == 0 {
			continue
		}
		allowed := false
		for start := range background {
			if strings.HasPrefix(statement, start) {
				used[start], allowed = true, true
			}
		}
		if !allowed {
			t.Errorf("%s\nin %s", strings.Join(scans, "\n"), statement)
		}
	}
	for start := range background {
		if !used[start] {
			t.Errorf("the exception for %q is not needed", start)
		}
	}
	if len(statements) < 80 {
		t.Errorf("only %d statements were seen", len(statements))
	}
}

var (
	control  = regexp.MustCompile(`^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)`)
	scanStep = regexp.MustCompile(`^SCAN (\S+)`)
	// A search of all locks of a workspace is a scan in disguise.
	workspaceLocks = regexp.MustCompile(`resource_locks_\w+ \(namespace_id=\?\)`)
)

// scans are the steps of a statement that read a whole table, or all locks of a
// workspace. Common table expressions and subqueries are no tables: what they
// read has steps of its own.
func (f *fixture) scans(statement string) (bad []string) {
	f.t.Helper()
	var args []any
	for strings.Count(statement, "?") > len(args) {
		args = append(args, nil)
	}
	rows, err := f.database().Query("EXPLAIN QUERY PLAN "+statement, args...)
	must(f.t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		must(f.t, rows.Scan(&id, &parent, &unused, &step))
		m := scanStep.FindStringSubmatch(step)
		if workspaceLocks.MatchString(step) || m != nil && f.isTable(statement, m[1]) {
			bad = append(bad, step)
		}
	}
	must(f.t, errors.Join(rows.Err(), rows.Close()))
	return bad
}

// isTable reports whether a name in a plan is a table's, or its alias.
func (f *fixture) isTable(statement, name string) bool {
	switch {
	case name == "CONSTANT" || strings.HasPrefix(name, "("):
		return false
	case strings.Contains(statement, "RECURSIVE "+name+" ("):
		return false
	case strings.Contains(statement, ") "+name): // a subquery
		return false
	}
	return true
}

// TestForeignKeysAreIndexed: deleting a row looks for those that refer to it, and
// no plan shows that. Every referring column must begin an index.
func TestForeignKeysAreIndexed(t *testing.T) {
	f := newFixture(t)
	rows, err := f.database().Query(`SELECT t.name, k."from" FROM sqlite_master t, pragma_foreign_key_list(t.name) k WHERE t.type = 'table'
AND NOT EXISTS (SELECT 1 FROM pragma_index_list(t.name) i, pragma_index_info(i.name) c WHERE c.seqno = 0 AND c.name = k."from")
AND NOT EXISTS (SELECT 1 FROM pragma_table_info(t.name) p WHERE p.pk = 1 AND p.name = k."from")`)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var table, column string
		must(t, rows.Scan(&table, &column))
		t.Errorf("no index begins with %s of %s, which a foreign key uses", column, table)
	}
	must(t, rows.Err())
	wantEqual(t, "foreign keys seen", f.number(`SELECT count(*) FROM sqlite_master t, pragma_foreign_key_list(t.name) k WHERE t.type = 'table'`) >= 10, true)
}
