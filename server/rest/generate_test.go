package rest_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"holdfast/server/rest"
	"holdfast/store"
)

// neverSucceeds says of which operations no generated request is granted, and why.
var neverSucceeds = map[string]string{
	"closeSession": "the caller of generated requests has no session",
}

// TestGeneratedRequests sends requests that are made from the document: such as it
// says are right, and such as have one flaw each. No answer may be a failure of the
// server or differ from what the document says of it, no request with a flaw that
// the document rules out may be granted, and each operation must grant something.
//
// Each operation's row in testdata/access.txt is where its requests start from, so
// that they name things that are there. HOLDFAST_API_SEED repeats a run,
// HOLDFAST_API_ROUNDS is how many right requests each operation gets from who may do
// everything, and as many from others. Of HOLDFAST_API_FLAWS flaws one is tried, by
// chance: of 2, with -short of 4; 1 tries all.
func TestGeneratedRequests(t *testing.T) {
	s := newScene(t)
	g := newGenerator(t, s)
	rounds := int(envNumber(t, "HOLDFAST_API_ROUNDS", 8))
	g.of = 2
	if testing.Short() {
		g.of = 4
	}
	g.of = int(envNumber(t, "HOLDFAST_API_FLAWS", uint64(g.of)))
	t.Logf("HOLDFAST_API_SEED=%d HOLDFAST_API_ROUNDS=%d HOLDFAST_API_FLAWS=%d", g.seed, rounds, g.of)
	for _, row := range accessRows(t) {
		t.Run(row.op.id, func(t *testing.T) {
			s.world.t = t
			g.try(row, rounds)
			for _, c := range g.complaints {
				t.Error(c)
			}
		})
	}
	t.Logf("%d requests", g.sent)
}

func envNumber(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	must(t, err)
	return n
}

// generator makes requests and judges the answers.
type generator struct {
	s    *scene
	d    *document
	rnd  *rand.Rand
	seed uint64
	of   int // how many flaws one is tried of
	sent int

	// Of the operation at work:
	row        *accessRow
	stage      *stage
	granted    int
	complaints []string
}

// newGenerator adds somebody who may do everything: an administrator who owns the
// teams of their stages.
func newGenerator(t *testing.T, s *scene) *generator {
	seed := envNumber(t, "HOLDFAST_API_SEED", 1)
	s.people["root"] = s.person("root", true)
	return &generator{of: 1, s: s, d: theDocument(), rnd: rand.New(rand.NewPCG(seed, 0)), seed: seed}
}

// attempt is a request to be sent.
type attempt struct {
	caller   string
	segments []string // of the path, decoded
	query    url.Values
	header   http.Header
	body     []byte
	sendBody bool
	kind     string // Content-Type
	flaw     string // what is wrong with it; empty for nothing
	ruledOut bool   // the document says that the flaw is one
	tooLarge bool   // the server may hang up before it has read all of it
}

// try sends all requests of one operation.
func (g *generator) try(row *accessRow, rounds int) {
	g.row, g.stage, g.granted, g.complaints = row, nil, 0, nil
	g.judge(g.start())
	for n := range 2 * rounds {
		a := g.start()
		g.vary(a)
		if n%2 == 1 { // somebody who may have less to say
			a.caller = callers[g.rnd.IntN(len(callers))]
		}
		g.judge(a)
	}
	for _, spoil := range g.flaws() {
		if g.rnd.IntN(g.of) > 0 {
			continue
		}
		a := g.start()
		spoil(a)
		g.judge(a)
	}
	if g.granted == 0 && neverSucceeds[row.op.id] == "" {
		g.complaints = append(g.complaints, noneGranted)
	}
}

const noneGranted = "no request was granted: let the row of testdata/access.txt ask for something that is"

// start is the request of the row.
func (g *generator) start() *attempt {
	if g.stage == nil {
		root := g.s.people["root"]
		g.stage = g.s.stageOf(root, map[*client]store.Role{
			g.s.people["owner"]: store.Owner, g.s.people["admin"]: store.Admin,
			g.s.people["member"]: store.Writer, g.s.people["viewer"]: store.Viewer,
		})
	}
	full, body := g.row.request(g.stage, "root")
	path, query, _ := strings.Cut(full, "?")
	a := &attempt{caller: "root", segments: strings.Split(path, "/"), header: http.Header{}}
	var err error
	a.query, err = url.ParseQuery(query)
	must(g.s.t, err)
	switch b := body.(type) {
	case rawJSON:
		a.body, a.sendBody, a.kind = b, true, "application/json"
	case string:
		a.body, a.sendBody, a.kind = []byte(b), true, "application/octet-stream"
	}
	return a
}

