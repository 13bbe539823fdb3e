package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"holdfast/blob"
	"holdfast/blob/blobtest"
)

const mib = 1 << 20

func TestS3OnItsOwn(t *testing.T) {
	opts := blobtest.StartS3(t)
	t.Run("makes a missing bucket and takes one that is there", func(t *testing.T) { testBucket(t, opts) })
	t.Run("sees only what is below its prefix", func(t *testing.T) { testPrefix(t, opts) })
	t.Run("leaves no parts of a failed upload", func(t *testing.T) { testNoParts(t, opts) })
	t.Run("aborts what a crash left incomplete", func(t *testing.T) { testAbort(t, opts) })
	t.Run("removes an object whose answer was lost", func(t *testing.T) { testLostAnswer(t, opts) })
	t.Run("does not take a refusal for absence", func(t *testing.T) { testRefusal(t, opts) })
}

func TestS3Unreachable(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	// Port 1 of loopback has no listener.
	_, err := blob.NewS3(ctx, blob.S3Options{Endpoint: "127.0.0.1:1", Bucket: "bucket", Region: "r", Insecure: true})
	if err == nil || errors.Is(err, blob.ErrNotExist) {
		t.Errorf("NewS3 = %v, want the connection's error", err)
	}
}

func testBucket(t *testing.T, opts blob.S3Options) {
	opts.Bucket = "another"
	for range 2 {
		s, err := blob.NewS3(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := blob.Write(t.Context(), s, strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
	}
}

func testPrefix(t *testing.T, opts blob.S3Options) {
	inner, outer := newS3(t, opts), newS3(t, opts)
	o, err := blob.Write(t.Context(), inner, strings.NewReader("x"), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := outer.Stat(t.Context(), o.Key); !errors.Is(err, blob.ErrNotExist) {
		t.Errorf("Stat beside the prefix = %v, want ErrNotExist", err)
	}
	for info, err := range outer.List(t.Context()) {
		t.Errorf("List beside the prefix gave %+v, %v", info, err)
	}
}

func testNoParts(t *testing.T, opts blob.S3Options) {
	if testing.Short() {
		t.Skip("large bodies")
	}
	s := newS3(t, opts)
	torn := errors.New("torn")
	part := func() io.Reader { return bytes.NewReader(make([]byte, 17*mib)) }
	for _, size := range []int64{-1, 40 * mib} {
		if err := s.Put(t.Context(), blob.NewKey(), io.MultiReader(part(), failing{torn}), size); !errors.Is(err, torn) {
			t.Errorf("Put(size %d) of a torn body = %v", size, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		body := io.MultiReader(part(), canceling{cancel}, part())
		if err := s.Put(ctx, blob.NewKey(), body, size); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled Put(size %d) = %v", size, err)
		}
	}
	if err := s.Put(t.Context(), blob.NewKey(), part(), 40*mib); !errors.Is(err, blob.ErrSize) {
		t.Errorf("Put of a short body = %v, want ErrSize", err)
	}
	if n := incomplete(t, opts); n != 0 {
		t.Errorf("%d uploads are incomplete", n)
	}
}

func testAbort(t *testing.T, opts blob.S3Options) {
	s := newS3(t, opts)
	foreign := newS3(t, opts) // another prefix of the same bucket
	o, err := blob.Write(t.Context(), s, strings.NewReader("whole"), -1)
	if err != nil {
		t.Fatal(err)
	}
	beginUpload(t, opts, s, blob.NewKey())
	if err := s.AbortIncomplete(t.Context(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := incomplete(t, opts); n != 1 {
		t.Errorf("after aborting older ones %d uploads are incomplete, want 1", n)
	}
	if err := foreign.AbortIncomplete(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := incomplete(t, opts); n != 1 {
		t.Errorf("after aborting those of another prefix %d uploads are incomplete, want 1", n)
	}
	if err := s.AbortIncomplete(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := incomplete(t, opts); n != 0 {
		t.Errorf("after aborting all %d uploads are incomplete", n)
	}
	if _, err := s.Stat(t.Context(), o.Key); err != nil {
		t.Errorf("a whole object is gone: %v", err)
	}
}

// testLostAnswer puts a proxy before the engine that passes the upload on and
// then cuts the connection.
func testLostAnswer(t *testing.T, opts blob.S3Options) {
	var stored atomic.Int32
	engine := &url.URL{Scheme: "http", Host: opts.Endpoint}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(engine)
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodPut && r.StatusCode == http.StatusOK {
				stored.Add(1)
				panic(http.ErrAbortHandler)
			}
			return nil
		},
	})
	defer proxy.Close()
	newS3(t, opts) // the bucket is there
	opts.Endpoint = proxy.Listener.Addr().String()
	s := newS3(t, opts)
	key := blob.NewKey()
	// Streamed, so that the client does not try again.
	if err := s.Put(t.Context(), key, io.MultiReader(bytes.NewReader(make([]byte, mib))), mib); err == nil {
		t.Error("Put has no error although its answer was lost")
	}
	if n := stored.Load(); n != 1 {
		t.Errorf("the engine stored the object %d times, want once", n)
	}
	if _, err := s.Stat(t.Context(), key); !errors.Is(err, blob.ErrNotExist) {
		t.Errorf("Stat = %v, want ErrNotExist", err)
	}
}

func testRefusal(t *testing.T, opts blob.S3Options) {
	newS3(t, opts) // the bucket is there
	opts.SecretKey += "x"
	s, err := blob.NewS3(t.Context(), opts)
	if err == nil {
		_, err = s.Stat(t.Context(), blob.NewKey())
	}
	if err == nil || errors.Is(err, blob.ErrNotExist) {
		t.Errorf("with a wrong key: %v, want a refusal", err)
	}
	if err != nil && strings.Contains(err.Error(), opts.SecretKey) {
		t.Errorf("the error holds the secret: %v", err)
	}
}

// client talks to the engine past the package under test.
func client(t *testing.T, opts blob.S3Options) minio.Core {
	t.Helper()
	c, err := minio.NewCore(opts.Endpoint, &minio.Options{
		Creds:  credentials.NewStaticV4(opts.AccessKey, opts.SecretKey, ""),
		Region: opts.Region,
	})
	if err != nil {
		t.Fatal(err)
	}
	return *c
}

func incomplete(t *testing.T, opts blob.S3Options) int {
	t.Helper()
	page, err := client(t, opts).ListMultipartUploads(t.Context(), opts.Bucket, "", "", "", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Uploads)
}

// beginUpload leaves an upload of one part below the prefix of s, as a process
// does that is killed. The prefix is learned from an object put through s.
func beginUpload(t *testing.T, opts blob.S3Options, s *blob.S3, key string) {
	t.Helper()
	c := client(t, opts)
	marker, err := blob.Write(t.Context(), s, strings.NewReader("marker"), -1)
	if err != nil {
		t.Fatal(err)
	}
	var prefix string
	for o := range c.ListObjectsIter(t.Context(), opts.Bucket, minio.ListObjectsOptions{Recursive: true}) {
		if before, ok := strings.CutSuffix(o.Key, marker.Key); ok {
			prefix = before
		}
	}
	id, err := c.NewMultipartUpload(t.Context(), opts.Bucket, prefix+key, minio.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	part := strings.NewReader("part")
	_, err = c.PutObjectPart(t.Context(), opts.Bucket, prefix+key, id, 1, part, part.Size(), minio.PutObjectPartOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type canceling struct{ cancel context.CancelCauseFunc }

func (c canceling) Read([]byte) (int, error) {
	c.cancel(nil)
	return 0, io.EOF
}
