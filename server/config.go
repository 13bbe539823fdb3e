package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/blob"
	"holdfast/lockns/cache"
	"holdfast/server/auth"
	"holdfast/store"
)

// Storage says where the data are; every command needs it.
type Storage struct {
	Data  string `help:"Folder of the default database and objects (default: ${default})." default:"./data" env:"HOLDFAST_DATA" placeholder:"DIR"`
	DB    string `name:"db" help:"Database, sqlite:PATH (default: sqlite:DATA/holdfast.db)." env:"HOLDFAST_DB" placeholder:"URL"`
	Blobs string `help:"Objects, file:PATH or s3://HOST[:PORT]/BUCKET?region=&insecure=&prefix= (default: file:DATA/blobs). Keys of S3 come from HOLDFAST_S3_ACCESS_KEY and HOLDFAST_S3_SECRET_KEY only." env:"HOLDFAST_BLOBS" placeholder:"URL"`

	S3AccessKey string `kong:"-"`
	S3SecretKey Secret `kong:"-"`
}

// Config is everything a server can be told. The tags are those of the command
// line; DefaultConfig says the same for programs.
type Config struct {
	Storage `kong:"-"`

	Addr          string   `help:"Address to listen on; port 0 picks one and logs it (default: ${default})." default:"127.0.0.1:8080" env:"HOLDFAST_ADDR" placeholder:"HOST:PORT"`
	Sync          string   `help:"full: an acknowledged write survives a power cut; normal: a crash of the process." enum:"full,normal" default:"full" env:"HOLDFAST_SYNC"`
	InlineMax     *Size    `help:"Bodies up to this size, 1MiB at most, live in the database (default: 16KiB with a folder, 0 with S3)." env:"HOLDFAST_INLINE_MAX" placeholder:"SIZE"`
	EmptyObjects  string   `help:"How the empty objects of locked new files are kept: one for all, or one each." enum:"shared,owned" default:"shared" env:"HOLDFAST_EMPTY_OBJECTS"`
	Cache         Secret   `help:"Where what is shown of locks is kept: memory: or redis://[:PASS@]HOST:PORT/DB (default: ${default})." default:"memory:" env:"HOLDFAST_CACHE" placeholder:"URL"`
	AdminUser     string   `help:"Administrator to create on the first start, while there are no users, with HOLDFAST_ADMIN_PASSWORD or a password printed once (default: ${default})." default:"admin" env:"HOLDFAST_ADMIN_USER" placeholder:"NAME"`
	Anonymous     bool     `help:"Serve /dav/ without login. Loopback only." env:"HOLDFAST_ANONYMOUS"`
	Auth          []string `help:"Ways to log in: basic, and for app passwords digest and bearer (default: ${default})." default:"basic" env:"HOLDFAST_AUTH" placeholder:"LIST"`
	PublicURL     []string `name:"public-url" help:"URLs the server is known under, such as https://dav.example, or https://dav.example/files when a proxy strips that path." env:"HOLDFAST_PUBLIC_URL" placeholder:"URL"`
	TrustedProxy  []string `help:"Addresses or networks that may set X-Forwarded-Proto, -Host, -Prefix and -For." env:"HOLDFAST_TRUSTED_PROXY" placeholder:"CIDR"`
	TLSCert       string   `name:"tls-cert" help:"Certificate chain to serve HTTPS with, PEM; read again when it changes." env:"HOLDFAST_TLS_CERT" placeholder:"FILE"`
	TLSKey        string   `name:"tls-key" help:"Private key of --tls-cert, PEM." env:"HOLDFAST_TLS_KEY" placeholder:"FILE"`
	CORSOrigin    []string `name:"cors-origin" help:"Origins whose web pages and apps may use the server, such as app://obsidian.md (default: none)." env:"HOLDFAST_CORS_ORIGIN" placeholder:"LIST"`
	Quota         Size     `help:"Storage of a workspace; 0 is no limit (default: ${default})." default:"0" env:"HOLDFAST_QUOTA" placeholder:"SIZE"`
	LocksPerUser  int      `help:"Active locks of a user; 0 is no limit (default: ${default})." default:"1024" env:"HOLDFAST_LOCKS_PER_USER" placeholder:"N"`
	LockDefault   Duration `help:"Time of a lock whose client asks for none (default: ${default})." default:"1d" env:"HOLDFAST_LOCK_DEFAULT" placeholder:"TIME"`
	LockMax       Duration `help:"Longest time of a lock (default: ${default})." default:"7d" env:"HOLDFAST_LOCK_MAX" placeholder:"TIME"`
	PropfindMax   int      `help:"Entries of one PROPFIND answer (default: ${default})." default:"100000" env:"HOLDFAST_PROPFIND_MAX" placeholder:"N"`
	MaxBody       Size     `help:"Largest body of a PUT; 0 is no limit (default: ${default})." default:"0" env:"HOLDFAST_MAX_BODY" placeholder:"SIZE"`
	Versions      int      `help:"Former contents kept of a file, counted as storage; 0 keeps no new ones, and leaves those there (default: ${default})." default:"0" env:"HOLDFAST_VERSIONS" placeholder:"N"`
	VersionsAge   Duration `help:"How long a former content is kept after the next came (default: without end)." default:"0" env:"HOLDFAST_VERSIONS_AGE" placeholder:"TIME"`
	AuditAge      Duration `help:"How long entries of the audit log are kept; 0 is for ever (default: ${default})." default:"365d" env:"HOLDFAST_AUDIT_AGE" placeholder:"TIME"`
	Trash         Duration `help:"How long what is deleted can be restored, counted as storage until then; 0 deletes at once, and leaves what is in the trash until its time (default: ${default})." default:"0" env:"HOLDFAST_TRASH" placeholder:"TIME"`
	BlockedNames  []string `help:"Names that no client may see or make." env:"HOLDFAST_BLOCKED_NAMES" placeholder:"NAME"`
	LogFormat     string   `help:"Form of the log on standard error." enum:"text,json" default:"text" env:"HOLDFAST_LOG_FORMAT"`
	AdminPassword Secret   `kong:"-"` // HOLDFAST_ADMIN_PASSWORD; "" mints one

	// Stdout gets the minted password and the hints how to mount, Stderr the
	// log. Nil is the process's own.
	Stdout, Stderr io.Writer `kong:"-"`
	// Grace bounds how long running requests may take to end when the server
	// stops.
	Grace time.Duration `kong:"-"`
}

