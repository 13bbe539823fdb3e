package content

import "testing"

func TestETagList(t *testing.T) {
	tests := []struct {
		name                  string
		values                []string
		present, star         bool
		strong, weak, another bool // strong and weak match of "a", weak match of "b"
	}{
		{"absent", nil, false, false, false, false, false},
		{"empty", []string{""}, true, false, false, false, false},
		{"star", []string{" * "}, true, true, false, false, false},
		{"one tag", []string{`"a"`}, true, false, true, true, false},
		{"list", []string{`"x", "a" ,"b"`}, true, false, true, true, true},
		{"several lines", []string{`"b"`, `"a"`}, true, false, true, true, true},
		{"list without blanks or commas", []string{`"b""a"`}, true, false, true, true, true},
		{"empty members", []string{`,, "a",,`}, true, false, true, true, false},
		{"weak tag", []string{`W/"a"`}, true, false, false, true, false},
		{"lower-case w is none", []string{`w/"a"`}, true, false, false, false, false},
		{"B83 unquoted", []string{`a`}, true, false, false, false, false},
		{"R55 unquoted word before a tag", []string{`JoplinIgnore-1, "a"`}, true, false, true, true, false},
		{"comma within quotes", []string{`"x,", "a"`}, true, false, true, true, false},
		{"quote that stays open", []string{`"a`}, true, false, false, false, false},
		{"quote that stays open after a tag", []string{`"a", "b`}, true, false, true, true, false},
		{"quote within a word", []string{`x"a"`}, true, false, false, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := ParseETags(test.values)
			if l.Present() != test.present || l.Star() != test.star {
				t.Errorf("present %v, star %v", l.Present(), l.Star())
			}
			if got := l.MatchStrong(`"a"`); got != test.strong {
				t.Errorf("strong match %v, want %v", got, test.strong)
			}
			if got := l.MatchWeak(`"a"`); got != test.weak {
				t.Errorf("weak match %v, want %v", got, test.weak)
			}
			if got := l.MatchWeak(`"b"`); got != test.another {
				t.Errorf("match of another %v, want %v", got, test.another)
			}
			if l.MatchStrong("") || l.MatchWeak("") {
				t.Error("a resource without entity-tag matches")
			}
			if l.MatchStrong(`W/"a"`) {
				t.Error("a weak entity-tag matches strongly")
			}
		})
	}
}
