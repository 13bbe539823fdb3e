package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/patrickmn/go-cache"
)

const (
	rememberRight = 5 * time.Minute // since the last use
	rememberWrong = time.Minute
	rememberMax   = 10_000 // outcomes of either kind
)

// memory remembers outcomes of logins. Right and wrong ones are kept apart, so
// that guessing cannot push out those who are in.
type memory struct {
	key          []byte
	right, wrong *cache.Cache
}

func newMemory() *memory {
	return &memory{
		key:   random(sha256.Size),
		right: cache.New(rememberRight, rememberRight),
		wrong: cache.New(rememberWrong, rememberWrong),
	}
}

// digest names a login without telling its password. Every part has a length
// before it, so no two logins run together into one.
func (m *memory) digest(id, version int64, name, password string) string {
	mac := hmac.New(sha256.New, m.key)
	var number [8]byte
	put := func(n int64) {
		binary.BigEndian.PutUint64(number[:], uint64(n))
		mac.Write(number[:])
	}
	put(id)
	put(version)
	put(int64(len(name)))
	mac.Write([]byte(name))
	mac.Write([]byte(password))
	return string(mac.Sum(nil))
}

// recall gives a remembered outcome. A right one is remembered anew, so that a
// client at work never waits for a hash.
func (m *memory) recall(digest string) (right, known bool) {
	if _, ok := m.right.Get(digest); ok {
		m.right.SetDefault(digest, nil)
		return true, true
	}
	_, known = m.wrong.Get(digest)
	return false, known
}

func (m *memory) remember(digest string, right bool) {
	in := m.wrong
	if right {
		in = m.right
	}
	if in.ItemCount() >= rememberMax {
		in.DeleteExpired()
		if in.ItemCount() >= rememberMax {
			in.Flush()
		}
	}
	in.SetDefault(digest, nil)
}
