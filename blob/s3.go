package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// singleMax is the largest body of known length that goes out as one
	// streamed request, which needs no buffer and leaves no parts behind. Larger
	// ones go in parts, so that a lost connection costs a part and not the whole.
	singleMax = 32 << 20
	// partSize is the part of an upload of unknown length, held in memory. Left
	// to itself the client library would plan for 5 TiB and hold over 500 MiB.
	// 10,000 parts of it bound such an upload to 156 GiB.
	partSize = 16 << 20
	// maxTries bounds how often the client sends one request that may be
	// repeated.
	maxTries = 5
	// cleanupTime bounds the removal of what a failed Put may have left.
	cleanupTime = 15 * time.Second

	firstWindow = 1 << 20
	mostWindow  = 64 << 20
)

// S3 keeps every object in an object of an S3 bucket, below an optional prefix.
// It needs no more of the engine than PUT, multipart uploads, ranged GET, HEAD,
// DELETE and ListObjectsV2: no conditional request, copy or rename. The bucket
// should keep no versions, or what is deleted goes on taking space.
type S3 struct {
	client minio.Core
	bucket string
	prefix string // "" or ends in a slash
}

var (
	_ Store    = (*S3)(nil)
	_ Windowed = (*S3)(nil)
)

// NewS3 connects to a bucket and makes it if it is missing.
func NewS3(ctx context.Context, o S3Options) (*S3, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	client, err := minio.NewCore(o.Endpoint, &minio.Options{
		Creds:      credentials.NewStaticV4(o.AccessKey, o.SecretKey, ""),
		Secure:     !o.Insecure,
		Region:     o.Region,
		MaxRetries: maxTries,
		// Checksum trailers stay off: with a signed payload some engines refuse
		// them and others store them as part of the body.
		TrailingHeaders: false,
	})
	if err != nil {
		return nil, fmt.Errorf("set up S3 client: %w", err)
	}
	s := &S3{client: *client, bucket: o.Bucket, prefix: o.prefix()}
	if err := s.ensureBucket(ctx, o.Region); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *S3) ensureBucket(ctx context.Context, region string) error {
	there, err := s.client.BucketExists(ctx, s.bucket)
	if err != nil {
		return fmt.Errorf("look for bucket: %w", err)
	}
	if there {
		return nil
	}
	err = s.client.MakeBucket(ctx, s.bucket, minio.MakeBucketOptions{Region: region})
	if err != nil && !isCode(err, minio.BucketAlreadyOwnedByYou) {
		return fmt.Errorf("make bucket: %w", err)
	}
	return nil
}

// Window makes readers ask for 1 MiB first and for 64 MiB at most.
func (s *S3) Window() (first, most int64) { return firstWindow, mostWindow }

// Put looks for the key before it uploads, since hardly any engine minds a
// condition on a multipart upload; ErrExist is a best effort.
func (s *S3) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	in, err := newBody(ctx, r, size)
	if err != nil {
		return err
	}
	_, err = s.Stat(ctx, key)
	if err == nil {
		return ErrExist
	}
	if !errors.Is(err, ErrNotExist) {
		return err
	}
	if err := in.finish(s.upload(ctx, key, in)); err != nil {
		return errors.Join(err, s.cleanUp(ctx, key))
	}
	return nil
}

func (s *S3) upload(ctx context.Context, key string, in *body) error {
	if in.want > bufferSize {
		return s.send(ctx, key, in, in.want)
	}
	buffer := buffers.Get().(*[bufferSize]byte)
	n, err := in.fill(buffer[:])
	if err != nil {
		buffers.Put(buffer)
		return err
	}
	if !in.done {
		return s.send(ctx, key, io.MultiReader(bytes.NewReader(buffer[:n]), in), -1)
	}
	// A small body is sent from memory: the client can repeat such a request.
	err = s.send(ctx, key, bytes.NewReader(buffer[:n]), int64(n))
	if err == nil {
		// After a failure the transport may still be reading from it.
		buffers.Put(buffer)
	}
	return err
}

func (s *S3) send(ctx context.Context, key string, r io.Reader, size int64) error {
	opts := minio.PutObjectOptions{NumThreads: 1, DisableMultipart: size >= 0 && size <= singleMax}
	if size < 0 {
		opts.PartSize = partSize
	}
	_, err := s.client.Client.PutObject(ctx, s.bucket, s.prefix+key, r, size, opts)
	if err != nil {
		return fmt.Errorf("upload object: %w", err)
	}
	return nil
}

