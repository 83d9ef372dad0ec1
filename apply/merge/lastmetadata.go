package merge

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// LastLabel returns the value with which a label was asked for last time, or "" if it
// was not, or if the annotation that remembers it does not tell.
func LastLabel(object *unstructured.Unstructured, name string) string {
	return lastMetadata(object, name).Labels[name]
}

// LastAnnotation is LastLabel for an annotation.
func LastAnnotation(object *unstructured.Unstructured, name string) string {
	return lastMetadata(object, name).Annotations[name]
}

type lastMeta struct {
	Labels, Annotations map[string]string
}

// lastMetadata decodes the annotation only if it has name in it.
func lastMetadata(object *unstructured.Unstructured, name string) lastMeta {
	text := Annotation(object.Object)
	if !strings.Contains(text, name) {
		return lastMeta{}
	}
	last := struct{ Metadata lastMeta }{}
	if err := json.Unmarshal([]byte(text), &last); err != nil {
		return lastMeta{} // It tells nothing, as where it is shortened.
	}
	return last.Metadata
}
