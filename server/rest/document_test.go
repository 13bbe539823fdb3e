package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"holdfast/server/rest"
)

// object is a part of the document.
type object = map[string]any

// document is the OpenAPI document as a client gets it.
type document struct {
	root       object
	operations []*operation
	mu         sync.Mutex
	compiler   *jsonschema.Compiler
	compiled   map[string]*jsonschema.Schema // by JSON pointer
}

// operation is one of the document's.
type operation struct {
	id, method, path string
	pointer          string // to it, as a JSON pointer
	spec             object
}

func (op *operation) String() string { return op.method + " " + op.path + " (" + op.id + ")" }

// theDocument is the one that every API of this program serves.
var theDocument = sync.OnceValue(func() *document {
	text, err := json.Marshal(rest.New(rest.Options{Log: slog.New(slog.DiscardHandler)}).OpenAPI())
	if err != nil {
		panic(err)
	}
	return parseDocument(text)
})

func parseDocument(text []byte) *document {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	d := &document{root: root.(object), compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(documentURL, root); err != nil {
		panic(err)
	}
	paths := d.root["paths"].(object)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path].(object)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			spec := item[method].(object)
			id, _ := spec["operationId"].(string)
			d.operations = append(d.operations, &operation{
				id: id, method: strings.ToUpper(method), path: path, spec: spec, pointer: pointer("paths", path, method),
			})
		}
	}
	return d
}

// documentURL is what the validator knows the document by.
const documentURL = "holdfast:openapi.json"

// pointer is the JSON pointer (RFC 6901) of nested members.
func pointer(members ...string) string {
	var b strings.Builder
	for _, m := range members {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(m))
	}
	return b.String()
}

// schema is the validator of the schema at a pointer.
func (d *document) schema(at string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.compiled[at]; s != nil {
		return s, nil
	}
	s, err := d.compiler.Compile(documentURL + "#" + at)
	if err == nil {
		d.compiled[at] = s
	}
	return s, err
}

// operationOf finds what a request asks for: of two paths that match, that with
// the fewer parameters. It is nil for what the document has not.
func (d *document) operationOf(method, path string) (found *operation) {
	fewest := -1
	for _, op := range d.operations {
		if n := matches(op.path, path); op.method == method && n >= 0 && (fewest < 0 || n < fewest) {
			found, fewest = op, n
		}
	}
	return found
}

// matches gives how many parameters of a path of the document a path fills, -1 if
// it is another.
func matches(template, path string) (parameters int) {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return -1
	}
	for i := range want {
		switch {
		case strings.HasPrefix(want[i], "{"):
			parameters++
		case want[i] != got[i]:
			return -1
		}
	}
	return parameters
}

// complaints say in what an answer differs from what the document says of the
// operation; nil stands for what the document has not, which is refused by a
// problem.
func (d *document) complaints(op *operation, status int, header http.Header, body []byte) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if op == nil {
		if status < 400 {
			say("status %d for what the document has not", status)
		}
		return append(all, d.checkBody(pointer("components", "schemas", "Problem"), body)...)
	}
	responses := op.spec["responses"].(object)
	code := fmt.Sprint(status)
	response, declared := responses[code].(object)
	if !declared {
		say("status %d is none of the declared %v", status, slices.Sorted(maps.Keys(responses)))
		return all
	}
	content, _ := response["content"].(object)
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	switch {
	case op.method == http.MethodHead:
	case len(content) == 0:
		if len(body) > 0 {
			say("a body where status %d has none: %.200s", status, body)
		}
	case content[kind] == nil && content["*/*"] == nil:
		say("Content-Type %q is none of the declared %v", header.Get("Content-Type"), slices.Sorted(maps.Keys(content)))
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		if content[kind] != nil {
			all = append(all, d.checkBody(op.pointer+pointer("responses", code, "content", kind, "schema"), body)...)
		}
	}
	return append(all, d.checkHeaders(op, code, response, header)...)
}

// checkBody validates JSON.
func (d *document) checkBody(schema string, body []byte) []string {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return []string{fmt.Sprintf("no JSON (%v): %.200s", err, body)}
	}
	s, err := d.schema(schema)
	if err != nil {
		return []string{err.Error()}
	}
	if err := s.Validate(value); err != nil {
		return []string{fmt.Sprintf("not of the schema: %v: %.400s", err, body)}
	}
	return nil
}

