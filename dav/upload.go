package dav

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"holdfast/lockns"
	"holdfast/store"
)

// assembled is the name in an upload that stands for the file its pieces make.
// MOVE takes it to its place.
const assembled = ".file"

// upload is a request for a URL below Options.UploadsPrefix: the collection of the
// caller's uploads, one of these, or a piece of one.
type upload struct {
	*request
	m     *mount // for hrefs alone; it has no workspace
	path  store.Path
	slash bool
}

// uploadMethods are those of the collection of uploads, an upload, a piece and
// assembled, with what serves them.
var uploadMethods [4]map[string]func(*upload, http.ResponseWriter) error

func init() {
	uploadMethods = [4]map[string]func(*upload, http.ResponseWriter) error{
		{"PROPFIND": (*upload).listUploads},
		{http.MethodDelete: (*upload).removeUpload, "MKCOL": (*upload).addUpload, "PROPFIND": (*upload).listChunks},
		{http.MethodPut: (*upload).putChunk, http.MethodDelete: (*upload).removeChunk, "PROPFIND": (*upload).showChunk},
		{"MOVE": (*upload).finish},
	}
}

// cutUploads takes the prefix of the uploads off an escaped path.
func (h *Handler) cutUploads(escapedPath string) (rest string, ok bool) {
	if h.opt.UploadsPrefix == "" {
		return "", false
	}
	return cutPrefix(escapedPath, h.opt.UploadsPrefix)
}

// serveUpload answers for a URL below Options.UploadsPrefix.
func (q *request) serveUpload(w http.ResponseWriter) {
	u := &upload{request: q}
	err := u.locate()
	if q.r.Method == http.MethodOptions && (err == nil || errors.Is(err, store.ErrNotFound)) {
		serveOptions(w, u.methods())
		return
	}
	if err == nil {
		err = u.serve(w)
	}
	if err != nil {
		q.failWith(w, err, u.methods())
	}
}

// locate finds out what the Request-URI names.
func (u *upload) locate() error {
	if err := checkTarget(u.r); err != nil {
		return err
	}
	segment, rest, ok := u.cutOwn(u.r.URL.EscapedPath(), u.h.opt.UploadsPrefix)
	if !ok {
		return store.ErrNotFound
	}
	m := &mount{prefix: u.h.opt.UploadsPrefix + "/" + segment}
	loc, err := m.at(rest)
	if err != nil {
		return err
	}
	if len(loc.path) > 2 {
		return store.ErrNotFound
	}
	m.asked = loc
	u.m, u.path, u.slash = m, loc.path, loc.slash
	return nil
}

// serve calls the method's handler.
func (u *upload) serve(w http.ResponseWriter) (err error) {
	serve, ok := u.handlers()[u.r.Method]
	if !ok {
		return errUnknownMethod(u.r.Method)
	}
	if u.forbidden(u.r.Method) {
		return errReadOnly
	}
	if err := u.readConditions(); err != nil {
		return err
	}
	if u.depth, err = parseDepth(u.r.Header.Values("Depth")); err != nil && u.r.Method == "PROPFIND" {
		return err
	}
	return serve(u, w)
}

func (u *upload) handlers() map[string]func(*upload, http.ResponseWriter) error {
	if len(u.path) == 2 && u.path[1] == assembled {
		return uploadMethods[3]
	}
	return uploadMethods[len(u.path)]
}

// methods is what Allow lists for the resource of the Request-URI.
func (u *upload) methods() []string {
	if u.m == nil {
		return readMethods
	}
	handlers := u.handlers()
	return slices.DeleteFunc(slices.Clone(allMethods), func(m string) bool {
		return m != http.MethodOptions && handlers[m] == nil || u.forbidden(m)
	})
}

func (u *upload) id() store.UploadID {
	id := store.UploadID{User: u.principal.UserID, Account: u.principal.Account}
	if len(u.path) > 0 {
		id.Name = u.path[0]
	}
	return id
}

