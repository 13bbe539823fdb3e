package litmus

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// answer is what came back for a step.
type answer struct {
	reply
	interim bool // 100 came first
	closed  bool // the server closes the connection after it
}

// variables are the values that {NAME} stands for.
type variables map[string]string

// variable is a name in braces; a regexp's own braces hold numbers.
var variable = regexp.MustCompile(`\{[A-Za-z][A-Za-z0-9]*\}`)

// expand puts values in, each changed by quote first. A name that has no value is an
// error: the step that keeps it is missing.
func (v variables) expand(text string, quote func(string) string) (string, error) {
	var missing []string
	text = variable.ReplaceAllStringFunc(text, func(name string) string {
		value, ok := v[name[1:len(name)-1]]
		if !ok {
			missing = append(missing, name)
		}
		return quote(value)
	})
	if missing != nil {
		return "", fmt.Errorf("nothing was kept as %s", strings.Join(missing, ", "))
	}
	return text, nil
}

func asItIs(text string) string { return text }

// match matches a text with a regexp, in which "." is any character, and keeps what it
// matches under a name, if there is one: its first group, or else all of it.
func (v variables) match(what, text, pattern, keep string) error {
	pattern, err := v.expand(pattern, regexp.QuoteMeta)
	if err != nil {
		return err
	}
	re, err := regexp.Compile("(?s)" + pattern)
	if err != nil {
		return err
	}
	m := re.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%s is %q, which does not match %q", what, clip(text), pattern)
	}
	if keep != "" {
		v[keep] = m[min(1, len(m)-1)]
	}
	return nil
}

