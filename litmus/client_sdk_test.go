package litmus

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// sdkFolder is where the TypeScript client is kept: the document that it is made from, what made it, and src,
// which is all made.
const sdkFolder = "../server/web/sdk"

// sdkTools is a machine with a copy of the folder, beside the packages that its package-lock.json locks.
func sdkTools(t *testing.T) *machine {
	t.Helper()
	m := thisMachine(t, "node")
	modules := filepath.Join(cache(), "sdk", "node_modules")
	_, err := os.Stat(filepath.Join(modules, "typescript"))
	need(t, err == nil, "the generator and the linter from npm")
	if err := os.CopyFS(m.folder, os.DirFS(sdkFolder)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(m.folder, "node_modules")); err != nil { // of somebody who works on it
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(m.folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return m
}

// npmBin runs a program of the packages.
func (m *machine) npmBin(t *testing.T, name string, args ...string) string {
	t.Helper()
	return m.run(t, "", append([]string{"env", "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "CI=true", m.path("node_modules", ".bin", name)}, args...)...)
}

// TestClientSDKFresh: the document in the folder is the one that the server serves, an outside linter finds
// nothing in it, and the client is what the generator makes of it. With -update both are made anew.
func TestClientSDKFresh(t *testing.T) {
	m := sdkTools(t)
	s := startServer(t, folderBacking(t))
	var document bytes.Buffer
	if err := json.Indent(&document, []byte(s.do(t, "GET", s.URL+"/api/v1/openapi.json", "").body), "", "  "); err != nil {
		t.Fatal(err)
	}
	m.write(t, document.String(), "openapi.json")
	t.Log(m.npmBin(t, "redocly", "lint", "--format", "stylish", "openapi.json"))
	m.npmBin(t, "openapi-ts")
	made := files(t, os.DirFS(m.folder))
	if *update {
		replaceSDK(t, made)
	}
	kept := files(t, os.DirFS(sdkFolder))
	for name := range made {
		if kept[name] != made[name] {
			t.Errorf("%s is not what is made of the program: run make sdk", name)
		}
	}
	for name := range kept {
		if _, ok := made[name]; !ok {
			t.Errorf("%s is made no more: run make sdk", name)
		}
	}
}

// files are the texts of what is made, by path.
func files(t *testing.T, folder fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	read := func(name string) {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	read("openapi.json")
	err := fs.WalkDir(folder, "src", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			read(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// replaceSDK keeps what was made.
func replaceSDK(t *testing.T, made map[string]string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(sdkFolder, "src")); err != nil {
		t.Fatal(err)
	}
	for name, text := range made {
		file := filepath.Join(sdkFolder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClientSDK type-checks the client with a program that uses it, and runs that program.
func TestClientSDK(t *testing.T) {
	m := sdkTools(t)
	m.npmBin(t, "tsc", "--project", ".", "--outDir", "out")
	s := startServer(t, folderBacking(t))
	m.write(t, `{"type":"module"}`, "out", "package.json")
	t.Log(m.run(t, "", "env", "API_URL="+s.URL+"/api/v1", "API_USER="+s.user, "API_PASSWORD="+s.password, "node", "--test", "out/test/"))
}
