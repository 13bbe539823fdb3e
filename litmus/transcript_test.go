package litmus

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

const transcriptFolder = "testdata/transcripts"

// TestTranscripts plays every scenario of testdata/transcripts, whose README says how
// they are written, on both kinds of blob store. The requests go over the wire byte
// by byte as the file has them.
func TestTranscripts(t *testing.T) {
	all, err := readTranscripts(transcriptFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, on := range []struct {
		name    string
		backing func(*testing.T) backing
	}{{"folder", folderBacking}, {"s3", s3Backing}} {
		t.Run(on.name, func(t *testing.T) {
			b := on.backing(t)
			shared := newStage(t, b)
			for _, scenario := range all {
				t.Run(scenario.name, func(t *testing.T) {
					t.Parallel()
					stage := shared
					if len(scenario.flags) > 0 {
						stage = newStage(t, b, scenario.flags...)
					}
					if err := stage.play(t.Context(), scenario); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

const (
	stageTeam   = "transcripts"
	bobPassword = "wrong-pony-capacitor"
)

// stage is a server with two users, who share a team. Scenarios may play on it side
// by side, each in a folder of its own.
type stage struct {
	*server
	host string // HOST:PORT
}

// newStage starts a server for scenarios.
func newStage(t *testing.T, b backing, flags ...string) *stage {
	t.Helper()
	s := startServer(t, b, flags...)
	s.command(t, bobPassword, "user", "add", "bob")
	s.addTeam(t, stageTeam)
	s.command(t, "", "team", "member", stageTeam, "bob", "--role", "member")
	return &stage{server: s, host: strings.TrimPrefix(s.URL, "http://")}
}

// command runs a command of the program beside the running server.
func (s *server) command(t *testing.T, stdin string, args ...string) {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append(args, "--data", s.data)...)
	cmd.Env, cmd.Stdin = environment(), strings.NewReader(stdin+"\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// performance is a scenario being played.
type performance struct {
	transcript
	variables
	wires map[string]*wire // by user
}

// play plays a scenario. Its error begins with the file and the line of the step that
// went wrong and quotes what was sent and what came.
func (s *stage) play(ctx context.Context, scenario transcript) error {
	p := performance{transcript: scenario, variables: s.variables(scenario), wires: map[string]*wire{
		"alice":  {addr: s.host, login: basic(s.user, s.password)},
		"bob":    {addr: s.host, login: basic("bob", bobPassword)},
		"nobody": {addr: s.host},
	}}
	for _, w := range p.wires {
		defer w.close()
	}
	mkcol := step{method: "MKCOL", target: p.variables["dir"]}
	if a, err := p.wires["alice"].exchange(ctx, mkcol, p.variables); err != nil || a.status != http.StatusCreated {
		return fmt.Errorf("%s: MKCOL of its folder: %d %s %v", scenario.path, a.status, a.body, err)
	}
	for _, step := range scenario.steps {
		if err := p.step(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// variables are the values that a scenario starts with.
func (s *stage) variables(scenario transcript) variables {
	mount := "/dav"
	if scenario.team {
		mount = "/teams/" + stageTeam
	}
	return variables{
		"dir": mount + "/" + url.PathEscape(scenario.name), "mount": mount, "url": s.URL, "host": s.host, "name": scenario.name,
		"user": s.user, "login": strings.TrimPrefix(basic(s.user, s.password), "Basic "),
	}
}

// step plays one step.
func (p *performance) step(ctx context.Context, s step) error {
	if s.pause > 0 {
		select {
		case <-time.After(s.pause):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w := p.wires[s.user]
	a, err := w.exchange(ctx, s, p.variables)
	if err == nil && !s.lost {
		err = s.judge(a)
	}
	if err != nil {
		return fmt.Errorf("%s:%d: %w\n%s", p.path, s.line, err, p.evidence(w, s, a))
	}
	for _, c := range s.checks {
		if err := c.test(a, p.variables); err != nil {
			return fmt.Errorf("%s:%d: %s: %w\n%s", p.path, c.line, c.text, err, p.evidence(w, s, a))
		}
	}
	return nil
}

// judge says what is wrong with an answer apart from the step's checks.
func (s step) judge(a answer) error {
	if !slices.Contains(s.want, fmt.Sprint(a.status)) {
		return fmt.Errorf("status %d, want %s", a.status, strings.Join(s.want, " or "))
	}
	if a.interim != s.interim {
		return fmt.Errorf("100 came first: %t, want %t", a.interim, s.interim)
	}
	connection, _ := s.has("Connection")
	if want := s.closes || strings.EqualFold(connection, "close"); a.closed != want {
		return fmt.Errorf("the server closes the connection: %t, want %t", a.closed, want)
	}
	return a.manners()
}

// evidence is what was sent and what came.
func (p *performance) evidence(w *wire, s step, a answer) string {
	head, body, err := w.request(s, p.variables)
	if err != nil {
		return ""
	}
	var b strings.Builder
	quote := func(mark, text string) {
		for line := range strings.Lines(text) {
			b.WriteString("\t" + mark + " " + strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	quote(">", head+clip(body))
	if a.status != 0 {
		quote("<", fmt.Sprintf("%d\n", a.status))
		for _, name := range slices.Sorted(maps.Keys(a.header)) {
			quote("<", name+": "+strings.Join(a.header[name], ", ")+"\n")
		}
		quote("<", "\n"+a.body)
	}
	return b.String()
}

// TestTranscriptsFail shows that each kind of wrong expectation fails a scenario, and
// where.
func TestTranscriptsFail(t *testing.T) {
	s := newStage(t, folderBacking(t))
	const put = "> PUT {dir}/f\n>\n> |text\n< 201\n< ETag: ^\"(.*)\"$ -> E\n"
	const find = "> PROPFIND {dir}/f\n> Depth: 0\n< 207\n"
	for i, row := range []struct{ steps, want string }{
		{put + "> GET {dir}/f\n< 200\n< ETag: ^\"{E}\"$\n< |text\n< !Location\n< ~ ^te\n< !~ xt$x\n", ""},
		{put + find + "< hrefs: {dir}/f\n< responses: 1\n< prop {DAV:}getcontentlength of {dir}/f: ^4$\n< no prop {DAV:}nothing of first\n", ""},
		{"> PUT {dir}/f\n> Transfer-Encoding: chunked\n>\n> |ab\n> |cd\n< 201\n> GET {dir}/f\n< 200\n< |abcd\n", ""},
		{"> PUT {dir}/f\n> Expect: 100-continue\n>\n> (100000 bytes)\n< 100 201\n> HEAD {dir}/f\n< 200\n< Content-Length: ^100000$\n", ""},
		{"> PUT {dir}/f\n> Content-Length: 9\n>\n> |cut\n< connection closed by the client\n> GET {dir}/f\n< 404\n", ""},
		{"> GET {dir}/f\n< 200\n", ":4: status 404, want 200"},
		{"> PUT {dir}/f\n> Expect: 100-continue\n>\n> |text\n< 201\n", ":4: 100 came first: true, want false"},
		{put + "> GET {dir}/f\n< 200\n< ETag: ^x{E}$\n", ":11: ETag: ^x{E}$: header ETag is"},
		{put + "> GET {dir}/f\n< 200\n< Location: .\n", ":11: Location: .: there is no header"},
		{put + "> GET {dir}/f\n< 200\n< !ETag\n", ":11: !ETag: there is a header"},
		{put + "> GET {dir}/f\n< 200\n< |texts\n", ":11: |texts: the body is"},
		{put + "> GET {dir}/f\n< 200\n< empty\n", ":11: empty: the body is"},
		{put + "> GET {dir}/f\n< 200\n< ~ nix\n", ":11: ~ nix: the body is"},
		{put + "> GET {dir}/f\n< 200\n< !~ ^te\n", ":11: !~ ^te: the body matches"},
		{put + "> GET {dir}/f\n> If-Match: \"{NONE}\"\n< 200\n", ":9: nothing was kept as {NONE}"},
		{put + "> GET {dir}/f\n< 200\n< ~ {NONE}\n", ":11: ~ {NONE}: nothing was kept as {NONE}"},
		{put + "> GET {dir}/f\n< 200\n< !~ {NONE}\n", ":11: !~ {NONE}: nothing was kept as {NONE}"},
		{put + find + "< responses: 2\n", ":12: responses: 2: 1 responses"},
		{put + find + "< hrefs: {dir}/g\n", ":12: hrefs: {dir}/g: responses for"},
		{put + find + "< prop {DAV:}getcontentlength of {dir}/f: ^5$\n", ":12: prop {DAV:}getcontentlength of {dir}/f: ^5$: property"},
		{put + find + "< prop {DAV:}nothing of {dir}/f: .\n", ":12: prop {DAV:}nothing of {dir}/f: .: "},
		{put + find + "< no prop {DAV:}getetag of {dir}/f\n", "has the property"},
		{put + find + "< prop {DAV:}getetag of {dir}/g: .\n", "there is no response"},
		{put + find + "< status of {dir}/f: 200\n", "has the status"},
		{put + "> GET {dir}/f\n> Connection: close\n< 200\n", ""},
		{"> PUT {dir}/f\n> Expect: 100-continue\n> If-Match: *\n>\n> |text\n< 412\n", ":4: the server closes the connection: true"},
		{"> PUT {dir}/f\n> Expect: 100-continue\n> If-Match: *\n>\n> |text\n< 412\n< closes\n", ""},
		{"> GET {dir}/f\n< 404\n< closes\n", ":4: the server closes the connection: false"},
	} {
		scenario, err := parseTranscript(fmt.Sprintf("row%d.txt", i), transcriptHead+row.steps)
		if err != nil {
			t.Fatal(err)
		}
		err = s.play(t.Context(), scenario)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s\nends with %v, want %q", row.steps, err, row.want)
		}
	}
}

const transcriptHead = "title: a title\nclient: a client\nsource: a source\n"

// TestTranscriptFaults shows that a scenario with a fault is not read.
func TestTranscriptFaults(t *testing.T) {
	const ask = "> GET /\n< 200\n"
	for _, row := range []struct{ text, want string }{
		{transcriptHead + ask, ""},
		{transcriptHead + "# prose\n\n" + ask + "< # prose\npause 1s\n" + ask, ""},
		{ask, "the head lacks"},
		{"title: a\nclient: b\n" + ask, "the head lacks"},
		{transcriptHead, "there is no request"},
		{transcriptHead + "colour: red\n" + ask, ":4: \"colour\" is none of"},
		{transcriptHead + "folder: mine\n" + ask, ":4: the folder"},
		{transcriptHead + "prose\n" + ask, ":4: \"prose\" is not of the form"},
		{transcriptHead + ask + "prose\n", ":6: \"prose\" begins with none"},
		{transcriptHead + "> as eve: GET /\n< 200\n", ":4:"},
		{transcriptHead + "> GET /\n> GET /\n< 200\n", ":5: \"GET /\" is no header"},
		{transcriptHead + "> GET /\n", "the request of line 4 has no status"},
		{transcriptHead + "> GET /\npause 1s\n" + ask, ":5: the request of line 4 has no status"},
		{transcriptHead + ask + "pause 1h\n" + ask, ":6:"},
		{transcriptHead + ask + "pause 1s\n", "a pause is the last step"},
		{transcriptHead + ask + "pause 1s\n< 200\n", ":7: a pause has no answer"},
		{transcriptHead + "> GET /\n>\n> text\n< 200\n", ":6: \"text\" is neither"},
		{transcriptHead + "> PUT /\n>\n> |a\n> (5 bytes)\n< 200\n", ":7:"},
		{transcriptHead + "> GET /\n< OK\n", ":5: \"OK\" is no status"},
		{transcriptHead + ask + "< prop getetag: x\n", ":6: \"prop getetag: x\" is nothing"},
		{transcriptHead + ask + "< responses: all\n", ""}, // a header of that name
		{transcriptHead + ask + "< nonsense\n", ":6: \"nonsense\" is nothing"},
	} {
		_, err := parseTranscript("t.txt", row.text)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s\nis read with %v, want %q", row.text, err, row.want)
		}
	}
}

// TestMultistatusFaults shows what clients would misread in a 207.
func TestMultistatusFaults(t *testing.T) {
	const ok = `<D:status>HTTP/1.1 200 OK</D:status>`
	for body, want := range map[string]string{
		`<D:response><D:href>/a</D:href>` + ok + `</D:response>`:                                                                                        "",
		`<D:response><D:href>/a</D:href><D:propstat><D:prop><D:getetag>"x"</D:getetag></D:prop>` + ok + `</D:propstat></D:response>`:                    "",
		`<D:response>` + ok + `</D:response>`:                                                                                                           "0 hrefs",
		`<D:response><D:href>/a</D:href><D:href>/b</D:href>` + ok + `</D:response>`:                                                                     "2 hrefs",
		`<D:response><D:href>/a b</D:href>` + ok + `</D:response>`:                                                                                      "not an encoded path",
		`<D:response><D:href>/ü</D:href>` + ok + `</D:response>`:                                                                                        "not an encoded path",
		`<D:response><D:href>/a[b]</D:href>` + ok + `</D:response>`:                                                                                     "not an encoded path",
		`<D:response><D:href>/a</D:href></D:response>`:                                                                                                  "either a status or",
		`<D:response><D:href>/a</D:href><D:status>200 OK</D:status></D:response>`:                                                                       "has the status",
		`<D:response><D:href>/a</D:href><D:propstat><D:prop/></D:propstat></D:response>`:                                                                "a propstat has the status",
		`<D:response><D:href>/a</D:href><D:propstat>` + ok + `</D:propstat></D:response>`:                                                               "0 prop elements",
		`<D:response><D:href>/a</D:href>` + ok + `</D:response><D:response><D:href>/a</D:href>` + ok + `</D:response>`:                                  "two responses",
		`<D:response><D:href>/a</D:href>` + ok + `</D:response></D:multistatus><x/>`:                                                                    "something behind",
		`<D:response><D:href>/a</D:href><x:y/>` + ok + `</D:response><D:x>`:                                                                             "",
		`<D:response><D:href>/a</D:href><D:propstat><D:prop><D:x>1</D:x></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response>`: "missing has a value",
		`<D:response><D:href>/a</D:href><D:propstat><D:prop><D:x/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat><D:propstat><D:prop><D:y/></D:prop>` + ok + `</D:propstat></D:response>`: "do not come first",
		`<D:response><D:href>/a</D:href><D:propstat><D:prop><D:resourcetype><D:collection/></D:resourcetype></D:prop>` + ok + `</D:propstat></D:response>`:                                                  "resource type",
		`<D:response><D:href>/a/</D:href><D:propstat><D:prop><D:resourcetype/></D:prop>` + ok + `</D:propstat></D:response>`:                                                                                "resource type",
	} {
		text := `<D:multistatus xmlns:D="DAV:">` + body
		if !strings.HasSuffix(body, "<x/>") && !strings.HasSuffix(body, "<D:x>") {
			text += `</D:multistatus>`
		}
		_, err := readMultistatus(text)
		if strings.HasSuffix(body, "<D:x>") {
			if err == nil {
				t.Error("an element without its end passed")
			}
			continue
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\nis read with %v, want %q", text, err, want)
		}
	}
}
