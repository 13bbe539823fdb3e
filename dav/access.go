package dav

import (
	"net/http"
	"slices"
)

// errReadOnly refuses a change where the principal may only read. What a role
// forbids the store refuses as well, for it may change at any time; here it is
// known before a body is read.
var errReadOnly = errStatus(http.StatusForbidden, "you may only read here")

// forbidden reports whether the principal may not use a method on the resource
// of the Request-URI. COPY changes its Destination only; a principal who may
// change nothing anywhere has no use for it.
func (q *request) forbidden(method string) bool {
	switch method {
	case http.MethodOptions, http.MethodGet, http.MethodHead, "PROPFIND", "SEARCH", "REPORT":
		return false
	case "COPY":
		return q.principal.ReadOnly
	}
	return q.principal.ReadOnly || q.mount != nil && q.readOnly
}

// checkAccess refuses a request that would change what its principal may only
// read. Nothing is looked up, so it tells nothing of what is there.
func (q *request) checkAccess() error {
	if q.forbidden(q.r.Method) || q.dest.mount != nil && q.dest.readOnly {
		return errReadOnly
	}
	return nil
}

// methods is what Allow lists for the resource of the Request-URI, mapped or
// not (RFC 9110 section 10.2.1): clients decide by it whether they may write.
func (q *request) methods() []string {
	return slices.DeleteFunc(slices.Clone(allMethods), q.forbidden)
}

// supportedMethodSet writes the property that names the methods (RFC 3253 section
// 3.1.3), the same as Allow. RFC 5323 section 3 asks for it.
func (pw *propWriter) supportedMethodSet(*listed) {
	pw.m.raw(`<D:supported-method-set>`)
	for _, method := range pw.q.methods() {
		pw.m.raw(`<D:supported-method name="` + method + `"/>`)
	}
	pw.m.raw(`</D:supported-method-set>`)
}

// allowed is methods for a resource that has not got the request's own.
func (q *request) allowed() []string {
	return slices.DeleteFunc(q.methods(), func(m string) bool { return m == q.r.Method })
}
