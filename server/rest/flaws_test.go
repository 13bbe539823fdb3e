package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// flaws are ways to spoil a request of the operation at work.
func (g *generator) flaws() (all []func(*attempt)) {
	op := g.row.op
	for _, p := range op.parameters() {
		all = append(all, g.parameterFlaws(p)...)
	}
	all = append(all, headerFlaws()...)
	all = append(all, func(a *attempt) {
		a.flaw, a.ruledOut = "unknown query parameter", true
		a.query.Set("unknown_parameter", "1")
	})
	if op.takesJSON() {
		all = append(all, g.jsonFlaws()...)
	}
	if op.spec["requestBody"] == nil {
		all = append(all, func(a *attempt) {
			a.flaw, a.body, a.sendBody, a.kind = "a body where none is wanted", []byte(`{"a":1}`), true, "application/json"
		})
	}
	return all
}

// badTexts are what parameters are spoiled with.
func badTexts(schema object) []string {
	bad := []string{"\x00", "\xff\xfe", "x\x00y", "%", "null", strings.Repeat("9", 400)}
	switch schema["type"] {
	case "integer", "number":
		bad = append(bad, "x", "1.5", "-1", "0", "1e3", "0x1", " 1", "９", "9223372036854775807", "9223372036854775808", "-9223372036854775809", missing)
	case "boolean":
		bad = append(bad, "yes", "2", "TRUE ")
	}
	switch schema["format"] {
	case "date-time":
		bad = append(bad, "yesterday", "2026-13-45T00:00:00Z", "0000-00-00T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-01-01T00:00:00", "-1")
	}
	if most := bound(schema, "maxLength", 0); most > 0 && most < 1<<17 {
		bad = append(bad, strings.Repeat("a", int(most)+1), strings.Repeat("ä", int(most)))
	}
	return bad
}

// parameterFlaws spoil one parameter.
func (g *generator) parameterFlaws(p parameter) (all []func(*attempt)) {
	op := g.row.op
	for _, bad := range badTexts(p.schema) {
		if p.in == "header" && (strings.ContainsRune(bad, 0) || !utf8.ValidString(bad)) {
			continue // which no client sends
		}
		ruledOut := g.rulesOut(p, bad)
		all = append(all, func(a *attempt) {
			a.flaw, a.ruledOut = fmt.Sprintf("%s parameter %s is %.40q", p.in, p.name, bad), ruledOut
			a.set(op, p, bad)
		})
	}
	if p.in == "query" {
		all = append(all, func(a *attempt) {
			a.flaw = "query parameter " + p.name + " is empty"
			a.set(op, p, "")
		}, func(a *attempt) {
			a.flaw = "query parameter " + p.name + " comes twice"
			a.query[p.name] = []string{"1", "a"}
		})
	}
	if p.required && p.in == "query" {
		all = append(all, func(a *attempt) {
			a.flaw, a.ruledOut = "query parameter "+p.name+" is missing", true
			a.query.Del(p.name)
		})
	}
	return all
}

// rulesOut asks the outside library whether a parameter's text is of its schema.
// Texts that are no JSON (not UTF-8) are not ruled out by any.
func (g *generator) rulesOut(p parameter, text string) bool {
	var value any = text
	switch p.schema["type"] {
	case "integer", "number", "boolean":
		if json.Valid([]byte(text)) && strings.TrimSpace(text) == text {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			must(g.s.t, err)
			value = v
		}
	case "array":
		return false
	}
	s, err := g.d.schema(p.pointer)
	must(g.s.t, err)
	return s.Validate(value) != nil
}

// headerFlaws spoil headers that the server, or a proxy, may read.
func headerFlaws() (all []func(*attempt)) {
	for _, h := range []struct {
		name, value string
		ruledOut    bool
	}{
		{"Authorization", "Bearer x", false}, {"Authorization", "Basic !!!", false}, {"Authorization", "x", false},
		{"Cookie", "holdfast_session=x", false}, {"If-Match", `garbage"`, false}, {"If-None-Match", ",,,", false},
		{"If-Unmodified-Since", "yesterday", false}, {"Range", "bytes=9-1,x", false}, {"Range", "bytes=0-,0-,0-,0-", false},
		{"Accept", "application/xml", false}, {"Accept", "application/cbor", false}, {"Accept", "*/*;q=x", false},
		{"Content-Encoding", "gzip", false}, {"Content-Range", "bytes 0-1/2", false}, {"X-Http-Method-Override", "DELETE", false},
		{"Content-Digest", "sha-256=:x:", false}, {"Last-Event-Id", "x", false},
	} {
		all = append(all, func(a *attempt) {
			a.flaw, a.ruledOut = h.name+": "+h.value, h.ruledOut
			a.header.Set(h.name, h.value)
		})
	}
	return all
}

