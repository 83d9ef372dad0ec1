// Command testformat reads the Go types of test files in a directory, and writes a JSON schema of them, for editors, or a reference in
// Markdown to its standard output.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testformat:", err)
		os.Exit(1)
	}
}

// rootType is the type of a file.
const rootType = "ControllerTest"

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("write testformat schema|markdown DIRECTORY")
	}
	r, err := read(args[1])
	if err != nil {
		return err
	}
	var text string
	switch args[0] {
	case "schema":
		text, err = jsonSchema(r)
	case "markdown":
		text, err = markdown(r)
	default:
		return fmt.Errorf("%q: write schema or markdown", args[0])
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}
