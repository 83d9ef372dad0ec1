package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// edit makes the changes of a step, on the real API server and on the wanted objects.
func (t *trial) edit(s *controllertest.Step) {
	t.T.Helper()
	offlineOnly := *s
	offlineOnly.StepName, offlineOnly.Want, offlineOnly.Invalid = "", nil, ""
	offlineOnly.Create, offlineOnly.Apply, offlineOnly.Patch, offlineOnly.Delete = nil, nil, nil, nil
	if !reflect.DeepEqual(offlineOnly, controllertest.Step{}) {
		t.T.Fatal("a step has what can't be done to a real cluster")
	}
	t.invalid = s.Invalid
	defer func() { t.invalid = "" }()
	for _, o := range s.Create {
		t.create(&unstructured.Unstructured{Object: o})
	}
	for _, o := range s.Apply {
		t.apply(&unstructured.Unstructured{Object: o})
	}
	for _, p := range s.Patch {
		t.merge(p.Object, p.Merge)
	}
	for _, d := range s.Delete {
		name, resource := t.nameOf(d.Object)
		t.NoError(t.client(resource, name).Delete(t.T.Context(), local(name), metav1.DeleteOptions{}))
		t.deleteWanted(name)
	}
}

// nameOf returns a name as KIND/NAMESPACE/NAME, or KIND/NAME if it is in no namespace.
func (t *trial) nameOf(given controllertest.ObjectName) (string, memcluster.Resource) {
	t.T.Helper()
	parts := strings.Split(string(given), "/")
	resource := t.kindOf("", parts[0])
	if len(parts) == 2 && resource.Namespaced {
		parts = []string{parts[0], t.Namespace, parts[1]}
	}
	return strings.Join(parts, "/"), resource
}

func local(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// client returns the client for an object.
func (t *trial) client(resource memcluster.Resource, name string) dynamic.ResourceInterface {
	all := t.Cluster.Dynamic().Resource(resource.GroupVersionResource)
	if parts := strings.Split(name, "/"); len(parts) == 3 {
		return all.Namespace(parts[1])
	}
	return all
}

// create creates an object, and its namespace.
func (t *trial) create(given *unstructured.Unstructured) {
	t.T.Helper()
	o := given.DeepCopy()
	resource := t.kindOf(o.GetAPIVersion(), o.GetKind())
	if resource.Namespaced && o.GetNamespace() == "" {
		o.SetNamespace(t.Namespace)
	}
	name := nameOfObject(o)
	if t.want[name] != nil {
		return // A definition's own ConfigMap goes before that of a given file.
	}
	if namespace := o.GetNamespace(); namespace != "" {
		t.NoError(t.Cluster.Apply(t.T.Context(), "", t.Parse("{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")))
	}
	wanted := &object{kind: resource, fields: simplified(o)}
	if o.GetKind() == "Namespace" {
		t.ApplyObject(o)
	} else {
		created, err := t.client(resource, name).Create(t.T.Context(), o, metav1.CreateOptions{})
		if t.isRefused(err) {
			return
		}
		if wanted.isExact() || o.GetKind() == "Secret" {
			wanted.fields = simplified(created) // with the defaults of its schema, which golden files don't have
		}
	}
	t.want[name] = wanted
}

func (t *trial) apply(given *unstructured.Unstructured) {
	t.T.Helper()
	resource := t.kindOf(given.GetAPIVersion(), given.GetKind())
	given = given.DeepCopy()
	if resource.Namespaced && given.GetNamespace() == "" {
		given.SetNamespace(t.Namespace)
	}
	name := nameOfObject(given)
	if t.want[name] == nil {
		given.SetGroupVersionKind(resource.Kind)
		t.create(given)
		return
	}
	patch := given.DeepCopy()
	delete(patch.Object, "apiVersion")
	t.merge(controllertest.ObjectName(name), patch.Object)
}

func (t *trial) merge(given controllertest.ObjectName, patch map[string]any) {
	t.T.Helper()
	name, resource := t.nameOf(given)
	text, err := json.Marshal(patch)
	t.NoError(err)
	_, err = t.client(resource, name).Patch(t.T.Context(), local(name), types.MergePatchType, text, metav1.PatchOptions{})
	if t.isRefused(err) {
		return
	}
	if o := t.want[name]; o != nil {
		o.fields = simplified(&unstructured.Unstructured{Object: merged(o.fields, patch)})
		if o.deleted && len(o.finalizers()) == 0 {
			delete(t.want, name)
		}
	}
}

// isRefused reports whether an edit is refused, as the step wants it to be.
func (t *trial) isRefused(err error) bool {
	t.T.Helper()
	if t.invalid == "" {
		t.NoError(err)
		return false
	}
	if !apierrors.IsInvalid(err) || !regexp.MustCompile(t.invalid).MatchString(err.Error()) {
		t.T.Errorf("the edit has the error %v, want it to be refused with one that matches %s", err, t.invalid)
	}
	return true
}

// live returns the objects of the real cluster of all kinds that matter, by name.
func (t *trial) live() (map[string]*unstructured.Unstructured, error) {
	all := map[string]*unstructured.Unstructured{}
	revisions := t.liveRevisions()
	for _, resource := range t.kinds() {
		list, err := t.Cluster.Dynamic().Resource(resource.GroupVersionResource).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			o := &list.Items[i]
			name := nameOfObject(o)
			if same, known := revisions[name]; known {
				name = same
			}
			if t.want[name] != nil || t.verbs[name] != nil || t.isOwned(o) {
				all[name] = o
			}
		}
	}
	return all, nil
}

