package dav

import (
	"io"
	"net/http"
	"strconv"

	"holdfast/store"
)

// Limits of what one query may ask for. Each operator is tried on each resource
// of the scopes.
const (
	maxSearchScopes    = 16
	maxSearchOperators = 64
	maxSearchLiteral   = 1024 // bytes, and of a stored text that is compared with one
	maxSearchOrders    = 8
)

var (
	errGrammar         = errCondition(http.StatusForbidden, "search-grammar-supported", "the one grammar of queries here is DAV:basicsearch")
	errSchemaDiscovery = errCondition(http.StatusForbidden, "search-grammar-discovery-supported", "query schemas cannot be discovered here")
	errVersions        = errCondition(http.StatusForbidden, "search-scope-valid", "versions cannot be searched")
	errOperator        = errStatus(http.StatusUnprocessableEntity, "the query has an operator that is not supported here")
	errTypedLiteral    = errStatus(http.StatusUnprocessableEntity, "typed literals are not supported here")
	errScore           = errStatus(http.StatusUnprocessableEntity, "results have no score to be ordered by")
	errSearchTooLarge  = errStatus(http.StatusRequestEntityTooLarge, "the query has more than 16 scopes, 64 operators or 8 orders, or a literal of more than 1024 bytes")
	errSearchSelect    = badRequest("a query needs one select with one of prop and allprop")
	errSearchFrom      = badRequest("a query needs one from with scopes, each of an href and a depth of 0, 1 or infinity")
	errSearchWhere     = badRequest("an operator of the query has not the operands it takes")
	errSearchOrder     = badRequest("an order of the query needs one property and at most one direction")
	errSearchLimit     = badRequest("the limit of the query needs one nresults, a number")
	errCaseless        = badRequest("caseless is yes or no")
)

// searchQuery is a parsed SEARCH body (RFC 5323 section 5.2).
type searchQuery struct {
	ask    propfind // what select asks for
	scopes []searchScope
	where  condition // nil when there is none
	orders []searchOrder
	// limit is how many results are wanted, -1 when it was not said.
	limit int
}

// searchScope is a scope as the client named it.
type searchScope struct {
	href  string
	depth int // of the store
}

// searchOrder is one property to order by (section 5.6).
type searchOrder struct {
	prop                 xmlName
	caseless, descending bool
}

// readSearch reads a SEARCH body. What is not the grammar's is 400, what it has
// and the server does not support 422 (section 5.5.2), both before anything is
// looked up.
func readSearch(body io.Reader) (*searchQuery, error) {
	text, err := readXMLBody(body)
	if err != nil {
		return nil, err
	}
	p := searchParser{q: searchQuery{limit: -1}}
	discovery := false
	err = parseXML(text, "searchrequest", errRootElement, func(r *xmlReader, name xmlName) error {
		p.grammars++
		if name != davName("basicsearch") {
			p.unknown = true
			return nil
		}
		p.r = r
		return r.eachChild(p.clause)
	})
	if err == errRootElement {
		ignore := func(*xmlReader, xmlName) error { return nil }
		discovery = parseXML(text, "query-schema-discovery", errRootElement, ignore) == nil
	}
	switch {
	case discovery:
		return nil, errSchemaDiscovery
	case err != nil:
		return nil, err
	case p.grammars != 1:
		return nil, badRequest("a searchrequest body needs one query")
	case p.unknown:
		return nil, errGrammar
	}
	return p.result()
}

// searchParser collects the clauses of a basicsearch element, counting what must
// be there once.
type searchParser struct {
	r        *xmlReader
	q        searchQuery
	grammars int
	unknown  bool

	selects, froms, wheres, orderbys, limits int

	selected  propfindParser
	operators int
}

// clause reads a child of basicsearch.
func (p *searchParser) clause(name xmlName) error {
	switch name {
	case davName("select"):
		p.selects++
		return p.r.eachChild(func(name xmlName) error {
			if name == davName("prop") || name == davName("allprop") {
				return p.selected.child(p.r, name)
			}
			return nil
		})
	case davName("from"):
		p.froms++
		return p.r.eachChild(p.scope)
	case davName("where"):
		p.wheres++
		return p.r.eachChild(func(name xmlName) (err error) {
			if p.q.where != nil {
				return errSearchWhere
			}
			p.q.where, err = p.condition(name)
			return err
		})
	case davName("orderby"):
		p.orderbys++
		return p.r.eachChild(p.order)
	case davName("limit"):
		p.limits++
		return p.r.eachChild(func(name xmlName) (err error) {
			if name == davName("nresults") {
				p.q.limit, err = p.r.nresults(p.q.limit, errSearchTooLarge, errSearchLimit)
			}
			return err
		})
	}
	return nil
}

