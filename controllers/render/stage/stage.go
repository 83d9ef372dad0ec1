// Package stage puts a definition and objects on a cluster in memory as an API server would have them, and makes passes until
// nothing changes any more. Commands that run definitions offline share it.
package stage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/render"
	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/controllers/render/schema"
	"github.com/libretto-k8s/libretto/engines"
)

// Input is what a stage is made of.
type Input struct {
	// Definition is the definition with defaults.
	Definition *unstructured.Unstructured
	// Objects are in the cluster. They are not changed.
	Objects []*unstructured.Unstructured
	// Resources are served in addition to the built-in ones.
	Resources []memcluster.Resource
	// Namespace is that of objects without one.
	Namespace string
	// HostNamespace is the namespace of the host, for ControllerRevisions of cluster-scoped parents.
	HostNamespace string
	// Clock begins at the time of the first pass.
	Clock *clocktesting.FakeClock
	// Warn is told what may make the cluster differ from a real one.
	Warn func(string)
}

// Stage is a definition and its cluster before the first pass.
type Stage struct {
	Input
	Plan *definition.Plan
	// Schemas tell how lists are merged.
	Schemas *openapi.Source
}

// New plans the definition and completes the objects. It returns a *render.RefusedError for a definition that is not accepted.
func New(in Input) (*Stage, error) {
	s := &Stage{Input: in}
	if err := s.complete(); err != nil {
		return nil, err
	}
	s.Schemas = openapi.New(openapi.Config{
		API: schema.Documents(s.Resources), Interval: time.Hour, Timeout: time.Minute, Clock: s.Clock, Log: logr.Discard(),
	})
	if err := s.Replan(); err != nil {
		return nil, err
	}
	s.serveInVersions()
	return s, nil
}

// Replan plans the definition. It returns a *render.RefusedError for one that is not accepted.
func (s *Stage) Replan() error {
	planner := definition.Planner{
		Find: memcluster.New(s.Clock, s.Resources...).Find, RevisionNamespace: s.HostNamespace, FieldManager: "libretto",
	}
	plan, refusal := planner.Plan(s.Definition)
	if refusal != nil {
		return &render.RefusedError{Reason: refusal.Reason, Err: refusal.Err}
	}
	s.Plan = plan
	return nil
}

// Run returns a session, which must be closed.
func (s *Stage) Run(ctx context.Context, programs map[string]engines.Program) (*render.Session, error) {
	return render.Run(ctx, render.Input{
		Definition: Stored(s.Definition, s.Clock.Now()), Objects: s.Objects, Resources: s.Resources, Programs: programs, Clock: s.Clock,
		RevisionNamespace: s.HostNamespace, Schemas: s.Schemas, Log: logr.Discard(),
	})
}

// Stored returns a definition with the metadata that an API server sets, unless it has any.
func Stored(given *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
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

// resourceOf returns the resource of an object, which is guessed if it is not known.
func (s *Stage) resourceOf(object *unstructured.Unstructured) memcluster.Resource {
	i := slices.IndexFunc(s.Resources, func(known memcluster.Resource) bool { return known.Kind == object.GroupVersionKind() })
	if i < 0 {
		s.Resources = append(s.Resources, guess(object))
		i = len(s.Resources) - 1
		s.Warn(fmt.Sprintf("%s of %s: nothing is validated and no defaults are known: give its CustomResourceDefinition with -f",
			object.GetKind(), object.GetAPIVersion()))
	}
	return s.Resources[i]
}
