// Command libraryreference reads the declarations of the module for authors of scripts, and writes a reference in Markdown to its
// standard output. What it describes stands below a line comment, which is the title of a section. A function has a comment with its text
// and, after @example, a call and its result, the result in line comments. "Also in CEL." in the text says that CEL has it.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "libraryreference:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("write libraryreference FILE")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	sections, err := read(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	_, err = io.WriteString(out, markdown(sections))
	return err
}