// liveRevisions returns the names that the ControllerRevisions of the real cluster have in libretto test, by their order.
func (t *trial) liveRevisions() map[string]string {
	names := map[string]string{}
	if len(t.revisions) == 0 {
		return names
	}
	created := t.Requests(t.since).Verbs("create").Of(env.Revisions.Group, env.Revisions.Resource)
	for i, r := range created[:min(len(created), len(t.revisions))] {
		names[nameIn(revisionKind, r.Namespace, r.Name)] = t.revisions[i]
	}
	return names
}

// kinds returns the kinds of all objects.
func (t *trial) kinds() []memcluster.Resource {
	byKind := map[string]memcluster.Resource{}
	for _, o := range t.want {
		byKind[o.kind.Kind.String()] = o.kind
	}
	for name := range t.verbs {
		kind, _, _ := strings.Cut(name, "/")
		resource := t.kindOf("", kind)
		byKind[resource.Kind.String()] = resource
	}
	var all []memcluster.Resource
	for _, key := range slices.Sorted(maps.Keys(byKind)) {
		all = append(all, byKind[key])
	}
	return all
}

// isOwned reports whether an object has an owner among the wanted objects.
func (t *trial) isOwned(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return t.want[nameIn(r.Kind, o.GetNamespace(), r.Name)] != nil || t.want[nameIn(r.Kind, "", r.Name)] != nil
	})
}

func nameIn(kind, namespace, name string) string {
	if namespace == "" {
		return kind + "/" + name
	}
	return kind + "/" + namespace + "/" + name
}

func nameOfObject(o *unstructured.Unstructured) string {
	return nameIn(o.GetKind(), o.GetNamespace(), o.GetName())
}

