package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

const (
	xmlType  = "application/xml; charset=utf-8"
	lockInfo = `<?xml version="1.0" encoding="utf-8"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/>` +
		`</D:lockscope><D:locktype><D:write/></D:locktype><D:owner>bench</D:owner></D:lockinfo>`
	allprop = `<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>`
	// fourProps is what a client asks for that synchronises a folder.
	fourProps = `<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:prop><D:resourcetype/>` +
		`<D:getcontentlength/><D:getlastmodified/><D:getetag/></D:prop></D:propfind>`
)

// Errors of an answer with the right status and the wrong content.
var (
	errNoToken   = errors.New("LOCK without a Lock-Token")
	errContent   = errors.New("GET with the wrong content")
	errResponses = errors.New("PROPFIND with the wrong number of responses")
)

// ask sends a request whose answer must have one of the statuses.
func (c *client) ask(r request, statuses ...int) (reply, error) {
	p, err := c.do(r)
	if err != nil {
		return reply{}, err
	}
	if !slices.Contains(statuses, p.status) {
		return reply{}, &statusError{r.method, p.status}
	}
	return p, nil
}

func (c *client) options(path string) error {
	_, err := c.ask(request{method: "OPTIONS", path: path}, http.StatusOK, http.StatusNoContent)
	return err
}

func (c *client) mkcol(path string) error {
	_, err := c.ask(request{method: "MKCOL", path: path}, http.StatusCreated)
	return err
}

// put sends a body; header holds names and values.
func (c *client) put(path string, body []byte, header ...string) error {
	_, err := c.ask(request{method: "PUT", path: path, body: body, header: header}, http.StatusCreated, http.StatusNoContent)
	return err
}

// get reads a resource, which must have the content.
func (c *client) get(path string, content []byte) error {
	p, err := c.ask(request{method: "GET", path: path}, http.StatusOK)
	if err != nil {
		return err
	}
	if !bytes.Equal(p.body, content) {
		return errContent
	}
	return nil
}

// lock takes an exclusive write lock of depth 0 for a day and returns its token in brackets.
func (c *client) lock(path string) (string, error) {
	p, err := c.ask(request{method: "LOCK", path: path, body: []byte(lockInfo),
		header: []string{"Content-Type", xmlType, "Depth", "0", "Timeout", "Second-86400"}}, http.StatusOK, http.StatusCreated)
	if err != nil {
		return "", err
	}
	if p.token == "" {
		return "", errNoToken
	}
	return p.token, nil
}

func (c *client) unlock(path, token string) error {
	_, err := c.ask(request{method: "UNLOCK", path: path, header: []string{"Lock-Token", token}}, http.StatusNoContent)
	return err
}

// propfind lists a collection, which must have so many members.
func (c *client) propfind(path, body string, members int) error {
	p, err := c.ask(request{method: "PROPFIND", path: path, body: []byte(body),
		header: []string{"Content-Type", xmlType, "Depth", "1"}}, http.StatusMultiStatus)
	if err != nil {
		return err
	}
	if n := countResponses(p.body); n != members+1 {
		return fmt.Errorf("%w: %d, want %d", errResponses, n, members+1)
	}
	return nil
}

// transfer sends COPY or MOVE to a destination that must not exist.
func (c *client) transfer(method, from, to string) error {
	_, err := c.ask(request{method: method, path: from,
		header: []string{"Destination", "http://" + c.addr + to, "Overwrite", "F"}}, http.StatusCreated)
	return err
}

// countResponses counts the DAV:response elements of a multistatus body. It takes the namespace prefix
// from the root element; both servers of this benchmark keep to one.
func countResponses(body []byte) int {
	root := bytes.Index(body, []byte("multistatus"))
	if root < 0 {
		return 0
	}
	start := bytes.LastIndexByte(body[:root], '<')
	if start < 0 {
		return 0
	}
	return bytes.Count(body, []byte("</"+string(body[start+1:root])+"response>"))
}
