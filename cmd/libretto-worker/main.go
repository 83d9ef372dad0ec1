// Command libretto-worker is what libretto runs scripts in: the engines, and nothing of a
// controller. It starts in two thirds of the time and half of the memory that libretto itself would
// take, and has no client of an API server linked in. libretto finds it in the
// directory that it lies in itself; nobody else starts it.
package main

import (
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

// check says whether a host of the same version has started this. The two talk in a form that is
// no promise: it may be another one in the next version.
func check(line []string) error {
	switch {
	case len(line) < 3 || line[1] != worker.Argument:
		return fmt.Errorf("this is started by libretto, which runs scripts in it, and by nobody else")
	case line[2] != version:
		return fmt.Errorf("this is version %s, and the libretto beside it is version %s: install both from one build", version, line[2])
	default:
		return nil
	}
}
