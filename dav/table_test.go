package dav_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"
	"holdfast/store"
)

// TestTable runs testdata/table.txt, which says itself how it is written. Each
// row has a workspace of its own.
func TestTable(t *testing.T) {
	text, err := os.ReadFile("testdata/table.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, nil)
	ran := 0
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		id, steps, ok := strings.Cut(line, ": ")
		if !ok || strings.Contains(id, "=>") {
			t.Fatalf("line %d: no id", n+1)
		}
		ran++
		t.Run(strings.ReplaceAll(id, " ", "_"), func(t *testing.T) {
			runSteps(t, s, steps)
		})
	}
	if ran < 100 {
		t.Errorf("only %d rows were found", ran)
	}
}

// runSteps runs the steps of one row in a new workspace.
func runSteps(t *testing.T, s *server, steps string) {
	t.Helper()
	newRow(t, s).run(t, steps)
}

// row is a row being run.
type row struct {
	*space
	vars map[string]string
}

func newRow(t testing.TB, s *server) row {
	t.Helper()
	r := row{space: s.newSpace(t), vars: map[string]string{}}
	r.vars["H"] = s.http.URL
	r.vars["B"] = r.base()
	r.vars["ME"], r.vars["ROW"] = r.alice.Name, r.row
	r.vars["F"], r.vars["U"] = "/remote.php/dav/files/"+r.alice.Name, "/remote.php/dav/uploads/"+r.alice.Name
	return r
}

// run runs steps.
func (r row) run(t *testing.T, steps string) {
	t.Helper()
	for _, step := range strings.Split(steps, ";;") {
		r.step(t, strings.TrimSpace(step))
	}
}

// step runs one step: a directive or a request with what it should give.
func (r row) step(t *testing.T, step string) {
	t.Helper()
	if r.directive(t, step) {
		return
	}
	words, err := split(step)
	if err != nil {
		t.Fatalf("%s: %v", step, err)
	}
	arrow := slices.Index(words, "=>")
	if arrow < 2 || arrow == len(words)-1 {
		t.Fatalf("%s: want METHOD TARGET ... => STATUS ...", step)
	}
	c := r.call(t, words[:arrow])
	a := r.do(t, c)
	if c.cut > 0 {
		time.Sleep(20 * time.Millisecond) // the server has to see the end
		return
	}
	got := strconv.Itoa(a.status)
	if a.interim {
		got = "100," + got
	}
	if !slices.Contains(strings.Split(words[arrow+1], "|"), got) {
		t.Fatalf("%s\n\tgot %s\n\t%v\n\t%s", step, got, a.header, a.body)
	}
	for _, word := range words[arrow+2:] {
		if err := r.check(a, word); err != nil {
			t.Fatalf("%s\n\t%v\n\t%v\n\t%s", step, err, a.header, a.body)
		}
	}
}

// directive runs a step that is no request.
func (r row) directive(t *testing.T, step string) bool {
	t.Helper()
	name, arg, _ := strings.Cut(step, " ")
	switch name {
	case "RESTART":
		r.reopen(t)
	case "WAIT":
		d, err := time.ParseDuration(arg)
		if err != nil {
			t.Fatal(err)
		}
		r.skew.Add(int64(d))
	case "QUOTA":
		quota, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.SetUser(t.Context(), r.alice.Name, store.UserPatch{Quota: &quota}); err != nil {
			t.Fatal(err)
		}
	case "TEAM":
		team, role, _ := strings.Cut(arg, " ")
		r.addTeam(t, team, store.Role(role))
	case "ROLE":
		team, role, _ := strings.Cut(arg, " ")
		r.setRole(t, team, store.Role(role))
	case "SCOPE":
		r.scope(t, arg)
	default:
		return false
	}
	return true
}

