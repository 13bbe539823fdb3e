package dav

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"holdfast/dav/content"
	"holdfast/store"
)

// checksumBytes is how long the values of the known algorithms are.
var checksumBytes = map[string]int{"SHA1": 20, "MD5": 16, "ADLER32": 4, "SHA256": 32}

// parseChecksums reads what the headers of a request say of its content:
// OC-Checksum, as clients of ownCloud send it, and the SHA-256 of Content-Digest
// and Repr-Digest (RFC 9530), which are the same where content has no coding.
// Unknown algorithms are passed over; a known one with a value that it cannot
// have is 400.
func parseChecksums(h http.Header) ([]store.Checksum, error) {
	sums, err := parseChecksumList(strings.Join(h.Values("OC-Checksum"), " "))
	if err != nil {
		return nil, err
	}
	sums = addCompared(sums)
	digests, err := content.Digests(h)
	if err != nil {
		return nil, badRequest(err.Error())
	}
	for _, sum := range digests {
		sums = append(sums, store.Checksum{Algorithm: "SHA256", Hex: hex.EncodeToString(sum)})
	}
	return sums, nil
}

// addCompared asks for the two checksums by which clients of ownCloud compare
// files. With an upload they name one, and may ask for the other later.
func addCompared(sums []store.Checksum) []store.Checksum {
	if len(sums) == 0 {
		return nil
	}
	named := algorithms(sums)
	for _, algorithm := range []string{"SHA1", "MD5"} {
		if !slices.Contains(named, algorithm) {
			sums = append(sums, store.Checksum{Algorithm: algorithm})
		}
	}
	return sums
}

var errBadChecksum = badRequest("a checksum must be ALGORITHM:HEX, with a value as long as the algorithm's")

// parseChecksumList reads "ALGORITHM:HEX" with blanks between, the form of the
// OC-Checksum header and of the property. Algorithms come in any letter case.
func parseChecksumList(text string) ([]store.Checksum, error) {
	var sums []store.Checksum
	for _, entry := range strings.Fields(text) {
		algorithm, value, ok := strings.Cut(entry, ":")
		algorithm = strings.ToUpper(algorithm)
		size, known := checksumBytes[algorithm]
		switch {
		case !ok:
			return nil, errBadChecksum
		case !known:
			continue
		case algorithm == "ADLER32" && value != "":
			// A number to some, who leave out zeros before it.
			value = strings.Repeat("0", max(0, 2*size-len(value))) + value
		}
		if b, err := hex.DecodeString(value); err != nil || len(b) != size {
			return nil, errBadChecksum
		}
		sums = append(sums, store.Checksum{Algorithm: algorithm, Hex: strings.ToLower(value)})
	}
	return sums, nil
}

// formatChecksums is the way back.
func formatChecksums(sums []store.Checksum) string {
	var entries []string
	for _, sum := range sums {
		entries = append(entries, sum.Algorithm+":"+sum.Hex)
	}
	return strings.Join(entries, " ")
}

// algorithms are those of checksums.
func algorithms(sums []store.Checksum) (names []string) {
	for _, sum := range sums {
		names = append(names, sum.Algorithm)
	}
	return names
}
