package server

import (
	"context"
	"errors"
	"fmt"

	"holdfast/server/auth"
	"holdfast/store"
)

// Administers reports whether a user can log in as an administrator.
func Administers(u store.User) bool { return u.Admin && canLogIn(u) }

func canLogIn(u store.User) bool { return !u.Disabled && u.PasswordHash != "" }

// staff is what a start tells of the users it finds.
type staff struct {
	greeted  string // whom the hints name
	headless bool   // nobody can log in as an administrator
	ignored  bool   // an administrator was asked for after the first start
}

// noName stands in hints for the user there is none of.
const noName = "NAME"

// staffOf looks for an administrator, whose name the hints show; else it is the
// first user who can log in.
func staffOf(users []store.User) staff {
	found := staff{greeted: noName, headless: true}
	for _, u := range users {
		if Administers(u) {
			return staff{greeted: u.Name}
		}
		if found.greeted == noName && canLogIn(u) {
			found.greeted = u.Name
		}
	}
	return found
}

// firstStart makes the administrator when there is no user yet, and the
// anonymous user when it is asked for. Where users exist, it makes none, however
// few can log in: a name and a password that are left in a configuration must not
// bring back who was removed.
func (s *Server) firstStart(ctx context.Context) error {
	users, err := s.store.Users(ctx)
	if err != nil {
		return err
	}
	first := len(users) == 0
	if first {
		if err := s.addAdmin(ctx); err != nil {
			return err
		}
		if users, err = s.store.Users(ctx); err != nil {
			return err
		}
	}
	s.staff = staffOf(users)
	s.staff.ignored = !first && (s.cfg.AdminUser != DefaultConfig().AdminUser || s.cfg.AdminPassword != "")
	if !s.cfg.Anonymous {
		return nil
	}
	user, err := s.anonymousUser(ctx)
	if err != nil {
		return fmt.Errorf("anonymous user: %w", err)
	}
	s.anonymous = principal(auth.Login{User: user})
	s.anonymous.Anonymous = true
	return nil
}

func (s *Server) addAdmin(ctx context.Context) error {
	password, minted := string(s.cfg.AdminPassword), ""
	if password == "" {
		minted = auth.NewPassword()
		password = minted
	}
	hash, err := auth.HashPassword(password)
	if err != nil {
		return err
	}
	_, err = s.store.AddUser(ctx, store.NewUser{Name: s.cfg.AdminUser, PasswordHash: hash, Admin: true})
	if errors.Is(err, store.ErrExists) {
		return nil // another process started at the same time, and printed its own
	}
	if err != nil {
		return fmt.Errorf("administrator: %w", err)
	}
	s.minted = minted
	return nil
}

// anonymousUser finds or makes the user that owns the anonymous workspace. It
// has no password.
func (s *Server) anonymousUser(ctx context.Context) (store.User, error) {
	user, err := s.store.User(ctx, auth.Anonymous)
	if !errors.Is(err, store.ErrNotFound) {
		return user, err
	}
	user, err = s.store.AddUser(ctx, store.NewUser{Name: auth.Anonymous})
	if errors.Is(err, store.ErrExists) {
		return s.store.User(ctx, auth.Anonymous)
	}
	return user, err
}
