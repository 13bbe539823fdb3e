package dav

import (
	"errors"
	"net/http"
	"time"

	"holdfast/store"
)

// proppatch serves PROPPATCH (RFC 4918 section 9.2). Either all is done or
// nothing. What the properties are to blame for is told property by property in
// a 207, the only answer Windows understands.
func (q *request) proppatch(w http.ResponseWriter) error {
	if err := q.checkXMLType(); err != nil {
		return err
	}
	ops, err := readProppatch(q.r.Body)
	if err != nil {
		return err
	}
	patch, outcome := planPatch(ops)
	if len(outcome.blamed) > 0 {
		patch = store.Patch{} // nothing is changed, yet locks and conditions come first
	}
	node, err := q.patch(patch)
	if blamed, ok := q.blame(ops, err); ok {
		outcome = blamed
		node, err = q.stat()
	}
	if err != nil {
		return err
	}
	if len(outcome.blamed) == 0 && q.preferences().minimal {
		applied(w, "return=minimal")
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	writeDocument(w, http.StatusMultiStatus, "multistatus", func(m *multistatus) {
		m.response(q.href(node.IsFolder()))
		outcome.write(m)
		m.endResponse()
	})
	return nil
}

// patch changes properties. Checksums that the patch names and that nobody has
// verified yet are computed first, once it is known that nothing else refuses it.
func (q *request) patch(p store.Patch) (store.Node, error) {
	node, err := q.store().PatchProps(q.r.Context(), q.target(), p, q)
	if !errors.Is(err, store.ErrChecksum) || node.IsFolder() {
		return node, err
	}
	if _, err := q.store().Checksums(q.r.Context(), q.target(), algorithms(p.Checksums)...); err != nil {
		return node, err
	}
	return q.store().PatchProps(q.r.Context(), q.target(), p, q)
}

// blame finds the properties for which a patch failed. That the user may not
// store as much is their own 507 (RFC 4918 section 9.2.1), while the server's want
// of space is the request's.
func (q *request) blame(ops []propOp, err error) (patched, bool) {
	switch {
	case errors.Is(err, store.ErrTooManyProps), errors.Is(err, store.ErrQuota):
		return patched{ops, settings(ops), q.failureOf(err)}, true
	case errors.Is(err, store.ErrChecksum):
		return patched{ops, map[xmlName]bool{checksumsProperty: true}, valueFailure("the content has not got this checksum")}, true
	}
	return patched{}, false
}

// settings are the properties that operations set: those that take space.
func settings(ops []propOp) map[xmlName]bool {
	set := map[xmlName]bool{}
	for _, op := range ops {
		if !op.remove {
			set[op.name] = true
		}
	}
	return set
}

// planPatch turns the operations of a body into the store's. When there are
// properties that no client may change, or not to that, they are blamed.
func planPatch(ops []propOp) (patch store.Patch, outcome patched) {
	protected, unusable := map[xmlName]bool{}, map[xmlName]bool{}
	for _, op := range ops {
		switch {
		case isProtected(op):
			protected[op.name] = true
		case !planOp(&patch, op):
			unusable[op.name] = true
		}
	}
	switch {
	case len(protected) > 0:
		return patch, patched{ops, protected, protectedFailure}
	case len(unusable) > 0:
		return patch, patched{ops, unusable, valueFailure("the property cannot have this value")}
	}
	return patch, patched{ops: ops}
}

// planOp adds an operation, or reports that its value is of no use. Windows'
// modification time is stored and also obeyed: it is sent after the content to
// keep the date of a copied file. lastmodified is how clients of ownCloud set the
// time, with the checksum they know beside it, so that it is not lost.
func planOp(patch *store.Patch, op propOp) bool {
	switch {
	case op.name == lastModified:
		t, ok := parseUnixTime(elementText(string(op.xml)))
		patch.Modified = &t
		return ok
	case op.name == checksumsProperty:
		sums, err := parseChecksumList(innerText(string(op.xml), 2))
		patch.Checksums = sums
		return err == nil && len(sums) > 0
	case op.name == win32Modified && !op.remove:
		if t, ok := win32Time(elementText(string(op.xml))); ok {
			patch.Modified = &t
		}
	}
	patch.Props = append(patch.Props, store.PropOp{
		Property: store.Property{Space: op.name.space, Local: op.name.local, XML: string(op.xml)},
		Remove:   op.remove,
	})
	return true
}

var lastModified = davName("lastmodified")

// valueFailure is the reason when a property cannot have the value that was sent
// (409 in RFC 4918 section 9.2.1).
func valueFailure(text string) failure { return failure{status: http.StatusConflict, text: text} }

// win32Time reads a date that can be shown.
func win32Time(text string) (time.Time, bool) {
	t, err := http.ParseTime(text)
	return t, err == nil && showable(t)
}

// patched is what became of the operations of a body.
type patched struct {
	ops []propOp
	// blamed are the properties that failed, all for one reason, and so kept
	// the others from being changed. Without any the patch is done.
	blamed map[xmlName]bool
	reason failure
}

// protectedFailure is the reason when properties belong to the server.
var protectedFailure = failure{status: http.StatusForbidden, condition: "cannot-modify-protected-property"}

// write writes the properties, each once: 200 for all, or the reason for the
// blamed ones and 424 for the others.
func (p patched) write(m *multistatus) {
	if len(p.blamed) == 0 {
		p.writeNames(m, nil)
		m.propstatClose(http.StatusOK)
		return
	}
	p.writeNames(m, func(name xmlName) bool { return p.blamed[name] })
	m.propstatFail(p.reason.status, p.reason.condition, p.reason.text)
	for _, op := range p.ops {
		if !p.blamed[op.name] {
			p.writeNames(m, func(name xmlName) bool { return !p.blamed[name] })
			m.propstatClose(http.StatusFailedDependency)
			return
		}
	}
}

// writeNames opens a group with the names that pick picks.
func (p patched) writeNames(m *multistatus, pick func(xmlName) bool) {
	m.propstatOpen()
	written := map[xmlName]bool{}
	for _, op := range p.ops {
		if !written[op.name] && (pick == nil || pick(op.name)) {
			written[op.name] = true
			m.emptyName(op.name)
		}
	}
}
