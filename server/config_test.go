package server

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"holdfast/lockns/cache"
)

func TestConfigCheck(t *testing.T) {
	if cfg := DefaultConfig(); cfg.Check() != nil {
		t.Fatalf("the default is refused: %v", cfg.Check())
	}
	negative := Size(-1)
	for _, c := range []struct {
		outcome string
		change  func(*Config)
		want    string // "" is accepted; else a part of the error
	}{
		{"IPv6 address", func(c *Config) { c.Addr = "[::1]:0" }, ""},
		{"every address", func(c *Config) { c.Addr = ":8080" }, ""},
		{"address without port", func(c *Config) { c.Addr = "localhost" }, "--addr"},
		{"port out of range", func(c *Config) { c.Addr = "localhost:70000" }, "--addr"},
		{"empty data folder", func(c *Config) { c.Data = "" }, "--data"},
		{"database path", func(c *Config) { c.DB = "sqlite:/tmp/x.db" }, ""},
		{"database of another kind", func(c *Config) { c.DB = "postgres://db/x" }, "--db"},
		{"database without path", func(c *Config) { c.DB = "sqlite:" }, "--db"},
		{"objects in a folder", func(c *Config) { c.Blobs = "file:/tmp/blobs" }, ""},
		{"objects of an unknown kind", func(c *Config) { c.Blobs = "ftp://x/y" }, "--blobs"},
		{"objects in S3", func(c *Config) {
			c.Blobs, c.S3AccessKey, c.S3SecretKey = "s3://127.0.0.1:9000/bucket?insecure=true", "a", "b"
		}, ""},
		{"objects in S3 without keys", func(c *Config) { c.Blobs = "s3://127.0.0.1:9000/bucket" }, "HOLDFAST_S3_ACCESS_KEY"},
		{"keys in the URL of S3", func(c *Config) {
			c.Blobs, c.S3AccessKey, c.S3SecretKey = "s3://a:b@127.0.0.1:9000/bucket", "a", "b"
		}, "--blobs"},
		{"unknown sync", func(c *Config) { c.Sync = "off" }, "--sync"},
		{"projections in Redis", func(c *Config) { c.Cache = "redis://:hush@127.0.0.1:6379/0" }, ""},
		{"cache of another scheme", func(c *Config) { c.Cache = "memcached://127.0.0.1" }, "--cache: must be memory: or of the form redis://"},
		{"no cache", func(c *Config) { c.Cache = "" }, "--cache"},
		{"unknown empty objects", func(c *Config) { c.EmptyObjects = "none" }, "--empty-objects"},
		{"unknown log format", func(c *Config) { c.LogFormat = "xml" }, "--log-format"},
		{"administrator anonymous", func(c *Config) { c.AdminUser = "Anonymous" }, "--admin-user"},
		{"administrator of a bad name", func(c *Config) { c.AdminUser = "a b" }, "--admin-user"},
		{"bad password", func(c *Config) { c.AdminPassword = "a\nb" }, "HOLDFAST_ADMIN_PASSWORD"},
		{"app passwords alone too", func(c *Config) { c.Auth = []string{"bearer", "basic", "digest"} }, ""},
		{"unknown login", func(c *Config) { c.Auth = []string{"basic", "ntlm"} }, `--auth: "ntlm" is not one of: digest basic bearer`},
		{"no login at all", func(c *Config) { c.Auth = nil }, "--auth"},
		{"public URLs", func(c *Config) { c.PublicURL = []string{"https://dav.example", "http://x:8080/"} }, ""},
		{"public URL with a path", func(c *Config) { c.PublicURL = []string{"https://dav.example/my%20files/"} }, ""},
		{"public URL whose path climbs", func(c *Config) { c.PublicURL = []string{"https://dav.example/../x"} }, "--public-url"},
		{"public URL with a query", func(c *Config) { c.PublicURL = []string{"https://dav.example/?x"} }, "--public-url"},
		{"one host with two paths", func(c *Config) { c.PublicURL = []string{"https://dav.example/a", "http://dav.example"} }, "--public-url: dav.example is named with two paths"},
		{"public URL with a user", func(c *Config) { c.PublicURL = []string{"https://u@dav.example"} }, "--public-url"},
		{"public URL of another scheme", func(c *Config) { c.PublicURL = []string{"ftp://dav.example"} }, "--public-url"},
		{"public URL without scheme", func(c *Config) { c.PublicURL = []string{"dav.example"} }, "--public-url"},
		{"proxies", func(c *Config) { c.TrustedProxy = []string{"10.0.0.0/8", "::1", "127.0.0.1"} }, ""},
		{"proxy by name", func(c *Config) { c.TrustedProxy = []string{"proxy"} }, "--trusted-proxy"},
		{"pages of other origins", func(c *Config) {
			c.CORSOrigin = []string{"app://obsidian.md", "capacitor://localhost", "http://localhost", "https://x.example", "http://localhost:5173"}
		}, ""},
		{"pages of any origin", func(c *Config) { c.CORSOrigin = []string{"*"} }, "--cors-origin: \"*\": name each origin"},
		{"pages of any host", func(c *Config) { c.CORSOrigin = []string{"https://*.example"} }, "--cors-origin"},
		{"pages of no origin", func(c *Config) { c.CORSOrigin = []string{"null"} }, "--cors-origin"},
		{"an origin without scheme", func(c *Config) { c.CORSOrigin = []string{"app.example"} }, "--cors-origin"},
		{"an origin with a path", func(c *Config) { c.CORSOrigin = []string{"https://app.example/x"} }, "--cors-origin"},
		{"an origin with a user", func(c *Config) { c.CORSOrigin = []string{"https://u@app.example"} }, "--cors-origin"},
		{"anonymous with pages of other origins", func(c *Config) { c.Anonymous, c.CORSOrigin = true, []string{"https://app.example"} }, "--anonymous: cannot be combined with --cors-origin"},
		{"certificate without key", func(c *Config) { c.TLSCert = "/x.pem" }, "--tls-cert and --tls-key"},
		{"key without certificate", func(c *Config) { c.TLSKey = "/x.pem" }, "--tls-cert and --tls-key"},
		{"no inline bodies", func(c *Config) { zero := Size(0); c.InlineMax = &zero }, ""},
		{"negative inline size", func(c *Config) { c.InlineMax = &negative }, "--inline-max"},
		{"largest inline size", func(c *Config) { most := Size(1 << 20); c.InlineMax = &most }, ""},
		{"inline size above memory", func(c *Config) { more := Size(1<<20 + 1); c.InlineMax = &more }, "--inline-max: must not be above 1MiB"},
		{"blocked names", func(c *Config) { c.BlockedNames = []string{".DS_Store", "Thumbs.db", "a b", "*"} }, ""},
		{"blocked path", func(c *Config) { c.BlockedNames = []string{"x", "a/b"} }, `--blocked-names: "a/b" contains the character`},
		{"blocked dot segment", func(c *Config) { c.BlockedNames = []string{".."} }, `--blocked-names: ".." is a dot segment`},
		{"blocked name that is empty", func(c *Config) { c.BlockedNames = []string{""} }, "--blocked-names"},
		{"blocked name that is too long", func(c *Config) { c.BlockedNames = []string{strings.Repeat("x", 256)} }, "--blocked-names"},
		{"negative quota", func(c *Config) { c.Quota = -1 }, "--quota"},
		{"negative body", func(c *Config) { c.MaxBody = -1 }, "--max-body"},
		{"negative locks", func(c *Config) { c.LocksPerUser = -1 }, "--locks-per-user"},
		{"versions", func(c *Config) { c.Versions, c.VersionsAge = 5, Duration(day) }, ""},
		{"negative versions", func(c *Config) { c.Versions = -1 }, "--versions: must not"},
		{"audit log for ever", func(c *Config) { c.AuditAge = 0 }, ""},
		{"negative age of the audit log", func(c *Config) { c.AuditAge = -1 }, "--audit-age"},
		{"negative age of versions", func(c *Config) { c.VersionsAge = -1 }, "--versions-age"},
		{"trash", func(c *Config) { c.Trash = Duration(30 * day) }, ""},
		{"negative time in the trash", func(c *Config) { c.Trash = -1 }, "--trash: must not"},
		{"no entries", func(c *Config) { c.PropfindMax = 0 }, "--propfind-max"},
		{"no lock time", func(c *Config) { c.LockDefault = 0 }, "--lock-default"},
		{"longest lock below the default", func(c *Config) { c.LockMax = c.LockDefault - 1 }, "--lock-max"},
		{"anonymous on loopback", func(c *Config) { c.Anonymous, c.Addr = true, "127.0.0.2:0" }, ""},
		{"anonymous on IPv6 loopback", func(c *Config) { c.Anonymous, c.Addr = true, "[::1]:0" }, ""},
		{"anonymous on localhost", func(c *Config) { c.Anonymous, c.Addr = true, "localhost:0" }, ""},
		{"anonymous on every address", func(c *Config) { c.Anonymous, c.Addr = true, ":8080" }, "--anonymous"},
		{"anonymous on a name", func(c *Config) { c.Anonymous, c.Addr = true, "dav.example:80" }, "--anonymous"},
		{"anonymous with a public URL", func(c *Config) { c.Anonymous, c.PublicURL = true, []string{"https://x"} }, "--anonymous"},
		{"anonymous behind a proxy", func(c *Config) { c.Anonymous, c.TrustedProxy = true, []string{"::1"} }, "--anonymous"},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			cfg := DefaultConfig()
			c.change(&cfg)
			err := cfg.Check()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && err == nil:
				t.Error("accepted")
			case c.want != "" && !strings.Contains(err.Error(), c.want):
				t.Errorf("%q does not tell of %s", err, c.want)
			}
		})
	}
}

