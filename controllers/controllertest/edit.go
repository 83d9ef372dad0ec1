package controllertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/controllers/render"
	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/controllers/render/stage"
	"github.com/libretto-k8s/libretto/jsonvalue"
)

// edit makes the changes of a step.
func (s *stepRun) edit(ctx context.Context) error {
	if s.Restart || s.Define != nil {
		if err := s.redefine(ctx); err != nil {
			return err
		}
	}
	for _, refusal := range s.Refuse {
		s.refuseWrites(refusal)
	}
	if s.session == nil || s.refused != nil {
		return nil // Without a definition there is no cluster.
	}
	if len(s.Create)+len(s.Apply)+len(s.Patch)+len(s.Delete)+len(s.NotReady) == 0 {
		return nil
	}
	e := &editor{stepRun: s, ctx: ctx}
	err := s.session.Edit(ctx, func(client dynamic.Interface) error {
		e.client = client
		return e.all()
	})
	s.enqueued = []any{}
	for _, key := range s.session.Enqueued() {
		s.enqueued = append(s.enqueued, strings.Replace(key, " ", "/", 1))
	}
	return err
}

func (s *stepRun) refuseWrites(r Refusal) {
	if s.session != nil {
		s.session.Refuse(memcluster.Refusal{
			Verb: memcluster.Verb(r.Verb), Resource: r.Resource, Name: r.Name, Reason: r.Reason, Times: max(r.Times, 1),
		})
	}
}

// redefine restarts the host, with another definition if the step has one.
func (s *stepRun) redefine(ctx context.Context) error {
	if s.Define != nil {
		s.redefined = true
		patched := &unstructured.Unstructured{Object: mergePatch(s.base.Definition.Object, s.Define)}
		patched.SetGeneration(patched.GetGeneration() + 1)
		s.base = s.base.Redefine(patched, s.clock.Now())
	}
	s.refused = s.base.Refusal
	switch {
	case s.session == nil:
		return s.prepare(ctx)
	case s.refused != nil:
		s.session.Close()
		return nil
	}
	s.stage.Base = s.base
	var err error
	if s.programs, err = s.newPrograms(ctx); err != nil {
		return err
	}
	return s.session.Start(ctx, s.base.Plan, s.programs)
}

// editor changes objects as another client does.
type editor struct {
	*stepRun
	ctx    context.Context
	client dynamic.Interface
}

func (e *editor) all() error {
	for i, object := range e.Create {
		if err := e.create(&unstructured.Unstructured{Object: object}); err != nil {
			return e.unusable(fmt.Sprintf(".create[%d]", i), "create: %w", err)
		}
	}
	for i, object := range e.Apply {
		if err := e.apply(&unstructured.Unstructured{Object: object}); err != nil {
			return e.unusable(fmt.Sprintf(".apply[%d]", i), "apply: %w", err)
		}
	}
	for i, patch := range e.Patch {
		if err := e.patch(patch); err != nil {
			return e.unusable(fmt.Sprintf(".patch[%d]", i), "patch %s: %w", patch.Object, err)
		}
	}
	for i, deletion := range e.Delete {
		if err := e.delete(deletion); err != nil {
			return e.unusable(fmt.Sprintf(".delete[%d]", i), "delete %s: %w", deletion.Object, err)
		}
	}
	for i, name := range e.NotReady {
		if err := e.loseReadiness(name); err != nil {
			return e.unusable(fmt.Sprintf(".notReady[%d]", i), "notReady %s: %w", name, err)
		}
	}
	return nil
}

// complete returns a copy of an object with the apiVersion and namespace that it lacks.
func (e *editor) complete(given *unstructured.Unstructured) (*unstructured.Unstructured, memcluster.Resource, error) {
	object := given.DeepCopy()
	kind, err := e.kindOf(object.GetAPIVersion(), object.GetKind())
	if err != nil {
		return nil, memcluster.Resource{}, err
	}
	object.SetGroupVersionKind(kind)
	resource, err := e.session.Cluster().ResourceOf(kind)
	if err == nil && resource.Namespaced && object.GetNamespace() == "" {
		object.SetNamespace(e.namespace())
	}
	return object, resource, err
}

