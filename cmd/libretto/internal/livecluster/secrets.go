package livecluster

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Secrets returns what is to be hidden in all output about objects, as stage.SecretTexts does.
func (s *Subject) Secrets(ctx context.Context, objects []*unstructured.Unstructured) []string {
	return stage.SecretTexts(objects, func(kind schema.GroupVersionKind) *openapi.Kind { return s.Schemas.For(ctx, kind) })
}

// ObjectsIn returns the objects in the lists of an answer.
func ObjectsIn(response any) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, list := range jsonvalue.AsObject(response) {
		items, _ := list.([]any)
		for _, item := range items {
			if object := jsonvalue.AsObject(item); object["kind"] != nil {
				all = append(all, &unstructured.Unstructured{Object: object})
			}
		}
	}
	return all
}

// All returns the objects that were read, and those that the first pass wanted and its hooks answered.
func (r *Reading) All() []*unstructured.Unstructured {
	all := slices.Clone(r.Objects)
	if r.Result == nil || r.Result.First == nil {
		return all
	}
	all = append(all, r.Result.First.Desired...)
	for _, call := range r.Result.First.Calls {
		all = append(all, ObjectsIn(call.Response)...)
	}
	return all
}
