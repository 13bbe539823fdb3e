package dav

import (
	"net/http"
	"strings"
)

// preferences are what a client would rather have, of those that mean something
// here (RFC 7240, RFC 8144).
type preferences struct {
	minimal bool // return=minimal: nothing that the client can do without
	noRoot  bool // depth-noroot: members only, not the Request-URI's resource
}

// parsePrefer reads the lines of a Prefer header. Of a preference said twice the
// first counts; what is unknown or malformed is ignored. Names are the same in any
// letter case, values are not (RFC 7240 section 2).
func parsePrefer(lines []string) (p preferences) {
	seen := map[string]bool{}
	for _, line := range lines {
		for _, preference := range splitUnquoted(line, ',') {
			// Parameters come after the first semicolon. None is known.
			name, value, _ := strings.Cut(splitUnquoted(preference, ';')[0], "=")
			name = strings.ToLower(trimOWS(name))
			if seen[name] {
				continue
			}
			seen[name] = true
			switch value = unquote(trimOWS(value)); {
			case name == "return":
				p.minimal = value == "minimal"
			case name == "depth-noroot":
				p.noRoot = value == ""
			}
		}
	}
	return p
}

// splitUnquoted splits at a separator, but not inside a quoted string.
func splitUnquoted(s string, separator byte) (parts []string) {
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '\\' && quoted:
			i++
		case s[i] == separator && !quoted:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// unquote is the value of a token or a quoted string (RFC 9110 section 5.6.4).
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	var b strings.Builder
	for i := 1; i < len(s)-1; i++ {
		if s[i] == '\\' && i+1 < len(s)-1 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// preferences are those of the request.
func (q *request) preferences() preferences { return parsePrefer(q.r.Header.Values("Prefer")) }

// applied tells the client that one of its preferences was followed (RFC 7240
// section 3). A failure takes it back.
func applied(w http.ResponseWriter, preference string) {
	h := w.Header()
	if before := h.Get("Preference-Applied"); before != "" {
		preference = before + ", " + preference
	}
	h.Set("Preference-Applied", preference)
}