// addTeam makes a team of alice's, in which bob has the role if one is given.
func (r row) addTeam(t *testing.T, v string, role store.Role) {
	t.Helper()
	name := v + "é" + r.row
	if _, err := r.store.AddTeam(t.Context(), store.NewTeam{Name: name, Owner: r.alice.Name}); err != nil {
		t.Fatal(err)
	}
	r.vars[v+"NAME"], r.vars[v], r.vars[v+"LOW"] = name, url.PathEscape(name), url.PathEscape(norm.NFD.String(strings.ToLower(name)))
	if role != "" {
		r.setRole(t, v, role)
	}
}

// setRole makes bob what the role says in a team, or no member.
func (r row) setRole(t *testing.T, v string, role store.Role) {
	t.Helper()
	err := r.store.SetMember(t.Context(), r.vars[v+"NAME"], r.bob.Name, role, store.Actor{})
	if role == "none" {
		err = r.store.RemoveMember(t.Context(), r.vars[v+"NAME"], r.bob.Name, store.Actor{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// target is a path of a workspace: alice's, or "X/..." is one of team $X's.
func (r row) target(t *testing.T, path string) store.Target {
	t.Helper()
	v, below, ok := strings.Cut(path, "/")
	if !ok || v == "" {
		return store.Target{Workspace: r.alice.Workspace(), Path: store.ParsePath(path)}
	}
	team, err := r.store.TeamByName(t.Context(), r.vars[v+"NAME"])
	if err != nil {
		t.Fatal(err)
	}
	return store.Target{Workspace: team.Workspace(), Path: store.ParsePath(below)}
}

// scope makes inner an account of alice's for a folder.
func (r row) scope(t *testing.T, path string) {
	t.Helper()
	target := r.target(t, path)
	node, err := r.store.Stat(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	r.login("inner", r.alice, target.Workspace, node.Place.Root.ID, false)
}

const (
	lockinfoFmt = `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:%s/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>me</D:owner></D:lockinfo>`
	propfindFmt = `<D:propfind xmlns:D="DAV:"><D:prop>%s</D:prop></D:propfind>`
	updateFmt   = `<D:propertyupdate xmlns:D="DAV:"><D:%s><D:prop>%s</D:prop></D:%[1]s></D:propertyupdate>`
	searchFmt   = `<D:searchrequest xmlns:D="DAV:"><D:basicsearch>%s</D:basicsearch></D:searchrequest>`
	syncFmt     = `<D:sync-collection xmlns:D="DAV:">%s</D:sync-collection>`
	syncClauses = `<D:sync-token>%s</D:sync-token><D:sync-level>1</D:sync-level><D:prop><D:getetag/><x xmlns="u"/></D:prop>`
	findClauses = `<D:select><D:prop><D:displayname/></D:prop></D:select><D:from><D:scope><D:href/><D:depth>infinity</D:depth></D:scope></D:from>`
)

// call reads the words before the arrow.
func (r row) call(t *testing.T, words []string) call {
	t.Helper()
	c := call{method: words[0], target: r.expand(words[1])}
	if as, method, ok := strings.Cut(c.method, "@"); ok {
		c.as, c.method = as, method
	}
	setBody := func(s string) { c.body, c.hasBody = s, true }
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		value = r.expand(strings.Trim(value, "`"))
		switch {
		case word[0] == '{':
			c.header = append(c.header, r.expand(strings.Trim(word, "{}")))
		case word[0] == '`':
			setBody(r.expand(strings.Trim(word, "`")))
		case key == "exclusive", key == "shared":
			setBody(fmt.Sprintf(lockinfoFmt, key))
			if !slices.ContainsFunc(c.header, func(h string) bool { return strings.HasPrefix(h, "Depth:") }) {
				c.header = append(c.header, "Depth: 0")
			}
		case key == "prop":
			setBody(fmt.Sprintf(propfindFmt, value))
			c.header = append(c.header, "Depth: 0")
		case key == "set", key == "remove":
			setBody(fmt.Sprintf(updateFmt, key, value))
		case key == "chunked":
			c.chunked = true
		case key == "http10":
			c.http10 = true
		case key == "find":
			setBody(fmt.Sprintf(searchFmt, findClauses+value))
		case key == "sync":
			setBody(fmt.Sprintf(syncFmt, fmt.Sprintf(syncClauses, value)))
		case key == "report":
			setBody(fmt.Sprintf(syncFmt, value))
		case key == "query":
			setBody(fmt.Sprintf(searchFmt, value))
		case key == "size":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			setBody(strings.Repeat("x", n))
		case key == "cut":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			c.cut = n
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	return c
}

// check tests one word after the status.
func (r row) check(a answer, word string) error {
	switch {
	case word[0] == '{':
		name, value, _ := strings.Cut(strings.Trim(word, "{}"), ":")
		if absent, ok := strings.CutPrefix(name, "!"); ok {
			if got := a.header.Values(absent); len(got) > 0 {
				return fmt.Errorf("header %s is %q", absent, got)
			}
			return nil
		}
		return r.match(a.header.Get(name), strings.TrimSpace(value), true)
	case word[0] == '`':
		return r.match(a.body, strings.Trim(word, "`"), true)
	case strings.HasPrefix(word, "!`"):
		return r.match(a.body, strings.Trim(word[1:], "`"), false)
	case word[0] == '$':
		name, header, _ := strings.Cut(word[1:], "=")
		if header == "sync-token" {
			return r.keepSyncToken(a, name)
		}
		if r.vars[name] = a.header.Get(header); r.vars[name] == "" {
			return fmt.Errorf("no header %s", header)
		}
		if header == "Lock-Token" {
			r.vars[name+"RAW"] = strings.Trim(r.vars[name], "<>")
		}
		return nil
	}
	return fmt.Errorf("unknown word %q", word)
}

// keepSyncToken keeps the sync token of an answer.
func (r row) keepSyncToken(a answer, name string) error {
	token := regexp.MustCompile(`<D:sync-token>([^<]+)</D:sync-token>`).FindStringSubmatch(a.body)
	if token == nil {
		return errors.New("no sync token")
	}
	r.vars[name] = token[1]
	return nil
}

func (r row) match(text, pattern string, want bool) error {
	if hexDigits.MatchString(pattern) {
		return fmt.Errorf("match %q: a UUID can have these digits in it; say what stands around them", pattern)
	}
	for name, value := range r.vars {
		pattern = strings.ReplaceAll(pattern, "${"+name+"}", regexp.QuoteMeta(value))
	}
	re, err := regexp.Compile("(?s)" + pattern)
	if err != nil {
		return err
	}
	if re.MatchString(text) != want {
		return fmt.Errorf("match %q: want %t", pattern, want)
	}
	return nil
}

// expand puts in variables.
func (r row) expand(s string) string {
	return variable.ReplaceAllStringFunc(s, func(v string) string {
		if value, ok := r.vars[v[1:]]; ok {
			return value
		}
		return v
	})
}

// hexDigits are patterns that the random names in an answer match by chance.
var hexDigits = regexp.MustCompile(`^[0-9a-f-]{1,8}$`)

var variable = regexp.MustCompile(`\$[A-Z][A-Z0-9]*`)

// split cuts a step into words; braces and backquotes keep blanks together.
func split(step string) (words []string, err error) {
	word, closing := "", byte(0)
	for i := range len(step) {
		c := step[i]
		switch {
		case closing != 0:
			if c == closing {
				closing = 0
			}
		case c == '{':
			closing = '}'
		case c == '`':
			closing = '`'
		case c == ' ':
			if word != "" {
				words = append(words, word)
			}
			word = ""
			continue
		}
		word += step[i : i+1]
	}
	if closing != 0 {
		return nil, fmt.Errorf("%q is not closed", closing)
	}
	if word != "" {
		words = append(words, word)
	}
	return words, nil
}
