package dav

import (
	"errors"
	"net/http"
)

// supportedReports is the property of a collection that names its reports (RFC
// 3253 section 3.1.5).
const supportedReports = `<D:supported-report-set><D:supported-report><D:report><D:sync-collection/></D:report></D:supported-report></D:supported-report-set>`

var errSupportedReport = errCondition(http.StatusForbidden, "supported-report", "the resource has no such report")

// report serves REPORT (RFC 3253 section 3.6). The root element of the body says
// which report is asked for; collections have one.
func (q *request) report(w http.ResponseWriter) error {
	if err := q.checkXMLType(); err != nil {
		return err
	}
	ask, unknown := readSyncCollection(q.r.Body)
	if unknown != nil && !errors.Is(unknown, errSupportedReport) {
		return unknown
	}
	if err := q.checkIf(); err != nil {
		return err
	}
	node, err := q.stat()
	if err != nil {
		return err
	}
	if unknown != nil || !node.IsFolder() {
		return errSupportedReport
	}
	return q.syncCollection(w, ask)
}

// supportedReportSet writes the property: of a file it is empty.
func (pw *propWriter) supportedReportSet(l *listed) {
	if l.IsFolder() {
		pw.m.raw(supportedReports)
		return
	}
	pw.m.raw(`<D:supported-report-set/>`)
}
