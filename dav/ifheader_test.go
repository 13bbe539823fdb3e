package dav

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// format writes a header in the one way parseIf reads it back the same.
func (h *ifHeader) format() string {
	var b strings.Builder
	tag := ""
	for _, list := range h.lists {
		if list.tag != tag {
			tag = list.tag
			b.WriteString("<" + tag + ">")
		}
		b.WriteString("(")
		for _, c := range list.conditions {
			if c.not {
				b.WriteString("Not ")
			}
			if c.token != "" {
				b.WriteString("<" + c.token + ">")
			} else {
				b.WriteString("[" + c.etag + "]")
			}
		}
		b.WriteString(")")
	}
	return b.String()
}

func TestParseIf(t *testing.T) {
	token := func(s string) ifCondition { return ifCondition{token: s} }
	etag := func(s string) ifCondition { return ifCondition{etag: s} }
	not := func(c ifCondition) ifCondition { c.not = true; return c }
	list := func(tag string, c ...ifCondition) ifList { return ifList{tag: tag, conditions: c} }
	tests := []struct {
		name   string
		values []string
		want   []ifList
	}{
		{"token", []string{"(<urn:a>)"}, []ifList{list("", token("urn:a"))}},
		{"B07 entity-tag", []string{`(["e1"])`}, []ifList{list("", etag(`"e1"`))}},
		{"weak entity-tag", []string{`([W/"e1"])`}, []ifList{list("", etag(`W/"e1"`))}},
		{"conjunction", []string{`(<urn:a> ["e"])`}, []ifList{list("", token("urn:a"), etag(`"e"`))}},
		{"disjunction", []string{`(<urn:a>) (Not <urn:b>)`}, []ifList{list("", token("urn:a")), list("", not(token("urn:b")))}},
		{"not of an entity-tag", []string{`(Not["e"])`}, []ifList{list("", not(etag(`"e"`)))}},
		{"not in another case", []string{`(NOT <urn:a>)`}, []ifList{list("", not(token("urn:a")))}},
		{"B05 tagged", []string{"</dav/f> (<urn:a>)"}, []ifList{list("/dav/f", token("urn:a"))}},
		{"one tag, two lists", []string{"</f> (<urn:a>) (<urn:b>)"}, []ifList{list("/f", token("urn:a")), list("/f", token("urn:b"))}},
		{"two tags", []string{`<http://h/f>(<urn:a>)<http://h/g>(["e"])`}, []ifList{list("http://h/f", token("urn:a")), list("http://h/g", etag(`"e"`))}},
		{"R95 no blank after the tag", []string{"</f>(<urn:a>)"}, []ifList{list("/f", token("urn:a"))}},
		{"R96 several lines", []string{"(<urn:a>)", "(<urn:b>)"}, []ifList{list("", token("urn:a")), list("", token("urn:b"))}},
		{"tag on a line of its own", []string{"</f>", "(<urn:a>)"}, []ifList{list("/f", token("urn:a"))}},
		{"lines joined by a proxy", []string{"(<urn:a>), (<urn:b>)"}, []ifList{list("", token("urn:a")), list("", token("urn:b"))}},
		{"blanks everywhere", []string{" \t( <urn:a>\t[ \"e\" ] )  "}, []ifList{list("", token("urn:a"), etag(`"e"`))}},
		{"no blanks anywhere", []string{`(<urn:a>["e"]Not<urn:b>)`}, []ifList{list("", token("urn:a"), etag(`"e"`), not(token("urn:b")))}},
		{"brackets within an entity-tag", []string{`(["a]) <b>"])`}, []ifList{list("", etag(`"a]) <b>"`))}},
		{"R97 token that is no URI", []string{"(<nonsense>)"}, []ifList{list("", token("nonsense"))}},
		{"parentheses within a tag", []string{"</f(1)> (<urn:a>)"}, []ifList{list("/f(1)", token("urn:a"))}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseIf(test.values)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.lists, test.want) {
				t.Errorf("parseIf(%q) = %+v, want %+v", test.values, got.lists, test.want)
			}
		})
	}
	t.Run("absent", func(t *testing.T) {
		if got, err := parseIf(nil); got != nil || err != nil {
			t.Errorf("parseIf(nil) = %v, %v", got, err)
		}
	})
}

