package main

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	group           = "scale.libretto.dev"
	namespace       = "scale"
	warmUpNamespace = "scale-warm-up"
	definitionName  = "scale"
	// touchAnnotation is what the phases touch and touch-read write.
	touchAnnotation = group + "/touched"
	// controllerUIDLabel is what generateSelector puts on children.
	controllerUIDLabel = "controller-uid"
	// lastApplied is what dynamic apply puts on children.
	lastApplied = "metacontroller.k8s.io/last-applied-configuration"
)

var (
	parents     = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "parents"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	composites  = schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "compositecontrollers"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// setUp returns the objects that there are before anything is measured, without the definition.
func setUp() []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, name := range []string{namespace, warmUpNamespace} {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
		}})
	}
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return append(objects, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": definitions.GroupVersion().String(),
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": parents.Resource + "." + group},
		"spec": map[string]any{
			"group": group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": "Parent", "plural": parents.Resource, "singular": "parent"},
			"versions": []any{map[string]any{
				"name": parents.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type":       "object",
					"properties": map[string]any{"spec": open, "status": open},
				}},
			}},
		},
	}})
}

// definition returns the CompositeController with a sync hook.
func definition(sync map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": composites.GroupVersion().String(),
		"kind":       "CompositeController",
		"metadata":   map[string]any{"name": definitionName},
		"spec": map[string]any{
			"generateSelector": true,
			"parentResource":   map[string]any{"apiVersion": parents.GroupVersion().String(), "resource": parents.Resource},
			"childResources": []any{map[string]any{
				"apiVersion": "v1", "resource": configMaps.Resource, "updateStrategy": map[string]any{"method": "InPlace"},
			}},
			"hooks": map[string]any{"sync": sync},
		},
	}}
}

// withAccount has a definition name a ServiceAccount in the first of the namespaces. It returns the account and bindings, by which it may
// do anything in them.
func withAccount(definition *unstructured.Unstructured, namespaces ...string) []*unstructured.Unstructured {
	account := map[string]any{"namespace": namespaces[0], "name": accountName}
	definition.Object["spec"].(map[string]any)["serviceAccountRef"] = account
	objects := []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": maps.Clone(account)}},
	}
	for _, namespace := range namespaces {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
			"metadata": map[string]any{"namespace": namespace, "name": accountName},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": namespaces[0], "name": accountName}},
		}})
	}
	return objects
}

// parentObject returns a parent. Its payload has its name, so that no two parents' children have text in common that a cache could share.
func parentObject(namespace, name string, o *options, edition int) *unstructured.Unstructured {
	suffixes := make([]any, o.children)
	for i := range suffixes {
		suffixes[i] = fmt.Sprint(i)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": parents.GroupVersion().String(),
		"kind":       "Parent",
		"metadata":   map[string]any{"namespace": namespace, "name": name},
		"spec":       map[string]any{"children": suffixes, "payload": payload(name, edition, o.payload)},
	}}
}

// payload returns lines of text, as a file of settings has them.
func payload(name string, edition, size int) string {
	var text strings.Builder
	for line := 0; text.Len() < size; line++ {
		fmt.Fprintf(&text, "%s.setting-%d = \"value %d of edition %d\"\n", name, line, line, edition)
	}
	return text.String()[:size]
}

func parentName(i int) string { return fmt.Sprintf("parent-%05d", i) }
