package content

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

// DigestError is a digest field whose value its algorithm cannot have.
type DigestError struct{ Field string }

func (e *DigestError) Error() string {
	return fmt.Sprintf("the %s header has a malformed sha-256", e.Field)
}

// Digests are the SHA-256 values that Content-Digest and Repr-Digest name (RFC
// 9530), which are the same where content has no coding. Other algorithms are
// passed over. The error is a *DigestError.
func Digests(h http.Header) (sums [][]byte, err error) {
	for _, field := range []string{"Content-Digest", "Repr-Digest"} {
		some, ok := parseDigest(strings.Join(h.Values(field), ","))
		if !ok {
			return nil, &DigestError{field}
		}
		sums = append(sums, some...)
	}
	return sums, nil
}

// parseDigest reads the SHA-256 of a digest field: a dictionary whose values are
// base64 between colons (RFC 9530 section 2, RFC 8941 sections 3.2 and 3.3.5).
func parseDigest(text string) (sums [][]byte, ok bool) {
	for member := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(trimOWS(member), "=")
		if key != "sha-256" {
			continue
		}
		value, _, _ = strings.Cut(value, ";") // parameters
		encoded, opened := strings.CutPrefix(trimOWS(value), ":")
		encoded, closed := strings.CutSuffix(encoded, ":")
		sum, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || !opened || !closed || len(sum) != sha256.Size {
			return nil, false
		}
		sums = append(sums, sum)
	}
	return sums, true
}
