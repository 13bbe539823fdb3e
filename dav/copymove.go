package dav

import "net/http"

// remove serves DELETE. On a collection it works with Depth infinity only (RFC
// 4918 section 9.6.1).
func (q *request) remove(w http.ResponseWriter) error {
	if err := q.refuseDepth(); err != nil {
		return err
	}
	return q.delegate(w, &session{q: q}, nil)
}

// copyOrMove serves COPY, with Depth 0 or infinity, and MOVE, which on a
// collection knows infinity only (RFC 4918 sections 9.8.3 and 9.9.2).
func (q *request) copyOrMove(w http.ResponseWriter) error {
	header := http.Header{"Destination": {"/"}} // session knows the real one
	if q.r.Method == "MOVE" {
		if err := q.refuseDepth(); err != nil {
			return err
		}
		return q.delegate(w, &session{q: q}, header)
	}
	if q.depth == depth1 {
		return badRequest("COPY works with Depth 0 or infinity")
	}
	return q.delegate(w, &session{q: q}, header)
}
