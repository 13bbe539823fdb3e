package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// describe gives the configuration from which the document is made.
func describe() huma.Config {
	config := huma.DefaultConfig("Holdfast", "1")
	config.Info.Description = "Files, their locks, and who may use them, beside WebDAV."
	config.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	config.Servers = []*huma.Server{{URL: Prefix}}
	config.Tags = tags
	config.Components.SecuritySchemes = securitySchemes
	config.OnAddOperation = []huma.AddOpFunc{complete}
	format := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}
	config.Formats = map[string]huma.Format{"application/json": format, "json": format}
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.RejectUnknownQueryParameters = true
	return config
}

var securitySchemes = map[string]*huma.SecurityScheme{
	"token":   {Type: "http", Scheme: "bearer", Description: "An app password."},
	"basic":   {Type: "http", Scheme: "basic", Description: "Name and password, where the server takes Basic."},
	"session": {Type: "apiKey", In: "cookie", Name: sessionCookie, Description: "The session of a browser. Over HTTPS the name begins with __Host-, or with __Secure- where the server is below a path."},
}

// tags are the groups of operations, in the order in which people learn of them.
var tags = []*huma.Tag{
	{Name: "Session", Description: "Who the caller is, logging in at a browser, and how WebDAV clients connect."},
	{Name: "App passwords", Description: "Passwords for programs, limited to what each of them is for."},
	{Name: "Workspaces", Description: "The trees of files that the caller may open: their own, and those of their teams."},
	{Name: "Files", Description: "Files and folders by their ids, which stay when they are moved."},
	{Name: "Content", Description: "What is in a file: whole, in ranges, and only if it is what the caller thinks."},
	{Name: "Versions", Description: "Former contents of files."},
	{Name: "Trash", Description: "What was removed and can be had back."},
	{Name: "Locks", Description: "Who keeps others from changing what, through any door of the server."},
	{Name: "Named locks", Description: "Locks on names, for programs that take turns."},
	{Name: "Events", Description: "What changes, told while it does."},
	{Name: "Teams", Description: "Users who share a workspace."},
	{Name: "Users", Description: "Who can log in."},
	{Name: "Administration", Description: "What administrators see of the whole server."},
}

// demand says in the document who may call an operation, and how the others are
// refused.
func demand(op *huma.Operation, need Access) {
	if need == Public {
		op.Security = []map[string][]string{}
		return
	}
	op.Security = []map[string][]string{{"token": {}}, {"basic": {}}, {"session": {}}}
	if need == Own {
		op.Security = op.Security[1:]
	}
	op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
}

// complete brings the statuses of an operation in line with what the layers above
// it answer with.
func complete(_ *huma.OpenAPI, op *huma.Operation) {
	delete(op.Responses, strconv.Itoa(http.StatusUnprocessableEntity)) // see huma.NewError
	also := []int{}
	if mayChange(op.Method) {
		also = append(also, http.StatusForbidden)
	}
	if op.RequestBody != nil {
		also = append(also, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	for _, p := range op.Parameters {
		if p.In == "query" && p.Required && p.Schema.Type == huma.TypeString && p.Schema.MinLength == nil {
			p.Schema.MinLength = new(1) // an empty one is as none to huma
		}
	}
	like := op.Responses[strconv.Itoa(http.StatusBadRequest)]
	for _, status := range also {
		r := *like
		r.Description = http.StatusText(status)
		op.Responses[strconv.Itoa(status)] = &r
	}
}

// mayChange reports whether operations of a method may change something.
func mayChange(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// null is in the place of a null while a body is checked. No property may be null,
// and yet huma overlooks it where a property may be absent; to who sent it to clear
// something, that would look like success.
type null struct{}

var errUTF8 = errors.New("the body is not UTF-8")

// unmarshal reads a body, which must be UTF-8 (RFC 8259 section 8.1).
func unmarshal(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errUTF8
	}
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	if tree, ok := v.(*any); ok { // which is checked, and not used
		*tree = markNulls(*tree)
	}
	return nil
}

func markNulls(v any) any {
	switch v := v.(type) {
	case nil:
		return null{}
	case []any:
		for i := range v {
			v[i] = markNulls(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = markNulls(v[name])
		}
	}
	return v
}

func init() {
	huma.ValidateStrictCasing = true
	// A list without items is written as [], and so it is to be sent.
	huma.DefaultArrayNullable = false
}
