package store

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/adler32"
	"io"
	"slices"
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

// found are the checksums of what has passed.
func (v *verifier) found() (sums []Checksum) {
	for i, h := range v.hashes {
		if h != nil {
			sums = append(sums, Checksum{verifiable[i].name, hex.EncodeToString(h.Sum(nil))})
		}
	}
	return sums
}

// verify decides, once all of the body has passed, whether it is what the client
// said: ErrChecksum when not. It returns what to keep.
func (v *verifier) verify(b *body) (kept string, err error) {
	found := v.found()
	known := append(found, Checksum{sha256Name, hex.EncodeToString(b.object.SHA256[:])})
	for _, sum := range v.asked {
		if value := valueOf(known, sum.Algorithm); value != "" && sum.Hex != "" && value != sum.Hex {
			return "", ErrChecksum
		}
	}
	return joinChecksums(found), nil
}

// valueOf finds the value of an algorithm, "" when there is none.
func valueOf(sums []Checksum, algorithm string) string {
	for _, sum := range sums {
		if sum.Algorithm == algorithm {
			return sum.Hex
		}
	}
	return ""
}

// Checksums are those of the file at a path. The ones that are asked for and not
// known yet are computed from its content, which takes as long as reading it and
// waiting for others that are computed (see hashing), and kept. Algorithms that are
// unknown here are passed over.
//
// Errors: ErrNotFound, ErrIsFolder, ErrUnavailable, and the context's.
func (s *Store) Checksums(ctx context.Context, target Target, algorithms ...string) (known []Checksum, err error) {
	f, err := s.checked(ctx, target)
	if err != nil || len(f.unknown(algorithms)) == 0 {
		return f.known, err
	}
	end, err := s.hashing.begin(ctx, target.Workspace)
	if err != nil {
		return nil, err
	}
	defer end()
	// Meanwhile somebody else may have computed them.
	f, err = s.checked(ctx, target)
	missing := f.unknown(algorithms)
	if err != nil || len(missing) == 0 {
		return f.known, err
	}
	defer f.content.Close()
	r, v := verifying(contextReader{ctx, f.content}, missing)
	whole := sha256.New()
	if _, err := io.Copy(whole, r); err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	sum := whole.Sum(nil)
	if hex.EncodeToString(sum) != valueOf(f.known, sha256Name) {
		return nil, fmt.Errorf("the content of blob %d is damaged", f.blob)
	}
	return s.addChecksums(ctx, f.blob, sum, v.found())
}

// checkedFile is a file's content and what is known of it at one moment. Nothing
// has to be closed before it is read.
type checkedFile struct {
	blob    int64
	known   []Checksum
	content io.ReadSeekCloser
}

// checked looks up the file at a path.
func (s *Store) checked(ctx context.Context, target Target) (f checkedFile, err error) {
	err = s.snapshot(ctx, func(t *tx) error {
		sp, err := t.mapped(target)
		if err != nil {
			return err
		}
		if sp.node.IsFolder() {
			return ErrIsFolder
		}
		f.blob = sp.node.blob
		if f.known, err = t.checksums(sp.node); err != nil {
			return err
		}
		f.content, err = t.content(ctx, *sp.node)
		return err
	})
	return f, err
}

// unknown are those of the algorithms that can be computed and have no value yet.
func (f checkedFile) unknown(algorithms []string) (missing []Checksum) {
	for _, a := range verifiable {
		if slices.Contains(algorithms, a.name) && valueOf(f.known, a.name) == "" {
			missing = append(missing, Checksum{Algorithm: a.name})
		}
	}
	return missing
}

// addChecksums keeps more checksums of content, unless its row has gone or holds
// other content by now, and returns all that are known.
func (s *Store) addChecksums(ctx context.Context, blob int64, sha256 []byte, more []Checksum) (known []Checksum, err error) {
	// As in Purge, no namespace row: nothing that a lock guards is changed.
	err = s.update(ctx, nil, func(t *tx) error {
		var kept string
		_, err := t.row(`SELECT coalesce(checksums, '') FROM blobs WHERE id = ? AND sha256 = ?`, []any{blob, sha256}, &kept)
		if err != nil {
			return err
		}
		all := append(knownChecksums(sha256, kept), more...)
		var sums []Checksum
		for _, algorithm := range verifiable {
			if value := valueOf(all, algorithm.name); value != "" {
				sums = append(sums, Checksum{algorithm.name, value})
			}
		}
		kept = joinChecksums(sums)
		known = knownChecksums(sha256, kept)
		_, err = t.exec(`UPDATE blobs SET checksums = ? WHERE id = ? AND sha256 = ?`, kept, blob, sha256)
		return err
	})
	return known, err
}

// proves decides whether a node's content is known to have all of these
// checksums: ErrChecksum when not.
func (t *tx) proves(n *Node, sums []Checksum) error {
	if len(sums) == 0 {
		return nil
	}
	known, err := t.checksums(n)
	if err != nil {
		return err
	}
	for _, sum := range sums {
		if valueOf(known, sum.Algorithm) != sum.Hex {
			return ErrChecksum
		}
	}
	return nil
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