// cleanUp removes what a failed upload may have left under key: the engine can
// have taken a request whose answer was lost. (The client itself aborts multipart
// uploads.) The shared empty object is let be: it is right whoever wrote it, and
// somebody may be using it already.
func (s *S3) cleanUp(ctx context.Context, key string) error {
	if key == EmptyKey {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	return s.Delete(ctx, key)
}

// Open asks for the range in one request. Closing the stream before its end costs
// the connection, so callers should ask for what they read; see [NewReader].
func (s *S3) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := checkRange(key, offset, length); err != nil {
		return nil, err
	}
	if length == 0 {
		if _, err := s.Stat(ctx, key); err != nil {
			return nil, err
		}
		return http.NoBody, nil
	}
	stream, _, header, err := s.client.GetObject(ctx, s.bucket, s.prefix+key, rangeOptions(offset, length))
	if isCode(err, minio.InvalidRange) {
		return http.NoBody, nil // the object is there and ends before offset
	}
	if isCode(err, minio.NoSuchKey) {
		return nil, ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("open object: %w", err)
	}
	if got := header.Get("Content-Range"); offset > 0 && !strings.HasPrefix(got, fmt.Sprintf("bytes %d-", offset)) {
		return nil, errors.Join(fmt.Errorf("open object at %d: the engine answered range %q", offset, got), stream.Close())
	}
	if length < 0 {
		return stream, nil
	}
	return readCloser{io.LimitReader(stream, length), stream}, nil
}

func rangeOptions(offset, length int64) minio.GetObjectOptions {
	var opts minio.GetObjectOptions
	last := offset + length - 1
	switch {
	case length < 0 && offset == 0: // the whole object
	case length < 0, last < offset: // to the end; or so long that last overflows
		opts.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	default:
		opts.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, last))
	}
	return opts
}

// Stat asks for the object's headers.
func (s *S3) Stat(ctx context.Context, key string) (Info, error) {
	if !ValidKey(key) {
		return Info{}, ErrKey
	}
	info, err := s.client.StatObject(ctx, s.bucket, s.prefix+key, minio.StatObjectOptions{})
	if isCode(err, minio.NoSuchKey) {
		return Info{}, ErrNotExist
	}
	if err != nil {
		return Info{}, fmt.Errorf("stat object: %w", err)
	}
	return Info{Key: key, Size: info.Size, Modified: info.LastModified}, nil
}

// Delete removes one object.
func (s *S3) Delete(ctx context.Context, key string) error {
	if !ValidKey(key) {
		return ErrKey
	}
	err := s.client.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{})
	if err != nil && !isCode(err, minio.NoSuchKey) {
		return fmt.Errorf("delete object: %w", err)
	}
	return nil
}

// List asks for pages of a thousand. An upload in parts that was never completed
// is no object and has no name to delete it by; see [S3.AbortIncomplete].
func (s *S3) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		noOwner := false
		opts := minio.ListObjectsOptions{Prefix: s.prefix, Recursive: true, FetchOwner: &noOwner}
		for o := range s.client.ListObjectsIter(ctx, s.bucket, opts) {
			if o.Err != nil {
				yield(Info{}, fmt.Errorf("list objects: %w", o.Err))
				return
			}
			key := strings.TrimPrefix(o.Key, s.prefix)
			if !ValidKey(key) {
				continue // a folder marker, or somebody else's
			}
			if !yield(Info{Key: key, Size: o.Size, Modified: o.LastModified}, nil) {
				return
			}
		}
		// The client ends a canceled listing without a word; a part must not
		// pass for the whole.
		if err := ctx.Err(); err != nil {
			yield(Info{}, err)
		}
	}
}

// AbortIncomplete ends multipart uploads begun before olderThan, by the engine's
// clock, which a crash left incomplete: their parts take space and no List shows
// them. olderThan must leave the longest upload its time.
func (s *S3) AbortIncomplete(ctx context.Context, olderThan time.Time) error {
	var keyMarker, idMarker string
	for {
		page, err := s.client.ListMultipartUploads(ctx, s.bucket, s.prefix, keyMarker, idMarker, "", 0)
		if err != nil {
			return fmt.Errorf("list incomplete uploads: %w", err)
		}
		for _, u := range page.Uploads {
			if !u.Initiated.Before(olderThan) || !ValidKey(strings.TrimPrefix(u.Key, s.prefix)) {
				continue
			}
			err := s.client.AbortMultipartUpload(ctx, s.bucket, u.Key, u.UploadID)
			if err != nil && !isCode(err, minio.NoSuchUpload) {
				return fmt.Errorf("abort incomplete upload: %w", err)
			}
		}
		if !page.IsTruncated || page.NextKeyMarker == "" {
			return nil
		}
		keyMarker, idMarker = page.NextKeyMarker, page.NextUploadIDMarker
	}
}

func isCode(err error, code string) bool {
	if err == nil {
		return false
	}
	return minio.ToErrorResponse(err).Code == code
}