var (
	headerCheck = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*): (.+?)(?: -> ([A-Z][A-Za-z0-9]*))?$`)
	absentCheck = regexp.MustCompile(`^!([A-Za-z][A-Za-z0-9-]*)$`)
	bodyCheck   = regexp.MustCompile(`^~ (.+?)(?: -> ([A-Z][A-Za-z0-9]*))?$`)
	propCheck   = regexp.MustCompile(`^prop \{(\S*)\}(\S+) of (\S+): (.*?)(?: -> ([A-Z][A-Za-z0-9]*))?$`)
	noPropCheck = regexp.MustCompile(`^no prop \{(\S*)\}(\S+) of (\S+)$`)
	countCheck  = regexp.MustCompile(`^responses: (\d+)$`)
	hrefsCheck  = regexp.MustCompile(`^hrefs: (\S.*)$`)
	statusCheck = regexp.MustCompile(`^status of (\S+): (\d{3})$`)
)

// parseCheck reads one line of what must come back below the status.
func parseCheck(line string) (func(answer, variables) error, error) {
	m := func(re *regexp.Regexp) []string { return re.FindStringSubmatch(line) }
	if text, exact := strings.CutPrefix(line, "|"); exact {
		return func(a answer, v variables) error { return wantBody(a, v, text) }, nil
	}
	if line == "empty" {
		return func(a answer, v variables) error { return wantBody(a, v, "") }, nil
	}
	if m := m(countCheck); m != nil {
		return func(a answer, _ variables) error { return a.wantResponses(m[1]) }, nil
	}
	if m := m(hrefsCheck); m != nil {
		return func(a answer, v variables) error { return a.wantHrefs(v, strings.Fields(m[1])) }, nil
	}
	if m := m(statusCheck); m != nil {
		return func(a answer, v variables) error { return a.wantStatus(v, m[1], m[2]) }, nil
	}
	if m := m(propCheck); m != nil {
		return func(a answer, v variables) error {
			return a.wantProp(v, m[3], xml.Name{Space: m[1], Local: m[2]}, m[4], m[5])
		}, nil
	}
	if m := m(noPropCheck); m != nil {
		return func(a answer, v variables) error { return a.wantNoProp(v, m[3], xml.Name{Space: m[1], Local: m[2]}) }, nil
	}
	if m := m(absentCheck); m != nil {
		return func(a answer, _ variables) error { return a.wantNoHeader(m[1]) }, nil
	}
	if pattern, ok := strings.CutPrefix(line, "!~ "); ok {
		return func(a answer, v variables) error { return a.wantNoMatch(v, pattern) }, nil
	}
	if m := m(bodyCheck); m != nil {
		return func(a answer, v variables) error { return v.match("the body", a.body, m[1], m[2]) }, nil
	}
	if m := m(headerCheck); m != nil {
		return func(a answer, v variables) error { return a.wantHeader(v, m[1], m[2], m[3]) }, nil
	}
	return nil, fmt.Errorf("%q is nothing that an answer can be asked for", line)
}

func wantBody(a answer, v variables, text string) error {
	text, err := v.expand(text, asItIs)
	if err == nil && a.body != text {
		err = fmt.Errorf("the body is %q, want %q", clip(a.body), clip(text))
	}
	return err
}

func (a answer) wantHeader(v variables, name, pattern, keep string) error {
	values := a.header.Values(name)
	if len(values) == 0 {
		return fmt.Errorf("there is no header %s", name)
	}
	return v.match("header "+name, strings.Join(values, ", "), pattern, keep)
}

func (a answer) wantNoHeader(name string) error {
	if values := a.header.Values(name); len(values) > 0 {
		return fmt.Errorf("there is a header %s: %q", name, values)
	}
	return nil
}

func (a answer) wantNoMatch(v variables, pattern string) error {
	scratch := maps.Clone(v)
	_, err := v.expand(pattern, asItIs)
	if err == nil && scratch.match("", a.body, pattern, "") == nil {
		err = fmt.Errorf("the body matches %q", pattern)
	}
	return err
}

// multistatus is a 207 body (RFC 4918 14.16), read as strictly as encoding/xml can.
type multistatus struct {
	XMLName   xml.Name      `xml:"DAV: multistatus"`
	Responses []davResponse `xml:"DAV: response"`
}

type davResponse struct {
	Hrefs     []string   `xml:"DAV: href"`
	Status    string     `xml:"DAV: status"`
	Propstats []propstat `xml:"DAV: propstat"`
}

type propstat struct {
	Props  []davProps `xml:"DAV: prop"`
	Status string     `xml:"DAV: status"`
}

type davProps struct {
	List []davProp `xml:",any"`
}

type davProp struct {
	XMLName xml.Name
	Inner   string `xml:",innerxml"`
}

// readMultistatus reads a 207 body and refuses one that a client in the field would
// misread.
func readMultistatus(body string) (multistatus, error) {
	var m multistatus
	d := xml.NewDecoder(strings.NewReader(body))
	if err := d.Decode(&m); err != nil {
		return m, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return m, errors.New("there is something behind the multistatus element")
	}
	seen := map[string]bool{}
	for _, r := range m.Responses {
		if err := r.fault(); err != nil {
			return m, err
		}
		if seen[r.Hrefs[0]] {
			return m, fmt.Errorf("two responses for %s", r.Hrefs[0])
		}
		seen[r.Hrefs[0]] = true
	}
	return m, nil
}

// davStatus is a status line as neon and KIO read it.
var davStatus = regexp.MustCompile(`^HTTP/1\.1 (\d{3}) `)

// fault says what clients would stumble over in a response: an href that is missing, not
// encoded, or whose final slash contradicts the resource type; a status that is missing;
// found properties behind missing ones; missing properties with a value.
func (r davResponse) fault() error {
	if len(r.Hrefs) != 1 {
		return fmt.Errorf("%d hrefs in a response: %q", len(r.Hrefs), r.Hrefs)
	}
	href := r.Hrefs[0]
	if u, err := url.Parse(href); err != nil || u.Path == "" || strings.ContainsFunc(href, mustBeEncoded) {
		return fmt.Errorf("href %q is not an encoded path", href)
	}
	if (r.Status == "") == (len(r.Propstats) == 0) {
		return fmt.Errorf("%s has not either a status or properties", href)
	}
	if r.Status != "" && !davStatus.MatchString(r.Status) {
		return fmt.Errorf("%s has the status %q", href, r.Status)
	}
	for i, p := range r.Propstats {
		if err := p.fault(i); err != nil {
			return fmt.Errorf("%s: %w", href, err)
		}
	}
	if kind, found := r.prop(xml.Name{Space: "DAV:", Local: "resourcetype"}); found {
		if strings.Contains(kind, "collection") != strings.HasSuffix(href, "/") {
			return fmt.Errorf("%s has the resource type %q", href, kind)
		}
	}
	return nil
}

// mustBeEncoded reports the characters that cannot stand in a URL's path (RFC 3986 3.3).
func mustBeEncoded(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"<>[]\^{|}`+"`", c)
}

