package rest_test

import (
	"fmt"
	"testing"

	"holdfast/lockns"
	"holdfast/server/rest"
	"holdfast/store"
)

func TestVersions(t *testing.T) {
	w := newWorld(t, func(o *store.Options, _ *rest.Options) { o.Versions = 5 })
	ada, bob := w.user("ada"), w.user("bob")
	n := ada.put(ada.at("/f.txt"), "one")
	for _, c := range []string{"two", "three", "four"} {
		ada.put(ada.at("/f.txt"), c)
	}
	url := file(n) + "/versions"
	var all []rest.Version
	for next := ""; ; {
		var page rest.Page[rest.Version]
		path := url + "?limit=2"
		if next != "" {
			path += "&cursor=" + next
		}
		ada.do("GET", path, nil).wants(200).into(&page)
		all = append(all, page.Items...)
		if next = page.Next; next == "" {
			break
		}
	}
	if len(all) != 3 || all[0].Size != 5 || all[2].ETag != n.ETag || all[2].ContentType != "text/plain; charset=utf-8" {
		t.Fatalf("versions %+v", all)
	}
	first := fmt.Sprint(url, "/", all[2].ID)
	a := ada.do("GET", first+"/content", nil, "Range: bytes=1-").wants(206)
	if a.body != "ne" || a.header.Get("ETag") != n.ETag || a.header.Get("Content-Disposition") != "attachment; filename=f.txt" {
		t.Errorf("content %q, %v", a.body, a.header)
	}
	ada.do("GET", first+"/content", nil, "If-None-Match: "+n.ETag).wants(304)
	ada.do("GET", url+"/9999/content", nil).refuses(404, "not_found")
	bob.do("GET", url, nil).refuses(404, "not_found")
	// A version of one file is none of another.
	other := ada.put(ada.at("/other"), "x")
	ada.do("GET", fmt.Sprint(file(other), "/versions/", all[2].ID, "/content"), nil).refuses(404, "not_found")
	ada.do("POST", fmt.Sprint(file(other), "/versions/", all[2].ID, "/restore"), nil).refuses(404, "not_found")

	ada.do("POST", first+"/restore", nil, "If-Match: "+n.ETag).refuses(412, "precondition.failed") // it is of the past
	r := ada.do("POST", first+"/restore", nil, "If-Match: "+ada.stat(ada.at("/f.txt")).ETag).wants(200).resource()
	if r.ID != n.ID() || r.Size != 3 || r.ETag == n.ETag {
		t.Errorf("restored %+v", r)
	}
	ada.holds(ada.at("/f.txt"), "one")
	ada.webdav(ada.at("/f.txt"), lockns.Resource)
	ada.do("POST", first+"/restore", nil).refuses(423, "resource.locked")
	bob.do("POST", first+"/restore", nil).refuses(404, "not_found")
}
