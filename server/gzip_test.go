package server

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"holdfast/dav"
)

// unzip reads what was compressed.
func unzip(t *testing.T, body string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// fill puts n small files into a folder.
func (v *served) fill(folder string, n int) {
	v.t.Helper()
	v.want(201, call{method: "MKCOL", target: folder})
	for i := range n {
		v.want(201, call{method: "PUT", target: fmt.Sprintf("%sreport-%05d-of-the-year.txt", folder, i), body: "x"})
	}
}

// TestListingIsCompressedR35: to who takes gzip, under 100 bytes an entry, and the
// same listing as to others.
func TestListingIsCompressedR35(t *testing.T) {
	v := serve(t, nil)
	const entries = 400
	v.fill("/dav/d/", entries)
	list := func(headers ...string) (*http.Response, string) {
		t.Helper()
		return v.want(207, call{method: "PROPFIND", target: "/dav/d/", headers: append(headers, "Depth: 1")})
	}
	resp, plain := list()
	if resp.Header.Get("Content-Encoding") != "" || !slices.Contains(resp.Header.Values("Vary"), "Accept-Encoding") {
		t.Errorf("plain: %v", resp.Header)
	}
	resp, body := list("Accept-Encoding: deflate, gzip;q=0.8")
	if resp.Header.Get("Content-Encoding") != "gzip" || resp.ContentLength != -1 || !slices.Contains(resp.Header.Values("Vary"), "Accept-Encoding") {
		t.Fatalf("%v", resp.Header)
	}
	if got := unzip(t, body); got != plain {
		t.Errorf("another listing of %d bytes, not %d", len(got), len(plain))
	}
	if each := len(body) / entries; each >= 100 {
		t.Errorf("%d bytes an entry", each)
	}
	t.Logf("%d entries: %d bytes plain, %d compressed", entries, len(plain), len(body))
	resp, body = v.want(207, call{method: "PROPFIND", target: "/dav/d/", headers: []string{"Depth: 0", "Accept-Encoding: gzip"},
		body: `<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>`})
	if resp.Header.Get("Content-Encoding") != "" || resp.ContentLength != int64(len(body)) {
		t.Errorf("a small answer: %v", resp.Header)
	}
}

// TestWhatIsNotCompressed: files, whatever their type, their ranges, HEAD.
func TestWhatIsNotCompressed(t *testing.T) {
	v := serve(t, nil)
	content := `<?xml version="1.0"?><a>` + strings.Repeat("<b/>", 1000) + "</a>"
	v.want(201, call{method: "PUT", target: "/dav/a.xml", body: content, headers: []string{"Content-Type: application/xml"}})
	for _, c := range []struct {
		status int
		method string
		header string
		want   string
	}{
		{200, "GET", "Accept: */*", content}, {200, "HEAD", "Accept: */*", ""}, {206, "GET", "Range: bytes=0-9", content[:10]},
	} {
		resp, body := v.want(c.status, call{method: c.method, target: "/dav/a.xml", headers: []string{"Accept-Encoding: gzip", c.header}})
		if resp.Header.Get("Content-Encoding") != "" || body != c.want || resp.Header.Get("ETag") == "" || c.method == "HEAD" && resp.ContentLength != int64(len(content)) {
			t.Errorf("%s %s: %v", c.method, c.header, resp.Header)
		}
	}
}

// TestListsOfTheAPIAreCompressed: lists of files and searches, to who takes gzip, and
// nothing else of the API.
func TestListsOfTheAPIAreCompressed(t *testing.T) {
	v := serve(t, nil)
	v.fill("/dav/d/", 50)
	v.want(201, call{method: "PUT", target: "/dav/data.json", body: `"` + strings.Repeat("x", 5000) + `"`, headers: []string{"Content-Type: application/json"}})
	id := func(path string) int64 {
		t.Helper()
		var r struct{ ID int64 }
		_, body := v.want(200, call{method: "GET", target: "/api/v1/workspaces/personal/resource?path=" + path})
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	list := fmt.Sprintf("/folders/%d/children", id("/d"))
	for path, zipped := range map[string]bool{
		list + "?limit=50": true, "/workspaces/personal/search?q=report": true, list + "?limit=1": false,
		fmt.Sprintf("/files/%d/content", id("/data.json")): false, "/openapi.json": false,
	} {
		resp, plain := v.want(200, call{method: "GET", target: "/api/v1" + path})
		varies := slices.Contains(resp.Header.Values("Vary"), "Accept-Encoding")
		if resp.Header.Get("Content-Encoding") != "" || zipped && !varies {
			t.Errorf("%s, plain: %v", path, resp.Header)
		}
		resp, body := v.want(200, call{method: "GET", target: "/api/v1" + path, headers: []string{"Accept-Encoding: gzip"}})
		if got := resp.Header.Get("Content-Encoding") == "gzip"; got != zipped {
			t.Fatalf("%s: compressed %v: %v", path, got, resp.Header)
		}
		if zipped {
			body = unzip(t, body)
		}
		if body != plain {
			t.Errorf("%s: %d bytes, not %d", path, len(body), len(plain))
		}
	}
	resp, _ := v.want(404, call{method: "GET", target: "/api/v1/folders/99/children", headers: []string{"Accept-Encoding: gzip"}})
	if resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("a refusal: %v", resp.Header)
	}
}

// TestBrokenAnswerIsNotEnded: part of a listing must not look like the whole,
// whether any of it is out yet or not.
func TestBrokenAnswerIsNotEnded(t *testing.T) {
	s, _ := assembled(t, nil)
	web := httptest.NewServer(s.handler(s.admit(func(w http.ResponseWriter, r *http.Request, _ dav.Principal) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusMultiStatus)
		size := 10
		if strings.HasPrefix(r.URL.Path, "/large") {
			size = 100_000
		}
		_, _ = io.WriteString(w, strings.Repeat("<x/>", size))
		if strings.HasSuffix(r.URL.Path, "/broken") {
			panic(http.ErrAbortHandler)
		}
	}, func(*http.Request) (dav.Principal, error) { return dav.Principal{}, nil })))
	defer web.Close()
	for path, whole := range map[string]bool{"/large": true, "/large/broken": false, "/small": true, "/small/broken": false} {
		r, err := http.NewRequestWithContext(t.Context(), "PROPFIND", web.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r) // takes gzip, and reads it
		if err == nil {
			if strings.HasPrefix(path, "/large") && !resp.Uncompressed {
				t.Errorf("%s is not compressed", path)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if (err == nil) != whole {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCompressedWriter(t *testing.T) {
	big := strings.Repeat("<x/>", gzipMin)
	for _, c := range []struct {
		outcome string
		do      func(w http.ResponseWriter)
		zipped  bool
		want    string
		length  string
	}{
		{"just too small", func(w http.ResponseWriter) { _, _ = io.WriteString(w, big[:gzipMin-1]) }, false, big[:gzipMin-1], "1023"},
		{"just large enough", func(w http.ResponseWriter) { _, _ = io.WriteString(w, big[:gzipMin]) }, true, big[:gzipMin], ""},
		{"byte by byte", func(w http.ResponseWriter) {
			for i := range big {
				_, _ = io.WriteString(w, big[i:i+1])
			}
		}, true, big, ""},
		{"flushed while small", func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, "<a>")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, big)
		}, false, "<a>" + big, ""},
		{"flushed while large", func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, big)
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "<a>")
		}, true, big + "<a>", ""},
		{"nothing", func(http.ResponseWriter) {}, false, "", "0"},
	} {
		t.Run(c.outcome, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			r := httptest.NewRequest("PROPFIND", "/dav/", nil)
			r.Header.Set("Accept-Encoding", "gzip")
			w, end := compressing(recorder, r)
			w.Header().Set("Content-Type", "application/xml; charset=utf-8")
			w.WriteHeader(http.StatusMultiStatus)
			c.do(w)
			end()
			body, zipped := recorder.Body.String(), recorder.Header().Get("Content-Encoding") == "gzip"
			if zipped {
				body = unzip(t, body)
			}
			if zipped != c.zipped || body != c.want || recorder.Code != http.StatusMultiStatus || recorder.Header().Get("Content-Length") != c.length {
				t.Errorf("zipped %v, %d bytes, status %d, length %q", zipped, len(body), recorder.Code, recorder.Header().Get("Content-Length"))
			}
		})
	}
	t.Run("other types pass", func(t *testing.T) {
		recorder := httptest.NewRecorder()
		r := httptest.NewRequest("PUT", "/dav/", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		w, end := compressing(recorder, r)
		http.Error(w, big, http.StatusConflict)
		end()
		if recorder.Header().Get("Content-Encoding") != "" || recorder.Code != http.StatusConflict || recorder.Body.Len() != len(big)+1 {
			t.Error(recorder.Header())
		}
	})
	if err := http.NewResponseController(&compressed{ResponseWriter: httptest.NewRecorder()}).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		t.Error(err)
	}
}

func TestTakesGzip(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "x-gzip": true, "deflate, gzip;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0": false, "br": false, "*": true,
		"*;q=0": false, "gzip;q=0, *": false, "*;q=0, gzip": true, "identity": false, "identity;q=1, gzip;q=0.5": false, "identity;q=0.5, gzip;q=1": true,
		"gzip;q=x": false, "gzip;q=NaN": false, "gzip;q=7": false, ",,gzip ; Q=0.001": true, "gzipped": false,
	} {
		if got := takesGzip([]string{text}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !takesGzip([]string{"br", "gzip"}) {
		t.Error("two lines")
	}
}
