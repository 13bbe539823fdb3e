package content

import (
	"strings"
	"testing"
	"time"
)

func TestByteRanges(t *testing.T) {
	for _, c := range []struct{ method, header, want string }{
		{"GET", "bytes=0-0", "bytes=0-0"},
		{"GET", "Bytes=1-, -2", "bytes=1-, -2"},
		{"GET", "bytes=,0-1,", "bytes=,0-1,"},
		{"GET", "bytes=", ""},
		{"GET", "bytes=-0", ""},
		{"GET", "bytes=2-1", ""},
		{"GET", "bytes=a-b", ""},
		{"GET", "bytes=1", ""},
		{"GET", "bytes=99999999999999999999-", ""},
		{"GET", "lines=1-2", ""},
		{"GET", "bytes=" + strings.Repeat("0-0,", maxRanges+1), ""},
		{"HEAD", "bytes=0-0", ""},
	} {
		t.Run(c.method+" "+c.header, func(t *testing.T) {
			if got := byteRanges(c.method, []string{c.header}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestParseHTTPDate(t *testing.T) {
	want := time.Date(1994, 11, 6, 8, 49, 37, 0, time.UTC)
	for _, value := range []string{
		"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
	} {
		if got, ok := parseHTTPDate([]string{value}); !ok || !got.Equal(want) {
			t.Errorf("parseHTTPDate(%q) = %v, %v", value, got, ok)
		}
	}
	date := "Sun, 06 Nov 1994 08:49:37 GMT"
	for _, values := range [][]string{nil, {""}, {"yesterday"}, {"1994-11-06T08:49:37Z"}, {date, date}} {
		if got, ok := parseHTTPDate(values); ok {
			t.Errorf("parseHTTPDate(%q) = %v, want it ignored", values, got)
		}
	}
}
