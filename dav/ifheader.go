package dav

import (
	"net/http"
	"strings"

	"holdfast/dav/content"
)

// Limits of an If header. A client that moves a folder full of files it holds
// open sends a list per token; a thousand is far beyond that. Each resource that
// a tag names is looked up while other changes wait, so that there may be fewer.
const (
	maxIfBytes      = 64 << 10
	maxIfConditions = 1000
	maxIfTags       = 250
)

// noLock is the state token no resource ever has (RFC 4918 section 10.4.8).
const noLock = "DAV:no-lock"

// ifHeader is a parsed If header (RFC 4918 section 10.4): lists of conditions,
// true when all conditions of at least one list are.
type ifHeader struct {
	lists []ifList
}

// ifList is a conjunction of conditions about one resource.
type ifList struct {
	tag        string // the Resource-Tag's URI reference as sent, "" for the Request-URI
	conditions []ifCondition
}

// ifCondition asks for one lock token or one entity-tag; the other field is "".
type ifCondition struct {
	not   bool
	token string // without the angle brackets
	etag  string // the quoted form as sent, W/ included
}

// ifToken is a lock token the client submits, with the tag of its list.
type ifToken struct {
	token string
	tag   string
}

// ifState is what an If header may ask of one resource.
type ifState interface {
	// hasToken reports whether the resource is locked, itself or by a lock
	// above it, with this token, or whether it is a collection's sync token and
	// nothing changed there since.
	hasToken(token string) bool
	// matchesETag reports whether the resource's entity-tag equals this quoted
	// one by strong comparison. A resource without one matches none.
	matchesETag(etag string) bool
}

// eval decides the header. state returns what is known about the resource a tag
// names, "" being the Request-URI; it may be asked for the same tag repeatedly.
func (h *ifHeader) eval(state func(tag string) ifState) bool {
	for _, list := range h.lists {
		if list.eval(state(list.tag)) {
			return true
		}
	}
	return false
}

func (l ifList) eval(state ifState) bool {
	for _, c := range l.conditions {
		if c.holds(state) == c.not {
			return false
		}
	}
	return true
}

// holds decides the condition without its Not. A weak entity-tag never matches,
// as RFC 9110 section 13.1.1 asks for writes.
func (c ifCondition) holds(state ifState) bool {
	if c.token != "" {
		return c.token != noLock && state.hasToken(c.token)
	}
	return !strings.HasPrefix(c.etag, "W/") && state.matchesETag(c.etag)
}

// tokens returns the lock tokens the header submits: every one it names without
// Not, but for sync tokens. Whether a token counts is decided where the locks are.
func (h *ifHeader) tokens() []ifToken {
	var tokens []ifToken
	for _, list := range h.lists {
		for _, c := range list.conditions {
			if c.token != "" && c.token != noLock && !c.not && !isSyncToken(c.token) {
				tokens = append(tokens, ifToken{token: c.token, tag: list.tag})
			}
		}
	}
	return tokens
}

// parseIf reads the lines of an If header and returns nil when there is none.
// Several lines are one header, and since a proxy may have joined them with
// commas, commas between lists count as blanks. Blanks may be missing
// everywhere. A malformed header is 400, one beyond the limits 431.
func parseIf(values []string) (*ifHeader, error) {
	if len(values) == 0 {
		return nil, nil
	}
	p := ifParser{rest: strings.Join(values, " ")}
	if len(p.rest) > maxIfBytes {
		return nil, errIfTooLarge
	}
	return p.header()
}

var errIfTooLarge = errStatus(http.StatusRequestHeaderFieldsTooLarge, "the If header is too large")

// ifParser reads the grammar of RFC 4918 section 10.4.2 from left to right.
type ifParser struct {
	rest       string
	conditions int
}

func (p *ifParser) header() (*ifHeader, error) {
	h := new(ifHeader)
	tag, tags := "", 0
	pending := false // a tag still waits for its first list
	for p.blanks(" \t,"); p.rest != ""; p.blanks(" \t,") {
		switch p.rest[0] {
		case '<':
			if pending || tag == "" && len(h.lists) > 0 {
				return nil, badRequest("the If header has a resource tag in the wrong place")
			}
			uri, err := p.codedURL()
			if err != nil {
				return nil, err
			}
			if tags++; tags > maxIfTags {
				return nil, errIfTooLarge
			}
			tag, pending = uri, true
		case '(':
			conditions, err := p.list()
			if err != nil {
				return nil, err
			}
			h.lists = append(h.lists, ifList{tag: tag, conditions: conditions})
			pending = false
		default:
			return nil, badRequest("the If header has something other than lists and resource tags")
		}
	}
	if pending || len(h.lists) == 0 {
		return nil, badRequest("the If header lacks a list")
	}
	return h, nil
}

// list reads "(" 1*Condition ")".
func (p *ifParser) list() ([]ifCondition, error) {
	p.rest = p.rest[1:]
	var conditions []ifCondition
	for p.blanks(" \t"); !strings.HasPrefix(p.rest, ")"); p.blanks(" \t") {
		c, err := p.condition()
		if err != nil {
			return nil, err
		}
		if p.conditions++; p.conditions > maxIfConditions {
			return nil, errIfTooLarge
		}
		conditions = append(conditions, c)
	}
	p.rest = p.rest[1:]
	if len(conditions) == 0 {
		return nil, badRequest("the If header has an empty list")
	}
	return conditions, nil
}

// condition reads ["Not"] (State-token | "[" entity-tag "]").
func (p *ifParser) condition() (c ifCondition, err error) {
	if len(p.rest) >= 3 && strings.EqualFold(p.rest[:3], "Not") {
		c.not = true
		p.rest = p.rest[3:]
		p.blanks(" \t")
	}
	switch {
	case strings.HasPrefix(p.rest, "<"):
		c.token, err = p.codedURL()
	case strings.HasPrefix(p.rest, "["):
		c.etag, err = p.entityTag()
	default:
		err = badRequest("the If header has a list that is not closed or holds an unknown condition")
	}
	return c, err
}

// codedURL reads "<" URI ">". The URI is not checked further: a token or tag
// the server doesn't know makes a condition false, not malformed.
func (p *ifParser) codedURL() (string, error) {
	uri, rest, ok := strings.Cut(p.rest[1:], ">")
	if !ok || !isURIText(uri) {
		return "", badRequest("the If header has a malformed URI in angle brackets")
	}
	p.rest = rest
	return uri, nil
}

// entityTag reads "[" entity-tag "]" and returns the quoted form.
func (p *ifParser) entityTag() (string, error) {
	p.rest = p.rest[1:]
	p.blanks(" \t")
	n := content.ETagLen(p.rest)
	if n == 0 {
		return "", badRequest("the If header has a malformed entity-tag")
	}
	tag := p.rest[:n]
	p.rest = p.rest[n:]
	p.blanks(" \t")
	if !strings.HasPrefix(p.rest, "]") {
		return "", badRequest("the If header has an entity-tag that is not closed")
	}
	p.rest = p.rest[1:]
	return tag, nil
}

func (p *ifParser) blanks(set string) { p.rest = strings.TrimLeft(p.rest, set) }
