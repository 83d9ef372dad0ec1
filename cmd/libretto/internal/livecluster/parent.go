package livecluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
)

// Found is a definition, and how it can be run.
type Found struct {
	// Definition is as it is stored, with the spec of the files if they have one.
	Definition *unstructured.Unstructured
	// Subject is nil, and Err says why, if the definition can't be run.
	Subject *Subject
	Err     error
	// Ran is which scripts Subject has. It is only known for a parent.
	Ran Ran
}

// Name returns the definition's kind and name.
func (f Found) Name() string { return apply.KeyOf(f.Definition).String() }

// ForParent returns the definitions of the cluster that look after a parent, as they are. The set must be empty: what it takes to run them
// is added.
func (c *Config) ForParent(ctx context.Context, resource apischema.GroupResource, object *unstructured.Unstructured) ([]Found, error) {
	all, err := c.Reader.Definitions(ctx)
	if err != nil {
		return nil, err
	}
	in, err := c.surroundings()
	if err != nil {
		return nil, err
	}
	var found []Found
	for _, d := range all {
		if !namesParent(d, resource) {
			continue
		}
		f := Found{Definition: d}
		if d, f.Err = asServedTo(d, object); f.Err != nil {
			found = append(found, f)
			continue
		}
		c.Set.AddStored(d.DeepCopy())
		i := slices.IndexFunc(c.Set.Definitions, func(o *document.Object) bool {
			return o.GetKind() == d.GetKind() && o.GetName() == d.GetName()
		})
		f.Subject, f.Err = c.subject(ctx, c.Set.Definitions[i], d, in)
		if f.Subject != nil && f.Subject.ruleOf(object) < 0 {
			continue
		}
		if f.Subject != nil {
			f.Subject, f.Ran, f.Err = c.ofParent(ctx, d, f.Subject, f.Err, object, in)
		}
		if f.Err != nil {
			f.Subject = nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		found = append(found, f)
	}
	return found, nil
}

// asServedTo returns a definition with the spec by which a parent is synced.
func asServedTo(d, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	set, status, err := rolloutOf(d)
	if err != nil {
		return nil, err
	}
	state := status.ScriptRollout
	if state != nil && state.UpdatedEdit != nil && rollout.AssignmentOf(set, state).HasUpdated(rollout.MemberOf(object)) {
		return d, nil
	}
	return plan.AsServed(d)
}

// namesParent reports whether a definition names a resource as that of parents.
func namesParent(d *unstructured.Unstructured, resource apischema.GroupResource) bool {
	rules, _, _ := unstructured.NestedSlice(d.Object, "spec", "resources")
	if rule, found, _ := unstructured.NestedMap(d.Object, "spec", "parentResource"); found {
		rules = []any{rule}
	}
	return slices.ContainsFunc(rules, func(rule any) bool {
		fields, _ := rule.(map[string]any)
		apiVersion, _ := fields["apiVersion"].(string)
		gv, err := apischema.ParseGroupVersion(apiVersion)
		return err == nil && gv.Group == resource.Group && fields["resource"] == resource.Resource
	})
}

// ruleOf returns the index of the rule by which an object is a parent of the definition, or -1.
func (s *Subject) ruleOf(object *unstructured.Unstructured) int { return ruleOf(s.Plan, object) }

func ruleOf(plan *plan.Plan, object *unstructured.Unstructured) int {
	for i, rule := range plan.Config.Parents {
		isKind := rule.Kind.GroupKind() == object.GroupVersionKind().GroupKind()
		if isKind && (rule.Selects(object) || hasFinalizer(object, plan.Config.Finalizing.Name)) {
			return i
		}
	}
	return -1
}

// Reading is what a pass over one parent reads, and its result.
type Reading struct {
	Parent *unstructured.Unstructured
	// Objects are the parent and all others, as they are stored.
	Objects []*unstructured.Unstructured
	Result  *preview.Result
}

// Read previews one parent with so many passes, or until it settles with 0, and returns what was read for it.
func (s *Subject) Read(ctx context.Context, object *unstructured.Unstructured, passes int) (*Reading, error) {
	rule := s.ruleOf(object)
	if rule < 0 {
		return nil, fmt.Errorf("%s: %s %s is none of its parents", s.Name(), object.GetKind(), object.GetName())
	}
	plan := *s.Plan
	plan.Config.Parents = plan.Config.Parents[rule : rule+1]
	var read *Reading
	err := s.reader.Batches(ctx, Query{Plan: &plan, Namespace: object.GetNamespace(), Name: object.GetName()}, func(b Batch) error {
		var err error
		read, err = s.read(ctx, b, passes)
		return err
	})
	if err == nil && read == nil {
		err = fmt.Errorf("%s %s: it was deleted while it was read", object.GetKind(), object.GetName())
	}
	return read, err
}

func (s *Subject) read(ctx context.Context, b Batch, passes int) (*Reading, error) {
	read, known := &Reading{Parent: b.Parents[0].DeepCopy()}, map[string]bool{}
	add := func(objects ...*unstructured.Unstructured) {
		for _, object := range objects {
			key := fmt.Sprint(object.GroupVersionKind(), object.GetNamespace(), "/", object.GetName())
			if !known[key] {
				known[key], read.Objects = true, append(read.Objects, object.DeepCopy())
			}
		}
	}
	add(b.Objects...)
	results, err := preview.Run(ctx, preview.Input{
		Base: s.Base, Objects: b.Objects, Parents: b.Parents, Programs: s.Programs, Now: time.Now(), Detailed: true, Passes: passes,
		Existing: func(resource memcluster.Resource, name types.NamespacedName) (*unstructured.Unstructured, error) {
			found, err := b.Existing(resource, name)
			if found != nil && err == nil {
				add(found)
			}
			return found, err
		},
		Related: func(ctx context.Context, selection parent.Selection) ([]*unstructured.Unstructured, error) {
			found, err := s.related.Select(ctx, selection)
			add(found...)
			return found, err
		},
	})
	if err != nil {
		return nil, err
	}
	read.Result = results[0]
	return read, nil
}
