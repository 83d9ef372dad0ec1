// Command flags tries the Vitess example with the real programs of Vitess, which it builds in modules of their own. The flags
// that the operator writes have to be known to the programs, and the topology that its Jobs write has to be read by them.
//
//	flags [-bin DIRECTORY] [-only flags|topology] EXAMPLE INSTANCE
//
// EXAMPLE is a directory with definitions, INSTANCE a file with an object of theirs. The directory of -bin has libretto, and gets what
// is built below vitess/.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vitess-flags:", err)
		os.Exit(1)
	}
}

// limit is how long everything but building may take.
const limit = 10 * time.Minute

// options are those of the command line.
type options struct {
	bin, only, example, instance string
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("vitess-flags", flag.ContinueOnError)
	flags.StringVar(&o.bin, "bin", "bin", "the directory of libretto; the programs of Vitess are built in vitess/ there")
	flags.StringVar(&o.only, "only", "", "flags or topology: try nothing else")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() != 2 || (o.only != "" && o.only != "flags" && o.only != "topology") {
		return o, errors.New("write flags [-bin DIRECTORY] [-only flags|topology] EXAMPLE INSTANCE")
	}
	o.example, o.instance = flags.Arg(0), flags.Arg(1)
	var err error
	o.bin, err = filepath.Abs(o.bin)
	return o, err
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	programs, err := build(ctx, filepath.Join(o.bin, "vitess"), out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tree, err := render(ctx, filepath.Join(o.bin, "libretto"), o.example, o.instance)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe operator wrote %d objects: %s\n", len(tree.objects), tree.kinds())
	if o.only != "topology" {
		if err := checkFlags(ctx, out, programs, tree); err != nil {
			return err
		}
	}
	if o.only != "flags" {
		return tryTopology(ctx, out, programs, tree)
	}
	return nil
}

// lastLine returns the last line of a text that is not empty.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
