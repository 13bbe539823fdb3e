package litmus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// npm has the packages that npm/package-lock.json locks, and a copy of the scripts beside them, so that node
// finds them.
func npm(t *testing.T) *machine {
	t.Helper()
	m := thisMachine(t, "node")
	modules := filepath.Join(cache(), "npm", "node_modules")
	_, err := os.Stat(filepath.Join(modules, "webdav"))
	need(t, err == nil, "package webdav from npm")
	if err := os.Symlink(modules, filepath.Join(m.folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("npm/webdav.mjs")
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, string(script), "webdav.mjs")
	return m
}

// runWebdavClient runs npm/webdav.mjs with a login of one of the package's kinds.
func (s *server) runWebdavClient(t *testing.T, m *machine, auth string) {
	t.Helper()
	names, err := json.Marshal(oddNames)
	if err != nil {
		t.Fatal(err)
	}
	s.admin(t, "", "user", "set", s.user, "--quota", "8MiB")
	t.Log(m.run(t, "", "env", "DAV_QUOTA=8388608", "DAV_URL="+s.dav()+"/", "DAV_USER="+s.user, "DAV_PASSWORD="+s.password, "DAV_AUTH="+auth,
		"DAV_NAMES="+string(names), "node", "webdav.mjs"))
	s.holds(t, "content of "+oddNames[0], "npm", oddNames[0])
	s.holds(t, "with the token", "npm", oddNames[1])
	s.lacks(t, "npm", "shallow")
	if n := s.activeLocks(t, "npm", oddNames[1]); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}

func TestClientNpmWebdav(t *testing.T) {
	m := npm(t)
	startServer(t, folderBacking(t)).runWebdavClient(t, m, "password")
}
