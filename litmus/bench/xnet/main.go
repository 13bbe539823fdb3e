// Command xnet serves a folder with golang.org/x/net/webdav, so that the benchmark has something to
// compare with. Files lie in a folder of the file system (webdav.Dir) and locks in memory
// (webdav.NewMemLS). It asks for no login, its locks are gone when it ends, and it never calls fsync:
// what it has acknowledged may be lost in a power cut.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/net/webdav"
)

const mount = "/dav"

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "address of the loopback to listen on")
	folder := flag.String("data", "", "folder to serve")
	flag.Parse()
	if err := serve(*addr, *folder); err != nil {
		fmt.Fprintln(os.Stderr, "xnet:", err)
		os.Exit(1)
	}
}

// serve answers under /dav/ until the process is ended.
func serve(addr, folder string) error {
	if folder == "" {
		return fmt.Errorf("-data is missing")
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if a, ok := listener.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		listener.Close()
		return fmt.Errorf("%s is not an address of the loopback", listener.Addr())
	}
	slog.Info("listening", "addr", listener.Addr().String())
	server := &http.Server{
		Handler: &webdav.Handler{
			Prefix:     mount,
			FileSystem: webdav.Dir(folder),
			LockSystem: webdav.NewMemLS(),
		},
		ReadHeaderTimeout: 10 * time.Second,
	}
	return server.Serve(listener)
}
