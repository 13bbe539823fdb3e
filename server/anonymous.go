package server

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Why an anonymous server refuses a request.
var (
	errForeignHost   = errors.New("the host named is not localhost or a loopback address")
	errForwarded     = errors.New("forwarded by a proxy")
	errForeignOrigin = errors.New("sent by another origin's page")
)

// checkAnonymous refuses what did not come from this machine's own programs.
// Listening on loopback is not enough: a web page can make a browser talk to
// it, under a name that its owner points at 127.0.0.1 (DNS rebinding), and a
// proxy can carry in anybody.
func checkAnonymous(r *http.Request) error {
	if !isLoopbackName(hostOnly(r.Host)) {
		return errForeignHost
	}
	for name := range r.Header {
		if name == "Forwarded" || strings.HasPrefix(name, "X-Forwarded-") {
			return errForwarded
		}
	}
	for _, value := range r.Header.Values("Origin") {
		if u, err := url.Parse(value); err != nil || newOrigin(u.Scheme, u.Host) != direct(r) {
			return errForeignOrigin
		}
	}
	for _, value := range r.Header.Values("Sec-Fetch-Site") {
		// "none" is a user who typed the address; no page can send it.
		if value != "same-origin" && value != "none" {
			return errForeignOrigin
		}
	}
	return nil
}
