package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certEvery is how often the files of a certificate are looked at, at most.
const certEvery = time.Second

// certificate is a TLS certificate that is read again when its files change. It
// may be used concurrently.
type certificate struct {
	files [2]string // the chain and the key, PEM
	every time.Duration
	log   *slog.Logger

	mu     sync.Mutex
	looked time.Time      // when the files were looked at
	seen   [2]fs.FileInfo // as they were when read, with or without success
	pair   *tls.Certificate
}

// loadCertificate reads the certificate of a configuration, nil when it has none.
// Errors name the flags.
func loadCertificate(cfg *Config, log *slog.Logger) (*certificate, error) {
	if cfg.TLSCert == "" {
		return nil, nil
	}
	c := &certificate{files: [2]string{cfg.TLSCert, cfg.TLSKey}, every: certEvery, log: log}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	return c, nil
}

// config is how the server speaks TLS. net/http adds HTTP/2 to it.
func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

// get implements tls.Config.GetCertificate: the newest certificate that could be
// read. Both files are seldom replaced at one moment; until they fit, and when
// they are broken, the last one that was whole stays in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) >= c.every && c.changedLocked() {
		if err := c.loadLocked(); err != nil {
			c.log.Error("new TLS certificate cannot be used; the old one stays", "err", err)
		} else {
			c.log.Info("TLS certificate read again", "file", c.files[0], "ends", c.pair.Leaf.NotAfter)
		}
	}
	return c.pair, nil
}

// changedLocked reports whether the files are others than those read last. One
// that is away is being replaced.
func (c *certificate) changedLocked() bool {
	c.looked = time.Now()
	changed := false
	for i, name := range c.files {
		info, err := os.Stat(name)
		if err != nil {
			return false
		}
		was := c.seen[i]
		changed = changed || !os.SameFile(info, was) || info.Size() != was.Size() || !info.ModTime().Equal(was.ModTime())
	}
	return changed
}

func (c *certificate) load() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loadLocked()
}

// loadLocked reads the files. What it saw of them is kept even if they are of no
// use, so that each state of them is tried, and complained about, once.
func (c *certificate) loadLocked() error {
	c.looked = time.Now()
	var seen [2]fs.FileInfo
	var errs [2]error
	for i, name := range c.files {
		seen[i], errs[i] = os.Stat(name) // before it is read: a later change is seen later
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	c.seen = seen
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	if err != nil {
		return err
	}
	if pair.Leaf.NotAfter.Before(time.Now()) {
		c.log.Warn("the TLS certificate has expired", "file", c.files[0], "ended", pair.Leaf.NotAfter)
	}
	c.pair = &pair
	return nil
}
