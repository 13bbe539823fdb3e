package dav

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/dav/content"
	"holdfast/store"
)

// truth is a value of three-valued logic (RFC 5323 section 5.5.1 and appendix A).
// Then "and" is the least of its operands, "or" the greatest.
type truth int8

const (
	no truth = iota - 1
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// condition is what a where clause, or a part of it, says of a resource.
type condition interface {
	eval(*candidate) truth
}

type (
	allOf     []condition            // and (section 5.7)
	anyOf     []condition            // or
	notOf     struct{ of condition } // not
	isColl    struct{}               // is-collection (section 5.13)
	isDefined struct{ prop xmlName } // section 5.14
	// comparison is like, or eq, lt, lte, gt or gte (sections 5.15, 5.8 and 5.9):
	// what holds says of the property's value.
	comparison struct {
		prop     xmlName
		caseless bool
		holds    func(value) bool
	}
)

func (c allOf) eval(r *candidate) truth {
	t := yes
	for _, of := range c {
		if t = min(t, of.eval(r)); t == no {
			break
		}
	}
	return t
}

func (c anyOf) eval(r *candidate) truth {
	t := no
	for _, of := range c {
		if t = max(t, of.eval(r)); t == yes {
			break
		}
	}
	return t
}

func (c notOf) eval(r *candidate) truth     { return -c.of.eval(r) }
func (c isColl) eval(r *candidate) truth    { return truthOf(r.IsFolder()) }
func (c isDefined) eval(r *candidate) truth { return truthOf(r.has(c.prop)) }

func (c *comparison) eval(r *candidate) truth {
	v, ok := r.value(c.prop, c.caseless)
	if !ok {
		return unknown
	}
	return truthOf(c.holds(v))
}

// value is a property's, or a literal. Of one property all have a number or all
// have a text.
type value struct {
	number int64
	text   string // folded
}

func (v value) compare(w value) int {
	return cmp.Or(cmp.Compare(v.number, w.number), strings.Compare(v.text, w.text))
}

// comparisons are the operators that compare a property with a literal: by how the
// one compares with the other, -1, 0 or 1, they are true or not.
var comparisons = map[xmlName]func(int) bool{
	davName("eq"):  func(c int) bool { return c == 0 },
	davName("lt"):  func(c int) bool { return c < 0 },
	davName("lte"): func(c int) bool { return c <= 0 },
	davName("gt"):  func(c int) bool { return c > 0 },
	davName("gte"): func(c int) bool { return c >= 0 },
}

// condition reads the operator just opened.
func (p *searchParser) condition(name xmlName) (condition, error) {
	if p.operators++; p.operators > maxSearchOperators {
		return nil, errSearchTooLarge
	}
	if holds := comparisons[name]; holds != nil {
		return p.comparison(func(c *comparison, literal string) error {
			v, err := parseLiteral(c.prop, literal, c.caseless)
			c.holds = func(of value) bool { return holds(of.compare(v)) }
			return err
		})
	}
	switch name {
	case davName("and"):
		of, err := p.conditions()
		return allOf(of), err
	case davName("or"):
		of, err := p.conditions()
		return anyOf(of), err
	case davName("not"):
		of, err := p.conditions()
		if err == nil && len(of) == 1 {
			return notOf{of[0]}, nil
		}
		return nil, cmp.Or(err, errSearchWhere)
	case davName("like"):
		return p.comparison(likeOf)
	case davName("is-collection"):
		return isColl{}, nil
	case davName("is-defined"):
		prop, _, err := p.operands(false)
		return isDefined{prop}, err
	}
	return nil, errOperator
}

// conditions reads the operators, at least one, in the operator just opened.
func (p *searchParser) conditions() (all []condition, err error) {
	err = p.r.eachChild(func(name xmlName) error {
		c, err := p.condition(name)
		all = append(all, c)
		return err
	})
	if err == nil && len(all) == 0 {
		err = errSearchWhere
	}
	return all, err
}

// operands reads the property and, for an operator that takes one, the literal
// in the operator just opened.
func (p *searchParser) operands(takesLiteral bool) (prop xmlName, literal string, err error) {
	var props, literals int
	err = p.r.eachChild(func(name xmlName) (err error) {
		switch name {
		case davName("prop"):
			props++
			prop, err = p.prop()
		case davName("literal"):
			literals++
			literal, err = p.text()
		case davName("typed-literal"):
			err = errTypedLiteral
		}
		return err
	})
	if err == nil && (props != 1 || literals > 1 || takesLiteral != (literals == 1)) {
		err = errSearchWhere
	}
	if err == nil {
		err = checkSearchable(prop)
	}
	return prop, literal, err
}

// comparison reads the operator just opened, which compares a property with a
// literal; say finds out how.
func (p *searchParser) comparison(say func(c *comparison, literal string) error) (condition, error) {
	caseless, err := p.caseless()
	if err != nil {
		return nil, err
	}
	prop, literal, err := p.operands(true)
	if err != nil {
		return nil, err
	}
	c := &comparison{prop: prop, caseless: caseless}
	return c, say(c, literal)
}

// likeOf makes a comparison a like.
func likeOf(c *comparison, literal string) error {
	if k := kindOf(c.prop); k == numberKind || k == dateKind {
		return errStatus(http.StatusUnprocessableEntity, "like compares texts")
	}
	pattern, ok := parsePattern(literal, c.caseless)
	if !ok {
		return badRequest("a backslash in a pattern stands before what it cannot quote")
	}
	c.holds = func(of value) bool { return pattern.matches(of.text) }
	return nil
}

// parseLiteral reads a literal as a value of the property it is compared with
// (section 5.10).
func parseLiteral(prop xmlName, literal string, caseless bool) (value, error) {
	switch kindOf(prop) {
	case numberKind:
		n, err := strconv.ParseInt(trimSpace(literal), 10, 64)
		if err != nil && !allDigits(trimSpace(literal)) {
			return value{}, errStatus(http.StatusUnprocessableEntity, "a number is compared with a literal that is none")
		}
		return value{number: n}, nil // one too large is the largest
	case dateKind:
		t, ok := parseDate(trimSpace(literal))
		if !ok {
			return value{}, errStatus(http.StatusUnprocessableEntity, "a date is compared with a literal that is none, as 2025-12-31T23:59:59Z is one")
		}
		return value{number: t}, nil
	}
	return value{text: store.Fold(literal, caseless)}, nil
}

// parseDate reads a date as creationdate shows it (RFC 4918 section 15.1), or as
// getlastmodified does, and gives it in seconds. A part of a second, which no
// property shows, counts as one half: it is neither before nor after any date
// but those it lies between.
func parseDate(s string) (halfSeconds int64, ok bool) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t, err = http.ParseTime(s)
	}
	if err != nil {
		return 0, false
	}
	return 2*t.Unix() + min(int64(t.Nanosecond()), 1), true
}

