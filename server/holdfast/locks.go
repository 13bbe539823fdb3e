package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"holdfast/lockns"
	"holdfast/server"
	"holdfast/store"
)

type locksCmd struct {
	List    locksListCmd    `cmd:"" help:"List locks, whatever door they came through."`
	Set     locksSetCmd     `cmd:"" help:"Lock a file or folder for a user: only they may change it, through any door, until the lock ends."`
	Release locksReleaseCmd `cmd:"" help:"End the lock a user set on a path, or any lock by its number."`
	Expire  locksExpireCmd  `cmd:"" help:"Remove the rows of expired locks now, and say how many."`
}

// where is a workspace on the command line: a user's own, or a team's.
type where struct {
	User string `help:"Whose lock it is; without --team the path is in their workspace." placeholder:"NAME"`
	Team string `help:"The team in whose workspace the path is." placeholder:"TEAM"`
}

// find looks up the user and the workspace.
func (w where) find(ctx context.Context, st *store.Store) (store.User, lockns.Workspace, error) {
	user, err := st.User(ctx, w.User)
	if err != nil {
		return user, lockns.Workspace{}, person{w.User}.explain(err)
	}
	if w.Team == "" {
		return user, user.Workspace(), nil
	}
	team, err := st.TeamByName(ctx, w.Team)
	return user, team.Workspace(), group{w.Team}.explain(err)
}

type locksListCmd struct {
	User    string `help:"Only those that this user holds." placeholder:"NAME"`
	Of      string `help:"Only those in this user's workspace." placeholder:"NAME"`
	Team    string `help:"Only those in this team's workspace." placeholder:"TEAM"`
	Origin  string `help:"Only those of this origin: product, webdav, wopi." enum:",product,webdav,wopi" default:"" placeholder:"ORIGIN"`
	Expired bool   `help:"Only those that have expired and still have a row."`
}

// listPage is how many locks are read at a time.
const listPage = 500

// Run prints a table of the locks, without their tokens.
func (c *locksListCmd) Run(storage server.Storage, std *streams) error {
	if c.Of != "" && c.Team != "" {
		return usageError{errors.New("locks list: --of and --team exclude each other")}
	}
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		filter, err := c.filter(ctx, st)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tORIGIN\tSCOPE\tDEPTH\tHOLDER\tENDS\tPATH\tNOTE")
		places := placeNames{st: st}
		for {
			locks, err := st.Locks(ctx, filter)
			if err != nil {
				return err
			}
			for _, l := range locks {
				if err := places.print(ctx, table, l); err != nil {
					return err
				}
				filter.After = l.ID
			}
			if len(locks) < listPage {
				return table.Flush()
			}
		}
	})
}

func (c *locksListCmd) filter(ctx context.Context, st *store.Store) (store.LockFilter, error) {
	filter := store.LockFilter{Origin: lockns.Origin(c.Origin), Expired: c.Expired, Limit: listPage}
	if c.User != "" {
		user, err := st.User(ctx, c.User)
		if err != nil {
			return filter, person{c.User}.explain(err)
		}
		filter.Holder = user.ID
	}
	var ws lockns.Workspace
	switch {
	case c.Of != "":
		user, err := st.User(ctx, c.Of)
		if err != nil {
			return filter, person{c.Of}.explain(err)
		}
		ws = user.Workspace()
	case c.Team != "":
		team, err := st.TeamByName(ctx, c.Team)
		if err != nil {
			return filter, group{c.Team}.explain(err)
		}
		ws = team.Workspace()
	default:
		return filter, nil
	}
	filter.Workspace = &ws
	return filter, nil
}

// placeNames names workspaces for people, each looked up once.
type placeNames struct {
	st    *store.Store
	known map[lockns.Workspace]string
}

// print writes a lock's line.
func (p *placeNames) print(ctx context.Context, table *tabwriter.Writer, l store.LockInfo) error {
	place, err := p.name(ctx, l.Workspace)
	if err != nil {
		return err
	}
	holder, note := l.HolderName, ""
	if holder == "" {
		holder = "-"
	}
	if l.Origin == lockns.Product && l.Owner != "" {
		note = strconv.Quote(l.Owner) // whatever a person typed, it stays on its line
	}
	fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
		l.ID, l.Origin, l.Mode, l.Depth, printable(holder), minute(l.ExpiresAt), printable(place+l.Path), note)
	return nil
}

