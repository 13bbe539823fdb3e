package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/lockns"
)

// NewUser is a user to be added.
type NewUser struct {
	Name, DisplayName string
	PasswordHash      string // "" for a user who cannot log in
	Admin             bool
	Quota             int64 // bytes in the personal workspace; 0 for the default
	By                Actor
}

// UserPatch changes a user; nil fields stay as they are.
type UserPatch struct {
	DisplayName, PasswordHash *string
	Admin, Disabled           *bool
	Quota                     *int64 // 0 for the default
	By                        Actor
}

// CheckUserName refuses a name no user may have, with an error that wraps
// ErrBadName: 1 to 64 of ASCII letters, digits, "._-@", the first a letter or
// digit. Names are unique without regard to case.
func CheckUserName(name string) error {
	if name == "" || len(name) > 64 {
		return fmt.Errorf("%w: a user name has 1 to 64 characters", ErrBadName)
	}
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._-@", rune(c))) {
			return fmt.Errorf("%w: a user name has letters, digits and ._-@ and starts with a letter or digit", ErrBadName)
		}
	}
	return nil
}

func userKey(name string) string { return strings.ToLower(name) }

const (
	userColumns = `u.id, u.name, u.display_name, coalesce(u.password_hash, ''), u.is_admin, u.disabled, u.auth_version, u.created_at`
	selectUser  = `SELECT ` + userColumns + ` FROM users u `
)

func scanUser(scan func(...any) error, more ...any) (u User, err error) {
	var created int64
	err = scan(append([]any{&u.ID, &u.Name, &u.DisplayName, &u.PasswordHash, &u.Admin, &u.Disabled, &u.AuthVersion, &created}, more...)...)
	u.Created = fromMicros(created)
	return u, err
}

// user reads one user: ErrNotFound.
func (t *tx) user(name string) (u User, err error) {
	found := false
	err = t.rows(selectUser+`WHERE u.name_key = ?`, []any{userKey(name)}, func(scan func(...any) error) (err error) {
		found = true
		u, err = scanUser(scan)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("user: %w", ErrNotFound)
	}
	return u, err
}

// userByID reads one user: ErrNotFound.
func (t *tx) userByID(id int64) (u User, err error) {
	found := false
	err = t.rows(selectUser+`WHERE u.id = ?`, []any{id}, func(scan func(...any) error) (err error) {
		found = true
		u, err = scanUser(scan)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("user: %w", ErrNotFound)
	}
	return u, err
}

// User finds a user by name, without regard to case: ErrNotFound.
func (s *Store) User(ctx context.Context, name string) (u User, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		u, err = t.user(name)
		return err
	})
	return u, err
}

// UserName is the name of a user known by id: ErrNotFound.
func (s *Store) UserName(ctx context.Context, id int64) (name string, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		ok, err := t.row(`SELECT name FROM users WHERE id = ?`, []any{id}, &name)
		if err == nil && !ok {
			err = ErrNotFound
		}
		return err
	})
	return name, err
}

// Users lists all users by name.
func (s *Store) Users(ctx context.Context) (us []User, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		return t.rows(selectUser+`ORDER BY u.name_key`, nil, func(scan func(...any) error) error {
			u, err := scanUser(scan)
			us = append(us, u)
			return err
		})
	})
	return us, err
}

// AddUser adds a user with a personal workspace: ErrBadName, ErrExists.
func (s *Store) AddUser(ctx context.Context, n NewUser) (u User, err error) {
	if err := n.check(); err != nil {
		return u, err
	}
	err = s.update(ctx, nil, func(t *tx) error {
		u, err = t.addUser(n)
		return err
	})
	return u, err
}

func (n NewUser) check() error {
	return errors.Join(CheckUserName(n.Name), CheckDisplayName(n.DisplayName))
}