// DefaultConfig is what the command line gives without flags and environment.
func DefaultConfig() Config {
	return Config{
		Storage:      Storage{Data: "./data"},
		Addr:         "127.0.0.1:8080",
		Sync:         "full",
		EmptyObjects: "shared",
		Cache:        "memory:",
		AdminUser:    "admin",
		Auth:         []string{"basic"},
		LocksPerUser: 1024,
		LockDefault:  Duration(day),
		LockMax:      Duration(7 * day),
		PropfindMax:  100_000,
		AuditAge:     Duration(365 * day),
		LogFormat:    "text",
		Grace:        30 * time.Second,
	}
}

// Secrets takes what only the environment may say into the configuration.
func (c *Config) Secrets(getenv func(string) string) {
	c.AdminPassword = Secret(getenv("HOLDFAST_ADMIN_PASSWORD"))
	c.Storage.Secrets(getenv)
}

// Secrets takes the keys of S3, which never stand in a URL or a flag: both are
// seen in process lists.
func (s *Storage) Secrets(getenv func(string) string) {
	s.S3AccessKey = getenv("HOLDFAST_S3_ACCESS_KEY")
	s.S3SecretKey = Secret(getenv("HOLDFAST_S3_SECRET_KEY"))
}

// Check reports everything that is wrong, joined into one error.
func (c *Config) Check() error {
	_, err := c.resolve()
	return err
}

// resolved is a Config in the forms that the server works with.
type resolved struct {
	storage   locations
	publicURL []publicURL
	proxies   []netip.Prefix
	schemes   []auth.Scheme
	named     []string // origins of --cors-origin, as browsers spell them
}