// name is "alice:" or "team Crew:".
func (p *placeNames) name(ctx context.Context, ws lockns.Workspace) (string, error) {
	if name, ok := p.known[ws]; ok {
		return name, nil
	}
	if p.known == nil {
		p.known = map[lockns.Workspace]string{}
	}
	name, err := p.st.WorkspaceName(ctx, ws)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	if ws.Kind == lockns.Team {
		name = "team " + name
	}
	p.known[ws] = name + ":"
	return p.known[ws], nil
}

type locksSetCmd struct {
	where
	Path  string `arg:"" help:"Path of the file or folder in the workspace."`
	Until moment `help:"When it ends: a time as 2027-01-31T18:00, or from now as 8h or 7d (default: when it is released)." placeholder:"TIME"`
	Note  string `help:"Why, for those who find it locked." empty:"" placeholder:"TEXT"`
	Depth string `help:"resource, or infinity for a folder with all below it." enum:"resource,infinity" default:"resource" placeholder:"DEPTH"`
}

// Run sets the lock.
func (c *locksSetCmd) Run(storage server.Storage, std *streams) error {
	if c.User == "" {
		return usageError{errors.New("locks set: --user is missing")}
	}
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		user, ws, err := c.find(ctx, st)
		if err != nil {
			return err
		}
		target := store.Target{Workspace: ws, Path: store.ParsePath(c.Path)}
		locked, err := st.Lock(ctx, target, store.LockSpec{
			Origin: lockns.Product, Mode: lockns.Exclusive, Depth: lockns.Depth(c.Depth), Holder: user.ID,
			Owner: c.Note, Until: c.Until.Time, MustExist: true,
		}, store.Holder(user.ID))
		if err != nil {
			return explainLock(c.Path, err)
		}
		_, err = fmt.Fprintf(std.out, "lock %d on %s\n", locked.Lock.ID, printable(c.Path))
		return err
	})
}

type locksReleaseCmd struct {
	where
	Path string  `arg:"" optional:"" help:"Path whose lock set by --user ends."`
	ID   []int64 `name:"id" help:"Locks to end by number, whoever holds them and whatever door they came through." placeholder:"N"`
}

// Run ends one lock by its path, or any by their numbers.
func (c *locksReleaseCmd) Run(storage server.Storage, std *streams) error {
	if (c.Path == "") == (len(c.ID) == 0) || c.Path != "" && c.User == "" || len(c.ID) > 0 && c.where != (where{}) {
		return usageError{errors.New("locks release: give PATH with --user, or --id")}
	}
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		if c.Path != "" {
			return c.releaseOwn(ctx, st)
		}
		for _, id := range c.ID {
			l, err := st.ForceUnlock(ctx, id, store.Actor{})
			if err != nil {
				return explain(fmt.Sprintf("lock %d", id), err)
			}
			if _, err := fmt.Fprintf(std.out, "lock %d on %s ended\n", id, printable(l.Path)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *locksReleaseCmd) releaseOwn(ctx context.Context, st *store.Store) error {
	user, ws, err := c.find(ctx, st)
	if err != nil {
		return err
	}
	target := store.Target{Workspace: ws, Path: store.ParsePath(c.Path)}
	return explainLock(c.Path, st.Unlock(ctx, target, store.ByOrigin(lockns.Product), store.Holder(user.ID)))
}

// explainLock words what the lock rules refuse.
func explainLock(path string, err error) error {
	shown := printable(path)
	var conflict *lockns.ConflictError
	switch {
	case errors.As(err, &conflict):
		return fmt.Errorf("%s is locked already, or something above or below it: see locks list", shown)
	case errors.Is(err, store.ErrNoSuchLock):
		return fmt.Errorf("nobody set a lock on %s", shown)
	case errors.Is(err, store.ErrNotHolder):
		return fmt.Errorf("somebody else set the lock on %s: see locks list, and end it with --id", shown)
	case errors.Is(err, store.ErrForbidden):
		return errors.New("the user may not write in that team")
	}
	return explain(strconv.Quote(path), err)
}

type locksExpireCmd struct{}

// Run cleans up and says how many rows went.
func (locksExpireCmd) Run(storage server.Storage, std *streams) error {
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		n, err := st.CleanExpired(ctx, store.Actor{})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "%d removed\n", n)
		return err
	})
}
