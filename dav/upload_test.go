package dav_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/blob/blobtest"
	"holdfast/dav"
)

// TestUploadWhoseClientLeaves: a client, or a proxy before it, that gives up
// waiting for its MOVE may send it again: 423 as long as the file is put together,
// then 404, and the file is there, whole and once.
func TestUploadWhoseClientLeaves(t *testing.T) {
	r := newRow(t, newServer(t, nil))
	r.run(t, "MKCOL ^$U/t => 201 ;; PUT ^$U/t/1 size=40 => 201 ;; PUT ^$U/t/2 size=40 => 201")
	entered, release := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	r.blobs.Before = func(_ context.Context, c blobtest.Call) error {
		if c.Method == blobtest.Put && c.Size == 80 {
			if first.CompareAndSwap(false, true) {
				close(entered)
				<-release
			}
		}
		return nil
	}
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "MOVE", r.http.URL+r.vars["U"]+"/t/.file", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Destination", r.vars["F"]+"/f")
	req.Header.Set("Test-Principal", r.key(""))
	left := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(req)
		left <- err
	}()
	<-entered
	leave()
	if err := <-left; err == nil {
		t.Fatal("an answer before the file is there")
	}
	r.run(t, "MOVE ^$U/t/.file {Destination: $F/f} => 423 ;; GET /f => 404 ;; PROPFIND ^$U/t {Depth: 1} => 207 `t/1<.*t/2<`")
	close(release)
	for range 500 {
		a := r.do(t, call{method: "MOVE", target: "^" + r.vars["U"] + "/t/.file", header: []string{"Destination: " + r.vars["F"] + "/f"}})
		if a.status == http.StatusNotFound {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.run(t, "MOVE ^$U/t/.file {Destination: $F/f} => 404 ;; GET /f => 200 {Content-Length: ^80$} ;; PROPFIND ^$U {Depth: 1} => 207 !`/t/`")
}

// TestUploadBySmallPieces goes through one long file, through every way there is
// of keeping a piece, and through a listing of many.
func TestUploadBySmallPieces(t *testing.T) {
	r := newRow(t, newServer(t, func(o *dav.Options) { o.MaxBody = 0 }))
	r.run(t, "MKCOL ^$U/t => 201")
	var whole strings.Builder
	for whole.Len() < 3000 {
		piece := strings.Repeat(string(rune('a'+whole.Len()%26)), 1+whole.Len()%40)
		name := chunkName(whole.Len(), len(piece))
		if a := r.do(t, call{method: "PUT", target: "^" + r.vars["U"] + "/t/" + name, body: piece, hasBody: true}); a.status != http.StatusCreated {
			t.Fatalf("PUT %s: %d %s", name, a.status, a.body)
		}
		whole.WriteString(piece)
	}
	list := r.do(t, call{method: "PROPFIND", target: "^" + r.vars["U"] + "/t/", header: []string{"Depth: 1"}})
	if n := strings.Count(list.body, "<D:getcontentlength>"); n < 100 {
		t.Errorf("%d pieces listed", n)
	}
	r.run(t, "MOVE ^$U/t/.file {Destination: $F/f} => 201")
	if a := r.do(t, call{method: "GET", target: "/f"}); a.body != whole.String() {
		t.Errorf("got %d bytes, want %d", len(a.body), whole.Len())
	}
}

// chunkName is what rclone calls the piece of so many bytes from start on.
func chunkName(start, length int) string { return fmt.Sprintf("%015d-%015d", start, start+length-1) }
