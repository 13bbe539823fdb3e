package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"sync"
	"time"
)

const (
	// nonceLife is how long a nonce can be used: each new one costs a client a
	// request, and maybe the body that it sent along.
	nonceLife = 10 * time.Minute
	// ncWindow is how far behind the highest count of a nonce a request may come:
	// those of parallel connections overtake one another.
	ncWindow = 256
	// noncesMax is how many nonces in use are known, twice.
	noncesMax = 10_000
	nonceMAC  = 16 // bytes
)

// nonceID is a nonce without its proof: when it was issued, in milliseconds, and
// random bits.
type nonceID [16]byte

func (id nonceID) issued() time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8])))
}

// nonces makes the nonces of Digest challenges and sees to it that no request
// counts twice. What was issued is not kept, it is proved by a key of the process;
// only what was used is, in two generations, so that forgetting the older one is
// cheap. A nonce of another process, or of before a restart, proves nothing here.
type nonces struct {
	key []byte
	now func() time.Time

	mu         sync.Mutex
	young, old map[nonceID]*ncBits
	turned     time.Time // when young began
	// floor: of nonces issued until then it is no longer known whether they were
	// used, unless they are in young or old.
	floor time.Time
}

// ncBits are the counts of one nonce that were seen: the highest, and those up to
// ncWindow below it.
type ncBits struct {
	top  uint32
	seen [ncWindow / 64]uint64
}

func newNonces(now func() time.Time) *nonces {
	return &nonces{key: random(sha256.Size), now: now, young: map[nonceID]*ncBits{}, turned: now()}
}

// issue makes a nonce.
func (n *nonces) issue() string {
	var id nonceID
	binary.BigEndian.PutUint64(id[:8], uint64(n.now().UnixMilli()))
	copy(id[8:], random(8))
	return base64.RawURLEncoding.EncodeToString(append(id[:], n.prove(id)...))
}

func (n *nonces) prove(id nonceID) []byte {
	mac := hmac.New(sha256.New, n.key)
	mac.Write(id[:])
	return mac.Sum(nil)[:nonceMAC]
}

// use reports whether a nonce is this process's and not too old, and its count nc
// comes for the first time, and notes it. What is false here may be only old: the
// client is to try again with a new nonce.
func (n *nonces) use(nonce string, nc uint32) bool {
	raw, err := base64.RawURLEncoding.DecodeString(nonce)
	if err != nil || len(raw) != len(nonceID{})+nonceMAC {
		return false
	}
	id := nonceID(raw)
	if !hmac.Equal(n.prove(id), raw[len(id):]) {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	if now.Sub(id.issued()) > nonceLife {
		return false
	}
	bits := n.bitsLocked(id, now)
	return bits != nil && bits.take(nc)
}

// bitsLocked finds the counts of a nonce; nil when they may be forgotten.
func (n *nonces) bitsLocked(id nonceID, now time.Time) *ncBits {
	if bits := n.young[id]; bits != nil {
		return bits
	}
	if len(n.young) >= noncesMax || now.Sub(n.turned) > nonceLife {
		// What old held was issued before young began.
		n.floor, n.turned = n.turned, now
		n.old, n.young = n.young, map[nonceID]*ncBits{}
	}
	bits := n.old[id]
	if bits == nil {
		if !id.issued().After(n.floor) {
			return nil
		}
		bits = &ncBits{}
	}
	n.young[id] = bits
	return bits
}

// take notes a count, which starts at 1, and reports whether it is new.
func (b *ncBits) take(nc uint32) bool {
	if nc == 0 || uint64(nc)+ncWindow <= uint64(b.top) {
		return false
	}
	if nc > b.top {
		for next := max(uint64(b.top)+1, uint64(nc)-min(uint64(nc), ncWindow-1)); next <= uint64(nc); next++ {
			b.seen[next%ncWindow/64] &^= 1 << (next % 64)
		}
		b.top = nc
	}
	word, bit := &b.seen[nc%ncWindow/64], uint64(1)<<(nc%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}
