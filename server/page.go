package server

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"

	"holdfast/dav"
	"holdfast/server/auth"
	"holdfast/server/rest"
)

// hint tells how one client is pointed at a mount.
type hint struct{ Client, How string }

// mountHints words the hints for the URL of a mount, with its final slash. With
// user "" there is no login.
func mountHints(url, user string) []hint {
	windows, rclone, at := "", "", ""
	if user != "" {
		windows = " /user:" + user
		rclone = " user=" + user + " pass=PASSWORD"
		at = user + "@"
	}
	scheme, host, _ := strings.Cut(url, "://")
	return []hint{
		{"Finder", "Go > Connect to Server: " + url},
		{"Windows Explorer", "net use * " + strings.TrimSuffix(url, "/") + windows},
		{"rclone", "rclone config create holdfast webdav url=" + quote(url) + " vendor=owncloud" + rclone},
		{"davfs2", "mount -t davfs " + quote(url) + " /mnt/dav"},
		{"GNOME Files", "Network > Connect to Server: " + strings.Replace(scheme, "http", "dav", 1) + "://" + at + host},
		{"Microsoft Office", "File > Open, the address of a document: " + url + "NAME.docx"},
	}
}

// quote keeps a shell from reading more into a URL than its letters. An
// apostrophe is escaped in URLs already.
func quote(url string) string {
	if strings.ContainsAny(url, "!$()*[]") {
		return "'" + url + "'"
	}
	return url
}

// printHints writes the hints for a terminal; base is the server's URL without
// a final slash.
func printHints(w io.Writer, base, user string) error {
	var text bytes.Buffer
	url := base + davPrefix + "/"
	fmt.Fprintf(&text, "Files: %s\n", url)
	for _, h := range mountHints(url, user) {
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
{{range .Mounts}}<h2><a href="{{.URL}}">{{if .Team}}{{.Name}}{{else}}Your files{{end}}</a>{{if .ReadOnly}} (read only){{end}}</h2>
<dl>
{{range .Hints}}<dt>{{.Client}}</dt><dd><code>{{.How}}</code></dd>
{{end}}</dl>
{{end}}</body>
</html>
`))

// listedMount is a mount with how to reach it.
type listedMount struct {
	dav.Mount
	at    string // its URL with scheme and host
	Hints []hint
}

// mountsOf lists the mounts of whoever asks, with hints for the address they
// asked at.
func (s *Server) mountsOf(r *http.Request, who dav.Principal) ([]listedMount, error) {
	mounts, err := s.dav.Mounts(r, who)
	user := who.Name
	if who.Anonymous {
		user = ""
	}
	listed := make([]listedMount, len(mounts))
	for i, m := range mounts {
		at := s.origins.shown(r).origin.String() + m.URL
		listed[i] = listedMount{m, at, mountHints(at, user)}
	}
	return listed, err
}

// apiMounts is rest.Options.Mounts.
func (s *Server) apiMounts(r *http.Request, in auth.Login) ([]rest.Mounted, error) {
	who, err := s.principalOf(r.Context(), in)
	if err != nil {
		return nil, err
	}
	listed, err := s.mountsOf(r, who)
	mounts := make([]rest.Mounted, len(listed))
	for i, m := range listed {
		mounts[i] = rest.Mounted{Name: m.Name, Workspace: m.Workspace, Role: m.Role, ReadOnly: m.ReadOnly, URL: m.at}
		for _, h := range m.Hints {
			mounts[i].Hints = append(mounts[i].Hints, rest.Hint(h))
		}
	}
	return mounts, err
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request, who dav.Principal) {
	var html bytes.Buffer
	mounts, err := s.mountsOf(r, who)
	if err == nil {
		err = page.Execute(&html, map[string]any{"Anonymous": who.Anonymous, "Name": who.Name, "Mounts": mounts})
	}
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
