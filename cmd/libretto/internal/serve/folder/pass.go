package folder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
)

// reasonNotApplied is that of the event on a definition of the cluster that is another one in the folder.
const reasonNotApplied = "FileNotApplied"

const (
	// maxFields is how many fields that others hold are named.
	maxFields     = 5
	maxEventBytes = 1 << 10
)

// pass is one time that a folder is applied.
type pass struct {
	*Folder
	client dynamic.Interface
	events record.EventRecorder
	set    *manifest.Set

	live     []*unstructured.Unstructured // The definitions of the cluster, as far as they may be listed.
	applied  map[*document.Object]error   // The ConfigMaps.
	failures []error
	logged   map[string]bool
}

// run applies each definition after the ConfigMaps that it names, or not if one of these is not applied: its scripts are meant for it.
func (p *pass) run(ctx context.Context) {
	if listener := p.config.Listener; listener != nil {
		p.failures = listener.Prepare(ctx, p.set)
		if ctx.Err() != nil {
			return
		}
		for _, err := range p.failures {
			if p.isNew(err.Error()) {
				p.config.Log.Error(err, "part of the folder is not applied", "folder", p.config.Path)
			}
		}
		defer func() { listener.Applied(p.failures) }()
	}
	prepared := len(p.failures)
	p.list(ctx)
	p.applied = map[*document.Object]error{}
	for _, d := range p.set.Definitions {
		err := p.refusal(d)
		for _, name := range SourcesOf(d) {
			if config := p.set.ConfigMap(name); err == nil && config != nil {
				err = p.applyConfigMap(ctx, name, config)
			}
		}
		if err == nil {
			resource, namespace := EndpointOf(d)
			err = p.apply(ctx, resource, namespace, p.set.WithoutDefaults(d))
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.fail(d, err)
		}
	}
	p.logOthers()
	p.logVanished()
	failed := len(p.failures) - prepared
	if all := len(p.set.Definitions); p.isNew(fmt.Sprintf("%p %d", p.set, failed)) { // For each state of the folder.
		p.config.Log.Info("the folder was applied", "folder", p.config.Path, "definitions", all-failed, "notApplied", failed)
	}
}

// EndpointOf returns where a definition is applied: a manifest may have a namespace for a kind that has none.
func EndpointOf(d *document.Object) (resource schema.GroupVersionResource, namespace string) {
	if v1alpha1.IsNamespaced(d.GroupVersionKind().Group) {
		namespace = d.GetNamespace()
	}
	return v1alpha1.DefinitionResource(d.GroupVersionKind()), namespace
}

// list lists the definitions of the cluster that this host hosts.
func (p *pass) list(ctx context.Context) {
	namespaces := p.config.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, kind := range v1alpha1.DefinitionTypes(p.config.Namespaces...) {
		for _, namespace := range namespaces {
			list, err := p.client.Resource(v1alpha1.DefinitionResource(kind)).Namespace(namespace).
				List(ctx, metav1.ListOptions{LabelSelector: p.config.Target.String()})
			if err != nil {
				continue // What is applied meets that too, and readyz tells of it.
			}
			for i := range list.Items {
				p.live = append(p.live, &list.Items[i])
			}
		}
	}
}

// refusal returns why a definition is not for this host, or nil.
func (p *pass) refusal(d *document.Object) error {
	switch {
	case !p.config.Target.Matches(labels.Set(d.GetLabels())):
		return fmt.Errorf("its labels do not match --target-label-selector=%s, so that this host would not host it", p.config.Target)
	case len(p.config.Namespaces) == 0:
		return nil
	case !v1alpha1.IsNamespaced(d.GroupVersionKind().Group):
		return fmt.Errorf("this host has --namespaces, and hosts only definitions of %s", v1alpha1.NamespacedGroupVersion)
	case !slices.Contains(p.config.Namespaces, d.GetNamespace()):
		return errors.New("its namespace is not among --namespaces, so that this host would not host it")
	}
	return nil
}

