package dav

import (
	"strings"
	"unicode/utf8"

	"holdfast/store"
)

// pattern is the literal of a like (RFC 5323 section 5.15): "_" stands for one
// character, "%" for any number of them, and a backslash before either, or
// before another, makes it an ordinary one.
type pattern struct {
	// parts are the texts between the "%", when there is no "_" in them.
	parts []string
	// Otherwise the pattern is an automaton: state i has read i characters of
	// it. steps holds the states that a character leads on from, wild those
	// that any does, and loops those in front of which there is a "%".
	steps       map[rune]bitset
	wild, loops bitset
	chars       int
}

// bitset is a set of states.
type bitset []uint64

func (b bitset) set(i int) { b[i/64] |= 1 << (i % 64) }

// parsePattern reads a pattern; ok is false when a backslash stands before
// something else than it can quote.
func parsePattern(literal string, caseless bool) (p pattern, ok bool) {
	// Characters are folded once the pattern's own are told apart, since folding
	// may join or part them. A nil text is a "_", what separates parts a "%".
	parts := []string{""}
	var singles bool
	for i := 0; i < len(literal); i++ {
		last := &parts[len(parts)-1]
		switch c := literal[i]; c {
		case '%':
			parts = append(parts, "")
		case '_':
			*last += string(anyChar)
			singles = true
		case '\\':
			if i++; i == len(literal) || !strings.ContainsRune(`%_\`, rune(literal[i])) {
				return p, false
			}
			*last += literal[i : i+1]
		default:
			*last += literal[i : i+1]
		}
	}
	for i := range parts {
		parts[i] = store.Fold(parts[i], caseless)
	}
	if !singles {
		return pattern{parts: parts}, true
	}
	p.compile(parts)
	return p, true
}

// anyChar stands for a "_" among the characters of a pattern. XML has no such
// character.
const anyChar = '\uFFFF'

// compile makes the automaton.
func (p *pattern) compile(parts []string) {
	for _, part := range parts {
		p.chars += utf8.RuneCountInString(part)
	}
	words := p.chars/64 + 1
	p.steps, p.wild, p.loops = map[rune]bitset{}, make(bitset, words), make(bitset, words)
	state := 0
	for i, part := range parts {
		if i > 0 {
			p.loops.set(state)
		}
		for _, r := range part {
			if r == anyChar {
				p.wild.set(state)
			} else {
				if p.steps[r] == nil {
					p.steps[r] = make(bitset, words)
				}
				p.steps[r].set(state)
			}
			state++
		}
	}
}

// matches reports whether a folded text is like the pattern. No pattern makes it
// go back: each character of the text is looked at once, for 64 characters of
// the pattern at a time.
func (p *pattern) matches(text string) bool {
	if p.steps == nil {
		return p.matchesParts(text)
	}
	now := make(bitset, len(p.loops))
	now[0] = 1
	for _, r := range text {
		step := p.steps[r]
		carry, alive := uint64(0), uint64(0)
		for i, states := range now {
			on := states & p.wild[i]
			if step != nil {
				on |= states & step[i]
			}
			now[i] = on<<1 | carry | states&p.loops[i]
			carry = on >> 63
			alive |= now[i]
		}
		if alive == 0 {
			return false
		}
	}
	return now[p.chars/64]&(1<<(p.chars%64)) != 0
}

// matchesParts finds each part as early as it goes.
func (p *pattern) matchesParts(text string) bool {
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(p.parts) == 1 {
		return text == first
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}
