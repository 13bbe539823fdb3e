package dav

import (
	"reflect"
	"strings"
	"testing"

	"holdfast/store"
)

func TestPropfindReadsNoMoreThanAskedFor(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       store.Want
	}{
		{"allprop", `<D:allprop/>`, store.Want{Props: true, Locks: true}},
		{"allprop with include", `<D:allprop/><D:include><a/></D:include>`, store.Want{Props: true, Locks: true}},
		{"propname", `<D:propname/>`, store.Want{Props: true, NamesOnly: true}},
		{"live properties", `<D:prop><D:getetag/><D:quota-used-bytes/></D:prop>`, store.Want{}},
		{"locks", `<D:prop><D:lockdiscovery/></D:prop>`, store.Want{Locks: true}},
		{"dead properties", `<D:prop><D:getetag/><a/><b xmlns="u"/><a xmlns="v"/></D:prop>`, store.Want{Props: true, PropNames: []string{"a", "b"}}},
		{"a live one's name elsewhere", `<D:prop><getetag xmlns="u"/></D:prop>`, store.Want{Props: true, PropNames: []string{"getetag"}}},
		{"the display name, which can be set", `<D:prop><D:displayname/></D:prop>`, store.Want{Props: true, PropNames: []string{"displayname"}}},
		{"no property", `<D:prop/>`, store.Want{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ask, err := readPropfind(strings.NewReader(`<D:propfind xmlns:D="DAV:">` + c.body + `</D:propfind>`))
			if err != nil {
				t.Fatal(err)
			}
			pw := &propWriter{ask: ask}
			pw.plan()
			if !reflect.DeepEqual(pw.want, c.want) {
				t.Errorf("reads %+v, want %+v", pw.want, c.want)
			}
		})
	}
}
