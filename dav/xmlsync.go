package dav

import (
	"io"
	"net/http"
)

// maxSyncTokenBytes is far more than a token of this server has.
const maxSyncTokenBytes = 4096

var (
	errSyncTokenTooLarge = errStatus(http.StatusRequestEntityTooLarge, "a text in the body is longer than 4096 bytes")
	errSyncBody          = badRequest("a sync-collection body needs one each of sync-token, sync-level (1 or infinite) and prop")
	errSyncLimit         = badRequest("the limit of a sync-collection body needs one nresults, a number")
)

// syncCollection is a parsed DAV:sync-collection body (RFC 6578 section 6.1).
type syncCollection struct {
	token    string // "" asks for all members there are
	infinite bool   // the sync-level
	limit    int    // how many changes are wanted, -1 when it was not said
	props    []xmlName
}

// readSyncCollection reads the body of a REPORT. A document of another kind is
// errSupportedReport.
func readSyncCollection(body io.Reader) (syncCollection, error) {
	text, err := readXMLBody(body)
	if err != nil {
		return syncCollection{}, err
	}
	p := syncParser{ask: syncCollection{limit: -1}}
	if err := parseXML(text, "sync-collection", errSupportedReport, p.child); err != nil {
		return syncCollection{}, err
	}
	return p.result()
}

// syncParser collects the children of a sync-collection element, counting what
// must be there once.
type syncParser struct {
	ask                           syncCollection
	tokens, levels, props, limits int
	badLevel                      bool
	asked                         propfindParser
}

func (p *syncParser) child(r *xmlReader, name xmlName) error {
	switch name {
	case davName("sync-token"):
		p.tokens++
		text, err := r.leafText(maxSyncTokenBytes, errSyncTokenTooLarge)
		p.ask.token = trimSpace(text)
		return err
	case davName("sync-level"):
		p.levels++
		text, err := r.leafText(maxSyncTokenBytes, errSyncTokenTooLarge)
		text = trimSpace(text)
		p.ask.infinite = text == "infinite"
		p.badLevel = !p.ask.infinite && text != "1"
		return err
	case davName("prop"):
		p.props++
		return r.eachChild(p.asked.add)
	case davName("limit"):
		p.limits++
		return r.eachChild(func(name xmlName) (err error) {
			if name == davName("nresults") {
				p.ask.limit, err = r.nresults(p.ask.limit, errSyncTokenTooLarge, errSyncLimit)
			}
			return err
		})
	}
	return nil
}

func (p *syncParser) result() (syncCollection, error) {
	switch {
	case p.tokens != 1 || p.levels != 1 || p.badLevel || p.props != 1:
		return syncCollection{}, errSyncBody
	case p.limits > 1 || p.limits == 1 && p.ask.limit < 0:
		return syncCollection{}, errSyncLimit
	}
	p.ask.props = p.asked.props
	return p.ask, nil
}