// SourcesOf returns the ConfigMaps that the scripts of a definition come from.
func SourcesOf(d *document.Object) (names []types.NamespacedName) {
	sources, _, _ := unstructured.NestedSlice(d.Object, "spec", "scriptSources")
	for _, source := range sources {
		fields, _ := source.(map[string]any)
		if name, found, _ := unstructured.NestedString(fields, "configMap", "name"); found {
			namespace, _, _ := unstructured.NestedString(fields, "configMap", "namespace")
			names = append(names, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return names
}

// applyConfigMap applies a ConfigMap, once in a pass.
func (p *pass) applyConfigMap(ctx context.Context, name types.NamespacedName, o *document.Object) error {
	err, done := p.applied[o]
	if !done {
		if err = p.apply(ctx, corev1.SchemeGroupVersion.WithResource("configmaps"), name.Namespace, o); err != nil {
			err = fmt.Errorf("ConfigMap %s: %w", name, err)
		}
		p.applied[o] = err
	}
	return err
}

// apply applies an object. It takes no field from others.
func (p *pass) apply(ctx context.Context, resource schema.GroupVersionResource, namespace string, o *document.Object) error {
	object := o.DeepCopy()
	object.SetNamespace(namespace)
	_, err := p.client.Resource(resource).Namespace(namespace).
		Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: FieldManager})
	conflicts := apply.FieldManagerConflicts(err)
	switch {
	case len(conflicts) > 0:
		return fmt.Errorf("others hold %s with other values: write these into the folder, or give the fields those of the folder: "+
			"kubectl apply --server-side --force-conflicts --field-manager=%s, with what the folder has", fieldsOf(conflicts), FieldManager)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: libretto rbac --host --applies -f %s prints the rights for it", err, p.config.Path)
	case apierrors.IsNotFound(err) && namespace == "":
		return fmt.Errorf("%w: kubectl apply -k manifests/crd", err)
	}
	return err
}

// fieldsOf returns the fields that others hold, for a message.
func fieldsOf(conflicts []apply.FieldManagerConflict) string {
	var names []string
	for i, c := range conflicts {
		if i == maxFields {
			names = append(names, fmt.Sprintf("%d more", len(conflicts)-i))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", c.Field, c.Manager))
	}
	return strings.Join(names, ", ")
}

// fail says that a definition is not applied, in the log and on the definition.
func (p *pass) fail(d *document.Object, err error) {
	p.failures = append(p.failures, fmt.Errorf("%s: %s: %w", d.Location, manifest.Name(d), err))
	if name := manifest.Name(d); p.isNew(name + ": " + err.Error()) {
		p.config.Log.Error(err, "a definition of the folder is not applied", "definition", name, "file", d.Location.String())
	}
	for _, live := range p.live {
		if isSame(live, d) {
			p.events.Event(live, corev1.EventTypeWarning, reasonNotApplied, engines.Truncate(fmt.Sprintf("%s: %v", d.Location, err), maxEventBytes))
		}
	}
}

// isSame reports whether a definition of the cluster is one of the folder.
func isSame(live *unstructured.Unstructured, d *document.Object) bool {
	return live.GroupVersionKind().GroupKind() == d.GroupVersionKind().GroupKind() && live.GetName() == d.GetName() &&
		(live.GetNamespace() == "" || live.GetNamespace() == d.GetNamespace())
}

// logOthers logs what the folder has besides definitions and their ConfigMaps.
func (p *pass) logOthers() {
	var names []string
	for _, o := range p.set.Objects {
		if _, applied := p.applied[o]; !applied {
			names = append(names, manifest.Name(o))
		}
	}
	for _, crd := range p.set.CRDs {
		names = append(names, manifest.Name(crd.Object))
	}
	if len(names) > 0 && p.isNew(strings.Join(names, ", ")) {
		p.config.Log.Info("not applied: a host applies definitions and the ConfigMaps of their scriptSources, and nothing else of its folder",
			"objects", strings.Join(names, ", "))
	}
}

// logVanished logs which definitions were applied from a folder before, and are not in this one.
func (p *pass) logVanished() {
	for _, live := range p.live {
		ours := slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == FieldManager && e.Operation == metav1.ManagedFieldsOperationApply
		})
		inFolder := slices.ContainsFunc(p.set.Definitions, func(d *document.Object) bool { return isSame(live, d) })
		if argument := v1alpha1.ArgumentOf(live); ours && !inFolder && p.isNew("vanished "+argument) {
			p.config.Log.Info("a definition was applied from a folder, and the folder does not have it any more: it is hosted until it is deleted",
				"definition", live.GetKind()+" "+live.GetName(), "delete", "kubectl delete "+argument)
		}
	}
}

// isNew notes a text, and reports whether the pass before has not logged it.
func (p *pass) isNew(text string) bool {
	known := p.logged[text] || p.Folder.logged[text]
	p.logged[text] = true
	return !known
}
