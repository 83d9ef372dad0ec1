package rbac

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test/explore"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/definition/rights"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// seen is what definitions were seen to do in tests, by KIND NAME. It is a simulation.Observer.
type seen struct {
	mu    sync.Mutex
	needs map[string]map[rights.Need]bool
}

func (s *seen) add(plan *plan.Plan, needs ...rights.Need) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.needs[plan.Config.Definition]
	if of == nil {
		of = map[rights.Need]bool{}
		s.needs[plan.Config.Definition] = of
	}
	for _, need := range needs {
		of[need] = true
	}
}

// Wrote notes a write.
func (s *seen) Wrote(plan *plan.Plan, write memcluster.Write) {
	for _, right := range simulation.RightsOf(plan, write) {
		s.add(plan, rights.Wrote(plan, right))
	}
}

// Selected notes what a customize hook asks for.
func (s *seen) Selected(plan *plan.Plan, namespace string, selection parent.Selection) {
	s.add(plan, rights.Selected(plan, namespace, selection)...)
}

// narrow runs the tests beside files, and reduces the rights to what they use.
func (p *printer) narrow(ctx context.Context, filenames []string) error {
	s := &seen{needs: map[string]map[rights.Need]bool{}}
	if err := p.runTests(simulation.WithObserver(ctx, s), filenames); err != nil {
		return err
	}
	for i, d := range p.definitions {
		of, tested := s.needs[d.Plan.Config.Definition]
		if !tested {
			p.warn(d.Plan.Config.Definition + ": no test runs it: its rights are those that its spec allows")
			continue
		}
		var used []rights.Need
		for need := range of {
			used = append(used, need)
		}
		var unused []rights.Need
		p.definitions[i].Needs, unused = rights.Narrow(d.Needs, used)
		for _, need := range unused {
			fmt.Fprintf(p.Stderr, "%s: left out, as no test uses it: %s %s\n", d.Plan.Config.Definition, need.Verb, need.Plural())
		}
	}
	return nil
}

// runTests runs the tests in the folders of files. What they say of definitions that are not among the files is not used.
func (p *printer) runTests(ctx context.Context, filenames []string) error {
	var paths []string
	for _, name := range filenames {
		if name == "-" {
			return cli.Cannot(errors.New("--from-tests: standard input has no tests beside it: name files or directories with -f"))
		}
		if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" || ext == ".json" {
			name = filepath.Dir(name)
		}
		paths = append(paths, name)
	}
	registry, stop, err := cli.OfflineEngines(p.Process)
	if err != nil {
		return cli.Cannot(err)
	}
	defer stop()
	found, err := suite.Find(registry, paths...)
	if err != nil {
		return cli.Cannot(err)
	}
	var failed []string
	o := suite.Options{
		Cases: found.Cases, Engines: registry, ScriptsDir: p.manifests.ScriptsDir, Parallel: runtime.GOMAXPROCS(0), Timeout: p.timeout,
		Warn: p.warn,
		Report: func(r controllertest.Result) {
			if r.Outcome == controllertest.Failed || r.Outcome == controllertest.Errored {
				failed = append(failed, r.ID())
			}
		},
	}
	if p.explore {
		explorer := explore.Explorer{Options: explore.Options{Paths: p.paths}}
		explorer.AddTo(&o)
	}
	if _, err := suite.Run(ctx, o); err != nil {
		return cli.Cannot(err)
	}
	if len(failed) > 0 {
		slices.Sort(failed)
		return cli.ExitWith(cli.ExitProblems, fmt.Errorf("what definitions use is unknown, as tests fail (%d; libretto test has the reasons): %s",
			len(failed), strings.Join(failed, "; ")))
	}
	return nil
}
