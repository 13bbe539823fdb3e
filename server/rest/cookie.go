package rest

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"

	"holdfast/server/auth"
	"holdfast/store"
)

// sessionCookie is the name of the cookie that a browser's session is known by.
// Over HTTPS a prefix stands before it.
const sessionCookie = "holdfast_session"

// cookie is the session cookie of this server as the request sees it, without a
// value. Scripts cannot read it and pages of other sites cannot make the browser
// send it. Over HTTPS its prefix (RFC 6265bis section 4.1.3) keeps everybody who
// does not speak for this host by HTTPS from setting it, and so from logging a
// browser in as somebody else; where the server is one path of the host that can
// only be the weaker one, which a cookie with a path may have.
func (a *API) cookie(r *http.Request) *http.Cookie {
	c := &http.Cookie{
		Name: sessionCookie, Path: a.o.External(r) + "/", Secure: a.o.Secure(r),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	switch {
	case c.Secure && c.Path == "/":
		c.Name = "__Host-" + c.Name
	case c.Secure:
		c.Name = "__Secure-" + c.Name
	}
	return c
}

// setCookie is the line that gives a browser a session.
func (a *API) setCookie(r *http.Request, token string) string {
	c := a.cookie(r)
	c.Value, c.MaxAge = token, int(store.SessionLife.Seconds())
	return c.String()
}

// dropCookie is the line that takes a browser's session away.
func (a *API) dropCookie(r *http.Request) string {
	c := a.cookie(r)
	c.MaxAge = -1
	return c.String()
}

// bySession gives the caller whose session the request's cookie names; without one
// that is good for something that is nobody, and no error. Of two cookies of the
// name one is not this server's, and neither counts. Pages of --cors-origin bring
// credentials of their own, so theirs is not looked at.
func (a *API) bySession(r *http.Request, from netip.Addr) (Caller, error) {
	nobody := Caller{Address: from}
	sent := r.CookiesNamed(a.cookie(r).Name)
	if len(sent) != 1 || slices.Contains(a.o.Origins, r.Header.Get("Origin")) {
		return nobody, nil
	}
	in, err := a.o.Auth.BySession(r.Context(), sent[0].Value)
	switch {
	case errors.Is(err, auth.ErrCredentials):
		return nobody, nil
	case err != nil:
		return nobody, err
	}
	return Caller{User: in.User, Session: in.Session, Address: from}, nil
}