func TestParseIfRefuses(t *testing.T) {
	tests := []struct {
		name  string
		value string
	}{
		{"empty", ""},
		{"blank", " \t"},
		{"comma", ","},
		{"bare word", "urn:a"},
		{"raw token", "<urn:a>"},
		{"empty list", "()"},
		{"blank list", "( )"},
		{"list not closed", "(<urn:a>"},
		{"token not closed", "(<urn:a)"},
		{"empty token", "(<>)"},
		{"blank in a token", "(<urn: a>)"},
		{"not without condition", "(Not)"},
		{"double not", "(Not Not <urn:a>)"},
		{"entity-tag without quotes", "([e])"},
		{"entity-tag not closed", `(["e")`},
		{"quote not closed", `(["e])`},
		{"empty brackets", "([])"},
		{"comma within a list", "(<urn:a>, <urn:b>)"},
		{"tag without list", "</f>"},
		{"tag without list at the end", "</f> (<urn:a>) </g>"},
		{"two tags in a row", "</f> </g> (<urn:a>)"},
		{"empty tag", "<> (<urn:a>)"},
		{"untagged before tagged", "(<urn:a>) </f> (<urn:b>)"},
		{"text after a list", "(<urn:a>) x"},
		{"nested list", "((<urn:a>))"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseIf([]string{test.value})
			wantStatus(t, err, http.StatusBadRequest)
		})
	}
}

func TestParseIfLimits(t *testing.T) {
	if _, err := parseIf([]string{strings.Repeat("(<a>)", maxIfConditions)}); err != nil {
		t.Errorf("%d conditions: %v", maxIfConditions, err)
	}
	_, err := parseIf([]string{strings.Repeat("(<a>)", maxIfConditions+1)})
	wantStatus(t, err, http.StatusRequestHeaderFieldsTooLarge)
	if _, err := parseIf([]string{strings.Repeat("</x> (<a>)", maxIfTags)}); err != nil {
		t.Errorf("%d tags: %v", maxIfTags, err)
	}
	_, err = parseIf([]string{strings.Repeat("</x> (<a>)", maxIfTags+1)})
	wantStatus(t, err, http.StatusRequestHeaderFieldsTooLarge)
	_, err = parseIf([]string{"(<a" + strings.Repeat("a", maxIfBytes) + ">)"})
	wantStatus(t, err, http.StatusRequestHeaderFieldsTooLarge)
}

// resourceState is an ifState with fixed answers.
type resourceState struct {
	tokens []string
	etag   string
}

func (s resourceState) hasToken(token string) bool { return slices.Contains(s.tokens, token) }

func (s resourceState) matchesETag(etag string) bool { return s.etag != "" && s.etag == etag }

func TestIfEval(t *testing.T) {
	resources := map[string]resourceState{
		"":       {tokens: []string{"urn:a"}, etag: `"e1"`},
		"/other": {tokens: []string{"urn:b", noLock}, etag: `W/"w"`},
		"/dir/":  {},
	}
	tests := []struct {
		header string
		want   bool
	}{
		{"(<urn:a>)", true},
		{"(<urn:b>)", false},
		{"(Not <urn:b>)", true},
		{"(Not <urn:a>)", false},
		{`(["e1"])`, true},
		{`(["e2"])`, false},
		{`([W/"e1"])`, false},
		{`(Not [W/"e1"])`, true},
		{`(<urn:a> ["e1"])`, true},
		{`(<urn:a> ["e2"])`, false},
		{`(<urn:b>) (<urn:a>)`, true},
		{`(<urn:b>) (["e2"])`, false},
		{"(<DAV:no-lock>)", false},
		{"(Not <DAV:no-lock>)", true},
		{`(<urn:x> ["e1"]) (Not <DAV:no-lock> ["e1"])`, true},
		{"</other> (<urn:b>)", true},
		{"</other> (<urn:a>)", false},
		{"</other> (<urn:a>) </dir/> (Not <urn:a>)", true},
		{"</other> (<DAV:no-lock>)", false},
		{`</other> ([W/"w"])`, false},
		{`</dir/> (["zzz"])`, false},
		{`</dir/> (Not ["zzz"])`, true},
		{"<http://elsewhere/f> (<urn:a>)", false},
		{"<http://elsewhere/f> (Not <urn:a>)", true},
	}
	for _, test := range tests {
		t.Run(test.header, func(t *testing.T) {
			h, err := parseIf([]string{test.header})
			if err != nil {
				t.Fatal(err)
			}
			got := h.eval(func(tag string) ifState { return resources[tag] })
			if got != test.want {
				t.Errorf("%s is %v, want %v", test.header, got, test.want)
			}
		})
	}
}

func TestIfTokens(t *testing.T) {
	h, err := parseIf([]string{`</f> (<urn:a> ["e"] Not <urn:n>) (<DAV:no-lock>) <http://h/g> (<urn:b>)`})
	if err != nil {
		t.Fatal(err)
	}
	want := []ifToken{{token: "urn:a", tag: "/f"}, {token: "urn:b", tag: "http://h/g"}}
	if got := h.tokens(); !slices.Equal(got, want) {
		t.Errorf("tokens %v, want %v", got, want)
	}
}

func BenchmarkParseIf(b *testing.B) {
	values := []string{`<http://host/dav/f> (<urn:uuid:150852e2-3847-42d5-8cbe-0f4f296f26cf> ["e1"])`}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseIf(values); err != nil {
			b.Fatal(err)
		}
	}
}
