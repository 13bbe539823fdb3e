package litmus

import (
	"strconv"
	"strings"
	"testing"
)

// TestClientDigestR10: curl and cadaver log in with Digest and an app password made beside the running
// server, and upload with it.
func TestClientDigestR10(t *testing.T) {
	t.Run("current", func(t *testing.T) { useDigest(t, sandbox(t)) })
	t.Run("of the release", func(t *testing.T) { useDigest(t, thisMachine(t, "curl", "cadaver")) })
}

func useDigest(t *testing.T, m *machine) {
	s := startServer(t, folderBacking(t), "--auth", "digest,basic")
	password, notice, _ := strings.Cut(s.admin(t, "", "account", "add", testUser, "clients"), "\n")
	if !strings.Contains(notice, "Digest") {
		t.Errorf("%q does not say that Digest takes it", notice)
	}
	byDigest := *s
	byDigest.password = password
	m.netrc(t, &byDigest, "netrc")
	m.netrc(t, &byDigest, ".netrc") // in what is cadaver's home
	for _, folder := range []string{"curl", "cadaver"} {
		if r := s.do(t, "MKCOL", s.dav(folder)+"/", ""); r.status != 201 {
			t.Fatalf("MKCOL: %d %s", r.status, r.body)
		}
	}
	content := strings.Repeat("0123456789abcdef", 64<<10) // more than is read of what nobody wants
	m.write(t, content, "large.txt")
	c := curl{m, s, "large.txt"}
	for i, args := range [][]string{
		{"--upload-file", m.path("large.txt")}, // curl asks with an empty body first
		{"--upload-file", m.path("large.txt"), "--header", "Transfer-Encoding: chunked"},
		{"--upload-file", m.path("large.txt"), "--header", "Expect:"},
	} {
		name := "put" + strconv.Itoa(i)
		c.must(t, 201, "PUT", s.dav("curl", name), append(args, "--digest")...)
		s.holds(t, content, "curl", name)
	}
	c.must(t, 201, "MOVE", s.dav("curl", "put0"), "--digest", "--header", "Destination: "+s.dav("curl", "moved"))
	c.must(t, 207, "PROPFIND", s.dav("curl")+"/", "--digest", "--header", "Depth: 1")
	c.must(t, 200, "GET", s.dav("curl", "moved"), "--anyauth")
	cadaver(t, m, s, "put large.txt", "lock large.txt", "put large.txt", "unlock large.txt", "move large.txt other.txt")
	s.holds(t, content, "cadaver", "other.txt")
}
