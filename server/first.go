package server

import (
	"context"
	"errors"
	"fmt"

	"holdfast/server/auth"
	"holdfast/store"
)

// firstStart makes the administrator when there is no user yet, and the
// anonymous user when it is asked for.
func (s *Server) firstStart(ctx context.Context) error {
	users, err := s.store.Users(ctx)
	if err != nil {
		return err
	}
	if len(users) == 0 {
		if err := s.addAdmin(ctx); err != nil {
			return err
		}
	}
	if !s.cfg.Anonymous {
		return nil
	}
	user, err := s.anonymousUser(ctx)
	if err != nil {
		return fmt.Errorf("anonymous user: %w", err)
	}
	s.anonymous = principal(user)
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
