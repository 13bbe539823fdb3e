package dav_test

import (
	"fmt"
	"strings"
	"testing"
)

// decisions are the rows of the table of protocol decisions, in steps as in
// testdata/table.txt.
var decisions = []struct{ name, steps string }{
	{"OPTIONS anywhere", "OPTIONS /no/where => 200 {DAV: ^1, 2, 3, extended-mkcol$} {MS-Author-Via: ^DAV$} {Allow: UNLOCK} ;; OPTIONS /.DAV => 200"},
	{"a lock on the target or above is 423", `MKCOL /d => 201 ;; PUT /d/x => 201 ;; bob@LOCK /d/ {Depth: infinity} exclusive => 200 ;;` +
		" LOCK /d/x exclusive => 423 `<D:no-conflicting-lock><D:href>/dav/d/</D:href></D:no-conflicting-lock>` ;; LOCK /d/ shared => 423 `no-conflicting-lock`"},
	{"locks below a LOCK of depth infinity are 207", "MKCOL /d => 201 ;; MKCOL /d/e => 201 ;; bob@LOCK /d/x shared => 201 ;; bob@LOCK /d/e/y exclusive => 201 ;;" +
		" LOCK /d {Depth: infinity} exclusive => 207 {!Lock-Token} `<D:href>/dav/d/x</D:href><D:status>HTTP/1.1 423 ` `<D:href>/dav/d/e/y</D:href><D:status>HTTP/1.1 423 ` `<D:href>/dav/d/</D:href><D:status>HTTP/1.1 424 ` ;;" +
		" PROPFIND /d prop=`<D:lockdiscovery/>` => 207 `<D:lockdiscovery/>` ;; LOCK /d {Depth: 0} exclusive => 200"},
	{"a write without token is 423 with holder and end", "MKCOL /d => 201 ;; LOCK /d/ {Depth: infinity} {Timeout: Second-600} exclusive => 200 $T=Lock-Token ;;" +
		" bob@PUT /d/x `x` => 423 `<D:lock-token-submitted><D:href>/dav/d/</D:href></D:lock-token-submitted><D:responsedescription>locked by alice\\d+ until \\d{4}-` !`${TRAW}`"},
	{"If false is 412, malformed 400, missing first", "PUT /f `x` => 201 ;; PUT /f {If: (<urn:x:y>)} `x` => 412 ;; PUT /f {If: <urn:x:y>} `x` => 400 ;; PUT /f {If: ()} `x` => 400 ;;" +
		" DELETE /none {If: (<urn:x:y>)} => 404 ;; PUT /no/x {If: (<urn:x:y>)} `x` => 409 ;; MKCOL /f {If: (<urn:x:y>)} => 405 ;; PROPPATCH /f {If: (<urn:x:y>)} set=`<x xmlns=\"u\"/>` => 412 ;;" +
		" LOCK /f exclusive => 200 $T=Lock-Token ;; PUT /f {If: <http://other.example/dav/f> ($T)} `x` => 412 ;; PUT /f {If: <http://other.example/dav/f> (Not $T) </dav/f> ($T)} `x` => 204"},
	{"If comes before the locks, If-Match after them", "LOCK /f exclusive => 201 ;; PUT /f {If-Match: \"no\"} `x` => 423 ;; PUT /f {If: (<urn:x:y>)} {If-Match: \"no\"} `x` => 412"},
	{"LOCK of Depth 1, bad lockinfo, nothing at all is 400", "LOCK /f {Depth: 1} exclusive => 400 ;; LOCK /f `<a/>` => 400 ;; LOCK /f => 400 ;; GET /f => 404"},
	{"LOCK infinity on a file is kept as shown", "PUT /f `x` => 201 ;; LOCK /f {Depth: infinity} exclusive => 200 `<D:depth>infinity<` $T=Lock-Token ;; PROPFIND /f prop=`<D:lockdiscovery/>` => 207 `<D:depth>infinity<` ;; PUT /f `x` => 423 ;; PUT /f {If: ($T)} `x` => 204"},
	{"a refresh keeps the lock", "MKCOL /d => 201 ;; LOCK /d {Timeout: Second-10} exclusive => 200 $T=Lock-Token ;; PUT /d/x {If: </dav/d> ($T)} `x` => 201 ;; PUT /o `x` => 201 ;;" +
		" LOCK /d {If: ($T)} {Timeout: Second-50} => 200 {!Lock-Token} `Second-50<` `${TRAW}` ;; LOCK /o {If: ($T)} => 412 ;; LOCK /d/x {If: ($T)} => 412 ;; bob@LOCK /d {If: ($T)} => 403 ;;" +
		" LOCK /d {If: ($T) (<urn:x:other>)} => 400 ;; LOCK /d {If: ([\"e\"])} => 400 ;; LOCK /d {If: ($T) ($T)} => 200 ;; LOCK /none {If: ($T)} => 404 ;; WAIT 2h ;; LOCK /d {If: ($T)} => 412"},
	{"UNLOCK", "LOCK /f exclusive => 201 $T=Lock-Token ;; LOCK /g exclusive => 201 $U=Lock-Token ;; UNLOCK /f => 400 ;; UNLOCK /f {Lock-Token: < >} => 400 ;; UNLOCK /f {Lock-Token: $U} => 409 `lock-token-matches-request-uri` ;;" +
		" bob@UNLOCK /f {Lock-Token: $T} => 403 ;; UNLOCK /f {Lock-Token: $TRAW} => 204 ;; UNLOCK /f {Lock-Token: $T} => 409"},
	{"UNLOCK through a member", "MKCOL /d => 201 ;; PUT /d/x `x` => 201 ;; LOCK /d {Depth: infinity} exclusive => 200 $T=Lock-Token ;; UNLOCK /d/x {Lock-Token: $T} => 204 ;; PUT /d/x `x` => 204"},
	{"Timeout", "LOCK /a {Timeout: Second-0, Second-7} exclusive => 201 `Second-7<` ;; LOCK /b {Timeout: Infinite} exclusive => 201 `Second-86400<` ;; LOCK /c {Timeout: Second-999999} exclusive => 201 `Second-86400<` ;; LOCK /d exclusive => 201 `Second-3600<` ;; LOCK /e {Timeout: soon} exclusive => 201 `Second-3600<`"},
	{"tokens are shown to their holder", "LOCK /f exclusive => 201 {Lock-Token: ^<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]} $T=Lock-Token ;; PROPFIND /f prop=`<D:lockdiscovery/>` => 207 `<D:locktoken><D:href>${TRAW}</D:href></D:locktoken>` ;;" +
		" bob@PROPFIND /f prop=`<D:lockdiscovery/>` => 207 `<D:lockscope><D:exclusive/></D:lockscope><D:depth>0</D:depth><D:owner>me</D:owner><D:timeout>Second-3600</D:timeout><D:lockroot><D:href>/dav/f</D:href></D:lockroot>` !`locktoken` !`${TRAW}`"},
	{"MOVE ends the source's locks and keeps the destination's", "PUT /a `a` => 201 ;; PUT /b `b` => 201 ;; LOCK /a exclusive => 200 $T=Lock-Token ;; LOCK /b exclusive => 200 $U=Lock-Token ;;" +
		" MOVE /a {If: <$B/a> ($T)} {Destination: $B/b} => 423 `<D:href>/dav/b</D:href>` ;; MOVE /a {If: <$B/a> ($T) <$B/b> ($U)} {Destination: $B/b} => 204 ;; PUT /b `c` => 423 ;; PUT /b {If: ($U)} `c` => 204 ;; PUT /a `x` => 201 ;;" +
		" PROPFIND /b prop=`<D:lockdiscovery/>` => 207 `${URAW}` !`${TRAW}`"},
	{"MOVE between spellings of one name is a rename", "PUT /u%CC%88 `x` => 201 ;; MOVE /u%CC%88 {Destination: $B/%C3%BC} {Overwrite: F} => 201 ;; PROPFIND / {Depth: 1} => 207 `/dav/%C3%BC<` !`CC%88`"},
	{"the root stays", "DELETE / => 403 ;; MOVE / {Destination: $B/x} => 403 ;; PUT /f `x` => 201 ;; COPY /f {Destination: $B/} => 403 ;; MOVE /f {Destination: $B} => 403 ;; GET /f => 200"},
	{"COPY copies no locks and keeps the destination's", "PUT /a `a` => 201 ;; PUT /b `b` => 201 ;; LOCK /a exclusive => 200 ;; LOCK /b exclusive => 200 $U=Lock-Token ;; COPY /a {Destination: $B/c} => 201 ;; PUT /c `c` => 204 ;;" +
		" COPY /a {Destination: $B/b} => 423 ;; COPY /a {If: <$B/b> ($U)} {Destination: $B/b} => 204 ;; PUT /b `c` => 423 ;; GET /b => 200 `^a$`"},
	{"a tree goes whole or not at all", "MKCOL /d => 201 ;; MKCOL /d/e => 201 ;; PUT /d/x `x` => 201 ;; bob@LOCK /d/e/1 exclusive => 201 ;; bob@LOCK /d/e/2 shared => 201 ;;" +
		" DELETE /d => 423 `/dav/d/e/1<.*/dav/d/e/2<` ;; MOVE /d {Destination: $B/g} => 423 `/dav/d/e/1<.*/dav/d/e/2<` ;; GET /d/x => 200 ;; MKCOL /g => 201 ;; COPY /g {Destination: $B/d} => 423 `/dav/d/e/1<.*/dav/d/e/2<` ;; GET /d/x => 200"},
	{"PROPFIND infinity up to a limit", entries(49) + " ;; PROPFIND / {Depth: infinity} => 207 `/dav/e48` ;; MKCOL /last => 201 ;;" +
		" PROPFIND / {Depth: infinity} => 403 {Content-Type: ^application/xml} `<D:propfind-finite-depth/>` ;; PROPFIND / => 403 ;; PROPFIND / {Depth: 1} => 207 `/dav/last/<`"},
	{"two workspaces, each with its lock", "TEAM X member ;; MKCOL /d => 201 ;; PUT /d/f `f` => 201 ;; LOCK /d/ {Depth: infinity} exclusive => 200 $S=Lock-Token ;; MKCOL ^/teams/$X/d => 201 ;; LOCK ^/teams/$X/d/ {Depth: infinity} exclusive => 200 $T=Lock-Token ;;" +
		" MOVE /d/f {Destination: $H/teams/$X/d/f} => 423 ;; MOVE /d/f {If: </dav/d/> ($S)} {Destination: $H/teams/$X/d/f} => 423 `<D:href>/teams/${X}/d/</D:href>` ;; MOVE /d/f {If: </teams/$X/d/> ($T)} {Destination: $H/teams/$X/d/f} => 423 `<D:href>/dav/d/</D:href>` ;;" +
		" MOVE /d/f {If: </dav/d/> ($T) </teams/$X/d/> ($S)} {Destination: $H/teams/$X/d/f} => 412 ;; bob@MOVE /d/f {If: </dav/d/> ($S) </teams/$X/d/> ($T)} {Destination: $H/teams/$X/d/f} => 423 ;; GET /d/f => 200 ;;" +
		" MOVE /d/f {If: </dav/d/> ($S) </teams/$X/d/> ($T)} {Destination: $H/teams/$X/d/f} => 201 ;; bob@DELETE ^/teams/$X/d/f => 423 `<D:href>/teams/${X}/d/</D:href>` ;; MOVE ^/teams/$X/d/f {If: ($S) ($T)} {Destination: $B/d/g} => 201"},
	{"a foreign lock inside is 423", "TEAM X ;; MKCOL /d => 201 ;; LOCK /d/x exclusive => 201 $T=Lock-Token ;; bob@LOCK /d/y exclusive => 201 ;; MOVE /d {If: ($T)} {Destination: $H/teams/$X/d} => 423 `<D:href>/dav/d/y</D:href>` ;; GET /d/x => 200 ;; GET ^/teams/$X/d/x => 404"},
	{"the root is a full resource", "PROPPATCH / set=`<x:a xmlns:x=\"urn:x\">1</x:a>` => 207 `200 OK` ;; LOCK / {Depth: infinity} exclusive => 200 $T=Lock-Token `<D:lockroot><D:href>/dav/</D:href>` ;; PUT /x `x` => 423 ;; PUT /x {If: ($T)} `x` => 201"},
	{"a raw fragment is 400", "MKCOL /d#x => 400 ;; PUT /d#x `x` => 400 ;; PUT /d%23x `x` => 201 ;; GET /d => 404"},
	{"another origin in Destination is 502", "PUT /f `x` => 201 ;; COPY /f {Destination: http://other.example/dav/g} => 502 ;; COPY /f {Destination: http://public.example/dav/g} => 502"},
	{"a full quota is 507", "QUOTA 3 ;; PUT /f {Expect: 100-continue} `four` => 507 `quota-not-exceeded` ;; PUT /f chunked `four` => 507 `quota-not-exceeded` ;; GET /f => 404 ;; PUT /f `abc` => 201 ;; PUT /f `xyz` => 204"},
	{"the lock quota is 507", locks(20) + " ;; LOCK /one-more exclusive => 507 ;; GET /one-more => 404 ;; bob@LOCK /one-more exclusive => 201"},
	{"XML bodies", "PROPFIND / `<a` => 400 ;; PROPFIND / `<D:propfind xmlns:D=\"DAV:\"><D:allprop/></D:propfind>text` => 400 ;; PROPFIND / `<!DOCTYPE a><a/>` => 403 `no-external-entities` ;; PROPFIND / size=1048577 => 413 ;;" +
		" PROPFIND / `<D:propfind xmlns:D=\"DAV:\">" + strings.Repeat("<a>", 128) + strings.Repeat("</a>", 128) + "</D:propfind>` => 413"},
	{"names", "PUT /%FF `x` => 400 ;; PUT /%01 `x` => 400 ;; PUT /%7F `x` => 400 ;; PUT /%EF%BF%BE `x` => 400 ;; PUT /%EF%BF%BF `x` => 400 ;; PUT /a%2Fb `x` => 400 ;; PUT /.. `x` => 400 ;; PUT /" + strings.Repeat("n", 255) + " `x` => 201 ;;" +
		" PUT /" + strings.Repeat("n", 256) + " `x` => 400 ;; MKCOL " + strings.Repeat("/d", 129) + " => 403 ;; COPY / {Destination: $B/%01} => 400"},
	{"blocked names", "GET /a/.DAV/x => 404 ;; HEAD /.dav => 404 ;; PROPFIND /.DAV => 404 ;; PUT /.DAV `x` => 403 ;; DELETE /.DAV => 403 ;; LOCK /.DAV exclusive => 403 ;; UNLOCK /.DAV {Lock-Token: <x>} => 403 ;; PROPPATCH /.DAV => 403 ;; PUT /f `x` => 201 ;; MOVE /f {Destination: $B/a/.DAV} => 403"},
}

// entries are steps that make n files.
func entries(n int) string {
	steps := make([]string, n)
	for i := range steps {
		steps[i] = fmt.Sprintf("PUT /e%d `x` => 201", i)
	}
	return strings.Join(steps, " ;; ")
}

// locks are steps that lock n new files.
func locks(n int) string {
	steps := make([]string, n)
	for i := range steps {
		steps[i] = fmt.Sprintf("LOCK /l%d exclusive => 201", i)
	}
	return strings.Join(steps, " ;; ")
}

// TestDecision runs the protocol decisions row by row.
func TestDecision(t *testing.T) {
	s := newServer(t, nil)
	for _, d := range decisions {
		t.Run(strings.ReplaceAll(d.name, " ", "_"), func(t *testing.T) {
			runSteps(t, s, d.steps)
		})
	}
}