// size is what limits the file: what OC-Total-Length announces, and --max-body.
func (u *upload) size() (store.UploadSize, error) {
	total, err := parseTotalLength(u.r.Header)
	return store.UploadSize{Total: total, Most: u.h.opt.MaxBody}, err
}

// parseTotalLength reads OC-Total-Length, by which clients announce how long the
// file will be that they send in pieces; -1 when it is absent.
func parseTotalLength(h http.Header) (int64, error) {
	values := h.Values("OC-Total-Length")
	if len(values) == 0 {
		return -1, nil
	}
	value, same := single(values, func(a, b string) bool { return a == b })
	n, err := strconv.ParseInt(value, 10, 64)
	if !same || !allDigits(value) || err != nil {
		return 0, badRequest("the OC-Total-Length header must be a number of bytes")
	}
	return n, nil
}

// uploadClaim is the claim of a request that changes an upload and no file. What
// it names is not in the store: If knows no state of it, and it has no
// representation that an entity-tag could match.
type uploadClaim struct{ *request }

// Precondition implements store.Claim.
func (c uploadClaim) Precondition(store.View) error {
	if c.conditions.Match.Present() {
		return store.ErrPrecondition
	}
	return nil
}

// addUpload serves MKCOL.
func (u *upload) addUpload(w http.ResponseWriter) error {
	if _, err := bufio.NewReader(u.r.Body).Peek(1); err == nil {
		return errMkcolBody
	} else if !errors.Is(err, io.EOF) {
		return badRequest("the body broke off")
	}
	size, err := u.size()
	if err != nil {
		return err
	}
	if err := u.store().AddUpload(u.r.Context(), u.id(), size, uploadClaim{u.request}); err != nil {
		return err
	}
	answerChange(w, http.StatusCreated)
	return nil
}

// removeUpload serves DELETE of an upload.
func (u *upload) removeUpload(w http.ResponseWriter) error {
	if err := u.store().RemoveUpload(u.r.Context(), u.id(), uploadClaim{u.request}); err != nil {
		return err
	}
	answerChange(w, http.StatusNoContent)
	return nil
}

// putChunk serves PUT of a piece.
func (u *upload) putChunk(w http.ResponseWriter) error {
	if u.slash {
		return store.ErrIsFolder
	}
	if err := u.checkContentHeaders(w); err != nil {
		return err
	}
	size, err := u.size()
	if err != nil {
		return err
	}
	b, err := u.newBody(w)
	if err != nil {
		return err
	}
	f := store.File{Body: b, Size: b.size, Checksums: b.checksums}
	created, err := u.store().PutChunk(u.r.Context(), u.id(), u.path[1], f, size, uploadClaim{u.request})
	if err != nil {
		return b.explain(err)
	}
	status := http.StatusNoContent
	if created {
		status = http.StatusCreated
	}
	answerChange(w, status)
	return nil
}

// removeChunk serves DELETE of a piece.
func (u *upload) removeChunk(w http.ResponseWriter) error {
	if err := u.store().RemoveChunk(u.r.Context(), u.id(), u.path[1], uploadClaim{u.request}); err != nil {
		return err
	}
	answerChange(w, http.StatusNoContent)
	return nil
}

// finish serves MOVE of the file that the pieces make. For its destination, and
// for all that locks and conditions say there, it is a PUT.
func (u *upload) finish(w http.ResponseWriter) error {
	put, err := u.putRequest()
	if err != nil {
		return err
	}
	if err := put.finishUpload(w, u); err != nil {
		// The locks in the way have their URLs in the destination's mount.
		put.failWith(w, err, u.methods())
	}
	return nil
}

// putRequest is the PUT of the Destination that a MOVE stands for.
func (u *upload) putRequest() (*request, error) {
	dest, err := u.destination()
	if err != nil {
		return nil, err
	}
	r := new(http.Request)
	*r = *u.r
	r.Method = http.MethodPut
	put := &request{h: u.h, r: r, principal: u.principal, own: u.own, teams: u.teams}
	put.location, dest.asked = dest, dest
	return put, nil
}

