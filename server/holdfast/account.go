package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"text/tabwriter"
	"time"

	"holdfast/server"
	"holdfast/server/auth"
	"holdfast/store"
)

type accountCmd struct {
	Add    accountAddCmd    `cmd:"" help:"Make an app password, a further password for one program or device, and print it once."`
	List   accountListCmd   `cmd:"" help:"List app passwords."`
	Remove accountRemoveCmd `cmd:"" help:"Revoke an app password."`
}

// app is a user's app password named on the command line.
type app struct {
	User string `arg:"" help:"User name."`
	Name string `arg:"" help:"What the app password is for."`
}

func (a app) explain(err error) error {
	return explain(fmt.Sprintf("app password %q of user %q", a.Name, a.User), err)
}

type accountAddCmd struct {
	app
	Team     string `help:"Only this team's workspace, which is then at /dav/." placeholder:"TEAM"`
	Root     string `help:"Only this folder, which is then at /dav/." placeholder:"PATH"`
	ReadOnly bool   `help:"Only to read."`
	Until    moment `help:"When it ends: a time as 2027-01-31 or 2027-01-31T18:00, or from now as 90d." placeholder:"TIME"`
}

// Run makes the app password and prints it.
func (c *accountAddCmd) Run(storage server.Storage, std *streams) error {
	if err := server.CheckLoginName(c.User); err != nil {
		return err
	}
	if !c.Until.IsZero() && c.Until.Before(time.Now()) {
		return fmt.Errorf("app password %q would have ended before it began", c.Name)
	}
	password := auth.NewAppPassword()
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		a, err := st.AddAccount(ctx, store.NewAccount{
			User: c.User, Name: c.Name, PasswordHash: auth.HashAppPassword(password),
			HA1:  func(user string) store.HA1 { return auth.NewHA1(user, password) },
			Team: c.Team, Root: store.ParsePath(c.Root),
			Scoped: c.Root != "" || c.Team != "", ReadOnly: c.ReadOnly, ExpiresAt: c.Until.Time,
		})
		switch {
		case errors.Is(err, store.ErrForbidden):
			return fmt.Errorf("user %q is not a member of team %q", c.User, c.Team)
		case errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("user %q, team %q or folder %q does not exist", c.User, c.Team, c.Root)
		case errors.Is(err, store.ErrTooManyAccounts):
			return fmt.Errorf("user %q has as many app passwords as one may have; remove one first", c.User)
		case err != nil:
			return c.explain(err)
		}
		digest := ""
		if a.Digest {
			digest = " It can be used with Digest."
		}
		_, err = fmt.Fprintf(std.out, "%s\nThe app password of %s for %q, shown this once.%s\n", password, printable(c.User), c.Name, digest)
		return err
	})
}

type accountListCmd struct {
	User string `arg:"" optional:"" help:"Whose; all without."`
}

// Run prints a table of the app passwords, never the passwords.
func (c *accountListCmd) Run(storage server.Storage, std *streams) error {
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		names := []string{c.User}
		if c.User == "" {
			users, err := st.Users(ctx)
			if err != nil {
				return err
			}
			names = nil
			for _, u := range users {
				names = append(names, u.Name)
			}
		}
		places := &placeNames{st: st}
		table := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "USER\tFOR\tOPENS\tMAY\tDIGEST\tLAST USED\tENDS")
		for _, name := range names {
			if err := listAccounts(ctx, places, name, table); err != nil {
				return err
			}
		}
		return table.Flush()
	})
}

func listAccounts(ctx context.Context, places *placeNames, user string, table *tabwriter.Writer) error {
	accounts, err := places.st.Accounts(ctx, user)
	if err != nil {
		return person{user}.explain(err)
	}
	for _, a := range accounts {
		opens, err := accountScope(ctx, places, a)
		if err != nil {
			return err
		}
		may := "write"
		if a.ReadOnly {
			may = "read"
		}
		digest := "no"
		if a.Digest {
			digest = "yes"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			printable(user), printable(a.Name), printable(opens), may, digest, minute(a.LastUsed), minute(a.ExpiresAt))
	}
	return nil
}

// accountScope says what an app password opens.
func accountScope(ctx context.Context, places *placeNames, a store.Account) (string, error) {
	if a.Scope == store.ScopeAll {
		return "everything", nil
	}
	place, err := places.name(ctx, a.Workspace())
	if err != nil || a.Root == 0 {
		return place + "/", err
	}
	path, err := places.st.FolderPath(ctx, a.Workspace(), a.Root)
	if errors.Is(err, store.ErrNotFound) {
		return place + " a folder that is gone", nil
	}
	return place + path.String(), err
}

type accountRemoveCmd struct{ app }

// Run revokes the app password.
func (c *accountRemoveCmd) Run(storage server.Storage, std *streams) error {
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		return c.explain(st.RemoveAccount(ctx, c.User, c.Name, store.Actor{}))
	})
}

// moment is a time on the command line: a date, a date and time of day in local
// time or with an offset, or a time span from now.
type moment struct{ time.Time }

// momentForms are how a moment may be written.
var momentForms = []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// spanForm is how a time span is written, however long.
var spanForm = regexp.MustCompile(`^(\d+d|(\d+(\.\d*)?(ms|[hms]))+)$`)

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *moment) UnmarshalText(text []byte) error {
	for _, form := range momentForms {
		if t, err := time.ParseInLocation(form, string(text), time.Local); err == nil {
			m.Time = t
			return nil
		}
	}
	var span server.Duration
	err := span.UnmarshalText(text)
	switch {
	case err != nil && spanForm.Match(text):
		return fmt.Errorf("%q from now is too long a time", text)
	case err != nil:
		return fmt.Errorf("%q is neither a time as 2027-01-31T18:00 nor one from now as 8h or 7d", text)
	}
	m.Time = time.Now().Add(time.Duration(span))
	return nil
}
