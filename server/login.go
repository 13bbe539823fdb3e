package server

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"holdfast/dav"
	"holdfast/server/auth"
	"holdfast/store"
)

// A door serves one kind of request for somebody known.
type door func(w http.ResponseWriter, r *http.Request, who dav.Principal)

// login is a door behind the login.
func (s *Server) login(next door) http.Handler { return s.admit(next, s.authenticate) }

// loginOrAnonymous is a door that an anonymous server opens to requests without
// credentials too. Wrong credentials are refused, not ignored: their sender
// means somebody.
func (s *Server) loginOrAnonymous(next door) http.Handler {
	return s.admit(next, func(r *http.Request) (dav.Principal, error) {
		if s.cfg.Anonymous && !auth.Offers(r) {
			return s.anonymous, nil
		}
		return s.authenticate(r)
	})
}

func (s *Server) admit(next door, identify func(*http.Request) (dav.Principal, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := identify(r)
		if err != nil {
			s.refuseLogin(w, r, err)
			return
		}
		identified(w, who.Name)
		w, end := compressing(w, r)
		next(w, r, who)
		end()
	})
}

// identified notes for the access line who sends a request.
func identified(w http.ResponseWriter, user string) {
	if w, ok := w.(*response); ok {
		w.user = user
	}
}

func (s *Server) authenticate(r *http.Request) (dav.Principal, error) {
	in, err := s.auth.Authenticate(r, s.origins.client(r))
	if err != nil {
		return dav.Principal{}, err
	}
	return s.principalOf(r.Context(), in)
}

// principalOf is principal with what the user's role in a team forbids an account
// that is limited to it.
func (s *Server) principalOf(ctx context.Context, in auth.Login) (dav.Principal, error) {
	who := principal(in)
	if a := in.Account; a != nil && a.Scope == store.ScopeTeam {
		role, err := s.store.Role(ctx, a.TeamID, in.User.ID)
		if err != nil {
			return dav.Principal{}, err
		}
		who.ReadOnly = who.ReadOnly || !role.MayWrite()
	}
	return who, nil
}

// principal is what a login opens: all of its user's mounts, or what the account
// is limited to.
func principal(in auth.Login) dav.Principal {
	p := dav.Principal{UserID: in.User.ID, Name: in.User.Name, Workspace: in.User.Workspace()}
	if a := in.Account; a != nil {
		p.Account, p.Workspace, p.Base = a.ID, a.Workspace(), a.Root
		p.Scoped, p.ReadOnly = a.Scope != store.ScopeAll, a.ReadOnly
	}
	return p
}

// refuseLogin is the one table from an error of the login to an answer.
func (s *Server) refuseLogin(w http.ResponseWriter, r *http.Request, err error) {
	var braked *auth.BrakeError
	switch {
	case errors.Is(err, auth.ErrCredentials):
		w.Header()["Www-Authenticate"] = s.auth.Challenges(err)
		fail(w, http.StatusUnauthorized, "login required")
	case errors.Is(err, auth.ErrTarget):
		fail(w, http.StatusBadRequest, "the uri of the credentials is not that of the request")
	case errors.As(err, &braked):
		retryAfter(w, braked.Wait)
		fail(w, http.StatusTooManyRequests, "too many wrong passwords")
	case errors.Is(err, auth.ErrBusy), errors.Is(err, store.ErrBusy):
		retryAfter(w, time.Second)
		fail(w, http.StatusServiceUnavailable, "busy")
	case errors.Is(err, store.ErrClosed):
		fail(w, http.StatusServiceUnavailable, "closing")
	case errors.Is(err, context.Canceled):
		// Of a client that left, or that closed its side of the connection once
		// the request was sent: net/http takes the one for the other.
		fail(w, http.StatusBadRequest, "the request was given up: keep the connection open until the answer has come")
	default:
		s.log.ErrorContext(r.Context(), "login failed", "err", err)
		fail(w, http.StatusInternalServerError, "internal error")
	}
}

func retryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}
