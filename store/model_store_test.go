package store_test

import (
	"errors"
	"fmt"
	"strings"

	"holdfast/lockns"
	"holdfast/store"
)

// proof is what a step submits, in the store's words. Tags are looked up where
// every claim looks: in the state that the transaction will change.
type proof struct {
	user   int64
	tokens []lockns.Token
	tags   []*store.Target
}

func (c proof) Prove(v store.View) (lockns.Credentials, error) {
	cred := lockns.Credentials{User: c.user}
	for i, t := range c.tokens {
		if c.tags[i] != nil {
			at := v.Resource(*c.tags[i]).Place
			t.Scope = &at
		}
		cred.Tokens = append(cred.Tokens, t)
	}
	return cred, nil
}

func (proof) Precondition(store.View) error { return nil }

// token is that of the lock that a step acquired, also when it has ended since.
func (r *run) token(born int) string {
	if token, ok := r.tokens[born]; ok {
		return token
	}
	return "urn:uuid:none"
}

// claim says what a step submits to the store.
func (r *run) claim(s action) proof {
	c := proof{user: userID(s.user)}
	for _, p := range s.passes {
		c.tokens = append(c.tokens, lockns.Token{Value: r.token(p.born), Origin: p.origin})
		var tag *store.Target
		if p.tag != nil {
			t := r.w.target(*p.tag)
			tag = &t
		}
		c.tags = append(c.tags, tag)
	}
	return c
}

// caller says it to the model.
func (r *run) caller(s action) caller {
	c := caller{user: userID(s.user)}
	for _, p := range s.passes {
		sub := submitted{value: r.token(p.born), origin: p.origin}
		if p.tag != nil {
			at := r.w.find(*p.tag)
			sub.tagged, sub.tag = true, at.item
			if at.item == nil && at.folder != nil {
				sub.tag = &item{up: at.folder}
			}
		}
		c.tokens = append(c.tokens, sub)
	}
	return c
}

// operation is a step on the store. Its paths and ids are those of before the
// step.
func (r *run) operation(s action) func() (verdict, lockns.Lock, error) {
	at, to, c := r.w.target(s.at), r.w.target(s.to), r.claim(s)
	about, trash := r.about(s), r.trashStep(s)
	return func() (verdict, lockns.Lock, error) {
		var created bool
		var l store.Locked
		var err error
		ctx := r.t.Context()
		switch s.op {
		case "put":
			_, created, err = r.Put(ctx, at, file(s.content()), c)
		case "mkdir":
			_, err = r.Mkdir(ctx, at, store.Patch{}, c)
		case "patch":
			_, err = r.PatchProps(ctx, at, store.Patch{Props: []store.PropOp{prop("p", s.content())}}, c)
		case "remove":
			err = r.Remove(ctx, at, c)
		case "move":
			created, err = r.Move(ctx, at, to, store.MoveOptions{NoOverwrite: s.noOverwrite}, c)
		case "copy":
			_, created, err = r.Copy(ctx, at, to, store.CopyOptions{Shallow: s.shallow, NoOverwrite: s.noOverwrite}, c)
		case "restore", "purge trash", "empty trash":
			err = trash(at, c)
		case "lock", "relock", "refresh", "unlock", "force":
			l, err = about(at, c)
		default:
			err = r.without(s)
		}
		o, err := ending(err)
		o.created = o.ok() && (created || l.Created)
		return o, l.Lock, err
	}
}

// about is a step about a lock.
func (r *run) about(s action) func(store.Target, store.Claim) (store.Locked, error) {
	spec, which := r.spec(s), store.ByOrigin(s.origin)
	var id int64
	if s.which != 0 {
		which = store.ByToken(r.token(s.which))
		if g := r.w.byBorn(s.which); g != nil {
			id = g.id
		}
	}
	return func(at store.Target, c store.Claim) (l store.Locked, err error) {
		ctx := r.t.Context()
		switch s.op {
		case "lock":
			l, err = r.Lock(ctx, at, spec, c)
		case "relock":
			l, err = r.Relock(ctx, at, which, spec, c)
		case "refresh":
			l, err = r.RefreshLock(ctx, at, which, s.wish.lasts, c)
		case "unlock":
			err = r.Unlock(ctx, at, which, c)
		case "force":
			l.Lock, err = r.ForceUnlock(ctx, id, store.Actor{})
		}
		return l, err
	}
}

// without are the operations that need no claim.
func (r *run) without(s action) (err error) {
	ctx := r.t.Context()
	switch s.op {
	case "advance":
		r.advance(s.after)
	case "member":
		err = r.SetMember(ctx, "crew", "bob", s.role, store.Actor{})
	case "unmember":
		err = r.RemoveMember(ctx, "crew", "bob", store.Actor{})
	case "expire":
		for n := 1; n > 0 && err == nil; {
			n, err = r.ExpireLocks(ctx)
		}
	case "purge":
		for n := 1; n > 0 && err == nil; {
			n, err = r.Purge(ctx)
		}
	}
	return err
}

// spec is the lock that a step asks for.
func (r *run) spec(s action) store.LockSpec {
	spec := store.LockSpec{
		Depth: s.wish.depth, Mode: s.wish.mode, Origin: s.wish.origin, Holder: userID(s.wish.holder), Owner: s.content(),
		Timeout: s.wish.lasts, MustExist: s.wish.mustExist,
	}
	if s.wish.until {
		spec.Timeout, spec.Until = 0, r.w.now.Add(s.wish.lasts)
	}
	return spec
}

