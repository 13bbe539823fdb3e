package rest

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/dav/content"
	"holdfast/store"
)

// ContentHeaders are what a request for content may say beside its URL. They are
// read from the request itself, as package content does; here they are described.
type ContentHeaders struct {
	Range           string `header:"Range" maxLength:"4096" doc:"Parts of the content, as RFC 9110 section 14 has it."`
	IfRange         string `header:"If-Range" maxLength:"1024"`
	IfMatch         string `header:"If-Match" maxLength:"32768"`
	IfNoneMatch     string `header:"If-None-Match" maxLength:"32768"`
	IfModifiedSince string `header:"If-Modified-Since" maxLength:"1024"`
	IfUnmodified    string `header:"If-Unmodified-Since" maxLength:"1024"`
}

type (
	fileContentInput struct {
		ID int64 `path:"id" minimum:"1"`
		ContentHeaders
	}
	pathContentInput struct {
		Workspace string `path:"workspace" maxLength:"64" example:"team-3" doc:"Or personal, for your own."`
		Path      string `query:"path" required:"true" minLength:"1" maxLength:"33000" example:"/docs/plan.odt" doc:"Where the file is, from the topmost folder that this login opens."`
		ContentHeaders
	}
)

// download is content on its way to a client.
type download struct {
	name, contentType, etag string
	modified                time.Time
	body                    io.ReadSeekCloser
}

func (a *API) registerDownloads() {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		verb, what := "get", "The content of a file"
		if method == http.MethodHead {
			verb, what = "head", "What a GET of the content says beside it"
		}
		registerRaw(a, Files, contentOperation(huma.Operation{
			OperationID: verb + "FileContent", Method: method, Path: "/files/{id}/content", Tags: []string{"Content"}, Summary: what,
		}), func(ctx context.Context, who *Caller, below raw, in *fileContentInput) (*huma.StreamResponse, error) {
			t, _, err := a.find(ctx, who, fileID(in.ID), store.Want{})
			if err != nil {
				return nil, err
			}
			return a.read(ctx, who, below, t)
		})
		registerRaw(a, Files, contentOperation(huma.Operation{
			OperationID: verb + "ContentByPath", Method: method, Path: "/workspaces/{workspace}/content", Tags: []string{"Content"}, Summary: what + " that a path leads to",
			Errors: []int{http.StatusConflict},
		}), func(ctx context.Context, who *Caller, below raw, in *pathContentInput) (*huma.StreamResponse, error) {
			t, err := a.place(ctx, who, in.Workspace, in.Path)
			if err == nil && a.hasBlocked(t.Path) {
				err = store.ErrNotFound
			}
			if err != nil {
				return nil, err
			}
			return a.read(ctx, who, below, t)
		})
	}
}

// contentOperation describes an answer that is content.
func contentOperation(op huma.Operation) huma.Operation {
	op.Errors = append(op.Errors, http.StatusNotFound, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable)
	op.Description = "Content comes with a strong ETag, in ranges if asked, and for saving: a browser shows none of it as part of this site."
	op.Responses = map[string]*huma.Response{
		"200": {Description: "All of it."},
		"304": {Description: "What the client has is still the content."},
	}
	if op.Method == http.MethodHead {
		return op
	}
	op.Responses["206"] = &huma.Response{Description: "The parts that were asked for."}
	for _, status := range []string{"200", "206"} {
		op.Responses[status].Content = map[string]*huma.MediaType{"*/*": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}
	}
	return op
}

// read answers with the content of a file.
func (a *API) read(ctx context.Context, who *Caller, below raw, t store.Target) (*huma.StreamResponse, error) {
	n, body, err := a.o.Store.Read(ctx, t)
	if err == nil && n.IsFolder() {
		err = store.ErrIsFolder
	}
	if err != nil {
		return nil, err
	}
	return a.stream(who, below, download{n.Name, content.Type(n.ContentType, n.Name), n.ETag, n.Modified, body}), nil
}

// stream answers with content, as far as the conditions and the ranges of the
// request want it.
func (a *API) stream(who *Caller, below raw, d download) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(huma.Context) { a.serve(who, below, d) }}
}

func (a *API) serve(who *Caller, below raw, d download) {
	defer d.body.Close()
	setContentHeaders(below.w.Header(), d)
	answer := &content.Answer{ResponseWriter: below.w, Failed: func(status int) { a.refuseContent(below, status) }}
	body := &content.Reader{ReadSeekCloser: d.body}
	r := new(http.Request)
	*r = *below.r
	r.Header = content.ServeHeaders(r.Method, r.Header)
	http.ServeContent(answer, r, "", d.modified, body)
	switch {
	case body.Err == nil || answer.Dropped():
		answer.Send()
	case !answer.Sent():
		clearContentHeaders(below.w.Header())
		a.write(below.w, below.r, a.problemOf(below.r.Context(), who, fmt.Errorf("read content: %w", body.Err)))
	default:
		// Part of the content is out. Only a broken connection tells the client.
		if below.r.Context().Err() == nil {
			a.log.ErrorContext(below.r.Context(), "response broken off", "path", below.r.URL.Path, "err", body.Err)
		}
		panic(http.ErrAbortHandler)
	}
}

// setContentHeaders sets what goes with content that a user has stored. A browser
// saves it, guesses no other type, and were it to show it, then in a sandbox and not
// as a part of this site.
func setContentHeaders(h http.Header, d download) {
	h.Set("Content-Type", d.contentType)
	h.Set("ETag", d.etag)
	h.Set("Content-Disposition", disposition(d.name))
	h.Set("Cache-Control", "private, no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox")
}

// clearContentHeaders takes back what does not go with a problem.
func clearContentHeaders(h http.Header) {
	for _, name := range []string{"Accept-Ranges", "Content-Disposition", "Content-Length", "Content-Range", "Last-Modified", "ETag"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store")
}

// refuseContent answers what http.ServeContent refuses.
func (a *API) refuseContent(below raw, status int) {
	h := below.w.Header()
	extent := h.Get("Content-Range") // of a 416: how long the content is
	clearContentHeaders(h)
	p := problem(http.StatusPreconditionFailed, "precondition.failed", "a condition of the request is false")
	if status == http.StatusRequestedRangeNotSatisfiable {
		h.Set("Content-Range", extent)
		p = problem(status, "range.not_satisfiable", "the content is shorter than the range")
	}
	a.write(below.w, below.r, p)
}

// disposition says that content is to be saved, and under which name (RFC 6266):
// as it is for who reads RFC 8187, in plain letters for others.
func disposition(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '%' {
			return '_'
		}
		return r
	}, name)
	value := mime.FormatMediaType("attachment", map[string]string{"filename": plain})
	if plain != name {
		value += "; filename*=UTF-8''" + extended(name)
	}
	return value
}

// extended is a value in the characters of RFC 8187 section 3.2.1.
func extended(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
	}
	return b.String()
}
