// Package schemacheck checks the scripts that serve in a host against CustomResourceDefinitions that have changed under them.
package schemacheck

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/scriptcheck"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/scripts"
)

// reason is that of the warning.
const reason = "SchemaMismatch"

// State is what is known of the scripts of one definition.
type State struct {
	mu sync.Mutex
	// versions are those of the CustomResourceDefinitions that need no check, and checked what was checked last.
	versions, checked string
	warnings          []plan.Warning
}

// begin reports whether a revision is to be checked, which is begun then. stood reports whether the definition had a warning before this
// process hosted it.
func (s *State) begin(revision scripts.RevisionID, versions string, stood bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.versions == "" && !stood {
		s.versions = versions
	}
	what := string(revision) + " " + versions
	if s.checked == what || s.versions == versions && len(s.warnings) == 0 {
		return false
	}
	s.versions, s.checked = versions, what
	return true
}

// end notes what was found, or that it could not be: then it is begun again.
func (s *State) end(warnings []plan.Warning, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.versions, s.checked = "unknown", ""
		return
	}
	s.warnings = warnings
}

// Warnings returns what the last check has found.
func (s *State) Warnings() []plan.Warning {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.warnings
}

// Checker makes one check at a time, in the background.
type Checker struct {
	// Client lists CustomResourceDefinitions.
	Client dynamic.Interface
	Log    logr.Logger

	checking sync.Mutex
	checks   sync.WaitGroup
}

// Wait waits for the check that goes on. Its context must have ended.
func (c *Checker) Wait() { c.checks.Wait() }

// Check checks the revision of scripts that serves a definition if the CustomResourceDefinitions of its resources have changed under it,
// of which versions are the present ones. Otherwise libretto check has done it, and a load makes no request for it. stored are the
// conditions of the definition: a warning outlives the process. done is called when there is a result.
func (c *Checker) Check(
	ctx context.Context, s *State, p *plan.Plan, revision *scripts.Revision, versions string, stored []metav1.Condition, done func(),
) {
	ready := meta.FindStatusCondition(stored, v1alpha1.ConditionReady)
	if revision == nil || !s.begin(revision.ID, versions, ready != nil && strings.Contains(ready.Message, mismatch)) {
		return
	}
	c.checks.Go(func() {
		c.checking.Lock()
		defer c.checking.Unlock()
		warnings, err := c.find(ctx, p, revision)
		if s.end(warnings, err); err != nil {
			c.Log.Info("scripts are not checked against the CustomResourceDefinitions that have changed; it is tried again",
				"definition", p.Config.Definition, "error", err.Error())
			return
		}
		done()
	})
}

const mismatch = "CustomResourceDefinitions have changed, and the scripts don't fit them: "

// find returns the warning that a revision does not fit the schemas of the cluster, if it does not.
func (c *Checker) find(ctx context.Context, p *plan.Plan, revision *scripts.Revision) ([]plan.Warning, error) {
	crds, err := c.readCRDs(ctx, p)
	if err != nil {
		return nil, err
	}
	checker, hook := scriptcheck.New(crds...), scriptcheck.Hook{Definition: p.Kind}
	for _, rule := range p.Config.Parents {
		hook.Parents = append(hook.Parents, rule.Kind)
	}
	for _, rule := range p.Config.Inputs {
		hook.Inputs = append(hook.Inputs, rule.Kind)
	}
	for _, rule := range p.Config.Children {
		hook.Children = append(hook.Children, rule.Kind)
	}
	spec, err := p.Scripts()
	if err != nil {
		return nil, err
	}
	locate := func(at engines.Location) (engines.Location, bool) { return at, !scripts.IsLibrary(at.File) }
	for _, name := range slices.Sorted(maps.Keys(revision.Programs)) {
		program, ok := revision.Programs[name].(engines.Outliner)
		if !ok { // Scripts run in this process.
			continue
		}
		outline, err := program.LoadOutline(ctx)
		if err != nil {
			return nil, err
		}
		hook.Name, hook.Signature = name, spec.Hooks[name].Signature
		checker.Check(hook, outline, locate)
	}
	return warningOf(checker.Findings()), nil
}

// readCRDs returns the CustomResourceDefinitions of a plan's resources.
func (c *Checker) readCRDs(ctx context.Context, p *plan.Plan) (all []*apiextensionsv1.CustomResourceDefinition, err error) {
	for _, resource := range p.Resources() {
		if !resource.Custom {
			continue
		}
		object, err := discovery.ReadDefinition(ctx, c.Client, resource.GroupResource())
		if err != nil {
			return nil, err
		}
		if object == nil { // It is gone, and its objects can be anything.
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", resource.GroupResource(), err)
		}
		all = append(all, crd)
	}
	return all, nil
}

// warningOf returns the warning with the first findings, without those that are right in a cluster which is newer than this program.
func warningOf(findings []scriptcheck.Finding) []plan.Warning {
	findings = slices.DeleteFunc(findings, func(f scriptcheck.Finding) bool { return f.IsDoubtful })
	if len(findings) == 0 {
		return nil
	}
	var texts []string
	for _, f := range findings[:min(len(findings), plan.MaxNamed)] {
		texts = append(texts, f.Location.String()+": "+f.Message)
	}
	message := mismatch + strings.Join(texts, "; ")
	if more := len(findings) - plan.MaxNamed; more > 0 {
		message += fmt.Sprintf("; and %d more", more)
	}
	return []plan.Warning{{Reason: reason, Message: message}}
}
