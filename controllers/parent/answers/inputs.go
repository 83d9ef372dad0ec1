package answers

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Inputs is a set of those inputs of a pass that count only if they were read. All others always count: see
// docs/design/parent/idle.md.
type Inputs uint8

const (
	ReadVersion Inputs = 1 << iota // the parent's resourceVersion
	ReadLabels                     // the parent's labels
	ReadAnnotations
	ReadStatus
	readRelated // the related objects and their kinds
)

// inputPaths are the paths by which a hook reads the inputs. The parent is the object of a decorator's request.
var inputPaths = []struct {
	input Inputs
	path  string
}{
	{ReadVersion, "parent.metadata.resourceVersion"}, {ReadVersion, "object.metadata.resourceVersion"},
	{ReadLabels, "parent.metadata.labels"}, {ReadLabels, "object.metadata.labels"},
	{ReadAnnotations, "parent.metadata.annotations"}, {ReadAnnotations, "object.metadata.annotations"},
	{ReadStatus, "parent.status"}, {ReadStatus, "object.status"},
	{readRelated, "related"},
}

// InputsIn returns the inputs that a program has read.
func InputsIn(read engines.ReadSet) (inputs Inputs) {
	for _, known := range inputPaths {
		if inputs&known.input == 0 && read.Contains(known.path) {
			inputs |= known.input
		}
	}
	return inputs
}

// contentOf returns what counts of a parent: all of it but the inputs that were not read. Its values are shared.
func contentOf(parent *unstructured.Unstructured, read Inputs) map[string]any {
	metadata := jsonvalue.Clone(jsonvalue.ObjectIn(parent.Object, "metadata"))
	content := jsonvalue.With(parent.Object, "metadata", metadata)
	dropUnread := func(fields map[string]any, field string, input Inputs) {
		if read&input == 0 {
			delete(fields, field)
		}
	}
	dropUnread(metadata, "resourceVersion", ReadVersion)
	dropUnread(metadata, "labels", ReadLabels)
	dropUnread(metadata, "annotations", ReadAnnotations)
	dropUnread(content, "status", ReadStatus)
	return content
}

// HashParent returns a hash of what counts of a parent.
func HashParent(parent *unstructured.Unstructured, read Inputs) uint64 {
	return jsonvalue.Hash(contentOf(parent, read))
}