// trimSpace removes the white space of XML around a value.
func trimSpace(s string) string { return strings.Trim(s, " \t\r\n") }

// valueKind is what the values of a property are.
type valueKind int

const (
	textKind valueKind = iota // of dead properties too
	numberKind
	dateKind
	elementKind // nothing compares with elements (RFC 5323 section 5.5.4)
)

// searchable are the live properties that a query may name in its conditions
// and orders.
var searchable = map[xmlName]struct {
	kind  valueKind
	value func(*candidate) value
}{
	davName("displayname"):      {textKind, func(r *candidate) value { return value{text: r.displayName} }},
	davName("creationdate"):     {dateKind, func(r *candidate) value { return value{number: 2 * r.Created.Unix()} }},
	davName("getlastmodified"):  {dateKind, func(r *candidate) value { return value{number: 2 * r.Modified.Unix()} }},
	davName("lastmodified"):     {numberKind, func(r *candidate) value { return value{number: r.Modified.Unix()} }},
	davName("getcontentlength"): {numberKind, func(r *candidate) value { return value{number: r.Size} }},
	davName("getcontenttype"):   {textKind, func(r *candidate) value { return value{text: content.Type(r.ContentType, r.Name)} }},
	davName("getetag"):          {textKind, func(r *candidate) value { return value{text: r.ETag} }},
	davName("resourcetype"):     {elementKind, nil},
	davName("lockdiscovery"):    {elementKind, nil},
	davName("supportedlock"):    {elementKind, nil},
}

// kindOf is what the values of a property are. Every property that is not live
// may be a dead one.
func kindOf(prop xmlName) valueKind { return searchable[prop].kind }

// checkSearchable refuses a live property whose values are not known before it
// is shown.
func checkSearchable(prop xmlName) error {
	if _, ok := searchable[prop]; !ok && liveByName[prop] != nil {
		return errStatus(http.StatusUnprocessableEntity, "the query has a property that cannot be searched for")
	}
	return nil
}

// candidate is a resource that conditions are tried on.
type candidate struct {
	listed
	pw     *propWriter
	values []knownValue // those asked for so far
}

type knownValue struct {
	prop     xmlName
	caseless bool
	value
	ok bool
}

// has reports whether the resource has a property, as PROPFIND shows it (RFC 5323
// section 5.5.3).
func (r *candidate) has(prop xmlName) bool {
	if p := liveByName[prop]; p != nil {
		return p.has == nil || p.has(r.pw, &r.listed)
	}
	return r.dead(prop) != nil
}

// value is a property's value to compare with; ok is false when the resource has
// not got the property or its value is no text, and whatever is said of it
// unknown.
func (r *candidate) value(prop xmlName, caseless bool) (value, bool) {
	for i := range r.values {
		if k := &r.values[i]; k.prop == prop && k.caseless == caseless {
			return k.value, k.ok
		}
	}
	v, ok := r.read(prop)
	if ok && v.text != "" {
		v.text = store.Fold(v.text, caseless)
	}
	r.values = append(r.values, knownValue{prop, caseless, v, ok})
	return v, ok
}

// read is a value that was not asked for yet.
func (r *candidate) read(prop xmlName) (value, bool) {
	if p := r.dead(prop); p != nil && (liveByName[prop] == nil || prop == displayName) {
		text, ok := simpleText(p.XML)
		return value{text: text}, ok
	}
	s, ok := searchable[prop]
	if !ok || s.value == nil || !r.has(prop) {
		return value{}, false
	}
	return s.value(r), true
}

// simpleText is the text of a stored property that has no elements inside and is
// no longer than a literal may be: else ok is false.
func simpleText(xml string) (text string, ok bool) {
	r, err := newXMLReader(xml)
	if err != nil {
		return "", false
	}
	if _, err := r.root(); err != nil {
		return "", false
	}
	var b strings.Builder
	for {
		switch token, err := r.next(); {
		case err != nil || token == tokenStart:
			return "", false
		case token == tokenEnd:
			return b.String(), true
		}
		if b.WriteString(r.text); b.Len() > maxSearchLiteral {
			return "", false
		}
	}
}

// propsOf lists the properties that a condition names.
func propsOf(c condition, names []xmlName) []xmlName {
	switch c := c.(type) {
	case allOf:
		for _, of := range c {
			names = propsOf(of, names)
		}
	case anyOf:
		for _, of := range c {
			names = propsOf(of, names)
		}
	case notOf:
		names = propsOf(c.of, names)
	case isDefined:
		names = append(names, c.prop)
	case *comparison:
		names = append(names, c.prop)
	}
	return names
}
