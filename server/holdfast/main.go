// Command holdfast is the Holdfast server and its administration.
//
// Exit status: 0 done, 1 refused, 2 usage.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is main with its surroundings as arguments; it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	defer func() {
		switch thrown := recover().(type) {
		case nil:
		case exit: // kong ends the program after --help; here it ends run
			status = int(thrown)
		default:
			panic(thrown)
		}
	}()
	if err := checkText(args); err != nil {
		return report(stderr, usageError{err})
	}
	io := &streams{in: stdin, out: stdout, err: stderr}
	parser, err := kong.New(&commands{}, kong.Name("holdfast"), kong.Bind(io), kong.Writers(stdout, stderr),
		kong.Description("A WebDAV server whose locks hold."), kong.Exit(func(code int) { panic(exit(code)) }),
		sizes, times, moments)
	if err != nil {
		panic(err) // the tags of commands are wrong, which any test finds
	}
	command, err := parser.Parse(args)
	if err != nil {
		return report(stderr, usageError{err})
	}
	return report(stderr, command.Run())
}

// checkText refuses arguments that are not UTF-8: no name is, and what they are
// replaced with may name something else.
func checkText(args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return fmt.Errorf("argument %d is not UTF-8", i+1)
		}
	}
	return nil
}

// exit carries a status out of kong.
type exit int

// usageError is a command line that cannot be meant: status 2.
type usageError struct{ error }

func report(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	for line := range strings.SplitSeq(plain(err), "\n") {
		fmt.Fprintln(stderr, "holdfast: "+printable(line))
	}
	if usage := (usageError{}); errors.As(err, &usage) {
		fmt.Fprintln(stderr, "holdfast: see holdfast --help")
		return 2
	}
	return 1
}
