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
	patch, protected := planPatch(ops)
	outcome := patched{ops: ops}
	if len(protected) > 0 {
		// Nothing is changed, yet locks and conditions come first.
		patch, outcome = store.Patch{}, patched{ops, protected, protectedFailure}
	}
	node, err := q.h.opt.Store.PatchProps(q.r.Context(), q.target(), patch, q)
	if oversized(err) {
		outcome = patched{ops, settings(ops), q.failureOf(err)}
		node, err = q.stat()
	}
	if err != nil {
		return err
	}
	writeDocument(w, http.StatusMultiStatus, "multistatus", func(m *multistatus) {
		m.response(q.href(node.IsFolder()))
		outcome.write(m)
		m.endResponse()
	})
	return nil
}

// oversized reports whether a patch failed because the user may not store as
// much. That is the properties' own 507 (RFC 4918 section 9.2.1); the server's
// want of space is the request's.
func oversized(err error) bool {
	return errors.Is(err, store.ErrTooManyProps) || errors.Is(err, store.ErrQuota)
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

// planPatch turns the operations of a body into the store's, and lists the
// properties no client may change. Windows' modification time is stored and
// also obeyed: it is sent after the content to keep the date of a copied file.
func planPatch(ops []propOp) (patch store.Patch, protected map[xmlName]bool) {
	protected = map[xmlName]bool{}
	for _, op := range ops {
		if isProtected(op.name) {
			protected[op.name] = true
			continue
		}
		patch.Props = append(patch.Props, store.PropOp{
			Property: store.Property{Space: op.name.space, Local: op.name.local, XML: string(op.xml)},
			Remove:   op.remove,
		})
		if op.name == win32Modified && !op.remove {
			if t, ok := win32Time(elementText(op.xml)); ok {
				patch.Modified = &t
			}
		}
	}
	return patch, protected
}

// win32Time reads a date that Windows can mean and HTTP can show: its clock
// starts in 1601, and the format has four digits for the year.
func win32Time(text string) (time.Time, bool) {
	t, err := http.ParseTime(text)
	year := t.UTC().Year()
	return t, err == nil && year >= 1601 && year <= 9999
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
