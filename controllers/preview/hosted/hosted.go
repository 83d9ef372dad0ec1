// Package hosted previews edits of scripts in a host, before they take over: on a sample of the parents, from the host's caches, without a
// request, and in the background.
package hosted

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/preview"
	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/controllers/render/stage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/scripts"
)

// maxTime is how long the calls of one preview may take together. Parents whose turn has not come then are unknown.
const maxTime = 30 * time.Second

// maxBytes is the memory that the answers of one preview may take, about, and maxPreviews how many previews there are at once: authors of
// scripts are not trusted.
const (
	maxBytes    = 64 << 20
	maxPreviews = 2
)

// Previewer previews edits of scripts. It is a definition.Previewer.
type Previewer struct {
	namespace string
	schemas   *openapi.Source
	slots     chan struct{}
}

// New returns a Previewer of a host in a namespace. schemas are those of the API server, which the host has read; they may be nil.
func New(namespace string, schemas *openapi.Source) *Previewer {
	return &Previewer{namespace: namespace, schemas: schemas, slots: make(chan struct{}, maxPreviews)}
}

// Preview makes one pass over each parent of the sample with the new scripts. If these would do harm, a second one with those that serve
// tells which of it is theirs.
func (p *Previewer) Preview(ctx context.Context, subject definition.PreviewSubject) scripts.Preview {
	if len(subject.Sample.Parents) == 0 {
		return scripts.Preview{}
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return scripts.Preview{}
	}
	outcomes, err := p.run(ctx, subject, subject.Plan, subject.Scripts, subject.Revision, everyParent)
	if err != nil {
		return scripts.Preview{Unknown: len(subject.Sample.Parents), Summary: fmt.Sprintf("it was not previewed: %v", err)}
	}
	f := newFindings(subject.Sample, outcomes)
	if f.isHarm() && subject.Serving != nil {
		before, err := p.run(ctx, subject, subject.Serving, subject.ServingScripts, subject.ServingRevision, func(parent *unstructured.Unstructured) bool {
			return isParent(subject.Serving, parent)
		})
		if err == nil { // Otherwise nothing excuses the new scripts.
			f.excuse(before)
		}
		f.excuseNew(subject.Serving)
	}
	return f.preview(subject.Sample)
}

func everyParent(*unstructured.Unstructured) bool { return true }

// isParent reports whether an object is a parent of a plan.
func isParent(plan *definition.Plan, object *unstructured.Unstructured) bool {
	for _, rule := range plan.Config.Parents {
		if rule.Kind == object.GroupVersionKind() && rule.Selects(object) {
			return true
		}
	}
	return false
}

// run makes one pass over the parents of the sample that include selects.
func (p *Previewer) run(
	ctx context.Context, subject definition.PreviewSubject, plan *definition.Plan, texts map[string]engines.Program, revision scripts.RevisionID,
	include func(*unstructured.Unstructured) bool,
) ([]*preview.Outcome, error) {
	objects, all := subject.Sample.Copy()
	var parents []*unstructured.Unstructured
	for _, object := range all {
		if include(object) {
			parents = append(parents, object)
		}
	}
	if len(parents) == 0 {
		return nil, nil
	}
	calls := &calls{until: time.Now().Add(maxTime)}
	return preview.Run(ctx, preview.Input{
		Base: &stage.Base{
			Plan: plan, HostNamespace: p.namespace, Schemas: p.schemas,
			Resources: served(subject.Plan.Resources(), subject.Serving, subject.Sample.Resources),
		},
		Objects: objects, Parents: parents, Programs: calls.programs(plan, texts), Passes: 1, Now: time.Now(),
		Scripts: calls.scripts(plan, revision, subject.ProgramsOf),
		Existing: func(resource memcluster.Resource, name types.NamespacedName) (*unstructured.Unstructured, error) {
			object, cached := subject.Sample.Existing(resource.Resource, name)
			if !cached {
				return nil, fmt.Errorf("%w: %s are in no cache", errUnknown, resource.GroupResource())
			}
			return object, nil
		},
		Related: func(_ context.Context, selection parent.Selection) ([]*unstructured.Unstructured, error) {
			related, cached, err := subject.Sample.Related(selection)
			if !cached && err == nil {
				err = fmt.Errorf("%w: related %s are in no cache", errUnknown, selection.Resource.GroupResource())
			}
			return related, err
		},
	})
}

// served returns the resources of the cluster in memory that are not built in. Nothing is known of their schemas: what counts is what is
// deleted, recreated and fails.
func served(resources []discovery.Resource, serving *definition.Plan, related []discovery.Resource) []memcluster.Resource {
	known := map[string]bool{}
	for _, resource := range memcluster.BuiltIn() {
		known[resource.GroupVersionResource.String()] = true
	}
	var all []memcluster.Resource
	add := func(resources []discovery.Resource) {
		for _, resource := range resources {
			if name := resource.GroupVersionResource.String(); !known[name] {
				known[name] = true
				all = append(all, memcluster.Resource{Resource: resource, Generation: true})
			}
		}
	}
	add(resources)
	if serving != nil {
		add(serving.Resources())
	}
	add(related)
	return all
}

func nameOf(key apply.Key) string {
	if key.Namespace == "" {
		return key.Kind.Kind + " " + key.Name
	}
	return key.Kind.Kind + " " + key.Namespace + "/" + key.Name
}
