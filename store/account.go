package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast/lockns"
)

// MaxAccounts is how many accounts a user may have.
const MaxAccounts = 100

// UsedEvery is how exactly the last use of an account is known.
const UsedEvery = time.Minute

// Scope is what an account opens. The strings are stored.
type Scope string

// The scopes of an account.
const (
	ScopeAll      Scope = "all"      // whatever its user may open
	ScopePersonal Scope = "personal" // the user's own workspace
	ScopeTeam     Scope = "team"     // one team's workspace
)

// Account is a further password of a user, for one program or device.
type Account struct {
	ID, UserID int64
	Name       string // a label, unique among the user's
	Scope      Scope
	TeamID     int64 // with ScopeTeam
	// Root is the id of the folder that is all the account opens of its
	// workspace, wherever that folder is by now; 0 is the whole workspace.
	// Once the folder is gone the account opens nothing.
	Root     int64
	ReadOnly bool
	// ExpiresAt is the last moment at which it opens anything; zero is no end.
	ExpiresAt time.Time
	LastUsed  time.Time // exact to UsedEvery; zero when never
	Digest    bool      // it can be logged in to with Digest
	Created   time.Time
}

// Workspace is the one that the account opens first: the team's, or its user's.
func (a Account) Workspace() lockns.Workspace {
	if a.Scope == ScopeTeam {
		return lockns.Workspace{Kind: lockns.Team, ID: a.TeamID}
	}
	return lockns.Workspace{Kind: lockns.Personal, ID: a.UserID}
}

// NewAccount is an account to be added.
type NewAccount struct {
	User, Name string
	// PasswordHash names its scheme and is looked up whole, so it must be the
	// same for the same password.
	PasswordHash string
	// HA1 gives what Digest logins by the user's name are compared with. Nil is
	// none.
	HA1  func(user string) HA1
	Team string // limits it to this team's workspace
	// Root limits it to a folder of the team's workspace, or of the user's own
	// without a team.
	Root Path
	// TeamID and Folder are the ids of a team and of a folder, in the stead of Team
	// and Root.
	TeamID, Folder int64
	Scoped         bool // limits it to the user's own workspace, without the others
	ReadOnly       bool
	ExpiresAt      time.Time
	By             Actor
}

func (n NewAccount) scope() Scope {
	switch {
	case n.Team != "" || n.TeamID != 0:
		return ScopeTeam
	case n.Scoped || !n.Root.IsRoot() || n.Folder != 0:
		return ScopePersonal
	}
	return ScopeAll
}

// checkLabel refuses a label that no account may have.
func checkLabel(label string) error {
	if label == "" || len(label) > 64 {
		return fmt.Errorf("%w: a label has 1 to 64 bytes", ErrBadName)
	}
	if !utf8.ValidString(label) {
		return fmt.Errorf("%w: a label is UTF-8", ErrBadName)
	}
	for _, r := range label {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%w: a label contains the character %U", ErrBadName, r)
		}
	}
	return nil
}

const (
	accountColumns = `a.id, a.user_id, a.name, a.scope, a.team_id, a.root_folder_id, a.read_only, a.expires_at, a.last_used_at, a.ha1_md5 IS NOT NULL, a.created_at`
	selectAccounts = `SELECT ` + accountColumns + ` FROM accounts a WHERE a.user_id = ? `
)

func scanAccount(scan func(...any) error) (a Account, err error) {
	var team, root, expires, used sql.NullInt64
	var created int64
	err = scan(&a.ID, &a.UserID, &a.Name, (*string)(&a.Scope), &team, &root, &a.ReadOnly, &expires, &used, &a.Digest, &created)
	a.TeamID, a.Root, a.Created = team.Int64, root.Int64, fromMicros(created)
	a.ExpiresAt, a.LastUsed = fromNull(expires), fromNull(used)
	return a, err
}

// AddAccount adds an account.
//
// Errors: ErrBadName (label, root), ErrTooDeep, ErrNotFound (user, team, or a
// root that is no folder), ErrForbidden (the user is no member of the team),
// ErrExists, ErrTooManyAccounts.
func (s *Store) AddAccount(ctx context.Context, n NewAccount) (a Account, err error) {
	if err := errors.Join(checkLabel(n.Name), n.Root.check()); err != nil {
		return a, err
	}
	if n.PasswordHash == "" {
		return a, errors.New("store: an account needs a password")
	}
	err = s.update(ctx, nil, func(t *tx) error {
		a, err = t.addAccount(n)
		return err
	})
	return a, err
}

