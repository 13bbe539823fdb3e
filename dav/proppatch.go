package dav

import (
	"net/http"

	"holdfast/store"
)

// proppatch serves PROPPATCH (RFC 4918 section 9.2). Either all is done or
// nothing; the answer is 207 in both cases, which is the only one Windows
// understands.
func (q *request) proppatch(w http.ResponseWriter) error {
	if err := q.checkXMLType(); err != nil {
		return err
	}
	ops, err := readProppatch(q.r.Body)
	if err != nil {
		return err
	}
	patch, protected := planPatch(ops)
	if len(protected) > 0 {
		// Nothing is changed, yet locks and conditions come first.
		patch = store.Patch{}
	}
	node, err := q.h.opt.Store.PatchProps(q.r.Context(), q.target(), patch, q)
	if err != nil {
		return err
	}
	writeDocument(w, http.StatusMultiStatus, "multistatus", func(m *multistatus) {
		m.response(q.href(node.IsFolder()))
		writePatched(m, ops, protected)
		m.endResponse()
	})
	return nil
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
			if t, err := http.ParseTime(elementText(op.xml)); err == nil {
				patch.Modified = &t
			}
		}
	}
	return patch, protected
}

// writePatched writes what became of the properties, each once: 200 for all, or
// 403 for the protected ones and 424 for the others.
func writePatched(m *multistatus, ops []propOp, protected map[xmlName]bool) {
	if len(protected) == 0 {
		writeNames(m, ops, nil)
		m.propstatClose(http.StatusOK)
		return
	}
	writeNames(m, ops, func(name xmlName) bool { return protected[name] })
	m.propstatFail(http.StatusForbidden, "cannot-modify-protected-property", "")
	for _, op := range ops {
		if !protected[op.name] {
			writeNames(m, ops, func(name xmlName) bool { return !protected[name] })
			m.propstatClose(http.StatusFailedDependency)
			return
		}
	}
}

// writeNames opens a group with the names that pick picks.
func writeNames(m *multistatus, ops []propOp, pick func(xmlName) bool) {
	m.propstatOpen()
	written := map[xmlName]bool{}
	for _, op := range ops {
		if !written[op.name] && (pick == nil || pick(op.name)) {
			written[op.name] = true
			m.emptyName(op.name)
		}
	}
}
