package store_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/blob"
	"holdfast/lockns"
	"holdfast/store"
)

// BenchmarkLock is what it costs the store to lock, refresh and unlock files, by
// as many at a time as there are cores. What is synced is left out: a sync would
// hide the rest.
func BenchmarkLock(b *testing.B) {
	dir := b.TempDir()
	blobs, err := blob.NewDir(dir+"/blobs", blob.DirOptions{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(context.Background(), store.Options{DB: "sqlite:" + dir + "/db", Blobs: blobs, InlineMax: 1 << 10, NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	u, err := s.AddUser(ctx, store.NewUser{Name: "ada"})
	if err != nil {
		b.Fatal(err)
	}
	var files atomic.Int64
	b.SetParallelism(4)
	spec := store.LockSpec{Depth: lockns.Resource, Mode: lockns.Exclusive, Origin: lockns.WebDAV, Holder: u.ID, Timeout: time.Hour}
	for _, refreshes := range []int{0, 1} {
		b.Run(fmt.Sprintf("refreshes=%d", refreshes), func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				target := store.Target{Workspace: u.Workspace(), Path: store.ParsePath(fmt.Sprintf("/f%d", files.Add(1)))}
				if _, _, err := s.Put(ctx, target, file("x"), store.Holder(u.ID)); err != nil {
					b.Error(err)
					return
				}
				for pb.Next() {
					out, err := s.Lock(ctx, target, spec, store.Holder(u.ID))
					for range refreshes {
						if err == nil {
							_, err = s.RefreshLock(ctx, target, store.ByToken(out.Lock.Token), time.Hour, store.Holder(u.ID))
						}
					}
					if err == nil {
						err = s.Unlock(ctx, target, store.ByToken(out.Lock.Token), store.Holder(u.ID))
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
