package controllertest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
)

// given returns the objects with which the case begins.
func (r *runner) given(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, list := range [][]Given{r.test.Given, r.testCase.Given} {
		for i, given := range list {
			objects, err := r.objectsOf(given)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, r.unusable(fmt.Sprintf(".given[%d]", i), "given[%d]: %w", i, err)
			}
			for _, object := range objects {
				if err := r.spend(object.Object); err != nil {
					return nil, err
				}
			}
			all = append(all, objects...)
		}
	}
	return all, nil
}

// objectsOf returns an object, or those of a file.
func (r *runner) objectsOf(given Given) ([]*unstructured.Unstructured, error) {
	if given.File == "" {
		object := &unstructured.Unstructured{Object: given.Object}
		if object.GetKind() == "" || object.GetAPIVersion() == "" {
			return nil, errors.New("an object needs apiVersion and kind")
		}
		return []*unstructured.Unstructured{object}, nil
	}
	text, err := r.readFile(given.File)
	if err != nil {
		return nil, err
	}
	objects, problems := document.Read(given.File, text)
	if len(problems) > 0 {
		return nil, problems[0]
	}
	var all []*unstructured.Unstructured
	for _, object := range objects {
		if isObjectOfCluster(object.Unstructured) {
			all = append(all, object.Unstructured)
		}
	}
	return all, nil
}

// readFile returns the text of a file that is named relative to the test file.
func (r *runner) readFile(name string) ([]byte, error) {
	if r.subject.ReadFile == nil {
		return nil, fmt.Errorf("%s: there are no files here: write what it has into the test", name)
	}
	return r.subject.ReadFile(name)
}

// isObjectOfCluster reports whether an object of a file is put into the cluster. Definitions and CustomResourceDefinitions are the
// subject's.
func isObjectOfCluster(object *unstructured.Unstructured) bool {
	kind := object.GetKind()
	return !isDefinition(kind) && kind != "CustomResourceDefinition" && kind != Kind
}

func isDefinition(kind string) bool {
	return slices.Contains(v1alpha1.DefinitionKinds, kind)
}