// compareObjects compares the objects of the real cluster with those of libretto test.
func (t *trial) compareObjects() error {
	live, err := t.live()
	if err != nil {
		return err
	}
	want, got := slices.Sorted(maps.Keys(t.want)), slices.Sorted(maps.Keys(live))
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("objects (-libretto test +cluster):\n%s", diff)
	}
	uids := map[string]string{}
	for name, o := range live {
		uids[string(o.GetUID())] = strings.ToLower(strings.ReplaceAll(name, "/", "."))
	}
	for of, name := range t.liveRevisions() {
		uids[local(of)] = local(name)
	}
	for _, name := range want {
		o := t.want[name]
		had, has := any(simplified(&unstructured.Unstructured{Object: o.fields})), any(withUIDs(simplified(live[name]), uids))
		if o.kind.Kind.Kind == "Secret" {
			had, has = withoutValues(had), withoutValues(has)
		}
		if !o.isExact() {
			has = common(has, had)
		}
		if diff := cmp.Diff(had, has); diff != "" {
			return fmt.Errorf("%s (-libretto test +cluster):\n%s", name, diff)
		}
		if status, isParent := t.statuses[name]; isParent && o.isExact() {
			if diff := cmp.Diff(withoutTimes(status), withoutTimes(withUIDs(live[name].Object, uids)["status"])); diff != "" {
				return fmt.Errorf("the status of %s (-libretto test +cluster):\n%s", name, diff)
			}
		}
	}
	return nil
}

// compareVerbs compares the verbs of the host's writes of each object, but for those of a status: how many of these there are depends on
// how fast other controllers are.
func (t *trial) compareVerbs() {
	t.T.Helper()
	got := map[string][]string{}
	kinds := map[string]string{}
	for _, resource := range t.resources {
		kinds[resource.GroupVersionResource.GroupResource().String()] = resource.Kind.Kind
	}
	revisions := t.liveRevisions()
	for _, r := range t.Requests(t.since).Writes() {
		if r.Code >= 300 || r.Subresource != "" || !t.isCompared(r) {
			continue
		}
		kind := kinds[strings.Trim(r.Resource+"."+r.Group, ".")]
		name := nameIn(kind, r.Namespace, r.Name)
		if kind == "Namespace" {
			name = nameIn(kind, "", r.Name)
		}
		if same, known := revisions[name]; known {
			name = same
		}
		got[name] = append(got[name], r.Verb)
	}
	if diff := cmp.Diff(t.verbs, got); diff != "" {
		t.T.Errorf("writes by object (-libretto test +cluster):\n%s", diff)
	}
}

// isCompared reports whether a request is about a parent or a child: definitions, and the scripts that a host keeps, are its own.
func (t *trial) isCompared(r cluster.Request) bool {
	switch r.Group {
	case "coordination.k8s.io", "events.k8s.io":
		return false
	case env.ScriptRevisions.Group:
		return r.Resource != env.ScriptRevisions.Resource
	case env.Revisions.Group:
		return r.Resource == env.Revisions.Resource
	}
	return true
}

// cleanUp deletes the definition and all objects.
func (t *trial) cleanUp() {
	t.T.Helper()
	definition := t.set.Definitions[0]
	definitions := t.Cluster.Dynamic().Resource(env.Definitions(definition.GetKind()))
	err := definitions.Delete(context.Background(), definition.GetName(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.T.Error(err)
	}
	cluster.Eventually(t.T, env.Timeout, func() error {
		_, err := definitions.Get(context.Background(), definition.GetName(), metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s is still there: %w", definition.GetName(), err)
		}
		return nil
	})
	cluster.Eventually(t.T, env.Timeout, func() error {
		live, err := t.live()
		for name, o := range live {
			client, now := t.client(t.kindOf(o.GetAPIVersion(), o.GetKind()), name), int64(0)
			if o.GetKind() == "Namespace" { // It stays, as deleting it takes seconds, and is selected by no label of this case.
				unlabel := []byte(`{"metadata":{"labels":null}}`)
				_, err = client.Patch(context.Background(), o.GetName(), types.MergePatchType, unlabel, metav1.PatchOptions{})
				continue
			}
			release := []byte(`{"metadata":{"finalizers":null}}`)
			_, patched := client.Patch(context.Background(), o.GetName(), types.MergePatchType, release, metav1.PatchOptions{})
			deleted := client.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now})
			err = fmt.Errorf("%s is still there: %w, %w", name, patched, deleted)
		}
		return err
	})
}
