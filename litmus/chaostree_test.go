package litmus

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// chaosNode is a resource as a client knows it; token is "" without a lock.
type chaosNode struct {
	folder     bool
	sum, token string
}

// anyToken stands for the token of a LOCK whose answer did not come.
const anyToken = "any"

// chaosTree is what a client's folder holds, by path.
type chaosTree map[string]chaosNode

// differs says how the tree found differs from this one, or "".
func (want chaosTree) differs(got chaosTree) string {
	for path, w := range want {
		g, ok := got[path]
		switch {
		case !ok:
			return path + " is missing"
		case w.token == anyToken && g.token != "":
			w.token = g.token
		}
		if g != w {
			return fmt.Sprintf("%s is %+v, want %+v", path, g, w)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			return path + " is there and should not be"
		}
	}
	return ""
}

// under are the paths at and below one, sorted.
func (tree chaosTree) under(top string) []string {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		if path == top || strings.HasPrefix(path, top+"/") {
			paths = append(paths, path)
		}
	}
	return paths
}

// locked reports whether a lock is at or below a path.
func (tree chaosTree) locked(top string) bool {
	return slices.ContainsFunc(tree.under(top), func(path string) bool { return tree[path].token != "" })
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

const askTree = `<?xml version="1.0" encoding="utf-8"?>
<D:propfind xmlns:D="DAV:"><D:prop><D:resourcetype/><D:lockdiscovery/></D:prop></D:propfind>`

// treeAnswer is a multistatus body, as far as it matters here.
type treeAnswer struct {
	Responses []struct {
		Href  string `xml:"DAV: href"`
		Found []struct {
			Prop struct {
				Type struct {
					Collection *struct{} `xml:"DAV: collection"`
				} `xml:"DAV: resourcetype"`
				Locks struct {
					Active []struct {
						Token struct {
							Href string `xml:"DAV: href"`
						} `xml:"DAV: locktoken"`
					} `xml:"DAV: activelock"`
				} `xml:"DAV: lockdiscovery"`
			} `xml:"DAV: prop"`
		} `xml:"DAV: propstat"`
	} `xml:"DAV: response"`
}

// look reads the client's folder with all content, nil when it is not there.
func (c *chaosClient) look(s *server) (chaosTree, error) {
	r, err := s.try("PROPFIND", c.url(s, "")+"/", askTree, "Depth", "infinity", "Content-Type", "application/xml")
	if err != nil || r.status == http.StatusNotFound {
		return nil, err
	}
	var answer treeAnswer
	if err := xml.Unmarshal([]byte(r.body), &answer); r.status != http.StatusMultiStatus || err != nil {
		return nil, fmt.Errorf("PROPFIND: %d, %w: %s", r.status, err, clip(r.body))
	}
	tree := chaosTree{}
	for _, response := range answer.Responses {
		u, err := url.Parse(response.Href)
		if err != nil {
			return nil, err
		}
		path := strings.Trim(strings.TrimPrefix(u.Path, davPath(c.name)), "/")
		if path == "" {
			continue
		}
		var n chaosNode
		for _, found := range response.Found {
			n.folder = n.folder || found.Prop.Type.Collection != nil
			for _, lock := range found.Prop.Locks.Active {
				n.token += lock.Token.Href
			}
		}
		if !n.folder {
			if r, err = s.try("GET", c.url(s, path), ""); err != nil || r.status != http.StatusOK {
				return nil, fmt.Errorf("GET %s: %d, %w", path, r.status, err)
			}
			n.sum = sumOf(r.body)
		}
		tree[path] = n
	}
	return tree, nil
}