// finishUpload puts the file that an upload makes.
func (q *request) finishUpload(w http.ResponseWriter, u *upload) error {
	if err := q.admit(); err != nil {
		return err
	}
	overwrite, err := parseOverwrite(q.r.Header)
	if err != nil {
		return err
	}
	size, err := u.size()
	if err != nil {
		return err
	}
	if q.slash {
		return errIntoCollection
	}
	sums, err := parseChecksums(q.r.Header)
	if err != nil {
		return err
	}
	f := store.File{Modified: q.modified, Checksums: sums}
	o := store.FinishOptions{UploadSize: size, NoOverwrite: !overwrite}
	node, created, err := q.store().FinishUpload(q.r.Context(), u.id(), q.target(), f, o, q)
	if errors.Is(err, store.ErrIsFolder) {
		return errIntoCollection
	}
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("ETag", node.ETag)
	h.Set("Last-Modified", node.Modified.UTC().Format(http.TimeFormat))
	q.acceptTime(h)
	status := http.StatusNoContent
	if created {
		status = http.StatusCreated
	}
	answerChange(w, status)
	return nil
}

// errIntoCollection: 405, which PUT gets, would say that the upload has no MOVE.
var errIntoCollection = errStatus(http.StatusConflict, "the destination is a collection")

// answerChange answers a change that has no more to say.
func answerChange(w http.ResponseWriter, status int) {
	h := w.Header()
	if status != http.StatusNoContent {
		h.Set("Content-Length", "0")
	}
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
}

// listUploads serves PROPFIND of the collection of the caller's uploads.
func (u *upload) listUploads(w http.ResponseWriter) error {
	return u.listMounts(w, u.m.href(nil, true), "uploads", func(pw *propWriter) error {
		all, err := u.store().Uploads(u.r.Context(), u.id())
		for _, up := range all {
			if err == nil {
				err = pw.upload(u, up)
			}
		}
		return err
	})
}

// listChunks serves PROPFIND of an upload, by which a client finds out what has
// come.
func (u *upload) listChunks(w http.ResponseWriter) error {
	if u.depth == depthAbsent || u.depth == depthInfinity {
		return errFiniteDepth
	}
	up, chunks, err := u.store().Upload(u.r.Context(), u.id())
	if err != nil {
		return err
	}
	pw, err := u.newPropWriter(w)
	if err != nil {
		return err
	}
	err = pw.upload(u, up)
	for i := 0; i < len(chunks) && u.depth == depth1 && err == nil; i++ {
		err = pw.chunk(u, chunks[i])
	}
	return pw.finish(err)
}

// showChunk serves PROPFIND of a piece.
func (u *upload) showChunk(w http.ResponseWriter) error {
	c, err := u.store().Chunk(u.r.Context(), u.id(), u.path[1])
	if err != nil {
		return err
	}
	c.Name = u.path[1] // with the zeros before it that the client writes
	pw, err := u.newPropWriter(w)
	if err != nil {
		return err
	}
	return pw.finish(pw.chunk(u, c))
}

// upload writes an upload.
func (pw *propWriter) upload(u *upload, up store.Upload) error {
	n := madeUp
	n.Created = up.Created
	return pw.entry(listed{
		Entry: store.Entry{Node: n}, kind: uploadResource,
		href: pw.q.external() + u.m.href(store.Path{up.Name}, true), displayName: up.Name,
	})
}

// chunk writes a piece of an upload.
func (pw *propWriter) chunk(u *upload, c store.Chunk) error {
	n := store.Node{Place: lockns.Place{Root: lockns.Root{Kind: lockns.FileRoot}}, Size: c.Size, Modified: c.Modified}
	return pw.entry(listed{
		Entry: store.Entry{Node: n}, kind: uploadResource,
		href: pw.q.external() + u.m.href(store.Path{u.path[0], c.Name}, false), displayName: c.Name,
	})
}