// judge sends a request and keeps what is to be said against the answer.
func (g *generator) judge(a *attempt) {
	r, err := http.NewRequestWithContext(g.s.t.Context(), g.row.op.method, g.s.url+"/", nil)
	must(g.s.t, err)
	var raw []string
	for _, s := range a.segments {
		raw = append(raw, url.PathEscape(s))
	}
	r.URL.RawQuery = a.query.Encode()
	r.URL.Path, r.URL.RawPath = rest.Prefix+strings.Join(a.segments, "/"), rest.Prefix+strings.Join(raw, "/")
	r.Header = a.header.Clone()
	if a.sendBody {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body))
		if a.kind != "" {
			r.Header.Set("Content-Type", a.kind)
		}
	}
	if r.Header.Get("Authorization") == "" {
		g.authorize(r, a.caller)
	}
	g.sent++
	res, err := g.s.http.Do(r)
	if err != nil {
		if !a.tooLarge {
			g.complain(a, r, fmt.Sprint("no answer: ", err), nil)
		}
		return
	}
	defer res.Body.Close()
	var body []byte
	if res.Header.Get("Content-Type") != "text/event-stream" {
		if body, err = io.ReadAll(res.Body); err != nil {
			g.complain(a, r, fmt.Sprint("answer cut off: ", err), nil)
		}
	}
	for _, c := range g.against(a, r, res, body) {
		g.complain(a, r, c, body)
	}
	if res.StatusCode < 400 {
		g.granted++
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			g.stage = nil // something may be gone
		}
	}
}

func (g *generator) authorize(r *http.Request, caller string) {
	c := g.stage.caller(caller)
	switch {
	case c.token != "":
		r.Header.Set("Authorization", "Bearer "+c.token)
	case c.password != "":
		r.SetBasicAuth(c.user.Name, c.password)
	}
}

// against says what is wrong with an answer.
func (g *generator) against(a *attempt, r *http.Request, res *http.Response, body []byte) []string {
	op := g.d.operationOf(r.Method, strings.TrimPrefix(r.URL.EscapedPath(), rest.Prefix))
	all := g.d.complaints(op, res.StatusCode, res.Header, body)
	var p rest.Problem
	if res.StatusCode >= 400 && len(body) > 0 {
		_ = json.Unmarshal(body, &p) // complaints says so if it is none
	}
	switch {
	case res.StatusCode >= 500 && res.StatusCode != http.StatusInsufficientStorage:
		all = append(all, "the server failed")
	case a.ruledOut && res.StatusCode < 400:
		all = append(all, "granted, though the document rules it out")
	case a.flaw == "" && p.Code == "request.invalid" && len(p.Fields) > 0, a.flaw == "" && p.Code == "request.media_type":
		all = append(all, "refused, though the document allows it")
	}
	return all
}

// maxComplaints are printed of one operation.
const maxComplaints = 5

func (g *generator) complain(a *attempt, r *http.Request, what string, body []byte) {
	if len(g.complaints) >= maxComplaints {
		return
	}
	g.complaints = append(g.complaints, fmt.Sprintf("%s\nflaw: %s\n%s %s by %s, %v\n%.300q\nanswer: %.300s", what,
		cmp.Or(a.flaw, "none"), r.Method, r.URL.RequestURI(), a.caller, a.header, a.body, body))
}

// parameter is one of the operation's.
type parameter struct {
	name, in string
	required bool
	schema   object
	pointer  string
}

// parameters are those of the operation, in the document's order.
func (op *operation) parameters() (all []parameter) {
	list, _ := op.spec["parameters"].([]any)
	for i, p := range list {
		p := p.(object)
		schema, _ := p["schema"].(object)
		required, _ := p["required"].(bool)
		all = append(all, parameter{
			name: p["name"].(string), in: p["in"].(string), required: required, schema: schema,
			pointer: op.pointer + pointer("parameters", fmt.Sprint(i), "schema"),
		})
	}
	return all
}

// set gives a request a value for a parameter.
func (a *attempt) set(op *operation, p parameter, value string) {
	switch p.in {
	case "query":
		a.query.Set(p.name, value)
	case "header":
		a.header.Set(p.name, value)
	case "path":
		for i, s := range strings.Split(op.path, "/") {
			if s == "{"+p.name+"}" {
				a.segments[i] = value
			}
		}
	}
}

