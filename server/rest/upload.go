package rest

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/dav/content"
	"holdfast/lockns"
	"holdfast/store"
)

// What is wrong with a body by its headers alone, or with how it came.
var (
	errLength    = errors.New("rest: body without a length")
	errPart      = errors.New("rest: body is a part")
	errCoding    = errors.New("rest: body is coded")
	errBrokenOff = errors.New("rest: body broke off")
)

// ConditionHeaders are the conditions that a change may come with. They are read
// from the request itself, as package content does; here they are described.
type ConditionHeaders struct {
	IfMatch      string `header:"If-Match" maxLength:"32768" doc:"Change only what has this ETag."`
	IfNoneMatch  string `header:"If-None-Match" maxLength:"32768" doc:"With *, replace nothing."`
	IfUnmodified string `header:"If-Unmodified-Since" maxLength:"1024"`
}

// UploadInput is what may go with content.
type UploadInput struct {
	ConditionHeaders
	Modified      time.Time `query:"modified" doc:"The modification time to give the file; now without it."`
	ContentDigest string    `header:"Content-Digest" maxLength:"4096" doc:"The sha-256 of the body (RFC 9530); a body that has another is not stored."`
	ReprDigest    string    `header:"Repr-Digest" maxLength:"4096" doc:"The same."`
}

type (
	putContentInput struct {
		ID int64 `path:"id" minimum:"1"`
		UploadInput
	}
	putByPathInput struct {
		Workspace string `path:"workspace" maxLength:"64" example:"team-3" doc:"Or personal, for your own."`
		Path      string `query:"path" required:"true" minLength:"1" maxLength:"33000" example:"/docs/plan.odt" doc:"Where the file is, or is to be, from the topmost folder that this login opens."`
		UploadInput
	}
	createFileInput struct {
		ID   int64  `path:"id" minimum:"1"`
		Name string `query:"name" required:"true" minLength:"1" maxLength:"255"`
		UploadInput
	}
	// written is the answer to a change that leaves a resource.
	written struct {
		Status   int
		ETag     string `header:"ETag"`
		Location string `header:"Location"`
		Body     Resource
	}
)

func (a *API) registerUploads() {
	registerRaw(a, Files, a.uploadOperation(huma.Operation{
		OperationID: "putFileContent", Method: http.MethodPut, Path: "/files/{id}/content",
		Summary: "Replace the content of a file",
	}), func(ctx context.Context, who *Caller, below raw, in *putContentInput) (*written, error) {
		t, _, err := a.find(ctx, who, fileID(in.ID), store.Want{})
		if err != nil {
			return nil, err
		}
		return a.put(ctx, who, below, t, &in.UploadInput, nil)
	})
	registerRaw(a, Files, a.uploadOperation(huma.Operation{
		OperationID: "putContentByPath", Method: http.MethodPut, Path: "/workspaces/{workspace}/content",
		Summary: "Make a file, or replace its content, where a path leads",
	}, http.StatusCreated), func(ctx context.Context, who *Caller, below raw, in *putByPathInput) (*written, error) {
		t, err := a.place(ctx, who, in.Workspace, in.Path)
		if err == nil && a.hasBlocked(t.Path) {
			err = errBlocked
		}
		if err != nil {
			return nil, err
		}
		return a.put(ctx, who, below, t, &in.UploadInput, nil)
	})
	registerRaw(a, Files, a.uploadOperation(huma.Operation{
		OperationID: "createFile", Method: http.MethodPost, Path: "/folders/{id}/files", DefaultStatus: http.StatusCreated,
		Summary: "Make a file in a folder",
	}), func(ctx context.Context, who *Caller, below raw, in *createFileInput) (*written, error) {
		t, err := a.member(ctx, who, in.ID, in.Name)
		if err != nil {
			return nil, err
		}
		return a.put(ctx, who, below, t, &in.UploadInput, func(v store.View) error { return vacant(v, t) })
	})
}

// uploadOperation describes a body that is content, and what it may be answered
// with beside the operation's own status.
func (a *API) uploadOperation(op huma.Operation, also ...int) huma.Operation {
	op.Tags = []string{"Content"}
	op.Description = "The body is the content, of any media type, which is kept: form types and application/octet-stream say nothing, and the name decides. " +
		"All that can refuse it is answered before the body is read (Expect: 100-continue is honoured), and decided again when it has come. " +
		"A body that breaks off changes nothing."
	op.Errors = append([]int{http.StatusLengthRequired}, changeErrors...)
	op.RequestBody = &huma.RequestBody{
		Description: "The content.",
		Content:     map[string]*huma.MediaType{content.Unknown: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
	}
	return a.alsoAnswers(op, also...)
}

// alsoAnswers describes more statuses with which a resource is answered.
func (a *API) alsoAnswers(op huma.Operation, statuses ...int) huma.Operation {
	for _, status := range statuses {
		if op.Responses == nil {
			op.Responses = map[string]*huma.Response{}
		}
		schema := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Resource](), true, "Resource")
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{"application/json": {Schema: schema}},
		}
	}
	return op
}

