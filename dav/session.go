package dav

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/emersion/go-webdav"

	"holdfast/dav/content"
	"holdfast/store"
)

// session is the webdav.FileSystem of one request. Paths, conditions and
// options were decided by admit; the names and options go-webdav passes are
// ignored, since it knows decoded URL paths only (where %2F is a slash) and one
// entity-tag a header.
type session struct {
	q       *request
	node    *store.Node     // the version GET answers for, known before go-webdav is asked
	content *content.Reader // of GET, read together with the node; nil otherwise
	body    *body           // of PUT
	answer  http.Header     // of the response
	err     error           // what failed, for failure
}

var _ webdav.FileSystem = (*session)(nil)

// delegate lets go-webdav serve the request. header is all it gets to see of
// the request's headers: in other spellings, or beside others, it reads them
// differently from this package (doc.go lists how).
func (q *request) delegate(w http.ResponseWriter, s *session, header http.Header) error {
	if header == nil {
		header = http.Header{}
	}
	r := new(http.Request)
	*r = *q.r
	r.Header = header
	s.answer = w.Header()
	p := &content.Answer{ResponseWriter: w, Failed: func(status int) { q.fail(w, s.failure(status)) }}
	(&webdav.Handler{FileSystem: s}).ServeHTTP(p, r)
	switch {
	case s.read() == nil || p.Dropped():
		p.Send()
	case !p.Sent():
		return s.failure(http.StatusInternalServerError)
	default:
		// Part of the content is out. Only a broken connection tells the client.
		q.abort(s.failure(http.StatusInternalServerError))
	}
	return nil
}

// abort ends the connection of a response that cannot be completed, so that no
// client takes the part it got for the whole.
func (q *request) abort(err error) {
	if q.r.Context().Err() == nil {
		q.h.opt.Log.ErrorContext(q.r.Context(), "response broken off", "method", q.r.Method, "path", q.r.URL.Path, "err", err)
	}
	panic(http.ErrAbortHandler)
}

// failure is the error behind a status of 400 or more: the session's own, or
// else http.ServeContent's verdict on conditions and ranges, whose headers are
// set already.
func (s *session) failure(status int) error {
	switch {
	case s.err != nil:
		return s.err
	case s.read() != nil:
		return fmt.Errorf("read content: %w", s.read())
	case status == http.StatusPreconditionFailed:
		return store.ErrPrecondition
	case status == http.StatusRequestedRangeNotSatisfiable:
		return errStatus(status, "the content is shorter than the range")
	}
	return fmt.Errorf("go-webdav answered %d by itself", status)
}

// read is what went wrong while content was read.
func (s *session) read() error {
	if s.content == nil {
		return nil
	}
	return s.content.Err
}

// fail keeps the error for failure. What go-webdav makes of the one it gets back
// does not matter as long as it is a failure.
func (s *session) fail(err error) error {
	s.err = err
	return webdav.NewHTTPError(http.StatusInternalServerError, errors.New("kept by the session"))
}

// Open implements webdav.FileSystem with the content that came with the node:
// headers and bytes are of one version, whatever is written meanwhile.
func (s *session) Open(context.Context, string) (io.ReadCloser, error) {
	return s.content, nil
}

// Stat implements webdav.FileSystem.
func (s *session) Stat(ctx context.Context, _ string) (*webdav.FileInfo, error) {
	if s.node == nil {
		node, err := s.q.store().Stat(ctx, s.q.target())
		if err != nil {
			return nil, s.fail(err)
		}
		s.node = &node
	}
	info := fileInfo(*s.node, s.q.href(s.node.IsFolder()))
	return &info, nil
}

// ReadDir implements webdav.FileSystem.
func (s *session) ReadDir(_ context.Context, _ string, recursive bool) ([]webdav.FileInfo, error) {
	depth := store.DepthOne
	if recursive {
		depth = store.DepthInfinity
	}
	var infos []webdav.FileInfo
	err := s.q.walk(depth, store.Want{}, s.q.h.opt.PropfindMax, func(e store.Entry) error {
		infos = append(infos, fileInfo(e.Node, s.q.entryHref(e)))
		return nil
	})
	if err != nil {
		return nil, s.fail(err)
	}
	return infos, nil
}

// fileInfo is a node as go-webdav wants it: the path decoded, the entity-tag
// without its quotes.
func fileInfo(n store.Node, href string) webdav.FileInfo {
	path, _ := percentDecode(href) // an href is well-formed
	info := webdav.FileInfo{Path: path, ModTime: n.Modified, IsDir: n.IsFolder()}
	if !info.IsDir {
		info.Size = n.Size
		info.ETag = strings.Trim(n.ETag, `"`)
		info.MIMEType = content.Type(n.ContentType, n.Name)
	}
	return info
}

// Create implements webdav.FileSystem. The FileInfo has no type, which would be
// sent as that of an answer without content.
func (s *session) Create(ctx context.Context, _ string, _ io.ReadCloser, _ *webdav.CreateOptions) (*webdav.FileInfo, bool, error) {
	f := store.File{Body: s.body, Size: s.body.size, ContentType: content.SentType(s.q.r.Header), Modified: s.q.modified, Checksums: s.body.checksums}
	node, created, err := s.q.store().Put(ctx, s.q.target(), f, s.q)
	if err != nil {
		return nil, false, s.fail(s.body.explain(err))
	}
	s.q.acceptTime(s.answer)
	info := fileInfo(node, s.q.href(false))
	info.MIMEType = ""
	return &info, created, nil
}

// RemoveAll implements webdav.FileSystem.
func (s *session) RemoveAll(ctx context.Context, _ string, _ *webdav.RemoveAllOptions) error {
	if err := s.q.store().Remove(ctx, s.q.target(), s.q); err != nil {
		return s.fail(err)
	}
	return nil
}

// Mkdir implements webdav.FileSystem.
func (s *session) Mkdir(ctx context.Context, _ string) error {
	if _, err := s.q.store().Mkdir(ctx, s.q.target(), s.q.timePatch(), s.q); err != nil {
		return s.fail(err)
	}
	s.q.acceptTime(s.answer)
	return nil
}

// Copy implements webdav.FileSystem.
func (s *session) Copy(ctx context.Context, _, _ string, _ *webdav.CopyOptions) (bool, error) {
	o := store.CopyOptions{Shallow: s.q.depth == depth0, NoOverwrite: !s.q.overwrite, Modified: s.q.modified}
	_, created, err := s.q.store().Copy(ctx, s.q.target(), s.q.dest.target(), o, s.q)
	if err != nil {
		return false, s.fail(err)
	}
	s.q.acceptTime(s.answer)
	return created, nil
}

// Move implements webdav.FileSystem.
func (s *session) Move(ctx context.Context, _, _ string, _ *webdav.MoveOptions) (bool, error) {
	o := store.MoveOptions{NoOverwrite: !s.q.overwrite, Modified: s.q.modified}
	created, err := s.q.store().Move(ctx, s.q.target(), s.q.dest.target(), o, s.q)
	if err != nil {
		return false, s.fail(err)
	}
	s.q.acceptTime(s.answer)
	return created, nil
}
