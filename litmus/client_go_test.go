package litmus

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-webdav"
	"github.com/studio-b12/gowebdav"
)

// TestClientGowebdav makes every call that gowebdav has, the library below many Go programs.
func TestClientGowebdav(t *testing.T) {
	need(t, true, "") // not under -short
	s := startServer(t, folderBacking(t))
	if err := gowebdav.NewClient(s.dav(), s.user, "wrong").Connect(); !gowebdav.IsErrCode(err, http.StatusUnauthorized) {
		t.Errorf("a wrong password: %v", err)
	}
	c := gowebdav.NewClient(s.dav(), s.user, s.password)
	if err := errors.Join(c.Connect(), c.Mkdir("go", 0), c.MkdirAll("go/a & b/c", 0), c.MkdirAll("go/a & b/c", 0)); err != nil {
		t.Fatal(err)
	}
	for _, name := range oddNames {
		t.Run(name, func(t *testing.T) {
			g := goClient{c, s, "go/" + name}
			g.write(t)
			g.read(t)
			g.copyAndRename(t)
		})
	}
	t.Run("folders", func(t *testing.T) { goClient{c, s, "go"}.folders(t) })
}

// goClient makes calls about one file.
type goClient struct {
	*gowebdav.Client
	server *server
	file   string
}

// holds asks the server itself.
func (g goClient) holds(t *testing.T, content, file string) {
	t.Helper()
	g.server.holds(t, content, strings.Split(file, "/")...)
}

// write stores the file from memory, from a stream of known length, and from one of which nobody knows it.
func (g goClient) write(t *testing.T) {
	for _, store := range []func(string) error{
		func(content string) error { return g.Write(g.file, []byte(content), 0) },
		func(content string) error {
			return g.WriteStream(g.file, io.MultiReader(strings.NewReader(content)), 0)
		},
		func(content string) error {
			return g.WriteStreamWithLength(g.file, io.MultiReader(strings.NewReader(content)), -1, 0)
		},
		func(content string) error {
			return g.WriteStreamWithLength(g.file, strings.NewReader(content), int64(len(content)), 0)
		},
	} {
		content := g.content() + time.Now().String()
		if err := store(content); err != nil {
			t.Fatal(err)
		}
		g.holds(t, content, g.file)
	}
	if err := g.Write(g.file, []byte(g.content()), 0); err != nil {
		t.Fatal(err)
	}
	g.holds(t, g.content(), g.file)
}

func (g goClient) content() string { return "content of " + g.file }

// read reads the file whole and in part, and what there is to know of it.
func (g goClient) read(t *testing.T) {
	want := g.content()
	if got, err := g.Read(g.file); err != nil || string(got) != want {
		t.Errorf("Read: %s, %v", got, err)
	}
	whole, err := g.ReadStream(g.file)
	reads(t, whole, err, want)
	part, err := g.ReadStreamRange(g.file, 3, 5)
	reads(t, part, err, want[3:8])
	rest, err := g.ReadStreamRange(g.file, 3, 0)
	reads(t, rest, err, want[3:])
	if _, err := g.ReadStreamRange(g.file, int64(len(want)), 1); !gowebdav.IsErrCode(err, http.StatusRequestedRangeNotSatisfiable) {
		t.Errorf("a range beyond the end: %v", err)
	}
	info, err := g.Stat(g.file)
	if err != nil {
		t.Fatal(err)
	}
	file, ok := info.(*gowebdav.File)
	etag := g.server.do(t, "HEAD", g.server.dav(strings.Split(g.file, "/")...), "").header.Get("ETag")
	if !ok || info.Name() != path.Base(g.file) || info.Size() != int64(len(want)) || info.IsDir() || file.ETag() != etag ||
		file.ContentType() == "" || time.Since(info.ModTime()).Abs() > time.Minute {
		t.Errorf("Stat: %v, want ETag %s", info, etag)
	}
	if _, err := g.Stat("go/none"); !gowebdav.IsErrNotFound(err) {
		t.Errorf("Stat of nothing: %v", err)
	}
}

// reads fails the test unless a stream holds the content to its end.
func reads(t *testing.T, stream io.ReadCloser, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(stream)
	if err := errors.Join(err, stream.Close()); err != nil || string(got) != want {
		t.Errorf("read %s, %v, want %s", clip(string(got)), err, want)
	}
}

