package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"holdfast/dav"
	"holdfast/store"
)

// origin is a scheme, host and port in one spelling: lower case, the scheme's
// default port left out (RFC 9110 section 4.2.3).
type origin struct{ scheme, host string }

// newOrigin normalizes. KDE and Cyberduck name a server by its webdav: URL,
// which is http: to everybody else.
func newOrigin(scheme, host string) origin {
	o := origin{strings.ToLower(scheme), strings.ToLower(host)}
	defaultPort := ":80"
	switch o.scheme {
	case "webdav", "dav":
		o.scheme = "http"
	case "webdavs", "davs", "https":
		o.scheme, defaultPort = "https", ":443"
	}
	o.host = strings.TrimSuffix(strings.TrimSuffix(o.host, defaultPort), ":")
	return o
}

func (o origin) String() string { return o.scheme + "://" + o.host }

// publicURL is a URL under which a proxy shows this server.
type publicURL struct {
	origin
	prefix string // the path that the proxy strips, escaped and without a final slash
}

func (u publicURL) String() string { return u.origin.String() + u.prefix }

// origins knows the names of this server.
type origins struct {
	public  []publicURL
	proxies []netip.Prefix
}

// knows reports whether scheme and host are an origin of this server: the one
// the request names, or one it is publicly known under.
func (o origins) knows(r *http.Request, scheme, host string) bool {
	asked := newOrigin(scheme, host)
	return asked == direct(r) || asked == o.of(r) || slices.ContainsFunc(o.public, func(u publicURL) bool { return u.origin == asked })
}

// shown is the URL of this server, without final slash, as the client sees it: a
// public one whose host it names, else the origin of the request. A proxy that is
// trusted says itself what it strips.
func (o origins) shown(r *http.Request) publicURL {
	seen := publicURL{origin: o.of(r)}
	match := func(fits func(origin) bool) bool {
		i := slices.IndexFunc(o.public, func(u publicURL) bool { return fits(u.origin) })
		if i >= 0 {
			seen = o.public[i]
		}
		return i >= 0
	}
	// The scheme is not told by a proxy that is not trusted.
	_ = match(func(u origin) bool { return u == seen.origin }) || match(func(u origin) bool { return u.host == seen.host })
	if values := r.Header.Values("X-Forwarded-Prefix"); len(values) > 0 && o.trusts(peer(r)) {
		if prefix, err := cleanPrefix(lastValue(r.Header, "X-Forwarded-Prefix")); err == nil {
			seen.prefix = prefix
		}
	}
	return seen
}

// own are the origins of the public URLs, each as a browser names it.
func (o origins) own() []string {
	all := make([]string, len(o.public))
	for i, u := range o.public {
		all[i] = u.origin.String()
	}
	return all
}

// external is dav.Options.External.
func (o origins) external(r *http.Request) string { return o.shown(r).prefix }

// maxPrefix bounds the path that a proxy strips: it stands before every href.
const maxPrefix = 1024

// cleanPrefix brings a path that a proxy strips into the spelling of hrefs,
// without a final slash; "" for "/".
func cleanPrefix(text string) (string, error) {
	trimmed := strings.Trim(text, "/")
	if trimmed == "" {
		return "", nil
	}
	if len(text) > maxPrefix {
		return "", fmt.Errorf("path is longer than %d bytes", maxPrefix)
	}
	var prefix strings.Builder
	for segment := range strings.SplitSeq(trimmed, "/") {
		name, err := url.PathUnescape(segment)
		if err != nil {
			return "", errors.New("path has a broken percent-encoding")
		}
		if err := store.CheckName(name); err != nil {
			return "", fmt.Errorf("path has a segment that no URL of files can have: %w", err)
		}
		prefix.WriteString("/" + dav.Segment(name))
	}
	return prefix.String(), nil
}

// of is the origin under which the client sees this server, as far as the
// request tells.
func (o origins) of(r *http.Request) origin {
	seen := direct(r)
	if !o.trusts(peer(r)) {
		return seen
	}
	if proto := strings.ToLower(lastValue(r.Header, "X-Forwarded-Proto")); proto == "http" || proto == "https" {
		seen.scheme = proto
	}
	host := lastValue(r.Header, "X-Forwarded-Host")
	if host == "" {
		host = r.Host
	}
	return newOrigin(seen.scheme, host)
}

// direct is the origin that the connection and its Host name.
func direct(r *http.Request) origin {
	if r.TLS != nil {
		return newOrigin("https", r.Host)
	}
	return newOrigin("http", r.Host)
}

// client is the address of the client: the nearest that no trusted proxy has,
// read from the end of X-Forwarded-For, since only what trusted proxies
// appended is to be believed.
func (o origins) client(r *http.Request) netip.Addr {
	at := peer(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !o.trusts(at) {
			break
		}
		addr, err := parseHop(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		at = addr
	}
	return at
}

func (o origins) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(o.proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// parseHop reads an address of X-Forwarded-For; some proxies add the port.
func parseHop(text string) (netip.Addr, error) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap(), nil
	}
	addr, err := netip.ParseAddr(text)
	return addr.Unmap(), err
}

// peer is the address at the other end of the connection; the zero Addr, which
// nothing trusts, when net/http does not know it.
func peer(r *http.Request) netip.Addr {
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Addr().Unmap()
}

// lastValue is the last element of a list header: what the nearest proxy said.
func lastValue(h http.Header, name string) string {
	values := h.Values(name)
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}

// isLoopbackName reports whether a host without port can only be this machine:
// localhost, or a literal loopback address. Other names are not looked up; what
// they resolve to is their owner's choice, and can change.
func isLoopbackName(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// hostOnly is a Host header's host without port and brackets.
func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}
