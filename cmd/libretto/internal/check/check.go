// Package check implements libretto check: it finds what is wrong with definitions and their scripts without any object and without a
// cluster: what the host would not accept or not load, and what is accepted and suspicious.
//
// Definitions are resolved by the host's planner and scripts are compiled by the host's engines, so that an answer
// here is the answer there.
package check

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/scriptcheck"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// Severity is what a finding means.
type Severity string

const (
	// Error is what the host would not accept or not load, and what can't be right in a script.
	Error Severity = "error"
	// Warning is what the host accepts, and what is likely a mistake.
	Warning Severity = "warning"
	// Note is what could not be checked, and what is as good as it is.
	Note Severity = "note"
)

// Finding is something that was found.
type Finding struct {
	Severity Severity
	// Reason names the kind of finding. It is the reason of the host's condition or event if the host reports it.
	Reason   string
	Location engines.Location
	// Object is the object that it is about, such as CompositeController hello, or empty.
	Object  string
	Message string
	// Detail has further lines, such as the stack of a script.
	Detail []string
	// isOfPlan is set for what the host warns of when it plans a definition.
	isOfPlan bool
}

// IsRefusal reports whether the host, or the API server, refuses what the finding is about, and says so.
func (f Finding) IsRefusal() bool {
	return f.Severity == Error && f.Object != "" && f.Reason != reasonNoSelector
}

// IsLogged reports whether the log of a host has the finding, too.
func (f Finding) IsLogged() bool { return f.isOfPlan || f.IsRefusal() }

// Result is the result of a check.
type Result struct {
	// Findings are sorted by their locations.
	Findings []Finding
	// Definitions and Scripts count what was checked.
	Definitions, Scripts int
}

// Count returns the number of findings of a severity.
func (r *Result) Count(severity Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

// Run checks all definitions and CustomResourceDefinitions of a set at the same time.
func Run(ctx context.Context, set *manifest.Set, registry *engines.Registry) (*Result, error) {
	r := &run{set: set, registry: registry, resources: set.Known(), used: map[scripts.Origin]bool{}, schemas: schemasOf(set)}
	for _, p := range set.Problems {
		r.add(Finding{Severity: Error, Reason: reasonInvalid, Location: p.Location, Message: p.Message})
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * max(2, runtime.GOMAXPROCS(0)))
	checks := make([]*definitionCheck, len(set.Definitions))
	for i, object := range set.Definitions {
		checks[i] = &definitionCheck{run: r, object: object, name: manifest.Name(object)}
		group.Go(func() error { return checks[i].check(ctx) })
	}
	for _, crd := range set.CRDs {
		group.Go(func() error { return r.checkCRD(crd) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	r.reportSchemas()
	r.checkUnused(checks)
	r.checkExports(checks)
	r.checkReplaced()
	r.checkTestFiles()
	return &Result{Findings: sorted(r.findings), Definitions: len(set.Definitions), Scripts: r.scripts}, nil
}

// run is one check.
type run struct {
	set       *manifest.Set
	registry  *engines.Registry
	resources *manifest.KnownResources
	schemas   *scriptcheck.Checker

	mu       sync.Mutex
	findings []Finding
	scripts  int
	// used are the sources that definitions name. It is incomplete if a definition was refused.
	used    map[scripts.Origin]bool
	refused bool
}

// use notes the sources of a definition.
func (r *run) use(spec scripts.Spec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, source := range spec.Sources {
		r.used[source.Origin()] = true
	}
}

// refuse notes that the sources of a definition are not known.
func (r *run) refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = true
}

// checkReplaced reports directories in the place of ConfigMaps and objects of Flux that no definition names.
func (r *run) checkReplaced() {
	used := map[scripts.ObjectName]bool{}
	for origin := range r.used {
		used[origin.Object()] = true
	}
	for _, name := range r.set.Replaced() {
		if !r.refused && !used[name] {
			r.add(Finding{Severity: Warning, Reason: reasonUnusedScripts, Message: fmt.Sprintf(
				"--scripts %s: no definition has that %s among its scriptSources: correct the name", manifest.ScriptsName(name), name.Kind)})
		}
	}
}

func (r *run) add(f Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.findings = append(r.findings, f)
}

// hasProblem reports whether something is wrong with the text of an object.
func (r *run) hasProblem(o *document.Object) bool {
	return slices.ContainsFunc(r.set.Problems, func(p *document.Error) bool { return p.Object == o.Location })
}

// sorted returns the findings in the order of their locations, each once.
func sorted(all []Finding) []Finding {
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Location.File, b.Location.File), cmp.Compare(a.Location.Line, b.Location.Line),
			cmp.Compare(a.Location.Column, b.Location.Column), cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Object, b.Object), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.CompactFunc(all, func(a, b Finding) bool {
		return a.Severity == b.Severity && a.Location == b.Location && a.Message == b.Message && a.Object == b.Object
	})
}