// vary makes another request of one that is right, which is right by the document
// too.
func (g *generator) vary(a *attempt) {
	for _, p := range g.row.op.parameters() {
		switch {
		case p.in == "path" || p.in == "cookie":
		case p.in == "header" && p.schema["format"] == nil && p.schema["enum"] == nil:
			// Headers have grammars that the document does not tell.
		case g.rnd.IntN(3) == 0:
			if v, ok := g.value(p.schema); ok {
				a.set(g.row.op, p, asText(v))
			}
		}
	}
	if a.kind != "application/json" {
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	must(g.s.t, err)
	a.body, err = json.Marshal(g.varied(g.row.op.bodySchema(), value))
	must(g.s.t, err)
}

// bodySchema is the schema of the JSON that an operation takes.
func (op *operation) bodySchema() object {
	return op.spec["requestBody"].(object)["content"].(object)["application/json"].(object)["schema"].(object)
}

// asText writes a value as parameters are written.
func asText(v any) string {
	if list, ok := v.([]any); ok {
		var texts []string
		for _, item := range list {
			texts = append(texts, asText(item))
		}
		return strings.Join(texts, ",")
	}
	return fmt.Sprint(v)
}

// resolve follows a reference.
func (g *generator) resolve(schema object) object {
	ref, ok := schema["$ref"].(string)
	if !ok {
		return schema
	}
	var at any = g.d.root
	for _, member := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		at = at.(object)[member]
	}
	return at.(object)
}

// varied is another value of a schema: parts of the one given, and new ones.
func (g *generator) varied(schema object, value any) any {
	schema = g.resolve(schema)
	properties, _ := schema["properties"].(object)
	before, ok := value.(object)
	if !ok || properties == nil {
		return value
	}
	required, _ := schema["required"].([]any)
	out := object{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		needed := slices.Contains(required, any(name))
		old, had := before[name]
		if had && (needed && g.rnd.IntN(3) > 0 || !needed && g.rnd.IntN(2) > 0) {
			out[name] = g.varied(properties[name].(object), old)
			continue
		}
		if !needed && g.rnd.IntN(2) > 0 {
			continue
		}
		v, ok := g.value(properties[name].(object))
		switch {
		case ok:
			out[name] = v
		case had:
			out[name] = old
		}
	}
	return out
}

// value makes a value of a schema, ok false if the schema says it by something
// that this cannot make.
func (g *generator) value(schema object) (v any, ok bool) {
	schema = g.resolve(schema)
	if list, ok := schema["enum"].([]any); ok {
		return list[g.rnd.IntN(len(list))], true
	}
	kind, _ := schema["type"].(string)
	if kinds, ok := schema["type"].([]any); ok {
		kind = kinds[0].(string)
	}
	switch kind {
	case "boolean":
		return g.rnd.IntN(2) == 0, true
	case "integer":
		low, high := bound(schema, "minimum", -1<<53), bound(schema, "maximum", 1<<53)
		// Not in between: that may be an id of something that others need.
		return []int64{low, high, max(low, high-1)}[g.rnd.IntN(3)], true
	case "string":
		return g.text(schema)
	case "array":
		items := []any{}
		for range bound(schema, "minItems", 0) + g.rnd.Int64N(3) {
			item, ok := g.value(schema["items"].(object))
			if !ok {
				return nil, false
			}
			items = append(items, item)
		}
		return items, true
	case "object":
		return g.varied(schema, object{}), true
	}
	return nil, false
}

func bound(schema object, name string, otherwise int64) int64 {
	n, ok := schema[name].(json.Number)
	if !ok {
		return otherwise
	}
	f, err := n.Float64()
	if err != nil {
		return otherwise
	}
	return int64(f)
}

// texts are what strings are made of.
var texts = []string{"a", "Z", "0", " ", ".", "..", "-", "_", "/", `\`, `"`, "'", "%", "%00", "ä", "ß", "e\u0301", "日本", "🔒", "\u200f", "<b>", "${x}", "--", ";", "*", "?", "#"}

func (g *generator) text(schema object) (any, bool) {
	switch schema["format"] {
	case "date-time":
		return g.s.now().Add(time.Duration(g.rnd.Int64N(int64(1000*time.Hour))) - 500*time.Hour).Truncate(time.Second).Format(time.RFC3339), true
	case nil:
	default:
		return nil, false
	}
	if schema["pattern"] != nil {
		return nil, false
	}
	low, high := bound(schema, "minLength", 0), bound(schema, "maxLength", 64)
	length := min(high, low+g.rnd.Int64N(20))
	if g.rnd.IntN(8) == 0 {
		length = min(high, 4096)
	}
	var runes []rune
	for int64(len(runes)) < length {
		runes = append(runes, []rune(texts[g.rnd.IntN(len(texts))])...)
	}
	return string(runes[:length]), true
}
