package dav

import (
	"net/http"
	"slices"
	"strings"

	"holdfast/store"
)

// recalculate serves the only PATCH there is: without a body and with the header
// X-Recalculate-Hash, by which clients of Nextcloud ask for a checksum of a file
// after they changed its time. It is told in OC-Checksum and kept. Content,
// properties and ETag stay as they are, so locks do not stand in the way.
func (q *request) recalculate(w http.ResponseWriter) error {
	algorithm := strings.ToUpper(trimOWS(q.r.Header.Get("X-Recalculate-Hash")))
	if algorithm == "" || q.r.ContentLength != 0 {
		return errUnknownMethod(http.MethodPatch)
	}
	if _, known := checksumBytes[algorithm]; !known {
		return badRequest("the algorithm of X-Recalculate-Hash is not known here")
	}
	if err := q.checkIf(); err != nil {
		return err
	}
	node, err := q.stat()
	if err == nil {
		err = q.precondition(true, node)
	}
	if err != nil {
		return err
	}
	sums, err := q.store().Checksums(q.r.Context(), q.target(), algorithm)
	if err != nil {
		return err
	}
	others := func(sum store.Checksum) bool { return sum.Algorithm != algorithm }
	w.Header().Set("OC-Checksum", formatChecksums(slices.DeleteFunc(sums, others)))
	w.WriteHeader(http.StatusNoContent)
	return nil
}
