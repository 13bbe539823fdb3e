package store

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"encoding/hex"
	"hash"
	"hash/adler32"
	"io"
	"strings"

	"holdfast/lockns"
)

// Checksum is a checksum of content.
type Checksum struct {
	// Algorithm is "SHA1", "MD5", "ADLER32" or "SHA256". Others are unknown
	// here, and what is said with them is passed over.
	Algorithm string
	// Hex is the value in lower case.
	Hex string
}

// verifiable are the algorithms that are computed when a client names one, in the
// order in which their values are kept and shown. SHA-256 is computed anyway and
// comes last.
var verifiable = []struct {
	name string
	hash func() hash.Hash
}{
	{"SHA1", sha1.New},
	{"MD5", md5.New},
	{"ADLER32", func() hash.Hash { return adler32.New() }},
}

const sha256Name = "SHA256"

// verifier computes what a client said of a body that passes.
type verifier struct {
	asked  []Checksum
	hashes []hash.Hash // as in verifiable; nil where nobody asked
}

// verifying returns a reader of r whose bytes the verifier sees.
func verifying(r io.Reader, asked []Checksum) (io.Reader, *verifier) {
	v := &verifier{asked: asked, hashes: make([]hash.Hash, len(verifiable))}
	for _, sum := range asked {
		for i, algorithm := range verifiable {
			if sum.Algorithm == algorithm.name && v.hashes[i] == nil {
				v.hashes[i] = algorithm.hash()
				r = io.TeeReader(r, v.hashes[i])
			}
		}
	}
	return r, v
}

// verify decides, once all of the body has passed, whether it is what the client
// said: ErrChecksum when not. It returns what to keep.
func (v *verifier) verify(b *body) (kept string, err error) {
	var found []Checksum
	for i, h := range v.hashes {
		if h != nil {
			found = append(found, Checksum{verifiable[i].name, hex.EncodeToString(h.Sum(nil))})
		}
	}
	known := append(found, Checksum{sha256Name, hex.EncodeToString(b.object.SHA256[:])})
	if contradicts(v.asked, known) {
		return "", ErrChecksum
	}
	return joinChecksums(found), nil
}

// contradicts reports whether a sum has another value than the known one of its
// algorithm.
func contradicts(said, known []Checksum) bool {
	for _, sum := range said {
		for _, k := range known {
			if sum.Algorithm == k.Algorithm && sum.Hex != k.Hex {
				return true
			}
		}
	}
	return false
}

// joinChecksums is how checksums are kept: "ALGORITHM:HEX" with blanks between.
func joinChecksums(sums []Checksum) string {
	var text []string
	for _, sum := range sums {
		text = append(text, sum.Algorithm+":"+sum.Hex)
	}
	return strings.Join(text, " ")
}

// emptyChecksums are those of nothing, as kept. They are known of every empty
// file, so no row has to say them, least of all that of the shared empty object.
var emptyChecksums = func() string {
	var sums []Checksum
	for _, algorithm := range verifiable {
		sums = append(sums, Checksum{algorithm.name, hex.EncodeToString(algorithm.hash().Sum(nil))})
	}
	return joinChecksums(sums)
}()

// knownChecksums are the checksums of content whose row says this.
func knownChecksums(sha256 []byte, kept string) []Checksum {
	if bytes.Equal(sha256, emptySum[:]) {
		kept = emptyChecksums
	}
	var sums []Checksum
	for _, text := range strings.Fields(kept) {
		algorithm, value, _ := strings.Cut(text, ":")
		sums = append(sums, Checksum{algorithm, value})
	}
	return append(sums, Checksum{sha256Name, hex.EncodeToString(sha256)})
}

// checksums reads those of a file's content; a folder has none.
func (t *tx) checksums(n *Node) ([]Checksum, error) {
	if n.IsFolder() {
		return nil, nil
	}
	var sha256 []byte
	var kept string
	ok, err := t.row(`SELECT sha256, coalesce(checksums, '') FROM blobs WHERE id = ?`, []any{n.blob}, &sha256, &kept)
	if err != nil || !ok {
		return nil, err
	}
	return knownChecksums(sha256, kept), nil
}

// fillChecksums reads those of a page of files.
func (t *tx) fillChecksums(page []Entry, folder int64, from cursor, to string) error {
	at := index(page)
	return t.rows(`SELECT f.id, b.sha256, coalesce(b.checksums, '') FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
WHERE f.folder_id = ? AND f.name_key > ? AND f.name_key <= ?`, []any{folder, from.after, to}, func(scan func(...any) error) error {
		var file int64
		var sha256 []byte
		var kept string
		if err := scan(&file, &sha256, &kept); err != nil {
			return err
		}
		if i, ok := at[lockns.Root{Kind: lockns.FileRoot, ID: file}]; ok {
			page[i].Checksums = knownChecksums(sha256, kept)
		}
		return nil
	})
}
