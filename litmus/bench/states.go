package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

const (
	// leastStates is how much of its speed a list must keep when each file in it is locked: it may cost 1.3
	// times as much.
	leastStates = 1 / 1.3
	// inPage is how many entries the API gives in an answer.
	inPage = 1000

	api = "/api/v1"
)

// compareStates lists a folder over the API, which says of each entry how it is locked, and by PROPFIND,
// without locks and with one on each file. Each has a server of its own.
func (o *options) compareStates(ctx context.Context) (rows []row, err error) {
	var targets []*target
	defer func() {
		for _, t := range targets {
			err = errors.Join(err, t.server.stop())
		}
	}()
	n := o.entries[len(o.entries)-1]
	for _, locks := range []int{0, n} {
		s, err := o.start(ctx, holdfast)
		if err != nil {
			return nil, err
		}
		t := newTarget(o, lockCount(locks), s)
		targets = append(targets, t)
		o.progress("making a folder of %d files with %s", n, t.name)
		if err := t.fillLocked(ctx, n, locks); err != nil {
			return nil, err
		}
	}
	longer := *o
	longer.slice = o.listing
	rows = longer.rows(ctx, []figure{pages(n), listing(ctx, "allprop", allprop, n)}, targets)
	o.serial = longer.serial
	return rows, nil
}

// fillLocked makes the folder of n files that listing expects and locks so many of them.
func (t *target) fillLocked(ctx context.Context, n, locks int) error {
	path := folderPath(n)
	return t.once(path, func() error {
		if err := t.fill(ctx, path, n); err != nil {
			return err
		}
		return t.each(ctx, seeders, locks, func(c *client, i int) error {
			_, err := c.lock(fmt.Sprintf("%sfile-%05d.txt", path, i))
			return err
		})
	})
}

// pages is the list of a folder of n files over the API, from its first page to its last.
func pages(n int) figure {
	return figure{
		name: fmt.Sprintf("API, list %d entries in pages of %d", n, inPage),
		op:   func(_ *trial, c *client, _ int) error { return c.children(folderPath(n), n) },
	}
}

// errItems: a list of the API does not have what is in the folder.
var errItems = errors.New("list of the API with the wrong number of entries")

// children lists a folder below the mount over the API; it must have so many members.
func (c *client) children(path string, members int) error {
	where := api + "/workspaces/personal/resource?path=/" + path[len(mount):len(path)-1]
	p, err := c.ask(request{method: "GET", path: where}, http.StatusOK)
	if err != nil {
		return err
	}
	var folder struct{ ID int64 }
	if err := json.Unmarshal(p.body, &folder); err != nil {
		return err
	}
	first := fmt.Sprintf("%s/folders/%d/children?limit=%d", api, folder.ID, inPage)
	found := 0
	for next := first; next != ""; {
		p, err := c.ask(request{method: "GET", path: next}, http.StatusOK)
		if err != nil {
			return err
		}
		found += bytes.Count(p.body, []byte(`"kind":"file"`))
		if next = cursorOf(p.body); next != "" {
			next = first + "&cursor=" + next
		}
	}
	if found != members {
		return fmt.Errorf("%w: %d, want %d", errItems, found, members)
	}
	return nil
}

// cursorOf is the cursor of the page after this one, "" on the last. It is looked for at the end alone, since
// reading JSON would take as much of the processors as making it.
func cursorOf(page []byte) string {
	const member = `"next":"`
	at := bytes.LastIndex(page, []byte(member))
	if at < 0 {
		return ""
	}
	cursor, _, _ := bytes.Cut(page[at+len(member):], []byte(`"`))
	return string(cursor)
}