func (c *Config) resolve() (resolved, error) {
	var r resolved
	var errs []error
	add := func(flag string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	storage, err := c.Storage.resolve()
	if err != nil {
		errs = append(errs, err)
	}
	r.storage = storage
	add("addr", checkAddr(c.Addr))
	add("sync", oneOf(c.Sync, "full", "normal"))
	add("empty-objects", oneOf(c.EmptyObjects, "shared", "owned"))
	_, err = parseCache(c.Cache)
	add("cache", err)
	add("log-format", oneOf(c.LogFormat, "text", "json"))
	add("admin-user", CheckLoginName(c.AdminUser))
	r.schemes, err = parseSchemes(c.Auth)
	add("auth", err)
	if c.Anonymous {
		for _, err := range c.checkAnonymous() {
			add("anonymous", err)
		}
	}
	errs = append(errs, c.checkLimits()...)
	for _, name := range c.BlockedNames {
		add("blocked-names", checkBlockedName(name))
	}
	if c.AdminPassword != "" {
		if err := auth.CheckPassword(string(c.AdminPassword)); err != nil {
			errs = append(errs, fmt.Errorf("HOLDFAST_ADMIN_PASSWORD: %w", err))
		}
	}
	for _, text := range c.PublicURL {
		o, err := parsePublicURL(text)
		add("public-url", err)
		r.publicURL = append(r.publicURL, o)
	}
	add("public-url", checkPaths(r.publicURL))
	for _, text := range c.TrustedProxy {
		p, err := parsePrefix(text)
		add("trusted-proxy", err)
		r.proxies = append(r.proxies, p)
	}
	for _, text := range c.CORSOrigin {
		named, err := parseNamedOrigin(text)
		add("cors-origin", err)
		r.named = append(r.named, named)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		errs = append(errs, errors.New("--tls-cert and --tls-key: one needs the other"))
	}
	return r, errors.Join(errs...)
}

func (c *Config) checkLimits() []error {
	var errs []error
	refuse := func(bad bool, text string) {
		if bad {
			errs = append(errs, errors.New(text))
		}
	}
	refuse(c.InlineMax != nil && *c.InlineMax < 0, "--inline-max: must not be negative")
	refuse(c.InlineMax != nil && *c.InlineMax > inlineMaxMost, "--inline-max: must not be above "+inlineMaxMost.String())
	refuse(c.Quota < 0, "--quota: must not be negative")
	refuse(c.MaxBody < 0, "--max-body: must not be negative")
	refuse(c.LocksPerUser < 0, "--locks-per-user: must not be negative")
	refuse(c.Versions < 0, "--versions: must not be negative")
	refuse(c.VersionsAge < 0, "--versions-age: must not be negative")
	refuse(c.AuditAge < 0, "--audit-age: must not be negative")
	refuse(c.Trash < 0, "--trash: must not be negative")
	refuse(c.PropfindMax < 1, "--propfind-max: must be at least 1")
	// A Timeout is told in whole seconds (RFC 4918 section 10.7).
	refuse(c.LockDefault < Duration(time.Second), "--lock-default: must be at least 1s")
	refuse(c.LockMax < c.LockDefault, "--lock-max: must not be below --lock-default")
	return errs
}

// checkAnonymous allows an anonymous server only where nobody but this machine
// can reach it.
func (c *Config) checkAnonymous() []error {
	var errs []error
	if host, _, err := net.SplitHostPort(c.Addr); err == nil && !isLoopbackName(host) {
		errs = append(errs, errors.New("needs --addr to be localhost or a loopback address"))
	}
	if len(c.PublicURL) > 0 || len(c.TrustedProxy) > 0 {
		errs = append(errs, errors.New("cannot be combined with --public-url or --trusted-proxy"))
	}
	if len(c.CORSOrigin) > 0 {
		errs = append(errs, errors.New("cannot be combined with --cors-origin: every page of that origin would read and write without a login"))
	}
	return errs
}

func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT", addr)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("%q has no usable port", addr)
	}
	return nil
}

// parseCache reads where projections are kept; nil is memory.
func parseCache(text Secret) (*cache.RedisOptions, error) {
	if text == "memory:" {
		return nil, nil
	}
	o, err := cache.ParseRedisURL(string(text))
	if err != nil {
		return nil, fmt.Errorf("must be memory: or %w", err)
	}
	return &o, nil
}

func parseSchemes(texts []string) ([]auth.Scheme, error) {
	if len(texts) == 0 {
		return nil, errors.New("must name at least one way to log in")
	}
	schemes := make([]auth.Scheme, len(texts))
	for i, text := range texts {
		if schemes[i] = auth.Scheme(text); !slices.Contains(auth.Schemes, schemes[i]) {
			return nil, fmt.Errorf("%q is not one of: %s", text, strings.Trim(fmt.Sprint(auth.Schemes), "[]"))
		}
	}
	return schemes, nil
}

