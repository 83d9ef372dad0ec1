package controllertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// edit makes the changes of a step.
func (s *stepRun) edit(ctx context.Context) error {
	if s.Restart || s.Define != nil {
		if err := s.redefine(ctx); err != nil {
			return err
		}
	}
	for i, refusal := range s.Refuse {
		if err := s.refuseWrites(fmt.Sprintf(".refuse[%d]", i), refusal); err != nil {
			return err
		}
	}
	if s.session == nil || s.refused != nil {
		return nil // Without a definition there is no cluster.
	}
	if s.RestartAfterWrites > 0 {
		s.session.Interrupt(s.RestartAfterWrites)
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

// delay makes watches lag behind until the end of the step.
func (s *stepRun) delay() error {
	if s.session == nil {
		return nil // Without a definition nothing is watched.
	}
	for i, plural := range s.Delay {
		resources := s.resourcesOf(plural)
		if len(resources) == 0 {
			return s.unusable(fmt.Sprintf(".delay[%d]", i), "delay: there is no resource %s: write its plural name", plural)
		}
		for _, resource := range resources {
			s.session.PauseWatch(resource.GroupVersionResource)
		}
	}
	return nil
}

// resourcesOf returns the resources with a plural name, of all groups and versions.
func (r *runner) resourcesOf(plural string) []memcluster.Resource {
	var all []memcluster.Resource
	for _, resource := range r.stage.Resources {
		if resource.GroupVersionResource.Resource == plural {
			all = append(all, resource)
		}
	}
	return all
}

// refuseWrites makes the API server refuse writes.
func (s *stepRun) refuseWrites(field string, r Refusal) error {
	if s.session == nil {
		return nil
	}
	if len(s.resourcesOf(r.Resource)) == 0 {
		return s.unusable(field, "refuse: there is no resource %s: write its plural name", r.Resource)
	}
	met := s.session.Refuse(memcluster.Refusal{
		Verb: memcluster.Verb(r.Verb), Resource: r.Resource, Name: r.Name, Reason: r.Reason, Times: max(r.Times, 1), Stored: r.Stored,
	})
	s.refusals = append(s.refusals, pendingRefusal{at: s.place(field), refusal: r, met: met})
	return nil
}

// pendingRefusal is a refusal that a step has asked for.
type pendingRefusal struct {
	at      engines.Location
	refusal Refusal
	met     func() bool
}

// checkRefusals notes the refusals that no write came to: a case about them has tried nothing.
func (r *runner) checkRefusals() {
	for _, pending := range r.refusals {
		if r.result.Outcome == Passed && !pending.met() {
			r.fail(Failure{Location: pending.at, Message: fmt.Sprintf(
				"nothing was refused: after this the host makes no write %s %s", pending.refusal.Verb,
				strings.TrimSuffix(pending.refusal.Resource+"/"+pending.refusal.Name, "/"))})
		}
	}
}

// redefine restarts the host, with another definition if the step has one.
func (s *stepRun) redefine(ctx context.Context) error {
	if s.Define != nil {
		s.redefined = true
		patched := &unstructured.Unstructured{Object: jsonvalue.MergePatch(s.base.Definition.Object, s.Define)}
		patched.Object = jsonvalue.WithValueAt(patched.Object, []string{"metadata", "generation"}, patched.GetGeneration()+1)
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
	if s.hooks.programs, err = s.newPrograms(ctx); err != nil {
		return err
	}
	return s.session.Start(ctx, s.base.Plan, s.hooks.programs)
}

// mayGrow reports whether operations may make more than maxPatched of a text: each copy may double it.
func mayGrow(size int, operations []map[string]any) bool {
	for _, operation := range operations {
		if operation["op"] == "copy" && size <= maxPatched {
			size *= 2
		}
	}
	return size > maxPatched
}

// editor changes objects as another client does.
type editor struct {
	*stepRun
	ctx    context.Context
	client dynamic.Interface
}

func (e *editor) all() error {
	for i, object := range e.Create {
		if err := e.judge(fmt.Sprintf(".create[%d]", i), "create", e.create(&unstructured.Unstructured{Object: object})); err != nil {
			return err
		}
	}
	for i, object := range e.Apply {
		if err := e.judge(fmt.Sprintf(".apply[%d]", i), "apply", e.apply(&unstructured.Unstructured{Object: object})); err != nil {
			return err
		}
	}
	for i, patch := range e.Patch {
		if err := e.judge(fmt.Sprintf(".patch[%d]", i), "patch "+string(patch.Object), e.patch(patch)); err != nil {
			return err
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

// judge returns the error of an edit that could not be made. If the step wants edits to be refused, one that is not is a failure.
func (e *editor) judge(field, edit string, err error) error {
	switch {
	case err != nil && (e.Invalid == "" || !apierrors.IsInvalid(err)):
		return e.unusable(field, "%s: %w", edit, err)
	case e.Invalid == "":
	case err == nil:
		e.fail(Failure{Location: e.place(field), Message: edit + ": the API server accepts it, want an error that matches " + e.Invalid})
	case !regexp.MustCompile(e.Invalid).MatchString(err.Error()):
		message := edit + ": it is refused with another error than " + e.Invalid + ": " + err.Error()
		e.fail(Failure{Location: e.place(".invalid"), Message: message})
	}
	return nil
}

// complete returns a copy of an object with the apiVersion and namespace that it lacks.
func (e *editor) complete(given *unstructured.Unstructured) (*unstructured.Unstructured, memcluster.Resource, error) {
	if err := e.ctx.Err(); err != nil {
		return nil, memcluster.Resource{}, err
	}
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

// named returns an empty object with a name, and its endpoint.
func (e *editor) named(name ObjectName) (*unstructured.Unstructured, dynamic.ResourceInterface, error) {
	kind, namespace, local := name.split()
	object := &unstructured.Unstructured{Object: map[string]any{"kind": kind}}
	object.SetName(local)
	if namespace != "" {
		object.SetNamespace(namespace)
	}
	object, _, err := e.complete(object)
	if err != nil {
		return nil, nil, err
	}
	at, err := e.endpoint(object)
	return object, at, err
}

func (e *editor) endpoint(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	return e.session.Cluster().Endpoint(e.client, object)
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
	object, at, err := e.named(p.Object)
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
	after, err := patched(e.ctx, before, p.JSON)
	if err != nil {
		return err
	}
	if err := e.spend(after.Object); err != nil {
		return err
	}
	_, err = at.Update(e.ctx, after, metav1.UpdateOptions{}, subresources...)
	return err
}

// maxPatched is how large a patched object may be, in bytes: as large as a request to an API server.
const maxPatched = 3 << 20

// patched returns an object with a JSON patch (RFC 6902) applied.
func patched(ctx context.Context, object *unstructured.Unstructured, operations []map[string]any) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(operations)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, err
	}
	state, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	parts := []jsonpatch.Patch{patch}
	if mayGrow(len(state)+len(text), operations) {
		parts = slices.Collect(slices.Chunk(patch, 1))
	}
	for _, part := range parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if state, err = part.Apply(state); err != nil {
			return nil, err
		}
		if len(state) > maxPatched {
			return nil, fmt.Errorf("the object has more than %d MiB then, which no API server takes", maxPatched>>20)
		}
	}
	next := &unstructured.Unstructured{}
	return next, kubejson.Unmarshal(state, &next.Object)
}

func (e *editor) delete(d Deletion) error {
	object, at, err := e.named(d.Object)
	if err != nil {
		return err
	}
	options := metav1.DeleteOptions{}
	if d.PropagationPolicy != "" {
		options.PropagationPolicy = &d.PropagationPolicy
	}
	return at.Delete(e.ctx, object.GetName(), options)
}

// loseReadiness makes an object not ready, if it is there and is ready.
func (e *editor) loseReadiness(name ObjectName) error {
	object, at, err := e.named(name)
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
	status, lost := readiness.Lost(object, e.clock.Now())
	if !lost {
		return nil
	}
	object.Object["status"] = status
	_, err = at.UpdateStatus(e.ctx, object, metav1.UpdateOptions{})
	return err
}