func (t *tx) addAccount(n NewAccount) (a Account, err error) {
	u, err := t.user(n.User)
	if err != nil {
		return a, err
	}
	// The user's own workspace is where changes of their accounts meet.
	if _, err := t.space(u.Workspace()); err != nil {
		return a, err
	}
	if err := t.roomForAccount(u.ID, n.Name); err != nil {
		return a, err
	}
	a = Account{
		UserID: u.ID, Name: n.Name, Scope: n.scope(), ReadOnly: n.ReadOnly,
		ExpiresAt: n.ExpiresAt.UTC().Truncate(time.Microsecond), Created: t.now,
	}
	if a.TeamID, err = t.accountTeam(n, u.ID); err != nil {
		return a, err
	}
	if a.Root, err = t.accountRoot(n.root(a.Workspace())); err != nil {
		return a, err
	}
	ha1, err := t.ha1(n, u)
	if err != nil {
		return a, err
	}
	md5, sha256 := ha1.columns()
	a.Digest = md5 != nil
	a.ID, err = t.insert(`INSERT INTO accounts (user_id, name, password_hash, ha1_md5, ha1_sha256, scope, team_id, root_folder_id, read_only, expires_at, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.UserID, a.Name, n.PasswordHash, md5, sha256, string(a.Scope), null(a.TeamID), null(a.Root), btoi(a.ReadOnly), nullMicros(a.ExpiresAt), micros(t.now))
	if err != nil {
		return a, err
	}
	return a, t.audit(n.By, "account.added", a.Workspace(), u.Name, a.Name)
}

// roomForAccount refuses a label that is taken, and one account too many.
func (t *tx) roomForAccount(user int64, label string) error {
	var taken bool
	if _, err := t.row(`SELECT EXISTS (SELECT 1 FROM accounts WHERE user_id = ? AND name = ?)`, []any{user, label}, &taken); err != nil {
		return err
	}
	if taken {
		return ErrExists
	}
	var n int
	_, err := t.row(`SELECT count(*) FROM accounts WHERE user_id = ?`, []any{user}, &n)
	if err == nil && n >= MaxAccounts {
		err = ErrTooManyAccounts
	}
	return err
}

// accountTeam is the id of the team an account is limited to, 0 for none.
func (t *tx) accountTeam(n NewAccount, user int64) (int64, error) {
	team := Team{ID: n.TeamID}
	if n.Team != "" {
		var err error
		if team, err = t.team(n.Team); err != nil {
			return 0, err
		}
	}
	if team.ID == 0 {
		return 0, nil
	}
	sp, err := t.space(team.Workspace())
	if err != nil {
		return 0, err
	}
	return team.ID, t.mayRead(sp, user)
}

// root is the folder an account is limited to.
func (n NewAccount) root(ws lockns.Workspace) Target {
	if n.Folder != 0 {
		return ByID(ws, lockns.Root{Kind: lockns.FolderRoot, ID: n.Folder})
	}
	return Target{Workspace: ws, Path: n.Root}
}

// accountRoot is the id of the folder an account is limited to, 0 for the whole
// workspace.
func (t *tx) accountRoot(root Target) (int64, error) {
	if root.Start.ID == 0 && root.Path.IsRoot() {
		return 0, nil
	}
	sp, err := t.mapped(root)
	if err == nil && !sp.node.IsFolder() {
		err = ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("root folder of the account: %w", err)
	}
	if sp.node.Place.Root.Kind == lockns.WorkspaceRoot {
		return 0, nil
	}
	return sp.node.Place.Root.ID, nil
}

// accounts reads those of a user's accounts that the rest of a query selects.
func (t *tx) accounts(user int64, rest string, args ...any) (all []Account, err error) {
	err = t.rows(selectAccounts+rest, append([]any{user}, args...), func(scan func(...any) error) error {
		a, err := scanAccount(scan)
		all = append(all, a)
		return err
	})
	return all, err
}

// Accounts lists the accounts of a user by label: ErrNotFound.
func (s *Store) Accounts(ctx context.Context, user string) (all []Account, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		u, err := t.user(user)
		if err != nil {
			return err
		}
		all, err = t.accounts(u.ID, `ORDER BY a.name`)
		return err
	})
	return all, err
}

// AccountsOf lists the accounts of a user known by id, by label: MaxAccounts at
// most.
func (s *Store) AccountsOf(ctx context.Context, user int64) (all []Account, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		all, err = t.accounts(user, `ORDER BY a.name`)
		return err
	})
	return all, err
}

// RemoveAccountOf is RemoveAccount of a user and an account known by id.
func (s *Store) RemoveAccountOf(ctx context.Context, user, id int64, by Actor) error {
	return s.update(ctx, nil, func(t *tx) error { return t.removeAccount(user, id, by) })
}

func (t *tx) removeAccount(user, id int64, by Actor) error {
	u, err := t.userByID(user)
	if err != nil {
		return err
	}
	gone, err := t.accounts(u.ID, `AND a.id = ?`, id)
	if err == nil && len(gone) == 0 {
		err = fmt.Errorf("account: %w", ErrNotFound)
	}
	if err != nil {
		return err
	}
	return t.dropAccounts(by, u, gone)
}

// RemoveAccount removes an account, which opens nothing from then on, with the
// uploads that it has under way: ErrNotFound.
func (s *Store) RemoveAccount(ctx context.Context, user, name string, by Actor) error {
	return s.update(ctx, nil, func(t *tx) error {
		u, err := t.user(user)
		if err != nil {
			return err
		}
		gone, err := t.accounts(u.ID, `AND a.name = ?`, name)
		if err == nil && len(gone) == 0 {
			err = fmt.Errorf("account: %w", ErrNotFound)
		}
		if err != nil {
			return err
		}
		return t.dropAccounts(by, u, gone)
	})
}

// dropAccounts deletes accounts of a user, with their uploads.
func (t *tx) dropAccounts(by Actor, u User, gone []Account) error {
	for _, a := range gone {
		if err := t.endUploadsBy(a); err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM accounts WHERE id = ?`, a.ID); err != nil {
			return err
		}
		if err := t.audit(by, "account.removed", a.Workspace(), u.Name, a.Name); err != nil {
			return err
		}
	}
	return nil
}

