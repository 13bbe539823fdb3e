package rest_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// liar changes answers on their way.
type liar func(r *http.Request, res *http.Response, body string) string

// RoundTrip implements http.RoundTripper.
func (lie liar) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	body = []byte(lie(r, res, string(body)))
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return res, err
}

// TestGeneratedRequestsNoticeLies: if an operation answered otherwise than the
// document says, the generated requests would say so.
func TestGeneratedRequestsNoticeLies(t *testing.T) {
	ok := func(res *http.Response) bool { return res.StatusCode < 300 }
	for _, l := range []struct {
		operation, name string
		lie             liar
		want            string // nothing for the truth
	}{
		{"getWorkspace", "the truth", func(_ *http.Request, _ *http.Response, body string) string { return body }, ""},
		{"getWorkspace", "a failure", func(_ *http.Request, res *http.Response, body string) string {
			res.StatusCode = 500
			return body
		}, "the server failed"},
		{"getWorkspace", "another success", func(_ *http.Request, res *http.Response, body string) string {
			if ok(res) {
				res.StatusCode = 202
			}
			return body
		}, "status 202 is none of the declared"},
		{"getWorkspace", "another refusal", func(_ *http.Request, res *http.Response, body string) string {
			if res.StatusCode == 404 {
				res.StatusCode = 410
			}
			return body
		}, "status 410 is none of the declared"},
		{"getWorkspace", "a property is missing", replacing(`"kind":"team",`, ``), "missing property 'kind'"},
		{"getWorkspace", "a property is of another type", replacing(`"writable":true`, `"writable":1`), "want boolean"},
		{"getWorkspace", "a value is not of the list", replacing(`"kind":"team"`, `"kind":"group"`), "value must be one of"},
		{"getWorkspace", "a property is not declared", replacing(`"kind":"team"`, `"kind":"team","color":1`), "additional properties 'color' not allowed"},
		{"listWorkspaces", "a list is null", replacing(`"items":[`, `"items":null,"next":[`), "want array"},
		{"me", "no JSON", replacing(`{`, `<`), "no JSON"},
		{"me", "another media type", func(_ *http.Request, res *http.Response, body string) string {
			if ok(res) {
				res.Header.Set("Content-Type", "text/html")
			}
			return body
		}, `Content-Type "text/html" is none of the declared`},
		{"removeAppPassword", "a body where there is none", func(_ *http.Request, res *http.Response, body string) string {
			if ok(res) {
				return "{}"
			}
			return body
		}, "a body where status 204 has none"},
		{"listWorkspaces", "bad parameters are taken", func(r *http.Request, res *http.Response, body string) string {
			if r.URL.Query().Get("limit") == "1.5" {
				res.StatusCode = 200
				res.Header.Set("Content-Type", "application/json")
				return `{"items":[]}`
			}
			return body
		}, "granted, though the document rules it out"},
		{"addAppPassword", "good bodies are not taken", func(r *http.Request, res *http.Response, body string) string {
			if ok(res) {
				res.StatusCode = 400
				res.Header.Set("Content-Type", "application/problem+json")
				return `{"title":"","status":400,"code":"request.invalid","detail":"","fields":[{"location":"","message":""}]}`
			}
			return body
		}, "refused, though the document allows it"},
		{"addAppPassword", "nothing is granted", func(r *http.Request, res *http.Response, body string) string {
			if ok(res) {
				res.StatusCode = 404
				res.Header.Set("Content-Type", "application/problem+json")
				return `{"title":"","status":404,"code":"not_found","detail":""}`
			}
			return body
		}, noneGranted},
	} {
		t.Run(l.name, func(t *testing.T) {
			s := newScene(t)
			g := newGenerator(t, s)
			s.http = &http.Client{Transport: l.lie}
			for _, row := range accessRows(t) {
				if row.op.id == l.operation {
					g.try(row, 4)
				}
			}
			said := strings.Join(g.complaints, "\n")
			if l.want == "" && said != "" || !strings.Contains(said, l.want) {
				t.Errorf("said %q, want %q", said, l.want)
			}
		})
	}
}

// replacing changes what succeeds.
func replacing(old, by string) liar {
	return func(_ *http.Request, res *http.Response, body string) string {
		if res.StatusCode >= 300 {
			return body
		}
		return strings.Replace(body, old, by, 1)
	}
}