// kindOf returns the kind of a name. Without an apiVersion it is one that the definition names, or else the only one of that name.
func (r *runner) kindOf(apiVersion, kind string) (schema.GroupVersionKind, error) {
	if apiVersion != "" {
		return schema.FromAPIVersionAndKind(apiVersion, kind), nil
	}
	for _, resource := range r.stage.Plan.Resources() {
		if resource.Kind.Kind == kind {
			return resource.Kind, nil
		}
	}
	var found []schema.GroupVersionKind
	for _, resource := range r.stage.Resources {
		if resource.Kind.Kind == kind && !slices.Contains(found, resource.Kind) {
			found = append(found, resource.Kind)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return schema.GroupVersionKind{}, fmt.Errorf(
			"no resource has the kind %s: give its CustomResourceDefinition beside the definition, or apiVersion", kind)
	default:
		return schema.GroupVersionKind{}, fmt.Errorf("%d resources have the kind %s: add apiVersion", len(found), kind)
	}
}

// named returns an empty object with a name.
func (e *editor) named(name ObjectName) (*unstructured.Unstructured, memcluster.Resource, error) {
	kind, namespace, local := name.split()
	object := &unstructured.Unstructured{Object: map[string]any{"kind": kind}}
	object.SetName(local)
	if namespace != "" {
		object.SetNamespace(namespace)
	}
	return e.complete(object)
}

func (e *editor) endpoint(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	return render.Endpoint(e.session.Cluster(), e.client, object)
}

func (e *editor) create(given *unstructured.Unstructured) error {
	object, resource, err := e.complete(given)
	if err != nil {
		return err
	}
	return e.createObject(object, resource)
}

// createObject creates an object and its Namespace, and then writes its status.
func (e *editor) createObject(object *unstructured.Unstructured, resource memcluster.Resource) error {
	if namespace := object.GetNamespace(); namespace != "" {
		ns := stage.NewNamespace(namespace)
		at, err := e.endpoint(ns)
		if err != nil {
			return err
		}
		if _, err := at.Create(e.ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	at, err := e.endpoint(object)
	if err != nil {
		return err
	}
	status := object.Object["status"]
	created, err := at.Create(e.ctx, object, metav1.CreateOptions{})
	if err != nil || status == nil || !resource.HasStatus {
		return err
	}
	created.Object["status"] = status
	_, err = at.UpdateStatus(e.ctx, created, metav1.UpdateOptions{})
	return err
}

// apply merges a part into an object, or creates the object.
func (e *editor) apply(given *unstructured.Unstructured) error {
	object, resource, err := e.complete(given)
	if err != nil {
		return err
	}
	if object.GetName() == "" {
		return errors.New("metadata.name is missing")
	}
	at, err := e.endpoint(object)
	if err != nil {
		return err
	}
	_, err = at.Get(e.ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return e.createObject(object, resource)
	}
	if err != nil {
		return err
	}
	body := object.Object
	if status, has := body["status"]; has && resource.HasStatus {
		body, _ = jsonvalue.Without(body, "status")
		if err := e.merge(at, object.GetName(), map[string]any{"status": status}, "status"); err != nil {
			return err
		}
	}
	return e.merge(at, object.GetName(), body)
}

func (e *editor) merge(at dynamic.ResourceInterface, name string, body any, subresources ...string) error {
	text, err := json.Marshal(body)
	if err == nil {
		_, err = at.Patch(e.ctx, name, types.MergePatchType, text, metav1.PatchOptions{}, subresources...)
	}
	return err
}

func (e *editor) patch(p Patch) error {
	object, _, err := e.named(p.Object)
	if err != nil {
		return err
	}
	at, err := e.endpoint(object)
	if err != nil {
		return err
	}
	var subresources []string
	if p.Subresource != "" {
		subresources = []string{p.Subresource}
	}
	if p.Merge != nil {
		return e.merge(at, object.GetName(), p.Merge, subresources...)
	}
	before, err := at.Get(e.ctx, object.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	after, err := patched(before, p.JSON)
	if err != nil {
		return err
	}
	_, err = at.Update(e.ctx, after, metav1.UpdateOptions{}, subresources...)
	return err
}

// patched returns an object with a JSON patch (RFC 6902) applied.
func patched(object *unstructured.Unstructured, operations []map[string]any) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(operations)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, err
	}
	next := &unstructured.Unstructured{}
	return next, kubejson.Unmarshal(after, &next.Object)
}

func (e *editor) delete(d Deletion) error {
	object, _, err := e.named(d.Object)
	if err != nil {
		return err
	}
	at, err := e.endpoint(object)
	if err != nil {
		return err
	}
	options := metav1.DeleteOptions{}
	if d.PropagationPolicy != "" {
		options.PropagationPolicy = &d.PropagationPolicy
	}
	return at.Delete(e.ctx, object.GetName(), options)
}

// loseReadiness makes the conditions Ready and Available of an object False, if it is there and has them.
func (e *editor) loseReadiness(name ObjectName) error {
	object, _, err := e.named(name)
	if err != nil {
		return err
	}
	at, err := e.endpoint(object)
	if err != nil {
		return err
	}
	object, err = at.Get(e.ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // It does not become ready once it is there.
	}
	if err != nil {
		return err
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	changed := false
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["type"] != "Ready" && condition["type"] != "Available" || condition["status"] == "False" {
			continue
		}
		condition["status"], condition["lastTransitionTime"] = "False", e.clock.Now().UTC().Format(time.RFC3339)
		changed = true
	}
	if !changed {
		return nil
	}
	if err := unstructured.SetNestedSlice(object.Object, conditions, "status", "conditions"); err != nil {
		return err
	}
	_, err = at.UpdateStatus(e.ctx, object, metav1.UpdateOptions{})
	return err
}