// checkHeaders validates the declared headers that the answer has, those with
// strings.
func (d *document) checkHeaders(op *operation, code string, response object, header http.Header) (all []string) {
	headers, _ := response["headers"].(object)
	for name, spec := range headers {
		value := header.Get(name)
		schema, _ := spec.(object)["schema"].(object)
		if value == "" || schema["type"] != "string" {
			continue
		}
		s, err := d.schema(op.pointer + pointer("responses", code, "headers", name, "schema"))
		if err == nil {
			err = s.Validate(value)
		}
		if err != nil {
			all = append(all, fmt.Sprintf("header %s: %v", name, err))
		}
	}
	return all
}

// TestDocument: everything that people and generators of clients need is there.
func TestDocument(t *testing.T) {
	d := theDocument()
	ids := map[string]*operation{}
	for _, op := range d.operations {
		t.Run(op.method+" "+op.path, func(t *testing.T) {
			if !regexp.MustCompile(`^[a-z][a-zA-Z]*$`).MatchString(op.id) {
				t.Errorf("operationId %q is not in lowerCamelCase", op.id)
			}
			if other := ids[op.id]; other != nil {
				t.Errorf("operationId is that of %v too", other)
			}
			ids[op.id] = op
			checkOperation(t, d, op)
		})
	}
	for name := range d.root["components"].(object)["schemas"].(object) {
		if _, err := d.schema(pointer("components", "schemas", name)); err != nil {
			t.Errorf("%s is no JSON Schema of draft 2020-12: %v", name, err)
		}
	}
	for _, tag := range d.root["tags"].([]any) {
		name := tag.(object)["name"]
		if !slices.ContainsFunc(d.operations, func(op *operation) bool { return slices.Contains(op.spec["tags"].([]any), name) }) {
			t.Errorf("no operation has the tag %v", name)
		}
	}
	text, err := json.Marshal(d.root)
	must(t, err)
	for _, word := range []string{"$schema", "is_" + "locked"} {
		if bytes.Contains(text, []byte(word)) {
			t.Errorf("the document says %s", word)
		}
	}
}

// describes reports whether the document says what a tag is about.
func (d *document) describes(tag string) bool {
	all, _ := d.root["tags"].([]any)
	return slices.ContainsFunc(all, func(t any) bool { return t.(object)["name"] == tag })
}

func checkOperation(t *testing.T, d *document, op *operation) {
	tags, _ := op.spec["tags"].([]any)
	if len(tags) != 1 || !d.describes(tags[0].(string)) {
		t.Errorf("tags %v, want one that openapi.go describes", tags)
	}
	if summary, _ := op.spec["summary"].(string); summary == "" || strings.HasSuffix(summary, ".") {
		t.Errorf("summary %q", summary)
	}
	security, ok := op.spec["security"].([]any)
	if !ok {
		t.Error("who may call it is not said")
	}
	responses := op.spec["responses"].(object)
	want := []string{"400", "500", "503"}
	if len(security) > 0 {
		want = append(want, "401", "403", "429")
	}
	if op.spec["requestBody"] != nil {
		want = append(want, "413", "415")
	}
	if strings.Contains(op.path, "{") {
		want = append(want, "404")
	}
	for _, code := range want {
		if responses[code] == nil {
			t.Errorf("status %s is not declared", code)
		}
	}
	for code, r := range responses {
		content, _ := r.(object)["content"].(object)
		switch {
		case code == "422" || code == "default":
			t.Errorf("status %s is never answered", code)
		case code < "400":
		case len(content) != 1 || content["application/problem+json"] == nil:
			t.Errorf("status %s is no problem document, but %v", code, content)
		}
	}
	parameters, _ := op.spec["parameters"].([]any)
	for _, name := range placeholder.FindAllString(op.path, -1) {
		if !slices.ContainsFunc(parameters, func(p any) bool { return p.(object)["in"] == "path" && "{"+p.(object)["name"].(string)+"}" == name }) {
			t.Errorf("parameter %s of the path is not declared", name)
		}
	}
	for _, p := range parameters {
		p := p.(object)
		if s, _ := p["schema"].(object); p["in"] != "header" && s["type"] == "string" && s["maxLength"] == nil && s["enum"] == nil && s["format"] == nil {
			t.Errorf("parameter %s is not bounded", p["name"])
		}
	}
}