func (p propstat) fault(i int) error {
	switch m := davStatus.FindStringSubmatch(p.Status); {
	case m == nil:
		return fmt.Errorf("a propstat has the status %q", p.Status)
	case len(p.Props) != 1:
		return fmt.Errorf("a propstat has %d prop elements", len(p.Props))
	case m[1] == "200" && i > 0:
		return errors.New("properties that were found do not come first")
	case m[1] == "404" && slices.ContainsFunc(p.Props[0].List, func(p davProp) bool { return p.Inner != "" }):
		return errors.New("a property that is missing has a value")
	}
	return nil
}

// prop returns the value of a property that was found, as XML.
func (r davResponse) prop(name xml.Name) (string, bool) {
	for _, p := range r.Propstats {
		for _, prop := range p.Props[0].List {
			if prop.XMLName == name && strings.HasPrefix(p.Status, "HTTP/1.1 200 ") {
				return prop.Inner, true
			}
		}
	}
	return "", false
}

// response finds the response for an href; "first" is the first one.
func (a answer) response(v variables, href string) (davResponse, error) {
	href, err := v.expand(href, asItIs)
	if err != nil {
		return davResponse{}, err
	}
	m, err := readMultistatus(a.body)
	if err != nil {
		return davResponse{}, err
	}
	for _, r := range m.Responses {
		if r.Hrefs[0] == href || href == "first" {
			return r, nil
		}
	}
	return davResponse{}, fmt.Errorf("there is no response for %s", href)
}

func (a answer) wantResponses(count string) error {
	m, err := readMultistatus(a.body)
	if err == nil && strconv.Itoa(len(m.Responses)) != count {
		err = fmt.Errorf("%d responses, want %s", len(m.Responses), count)
	}
	return err
}

// wantHrefs wants exactly these responses: the first one first, the others in any order.
func (a answer) wantHrefs(v variables, want []string) error {
	m, err := readMultistatus(a.body)
	if err != nil {
		return err
	}
	var got []string
	for _, r := range m.Responses {
		got = append(got, r.Hrefs[0])
	}
	for i := range want {
		if want[i], err = v.expand(want[i], asItIs); err != nil {
			return err
		}
	}
	if len(got) > 0 && got[0] == want[0] && slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		return nil
	}
	return fmt.Errorf("responses for %q, want %q", got, want)
}

func (a answer) wantStatus(v variables, href, status string) error {
	r, err := a.response(v, href)
	if err == nil && !strings.HasPrefix(r.Status, "HTTP/1.1 "+status+" ") {
		err = fmt.Errorf("%s has the status %q, want %s", href, r.Status, status)
	}
	return err
}

func (a answer) wantProp(v variables, href string, name xml.Name, pattern, keep string) error {
	r, err := a.response(v, href)
	if err != nil {
		return err
	}
	value, found := r.prop(name)
	if !found {
		return fmt.Errorf("%s has no property {%s}%s", href, name.Space, name.Local)
	}
	return v.match("property "+name.Local, value, pattern, keep)
}

func (a answer) wantNoProp(v variables, href string, name xml.Name) error {
	r, err := a.response(v, href)
	if err != nil {
		return err
	}
	if value, found := r.prop(name); found {
		return fmt.Errorf("%s has the property {%s}%s: %q", href, name.Space, name.Local, value)
	}
	return nil
}

// manners says what is wrong with an answer whatever was asked: clients of this list
// lose the method or the login on a redirect, take times from Date, switch to other
// protocols for some headers, and misread XML that is only nearly right.
func (a answer) manners() error {
	switch {
	case a.status/100 == 3 && a.status != http.StatusNotModified:
		return fmt.Errorf("a redirect to %q", a.header.Get("Location"))
	case a.header.Get("Date") == "":
		return errors.New("there is no Date")
	}
	for _, name := range []string{"Server", "X-MSDAVEXT", "X-MSFSSHTTP"} {
		if err := a.wantNoHeader(name); err != nil {
			return err
		}
	}
	if a.status == http.StatusMultiStatus {
		_, err := readMultistatus(a.body)
		return err
	}
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/xml") && a.body != "" {
		return xml.Unmarshal([]byte(a.body), new(struct{}))
	}
	return nil
}