// CheckLoginName refuses a name that nobody can log in with, in words for whoever
// chose it.
func CheckLoginName(name string) error {
	if strings.EqualFold(name, auth.Anonymous) {
		return fmt.Errorf("user %q is reserved for --anonymous and cannot log in", auth.Anonymous)
	}
	if err := store.CheckUserName(name); err != nil {
		reason := strings.TrimPrefix(err.Error(), store.ErrBadName.Error()+": ")
		return fmt.Errorf("%q cannot be a user: %s", name, reason)
	}
	return nil
}

// checkBlockedName refuses a name that nothing can have: whoever blocks it means
// something else, a path or a pattern, and would go unprotected.
func checkBlockedName(name string) error {
	var bad *store.NameError
	if err := store.CheckName(name); errors.As(err, &bad) {
		return fmt.Errorf("%q %s and can be no name", name, bad.Reason)
	}
	return nil
}

func oneOf(value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%q is not one of: %s", value, strings.Join(allowed, ", "))
}

// parsePublicURL reads a public URL: scheme, host and port, and the path that its
// proxy strips.
func parsePublicURL(text string) (publicURL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return publicURL{}, fmt.Errorf("%q is not of the form https://HOST[:PORT][/PATH]", text)
	}
	prefix, err := cleanPrefix(u.EscapedPath())
	if err != nil {
		return publicURL{}, fmt.Errorf("%q: %w", text, err)
	}
	return publicURL{newOrigin(u.Scheme, u.Host), prefix}, nil
}

// checkPaths refuses two paths for one host: a request does not tell which of
// them its proxy stripped.
func checkPaths(all []publicURL) error {
	paths := map[string]string{}
	for _, u := range all {
		if path, named := paths[u.host]; named && path != u.prefix {
			return fmt.Errorf("%s is named with two paths", u.host)
		}
		paths[u.host] = u.prefix
	}
	return nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network", text)
	}
	return prefix.Masked(), nil
}

// locations is a Storage whose defaults are filled in and URLs are read.
type locations struct {
	db     string          // as store.Options.DB
	dbPath string          // of the SQLite file
	dir    string          // of the objects, "" with S3
	s3     *blob.S3Options // nil with a folder
}

// Check reports everything that is wrong with the storage's URLs.
func (s Storage) Check() error {
	_, err := s.resolve()
	return err
}

func (s Storage) resolve() (locations, error) {
	var l locations
	var errs []error
	if s.Data == "" {
		errs = append(errs, errors.New("--data: must not be empty"))
	}
	l.db = s.DB
	if l.db == "" {
		l.db = "sqlite:" + filepath.Join(s.Data, "holdfast.db")
	}
	path, ok := strings.CutPrefix(l.db, "sqlite:")
	if !ok || path == "" {
		errs = append(errs, errors.New("--db: must be of the form sqlite:PATH"))
	}
	l.dbPath = path
	if err := l.resolveBlobs(s); err != nil {
		errs = append(errs, fmt.Errorf("--blobs: %w", err))
	}
	return l, errors.Join(errs...)
}

func (l *locations) resolveBlobs(s Storage) error {
	switch {
	case s.Blobs == "":
		l.dir = filepath.Join(s.Data, "blobs")
		return nil
	case strings.HasPrefix(s.Blobs, "s3://"):
		o, err := blob.ParseS3URL(s.Blobs)
		if err != nil {
			return err
		}
		if s.S3AccessKey == "" || s.S3SecretKey == "" {
			return errors.New("needs HOLDFAST_S3_ACCESS_KEY and HOLDFAST_S3_SECRET_KEY")
		}
		o.AccessKey, o.SecretKey = s.S3AccessKey, string(s.S3SecretKey)
		l.s3 = &o
		return nil
	}
	dir, ok := strings.CutPrefix(s.Blobs, "file:")
	if !ok || dir == "" {
		return errors.New("must be of the form file:PATH or s3://HOST[:PORT]/BUCKET")
	}
	l.dir = dir
	return nil
}

func (c *Config) stdout() io.Writer {
	if c.Stdout != nil {
		return c.Stdout
	}
	return os.Stdout
}

func (c *Config) stderr() io.Writer {
	if c.Stderr != nil {
		return c.Stderr
	}
	return os.Stderr
}
