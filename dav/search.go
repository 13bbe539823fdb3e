package dav

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"holdfast/store"
)

// grammars is the value of the DASL header (RFC 5323 section 3.2).
const grammars = "<DAV:basicsearch>"

// supportedGrammars is the property of the same (section 3.3).
const supportedGrammars = `<D:supported-query-grammar-set><D:supported-query-grammar><D:grammar><D:basicsearch/></D:grammar>` +
	`</D:supported-query-grammar></D:supported-query-grammar-set>`

// maxLooks is how many resources a SEARCH looks at where a PROPFIND has no limit.
const maxLooks = 100_000

var errScope = errCondition(http.StatusConflict, "search-scope-valid", "a scope of the query is nothing that you can search here")

// search serves SEARCH (RFC 5323 section 2). Results are written as they are
// found; an order makes those known first that are shown, at most
// store.MaxSorted of them. What was not looked at, or not shown, is said in a
// response for the Request-URI (section 2.3.1).
func (q *request) search(w http.ResponseWriter) error {
	if err := q.checkXMLType(); err != nil {
		return err
	}
	query, err := readSearch(q.r.Body)
	if err != nil {
		return err
	}
	if err := q.checkIf(); err != nil {
		return err
	}
	node, err := q.stat()
	if err != nil {
		return err
	}
	scopes, err := q.scopes(query.scopes)
	if err != nil {
		return err
	}
	s := &searcher{propWriter: q.newPropWriterFor(w, query.ask), query: query, scopes: scopes}
	arbiter := q.href(node.IsFolder())
	complete, err := s.run()
	if err == nil && !complete {
		s.m.responseStatus(arbiter, http.StatusInsufficientStorage, "")
	}
	return s.finish(err)
}

// scopes finds what a query's scopes name: a resource in one of the principal's
// mounts, else the error is errScope, whatever the reason.
func (q *request) scopes(named []searchScope) ([]location, error) {
	found := make([]location, len(named))
	for i, scope := range named {
		loc, err := q.scope(trimSpace(scope.href))
		var grammar *httpError
		switch {
		case errors.As(err, &grammar):
			return nil, errScope
		case err != nil:
			return nil, err
		case loc.mount == nil || q.h.hasBlocked(loc.path):
			return nil, errScope
		}
		_, err = q.store().Stat(q.r.Context(), loc.target())
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrTooDeep) {
			return nil, errScope
		}
		if err != nil {
			return nil, err
		}
		found[i] = loc
	}
	return found, nil
}

// scope resolves the href of a scope, which may be relative to the Request-URI
// (section 5.4.1).
func (q *request) scope(href string) (location, error) {
	if !strings.HasPrefix(href, "/") && !strings.Contains(href, "://") {
		ref, err := url.Parse(href)
		if err != nil || ref.Scheme != "" || ref.RawQuery != "" || ref.Fragment != "" {
			return location{}, errScope
		}
		asked := &url.URL{Path: q.r.URL.Path, RawPath: q.r.URL.RawPath}
		return q.resolve(asked.ResolveReference(ref).EscapedPath())
	}
	d, err := parseDestination(href)
	if err != nil || !q.ownOrigin(d) {
		return location{}, err
	}
	return q.resolve(q.internal(d.escapedPath))
}

// searcher answers one SEARCH.
type searcher struct {
	*propWriter
	query  *searchQuery
	scopes []location
	usages []store.Usage // of the scopes, when they are asked for
}

// run writes the results; complete is store.Search's.
func (s *searcher) run() (complete bool, err error) {
	scopes := make([]store.SearchScope, len(s.scopes))
	s.usages = make([]store.Usage, len(s.scopes))
	for i, loc := range s.scopes {
		scopes[i] = store.SearchScope{Target: loc.target(), Depth: s.query.scopes[i].depth}
		s.q.location = loc
		if err := s.readUsage(); err != nil {
			return false, err
		}
		s.usages[i] = s.usage
	}
	if s.query.limit == 0 {
		return true, nil
	}
	return s.q.store().Search(s.q.r.Context(), scopes, s.plan(), s.want, func(scope int, e store.Entry) error {
		return s.entry(s.listed(scope, e))
	})
}

// plan is the query as the store takes it.
func (s *searcher) plan() store.Query {
	q := store.Query{Limit: max(s.query.limit, 0), MaxLooks: s.q.h.opt.PropfindMax, Skip: s.q.h.isBlocked}
	if q.MaxLooks == 0 {
		q.MaxLooks = maxLooks
	}
	names := []xmlName{}
	if s.query.where != nil {
		names = propsOf(s.query.where, names)
		q.Match = func(scope int, e store.Entry) bool {
			return s.query.where.eval(s.candidate(scope, e)) == yes
		}
	}
	if len(s.query.orders) > 0 {
		q.Keys = s.keys
	}
	for _, o := range s.query.orders {
		names = append(names, o.prop)
		q.Descending = append(q.Descending, o.descending)
	}
	for _, name := range names {
		if !isComputed(name) && !slices.Contains(q.Want.PropNames, name.local) {
			q.Want.PropNames = append(q.Want.PropNames, name.local)
		}
	}
	q.Want.Props = len(q.Want.PropNames) > 0
	return q
}

// listed is an entry of a scope as it is shown.
func (s *searcher) listed(scope int, e store.Entry) listed {
	loc := s.scopes[scope]
	s.q.location, loc.asked, s.usage = loc, loc, s.usages[scope]
	return listed{Entry: e, href: s.q.entryHref(e), displayName: s.q.nameOf(e)}
}

// candidate is an entry of a scope to try conditions on.
func (s *searcher) candidate(scope int, e store.Entry) *candidate {
	s.q.location = s.scopes[scope]
	return &candidate{listed: listed{Entry: e, displayName: s.q.nameOf(e)}, pw: s.propWriter}
}

// maxSortText is how many bytes of its texts decide the place of a result, in all
// orders together, so that what is kept of it is small. Where the earlier texts of
// two results are equal, as much of the next is left for both.
const maxSortText = 256

// keys are the values of an entry that the query orders by.
func (s *searcher) keys(scope int, e store.Entry) []store.SortKey {
	c := s.candidate(scope, e)
	keys := make([]store.SortKey, len(s.query.orders))
	left := maxSortText
	for i, o := range s.query.orders {
		v, ok := c.value(o.prop, o.caseless)
		text := v.text[:min(len(v.text), left)]
		left -= len(text)
		keys[i] = store.SortKey{Known: ok, Number: v.number, Text: strings.Clone(text)}
	}
	return keys
}
