package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// keyPair makes a certificate of a name, PEM, for this machine.
func keyPair(t testing.TB, name string) (chain, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// certFiles writes a certificate to a folder and says so in the configuration.
func certFiles(t testing.TB, c *Config, name string) {
	t.Helper()
	if c.TLSCert == "" {
		dir := t.TempDir()
		c.TLSCert, c.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	}
	chain, key := keyPair(t, name)
	writeFile(t, c.TLSCert, chain)
	writeFile(t, c.TLSKey, key)
}

func writeFile(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// secure starts a server with TLS.
func secure(t *testing.T, change func(*Config)) *served {
	t.Helper()
	return serve(t, func(c *Config) {
		certFiles(t, c, "first")
		if change != nil {
			change(c)
		}
	})
}

// handshake tells whose certificate the server shows.
func (v *served) handshake(most uint16) (name string, err error) {
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MaxVersion: most}}).DialContext(v.t.Context(), "tcp", v.Addr())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func TestTLS(t *testing.T) {
	v := secure(t, nil)
	resp, _ := v.want(201, call{method: "PUT", target: "/dav/f", body: "x"})
	if resp.ProtoMajor != 2 || resp.TLS == nil {
		t.Errorf("%s, want HTTP/2 over TLS", resp.Proto)
	}
	if got := v.URL(); got != v.base {
		t.Errorf("URL %s, want %s", got, v.base)
	}
	if _, err := v.handshake(tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	if _, err := v.handshake(tls.VersionTLS12); err != nil {
		t.Errorf("TLS 1.2: %v", err)
	}
	conn := v.raw()
	if _, err := conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 12)
	if n, _ := conn.Read(answer); string(answer[:n]) != "HTTP/1.0 400" {
		t.Errorf("plain HTTP is answered %q", answer[:n])
	}
	v.want(201, call{method: "MOVE", target: "/dav/f", headers: []string{"Destination: " + v.base + "/dav/g"}})
	v.want(502, call{method: "MOVE", target: "/dav/g", headers: []string{"Destination: http://" + v.Addr() + "/dav/f"}})
}

func TestCertificateIsReadAgain(t *testing.T) {
	var files Config
	v := secure(t, func(c *Config) { files = *c })
	v.tls.every = 0
	shows := func(want string) {
		t.Helper()
		if got, err := v.handshake(tls.VersionTLS13); got != want || err != nil {
			t.Errorf("%q is shown (%v), want %q", got, err, want)
		}
	}
	shows("first")
	certFiles(t, &files, "second")
	shows("second")
	writeFile(t, files.TLSCert, []byte("broken"))
	for range 3 {
		shows("second")
	}
	if n := strings.Count(v.log.String(), "new TLS certificate cannot be used"); n != 1 {
		t.Errorf("%d complaints in %s", n, v.log)
	}
	chain, key := keyPair(t, "third")
	writeFile(t, files.TLSCert, chain) // and the old key
	shows("second")
	writeFile(t, files.TLSKey, key)
	shows("third")
	if err := os.Remove(files.TLSKey); err != nil {
		t.Fatal(err)
	}
	shows("third")
	if n := strings.Count(v.log.String(), "new TLS certificate cannot be used"); n != 2 {
		t.Errorf("%d complaints in %s", n, v.log)
	}
}

func TestCertificateThatIsNone(t *testing.T) {
	for outcome, spoil := range map[string]func(t *testing.T, c *Config){
		"missing":        func(_ *testing.T, c *Config) { c.TLSCert += ".none" },
		"broken":         func(t *testing.T, c *Config) { writeFile(t, c.TLSCert, []byte("broken")) },
		"of another key": func(t *testing.T, c *Config) { _, key := keyPair(t, "other"); writeFile(t, c.TLSKey, key) },
	} {
		t.Run(outcome, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Addr, cfg.Data = "127.0.0.1:0", t.TempDir()
			certFiles(t, &cfg, "first")
			spoil(t, &cfg)
			_, err := New(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), "--tls-cert") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestReachWarning(t *testing.T) {
	for _, c := range []struct {
		outcome string
		change  func(*Config)
		want    string // "" is none
	}{
		{"loopback", nil, ""},
		{"beyond loopback", func(c *Config) { c.Addr = "0.0.0.0:0" }, "level=WARN msg=\"LISTENING BEYOND LOOPBACK WITHOUT TLS"},
		{"beyond loopback behind a proxy", func(c *Config) { c.Addr, c.TrustedProxy = "0.0.0.0:0", []string{"10.0.0.1"} }, "level=INFO msg=\"listening beyond loopback"},
		{"beyond loopback with TLS", func(c *Config) { c.Addr = "0.0.0.0:0"; certFiles(t, c, "first") }, ""},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			s, log := assembled(t, c.change)
			s.announceReach()
			if got := log.String(); c.want == "" && strings.Contains(strings.ToLower(got), "beyond loopback") || !strings.Contains(got, c.want) {
				t.Error(got)
			}
		})
	}
}
