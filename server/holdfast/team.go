package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"holdfast/server"
	"holdfast/store"
)

type teamCmd struct {
	Add    teamAddCmd    `cmd:"" help:"Add a team with a workspace of its own, served at /teams/NAME/."`
	List   teamListCmd   `cmd:"" help:"List the teams, or the members of one."`
	Member teamMemberCmd `cmd:"" help:"Add a user to a team, change their role, or take them out."`
	Remove teamRemoveCmd `cmd:"" help:"Remove a team with all its files."`
}

// group is a team named on the command line.
type group struct {
	Team string `arg:"" help:"Team name, as in its URL."`
}

func (g group) explain(err error) error { return explain(fmt.Sprintf("team %q", g.Team), err) }

type teamAddCmd struct {
	group
	Owner string      `help:"User who owns the team (default: the administrator)." placeholder:"USER"`
	Quota server.Size `help:"Storage of its workspace; 0 is the server's default." default:"0" placeholder:"SIZE"`
}

// Run adds the team and says where it is.
func (c *teamAddCmd) Run(storage server.Storage, std *streams) error {
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		owner, err := c.owner(ctx, st)
		if err != nil {
			return err
		}
		team, err := st.AddTeam(ctx, store.NewTeam{Name: c.Team, Owner: owner, Quota: int64(c.Quota)})
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("user %q does not exist", owner)
		}
		if err != nil {
			return c.explain(err)
		}
		_, err = fmt.Fprintf(std.out, "team %s, owned by %s: %s\n", printable(team.Name), printable(owner), server.TeamPath(team))
		return err
	})
}

// owner is who was named, or the first administrator who can log in.
func (c *teamAddCmd) owner(ctx context.Context, st *store.Store) (string, error) {
	if c.Owner != "" {
		return c.Owner, nil
	}
	users, err := st.Users(ctx)
	if err != nil {
		return "", err
	}
	for _, u := range users {
		if server.Administers(u) {
			return u.Name, nil
		}
	}
	return "", errors.New("no administrator can log in to own the team: name a user with --owner")
}

type teamListCmd struct {
	Team string `arg:"" optional:"" help:"Team whose members to list."`
}

// Run prints a table of the teams, or of a team's members.
func (c *teamListCmd) Run(storage server.Storage, std *streams) error {
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		table := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
		list := listTeams
		if c.Team != "" {
			list = c.listMembers
		}
		if err := list(ctx, st, table); err != nil {
			return err
		}
		return table.Flush()
	})
}

func listTeams(ctx context.Context, st *store.Store, table *tabwriter.Writer) error {
	teams, err := st.Teams(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(table, "NAME\tMEMBERS\tUSED\tQUOTA\tMOUNT")
	for _, t := range teams {
		members, err := st.Members(ctx, t.Name)
		if err != nil {
			return fmt.Errorf("members of %q: %w", t.Name, err)
		}
		usage, err := st.Usage(ctx, t.Workspace())
		if err != nil {
			return fmt.Errorf("usage of %q: %w", t.Name, err)
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\n", printable(t.Name), len(members), usage.Used, quota(usage), server.TeamPath(t))
	}
	return nil
}

func (c *teamListCmd) listMembers(ctx context.Context, st *store.Store, table *tabwriter.Writer) error {
	members, err := st.Members(ctx, c.Team)
	if err != nil {
		return group{c.Team}.explain(err)
	}
	fmt.Fprintln(table, "NAME\tROLE\tSTATE\tSINCE")
	for _, m := range members {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", printable(m.User.Name), m.Role, state(m.User), day(m.Since))
	}
	return nil
}

type teamMemberCmd struct {
	group
	User   string     `arg:"" help:"User name."`
	Role   store.Role `help:"owner, admin, member or viewer (default: member, for who is none yet)." enum:",owner,admin,member,viewer" default:"" placeholder:"ROLE"`
	Remove bool       `help:"Take them out; the locks they hold there end."`
}

// Run makes the user what was asked.
func (c *teamMemberCmd) Run(storage server.Storage, std *streams) error {
	if c.Remove && c.Role != "" {
		return usageError{errors.New("team member: --role and --remove exclude each other")}
	}
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		err := c.apply(ctx, st)
		switch {
		case errors.Is(err, store.ErrLastOwner):
			return fmt.Errorf("user %q is the only owner of team %q; make another one first", c.User, c.Team)
		case errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("team %q or user %q does not exist, or the one has not got the other", c.Team, c.User)
		}
		return err
	})
}

func (c *teamMemberCmd) apply(ctx context.Context, st *store.Store) error {
	if c.Remove {
		return st.RemoveMember(ctx, c.Team, c.User, store.Actor{})
	}
	if c.Role == "" {
		// A role that a member has is not lowered by leaving the flag out.
		members, err := st.Members(ctx, c.Team)
		if err != nil {
			return err
		}
		for _, m := range members {
			if sameUser(m.User, c.User) {
				return fmt.Errorf("user %q is %s of team %q already; give --role to change it", m.User.Name, m.Role, c.Team)
			}
		}
	}
	return st.SetMember(ctx, c.Team, c.User, cmp.Or(c.Role, store.Writer), store.Actor{})
}

type teamRemoveCmd struct{ group }

// Run removes the team.
func (c *teamRemoveCmd) Run(storage server.Storage, std *streams) error {
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		return c.explain(st.RemoveTeam(ctx, c.Team, store.Actor{}))
	})
}
