package litmus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// largeMiB is the short form of TestLargeR57B74; `make large` uploads more than 4 GiB,
// where a size that is kept in 32 bits shows.
const largeMiB = 64

// TestLargeR57B74 uploads one large file of known and of unknown length, to a folder and
// to S3, and reads it back whole and at its end. HOLDFAST_LARGE sets its size in
// MiB.
func TestLargeR57B74(t *testing.T) {
	size := int64(setting(t, "HOLDFAST_LARGE", largeMiB))<<20 + 1
	for _, backing := range []struct {
		name string
		open func(*testing.T) backing
	}{{"folder", folderBacking}, {"S3", s3Backing}} {
		t.Run(backing.name, func(t *testing.T) {
			s := startServer(t, backing.open(t), anonymous...)
			for _, known := range []bool{true, false} {
				s.uploadLarge(t, size, known)
			}
		})
	}
}

func (s *server) uploadLarge(t *testing.T, size int64, known bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	target := s.dav(fmt.Sprintf("large-%t", known))
	sent := &pattern{left: size, sum: sha256.New()}
	length := size
	if !known {
		length = -1
	}
	if status, _ := s.stream(t, ctx, http.MethodPut, target, sent, length, ""); status != http.StatusCreated {
		t.Fatalf("PUT: %d", status)
	}
	if r := s.do(t, "PROPFIND", target, "", "Depth", "0"); !strings.Contains(r.body, fmt.Sprintf("<D:getcontentlength>%d<", size)) {
		t.Errorf("PROPFIND: %d %s", r.status, clip(r.body))
	}
	status, got := s.stream(t, ctx, http.MethodGet, target, http.NoBody, 0, "")
	if want := hex.EncodeToString(sent.sum.Sum(nil)); status != http.StatusOK || got != want {
		t.Errorf("GET: %d, SHA-256 %s, want %s", status, got, want)
	}
	last := &pattern{at: size - 1000, left: 1000, sum: sha256.New()}
	if _, err := io.Copy(io.Discard, last); err != nil {
		t.Fatal(err)
	}
	status, got = s.stream(t, ctx, http.MethodGet, target, http.NoBody, 0, fmt.Sprintf("bytes=%d-", size-1000))
	if want := hex.EncodeToString(last.sum.Sum(nil)); status != http.StatusPartialContent || got != want {
		t.Errorf("GET of the end: %d, SHA-256 %s, want %s", status, got, want)
	}
	if r := s.do(t, "DELETE", target, ""); r.status != http.StatusNoContent {
		t.Errorf("DELETE: %d", r.status)
	}
}

// stream sends a request whose bodies are too long to keep, and returns the status
// and the SHA-256 of the answer's body.
func (s *server) stream(t *testing.T, ctx context.Context, method, target string, body io.Reader, length int64, byteRange string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = length
	if s.user != "" {
		r.SetBasicAuth(s.user, s.password)
	}
	if byteRange != "" {
		r.Header.Set("Range", byteRange)
	}
	answer, err := (&http.Client{Transport: client.Transport}).Do(r)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	defer answer.Body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, answer.Body); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return answer.StatusCode, hex.EncodeToString(sum.Sum(nil))
}

// pattern is content that differs from offset to offset and is never in memory.
type pattern struct {
	at, left int64
	sum      hash.Hash
}

// patternBlock is repeated, each time with the number of the block at its start.
var patternBlock = bytes.Repeat([]byte("0123456789abcdef"), 4096)

// Read implements io.Reader.
func (p *pattern) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	block, offset := p.at/int64(len(patternBlock)), p.at%int64(len(patternBlock))
	head := fmt.Sprintf("%016x", block)
	n := 0
	if offset < int64(len(head)) {
		n = copy(b, head[offset:])
	} else {
		n = copy(b, patternBlock[offset:])
	}
	n = int(min(int64(n), p.left))
	p.at += int64(n)
	p.left -= int64(n)
	p.sum.Write(b[:n])
	return n, nil
}