// put stores the body of a request as the content of a file. first is asked
// before the locks are; nil asks nothing.
func (a *API) put(ctx context.Context, who *Caller, below raw, t store.Target, in *UploadInput, first func(store.View) error) (*written, error) {
	f, body, err := a.file(below, in)
	if err != nil {
		return nil, err
	}
	cl := who.claim(conditions(below.r, t))
	cl.first = first
	n, created, err := a.o.Store.Put(ctx, t, f, cl)
	if err != nil {
		return nil, body.explain(err)
	}
	return a.wrote(ctx, who, below.r, t.Workspace, n.Place.Root, created, a.resource(who, t.Workspace, store.Entry{Node: n})), nil
}

// conditions are those of a request about the resource that it changes, for a
// claim.
func conditions(r *http.Request, t store.Target) func(store.View) error {
	c := content.ParseConditions(r.Header)
	if !c.Any() {
		return nil
	}
	return func(v store.View) error {
		if there := v.Resource(t); !c.Hold(there.Exists, there.Node.ETag, there.Node.Modified) {
			return store.ErrPrecondition
		}
		return nil
	}
}

// vacant refuses a name that is taken.
func vacant(v store.View, t store.Target) error {
	if v.Resource(t).Exists {
		return store.ErrExists
	}
	return nil
}

// file is the body of a request as content, unless its headers alone refuse it.
func (a *API) file(below raw, in *UploadInput) (store.File, *body, error) {
	r := below.r
	switch {
	case !r.ProtoAtLeast(1, 1) && r.Header.Get("Content-Length") == "":
		// HTTP/1.0 has no other length of a body, and net/http takes it for empty.
		return store.File{}, nil, errLength
	case r.Header.Get("Content-Range") != "":
		// Stored as a whole, a part would destroy the rest (RFC 9110 section 14.5).
		return store.File{}, nil, errPart
	case !content.Identity(r.Header):
		below.w.Header().Set("Accept-Encoding", "identity")
		return store.File{}, nil, errCoding
	}
	b := &body{r: r.Body}
	if limit := a.o.MaxBody; limit > 0 {
		if r.ContentLength > limit {
			return store.File{}, nil, &http.MaxBytesError{Limit: limit}
		}
		b.r = http.MaxBytesReader(below.w, r.Body, limit)
	}
	f := store.File{Body: b, Size: r.ContentLength, ContentType: typeToKeep(r.Header), Modified: in.Modified.UTC()}
	if year := f.Modified.Year(); !in.Modified.IsZero() && (year < 1601 || year > 9999) {
		// What HTTP can show, and WebDAV's clients can mean.
		return store.File{}, nil, invalid("query.modified", "must be between the years 1601 and 9999")
	}
	sums, err := content.Digests(r.Header)
	for _, sum := range sums {
		f.Checksums = append(f.Checksums, store.Checksum{Algorithm: "SHA256", Hex: hex.EncodeToString(sum)})
	}
	return f, b, err
}

// typeToKeep is the media type that a client means. Programs that send a body
// with no type in mind send one of these, and a file is no form.
func typeToKeep(h http.Header) string {
	switch sent := content.SentType(h); sent {
	case content.Unknown, "application/x-www-form-urlencoded":
		return ""
	default:
		return sent
	}
}

// body is content that comes. It keeps the connection's error, which is the
// client's fault, apart from what the store's own storage does.
type body struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// explain turns the error of a Put into the client's fault when the body broke
// off.
func (b *body) explain(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case b.err == nil || errors.As(err, &tooLarge):
		return err
	case errors.As(b.err, &tooLarge):
		return fmt.Errorf("read body: %w", b.err)
	}
	return fmt.Errorf("%w: %w", errBrokenOff, b.err)
}

// wrote answers a change with the resource as it is now. known is what the change
// left: shown when its entity-tag is another by now, so that the caller gets the one
// of what they sent, and when there is nothing to be read. A change that was made
// is not answered as if it had failed.
func (a *API) wrote(ctx context.Context, who *Caller, r *http.Request, ws lockns.Workspace, id lockns.Root, created bool, known Resource) *written {
	known.Path = ""
	t := store.ByID(ws, id)
	t.Base = who.base()
	if e, err := a.look(ctx, t, whole); err == nil {
		now := a.resource(who, ws, e)
		if known.ETag != "" && now.ETag != known.ETag {
			known.Path, known.Parent, known.LockState = now.Path, now.Parent, now.LockState
		} else {
			known = now
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		a.log.WarnContext(ctx, "changed resource not read", "err", err)
	}
	out := &written{Status: http.StatusOK, ETag: known.ETag, Body: known}
	if created {
		out.Status = http.StatusCreated
		out.Location = a.o.External(r) + Prefix + "/" + known.Kind + "s/" + strconv.FormatInt(known.ID, 10)
	}
	return out
}
