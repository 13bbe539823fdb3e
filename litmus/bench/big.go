package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// mostMemory is how much memory, in bytes, Holdfast may have resident at any time while a large body
// goes through it, however large the body is.
const mostMemory = 200 << 20

// big is what the transfer of one large body gave.
type big struct {
	Server   string  `json:"server"`
	Bytes    int64   `json:"bytes"`
	Upload   float64 `json:"upload_mib_s"`
	Download float64 `json:"download_mib_s"`
	Peak     int64   `json:"peak_rss_bytes"` // of the server's process, from its start
}

// compareBig sends a large body to each server and reads it back. Each server has a process of its own
// for it, whose peak of memory therefore is that of the transfer, and is stopped before the next starts,
// so that the body is on the disk once.
func (o *options) compareBig(ctx context.Context) ([]big, error) {
	var results []big
	for _, name := range []string{holdfast, xnet} {
		o.progress("%d MiB to and from %s", o.bigBytes>>20, name)
		s, err := o.start(ctx, name)
		if err != nil {
			return results, err
		}
		b, err := transferBig(s, o.bigBytes)
		if err = errors.Join(err, s.stop()); err != nil {
			return results, fmt.Errorf("%s: large body: %w", name, err)
		}
		results = append(results, b)
		if name == holdfast && b.Peak > mostMemory {
			return results, fmt.Errorf("%s: large body: %d MiB of memory, more than %d MiB", name, b.Peak>>20, mostMemory>>20)
		}
	}
	return results, nil
}

// transferBig puts a body of n bytes and gets it again, both as streams.
func transferBig(s *server, n int64) (big, error) {
	const path = mount + "large.bin"
	b := big{Server: s.name, Bytes: n}
	c := s.client()
	defer c.close()
	if err := c.options(mount); err != nil {
		return b, err
	}
	flushDisk()
	begun := time.Now()
	if _, err := c.ask(request{method: "PUT", path: path, stream: &pattern{}, length: n}, http.StatusCreated); err != nil {
		return b, err
	}
	b.Upload = mibPerSecond(n, time.Since(begun))
	begun = time.Now()
	check := &checker{}
	if _, err := c.ask(request{method: "GET", path: path, sink: check}, http.StatusOK); err != nil {
		return b, err
	}
	b.Download = mibPerSecond(n, time.Since(begun))
	if check.length != n {
		return b, fmt.Errorf("%w: %d bytes, want %d", errContent, check.length, n)
	}
	var err error
	b.Peak, err = s.peak()
	return b, err
}

func mibPerSecond(n int64, took time.Duration) float64 {
	return float64(n) / (1 << 20) / took.Seconds()
}

// pattern is an endless stream of blocks of 1 MiB that differ in their first eight bytes, so that no two
// places of it are alike to a server that mixes blocks up.
type pattern struct{ offset int64 }

// Read implements io.Reader; it never fails.
func (p *pattern) Read(b []byte) (int, error) {
	block := p.block()
	n := copy(b, block)
	p.offset += int64(n)
	return n, nil
}

// block returns what follows up to the end of the stamp or of the block.
func (p *pattern) block() []byte {
	number, in := p.offset/int64(len(mega)), p.offset%int64(len(mega))
	if in >= 8 {
		return mega[in:]
	}
	return binary.BigEndian.AppendUint64(nil, uint64(number))[in:]
}

// checker takes in a stream that must be a pattern.
type checker struct {
	pattern pattern
	length  int64 // in bytes, so far
}

var _ io.Writer = (*checker)(nil)

// Write implements io.Writer; it fails at the first byte that is wrong.
func (k *checker) Write(b []byte) (int, error) {
	written := len(b)
	for len(b) > 0 {
		want := k.pattern.block()
		n := min(len(b), len(want))
		if !bytes.Equal(b[:n], want[:n]) {
			return 0, errContent
		}
		k.pattern.offset += int64(n)
		b = b[n:]
	}
	k.length += int64(written)
	return written, nil
}
