package auth

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// MaxPasswordBytes is how long a password may be.
const MaxPasswordBytes = 1024

// ErrBadPassword is wrapped by what CheckPassword refuses.
var ErrBadPassword = errors.New("bad password")

// errHash says that an encoded hash cannot be used. The hash is not repeated.
var errHash = errors.New("not an argon2id hash with parameters in bounds")

// The cost of new hashes: OWASP's second choice of equal strength, taken for
// its small memory. A stored hash carries its own.
const (
	hashMemory  = 19 * 1024 // KiB
	hashTime    = 2
	hashThreads = 1
	saltBytes   = 16
	keyBytes    = 32
)

// dummyHash is what users without a usable hash are compared with. Its key is
// random and unknown, so nothing matches it.
var dummyHash = newParams().encode(random(keyBytes))

// params are the cost and salt of an argon2id hash.
type params struct {
	memory, time uint32
	threads      uint8
	salt         []byte
}

func newParams() params {
	return params{memory: hashMemory, time: hashTime, threads: hashThreads, salt: random(saltBytes)}
}

// CheckPassword refuses a password that could not be sent by Basic: empty,
// longer than MaxPasswordBytes, not UTF-8, or with control characters (RFC 7617
// section 2).
func CheckPassword(password string) error {
	switch {
	case password == "":
		return fmt.Errorf("%w: it is empty", ErrBadPassword)
	case len(password) > MaxPasswordBytes:
		return fmt.Errorf("%w: it is longer than %d bytes", ErrBadPassword, MaxPasswordBytes)
	case !utf8.ValidString(password):
		return fmt.Errorf("%w: it is not UTF-8", ErrBadPassword)
	case strings.ContainsFunc(password, unicode.IsControl):
		return fmt.Errorf("%w: it has a control character", ErrBadPassword)
	}
	return nil
}

// HashPassword gives the argon2id hash of a password, with its parameters, in
// the PHC string format. It is made of the NFC form, which RFC 7617 section 2.1
// expects of clients and not all of them send.
func HashPassword(password string) (string, error) {
	if err := CheckPassword(password); err != nil {
		return "", err
	}
	p := newParams()
	return p.encode(p.key(password, keyBytes)), nil
}

// NewPassword mints a password of 130 random bits that can be read aloud.
func NewPassword() string {
	text := strings.ToLower(rand.Text())
	var groups []string
	for len(text) > 6 {
		groups = append(groups, text[:5])
		text = text[5:]
	}
	return strings.Join(append(groups, text), "-")
}

// verify reports whether the password has this hash, in a time that does not
// depend on where they differ. An unusable hash is an error.
func verify(encoded, password string) (bool, error) {
	p, key, err := decode(encoded)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(key, p.key(password, uint32(len(key)))) == 1, nil
}

func (p params) key(password string, size uint32) []byte {
	return argon2.IDKey([]byte(norm.NFC.String(password)), p.salt, p.time, p.memory, p.threads, size)
}

func (p params) encode(key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, p.time, p.threads,
		base64.RawStdEncoding.EncodeToString(p.salt), base64.RawStdEncoding.EncodeToString(key))
}

// decode reads what encode wrote. The bounds keep a damaged row from asking for
// gigabytes or hours.
func decode(encoded string) (params, []byte, error) {
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return params{}, nil, errHash
	}
	p, err := decodeCost(parts[3])
	if err != nil {
		return params{}, nil, err
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	key, keyErr := base64.RawStdEncoding.DecodeString(parts[5])
	if saltErr != nil || keyErr != nil || len(salt) < 8 || len(salt) > 64 || len(key) < 16 || len(key) > 64 {
		return params{}, nil, errHash
	}
	p.salt = salt
	return p, key, nil
}

// decodeCost reads "m=19456,t=2,p=1".
func decodeCost(text string) (params, error) {
	fields := strings.Split(text, ",")
	bounds := []struct {
		prefix   string
		from, to uint64
	}{{"m=", 8, 1 << 20}, {"t=", 1, 64}, {"p=", 1, math.MaxUint8}}
	if len(fields) != len(bounds) {
		return params{}, errHash
	}
	var values [3]uint64
	for i, bound := range bounds {
		digits, ok := strings.CutPrefix(fields[i], bound.prefix)
		value, err := strconv.ParseUint(digits, 10, 32)
		if !ok || err != nil || value < bound.from || value > bound.to {
			return params{}, errHash
		}
		values[i] = value
	}
	return params{memory: uint32(values[0]), time: uint32(values[1]), threads: uint8(values[2])}, nil
}

func random(size int) []byte {
	b := make([]byte, size)
	rand.Read(b) // never fails, says its documentation
	return b
}
