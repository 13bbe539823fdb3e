package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"holdfast/server"
	"holdfast/server/auth"
	"holdfast/store"
)

type userCmd struct {
	Add     userAddCmd     `cmd:"" help:"Add a user; the password is read from standard input."`
	List    userListCmd    `cmd:"" help:"List the users."`
	Passwd  userPasswdCmd  `cmd:"" help:"Change a password; it is read from standard input."`
	Set     userSetCmd     `cmd:"" help:"Change what is known of a user."`
	Disable userDisableCmd `cmd:"" help:"Keep a user from logging in; nothing is lost."`
	Remove  userRemoveCmd  `cmd:"" help:"Remove a user with all their files."`
}

// person is a user named on the command line.
type person struct {
	Name string `arg:"" help:"User name."`
}

// check refuses a name that nobody can log in with.
func (p person) check() error { return server.CheckLoginName(p.Name) }

func (p person) explain(err error) error { return explain(fmt.Sprintf("user %q", p.Name), err) }

// explain words what the store refuses for people: they know users and teams,
// not rows.
func explain(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%s does not exist", what)
	case errors.Is(err, store.ErrExists):
		return fmt.Errorf("%s exists already", what)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// sameUser reports whether a name on the command line is the user's.
func sameUser(u store.User, name string) bool { return strings.EqualFold(u.Name, name) }

// leader is a person who may be the last administrator.
type leader struct {
	person
	Force bool `help:"Even if no administrator is left."`
}

// keep refuses to go on when nobody else can log in as an administrator. A
// command beside this one can still do the same to the other one; the server
// then warns at its next start.
func (l leader) keep(ctx context.Context, st *store.Store) error {
	if l.Force {
		return nil
	}
	users, err := st.Users(ctx)
	if err != nil {
		return err
	}
	last := false
	for _, u := range users {
		if !server.Administers(u) {
			continue
		}
		if !sameUser(u, l.Name) {
			return nil
		}
		last = true
	}
	if last {
		return fmt.Errorf("user %q is the last administrator who can log in; make another one first, or give --force", l.Name)
	}
	return nil
}

type userAddCmd struct {
	person
	Admin bool        `help:"Make them an administrator."`
	Quota server.Size `help:"Storage of their workspace; 0 is the server's default." default:"0" placeholder:"SIZE"`
}

// Run adds the user.
func (c *userAddCmd) Run(storage server.Storage, std *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	hash, err := readPassword(std)
	if err != nil {
		return err
	}
	return withStore(storage, true, std, func(ctx context.Context, st *store.Store) error {
		_, err := st.AddUser(ctx, store.NewUser{Name: c.Name, PasswordHash: hash, Admin: c.Admin, Quota: int64(c.Quota)})
		return c.explain(err)
	})
}

type userListCmd struct{}

// Run prints a table of the users.
func (userListCmd) Run(storage server.Storage, std *streams) error {
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		users, err := st.Users(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "NAME\tROLE\tSTATE\tUSED\tQUOTA\tDISPLAY NAME")
		for _, u := range users {
			usage, err := st.Usage(ctx, u.Workspace())
			if err != nil {
				return fmt.Errorf("usage of %q: %w", u.Name, err)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n",
				printable(u.Name), role(u), state(u), usage.Used, quota(usage), printable(u.DisplayName))
		}
		return table.Flush()
	})
}

func role(u store.User) string {
	if u.Admin {
		return "admin"
	}
	return "user"
}

func state(u store.User) string {
	switch {
	case u.Disabled:
		return "disabled"
	case u.PasswordHash == "":
		return "no password"
	}
	return "active"
}

func quota(u store.Usage) string {
	if u.Quota == 0 {
		return "-"
	}
	return server.Size(u.Quota).String()
}

type userPasswdCmd struct{ person }

// Run changes the password.
func (c *userPasswdCmd) Run(storage server.Storage, std *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	hash, err := readPassword(std)
	if err != nil {
		return err
	}
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		_, err := st.SetUser(ctx, c.Name, store.UserPatch{PasswordHash: &hash})
		return c.explain(err)
	})
}

type userSetCmd struct {
	leader
	Admin   *bool        `help:"Whether they are an administrator." placeholder:"BOOL"`
	Quota   *server.Size `help:"Storage of their workspace; 0 is the server's default." placeholder:"SIZE"`
	Display *string      `name:"name" help:"Name to show." placeholder:"TEXT"`
}

// Run changes what was given and leaves the rest.
func (c *userSetCmd) Run(storage server.Storage, std *streams) error {
	if c.Admin != nil {
		if err := c.check(); err != nil {
			return err
		}
	}
	if c.Display != nil && !prints(*c.Display) {
		return fmt.Errorf("the name to show %q has characters that do not print", *c.Display)
	}
	patch := store.UserPatch{Admin: c.Admin, DisplayName: c.Display}
	if c.Quota != nil {
		bytes := int64(*c.Quota)
		patch.Quota = &bytes
	}
	if patch == (store.UserPatch{}) {
		return usageError{errors.New("user set: nothing to set")}
	}
	return c.set(storage, std, patch)
}

type userDisableCmd struct {
	leader
	Undo bool `help:"Let them log in again."`
}

// Run disables or enables the user.
func (c *userDisableCmd) Run(storage server.Storage, std *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	disabled := !c.Undo
	return c.set(storage, std, store.UserPatch{Disabled: &disabled})
}

type userRemoveCmd struct{ leader }

// Run removes the user.
func (c *userRemoveCmd) Run(storage server.Storage, std *streams) error {
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		if err := c.keep(ctx, st); err != nil {
			return err
		}
		return c.explain(st.RemoveUser(ctx, c.Name, store.Actor{}))
	})
}

// set changes the user, unless that takes the last administrator away.
func (l leader) set(storage server.Storage, std *streams, patch store.UserPatch) error {
	demotes := patch.Admin != nil && !*patch.Admin || patch.Disabled != nil && *patch.Disabled
	return withStore(storage, false, std, func(ctx context.Context, st *store.Store) error {
		if demotes {
			if err := l.keep(ctx, st); err != nil {
				return err
			}
		}
		_, err := st.SetUser(ctx, l.Name, patch)
		return l.explain(err)
	})
}

// readPassword reads one line, without echo from a terminal, and hashes it.
func readPassword(std *streams) (hash string, err error) {
	var line string
	if f, ok := std.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		line, err = readHidden(f, std.err)
	} else {
		line, err = readLine(std.in)
	}
	if err != nil {
		return "", fmt.Errorf("read password: %w", err)
	}
	return auth.HashPassword(line)
}

func readHidden(f *os.File, prompt io.Writer) (string, error) {
	fmt.Fprint(prompt, "Password: ")
	line, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(prompt)
	return string(line), err
}

// readLine reads up to the first line end or the end of the input, and no more
// than a password may be long.
func readLine(in io.Reader) (string, error) {
	limited := bufio.NewReader(io.LimitReader(in, auth.MaxPasswordBytes+2))
	line, err := limited.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), nil
}
