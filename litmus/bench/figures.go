package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// mount is where both servers serve.
	mount = "/dav/"
	// seeders is how many clients make fixtures.
	seeders = 32
	// setupTimeout bounds each step of making fixtures.
	setupTimeout = 3 * time.Minute
	// own is how many files each client has to itself.
	own = 8
	// inFolder is how many files a folder of a tree, or of locked files, has.
	inFolder = 100
)

// content returns n bytes that no file system or server can make shorter, the same at each call.
func content(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

var (
	tiny   = content(64)
	small  = content(1 << 10)
	medium = content(64 << 10)
	mega   = content(1 << 20)
	large  = content(4 << 20)
)

// figures lists what both servers are compared in.
func (o *options) figures(ctx context.Context) []figure {
	list := []figure{
		{name: "PUT 1 KiB, new", writes: true, op: putNew(small)},
		{name: "PUT 1 KiB, over", writes: true, setup: files(ctx, small), op: putOver(small)},
		{name: "PUT 64 KiB, new", writes: true, op: putNew(medium), most: 1000},
		{name: "PUT 4 MiB, over", writes: true, setup: files(ctx, large), op: putOver(large), most: 24},
		{name: "GET 1 KiB", setup: files(ctx, small), op: get(small)},
		{name: "GET 1 MiB", setup: files(ctx, mega), op: get(mega)},
	}
	for _, n := range o.entries {
		list = append(list, listing(ctx, "allprop", allprop, n), listing(ctx, "4 properties", fourProps, n))
	}
	return append(list,
		figure{name: "LOCK, UNLOCK", writes: true, setup: files(ctx, small), op: lockUnlock},
		figure{name: "LOCK, PUT 1 KiB, UNLOCK", writes: true, setup: files(ctx, small), op: save},
		figure{name: fmt.Sprintf("COPY a tree of %d files", o.tree), writes: true, setup: tree(ctx), op: copyTree, most: 8},
		figure{name: fmt.Sprintf("MOVE a tree of %d files", o.tree), writes: true, setup: ownTrees(ctx), op: moveTree},
	)
}

// file is the path of one of the files that a client has to itself.
func (x *trial) file(c *client, i int) string {
	return fmt.Sprintf("%sfile-%d-%d.txt", x.dir, c.number, i%own)
}

// files makes the files that each client has to itself.
func files(ctx context.Context, body []byte) func(*trial) error {
	return func(x *trial) error {
		return x.t.each(ctx, x.clients, x.clients*own, func(c *client, i int) error {
			return c.put(x.file(x.t.clients[i/own], i), body)
		})
	}
}

func putNew(body []byte) func(*trial, *client, int) error {
	return func(x *trial, c *client, i int) error {
		return c.put(fmt.Sprintf("%snew-%07d.txt", x.dir, i), body)
	}
}

func putOver(body []byte) func(*trial, *client, int) error {
	return func(x *trial, c *client, i int) error { return c.put(x.file(c, i), body) }
}

func get(body []byte) func(*trial, *client, int) error {
	return func(x *trial, c *client, i int) error { return c.get(x.file(c, i), body) }
}

func lockUnlock(x *trial, c *client, i int) error {
	path := x.file(c, i)
	token, err := c.lock(path)
	if err != nil {
		return err
	}
	return c.unlock(path, token)
}

// save is what an editor does to save a document.
func save(x *trial, c *client, i int) error {
	path := x.file(c, i)
	token, err := c.lock(path)
	if err != nil {
		return err
	}
	saved := c.put(path, small, "If", "("+token+")")
	if err := c.unlock(path, token); err != nil {
		return err
	}
	return saved
}

// folderPath is where the folder of n files is.
func folderPath(n int) string { return fmt.Sprintf("%sfolder-%d/", mount, n) }

// listing is PROPFIND of depth 1 on a folder of n files.
func listing(ctx context.Context, what, body string, n int) figure {
	path := folderPath(n)
	return figure{
		name: fmt.Sprintf("PROPFIND %d entries, %s", n, what),
		setup: func(x *trial) error {
			return x.t.once(path, func() error { return x.t.fill(ctx, path, n) })
		},
		op: func(_ *trial, c *client, _ int) error { return c.propfind(path, body, n) },
	}
}

// once makes a fixture that several trials of a target use.
func (t *target) once(path string, make func() error) error {
	err, made := t.shared[path]
	if !made {
		err = make()
		t.shared[path] = err
	}
	return err
}

// fill makes a folder of n files.
func (t *target) fill(ctx context.Context, path string, n int) error {
	if err := t.clients[0].mkcol(path); err != nil {
		return err
	}
	return t.each(ctx, seeders, n, func(c *client, i int) error {
		return c.put(fmt.Sprintf("%sfile-%05d.txt", path, i), tiny)
	})
}

const treePath = mount + "tree/"

// tree makes the tree that COPY and MOVE work on: folders of 100 files of 1 KiB.
func tree(ctx context.Context) func(*trial) error {
	return func(x *trial) error {
		return x.t.once(treePath, func() error {
			return x.t.nested(ctx, treePath, x.o.tree, func(c *client, path string) error { return c.put(path, small) })
		})
	}
}

// nested makes a folder with folders of 100 files below it, n files in all, by calling do with the path
// of each.
func (t *target) nested(ctx context.Context, path string, n int, do func(c *client, path string) error) error {
	if err := t.clients[0].mkcol(path); err != nil {
		return err
	}
	folder := func(i int) string { return fmt.Sprintf("%sfolder-%04d/", path, i) }
	err := t.each(ctx, seeders, (n+inFolder-1)/inFolder, func(c *client, i int) error { return c.mkcol(folder(i)) })
	if err != nil {
		return err
	}
	return t.each(ctx, seeders, n, func(c *client, i int) error {
		return do(c, fmt.Sprintf("%sfile-%02d.txt", folder(i/inFolder), i%inFolder))
	})
}

func copyTree(x *trial, c *client, i int) error {
	return c.transfer("COPY", treePath, fmt.Sprintf("%scopy-%d/", x.dir, i))
}

// ownTrees gives each client a tree to itself.
func ownTrees(ctx context.Context) func(*trial) error {
	return func(x *trial) error {
		if err := tree(ctx)(x); err != nil {
			return err
		}
		return x.t.each(ctx, 1, x.clients, func(c *client, i int) error {
			return c.transfer("COPY", treePath, x.ownTree(i, false))
		})
	}
}

// ownTree is the path of a client's tree at its first or second name.
func (x *trial) ownTree(number int, away bool) string {
	if away {
		return fmt.Sprintf("%saway-%d/", x.dir, number)
	}
	return fmt.Sprintf("%shome-%d/", x.dir, number)
}

// moveTree moves the client's tree to and fro.
func moveTree(x *trial, c *client, _ int) error {
	away := x.away[c.number]
	if err := c.transfer("MOVE", x.ownTree(c.number, away), x.ownTree(c.number, !away)); err != nil {
		return err
	}
	x.away[c.number] = !away
	return nil
}