const selectAccountByHash = `SELECT ` + accountColumns + `, ` + userColumns + ` FROM accounts a JOIN users u ON u.id = a.user_id
WHERE a.password_hash = ? AND (a.expires_at IS NULL OR a.expires_at >= ?)`

// AccountByHash finds the account whose password has this hash, and its user:
// ErrNotFound, also when the account has expired. Whether the user may log in is
// for the caller to decide.
func (s *Store) AccountByHash(ctx context.Context, hash string) (u User, a Account, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		found := false
		err := t.rows(selectAccountByHash, []any{hash, micros(t.now)}, func(scan func(...any) error) (err error) {
			found = true
			u, err = scanUser(func(user ...any) error { // its columns follow the account's
				a, err = scanAccount(func(account ...any) error { return scan(append(account, user...)...) })
				return err
			})
			return err
		})
		if err == nil && !found {
			err = fmt.Errorf("account: %w", ErrNotFound)
		}
		return err
	})
	return u, a, err
}

// accountWrites refuses with ErrForbidden an app password that is gone, has
// expired or only reads. A user's own password is asked for by their row.
func (t *tx) accountWrites(cred lockns.Credentials) error {
	if cred.Account == 0 {
		return nil
	}
	ok, err := t.row(`SELECT 1 FROM accounts WHERE id = ? AND user_id = ? AND read_only = 0 AND (expires_at IS NULL OR expires_at >= ?)`,
		[]any{cred.Account, cred.User, micros(t.now)}, new(int))
	if err == nil && !ok {
		err = ErrForbidden
	}
	return err
}

// UsedAccount notes that an account was used, unless its last use was noted less
// than UsedEvery ago. An account that is gone is no error.
func (s *Store) UsedAccount(ctx context.Context, id int64) error {
	return s.update(ctx, nil, func(t *tx) error {
		_, err := t.exec(`UPDATE accounts SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)`,
			micros(t.now), id, micros(t.now.Add(-UsedEvery)))
		return err
	})
}
