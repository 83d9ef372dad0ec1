// Command scale measures a host of the API group as a whole, from outside: many parents with many children each are created, changed and
// touched on a control plane of its own, beside the same writes sent by a program that does nothing else. `make scale` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/libretto-k8s/libretto/test/steps"
)

func main() {
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		if err := roles[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "scale:", err)
			os.Exit(1)
		}
		return
	}
	o := &options{}
	o.addTo(flag.CommandLine)
	flag.Parse()
	steps.Main("scale", func(out *steps.Report) steps.Program {
		p, err := program(out, o)
		if err != nil {
			fmt.Fprintln(os.Stderr, "scale:", err)
			os.Exit(2)
		}
		return p
	})
}

// roles are what this binary does as a process of its own, so that what it uses can be separated from what measuring uses.
var roles = map[string]func(args []string) error{
	directRole: runDirect,
	listRole:   runList,
}

// program returns a step for each subject and run, and the one that prints the results.
func program(out *steps.Report, o *options) (steps.Program, error) {
	subjects, err := o.check()
	if err != nil {
		return steps.Program{}, err
	}
	if o.cold.definitions > 0 {
		return coldProgram(out, o, subjects), nil
	}
	all := newResults(o, subjects)
	p := steps.Program{
		Title:   fmt.Sprintf("%d parents with %d children each, of %d bytes", o.parents, o.children, o.payload),
		Log:     func() string { return all.log },
		Close:   func(context.Context) error { return nil },
		Reading: [][2]string{{"docs/design/engines/speed.md", "what was measured, and the goals"}},
	}
	// The subjects take turns, so that what changes on the machine meanwhile meets all of them.
	for run := range o.runs {
		for _, s := range subjects {
			p.Steps = append(p.Steps, steps.Step{
				Title: fmt.Sprintf("%s, run %d of %d", s.name, run+1, o.runs),
				Why:   s.why,
				Run: func(ctx context.Context) error {
					return measure(ctx, out, o, s, run, all)
				},
			})
		}
	}
	p.Steps = append(p.Steps, steps.Step{
		Title: "Results",
		Why:   "Medians of the runs. CPU and memory are of the host / of its workers.",
		Run:   func(context.Context) error { return all.print(out) },
	})
	return p, nil
}
