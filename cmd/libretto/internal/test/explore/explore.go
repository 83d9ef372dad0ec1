// Package explore tests that controllers are level-based: whatever happens on the way, they come to the same end.
//
// It makes the states that a case goes through, lets one thing go wrong in each of them, and goes on until nothing changes. Then it lets
// something go wrong in the states that these paths went through, as long as there is a budget.
package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// DefaultPaths is how many paths are made for a case by default.
const DefaultPaths = 500

// Options bound an exploration.
type Options struct {
	// Paths is how many paths are made at most. Zero means DefaultPaths.
	Paths int
	// Seed selects the paths if there are more.
	Seed uint64
	// Workers is how many paths are made at the same time. Zero means as many as there are processors.
	Workers int
}

// Subject is what is explored: a case of a test.
type Subject struct {
	Engines *engines.Registry
	Test    *controllertest.ControllerTest
	Case    *controllertest.Case
	Subject *controllertest.Subject
}

// Report is the result of an exploration.
type Report struct {
	// Skipped is why nothing was explored, or empty.
	Skipped string
	// States is the number of states in which something went wrong, and Paths the number of paths that were made.
	States, Paths int
	// Left is the number of paths that were known and not made.
	Left int
	// Failures are the ways in which paths failed, the shortest path of each.
	Failures []controllertest.Failure
}

const (
	// maxFrontier is how many states are kept for the next round.
	maxFrontier = 2000
	// maxFailures is how many kinds of failures end an exploration, and maxUnsettled how many paths that do not settle.
	maxFailures  = 5
	maxUnsettled = 3
	// batch is how many paths are made before it is looked at how many failed.
	batch = 128
)

// Run explores a case. An error means that it could not be run, or that ctx has ended.
func Run(ctx context.Context, subject Subject, options Options) (Report, error) {
	return run(ctx, subject, options, map[uint64]bool{})
}

// run explores a case, but for paths that other cases of the test have made. It adds its own to them.
func run(ctx context.Context, subject Subject, options Options, made map[uint64]bool) (Report, error) {
	if explore := subject.Case.Explore; explore != nil && explore.Skip != "" {
		return Report{Skipped: explore.Skip}, nil
	}
	if subject.Case.Hook != "" {
		return Report{Skipped: "it calls a hook alone"}, nil
	}
	if options.Paths == 0 {
		options.Paths = DefaultPaths
	}
	if options.Workers == 0 {
		options.Workers = runtime.GOMAXPROCS(0)
	}
	subject.Subject = remembering(subject.Subject)
	e := &explorer{
		Subject: subject, Options: options, random: rand.New(rand.NewPCG(options.Seed, 0)),
		made: made, known: map[uint64]bool{}, groups: map[string]*group{},
	}
	if err := e.reference(ctx); err != nil || e.report.Skipped != "" {
		return e.report, err
	}
	for len(e.frontier) > 0 && !e.done() {
		if err := e.round(ctx); err != nil {
			return e.report, err
		}
	}
	err := e.finish(ctx)
	return e.report, err
}

// explorer explores one case.
type explorer struct {
	Subject
	Options
	random  *rand.Rand
	ignored ignored
	// ends are the end states that the steps of the case come to.
	ends []end
	// known are the hashes of the states that are or were in the frontier, and made those of the paths that were made.
	known, made map[uint64]bool
	// frontier are the states of the next round.
	frontier []*node
	// groups are the failures by what they have in common, and order their keys.
	groups    map[string]*group
	order     []string
	unsettled int
	report    Report
}

// end is what a step of the case comes to.
type end struct {
	state      endState
	checkpoint *controllertest.Checkpoint
	// setting is a hash of all that decides what follows from a state, besides the state.
	setting uint64
}

// node is a state on a path.
type node struct {
	checkpoint *controllertest.Checkpoint
	// hash is that of the state and all that decides what follows from it.
	hash uint64
	// base is the step of the case, and step its index.
	base *controllertest.Step
	step int
	// path are the steps to it from the beginning of the step, and words what went wrong in them.
	path  []controllertest.Step
	words []string
	// next are the writes of the next pass on the same path, and acted the objects that other controllers changed before it.
	next  []memcluster.Write
	acted []apply.Key
}

// path is a fault at a node.
type path struct {
	from  *node
	fault fault
}

// hash returns a hash of the path.
func (p path) hash() uint64 { return p.from.hash + jsonvalue.Hash(p.fault.words) }

// outcome is the result of a path.
type outcome struct {
	ending     controllertest.Ending
	end        endState
	checkpoint *controllertest.Checkpoint
	// allowed is set for one of the ends that the case names.
	allowed bool
	// steps are those of the path after the fault.
	steps []controllertest.Step
	nodes []*node
}

// group is the paths that fail in the same way.
type group struct {
	path    path
	outcome outcome
	others  int
}

// done reports whether the exploration ends.
func (e *explorer) done() bool {
	return e.report.Paths >= e.Paths || len(e.groups) >= maxFailures || e.unsettled >= maxUnsettled
}

// round lets something go wrong in all states of the frontier, and replaces it by the states of the paths.
func (e *explorer) round(ctx context.Context) error {
	var paths []path
	for _, n := range e.frontier {
		before := len(paths)
		for _, f := range faultsAt(n, e.Subject.Subject.Definition.GetKind() != v1alpha1.DecoratorControllerKind) {
			if p := (path{n, f}); !e.made[p.hash()] {
				paths = append(paths, p)
			}
		}
		if len(paths) > before {
			e.report.States++
		}
	}
	e.frontier = nil
	if most := e.Paths - e.report.Paths; len(paths) > most {
		e.report.Left += len(paths) - most
		e.random.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
		paths = paths[:most]
	}
	for part := range slices.Chunk(paths, batch) {
		outcomes, err := e.walkAll(ctx, part)
		if err != nil {
			return err
		}
		for i, o := range outcomes {
			e.note(part[i], o)
		}
		if e.done() {
			break
		}
	}
	return nil
}

// walkAll makes paths, several at a time.
func (e *explorer) walkAll(ctx context.Context, paths []path) ([]outcome, error) {
	outcomes, errs := make([]outcome, len(paths)), make([]error, len(paths))
	var wait sync.WaitGroup
	next := make(chan int)
	for range min(e.Workers, len(paths)) {
		wait.Go(func() {
			for i := range next {
				outcomes[i], errs[i] = e.walk(ctx, paths[i])
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", paths[i].sentence(), err)
		}
	}
	return outcomes, nil
}

// note adds a path to the report, and its states to the next round.
func (e *explorer) note(p path, o outcome) {
	e.report.Paths++
	e.made[p.hash()] = true
	if key := e.failure(p, o); key != "" {
		if o.ending.Unsettled != "" {
			e.unsettled++
		}
		if known := e.groups[key]; known != nil {
			known.others++
			return
		}
		e.groups[key] = &group{path: p, outcome: o}
		e.order = append(e.order, key)
		return
	}
	for _, n := range o.nodes {
		e.push(n)
	}
}

// push adds a state to the next round, unless it is known. Of too many one is dropped at random.
func (e *explorer) push(n *node) {
	n.hash = endStateOf(n.checkpoint.Objects(), e.ignored).hash() + e.ends[n.step].setting
	if e.known[n.hash] {
		return
	}
	e.known[n.hash] = true
	if len(e.frontier) < maxFrontier {
		e.frontier = append(e.frontier, n)
		return
	}
	e.frontier[e.random.IntN(maxFrontier)] = n
}