func (t *tx) addUser(n NewUser) (u User, err error) {
	if taken, err := t.taken(n.Name); err != nil || taken {
		return u, firstError(err, ErrExists)
	}
	id, err := t.insert(`INSERT INTO users (name, name_key, display_name, password_hash, is_admin, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		n.Name, userKey(n.Name), n.DisplayName, null(n.PasswordHash), btoi(n.Admin), micros(t.now), micros(t.now))
	if err != nil {
		return u, err
	}
	if err := t.addWorkspace(lockns.Workspace{Kind: lockns.Personal, ID: id}, n.Quota); err != nil {
		return u, err
	}
	if err := t.audit(n.By, "user.added", lockns.Workspace{}, n.Name, ""); err != nil {
		return u, err
	}
	return t.user(n.Name)
}

func (t *tx) taken(name string) (taken bool, err error) {
	_, err = t.row(`SELECT EXISTS (SELECT 1 FROM users WHERE name_key = ?)`, []any{userKey(name)}, &taken)
	return taken, err
}

func firstError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// addWorkspace inserts a workspace's namespace, usage and root folder rows.
func (t *tx) addWorkspace(ws lockns.Workspace, quota int64) error {
	id, err := t.insert(`INSERT INTO resource_lock_namespaces (workspace_type, workspace_id, created_at, updated_at) VALUES (?, ?, ?, ?)`,
		string(ws.Kind), ws.ID, micros(t.now), micros(t.now))
	if err != nil {
		return err
	}
	if _, err := t.exec(`INSERT INTO storage_usage (namespace_id, quota) VALUES (?, ?)`, id, null(quota)); err != nil {
		return err
	}
	_, err = t.addFolder(id, 0, "", micros(t.now))
	return err
}

// SetUser changes a user: ErrNotFound, ErrBadName (the display name). What a login
// proves changes auth_version; disabling ends the user's locks in the same
// transaction.
func (s *Store) SetUser(ctx context.Context, name string, p UserPatch) (u User, err error) {
	if err := p.check(); err != nil {
		return u, err
	}
	err = s.update(ctx, nil, func(t *tx) error {
		if u, err = t.user(name); err != nil {
			return err
		}
		u, err = t.changeUser(u, p)
		return err
	})
	return u, err
}

func (p UserPatch) check() error {
	if p.DisplayName == nil {
		return nil
	}
	return CheckDisplayName(*p.DisplayName)
}

func (t *tx) changeUser(u User, p UserPatch) (User, error) {
	if p.Disabled != nil && *p.Disabled {
		if err := t.dropHeld(u, p.By, "user disabled"); err != nil {
			return u, err
		}
	}
	if err := t.setUser(u.ID, p); err != nil {
		return u, err
	}
	if changes := p.changes(); changes != "" {
		if err := t.audit(p.By, "user.changed", lockns.Workspace{}, u.Name, changes); err != nil {
			return u, err
		}
	}
	return t.userByID(u.ID)
}

// changes are the patch's, for the audit log. A password is not shown.
func (p UserPatch) changes() string {
	var all []string
	if p.DisplayName != nil {
		all = append(all, "display name")
	}
	if p.PasswordHash != nil {
		all = append(all, "password")
	}
	if p.Admin != nil {
		all = append(all, fmt.Sprintf("admin=%t", *p.Admin))
	}
	if p.Disabled != nil {
		all = append(all, fmt.Sprintf("disabled=%t", *p.Disabled))
	}
	if p.Quota != nil {
		all = append(all, fmt.Sprintf("quota=%d", *p.Quota))
	}
	return strings.Join(all, ", ")
}

func (t *tx) setUser(id int64, p UserPatch) error {
	set := func(column string, value any, proves bool) error {
		_, err := t.exec(`UPDATE users SET `+column+` = ?, auth_version = auth_version + ?, updated_at = ? WHERE id = ?`,
			value, btoi(proves), micros(t.now), id)
		return err
	}
	if p.DisplayName != nil {
		if err := set("display_name", *p.DisplayName, false); err != nil {
			return err
		}
	}
	if p.PasswordHash != nil {
		if err := set("password_hash", null(*p.PasswordHash), true); err != nil {
			return err
		}
	}
	if p.Admin != nil {
		if err := set("is_admin", btoi(*p.Admin), true); err != nil {
			return err
		}
	}
	if p.Disabled != nil {
		if err := set("disabled", btoi(*p.Disabled), true); err != nil {
			return err
		}
	}
	if p.Quota == nil {
		return nil
	}
	return t.setQuota(lockns.Workspace{Kind: lockns.Personal, ID: id}, *p.Quota)
}

// setQuota says how many bytes a workspace may store; 0 is the default.
func (t *tx) setQuota(ws lockns.Workspace, quota int64) error {
	_, err := t.exec(`UPDATE storage_usage SET quota = ? WHERE namespace_id =
(SELECT id FROM resource_lock_namespaces WHERE workspace_type = ? AND workspace_id = ?)`, null(quota), string(ws.Kind), ws.ID)
	return err
}

// dropHeld ends all locks that a user holds, in every workspace, and takes the
// workspaces in key order, the user's own among them.
func (t *tx) dropHeld(u User, by Actor, why string) error {
	held := []lockns.Workspace{u.Workspace()}
	err := t.rows(`SELECT DISTINCT n.workspace_type, n.workspace_id FROM resource_locks l
JOIN resource_lock_namespaces n ON n.id = l.namespace_id WHERE l.holder_user_id = ?`, []any{u.ID}, func(scan func(...any) error) error {
		var ws lockns.Workspace
		err := scan((*string)(&ws.Kind), &ws.ID)
		held = append(held, ws)
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(held, lockns.Workspace.Compare)
	held = slices.Compact(held)
	if err := t.serialize(held); err != nil {
		return err
	}
	for _, ws := range held {
		if err := t.dropHeldIn(t.spaces[ws], by, u, why); err != nil {
			return err
		}
	}
	return nil
}

// dropHeldIn ends the locks that a user holds in one workspace. The condition is
// on the holder first: by the workspace SQLite would read all its locks.
func (t *tx) dropHeldIn(sp *space, by Actor, u User, why string) error {
	t.by = by
	n, err := t.dropLockRows(sp, lockEnding{lockEnded, why}, `id IN
(SELECT id FROM resource_locks WHERE holder_user_id = ? AND +namespace_id = ?)`, u.ID, sp.id)
	if err != nil {
		return err
	}
	return t.auditEnded(by, sp.ws, u.Name, n, why)
}

// RemoveUser removes a user with their memberships, accounts and uploads, their
// locks everywhere, and their workspace with all locks in it; its tree is detached and
// purged later. A team may be left without an owner. ErrNotFound.
func (s *Store) RemoveUser(ctx context.Context, name string, by Actor) error {
	return s.update(ctx, nil, func(t *tx) error {
		u, err := t.user(name)
		if err != nil {
			return err
		}
		return t.removeUser(u, by)
	})
}

func (t *tx) removeUser(u User, by Actor) error {
	if err := t.dropHeld(u, by, "user removed"); err != nil {
		return err
	}
	if err := t.removeWorkspace(u.Workspace(), by, u.Name); err != nil {
		return err
	}
	if err := t.endUploadsOf(u.ID); err != nil {
		return err
	}
	// Memberships and accounts go with the row (ON DELETE CASCADE).
	if _, err := t.exec(`DELETE FROM users WHERE id = ?`, u.ID); err != nil {
		return err
	}
	return t.audit(by, "user.removed", lockns.Workspace{}, u.Name, "")
}

// removeWorkspace ends a workspace and all locks in it. owner is whose it was.
func (t *tx) removeWorkspace(ws lockns.Workspace, by Actor, owner string) error {
	sp, err := t.space(ws)
	if err != nil {
		return err
	}
	// Not one by one: nobody is left to whom that would say more.
	n, err := t.exec(`DELETE FROM resource_locks WHERE namespace_id = ? AND true`, sp.id)
	if err != nil {
		return err
	}
	if err := t.auditEnded(by, ws, owner, n, "workspace removed"); err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE folders SET detached_at = ? WHERE id = ?`, micros(t.now), sp.root); err != nil {
		return err
	}
	if err := t.abandonTrash(sp); err != nil {
		return err
	}
	if err := t.dropNamed(ws); err != nil {
		return err
	}
	t.after = append(t.after, t.s.signalPurge)
	delete(t.spaces, ws)
	_, err = t.exec(`DELETE FROM resource_lock_namespaces WHERE id = ?`, sp.id)
	return err
}
