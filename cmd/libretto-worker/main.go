// Command libretto-worker runs scripts for libretto. It has the engines but no controller and no client
// of an API server, so it starts in two thirds of the time and half of the memory that libretto would
// take. libretto starts it from its own directory.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// version is set by the linker.
var version = "unreleased"

func main() {
	err := check(os.Args)
	if err == nil {
		worker.Main(standard.Scripts)
	}
	fmt.Fprintln(os.Stderr, "libretto-worker:", err)
	os.Exit(2)
}

// check returns an error unless a libretto of the same version started this process. Their protocol may
// change with each version.
func check(line []string) error {
	switch {
	case len(line) < 3 || line[1] != worker.Argument:
		return errors.New("this is started by libretto, which runs scripts in it, and by nobody else")
	case line[2] != version:
		return fmt.Errorf("this is version %s, and the libretto beside it is version %s: install both from one build", version, line[2])
	default:
		return nil
	}
}