func TestConfigCheckTellsEverything(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Addr, cfg.DB, cfg.Sync, cfg.PropfindMax = "x", "x", "x", -1
	err := cfg.Check()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, flag := range []string{"--addr", "--db", "--sync", "--propfind-max"} {
		if !strings.Contains(err.Error(), flag) {
			t.Errorf("%s is missing in %q", flag, err)
		}
	}
}

func TestInlineMax(t *testing.T) {
	cfg := DefaultConfig()
	cfg.S3AccessKey, cfg.S3SecretKey = "a", "b"
	for blobs, want := range map[string]int64{"": 16 << 10, "s3://127.0.0.1:9000/bucket": 0} {
		cfg.Blobs = blobs
		l, err := cfg.Storage.resolve()
		if err != nil {
			t.Fatal(err)
		}
		if got := l.inlineMax(&cfg); got != want {
			t.Errorf("default with %q: %d, want %d", blobs, got, want)
		}
		given := Size(5)
		set := cfg
		set.InlineMax = &given
		if got := l.inlineMax(&set); got != 5 {
			t.Errorf("5 given with %q: %d", blobs, got)
		}
	}
}

// TestCachePasswordIsNotTold: neither by a refusal nor by a configuration that
// is printed.
func TestCachePasswordIsNotTold(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Cache = "redis://:hush@127.0.0.1:x/0"
	for _, text := range []string{cfg.Check().Error(), fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg)} {
		if strings.Contains(text, "hush") {
			t.Errorf("the password is in %q", text)
		}
	}
}

func TestOpenCache(t *testing.T) {
	for text, want := range map[Secret]cache.Cache{"memory:": &cache.Memory{}, "redis://127.0.0.1:1/0": &cache.Redis{}} {
		c, err := openCache(text)
		if err != nil {
			t.Fatal(err)
		}
		if reflect.TypeOf(c) != reflect.TypeOf(want) {
			t.Errorf("%s opens a %T", string(text), c)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
