// Command hooktypes reads the Go types of hook requests and responses in a directory, and writes
// TypeScript declarations, a reference in Markdown or the variables of CEL expressions to its
// standard output. The package comment
// of these types describes how to write them.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "hooktypes:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("write hooktypes typescript|markdown|cel DIRECTORY")
	}
	declarations, err := read(args[1])
	if err != nil {
		return err
	}
	var text string
	switch args[0] {
	case "typescript":
		text = typeScript(declarations)
	case "markdown":
		text = markdown(declarations)
	case "cel":
		text = celFields(declarations)
	default:
		return fmt.Errorf("%q: write typescript, markdown or cel", args[0])
	}
	_, err = io.WriteString(out, text)
	return err
}
