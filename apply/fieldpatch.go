package apply

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// patchFields makes object of the observed one in whatever version the API server has, so that other writers cannot keep it from being
// written. It fails with a conflict if one of them has changed what it changes, who owns the object, or metadata that is named too.
func (e *execution) patchFields(
	ctx context.Context, r dynamic.ResourceInterface, c Change, object map[string]any, metadata ...string,
) (*unstructured.Unstructured, error) {
	p := fieldPatch{}
	from := jsonvalue.ObjectIn(c.Observed.Object, "metadata")
	for _, field := range append(metadata, "uid", "deletionTimestamp", "ownerReferences") {
		p.add("test", "/metadata/"+field, from[field])
	}
	p.change("", c.Observed.Object, object)
	body, err := objectjson.Marshal(p.operations)
	if err != nil {
		return nil, err
	}
	result, err := r.Patch(ctx, c.Key.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: e.options.FieldManager})
	if doesNotFit(err) {
		return nil, apierrors.NewConflict(c.Resource.GroupResource(), c.Key.Name, errChanged)
	}
	return result, err
}

// doesNotFit reports whether an error is that the operations of a JSON patch do not fit the object, which the API server
// tells from an object that it refuses by naming no cause.
func doesNotFit(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Kind == "" && len(details.Causes) == 0
}

// fieldPatch is a JSON patch (RFC 6902) that tests each value before it changes it.
type fieldPatch struct{ operations []any }

// change adds the operations that make one object of another. Lists are replaced as a whole.
func (p *fieldPatch) change(path string, from, to map[string]any) {
	names := map[string]any{}
	maps.Copy(names, from)
	maps.Copy(names, to)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := path + "/" + pointerEscaper.Replace(name)
		before, had := from[name]
		after, has := to[name]
		below, isObject := before.(map[string]any)
		object, stays := after.(map[string]any)
		switch {
		case isObject && stays:
			p.change(at, below, object)
		case had == has && jsonvalue.Equal(before, after):
		case has:
			p.add("test", at, before)
			p.add("add", at, after)
		default:
			p.add("test", at, before)
			p.operations = append(p.operations, map[string]any{"op": "remove", "path": at})
		}
	}
}

func (p *fieldPatch) add(op, path string, value any) {
	p.operations = append(p.operations, map[string]any{"op": op, "path": path, "value": value})
}

// pointerEscaper escapes a name in a JSON pointer.
var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
