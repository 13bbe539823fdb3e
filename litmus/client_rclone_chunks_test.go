package litmus

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// writePattern makes a large file of the test's folder, and returns its SHA-1 and SHA-256 in hexadecimal.
func (m *machine) writePattern(t *testing.T, size int64, modified time.Time, name string) (sum1, sum256 string) {
	t.Helper()
	file, err := os.Create(filepath.Join(m.folder, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	first, second := sha1.New(), sha256.New()
	if _, err := io.Copy(io.MultiWriter(file, first), &pattern{left: size, sum: second}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file.Name(), modified, modified); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(first.Sum(nil)), hex.EncodeToString(second.Sum(nil))
}

// TestClientRcloneChunks uploads a file in pieces over a network that goes away in the middle of one. rclone sends
// that piece again, or begins anew, as its version does; the file is whole, and was never there in part.
func TestClientRcloneChunks(t *testing.T) {
	for _, program := range rclones()[1:] { // the release's knows no pieces
		t.Run(program.name, func(t *testing.T) {
			size, piece := int64(12<<20+1), int64(1<<20)
			if program.name == "current" {
				size, piece = 300<<20, 10<<20
			}
			uploadInPieces(t, program, size, piece)
		})
	}
}

func uploadInPieces(t *testing.T, program rcloneProgram, size, piece int64) {
	s := startServer(t, folderBacking(t))
	cut := startCutter(t, s.URL, "PUT /remote.php/dav/uploads/", 4, piece/2)
	r := newRclone(t, program, s, cut.URL+"/remote.php/dav/files/"+s.user, vendorNextcloud)
	at := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	sum1, sum256 := r.writePattern(t, size, at, "large")
	r.do(t, "copy", "--retries", "3", "--low-level-retries", "10", "--webdav-nextcloud-chunk-size", fmt.Sprintf("%dB", piece),
		r.path("large"), "holdfast:in pieces")
	if n := cut.cuts.Load(); n != 1 {
		t.Fatalf("%d connections were cut off, want 1", n)
	}
	status, got := s.stream(t, t.Context(), http.MethodGet, s.dav("in pieces", "large"), http.NoBody, 0, "")
	if status != http.StatusOK || got != sum256 {
		t.Errorf("GET: %d, SHA-256 %s, want %s", status, got, sum256)
	}
	e := r.stat(t, "in pieces/large")
	if e.Size != size || !e.ModTime.Equal(at) || e.sha1() != sum1 {
		t.Errorf("%+v, want %d bytes of %v with SHA-1 %s", e, size, at, sum1)
	}
	r.sentPieces(t, (size+piece-1)/piece)
}

// sentPieces fails the test unless at least so many pieces were stored in an upload and made one file, which came
// from no PUT of its own, and nothing of the upload is left.
func (r rclone) sentPieces(t *testing.T, least int64) {
	t.Helper()
	var stored, merged int64
	for _, a := range r.server.asked() {
		switch {
		case a.method == "PUT" && strings.HasPrefix(a.path, "/remote.php/dav/files/"):
			t.Errorf("%s %s: %s", a.method, a.path, a.status)
		case a.method == "PUT" && a.status == "201":
			stored++
		case a.method == "MOVE" && a.status == "201":
			merged++
		}
	}
	if stored < least || merged != 1 {
		t.Errorf("%d pieces were stored and %d times made a file, want %d and 1", stored, merged, least)
	}
	if left := r.server.uploads(t, ""); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

// uploads lists the uploads of the server's user, or the pieces of one: their names and sizes, 0 for an upload.
func (s *server) uploads(t *testing.T, name string) map[string]int64 {
	t.Helper()
	target := s.uploadURL(name)
	r := s.do(t, "PROPFIND", target, "", "Depth", "1")
	if r.status != http.StatusMultiStatus {
		t.Fatalf("PROPFIND %s: %d %s", target, r.status, clip(r.body))
	}
	var all struct {
		Responses []struct {
			Href string `xml:"DAV: href"`
			Size int64  `xml:"DAV: propstat>prop>getcontentlength"`
		} `xml:"DAV: response"`
	}
	if err := xml.Unmarshal([]byte(r.body), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, response := range all.Responses {
		if rest := strings.Trim(strings.TrimPrefix(s.URL+response.Href, target), "/"); rest != "" {
			found[rest] = response.Size
		}
	}
	return found
}

// uploadURL is the URL of an upload of the server's user, or with "" of the folder of them all.
func (s *server) uploadURL(name string) string {
	target := s.URL + "/remote.php/dav/uploads/" + s.user + "/"
	if name == "" {
		return target
	}
	return target + name + "/"
}

// TestClientChunksByHand ends an upload that lacks a piece: nothing is stored, and the piece can still come.
func TestClientChunksByHand(t *testing.T) {
	need(t, true, "") // not under -short
	s := startServer(t, folderBacking(t))
	content := strings.Repeat("0123456789", 300)
	for _, dialect := range []struct {
		name   string
		pieces []string // names of the three pieces of 1,000 bytes
		header []string // sent with every request, besides Destination
	}{
		{"by offsets", []string{"000000000000000-000000000000999", "000000000001000-000000000001999", "000000000002000-000000000002999"}, nil},
		{"by numbers", []string{"1", "2", "3"}, []string{"OC-Total-Length", "3000"}},
	} {
		t.Run(dialect.name, func(t *testing.T) {
			folder, name := strings.ReplaceAll(dialect.name, " ", "-"), "upload "+dialect.name
			send := func(method, piece, body string, more ...string) reply {
				header := slices.Concat([]string{"Destination", s.URL + "/remote.php/dav/files/" + s.user + "/" + strings.ReplaceAll(name, " ", "%20")}, dialect.header, more)
				return s.do(t, method, s.uploadURL(folder)+piece, body, header...)
			}
			must := func(r reply, status int) {
				t.Helper()
				if r.status != status {
					t.Fatalf("%d %s, want %d", r.status, clip(r.body), status)
				}
			}
			must(send("MKCOL", "", ""), http.StatusCreated)
			must(send("PUT", dialect.pieces[0], content[:1000]), http.StatusCreated)
			must(send("PUT", dialect.pieces[2], content[2000:]), http.StatusCreated)
			sum := sha1.Sum([]byte(content))
			finish := []string{"X-OC-Mtime", "1000000000", "OC-Checksum", "SHA1:" + hex.EncodeToString(sum[:])}
			// Nothing but the pieces themselves tells that one lacks.
			if r := send("MOVE", ".file", ""); r.status < 400 || r.status > 499 {
				t.Errorf("MOVE without a piece: %d %s", r.status, clip(r.body))
			}
			s.lacks(t, name)
			want := map[string]int64{dialect.pieces[0]: 1000, dialect.pieces[2]: 1000}
			if got := s.uploads(t, folder); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("pieces %v, want %v", got, want)
			}

			must(send("PUT", dialect.pieces[1], content[1000:2000]), http.StatusCreated)
			r := send("MOVE", ".file", "", finish...)
			must(r, http.StatusCreated)
			if r.header.Get("X-OC-Mtime") != "accepted" || r.header.Get("ETag") == "" {
				t.Errorf("MOVE: %v", r.header)
			}
			s.holds(t, content, name)
			shown := s.do(t, "PROPFIND", s.dav(name), `<D:propfind xmlns:D="DAV:" xmlns:oc="http://owncloud.org/ns"><D:prop><D:getlastmodified/><oc:checksums/></D:prop></D:propfind>`,
				"Depth", "0", "Content-Type", "application/xml")
			for _, want := range []string{"Sun, 09 Sep 2001 01:46:40 GMT", "SHA1:" + hex.EncodeToString(sum[:])} {
				if !strings.Contains(shown.body, want) {
					t.Errorf("PROPFIND lacks %s: %s", want, shown.body)
				}
			}
			if got := s.uploads(t, ""); len(got) != 0 {
				t.Errorf("left over: %v", got)
			}
		})
	}
}

// TestClientRcloneCutOff sends a file in one piece over the same bad network. What arrived of it is not there for
// anybody; the second try is whole.
func TestClientRcloneCutOff(t *testing.T) {
	for _, program := range rclones() {
		t.Run(program.name, func(t *testing.T) {
			const size = 12 << 20
			s := startServer(t, folderBacking(t))
			cut := startCutter(t, s.URL, "PUT /dav/", 1, size/2)
			r := newRclone(t, program, s, cut.URL+"/dav/", vendorOther)
			_, sum := r.writePattern(t, size, time.Now(), "large")
			if log, err := r.try(t, "copy", r.path("large"), "holdfast:cut off"); err == nil {
				t.Errorf("rclone takes half a file for the whole:\n%s", log)
			}
			s.lacks(t, "cut off", "large")
			r.do(t, "copy", r.path("large"), "holdfast:cut off")
			status, got := s.stream(t, t.Context(), http.MethodGet, s.dav("cut off", "large"), http.NoBody, 0, "")
			if status != http.StatusOK || got != sum || cut.cuts.Load() != 1 {
				t.Errorf("GET: %d, SHA-256 %s, want %s; cut %d times", status, got, sum, cut.cuts.Load())
			}
		})
	}
}
