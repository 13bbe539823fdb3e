package store

import "holdfast/lockns"

// tx is the View of its own transaction.
var _ View = (*tx)(nil)

// Resource implements View.
func (t *tx) Resource(target Target) Resource {
	sp, err := t.find(target)
	if err != nil {
		// A workspace that is gone is an absent resource; a database error
		// has stuck to t and fails the transaction.
		return Resource{}
	}
	r := Resource{Place: sp.place()}
	if sp.node != nil {
		r.Exists, r.Node = true, *sp.node
	}
	return r
}

// Lock implements View.
func (t *tx) Lock(token string) (lockns.Lock, lockns.Workspace, bool) {
	l, namespace, ok, err := t.lockByToken(token)
	if err != nil || !ok {
		return lockns.Lock{}, lockns.Workspace{}, false
	}
	ws, err := t.workspaceOf(namespace)
	return l, ws, err == nil
}

// Rooted implements View.
func (t *tx) Rooted(target Target) []lockns.Lock {
	sp, err := t.mapped(target)
	if err != nil {
		return nil // as in Resource
	}
	locks, err := t.rooted(sp.space, sp.node.Place.Root)
	if err != nil {
		return nil
	}
	return locks
}

// permit asks the claim and the rules whether a change that touches these
// resources may go on, in the order of RFC 9110 section 13.2.1: what carries
// the credentials first, then who the user is here, the locks, and the other
// preconditions last.
func (t *tx) permit(c Claim, touches ...touch) (lockns.Credentials, error) {
	cred, err := t.prove(c)
	if err != nil {
		return cred, err
	}
	for i, at := range touches {
		if i > 0 && at.space == touches[i-1].space {
			continue // asked already
		}
		if err := t.mayWrite(at.space, cred); err != nil {
			return cred, err
		}
	}
	if err := t.authorize(cred, touches...); err != nil {
		return cred, err
	}
	if err := t.precondition(c); err != nil {
		return cred, err
	}
	return cred, t.at(Authorized)
}

// allow is permit for a change of a workspace that touches nothing that can be
// locked.
func (t *tx) allow(c Claim, sp *space) error {
	cred, err := t.prove(c)
	if err != nil {
		return err
	}
	if err := t.mayWrite(sp, cred); err != nil {
		return err
	}
	if err := t.precondition(c); err != nil {
		return err
	}
	return t.at(Authorized)
}

// prove asks the claim's first half.
func (t *tx) prove(c Claim) (lockns.Credentials, error) {
	cred, err := c.Prove(t)
	if err == nil {
		err = t.err
	}
	return cred, err
}

// precondition asks the claim's second half.
func (t *tx) precondition(c Claim) error {
	if err := c.Precondition(t); err != nil {
		return err
	}
	return t.err
}
