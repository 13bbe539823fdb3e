package server

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"net/http"

	"holdfast/dav"
)

// hint tells how one client is pointed at the server.
type hint struct{ Client, How string }

// mountHints words the hints for a base URL without final slash. With user ""
// there is no login.
func mountHints(base, user string) []hint {
	url := base + davPrefix + "/"
	windows, rclone := "", ""
	if user != "" {
		windows = " /user:" + user
		rclone = " user=" + user + " pass=PASSWORD"
	}
	return []hint{
		{"Finder", "Go > Connect to Server: " + url},
		{"Windows Explorer", "net use * " + base + davPrefix + windows},
		{"rclone", "rclone config create holdfast webdav url=" + url + " vendor=other" + rclone},
		{"davfs2", "mount -t davfs " + url + " /mnt/dav"},
	}
}

// printHints writes the hints for a terminal.
func printHints(w io.Writer, base, user string) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "Files: %s%s/\n", base, davPrefix)
	for _, h := range mountHints(base, user) {
		fmt.Fprintf(&text, "  %-17s %s\n", h.Client, h.How)
	}
	_, err := w.Write(text.Bytes())
	return err
}

// page has no style and no script: its policy allows neither, so nothing that
// could ever slip into it would run.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Holdfast</title></head>
<body>
<h1>Holdfast</h1>
<p>{{if .Anonymous}}You are not logged in; this server does not ask.{{else}}You are logged in as {{.Name}}.{{end}}</p>
<p><a href="{{.Prefix}}/">Your files</a></p>
<h2>How to mount them</h2>
<dl>
{{range .Hints}}<dt>{{.Client}}</dt><dd><code>{{.How}}</code></dd>
{{end}}</dl>
</body>
</html>
`))

func (s *Server) servePage(w http.ResponseWriter, r *http.Request, who dav.Principal) {
	user := who.Name
	if who.Anonymous {
		user = ""
	}
	var html bytes.Buffer
	err := page.Execute(&html, map[string]any{
		"Anonymous": who.Anonymous,
		"Name":      who.Name,
		"Prefix":    davPrefix,
		"Hints":     mountHints(s.origins.of(r).String(), user),
	})
	if err != nil {
		s.log.ErrorContext(r.Context(), "page failed", "err", err)
		fail(w, http.StatusInternalServerError, "internal error")
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(html.Bytes()) // a client that left needs no answer
}
