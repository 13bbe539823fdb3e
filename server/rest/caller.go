package rest

import (
	"context"
	"net/http"
	"net/netip"

	"holdfast/lockns"
	"holdfast/store"
)

// Access is what an operation needs of its caller.
type Access int

// What operations need. A read-only app password is allowed no operation that
// changes something, whatever it needs.
const (
	// Public operations need no login.
	Public Access = iota
	// Files: any login, also an app password that is limited to a team or a
	// folder; it sees nothing else.
	Files
	// Everything: a login that opens all that its user may open.
	Everything
	// Own: the user's own password, or a session, and no app password: what makes
	// or ends credentials.
	Own
	// Administrator: a login that opens everything, of an administrator.
	Administrator
)

// Caller is who sends a request. The zero Caller is nobody.
type Caller struct {
	User    store.User
	Account *store.Account // the app password; nil for a password of the user's own
	Session *store.Session // the browser's session; nil for other logins
	Address netip.Addr
}

// Actor is the caller as the audit log names them.
func (c *Caller) Actor() store.Actor { return store.Actor{ID: c.User.ID, Name: c.User.Name} }

// limited reports whether the login opens less than its user may.
func (c *Caller) limited() bool { return c.Account != nil && c.Account.Scope != store.ScopeAll }

// readOnly reports whether the login changes nothing, whatever its user may.
func (c *Caller) readOnly() bool { return c.Account != nil && c.Account.ReadOnly }

// base is the folder that is all the login opens of its workspace; 0 is all.
func (c *Caller) base() int64 {
	if c.Account == nil {
		return 0
	}
	return c.Account.Root
}

// check refuses a caller that has not what an operation needs.
func (c *Caller) check(need Access, changes bool) error {
	switch {
	case need == Public:
		return nil
	case c.User.ID == 0:
		return errLogin
	case changes && c.readOnly():
		return problem(http.StatusForbidden, "login.read_only", "this app password only reads")
	case need >= Everything && c.limited():
		return problem(http.StatusForbidden, "login.limited", "this app password opens files only")
	case need == Own && c.Account != nil:
		return problem(http.StatusForbidden, "login.app_password", "this needs your own password")
	case need == Administrator && !c.User.Admin:
		return problem(http.StatusForbidden, "forbidden", "this is for administrators")
	}
	return nil
}

// opens says what the caller is in a workspace: Owner of their own, their role in
// a team's, store.ErrNotFound elsewhere.
func (a *API) opens(ctx context.Context, who *Caller, ws lockns.Workspace) (store.Role, error) {
	if who.limited() && who.Account.Workspace() != ws {
		return "", store.ErrNotFound
	}
	if ws.Kind == lockns.Personal {
		if ws != who.User.Workspace() {
			return "", store.ErrNotFound
		}
		return store.Owner, nil
	}
	role, err := a.o.Store.Role(ctx, ws.ID, who.User.ID)
	if err == nil && role == "" {
		err = store.ErrNotFound
	}
	return role, err
}

// target is a resource known by id, if the caller may see its workspace; what
// they may not see of it is not found by the store.
func (a *API) target(ctx context.Context, who *Caller, id lockns.Root) (store.Target, error) {
	ws, err := a.o.Store.WorkspaceOf(ctx, id)
	if err != nil {
		return store.Target{}, err
	}
	if _, err := a.opens(ctx, who, ws); err != nil {
		return store.Target{}, err
	}
	t := store.ByID(ws, id)
	t.Base = who.base()
	return t, nil
}

// claim is a caller's case for a change: who they are and no token, so that any
// lock of another door that covers the resource refuses it, and product locks of
// others do. when is a further condition, nil for none. first is one that has to
// hold before locks are of interest: that the change means what the caller saw.
type claim struct {
	user, account int64
	first, when   func(store.View) error
}

func (c *Caller) claim(when func(store.View) error) claim {
	cl := claim{user: c.User.ID, when: when}
	if c.Account != nil {
		cl.account = c.Account.ID
	}
	return cl
}

// Prove implements store.Claim.
func (c claim) Prove(v store.View) (lockns.Credentials, error) {
	if c.first != nil {
		if err := c.first(v); err != nil {
			return lockns.Credentials{}, err
		}
	}
	return lockns.Credentials{User: c.user, Account: c.account}, nil
}

// Precondition implements store.Claim.
func (c claim) Precondition(v store.View) error {
	if c.when == nil {
		return nil
	}
	return c.when(v)
}