// refusals are the classes of the store's errors, the first that matches.
var refusals = []struct {
	class string
	err   error
}{
	{"not found", store.ErrNotFound},
	{"no parent", store.ErrNoParent},
	{"exists", store.ErrExists},
	{"is folder", store.ErrIsFolder},
	{"root", store.ErrRoot},
	{"into itself", store.ErrIntoItself},
	{"forbidden", store.ErrForbidden},
	{"lock quota", store.ErrLockQuota},
	{"bad lock", store.ErrBadLock},
	{"no such lock", store.ErrNoSuchLock},
	{"not holder", store.ErrNotHolder},
}

// ending is an operation's error as a verdict; one that no operation may end
// with is returned.
func ending(err error) (verdict, error) {
	var lockedBy *lockns.LockedError
	var conflict *lockns.ConflictError
	switch {
	case err == nil:
		return succeeded, nil
	case errors.As(err, &lockedBy):
		o := verdict{class: "locked", locks: tokensOf(lockedBy.Locks)}
		if errors.Is(err, store.ErrForeignLock) {
			o.class = "foreign lock"
		}
		return o, nil
	case errors.As(err, &conflict):
		return verdict{class: "conflict", locks: tokensOf(conflict.Covering), below: tokensOf(conflict.Below)}, nil
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return refusedAs(r.class), nil
		}
	}
	return verdict{}, fmt.Errorf("unexpected: %w", err)
}

// seenState is what was last compared.
type seenState struct {
	data  int64 // the version of the database as a whole
	rooms []roomState
}

// roomState is a workspace's rows as text, and what the model said when it was
// last walked.
type roomState struct {
	generation  int64
	tree, locks string
	walked      string
}

const roomRows = `SELECT n.generation,
(SELECT group_concat(concat_ws(':', f.id, f.parent_id, f.name, f.props_bytes, f.detached_at), '/' ORDER BY f.id) FROM folders f WHERE f.namespace_id = n.id),
(SELECT group_concat(concat_ws(':', f.id, f.folder_id, f.name, f.props_bytes, f.version), '/' ORDER BY f.id) FROM files f WHERE f.namespace_id = n.id),
(SELECT group_concat(concat_ws('|', l.id, l.token, l.ancestry, l.root_kind, coalesce(l.root_folder_id, l.root_file_id, 0), l.depth, l.mode,
l.origin, coalesce(l.holder_user_id, 0), l.owner_info, l.lockroot_path, coalesce(l.timeout_at, '-')), char(10) ORDER BY l.id)
FROM resource_locks l WHERE l.namespace_id = n.id)
FROM resource_lock_namespaces n ORDER BY n.id`

// rowsNow reads the rows of all workspaces straight from the database.
func (r *run) rowsNow() (all []roomState, err error) {
	rows, err := r.query.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s roomState
		var folders, files, locks *string
		if err := rows.Scan(&s.generation, &folders, &files, &locks); err != nil {
			return nil, err
		}
		for _, text := range []*string{folders, files} {
			if text != nil {
				s.tree += *text + "\n"
			}
		}
		if locks != nil {
			s.locks = *locks
		}
		all = append(all, s)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// compare compares the store with the model after a step. What a refused step
// left alone needs no second look: data_version moves with every commit.
func (r *run) compare(changed bool) error {
	var data int64
	if err := r.version.QueryRow().Scan(&data); err != nil {
		return err
	}
	if !changed && data == r.seen.data {
		return nil
	}
	if !changed {
		return errors.New("a refused step changed the database")
	}
	if a, b := r.w.consistent(); a != nil {
		return fmt.Errorf("locks #%d and #%d must not stand together", a.born, b.born)
	}
	rooms, err := r.rowsNow()
	if err != nil {
		return err
	}
	before := r.seen
	r.seen = seenState{data: data, rooms: rooms}
	for i := range rooms {
		if err := r.compareRoom(i, before.rooms[i], &rooms[i]); err != nil {
			return fmt.Errorf("workspace %d: %w", i, err)
		}
	}
	return nil
}

// compareRoom compares a workspace. Its tree is walked when its rows changed, or
// what the model says of it: a walk sees nothing else.
func (r *run) compareRoom(room int, was roomState, is *roomState) error {
	if (was.locks != is.locks) != (was.generation != is.generation) {
		return fmt.Errorf("generation %d, was %d; locks\n%s\nwere\n%s", is.generation, was.generation, is.locks, was.locks)
	}
	if was.tree != is.tree || r.says(room) != was.walked {
		if err := r.walk(room); err != nil {
			return err
		}
	}
	is.walked = r.says(room) // with the identities seen now
	if err := r.compareTrash(room); err != nil {
		return err
	}
	return r.compareLocks(room, is.locks)
}

// says is all that a walk of a workspace depends on, as the model has it.
func (r *run) says(room int) string {
	var b strings.Builder
	for _, i := range r.w.rooms[room].top.all() {
		fmt.Fprintln(&b, i.names(), i.id, i.etag, i.content, i.props)
	}
	for _, g := range r.w.actives() {
		if g.on.where() == r.w.rooms[room] {
			fmt.Fprintln(&b, g.born, g.on.names(), g.ends)
		}
	}
	return b.String()
}