func (p *searchParser) result() (*searchQuery, error) {
	switch {
	case p.selects != 1 || len(p.selected.kinds) != 1:
		return nil, errSearchSelect
	case p.froms != 1 || len(p.q.scopes) == 0:
		return nil, errSearchFrom
	case p.wheres > 1 || p.wheres == 1 && p.q.where == nil:
		return nil, errSearchWhere
	case p.orderbys > 1 || p.orderbys == 1 && len(p.q.orders) == 0:
		return nil, errSearchOrder
	case p.limits > 1 || p.limits == 1 && p.q.limit < 0:
		return nil, errSearchLimit
	}
	p.q.ask = propfind{kind: p.selected.kinds[0], props: p.selected.props}
	return &p.q, nil
}

// scope reads a child of from (section 5.4). Versions are kept, but cannot be
// searched: section 5.4 wants whoever asks for them told so.
func (p *searchParser) scope(name xmlName) error {
	if name != davName("scope") {
		return nil
	}
	if len(p.q.scopes) == maxSearchScopes {
		return errSearchTooLarge
	}
	var hrefs, depths int
	var s searchScope
	err := p.r.eachChild(func(name xmlName) (err error) {
		switch name {
		case davName("href"):
			hrefs++
			s.href, err = p.text()
		case davName("depth"):
			depths++
			s.depth, err = p.depth()
		case davName("include-versions"):
			err = errVersions
		}
		return err
	})
	if err == nil && (hrefs != 1 || depths != 1) {
		err = errSearchFrom
	}
	p.q.scopes = append(p.q.scopes, s)
	return err
}

func (p *searchParser) depth() (int, error) {
	text, err := p.text()
	if err != nil {
		return 0, err
	}
	switch d, err := parseDepth([]string{trimSpace(text)}); {
	case err != nil || d == depthAbsent:
		return 0, errSearchFrom
	case d == depth0:
		return store.DepthZero, nil
	case d == depth1:
		return store.DepthOne, nil
	}
	return store.DepthInfinity, nil
}

// order reads a child of orderby.
func (p *searchParser) order(name xmlName) error {
	if name != davName("order") {
		return nil
	}
	if len(p.q.orders) == maxSearchOrders {
		return errSearchTooLarge
	}
	caseless, err := p.caseless()
	if err != nil {
		return err
	}
	o := searchOrder{caseless: caseless}
	var props, directions int
	err = p.r.eachChild(func(name xmlName) (err error) {
		switch name {
		case davName("score"):
			return errScore
		case davName("prop"):
			props++
			o.prop, err = p.prop()
		case davName("ascending"):
			directions++
		case davName("descending"):
			directions++
			o.descending = true
		}
		return err
	})
	if err == nil && (props != 1 || directions > 1) {
		err = errSearchOrder
	}
	if err == nil {
		err = checkSearchable(o.prop)
	}
	p.q.orders = append(p.q.orders, o)
	return err
}

// nresults reads the element just opened, the one child of a limit (RFC 5323
// section 5.17). before is what an earlier one said, -1 when there was none. Its
// failures are tooLarge and bad.
func (r *xmlReader) nresults(before int, tooLarge, bad error) (int, error) {
	text, err := r.leafText(maxSearchLiteral, tooLarge)
	if err != nil {
		return before, err
	}
	if text = trimSpace(text); !allDigits(text) || before >= 0 {
		return before, bad
	}
	const most = 1 << 30 // more than there may ever be
	n, err := strconv.Atoi(text)
	if err != nil || n > most {
		n = most
	}
	return n, nil
}

func (p *searchParser) text() (string, error) {
	return p.r.leafText(maxSearchLiteral, errSearchTooLarge)
}

// leafText reads the text of the element just opened, which has no elements
// inside. More than max bytes of it are tooLarge.
func (r *xmlReader) leafText(max int, tooLarge error) (string, error) {
	text := ""
	for {
		token, err := r.next()
		switch {
		case err != nil:
			return "", err
		case token == tokenEnd:
			return text, nil
		case token == tokenStart:
			return "", badRequest("an element of the body that holds a text holds elements")
		}
		if text += r.text; len(text) > max {
			return "", tooLarge
		}
	}
}

// prop reads the one name in the prop element just opened.
func (p *searchParser) prop() (name xmlName, err error) {
	names := 0
	err = p.r.eachChild(func(child xmlName) error {
		names++
		name = child
		return checkPropName(child)
	})
	if err == nil && names != 1 {
		err = errSearchWhere
	}
	return name, err
}

// caseless reads the attribute of the element just opened (section 5.18).
// Without it characters are compared as they are.
func (p *searchParser) caseless() (bool, error) {
	for _, attr := range p.r.attrs {
		if attr.name != (qname{local: "caseless"}) {
			continue
		}
		if attr.value != "yes" && attr.value != "no" {
			return false, errCaseless
		}
		return attr.value == "yes", nil
	}
	return false, nil
}
