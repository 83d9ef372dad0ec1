package dev

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve/folder"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// fieldManager is that of what the command applies besides definitions and their ConfigMaps.
const fieldManager = "libretto-dev"

// establishTimeout is how long a CustomResourceDefinition may take until its objects can be applied.
const establishTimeout = 5 * time.Second

// author is the folder of the author: what is in it is shown, tested and applied. It is a folder.Listener.
type author struct {
	*problems
	tests  *tests
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
	// applied are the texts of what was applied last, by object.
	applied map[string]*applied
	stderr  io.Writer
	// found is what check has found last.
	found []string
	// isLive is set if it is not hosted.
	isLive bool
	// set is what the folder holds, or nil if it can't be applied.
	set atomic.Pointer[manifest.Set]
}

// applied is an object that was applied from the folder.
type applied struct {
	resource        schema.GroupVersionResource
	namespace, name string
	text            string
}

// file is a file for the page.
type file struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Read shows the files, checks them, and runs the tests.
func (a *author) Read(files map[string]string, set *manifest.Set, problems []error) {
	shown := []file{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		isManifest := slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
		if isManifest || a.engines.HasScript(name) {
			shown = append(shown, file{name, files[name]})
		}
	}
	a.stream.put("files", "files", shown)
	if len(files) == 0 && len(problems) == 0 {
		problems = []error{fmt.Errorf("%s is empty: libretto init composite NAME --dir %s writes a controller that works", a.root, a.root)}
	}
	a.show(sourceRead, problems)
	if len(problems) == 0 {
		a.setFiles(set)
	} else {
		set = nil
	}
	a.set.Store(set)
	a.tests.start()
}

// Applied shows what of the folder can't be applied.
func (a *author) Applied(problems []error) { a.show(sourceApplied, problems) }

// check shows what libretto check finds in the folder and the page has not from the host, and prints what is new and the host does not log.
func (a *author) check(ctx context.Context) {
	var found []string
	if set := a.set.Load(); set != nil {
		result, err := check.Run(ctx, set, a.engines)
		if err != nil {
			return // ctx has ended.
		}
		for _, f := range result.Findings {
			if f.Severity == check.Note || !a.isLive && f.IsRefusal() {
				continue
			}
			found = append(found, f.String())
			if !slices.Contains(a.found, f.String()) && (a.isLive || !f.IsLogged()) {
				fmt.Fprintln(a.stderr, f)
			}
		}
	}
	a.found = found
	a.put(sourceCheck, found...)
}

func (a *author) show(source string, problems []error) {
	var texts []string
	for _, problem := range problems {
		texts = append(texts, problem.Error())
	}
	a.put(source, texts...)
}

// Prepare applies what is neither a definition nor a ConfigMap with scripts, as far as it has changed in the folder: what somebody has
// changed in the cluster alone stays. What the folder does not have any more is deleted.
func (a *author) Prepare(ctx context.Context, set *manifest.Set) (problems []error) {
	scripts, present := map[types.NamespacedName]bool{}, map[string]bool{}
	for _, d := range set.Definitions { // They are applied by the host, which deletes nothing.
		done := &applied{name: d.GetName()}
		done.resource, done.namespace = folder.EndpointOf(d)
		present[keyOf(d)], a.applied[keyOf(d)] = true, done
		problems = append(problems, a.createNamespace(ctx, done.namespace))
		for _, name := range folder.SourcesOf(d) {
			scripts[name] = true
			problems = append(problems, a.createNamespace(ctx, name.Namespace))
		}
	}
	var objects []*document.Object
	for _, definition := range set.CRDs {
		objects = append(objects, definition.Object)
	}
	for _, o := range append(objects, set.Objects...) {
		if o.GetKind() == "ConfigMap" && scripts[types.NamespacedName{Namespace: namespaceOf(o), Name: o.GetName()}] {
			continue
		}
		present[keyOf(o)] = true
		if err := a.apply(ctx, o); err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", o.Location, manifest.Name(o), err))
		}
	}
	problems = append(problems, a.prune(ctx, present)...)
	return slices.DeleteFunc(problems, func(err error) bool { return err == nil })
}

func keyOf(o *document.Object) string {
	return fmt.Sprintf("%s %s/%s", o.GroupVersionKind().GroupKind(), namespaceOf(o), o.GetName())
}

// namespaceOf returns the namespace in which an object is applied if its kind has any.
func namespaceOf(o *document.Object) string { return cmp.Or(o.GetNamespace(), metav1.NamespaceDefault) }

// createNamespace creates a namespace that objects are in, unless it is there.
func (a *author) createNamespace(ctx context.Context, name string) error {
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": cmp.Or(name, metav1.NamespaceDefault)},
	}}
	_, err := a.client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Create(ctx, namespace, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// apply applies an object whose text has changed.
func (a *author) apply(ctx context.Context, o *document.Object) error {
	text, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	if before := a.applied[keyOf(o)]; before != nil && before.text == string(text) {
		return nil
	}
	if o.GetName() == "" {
		return errors.New("give it a name: metadata.generateName makes another one each time")
	}
	kind := o.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if meta.IsNoMatchError(err) {
		meant := spelling.Meant(kind.Kind, v1alpha1.DefinitionKinds)
		return fmt.Errorf("%w: %s", err, cmp.Or(meant, "put its CustomResourceDefinition into the folder"))
	}
	if err != nil {
		return err
	}
	done := &applied{resource: mapping.Resource, name: o.GetName(), text: string(text)}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		done.namespace = namespaceOf(o)
		if err := a.createNamespace(ctx, done.namespace); err != nil {
			return err
		}
	}
	object := o.DeepCopy()
	object.SetNamespace(done.namespace)
	at := a.client.Resource(done.resource).Namespace(done.namespace)
	_, err = at.Apply(ctx, done.name, object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err == nil && kind.GroupKind() == crdKind {
		err = a.awaitEstablished(ctx, at, done.name)
	}
	if err != nil {
		return err
	}
	a.applied[keyOf(o)] = done
	return nil
}

// awaitEstablished waits until objects of a CustomResourceDefinition can be applied.
func (a *author) awaitEstablished(ctx context.Context, at dynamic.ResourceInterface, name string) error {
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, establishTimeout, true, func(ctx context.Context) (bool, error) {
		object, err := at.Get(ctx, name, metav1.GetOptions{})
		return err == nil && isEstablished(object), err
	})
	if wait.Interrupted(err) {
		return errors.New("it is not established: see its conditions")
	}
	return err
}

// prune deletes what was applied from the folder and is not in it any more.
func (a *author) prune(ctx context.Context, present map[string]bool) (problems []error) {
	for _, key := range slices.Sorted(maps.Keys(a.applied)) {
		gone := a.applied[key]
		if present[key] {
			continue
		}
		err := a.client.Resource(gone.resource).Namespace(gone.namespace).Delete(ctx, gone.name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			problems = append(problems, fmt.Errorf("%s, which the folder does not have any more: %w", key, err))
			continue
		}
		delete(a.applied, key)
	}
	return problems
}