// copyAndRename copies the file into a folder and back over itself, and makes it do without overwriting.
func (g goClient) copyAndRename(t *testing.T) {
	there := "go/a & b/" + path.Base(g.file)
	if err := g.Copy(g.file, there, false); err != nil {
		t.Fatal(err)
	}
	g.holds(t, g.content(), there)
	for _, call := range []func(string, string, bool) error{g.Copy, g.Rename} {
		if err := call(g.file, there, false); !gowebdav.IsErrCode(err, http.StatusPreconditionFailed) {
			t.Errorf("over a file that is there: %v", err)
		}
		g.holds(t, g.content(), g.file)
	}
	if err := errors.Join(g.Rename(there, g.file, true), g.Copy(g.file, there, true), g.Rename(g.file, "go/new/"+path.Base(g.file), false)); err != nil {
		t.Fatal(err)
	}
	g.holds(t, g.content(), "go/new/"+path.Base(g.file))
	if err := errors.Join(g.Remove(there), g.Remove(there)); err != nil { // it forgives the second
		t.Error(err)
	}
}

// folders lists and removes what the files left.
func (g goClient) folders(t *testing.T) {
	list, err := g.ReadDir("go/new")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, info := range list {
		got = append(got, info.Name())
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(oddNames))
	if !slices.Equal(got, want) {
		t.Errorf("ReadDir: %q, want %q", got, want)
	}
	if info, err := g.Stat("go/a & b"); err != nil || !info.IsDir() || info.Name() != "a & b" {
		t.Errorf("Stat of a folder: %v, %v", info, err)
	}
	if err := g.RemoveAll("go"); err != nil {
		t.Error(err)
	}
	g.server.lacks(t, "go")
}

// TestClientGoWebdav makes every call that the client of go-webdav has.
func TestClientGoWebdav(t *testing.T) {
	need(t, true, "") // not under -short
	s := startServer(t, folderBacking(t))
	c, err := webdav.NewClient(webdav.HTTPClientWithBasicAuth(client, s.user, s.password), s.dav()+"/")
	if err != nil {
		t.Fatal(err)
	}
	principal, err := c.FindCurrentUserPrincipal(t.Context())
	if err != nil || principal == "" {
		t.Errorf("principal %q, %v", principal, err)
	}
	if err := errors.Join(c.Mkdir(t.Context(), "go"), c.Mkdir(t.Context(), "go/sub & folder")); err != nil {
		t.Fatal(err)
	}
	if err := c.Mkdir(t.Context(), "go/none/deeper"); err == nil {
		t.Error("a folder without a parent is made")
	}
	for _, name := range oddNames {
		t.Run(name, func(t *testing.T) { goWebdavFile(t, c, s, name) })
	}
	t.Run("lists all below", func(t *testing.T) {
		list, err := c.ReadDir(t.Context(), "go", true)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, info := range list {
			got = append(got, strings.TrimSuffix(info.Path, "/"))
		}
		want := []string{"/dav/go", "/dav/go/sub & folder"}
		for _, name := range oddNames {
			want = append(want, "/dav/go/"+name, "/dav/go/sub & folder/"+name)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	if err := c.RemoveAll(t.Context(), "go"); err != nil {
		t.Error(err)
	}
	s.lacks(t, "go")
}

func goWebdavFile(t *testing.T, c *webdav.Client, s *server, name string) {
	file, copied := "go/"+name, "go/sub & folder/"+name
	content := bytes.Repeat([]byte(name+"\n"), 10_000)
	w, err := c.Create(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	s.holds(t, string(content), "go", name)
	r, err := c.Open(t.Context(), file)
	reads(t, r, err, string(content))
	info, err := c.Stat(t.Context(), file)
	if err != nil || info.Path != "/dav/"+file || info.Size != int64(len(content)) || info.IsDir || info.ETag == "" || info.MIMEType == "" ||
		time.Since(info.ModTime).Abs() > time.Minute {
		t.Errorf("Stat: %+v, %v", info, err)
	}
	if _, err := c.Stat(t.Context(), "go/none"); err == nil {
		t.Error("Stat of nothing succeeds")
	}
	if err := c.Copy(t.Context(), file, copied, &webdav.CopyOptions{NoOverwrite: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.Copy(t.Context(), file, copied, &webdav.CopyOptions{NoOverwrite: true}); err == nil {
		t.Error("a copy overwrites what it should not")
	}
	if err := c.Move(t.Context(), file, copied, &webdav.MoveOptions{NoOverwrite: true}); err == nil {
		t.Error("a move overwrites what it should not")
	}
	if err := errors.Join(c.Move(t.Context(), copied, file, nil), c.Copy(t.Context(), file, copied, nil)); err != nil {
		t.Fatal(err)
	}
	s.holds(t, string(content), "go", name)
	s.holds(t, string(content), "go", "sub & folder", name)
}
