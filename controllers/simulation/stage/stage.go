// Package stage puts a definition and objects on a cluster in memory as an API server would have them, and makes passes until
// nothing changes any more. Commands that run definitions offline share it.
package stage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Base is a definition that is planned, and the resources that its cluster serves. It is read-only, and can be that of many stages.
type Base struct {
	// Definition has the metadata that an API server sets.
	Definition *unstructured.Unstructured
	// Resources are those that are served, with the built-in ones.
	Resources []memcluster.Resource
	// Plan is nil, and Refusal says why, if the definition is not accepted.
	Plan    *plan.Plan
	Refusal *simulation.RefusedError
	Host
	// Schemas tell how lists are merged.
	Schemas *openapi.Source
}

// Host is what a definition is planned with that only its host knows.
type Host struct {
	// HostNamespace is the namespace of the host, for ControllerRevisions of cluster-scoped parents.
	HostNamespace string
	// Strategy is the apply strategy of definitions that set none. It defaults to dynamic apply.
	Strategy v1alpha1.ApplyStrategy
}

// NewBase plans a definition with defaults, on a cluster that serves resources in addition to the built-in ones.
func NewBase(definition *unstructured.Unstructured, resources []memcluster.Resource, host Host, now time.Time) (*Base, error) {
	builtIn, err := builtInResources()
	if err != nil {
		return nil, err
	}
	return withResources(slices.Concat(builtIn, resources), host, now).Redefine(definition, now), nil
}

// withResources returns a base without a definition.
func withResources(resources []memcluster.Resource, host Host, now time.Time) *Base {
	schemas := openapi.New(openapi.Config{
		// The schemas never change, so that its clock may stand still.
		API: validation.Documents(resources), Interval: time.Hour, Timeout: time.Minute, Clock: clocktesting.NewFakeClock(now),
		Log: logr.Discard(),
	})
	return &Base{Resources: resources, Host: host, Schemas: schemas}
}

// builtInResources returns the built-in resources, which are read once.
var builtInResources = sync.OnceValues(validation.BuiltIn)

// Redefine returns the base of another definition.
func (b *Base) Redefine(given *unstructured.Unstructured, now time.Time) *Base {
	next := *b
	next.Definition, next.Refusal = stored(given, now), nil
	planner := plan.Planner{Find: next.find, RevisionNamespace: b.HostNamespace, Strategy: b.Strategy, FieldManager: simulation.FieldManager}
	plan, refusal := planner.Plan(next.Definition)
	if next.Plan = plan; refusal != nil {
		next.Refusal = &simulation.RefusedError{Reason: refusal.Reason, Err: refusal.Err}
	}
	return &next
}

// find returns a resource. Of several the last one counts, as in the cluster.
func (b *Base) find(apiVersion, plural string) (discovery.Resource, error) {
	for _, resource := range slices.Backward(b.Resources) {
		gvr := resource.GroupVersionResource
		if gvr.Resource == plural && gvr.GroupVersion().String() == apiVersion {
			return resource.Resource, nil
		}
	}
	known := func(yield func(discovery.Resource) bool) {
		for _, resource := range b.Resources {
			if !yield(resource.Resource) {
				return
			}
		}
	}
	return discovery.Resource{}, &discovery.NotFoundError{APIVersion: apiVersion, Resource: plural,
		Hint: discovery.Hint(apiVersion, plural, known)}
}

// Input is what a stage is made of.
type Input struct {
	*Base
	// Objects are in the cluster. They are not changed.
	Objects []*unstructured.Unstructured
	// Namespace is that of objects without one.
	Namespace string
	// Clock begins at the time of the first pass.
	Clock *clocktesting.FakeClock
	// Warn is called with what may make the cluster differ from a real one.
	Warn func(string)
}

// Stage is a definition and its cluster before the first pass.
type Stage struct{ Input }

// New completes the objects. It returns a *render.RefusedError for a definition that is not accepted.
func New(in Input) (*Stage, error) {
	s := &Stage{Input: in}
	if s.complete(); s.Refusal != nil {
		return nil, s.Refusal
	}
	s.serveInVersions()
	return s, nil
}

// Run returns a session, which must be closed.
func (s *Stage) Run(ctx context.Context, programs map[string]engines.Program) (*simulation.Session, error) {
	return simulation.Run(ctx, simulation.Input{
		Definition: s.Definition, Plan: s.Plan, Objects: s.Objects, Resources: s.Resources, Programs: programs, Clock: s.Clock,
		RevisionNamespace: s.HostNamespace, Schemas: s.Schemas, Log: logr.Discard(),
	})
}

// stored returns a definition with the metadata that an API server sets, unless it has any.
func stored(given *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	definition := given.DeepCopy()
	if definition.GetUID() == "" {
		definition.SetUID(types.UID(strings.ToLower(definition.GetKind()) + "." + definition.GetName()))
		definition.SetResourceVersion("1")
		definition.SetGeneration(1)
		definition.SetCreationTimestamp(metav1.NewTime(now))
	}
	return definition
}

// IsParent reports whether an object is a parent of the definition.
func (s *Stage) IsParent(object *unstructured.Unstructured) bool {
	for _, rule := range s.Plan.Config.Parents {
		if rule.Kind == object.GroupVersionKind() && rule.Selects(object) {
			return true
		}
	}
	return false
}

// serveInVersions gives objects the versions in which the definition names their kinds, as for a CustomResourceDefinition whose conversion
// strategy is None.
func (s *Stage) serveInVersions() {
	resources := s.Plan.Resources()
	for _, object := range s.Objects {
		given := object.GroupVersionKind()
		for _, resource := range resources {
			kind := resource.Kind
			if kind.GroupKind() == given.GroupKind() && kind.Version != given.Version {
				s.Warn(fmt.Sprintf("%s of %s is served as %s, and nothing is converted", given.Kind, given.GroupVersion(), kind.GroupVersion()))
				object.SetGroupVersionKind(kind)
			}
		}
	}
}
