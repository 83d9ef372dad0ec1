package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// FieldManager owns the fields that Apply writes.
const FieldManager = "cluster-test"

// definitionTimeout is how long a custom resource definition may take to be served.
const definitionTimeout = 30 * time.Second

var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// ApplyFiles applies what the files hold, and of folders all files that end in .yaml, .yml or .json, but kustomization.yaml. Objects that name
// no namespace go to default.
func (c *Cluster) ApplyFiles(ctx context.Context, paths ...string) error {
	objects, err := ReadFiles(paths...)
	if err != nil {
		return err
	}
	return c.Apply(ctx, metav1.NamespaceDefault, objects...)
}

// Install applies libretto's CustomResourceDefinitions, the first time that it is called: each time would take the API
// server half a second to check them.
func (c *Cluster) Install(ctx context.Context) error {
	root, err := Root()
	if err != nil {
		return err
	}
	c.installing.Lock()
	defer c.installing.Unlock()
	if c.installed {
		return nil
	}
	if err := c.ApplyFiles(ctx, filepath.Join(root, "manifests", "crd")); err != nil {
		return err
	}
	c.installed = true
	return nil
}

// Apply applies the objects: namespaces and custom resource definitions first, the others in the given order once the
// definitions are served. Namespaced objects that name no namespace go to the given one. Objects with a generateName
// are created.
func (c *Cluster) Apply(ctx context.Context, namespace string, objects ...*unstructured.Unstructured) error {
	ordered := slices.Clone(objects)
	slices.SortStableFunc(ordered, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	waited := false
	for _, object := range ordered {
		if rank(object) == rankOther && !waited {
			if err := c.waitForDefinitions(ctx, ordered); err != nil {
				return err
			}
			waited = true
		}
		if err := c.applyOne(ctx, namespace, object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), nameOf(object), err)
		}
	}
	if !waited {
		return c.waitForDefinitions(ctx, ordered)
	}
	return nil
}

// The order of application.
const (
	rankNamespace = iota
	rankDefinition
	rankOther
)

func rank(object *unstructured.Unstructured) int {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		return rankNamespace
	case schema.GroupKind{Group: definitions.Group, Kind: "CustomResourceDefinition"}:
		return rankDefinition
	}
	return rankOther
}

func nameOf(object *unstructured.Unstructured) string {
	if name := object.GetName(); name != "" {
		return name
	}
	return object.GetGenerateName()
}

func (c *Cluster) applyOne(ctx context.Context, namespace string, object *unstructured.Unstructured) error {
	mapping, err := c.mapping(object.GroupVersionKind())
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = c.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if own := object.GetNamespace(); own != "" {
			namespace = own
		}
		client = c.dynamic.Resource(mapping.Resource).Namespace(namespace)
	}
	if object.GetName() == "" {
		_, err := client.Create(ctx, object, metav1.CreateOptions{FieldManager: FieldManager})
		return err
	}
	_, err = client.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	return err
}

// mapping finds the resource of a kind, and looks again if the kind is not among those known so far.
func (c *Cluster) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	c.mapperLock.Lock()
	defer c.mapperLock.Unlock()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	return mapping, err
}

// waitForDefinitions waits until the resources of those among the objects that define some are served.
func (c *Cluster) waitForDefinitions(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if rank(object) != rankDefinition {
			continue
		}
		if err := c.waitForDefinition(ctx, object.GetName()); err != nil {
			return fmt.Errorf("custom resource definition %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// waitForDefinition waits for the condition, then for an answer, and for a place in the API server's list of what
// there is: the three are not quite at the same time.
func (c *Cluster) waitForDefinition(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, definitionTimeout)
	defer cancel()
	reason := errors.New("not established")
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		definition, err := c.dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if !conditionTrue(definition, "Established") {
			return false, nil
		}
		for _, resource := range servedResources(definition) {
			if _, err := c.dynamic.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
				reason = err
				return false, nil
			}
			if reason = c.listed(resource); reason != nil {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return errors.Join(err, reason)
	}
	return nil
}

// listed says why clients that ask which resources there are do not hear of one yet.
func (c *Cluster) listed(resource schema.GroupVersionResource) error {
	there, err := c.rest.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(there.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource }) {
		return fmt.Errorf("%s is not listed", resource)
	}
	return nil
}

func conditionTrue(object *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(entry any) bool {
		condition, _ := entry.(map[string]any)
		return condition["type"] == kind && condition["status"] == "True"
	})
}

// servedResources are the resources of the versions that a definition serves.
func servedResources(definition *unstructured.Unstructured) []schema.GroupVersionResource {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	var resources []schema.GroupVersionResource
	for _, entry := range versions {
		version, _ := entry.(map[string]any)
		name, _ := version["name"].(string)
		if version["served"] == true {
			resources = append(resources, schema.GroupVersionResource{Group: group, Version: name, Resource: plural})
		}
	}
	return resources
}

// ReadFiles reads the objects of files and of folders, those of a folder in the order of the files' names.
func ReadFiles(paths ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			decoded, err := decode(content)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			objects = append(objects, decoded...)
		}
	}
	return objects, nil
}

func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		switch filepath.Ext(entry.Name()) {
		case ".yaml", ".yml", ".json":
			if entry.Name() == "kustomization.yaml" {
				continue // It tells kubectl apply -k about the folder, and is no object.
			}
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, nil
}

// decode reads the documents of a file. A list becomes its items; documents that hold nothing but comments are left out.
func decode(content []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	var objects []*unstructured.Unstructured
	for {
		var document map[string]any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(document) == 0 {
			continue
		}
		object := &unstructured.Unstructured{Object: document}
		if !object.IsList() {
			objects = append(objects, object)
			continue
		}
		list, err := object.ToList()
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	}
}
