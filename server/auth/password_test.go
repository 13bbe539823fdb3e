package auth

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

func TestHashPassword(t *testing.T) {
	hash := mustHash(t, "pässwörd")
	if !regexp.MustCompile(`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`).MatchString(hash) {
		t.Errorf("not a PHC string with the parameters: %s", hash)
	}
	if again := mustHash(t, "pässwörd"); again == hash {
		t.Error("two hashes of one password are equal: no salt")
	}
	for password, want := range map[string]bool{
		"pässwörd":             true,
		"pa\u0308sswo\u0308rd": true, // the same in NFD
		"passwörd":             false,
		"pässwörd ":            false,
		"":                     false,
	} {
		if got, err := verify(hash, password); got != want || err != nil {
			t.Errorf("verify %q: %v, %v", password, got, err)
		}
	}
}

func TestVerifyTakesTheHashesOwnParameters(t *testing.T) {
	p := params{memory: 64, time: 1, threads: 2, salt: random(8)}
	if right, err := verify(p.encode(p.key("secret", 16)), "secret"); !right || err != nil {
		t.Error(right, err)
	}
}

func TestVerifyRefusesUnusableHashes(t *testing.T) {
	good := mustHash(t, "x")
	for outcome, hash := range map[string]string{
		"empty":              "",
		"other algorithm":    strings.Replace(good, "argon2id", "argon2i", 1),
		"other version":      strings.Replace(good, "v=19", "v=16", 1),
		"gigabytes":          strings.Replace(good, "m=19456", "m=4000000", 1),
		"hours":              strings.Replace(good, "t=2", "t=100000", 1),
		"no time":            strings.Replace(good, "t=2", "t=0", 1),
		"no threads":         strings.Replace(good, "p=1", "p=0", 1),
		"unknown parameter":  strings.Replace(good, "p=1", "q=1", 1),
		"missing parameter":  strings.Replace(good, ",p=1", "", 1),
		"key cut off":        good[:len(good)-30],
		"text after the key": good + "$x",
	} {
		t.Run(outcome, func(t *testing.T) {
			if right, err := verify(hash, "x"); right || !errors.Is(err, errHash) {
				t.Errorf("got %v, %v", right, err)
			}
		})
	}
}

func TestCheckPassword(t *testing.T) {
	for outcome, c := range map[string]struct {
		password string
		good     bool
	}{
		"short is the user's business": {"x", true},
		"longest":                      {strings.Repeat("x", MaxPasswordBytes), true},
		"too long":                     {strings.Repeat("x", MaxPasswordBytes+1), false},
		"empty":                        {"", false},
		"line end":                     {"a\nb", false},
		"not UTF-8":                    {"\xff", false},
	} {
		t.Run(outcome, func(t *testing.T) {
			if err := CheckPassword(c.password); (err == nil) != c.good || err != nil && !errors.Is(err, ErrBadPassword) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNewPassword(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		password := NewPassword()
		// 26 characters of 32: 130 bits.
		if !regexp.MustCompile(`^([a-z2-7]{5}-){4}[a-z2-7]{6}$`).MatchString(password) || seen[password] {
			t.Fatalf("bad or repeated: %q", password)
		}
		seen[password] = true
	}
}

func TestDummyHashIsAsDearAsARealOne(t *testing.T) {
	dummy, _, err := decode(dummyHash)
	if err != nil {
		t.Fatal(err)
	}
	real, _, err := decode(mustHash(t, "x"))
	if err != nil {
		t.Fatal(err)
	}
	if dummy.memory != real.memory || dummy.time != real.time || dummy.threads != real.threads {
		t.Errorf("dummy %d,%d,%d, real %d,%d,%d", dummy.memory, dummy.time, dummy.threads, real.memory, real.time, real.threads)
	}
}
