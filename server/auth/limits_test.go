package auth

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

func TestBrakeRefills(t *testing.T) {
	b := newBrake()
	now := time.Unix(1_000_000, 0)
	b.now = func() time.Time { return now }
	for i := range brakeBurst {
		if wait := b.take("k"); wait != 0 {
			t.Fatalf("guess %d waits %v", i, wait)
		}
	}
	if wait := b.take("k"); wait != brakeRefill {
		t.Fatalf("empty bucket: wait %v, want %v", wait, brakeRefill)
	}
	now = now.Add(brakeRefill)
	if wait := b.take("k"); wait != 0 {
		t.Errorf("after one refill: wait %v", wait)
	}
	if wait := b.take("k"); wait == 0 {
		t.Error("one refill gave two guesses")
	}
	now = now.Add(brakeBurst * brakeRefill)
	for i := range brakeBurst {
		if wait := b.take("k"); wait != 0 {
			t.Fatalf("full again: guess %d waits %v", i, wait)
		}
	}
	b.succeed("k")
	if wait := b.take("k"); wait != 0 {
		t.Errorf("after a right one: wait %v", wait)
	}
}

func TestBrakeForgets(t *testing.T) {
	b := newBrake()
	now := time.Unix(1_000_000, 0)
	b.now = func() time.Time { return now }
	for i := range brakeMax + 10 {
		if wait := b.take(fmt.Sprint(i)); wait != 0 {
			t.Fatalf("key %d waits %v", i, wait)
		}
	}
	if n := len(b.buckets); n != brakeMax {
		t.Fatalf("%d buckets, want %d", n, brakeMax)
	}
	now = now.Add(2 * brakeRefill)
	b.take("new")
	if n := len(b.buckets); n != 1 {
		t.Errorf("%d buckets after all are full again, want the new one", n)
	}
}

func TestBrakeKey(t *testing.T) {
	key := func(addr, name string) string {
		return attempt{visit: visit{from: netip.MustParseAddr(addr)}, name: name}.brakeKey()
	}
	for _, c := range []struct {
		outcome string
		a, b    string
		same    bool
	}{
		{"same network of IPv6", key("2001:db8::1", "a"), key("2001:db8::ffff:2", "a"), true},
		{"other network of IPv6", key("2001:db8::1", "a"), key("2001:db8:0:1::1", "a"), false},
		{"IPv4 in IPv6", key("192.0.2.1", "a"), key("::ffff:192.0.2.1", "a"), true},
		{"other IPv4", key("192.0.2.1", "a"), key("192.0.2.2", "a"), false},
		{"name in another case", key("192.0.2.1", "a"), key("192.0.2.1", "A"), true},
		{"other name", key("192.0.2.1", "a"), key("192.0.2.1", "b"), false},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			if (c.a == c.b) != c.same {
				t.Errorf("%q and %q", c.a, c.b)
			}
		})
	}
	if (attempt{name: "a"}).brakeKey() == "" {
		t.Error("an unknown address has no key")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newMemory()
	m.remember("in", true)
	for i := range rememberMax + 10 {
		m.remember(fmt.Sprint(i), false)
	}
	if n := m.wrong.ItemCount(); n > rememberMax {
		t.Errorf("%d wrong outcomes kept", n)
	}
	if right, known := m.recall("in"); !right || !known {
		t.Error("wrong guesses pushed a right login out")
	}
}

func TestDigestTellsLoginsApart(t *testing.T) {
	m := newMemory()
	base := m.digest(1, 1, "alice", "secret")
	for outcome, other := range map[string]string{
		"id":                    m.digest(2, 1, "alice", "secret"),
		"version":               m.digest(1, 2, "alice", "secret"),
		"password":              m.digest(1, 1, "alice", "Secret"),
		"name":                  m.digest(1, 1, "bob", "secret"),
		"letters change places": m.digest(1, 1, "alices", "ecret"),
		"another process":       newMemory().digest(1, 1, "alice", "secret"),
	} {
		t.Run(outcome, func(t *testing.T) {
			if other == base {
				t.Error("same digest")
			}
		})
	}
	if again := m.digest(1, 1, "alice", "secret"); again != base {
		t.Error("the same login has two digests")
	}
}