// jsonFlaws spoil a body of JSON, as a whole and in each of its parts.
func (g *generator) jsonFlaws() (all []func(*attempt)) {
	for _, w := range []struct {
		what, body, kind string
	}{
		{"no body", "", ""}, {"empty body", "", "application/json"}, {"half an object", "{", "application/json"},
		{"an array", "[]", "application/json"}, {"null", "null", "application/json"}, {"a string", `"x"`, "application/json"},
		{"a number", "1e400", "application/json"}, {"NUL", "\x00", "application/json"}, {"not UTF-8", "\xff\xfe{}", "application/json"},
		{"deep nesting", strings.Repeat("[", 100_000), "application/json"}, {"deep objects", strings.Repeat(`{"a":`, 50_000), "application/json"},
		{"two bodies", "{}{}", "application/json"}, {"text", "x", "text/plain"}, {"XML", "<a/>", "application/xml"},
		{"a form", "a=1", "application/x-www-form-urlencoded"}, {"a bad media type", "{}", "a b c"}, {"no media type", "x", ""},
		{"UTF-16", "{\x00}\x00", "application/json; charset=utf-16"},
	} {
		all = append(all, func(a *attempt) {
			a.flaw, a.ruledOut = w.what, true
			a.body, a.sendBody, a.kind = []byte(w.body), w.what != "no body", w.kind
		})
	}
	all = append(all, func(a *attempt) {
		a.flaw, a.ruledOut, a.tooLarge = "a body that is too large", true, true
		a.body = append(bytes.Repeat([]byte(" "), 2<<20), '{')
		a.sendBody, a.kind = true, "application/json"
	}, func(a *attempt) {
		a.flaw, a.ruledOut = "another media type", true
		a.kind = "text/plain"
	})
	seed, err := jsonschema.UnmarshalJSON(bytes.NewReader(g.start().body))
	must(g.s.t, err)
	for _, part := range g.parts(g.row.op.bodySchema(), seed, "body") {
		all = append(all, func(a *attempt) {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
			must(g.s.t, err)
			a.flaw = part.what
			a.body = encode(part.spoil(value))
			s, err := g.d.schema(g.row.op.pointer + pointer("requestBody", "content", "application/json", "schema"))
			must(g.s.t, err)
			spoiled, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
			a.ruledOut = err != nil || s.Validate(spoiled) != nil || !utf8.Valid(a.body)
		})
	}
	return all
}

// encode writes JSON, with raw parts as they are.
func encode(value any) []byte {
	switch v := value.(type) {
	case rawJSON:
		return v
	case object:
		var members [][]byte
		for _, name := range slices.Sorted(maps.Keys(v)) {
			members = append(members, slices.Concat(encode(name), []byte(":"), encode(v[name])))
		}
		return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}"))
	}
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}

// badValues are what parts of a body are spoiled with, as JSON.
var badValues = []string{
	"null", "true", "0", "-1", "1.5", "1e400", "-1e400", "9223372036854775807", "9223372036854775808", "123456789012345678901234567890", missing,
	`""`, `"x"`, `"\u0000"`, `"a\u0000b"`, `"\ud800"`, "\"\xff\"", `"` + strings.Repeat("9", 5000) + `"`, `"` + strings.Repeat("ä", 300) + `"`,
	"[]", "[null]", `[{}]`, "{}", `{"a":1}`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59Z"`, `"2026-01-01"`,
}

// part is a way to spoil a part of a body.
type part struct {
	what  string
	spoil func(value any) any
}

// parts spoil each property of an object, and those of the objects in it.
func (g *generator) parts(schema object, seed any, at string) (all []part) {
	schema = g.resolve(schema)
	properties, _ := schema["properties"].(object)
	if properties == nil {
		return nil
	}
	with := func(name string, v any) func(any) any {
		return func(value any) any {
			out := object{}
			if old, ok := value.(object); ok {
				out = maps.Clone(old)
			}
			if v == nil {
				delete(out, name)
			} else {
				out[name] = v
			}
			return out
		}
	}
	all = append(all, part{at + " has an unknown property", with("unknown_property", rawJSON("1"))})
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		for _, bad := range badValues {
			all = append(all, part{fmt.Sprintf("%s.%s is %.40s", at, name, bad), with(name, rawJSON(bad))})
		}
		all = append(all, part{at + "." + name + " is missing", with(name, nil)})
		inner, _ := seed.(object)
		if v, ok := inner[name]; ok {
			all = append(all, part{at + "." + name + " is in capitals", func(value any) any {
				return with(strings.ToUpper(name), v)(with(name, nil)(value))
			}})
		}
		for _, p := range g.parts(properties[name].(object), inner[name], at+"."+name) {
			all = append(all, part{p.what, func(value any) any {
				old, _ := value.(object)
				return with(name, p.spoil(old[name]))(value)
			}})
		}
	}
	return all
}
