package server_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "holdfast"

// layers says what each package may import of this module. A package that is
// missing here fails the test: its place in the graph is a decision, and this
// is where it is written down.
var layers = map[string][]string{
	"lockns":                 {},         // pure rules: anything may rely on them, they rely on nothing
	"lockns/cache":           {"lockns"}, // what is shown of locks; only store asks it
	"lockns/cache/cachetest": {"lockns", "lockns/cache"},
	"blob":                   {}, // bytes under opaque keys know no names, owners or locks
	"blob/blobtest":          {"blob"},
	"migrations":             {},                                                // embedded SQL
	"store":                  {"lockns", "lockns/cache", "blob", "migrations"},  // the one owner of transactions
	"dav/content":            {},                                                // what HTTP says of content, for every door
	"dav":                    {"dav/content", "store", "lockns"},                // grammar and answers; could not open a transaction if it tried
	"server/auth":            {"store"},                                         // looks users up
	"server/rest":            {"dav/content", "store", "lockns", "server/auth"}, // a door like dav, and apart from it
	"server":                 {"dav", "store", "lockns", "lockns/cache", "blob", "server/auth", "server/rest"},
	"server/holdfast":        {"server", "server/auth", "store", "lockns"},
	"litmus":                 {"server", "server/auth"}, // starts the real thing, sees what any client sees
}

// peers are programs that the benchmarks run beside this server; they import
// what they are made of, and nothing of ours.
const peers = "litmus/bench"

// banned says which outside packages a package must not import, and why. A name
// ending in "/..." stands for everything below.
var banned = []struct {
	pkg, imports, reason string
}{
	{"lockns", "context", "the rules wait for nothing"},
	{"lockns", "database/sql", "SQL says where locks are, the rules what that means"},
	{"lockns", "net/http", "the rules serve every protocol"},
	{"blob", "database/sql", "which objects live is the database's business, through store"},
	{"store", "net/http", "an error of the store becomes a status in its door"},
	{"store", "encoding/xml", "the store keeps property bytes and does not read them"},
	{"dav", "database/sql", "there is one owner of transactions"},
	{"dav", "github.com/gorilla/mux", "dav is mounted by others"},
	{"server", "database/sql", "there is one owner of transactions"},
	{"server/auth", "database/sql", "there is one owner of transactions"},
	{"server/rest", "database/sql", "there is one owner of transactions"},
	{"server/holdfast", "database/sql", "there is one owner of transactions"},
	{"litmus", "database/sql", "suites see what clients see"},
}

// outside says which packages may import a third-party module: each has one
// home, so that it can be replaced there.
var outside = map[string][]string{
	"github.com/alecthomas/kong":       {"server/holdfast"},
	"github.com/danielgtaylor/huma/v2": {"server/rest"},
	"github.com/emersion/go-webdav":    {"dav"},
	"github.com/google/uuid":           {"store", "blob", "blob/blobtest"},
	"github.com/gorilla/mux":           {"server", "server/rest"},
	"github.com/minio/minio-go/v7":     {"blob"},
	"github.com/patrickmn/go-cache":    {"server/auth", "lockns/cache"},
	"github.com/pressly/goose/v3":      {"store"},
	"github.com/redis/go-redis/v9":     {"lockns/cache"},
	"golang.org/x/crypto":              {"server/auth"},
	"golang.org/x/sync":                {"server/auth"},
	"golang.org/x/sys":                 {"blob", "store"},
	"golang.org/x/term":                {"server/holdfast"},
	"golang.org/x/text":                {"store", "server/auth"},
	"modernc.org/sqlite":               {"store"},
}

// goPackage is the part of `go list -json` that the graph needs: imports of
// tests do not count.
type goPackage struct {
	ImportPath, Dir  string
	GoFiles, Imports []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,Imports", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func TestImportGraph(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		t.Run(name, func(t *testing.T) {
			allowed, placed := layers[name]
			peer := name == peers || strings.HasPrefix(name, peers+"/")
			if !placed && !peer {
				t.Fatal("has no place in the graph: add it to layers")
			}
			for _, path := range p.Imports {
				if inner, ok := strings.CutPrefix(path, module+"/"); ok {
					if !slices.Contains(allowed, inner) {
						t.Errorf("must not import %s", inner)
					}
					continue
				}
				if !peer {
					checkOutside(t, name, path)
				}
			}
		})
	}
}

func checkOutside(t *testing.T, name, path string) {
	t.Helper()
	for _, b := range banned {
		if b.pkg == name && b.imports == path {
			t.Errorf("must not import %s: %s", path, b.reason)
		}
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return // the standard library
	}
	for home, users := range outside {
		if path == home || strings.HasPrefix(path, home+"/") {
			if !slices.Contains(users, name) {
				t.Errorf("must not import %s; that is for %v", path, users)
			}
			return
		}
	}
	t.Errorf("imports %s, which no package was given: add it to outside", path)
}

// TestRulesHaveNoClock: a rule that asks for the time gives another answer when
// it is asked again, and a transaction may be run twice.
func TestRulesHaveNoClock(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.ImportPath != module+"/lockns" {
			continue
		}
		if len(p.GoFiles) == 0 {
			t.Fatal("no files")
		}
		for _, name := range p.GoFiles {
			for _, call := range clockReads(t, filepath.Join(p.Dir, name)) {
				t.Errorf("%s reads the clock: take the time as an argument", call)
			}
		}
		return
	}
	t.Fatal("package lockns not found")
}

// clockReads finds the places in a file that name time.Now and its kin.
func clockReads(t *testing.T, file string) (places []string) {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	local := ""
	for _, spec := range tree.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && path == "time" {
			if local = "time"; spec.Name != nil {
				local = spec.Name.Name
			}
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		base, ok := s.X.(*ast.Ident)
		if ok && base.Name == local && slices.Contains([]string{"Now", "Since", "Until", "After", "Sleep", "NewTimer", "NewTicker"}, s.Sel.Name) {
			places = append(places, files.Position(s.Pos()).String())
		}
		return true
	})
	return places
}
