package server_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const contentByPath = "/api/v1/workspaces/personal/content?path="

// repeated is n bytes without a buffer of that size.
func repeated(n int64) io.Reader { return io.LimitReader(stripes{}, n) }

type stripes struct{}

func (stripes) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i)
	}
	return len(p), nil
}

// allocated is how many bytes a function allocates, on both sides of the line.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestAPIStreams: content passes through the server, both ways, and is never held.
func TestAPIStreams(t *testing.T) {
	s := start(t, config(t))
	s.do(request{method: "GET", target: "/api/v1/me", user: "admin", password: "secret"}) // computing the password takes 19 MiB, once
	const size, most = 64 << 20, 4 << 20
	sum := sha256.New()
	for _, length := range []int64{size, -1} {
		var resp *http.Response
		sum.Reset()
		used := allocated(func() {
			r, err := http.NewRequestWithContext(t.Context(), "PUT", s.URL()+contentByPath+"/big", io.TeeReader(repeated(size), sum))
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = length
			r.SetBasicAuth("admin", "secret")
			if resp, err = http.DefaultTransport.RoundTrip(r); err != nil {
				t.Fatal(err)
			}
		})
		var made struct {
			Size   int64
			SHA256 string
		}
		err := json.NewDecoder(resp.Body).Decode(&made)
		resp.Body.Close()
		if err != nil || made.Size != size || made.SHA256 != fmt.Sprintf("%x", sum.Sum(nil)) {
			t.Fatalf("status %d, %+v, %v", resp.StatusCode, made, err)
		}
		t.Logf("upload of length %d: %d KiB allocated", length, used>>10)
		if used > most {
			t.Errorf("an upload of %d MiB, length %d, allocates %d MiB", size>>20, length, used>>20)
		}
	}
	used := allocated(func() {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL()+contentByPath+"/big", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("admin", "secret")
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got := sha256.New()
		n, err := io.Copy(got, resp.Body)
		if err != nil || n != size || string(got.Sum(nil)) != string(sum.Sum(nil)) {
			t.Errorf("status %d, %d bytes, %v", resp.StatusCode, n, err)
		}
		if policy := resp.Header.Get("Content-Security-Policy"); policy != "sandbox" || resp.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("headers %v", resp.Header)
		}
	})
	t.Logf("download: %d KiB allocated", used>>10)
	if used > most {
		t.Errorf("a download of %d MiB allocates %d MiB", size>>20, used>>20)
	}
}

// rawUpload begins an upload over a connection of its own.
func (r *running) rawUpload(path, headers string) net.Conn {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "PUT %s%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Basic %s\r\n%s\r\n\r\n",
		contentByPath, path, r.Addr(), base64.StdEncoding.EncodeToString([]byte("admin:secret")), headers)
	if err != nil {
		r.t.Fatal(err)
	}
	return conn
}

// TestAPIUploadCutOff: of a body that does not come whole, nothing is left.
func TestAPIUploadCutOff(t *testing.T) {
	cfg := config(t)
	s := start(t, cfg)
	conn := s.rawUpload("/cut", "Content-Length: 8388608")
	if _, err := io.Copy(conn, repeated(4<<20)); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(20 * time.Second)
	for len(stored(t, cfg.Data)) == 0 {
		if time.Now().After(until) {
			t.Fatal("nothing is staged")
		}
		time.Sleep(time.Millisecond)
	}
	conn.Close()
	for !strings.Contains(s.stderr.String(), "method=PUT") {
		if time.Now().After(until) {
			t.Fatal("the request does not end")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if resp, body := s.do(request{method: "GET", target: contentByPath + "/cut", user: "admin", password: "secret"}); resp.StatusCode != 404 {
		t.Errorf("status %d, %s", resp.StatusCode, body)
	}
	if left := stored(t, cfg.Data); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	_, body := s.do(request{method: "GET", target: "/api/v1/workspaces/personal", user: "admin", password: "secret"})
	if !strings.Contains(body, `"used":0`) {
		t.Errorf("the workspace: %s", body)
	}
}

// stored are the files with content below the data of a server.
func stored(t *testing.T, data string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(data, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 {
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestAPIExpect: a client that waits for the word to send its body gets it, or the
// answer (RFC 9110 section 10.1.1).
func TestAPIExpect(t *testing.T) {
	s := start(t, config(t))
	expect := "Content-Length: 5\r\nExpect: 100-continue"
	conn := s.rawUpload("/f", expect)
	lines := bufio.NewReader(conn)
	line, err := lines.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err = lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err = io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(lines, nil)
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("%v, %v", resp, err)
	}
	for path, want := range map[string]int{"/f\r\nIf-None-Match: *": 412, "/none/f": 409, "/a%2F%2Fb": 400} {
		path, more, _ := strings.Cut(path, "\r\n")
		conn := s.rawUpload(path, strings.Trim(more+"\r\n"+expect, "\r\n"))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s %s: %v, %v; want %d", path, more, resp, err, want)
		}
	}
}

// TestAPIBehindAProxy: what was made is where the client can find it.
func TestAPIBehindAProxy(t *testing.T) {
	cfg := config(t)
	cfg.PublicURL = []string{"https://files.example/store"}
	s := start(t, cfg)
	for host, want := range map[string]string{"files.example": "/store/api/v1/files/", s.Addr(): "/api/v1/files/"} {
		r, err := http.NewRequestWithContext(t.Context(), "PUT", "http://"+s.Addr()+contentByPath+"/at-"+host[:1], strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.SetBasicAuth("admin", "secret")
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Location"); resp.StatusCode != http.StatusCreated || !strings.HasPrefix(got, want) {
			t.Errorf("through %s: %d at %q", host, resp.StatusCode, got)
		}
	}
}
